"""The export to ArviZ: every value against a plain recomputation, and ArviZ's own functions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.exchange.runs import quick_free_run
from tests.systems import LINEAR, by_hand, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Identifier, Model, Posterior, Prior, Structure
from adjoin.data.scaling import Scaling
from adjoin.errors import DivergenceWarning
from adjoin.exchange import arviz_data
from adjoin.exchange.arviz_data import import_arviz, to_arviz
from adjoin.inference.objective import ABC
from adjoin.inference.traces import ChainTrace, LadderTrace


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return quick(samples=4000).fit(*simulated(n=100, noise=0.4)).posterior_


def two_records(names: tuple[str, ...] = ("u", "v", "y")) -> Dataset:
    rng = np.random.default_rng(3)
    inputs = [rng.normal(4.0, 2.0, (n, 2)) for n in (30, 21)]
    return Dataset.from_arrays(inputs, [rng.normal(-7.0, 0.5, len(u)) for u in inputs], names)


def many_sided(**changed: Any) -> Posterior:
    """Two inputs, two records, scaling, centring and functions; theta in scaled units."""
    data = two_records()
    grammar = Grammar.narx(("u", "v"), functions=("abs", "sin"), max_lag=3, max_degree=3)
    first = ("abs(u(k-1))*v(k) + sin(v(k-2)) + y(k-1)", [0.3, -0.2, 0.5], 0.2)
    second = ("u(k)^2*y(k-3) + y(k-1)", [0.1, 0.6], 0.3)
    again = (first[0], [0.25, -0.1, 0.4], 0.1)
    chains = [[first, second, again, first], [second, ("0", [], 1.5), again, second]]
    scaling = Scaling.from_dataset(data, center=True, scale=True)
    return by_hand(data, chains, grammar, **{"scaling": scaling, **changed})


def with_ladder(trace: ChainTrace) -> ChainTrace:
    """The same draws, as if a free-run chain had left them; one rung, everything frozen."""
    n = len(trace.structure)
    ladder = LadderTrace(
        distance=np.linspace(1.0, 2.0, n),
        tolerance=np.array([[2.0]]),
        floor=np.array([1.0]),
        width=np.array([0.1]),
        move=trace.move[None],
        guided=np.zeros((1, 2), dtype=np.int64),
        swap=np.zeros((1, 2), dtype=np.int64),
        saved=np.zeros(8, dtype=np.int64),
        reason="by hand",
    )
    return trace._replace(ladder=ladder)


def many_sided_free_run() -> Posterior:
    """As `many_sided`, and a draw whose free run diverges."""
    found = many_sided()
    first, second = map(with_ladder, found.traces)
    second.theta[second.offset[0]] = 20.0 * second.theta[second.offset[0]]  # of u(k)^2*y(k-3)
    return replace(found, traces=(first, second)).with_settings(objective=ABC)


def model_of(posterior: Posterior, draw: Any) -> Model:
    """The model of one exported draw."""
    inside = draw["included"].values.astype(bool)
    texts, theta = draw["term"].values[inside], draw["theta"].values[inside]
    structure = Structure.parse(" + ".join(texts) or "0", posterior.encoding.names)
    noise_sd, limits = float(draw["noise_sd"]), posterior.run.problem.limits
    return Model(structure, theta, noise_sd, posterior.scaling.offsets, limits)


def one_step(posterior: Posterior, model: Model) -> np.ndarray:
    """Plain predictions of all fitted samples, records end to end."""
    predicted = [
        model.predict(record.inputs, record.output)[posterior.max_lag :]
        for record in posterior.data.records
    ]
    return np.concatenate(predicted)


def free_run(posterior: Posterior, model: Model) -> np.ndarray:
    """Plain free runs of all fitted samples from the measured ones before, records end to end."""
    first = posterior.max_lag
    return np.concatenate(
        [model.simulate(r.inputs, r.output[:first])[first:] for r in posterior.data.records]
    )


def each_draw(exported: Any) -> list[tuple[dict[str, int], Any]]:
    group = dataset(exported, "posterior")
    places = [
        {"chain": c, "draw": d}
        for c in range(group.sizes["chain"])
        for d in range(group.sizes["draw"])
    ]
    return [(place, group.isel(place)) for place in places]


def dataset(exported: Any, group: str) -> Any:
    """A group as an xarray Dataset, whatever the version of ArviZ."""
    found = exported[group]
    return found.to_dataset() if hasattr(found, "to_dataset") else found


def test_pointwise_values_are_those_of_each_draws_model_in_the_users_units() -> None:
    posterior = many_sided()
    exported = to_arviz(posterior)
    density, replicate = (
        dataset(exported, group)["y"] for group in ("log_likelihood", "posterior_predictive")
    )
    measured = dataset(exported, "observed_data")["y"].values
    noise = np.random.default_rng(0).standard_normal((8, posterior.n_rows))
    for (place, draw), drawn in zip(each_draw(exported), noise, strict=True):
        sd = float(draw["noise_sd"])
        expected = one_step(posterior, model_of(posterior, draw))
        plain = stats.norm.logpdf(measured, expected, sd)
        np.testing.assert_allclose(density.isel(place), plain, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(replicate.isel(place), expected + sd * drawn, rtol=1e-10)


def test_draws_in_small_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dataset(to_arviz(many_sided()), "log_likelihood")["y"]
    monkeypatch.setattr(arviz_data, "_BLOCK_VALUES", 1)
    cut = dataset(to_arviz(many_sided()), "log_likelihood")["y"]
    np.testing.assert_allclose(whole, cut, rtol=1e-12)


def test_fitted_samples_are_named_by_record_and_sample() -> None:
    posterior = many_sided()
    exported = to_arviz(posterior)
    for group in ("log_likelihood", "posterior_predictive", "observed_data", "constant_data"):
        found = dataset(exported, group)
        assert found["obs_id"].values.tolist() == [*range(3, 30), *range(33, 51)]
        assert found["record"].values.tolist() == [0] * 27 + [1] * 18
        assert found["sample"].values.tolist() == [*range(3, 30), *range(3, 21)]
    observed, inputs = dataset(exported, "observed_data"), dataset(exported, "constant_data")
    records = posterior.data.records
    assert observed["y"].values.tolist() == [y for r in records for y in r.output[3:]]
    assert inputs["v"].values.tolist() == [row[1] for r in records for row in r.inputs[3:]]


def test_one_record_counts_its_samples(posterior: Posterior) -> None:
    found = dataset(to_arviz(posterior), "observed_data")
    assert list(found.coords) == ["obs_id"]
    assert found["obs_id"].values.tolist() == list(range(2, 100))


def test_theta_is_zero_exactly_where_a_term_is_not_in() -> None:
    exported = to_arviz(many_sided())
    found = dataset(exported, "posterior")
    assert ((found["theta"] != 0.0) == (found["included"] == 1)).all()
    assert set(np.unique(found["included"])) == {0, 1}
    is_old = type(exported).__name__ == "InferenceData"
    assert found["included"].dtype == (bool if is_old else np.int8)  # ArviZ 1.x fails on bool
    assert (found["included"].sum("term") == found["n_terms"]).all()
    assert not any(np.isnan(found[name]).any() for name in found.data_vars)
    assert "coefficient_sd" not in found


def test_terms_are_in_canonical_order_with_the_inclusion_and_means_of_the_posterior(
    posterior: Posterior,
) -> None:
    found = dataset(to_arviz(posterior), "posterior")
    names = posterior.encoding.names
    texts = found["term"].values.tolist()
    assert str(Structure.parse(" + ".join(texts), names)) == " + ".join(texts)
    assert len(texts) > 4
    table = posterior.terms.set_index("term").loc[texts]
    inclusion = found["included"].mean(("chain", "draw"))
    np.testing.assert_allclose(inclusion, table["inclusion"], rtol=1e-12)
    mean = found["theta"].mean(("chain", "draw")) / inclusion
    np.testing.assert_allclose(mean, table["mean"], rtol=1e-9)


def test_statistics_say_how_likely_a_draw_is(posterior: Posterior) -> None:
    exported = to_arviz(posterior)
    statistics = dataset(exported, "sample_stats")
    total = dataset(exported, "log_likelihood")["y"].sum("obs_id")
    # What the chain added up from inner products on scaled signals, against each sample's own.
    np.testing.assert_allclose(statistics["log_lik"], total, rtol=1e-8)
    np.testing.assert_array_equal(statistics["lp"].values.ravel(), posterior.log_posterior)
    np.testing.assert_array_equal(statistics["log_prior"].values.ravel(), posterior.draws.log_prior)
    assert "power 1" in statistics["lp"].attrs["description"]
    ranks = statistics["structure"].values.ravel()
    mass = np.bincount(ranks, minlength=len(posterior.structures)) / len(posterior)
    np.testing.assert_allclose(mass, posterior.structures["mass"])


def test_the_likelihood_is_not_tempered() -> None:
    posterior = quick(samples=400, likelihood_power=0.25).fit(*simulated(n=60)).posterior_
    exported = to_arviz(posterior)
    total = dataset(exported, "log_likelihood")["y"].sum("obs_id")
    np.testing.assert_allclose(dataset(exported, "sample_stats")["log_lik"], total, rtol=1e-8)
    assert dataset(exported, "posterior").attrs["likelihood_power"] == 0.25


def test_a_coefficient_prior_that_is_learnt_is_exported() -> None:
    prior = Prior(coefficient_shape=2.0, coefficient_scale=1.0)
    posterior = quick(samples=400, prior=prior).fit(*simulated(n=60)).posterior_
    found = dataset(to_arviz(posterior), "posterior")["coefficient_sd"]
    np.testing.assert_allclose(found.values.ravel() ** 2, posterior.draws.coefficient)


def test_thinning_keeps_every_so_many_draws(posterior: Posterior) -> None:
    every, some = (dataset(to_arviz(posterior, thin=n), "posterior") for n in (1, 7))
    np.testing.assert_array_equal(every["theta"][:, ::7], some["theta"])
    assert every["term"].values.tolist() == some["term"].values.tolist()


def test_chains_of_unequal_length_give_their_ends() -> None:
    grammar = Grammar.narx(("u",), max_lag=1)
    data = Dataset.from_arrays(*simulated(n=20))
    chains = [[("u(k-1)", [value], 1.0) for value in (1, 2, 3)], [("u(k-1)", [9], 1.0)] * 2]
    posterior = by_hand(data, chains, grammar, chain_numbers=(0, 3))
    with pytest.warns(UserWarning, match="3, 2 draws; the last 2 of each"):
        found = dataset(to_arviz(posterior), "posterior")
    assert found["theta"].values[..., 0].tolist() == [[2, 3], [9, 9]]
    assert found["chain"].values.tolist() == [0, 3]


def test_groups_can_be_left_out(posterior: Posterior) -> None:
    exported = to_arviz(posterior, log_likelihood=False, posterior_predictive=False)
    found = exported.groups() if callable(exported.groups) else exported.children
    assert sorted(found) == ["constant_data", "observed_data", "posterior", "sample_stats"]


def test_an_autonomous_system_has_no_constant_data() -> None:
    data = Dataset.from_arrays(None, np.sin(np.arange(20.0)))
    chain = [("y(k-1) + y(k-2)", [1.0, -1.0], 0.1)]
    posterior = by_hand(data, [chain], Grammar.narx((), max_lag=2))
    exported = to_arviz(posterior)
    assert dataset(exported, "log_likelihood")["y"].shape == (1, 1, 18)
    assert "constant_data" not in exported


def test_signals_named_like_coordinates_get_an_underscore() -> None:
    data = two_records(("sample", "record", "chain"))
    posterior = by_hand(
        data, [[("sample(k)", [1.0], 1.0)]], Grammar.narx(data.names.inputs, "chain")
    )
    exported = to_arviz(posterior)
    assert list(dataset(exported, "constant_data").data_vars) == ["sample_", "record_"]
    assert list(dataset(exported, "log_likelihood").data_vars) == ["chain_"]


def test_the_export_is_a_function_of_the_seed() -> None:
    first, again, other = (to_arviz(many_sided(), seed=seed) for seed in (1, 1, 2))
    for group in ("posterior", "sample_stats", "log_likelihood", "posterior_predictive"):
        assert dataset(first, group).equals(dataset(again, group))
    assert not dataset(first, "posterior_predictive").equals(dataset(other, "posterior_predictive"))


def test_groups_say_where_they_come_from(posterior: Posterior) -> None:
    exported = to_arviz(posterior)
    for group in ("posterior", "log_likelihood", "observed_data"):
        attributes = dataset(exported, group).attrs
        assert attributes["inference_library"] == "adjoin"
        assert attributes["arviz_version"] == import_arviz().__version__
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*\+00:00", attributes["created_at"])
    attributes = dataset(exported, "posterior").attrs
    assert attributes["sampling_time"] == posterior.timing["sampling_s"]
    assert attributes["tuning_steps"] == 2000


def test_an_export_that_would_fill_the_memory_is_refused(
    posterior: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_draws, n_bytes = len(posterior), 9 * len(posterior.terms) + 16 * posterior.n_rows
    monkeypatch.setattr(arviz_data, "_MOST_BYTES", n_draws * n_bytes)
    to_arviz(posterior)
    monkeypatch.setattr(arviz_data, "_MOST_BYTES", n_draws * n_bytes // 3)
    with pytest.raises(AdjoinError, match=r"GiB for 800 draws.*log_likelihood=False and") as error:
        to_arviz(posterior, thin=1)
    thin = int(re.search(r"thin=(\d+)", str(error.value))[1])
    to_arviz(posterior, thin=thin)
    with pytest.raises(AdjoinError, match=f"thin={thin}"):
        to_arviz(posterior, thin=thin - 1)
    to_arviz(posterior, log_likelihood=False, posterior_predictive=False)


@pytest.mark.parametrize(("options", "said"), [({"thin": 0}, "thin"), ({"seed": -1}, "seed")])
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(AdjoinError, match=said):
        to_arviz(many_sided(), **options)


def test_without_arviz_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(AdjoinError, match=re.escape("pip install 'adjoin[arviz]'")):
        to_arviz(many_sided())


def test_the_daily_notice_of_arviz_does_not_reach_the_user(tmp_path: Path) -> None:
    code = "from adjoin.exchange.arviz_data import import_arviz; import_arviz()"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, "-W", "error::FutureWarning", "-c", code]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "refactor" not in run.stderr


def test_diagnostics_are_those_of_arviz_on_the_export(posterior: Posterior) -> None:
    from adjoin.results.diagnose import convergence

    arviz, exported = import_arviz(), to_arviz(posterior)
    draws, statistics = dataset(exported, "posterior"), dataset(exported, "sample_stats")
    series = {
        "number of terms": draws["n_terms"],
        "log posterior": statistics["lp"],
        "noise standard deviation": draws["noise_sd"],
        "best structure is there": statistics["structure"] == 0,
    }
    series |= {f"{text} is in": draws["included"].sel(term=text) for text in draws["term"].values}
    rows = convergence(posterior)
    assert any(row["quantity"].endswith(" is in") for row in rows)
    for row in rows:
        values = series[row["quantity"]].astype(float).to_dataset(name="x")
        for method, key in (("bulk", "ess_bulk"), ("tail", "ess_tail")):
            # The tails of ArviZ 0.x are 5 % each, those of 1.x follow its interval.
            options = {"prob": (0.05, 0.95)} if method == "tail" else {}
            found = arviz.ess(values, method=method, **options)["x"]
            assert float(found) == pytest.approx(row[key], rel=1e-6)
        assert float(arviz.rhat(values)["x"]) == pytest.approx(row["rhat"], rel=1e-6)


def leave_one_out(posterior: Posterior) -> float:
    arviz = import_arviz()
    with warnings.catch_warnings():
        # A far draw of the noise makes a few weights heavy: no matter for a difference this large.
        warnings.filterwarnings("ignore", message="Estimated shape parameter of Pareto")
        found = arviz.loo(to_arviz(posterior))
    return float(getattr(found, "elpd_loo", None) or found.elpd)


def test_leaving_one_out_prefers_the_grammar_that_has_the_true_structure() -> None:
    u, y = simulated("y(k) = 0.5*u(k-1) - 0.3*u(k-2)^3 + 0.6*y(k-1)")
    options = {"samples": 2000, "chains": 2, "seed": 0}
    true = Identifier(max_lag=2, max_degree=3, **options).fit(u, y).posterior_
    linear = Identifier(grammar=Grammar.arx(max_lag=2), **options).fit(u, y).posterior_
    # The noise is 0.1, what a linear model leaves of the cube several times that.
    assert leave_one_out(true) > leave_one_out(linear) + 100.0


def test_the_information_criterion_of_arviz_agrees_with_leaving_one_out(
    posterior: Posterior,
) -> None:
    arviz = import_arviz()
    if not hasattr(arviz, "waic"):
        pytest.skip("ArviZ 1.x has no waic")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="For one or more samples the posterior variance")
        found = arviz.waic(to_arviz(posterior))
    assert found.elpd_waic == pytest.approx(leave_one_out(posterior), abs=1.0)


def test_arviz_summarises_it(posterior: Posterior) -> None:
    arviz = import_arviz()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # R-hat of a term that is always in: 0/0
        table = arviz.summary(to_arviz(posterior))
    assert float(table.loc["theta[y(k-1)]", "mean"]) == pytest.approx(0.6, abs=0.2)
    assert float(table.loc["included[y(k-1)]", "mean"]) == 1.0


@pytest.mark.parametrize("make", [many_sided, None])
def test_the_export_survives_a_file(make: Any, posterior: Posterior, tmp_path: Path) -> None:
    arviz, exported = import_arviz(), to_arviz(make() if make else posterior)
    exported.to_netcdf(str(tmp_path / "export.nc"))
    back = arviz.from_netcdf(str(tmp_path / "export.nc"))
    for group in ("posterior", "sample_stats", "log_likelihood", "observed_data"):
        assert dataset(back, group).equals(dataset(exported, group))


def test_a_posterior_without_any_term_is_exported(tmp_path: Path) -> None:
    data = Dataset.from_arrays(*simulated(LINEAR, n=20))
    posterior = by_hand(data, [[("0", [], 1.0)] * 4], Grammar.narx(("u",), max_lag=2))
    exported = to_arviz(posterior)
    assert dataset(exported, "posterior")["theta"].shape == (1, 4, 0)
    exported.to_netcdf(str(tmp_path / "empty.nc"))


def test_free_run_replicates_are_free_runs_with_noise_and_nan_where_they_diverge() -> None:
    posterior = many_sided_free_run()
    exported = to_arviz(posterior)
    replicate = dataset(exported, "posterior_predictive")["y"]
    noise = np.random.default_rng(0).standard_normal((8, posterior.n_rows))
    n_lost = 0
    for (place, draw), drawn in zip(each_draw(exported), noise, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)
            expected = free_run(posterior, model_of(posterior, draw))
        found = replicate.isel(place)
        np.testing.assert_allclose(found, expected + float(draw["noise_sd"]) * drawn, rtol=1e-10)
        n_lost += bool(np.isnan(found).any())
    assert n_lost == 1
    assert np.isfinite(replicate.isel(chain=1, draw=0, obs_id=0))  # not lost from the start


@pytest.fixture(scope="module")
def free_run_posterior() -> Posterior:
    return quick_free_run(samples=1000, thin=4, burn_in=0.2, ladder={"annealing": 0.3})


def test_a_free_run_posterior_has_distances_and_no_likelihood(
    free_run_posterior: Posterior,
) -> None:
    exported = to_arviz(free_run_posterior, log_likelihood=True)
    found = exported.groups() if callable(exported.groups) else exported.children
    assert "log_likelihood" not in {name.strip("/") for name in found}
    statistics = dataset(exported, "sample_stats")
    assert "log_lik" not in statistics
    assert "distance of the free run" in statistics["distance"].attrs["description"]
    assert "likelihood" not in statistics["lp"].attrs["description"]
    assert "tolerance" in dataset(exported, "posterior")["noise_sd"].attrs["description"]
    assert "likelihood_power" not in statistics.attrs
    # Without their noise, the replicates are as far from what was measured as the chain says.
    noise = np.random.default_rng(0).standard_normal((len(free_run_posterior), 58))
    sd = dataset(exported, "posterior")["noise_sd"].values[..., None]
    replicate = dataset(exported, "posterior_predictive")["y"].values
    measured = dataset(exported, "observed_data")["y"].values
    deviation = replicate - sd * noise.reshape(replicate.shape) - measured
    distance = 100.0 * np.mean(deviation**2, axis=-1) / np.var(measured)
    np.testing.assert_allclose(statistics["distance"], distance, rtol=1e-8)
    assert np.ptp(distance) > 0.0


def test_annealing_counts_as_tuning(free_run_posterior: Posterior) -> None:
    exported = to_arviz(free_run_posterior)
    # 300 of 1000 samples anneal; of the 700 recorded ones every fourth, but for the first fifth.
    assert dataset(exported, "posterior").attrs["tuning_steps"] == 300 + 140
    assert dataset(exported, "posterior").sizes["draw"] == 560 // 4


def test_room_is_wanted_for_no_likelihood_of_a_free_run(
    free_run_posterior: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_bytes = 9 * len(free_run_posterior.terms) + 8 * free_run_posterior.n_rows
    monkeypatch.setattr(arviz_data, "_MOST_BYTES", len(free_run_posterior) * n_bytes)
    to_arviz(free_run_posterior)
    monkeypatch.setattr(arviz_data, "_MOST_BYTES", len(free_run_posterior) * n_bytes - 1)
    with pytest.raises(AdjoinError, match="thin=2"):
        to_arviz(free_run_posterior)


def test_arviz_summarises_a_free_run_and_keeps_it_in_a_file(
    free_run_posterior: Posterior, tmp_path: Path
) -> None:
    arviz, exported = import_arviz(), to_arviz(free_run_posterior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # R-hat of what does not vary: 0/0
        table = arviz.summary(exported)
    assert float(table.loc["theta[y(k-1)]", "mean"]) == pytest.approx(0.6, abs=0.2)
    exported.to_netcdf(str(tmp_path / "export.nc"))
    back = arviz.from_netcdf(str(tmp_path / "export.nc"))
    for group in ("posterior", "sample_stats", "posterior_predictive"):
        assert dataset(back, group).equals(dataset(exported, group))
