"""`Prediction`: bands, spread and coverage against closed forms, counts by hand and plain loops."""

from __future__ import annotations

import tracemalloc
from math import sqrt

import numpy as np
import pytest
from tests.systems import by_hand, quick, simulated

from adjoin import AdjoinError, Dataset, DivergenceWarning, Grammar, Identifier, Model, Posterior
from adjoin.datasets import academic
from adjoin.results.prediction import (
    Drawn,
    Prediction,
    predict_records,
    propagate,
    require_room,
    run_against,
)

GRAMMAR = Grammar.narx(max_lag=2, max_degree=3)
U, Y = simulated("y(k) = 0.5*u(k-1) + 0.3*u(k-1)*y(k-1) - 0.2*y(k-2)", n=150, noise=0.5)
DATA = Dataset.from_arrays(U, Y)
Z = 4.5  # two-sided; false alarm 7e-6 a comparison

STABLE = Model.parse("y(k) = 0.5*y(k-1) + u(k)")
WILD = Model.parse("y(k) = 2*y(k-1)^3 + u(k)")
NOISE_ONLY = Model.parse("y(k) = 0*u(k)", noise_sd=1.0)


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    """Noisy data in odd units with offsets."""
    model = quick(samples=3000, chains=3, thin=3, burn_in=0.3, max_degree=3)
    return model.fit(100.0 * U + 7000.0, 0.01 * Y - 3.0).posterior_


@pytest.fixture
def small() -> Posterior:
    """Draws that all look back as far as the grammar does, so that free runs begin together."""
    chain = [("u(k) + y(k-2)", [1.0, 0.1 * i], 0.25 * (1 + i)) for i in range(6)]
    return by_hand(DATA, [chain], GRAMMAR)


# Bands


@pytest.mark.parametrize(
    ("n_draws", "quantile", "below"),
    [
        (9, 0.1, 0.1),
        (9, 0.5, 0.5),
        (9, 0.9, 0.9),
        (9, 0.025, 0.1),  # nine draws say no more about the tail: the smallest of them
        (9, 1.0, 0.9),
        (39, 0.025, 0.025),
        (39, 0.975, 0.975),
        (100, 0.025, 0.025),
        (100, 0.16, 0.16),
        (100, 0.84, 0.84),
    ],
)
def test_a_further_draw_falls_below_a_band_as_often_as_it_says(
    n_draws: int, quantile: float, below: float
) -> None:
    """Every sample of white noise is an experiment of its own; false alarm 7e-6 each."""
    n = 40_000
    bands = propagate([NOISE_ONLY] * n_draws, np.zeros(n), None, 1, [quantile]).bands
    further = np.random.default_rng(2).standard_normal(n)
    share = np.mean(further < bands[quantile])
    assert abs(share - below) < Z * sqrt(below * (1 - below) / n)


def test_bands_by_hand() -> None:
    models = [Model.parse(f"y(k) = {level}*u(k)") for level in (4, 1, 3, 2)]
    found = propagate(models, [1.0, 1.0], None, 0, [0, 0.2, 0.3, 0.5, 0.7, 0.8, 1])
    assert [band[0] for band in found.bands.values()] == pytest.approx([1, 1, 1.5, 2.5, 3.5, 4, 4])
    assert list(found.bands) == [0, 0.2, 0.3, 0.5, 0.7, 0.8, 1]
    assert found.mean.tolist() == [2.5, 2.5]
    assert found.sd.tolist() == pytest.approx([sqrt(1.25)] * 2)
    assert found.median.tolist() == [2.5, 2.5]
    assert "mean of 4 draws; bands 0, 0.2, 0.3" in repr(found)


def test_predictions_are_ordered_and_seeds_copied_through(posterior: Posterior) -> None:
    u, y = 100.0 * U + 7000.0, 0.01 * Y - 3.0
    prediction = posterior.simulate(u, y[:5], draws=60)
    bands = np.array([prediction.bands[q] for q in sorted(prediction.bands)])
    assert sorted(prediction.bands) == [0.025, 0.16, 0.5, 0.84, 0.975]
    assert (np.diff(bands, axis=0) >= 0).all()
    for series in (prediction.mean, *bands):
        assert series[:5].tolist() == y[:5].tolist()
    assert prediction.sd[:5].tolist() == [0.0] * 5
    assert (prediction.sd[5:] > 0).all()
    assert (bands[0] <= prediction.mean).all()
    assert (prediction.mean <= bands[-1]).all()
    assert (prediction.n_draws, prediction.diverged, prediction.n_seed) == (60, 0.0, (5,))


def test_a_prediction_from_measured_outputs_copies_the_lag_window(posterior: Posterior) -> None:
    u, y = 100.0 * U + 7000.0, 0.01 * Y - 3.0
    parts = [slice(0, 60), slice(60, 150)]
    prediction = posterior.predict([u[p] for p in parts], [y[p] for p in parts], draws=20)
    assert prediction.n_seed == (2, 2)
    for record, part in enumerate(parts):
        for series in (prediction.mean, *prediction.bands.values()):
            assert series[record][:2].tolist() == y[part][:2].tolist()
            assert (series[record][2:] != y[part][2:]).all()
        assert prediction.sd[record][:2].tolist() == [0.0, 0.0]


def test_what_is_summarised_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [STABLE, WILD, Model.parse("y(k) = u(k)", noise_sd=2.0)] * 5
    whole = propagate(models, U, [1.0], seed=0)
    monkeypatch.setattr("adjoin.results.prediction._AT_A_TIME", 15 * 7)
    parts = propagate(models, U, [1.0], seed=0)
    np.testing.assert_array_equal(parts.mean, whole.mean)
    np.testing.assert_array_equal(parts.sd, whole.sd)
    np.testing.assert_array_equal(list(parts.bands.values()), list(whole.bands.values()))


# Seeds and threads


def test_predictions_are_a_function_of_the_seed(posterior: Posterior) -> None:
    u, y = 100.0 * U + 7000.0, 0.01 * Y - 3.0
    first = posterior.simulate(u, y[:2], draws=10, seed=1)
    np.testing.assert_array_equal(posterior.simulate(u, y[:2], 10, 1).mean, first.mean)
    assert (posterior.simulate(u, y[:2], 10, 2).mean != first.mean).any()
    single = by_hand(DATA, [[("u(k)", [1.0], 1.0)]], GRAMMAR)  # so that only the noise differs
    unseeded = [single.simulate(U, Y[:2], 10, None).mean for _ in range(2)]
    assert (unseeded[0] != unseeded[1]).any()


@pytest.mark.parametrize("n_jobs", [2, 5, -1, None])
def test_the_number_of_threads_changes_no_bit(small: Posterior, n_jobs: int | None) -> None:
    records = [U[:60], U[60:]], [Y[:60], Y[60:]]
    for alone, together in (
        (
            small.simulate(records[0], [y[:2] for y in records[1]], 23, n_jobs=1),
            small.simulate(records[0], [y[:2] for y in records[1]], 23, n_jobs=n_jobs),
        ),
        (
            small.predict(*records, steps_ahead=3, draws=23, n_jobs=1),
            small.predict(*records, steps_ahead=3, draws=23, n_jobs=n_jobs),
        ),
    ):
        for record in range(2):
            assert alone.mean[record].tobytes() == together.mean[record].tobytes()
            assert alone.sd[record].tobytes() == together.sd[record].tobytes()
            for q in alone.bands:
                assert alone.bands[q][record].tobytes() == together.bands[q][record].tobytes()


# Noise and its feedback


def test_noise_is_fed_back_at_every_step() -> None:
    """var y(k) = σ² Σ a^(2i): a first-order autoregression away from its start."""
    n_draws, a, sigma = 3000, 0.8, 0.5
    model = Model.parse(f"y(k) = {a}*y(k-1) + u(k)", noise_sd=sigma)
    prediction = propagate([model] * n_draws, np.ones(12), [3.0], seed=0)
    steps = np.arange(12)
    expected_sd = sigma * np.sqrt((1 - a ** (2 * steps)) / (1 - a**2))
    expected = 5.0 + (3.0 - 5.0) * a**steps
    error = np.maximum(expected_sd, 1e-12) / sqrt(n_draws)
    assert (np.abs(prediction.mean - expected) < Z * error).all()  # 11 comparisons: 8e-5
    assert (np.abs(prediction.sd - expected_sd) <= Z * error / sqrt(2)).all()
    upper = prediction.bands[0.975]
    # The error of a quantile is sqrt(p(1-p)/n)/density, 2.67 standard errors of the mean here.
    assert (np.abs(upper - expected - 1.96 * expected_sd) <= Z * 2.67 * error).all()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_spread_of_a_prediction_grows_with_its_horizon(steps: int) -> None:
    """var = σ² Σ_{i<k} a^(2i), the same at every sample that has k samples behind it."""
    n_draws, a, sigma = 2000, 0.8, 0.5
    model = Model.parse(f"y(k) = {a}*y(k-1) + u(k)", noise_sd=sigma)
    y = np.linspace(-3.0, 4.0, 14)
    drawn = [Drawn(model, np.empty(0))] * n_draws
    found = predict_records(drawn, [np.ones((14, 1))], [y], steps, 1, seed=3).lone
    for k in range(1, 14):
        horizon = min(steps, k)
        expected_sd = sigma * sqrt(sum(a ** (2 * i) for i in range(horizon)))
        expected = a**horizon * y[k - horizon] + sum(a**i for i in range(horizon))
        # 13 samples, mean and spread: false alarm 2e-4
        assert abs(found.mean[k] - expected) < Z * expected_sd / sqrt(n_draws)
        assert abs(found.sd[k] - expected_sd) < Z * expected_sd / sqrt(2 * n_draws)


def test_one_step_ahead_the_spread_is_noise_and_parameters() -> None:
    """sd² = E[σ²] + u² var(θ): both are in the draws, and nothing else is."""
    theta, noise = np.array([0.2, 0.6, 1.0]), np.array([0.04, 0.25, 0.01])
    chain = [("u(k)", [t], s) for t, s in zip(theta, noise, strict=True)]
    n_draws, u = 4000, np.array([0.0, 1.0, 1.0, 3.0, -2.0])
    found = by_hand(DATA, [chain], GRAMMAR).predict(u, np.zeros(5), draws=n_draws, seed=1)
    for k in (2, 3, 4):
        variance = noise.mean() + u[k] ** 2 * theta.var()
        centred = u[k] * (theta - theta.mean())
        fourth = np.mean(3 * noise**2 + 6 * noise * centred**2 + centred**4)
        error = sqrt((fourth - variance**2) / n_draws)  # of a variance, by its fourth moment
        assert abs(found.sd[k] ** 2 - variance) < Z * error  # false alarm 4e-5 of all
        assert abs(found.mean[k] - u[k] * theta.mean()) < Z * sqrt(variance / n_draws)


def test_a_horizon_beyond_the_record_is_a_free_run(small: Posterior) -> None:
    """The same models, the same noise in the same order: the same numbers to the last bit."""
    free = small.simulate(U, Y[:2], draws=20, seed=4)
    for steps in (150, 10**6):
        ahead = small.predict(U, Y, steps_ahead=steps, draws=20, seed=4)
        np.testing.assert_array_equal(ahead.mean, free.mean)
        np.testing.assert_array_equal(ahead.sd, free.sd)
        np.testing.assert_array_equal(ahead.bands[0.84], free.bands[0.84])


def test_a_model_without_noise_runs_without() -> None:
    model = Model.parse("y(k) = 0.5*y(k-1) + u(k)")
    prediction = propagate([model], [0, 1, 2, 3], [8], seed=0, quantiles=[0.5])
    assert prediction.mean.tolist() == prediction.bands[0.5].tolist() == [8, 5, 4.5, 5.25]
    assert propagate([model], [0, 1], [8], seed=0, quantiles=()).bands == {}


# Divergence


def test_diverged_draws_are_counted() -> None:
    prediction = propagate([STABLE, STABLE, STABLE, WILD], np.ones(40), [2.0], seed=0)
    assert prediction.diverged == 0.25
    expected = STABLE.simulate(np.ones(40), [2.0])
    np.testing.assert_allclose(prediction.mean, expected)
    np.testing.assert_allclose(prediction.bands[0.5], expected)
    np.testing.assert_array_equal(prediction.median, prediction.bands[0.5])
    assert (prediction.n_lost, prediction.n_stayed) == ((1,), (3,))
    where = prediction.first_lost[0]
    assert np.isnan(np.array(_silently(WILD, np.ones(40), [2.0]))).argmax() == where
    words = f"mean of 3 of 4 draws; 1 ran away, the first at sample {where}"
    assert prediction.in_words() == words


def _silently(model: Model, *arguments: object) -> np.ndarray:
    with pytest.warns(DivergenceWarning):
        return model.simulate(*arguments)


def test_bands_are_of_the_draws_that_stayed_from_the_first_sample_on() -> None:
    """Levels 1, 2, 3 stay; the fourth draw is lost on the way, and left out from the beginning."""
    models = [Model.parse(f"y(k) = {level}*u(k) + 0*y(k-1)") for level in (1, 2, 3)]
    found = propagate([WILD, *models], np.ones(40), [2.0], 0, [0.25, 0.5, 0.75])
    for k in (1, -1):  # m = 3: p·4 = 1, 2, 3
        assert [found.bands[q][k] for q in (0.25, 0.5, 0.75)] == [1.0, 2.0, 3.0]
        assert found.sd[k] == pytest.approx(sqrt(2 / 3))


def test_a_draw_lost_in_one_record_is_one_lost_draw() -> None:
    u = [np.zeros(40), np.ones(30)]
    prediction = propagate([STABLE, WILD], u, [[0.1], [2.0]], seed=0)
    assert prediction.diverged == 0.5
    assert [len(series) for series in prediction.mean] == [40, 30]
    assert [len(series) for series in prediction.bands[0.84]] == [40, 30]
    both = np.mean([m.simulate(u[0], [0.1]) for m in (STABLE, WILD)], axis=0)
    np.testing.assert_allclose(prediction.mean[0], both)
    np.testing.assert_allclose(prediction.mean[1], STABLE.simulate(u[1], [2.0]))
    assert (prediction.n_lost, prediction.n_stayed) == ((0, 1), (2, 1))
    assert prediction.first_lost[0] is None
    assert "mean of 2 draws" in prediction.in_words(0)
    assert "mean of 1 of 2 draws; 1 ran away, the first at sample" in prediction.in_words(1)
    assert prediction.in_words().endswith("of record 1")
    lost_twice = propagate([WILD, STABLE], [np.ones(40)] * 2, [[2.0], [2.0]], seed=0)
    assert lost_twice.diverged == 0.5


def test_samples_that_every_draw_lost_are_not_a_number() -> None:
    prediction = propagate([WILD, WILD], np.ones(40), [2.0], seed=0)
    assert prediction.diverged == 1.0
    assert np.isnan(prediction.mean[-1])
    assert np.isnan(prediction.sd[-1])
    assert np.isnan(prediction.bands[0.5][-1])
    assert prediction.mean[0] == 2.0
    assert np.isnan(prediction.median[-1])
    assert np.isnan(prediction.coverage(np.full(40, 17.0)))  # no band, and not one that misses
    assert "no mean: all 2 draws ran away" in prediction.in_words()
    one = propagate([WILD], [np.ones(40), np.zeros(40)], [[2.0], [0.1]], seed=0)
    assert one.coverage([np.full(40, 17.0), np.zeros(40)]) < 0.5  # of two, one has no band


# Coverage


def hand_made(**changed) -> Prediction:
    low, high = np.array([0.0, 1.0, 2.0, 3.0, np.nan]), np.array([0.0, 2.0, 3.0, 4.0, np.nan])
    made = {"mean": low, "sd": low, "bands": {0.025: low, 0.5: low, 0.975: high}, "median": low}
    counts = {"diverged": 0.0, "n_draws": 9, "n_seed": (1,)}
    stayed = {"n_lost": (0,), "n_stayed": (9,), "first_lost": (None,)}
    return Prediction(**{**made, **counts, **stayed, **changed})


@pytest.mark.parametrize(
    ("y", "share"),
    [
        ([9.0, 1.5, 2.5, 3.5, 0.0], 3 / 4),  # the seed does not count, the lost one does
        ([0.0, 1.0, 3.0, 4.0, 0.0], 3 / 4),  # a band holds its own edges
        ([0.0, 0.9, 3.1, 3.5, 0.0], 1 / 4),
        ([0.0, 0.0, 0.0, 0.0, 0.0], 0.0),
    ],
)
def test_coverage_counts_the_samples_inside(y: list[float], share: float) -> None:
    assert hand_made().coverage(y) == share
    assert hand_made().coverage([y]) == share


def test_coverage_of_other_bands_and_of_several_records() -> None:
    assert hand_made().coverage([0.0, 1.0, 2.5, 3.0, 0.0], 0.025, 0.5) == 2 / 4
    several = hand_made(
        mean=[np.zeros(2), np.zeros(3)],
        bands={0.025: [np.zeros(2), np.zeros(3)], 0.975: [np.ones(2), np.ones(3)]},
        n_seed=(1, 0),
    )
    assert several.coverage([[5.0, 0.5], [2.0, 0.5, -1.0]]) == 2 / 4
    with pytest.raises(AdjoinError, match=r"has \[2, 3\] samples, but the measured output has"):
        several.coverage([0.5, 0.5])


@pytest.mark.parametrize("y", [np.zeros(4), np.zeros(6), [np.zeros(5), np.zeros(5)]])
def test_coverage_refuses_other_lengths(y) -> None:
    with pytest.raises(AdjoinError, match=r"the prediction has \[5\] samples"):
        hand_made().coverage(y)


@pytest.mark.parametrize("bands", [(0.05, 0.975), (0.025, 0.9)])
def test_coverage_refuses_bands_that_are_not_there(bands: tuple[float, float]) -> None:
    missing = bands[0] if bands[0] != 0.025 else bands[1]
    with pytest.raises(AdjoinError, match=rf"no band {missing:g}; there are 0.025, 0.5, 0.975"):
        hand_made().coverage(np.zeros(5), *bands)


@pytest.mark.slow
def test_bands_hold_on_the_academic_test_sets() -> None:
    """Mean coverage over 20 data sets, whose free runs are 490 samples long.

    The noise of the data is on the output, that of a NARX model is fed back; so the model's bands
    are sqrt((1 + a²)/(1 - a²)) = 1.094 too wide at a = 0.3, and 95 % become 96.8 %.
    """
    coverage = []
    for seed in range(20):
        data = academic(seed)
        posterior = Identifier(seed=0).fit(data.train).posterior_
        found = posterior.simulate(data.test.u, data.test.y[:10], draws=200)
        # A chain that has stuck elsewhere may hold models that run away, and then is told.
        assert found.diverged == 0.0 or posterior.diagnostics["verdict"]["level"] == "poor"
        assert found.diverged < 0.05
        coverage.append(found.coverage(data.test.y))
    assert 0.92 < np.mean(coverage) < 0.98
    # Single sets scatter by sqrt(p(1-p)/490) = 0.008; chains that linger elsewhere widen the bands.
    assert min(coverage) > 0.92


# Wrong calls


def test_without_models_there_is_nothing_to_predict() -> None:
    with pytest.raises(AdjoinError, match="no draws"):
        propagate([], U, Y[:2], seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws must be a whole number from 1 on, not 0"),
        ({"draws": 2.5}, "draws must be a whole number from 1 on, not 2.5"),
        ({"seed": 0.5}, "seed must be a whole number from 0 on, or None, not 0.5"),
        ({"seed": -1}, "seed must be"),
        ({"quantiles": [0.5, 1.5]}, r"quantiles must be numbers between 0 and 1, not \[0.5, 1.5\]"),
        ({"quantiles": [-0.1]}, "quantiles must be"),
        ({"quantiles": [float("nan")]}, "quantiles must be"),
        ({"quantiles": ["0.5"]}, "quantiles must be"),
        ({"quantiles": 0.5}, "quantiles must be numbers between 0 and 1, not 0.5"),
        ({"n_jobs": 0}, "n_jobs must be a whole number from 1 on, not 0"),
        ({"n_jobs": "2"}, "n_jobs must be"),
    ],
)
def test_wrong_options_are_refused(small: Posterior, options: dict, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        small.simulate(U, Y[:2], **options)
    with pytest.raises(AdjoinError, match=message):
        small.predict(U, Y, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.simulate(U, []), "looks back 2 samples, but the initial output has 0"),
        (lambda p: p.simulate(U, Y[:1]), "looks back 2 samples, but the initial output has 1"),
        (lambda p: p.predict(U), "pass u and y, or a Dataset"),
        (lambda p: p.predict(U, Y[:-1]), "differ in length"),
        (lambda p: p.predict(U, Y, steps_ahead=0), "steps_ahead must be a whole number from 1 on"),
        (lambda p: p.predict(U[:2], Y[:2]), "2 samples leaves nothing to predict: the first 2"),
    ],
)
def test_wrong_data_are_refused(small: Posterior, call, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        call(small)


def test_a_record_of_seeds_is_not_a_prediction() -> None:
    """The drawn model has no lags, but two samples are copied through all the same."""
    lagless = by_hand(DATA, [[("u(k)", [1.0], 1.0)]], GRAMMAR)
    with pytest.raises(AdjoinError, match=r"2 samples leaves nothing to predict"):
        lagless.predict([U[:50], U[:2]], [Y[:50], Y[:2]])
    assert lagless.predict(U[:3], Y[:3], draws=3).sd[2] > 0
    with pytest.raises(AdjoinError, match=r"2 samples leaves nothing to score"):
        run_against(lagless.map_model, [U[:2, None]], [Y[:2]], 2)


def test_what_does_not_fit_is_refused_before_anything_is_allocated() -> None:
    n = 2**20
    model, u = Model.parse("y(k) = u(k)", noise_sd=1.0), np.zeros(n)
    require_room(512, n)  # 4 GiB to the byte
    tracemalloc.start()
    with pytest.raises(AdjoinError, match=r"513 draws of 1,048,576 samples need 4.0 GiB; use at"):
        propagate([model] * 513, u, None, seed=0)
    with pytest.raises(AdjoinError, match=r"at most 512 draws, or predict a part of the data"):
        predict_records([model] * 600, [u[: n // 2, None]] * 2, [u[: n // 2]] * 2, 1, 0, seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**27  # the inputs, checked; a GiB would be the runs


def test_models_that_would_not_fit_are_not_even_drawn(small: Posterior) -> None:
    message = "draws of 150 samples need .* GiB; use at most 3,579,139 draws"
    with pytest.raises(AdjoinError, match=message):
        small.simulate(U, Y[:2], draws=10**15)
    with pytest.raises(AdjoinError, match=message):
        small.predict(DATA, draws=10**15)


def test_the_copies_that_are_sorted_stay_small() -> None:
    n_draws, n = 40, 200_000  # 61 MiB of runs
    tracemalloc.start()
    propagate([NOISE_ONLY] * n_draws, np.zeros(n), None, 0, n_jobs=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * 8 * n_draws * n
