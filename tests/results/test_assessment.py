"""The assessment: what is scored, which part counts, and what the three answers say."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from tests.systems import by_hand, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Model, Posterior
from adjoin.results.assessment import Answer, Assessment, Part, assess, stretches
from adjoin.results.prediction import Prediction
from adjoin.results.residual_tests import ResidualTest, residual_tests
from adjoin.scores import fit_index, nmse, rmse

GRAMMAR = Grammar.narx(max_lag=2, max_degree=2)
U, Y = simulated(n=450)
TRAIN, HELD_OUT, TEST = Dataset.from_arrays(U, Y).split(200, 100, 150)
TRUE = ("u(k-1) + y(k-1)", [0.5, 0.6], 0.01)
POOR = ("u(k-2)", [0.3], 0.1)


def made(chains: list, data: Dataset = TRAIN, held_out: Dataset | None = None) -> Posterior:
    return by_hand(data, [list(chain) for chain in chains], GRAMMAR, held_out=held_out)


@pytest.fixture(scope="module")
def selected() -> Assessment:
    """Two chains, of which validation chooses the second; and test data."""
    return assess(made([[POOR] * 8, [TRUE] * 4], held_out=HELD_OUT), TEST, draws=40)


# Which data and which chains


def test_the_last_part_is_what_counts() -> None:
    alone, held = made([[TRUE] * 4]), made([[TRUE] * 4], held_out=HELD_OUT)
    names = {
        ("training",): assess(alone, draws=20),
        ("training", "validation"): assess(held, draws=20),
        ("training", "test"): assess(alone, TEST, draws=20),
        ("training", "validation", "test"): assess(held, TEST, draws=20),
    }
    for expected, found in names.items():
        assert tuple(part.name for part in found.parts) == expected
        last = expected[-1]
        where = "the data that were fitted" if last == "training" else f"the {last} data"
        scores = found.parts[-1].scores[0]
        assert found.trusted.reasons[0] == (
            f"its error is {scores['nmse']:.3g} % of the variance of {where}"
            f" (fit index {scores['fit']:.1f} %)"
        )
    assert [part.data for part in names["training", "validation", "test"].parts] == [
        TRAIN,
        HELD_OUT,
        TEST,
    ]


def test_validation_selects_the_chain_that_is_reported(selected: Assessment) -> None:
    assert selected.is_selected
    assert selected.posterior.chain_numbers == (1,)
    assert selected.every.n_chains == 2
    rows = [(row["chains"], row["predictor"]) for row in selected.parts[-1].scores]
    assert rows == [
        ("chain 1, selected", "MAP"),
        ("chain 1, selected", "FWD mean"),
        ("all chains", "MAP"),
        ("all chains", "FWD mean"),
    ]


def test_without_validation_all_chains_are_reported() -> None:
    both = assess(made([[POOR] * 8, [TRUE] * 4]), TEST, draws=20)
    assert not both.is_selected
    assert [row["chains"] for row in both.parts[0].scores] == ["all chains"] * 2
    lone = assess(made([[TRUE] * 4], held_out=HELD_OUT), draws=20)
    assert not lone.is_selected
    assert [row["chains"] for row in lone.parts[0].scores] == ["the chain"] * 2


def test_scores_are_of_free_runs_without_their_seeds(selected: Assessment) -> None:
    for part, data in zip(selected.parts, (TRAIN, HELD_OUT, TEST), strict=True):
        expected = []
        for of in (selected.posterior, selected.every):
            forward = of.simulate(data.u, data.y[:2], draws=40)
            for series in (of.map_model.simulate(data.u, data.y[:2]), forward.mean):
                pair = data.y[2:], series[2:]
                expected.append((rmse(*pair), nmse(*pair), fit_index(*pair)))
        found = [(row["rmse"], row["nmse"], row["fit"]) for row in part.scores]
        assert found == [pytest.approx(row, rel=1e-12) for row in expected]
        own = selected.posterior.simulate(data.u, data.y[:2], draws=40)
        assert part.coverage == own.coverage(data.y)
        np.testing.assert_array_equal(part.prediction.mean[0], own.mean)
        run = selected.posterior.map_model.simulate(data.u, data.y[:2])
        np.testing.assert_array_equal(part.model_run[0], run)


def test_several_records_are_assessed_together() -> None:
    test = Dataset.from_arrays([TEST.u[:70], TEST.u[70:]], [TEST.y[:70], TEST.y[70:]])
    (_, part) = assess(made([[TRUE] * 4]), test, draws=20).parts
    assert [len(run) for run in part.model_run] == [70, 80]
    measured = [y[2:] for y in test.y]
    assert part.scores[0]["rmse"] == pytest.approx(rmse(measured, [r[2:] for r in part.model_run]))


def test_residual_tests_are_of_the_fitted_data(selected: Assessment) -> None:
    expected = selected.posterior.residual_tests()
    for found, other in zip(selected.residual_tests, expected, strict=True):
        np.testing.assert_array_equal(found.z, other.z)


@pytest.mark.parametrize("names", [("v", "y"), ("u", "x")])
def test_data_of_other_signals_are_refused(names: tuple[str, str]) -> None:
    other = Dataset.from_arrays(TEST.u, TEST.y, names)
    message = f"the test data have the signals {', '.join(names)}, but the run is of u, y"
    with pytest.raises(AdjoinError, match=message):
        assess(made([[TRUE]]), other)


def test_records_too_short_to_score_are_refused() -> None:
    short = Dataset.from_arrays([TEST.u, TEST.u[:3]], [TEST.y, TEST.y[:3]])
    with pytest.raises(AdjoinError, match="too few samples in record 1: 3, but max_lag=2 needs"):
        assess(made([[TRUE]]), short)
    assert assess(made([[TRUE]]), TEST[:4], draws=5).parts[1].coverage in (0.0, 0.5, 1.0)


# Is this equation the only one?


def mixed(draws: list) -> list:
    """In random order, as a chain that mixes has them."""
    return [draws[i] for i in np.random.default_rng(0).permutation(len(draws))]


@pytest.mark.parametrize(
    ("n_best", "n_other", "level", "short", "reason"),
    [
        (20, 0, "good", "As good as unique", "100.0 % of the draws have its structure"),
        (18, 2, "good", "As good as unique", "90.0 % of the draws have its structure; 1 other has"),
        (17, 3, "caution", "Probably, but not surely", "85.0 % of the draws have its structure; 1"),
        (10, 9, "caution", "Probably, but not surely", "52.6 % of the draws have its structure"),
    ],
)
def test_a_structure_is_as_unique_as_its_mass(
    n_best: int, n_other: int, level: str, short: str, reason: str
) -> None:
    answer = assess(made([mixed([TRUE] * n_best + [POOR] * n_other)]), draws=5).unique
    assert (answer.level, answer.short) == (level, short)
    assert reason in answer.reasons[0]
    assert n_other or answer.reasons[0].endswith("structure")


def test_open_terms_are_counted() -> None:
    others = [("u(k-1)", [0.5], 0.1), ("y(k-1)", [0.6], 0.1), ("u(k)", [0.1], 0.1)]
    answer = assess(made([mixed([TRUE] * 40 + 20 * others)]), draws=5).unique
    assert answer.short == "No: the data leave the structure open"
    assert answer.reasons[0] == ("40.0 % of the draws have its structure; 3 others have the rest")
    assert answer.reasons[1] == "0 terms certain (in at least 99 % of the draws), 3 open"
    rare = ("u(k-1) + y(k-1) + u(k)", [0.1, 0.5, 0.6], 0.01)
    answer = assess(made([mixed([TRUE] * 96 + [rare] * 4)]), draws=5).unique
    assert answer.reasons[1].startswith("2 terms certain")
    assert ", 0 open" in answer.reasons[1]


def test_a_term_is_certain_only_if_every_chain_has_it() -> None:
    other = ("u(k-1) + y(k-2)", [0.5, 0.3], 0.02)
    found = assess(made([[TRUE] * 20, [other] * 20], held_out=HELD_OUT), draws=5)
    assert found.is_selected
    answer = found.unique
    assert (answer.level, answer.short) == ("poor", "Cannot be said: the chains did not converge")
    assert answer.reasons == (
        "100.0 % of the draws of chain 0 have its structure",
        "1 term certain (in at least 99 % of the draws of every chain), 1 open",
    )


def test_a_model_without_lags_can_be_assessed() -> None:
    u, error = np.random.default_rng(0).standard_normal((2, 300))
    grammar = Grammar.fir(max_lag=0)
    data = Dataset.from_arrays(u, 2.0 * u + 0.1 * error)
    posterior = quick(grammar=grammar, max_lag=0, max_degree=1).fit(data).posterior_
    found = assess(posterior, data, draws=20)
    assert posterior.max_lag == 0
    assert found.parts[-1].prediction.n_seed == (0,)
    assert found.parts[-1].scores[0]["rmse"] == pytest.approx(0.1, rel=0.2)
    json.dumps(found.describe(), allow_nan=False)


def test_the_empty_structure_can_be_assessed() -> None:
    found = assess(made([[("0", [], 1.0)] * 4] * 2), draws=20)
    assert found.unique.reasons[1].startswith("0 terms certain")
    json.dumps(found.describe(), allow_nan=False)


# Can its free run be trusted?


def predicted(
    name: str = "test",
    fit: float | None = 90.0,
    coverage: float = 0.95,
    diverged: float = 0.0,
    error: float | None = 0.1,
) -> Answer:
    """The answer where one part has these figures."""
    prediction = Prediction(np.zeros(1), np.zeros(1), {}, diverged, 200, (0,))
    share = None if fit is None else (100.0 - fit) ** 2 / 100.0
    row = {"chains": "all chains", "predictor": "MAP", "rmse": error, "nmse": share, "fit": fit}
    part = Part(name, TEST, prediction, [], coverage, (row,))
    return Assessment(SimpleNamespace(), SimpleNamespace(data=TEST), (part,), ()).trusted


@pytest.mark.parametrize(
    ("figures", "level", "short"),
    [
        ({}, "good", "Yes"),
        ({"name": "validation"}, "good", "Yes"),
        ({"name": "training"}, "caution", "Perhaps: it was not tried on other data"),
        ({"coverage": 0.90}, "good", "Yes"),
        ({"coverage": 0.99}, "good", "Yes"),
        ({"coverage": 0.89}, "caution", "With care: its bands are too narrow"),
        ({"coverage": 0.995}, "caution", "With care: its bands are too wide"),
        ({"fit": 69.0}, "good", "Yes"),
        ({"fit": 68.0}, "caution", "With care: it misses a part"),
        ({"fit": 30.0}, "caution", "With care: it misses a part"),
        ({"fit": 29.0}, "poor", "No: it misses more than it explains"),
        ({"fit": -1.0}, "poor", "No: it is worse than the mean"),
        ({"diverged": 0.05}, "caution", "With care: some draws diverge"),
        ({"diverged": 0.06}, "poor", "No: many draws diverge"),
        ({"error": None, "fit": None}, "poor", "No: it diverges"),
        ({"fit": None}, "caution", "Cannot be told: the output stands still"),
        # the worst counts, whatever else there is
        ({"fit": 20.0, "diverged": 0.01}, "poor", "No: it misses more than it explains"),
        ({"fit": 20.0, "coverage": 0.5}, "poor", "No: it misses more than it explains"),
        ({"diverged": 0.5, "coverage": 0.5}, "poor", "No: many draws diverge"),
        ({"diverged": 0.51, "fit": 20.0}, "poor", "No: most draws diverge"),
        ({"diverged": 0.01, "coverage": 0.5}, "caution", "With care: some draws diverge"),
        (
            {"name": "training", "coverage": 0.5},
            "caution",
            "Perhaps: it was not tried on other data",
        ),
    ],
)
def test_a_free_run_is_trusted_as_far_as_it_was_tried(
    figures: dict, level: str, short: str
) -> None:
    answer = predicted(**figures)
    assert (answer.level, answer.short) == (level, short)


def test_the_reasons_for_trust_are_its_figures() -> None:
    assert predicted().reasons == (
        "its error is 1 % of the variance of the test data (fit index 90.0 %)",
        "the 95 % band holds 95.0 % of the measured samples",
        "no draw diverged",
    )
    assert predicted(coverage=0.8, diverged=0.015).reasons[1:] == (
        "the 95 % band holds 80.0 % of the measured samples: too narrow",
        "1.5 % of 200 draws diverged",
    )
    assert predicted(coverage=1.0).reasons[1].endswith("100.0 % of the measured samples: too wide")
    assert predicted(fit=None).reasons[0] == (
        "the output of the test data is constant, so there is nothing to explain"
    )
    assert "of the data that were fitted (fit" in predicted("training").reasons[0]


def test_a_part_on_which_it_fails_is_named() -> None:
    """A test set that begins near rest says nothing of a record that the model cannot follow."""
    bad = Dataset.from_arrays(HELD_OUT.u, HELD_OUT.y + np.linspace(0.0, 5.0, 100))
    found = assess(made([[TRUE] * 4], held_out=bad), TEST, draws=20)
    assert found.trusted.short == "With care: it fails on the validation data"
    assert "but on the validation data it misses" in found.trusted.reasons[1]


def test_inputs_beyond_the_fitted_range_are_named() -> None:
    far = Dataset.from_arrays(3.0 * TEST.u, 3.0 * TEST.y)
    reasons = assess(made([[TRUE] * 4]), far, draws=20).trusted.reasons
    assert any(re.match(r"there u goes \d.\d times as far", reason) for reason in reasons)
    assert not any("goes" in reason for reason in predicted().reasons)


def test_few_samples_are_not_judged() -> None:
    few = assess(made([[TRUE] * 4], TRAIN[:30]), TEST[:20], draws=20)
    assert "too" not in few.trusted.reasons[-2]
    assert few.exhausted.short == "Cannot be told: too few samples"


def test_a_model_that_diverges_has_no_scores() -> None:
    """Fitted near rest, where it is stable; the test begins where its cube takes over."""
    u, y = simulated("y(k) = 0.1*u(k) + 0.4*y(k-1) + 0.3*y(k-1)^3", n=200, noise=0.0)
    chain = [("u(k) + y(k-1) + y(k-1)^3", [0.1, 0.4, 0.3], 1e-6)] * 4
    grammar = Grammar.narx(max_lag=2, max_degree=3)
    far = Dataset.from_arrays(u[:90], np.append([4.0, 4.0], y[2:90]))
    found = assess(by_hand(Dataset.from_arrays(u, y), [chain], grammar), far, draws=10)
    near, part = found.parts
    assert near.scores[0]["fit"] > 99.0
    assert part.scores[0] == {
        "chains": "the chain",
        "predictor": "MAP",
        "rmse": None,
        "nmse": None,
        "fit": None,
    }
    assert part.prediction.diverged == 1.0
    assert part.coverage == 0.0
    assert found.trusted == Answer(
        "poor", "No: it diverges", ("the free run on the test data diverges",)
    )
    described = json.loads(json.dumps(found.describe(), allow_nan=False))
    assert described["scores"]["test"][1]["rmse"] is None
    assert described["diverged"] == {"training": 0.0, "test": 1.0}


def test_an_output_that_stands_still_is_not_divergence() -> None:
    still = Dataset.from_arrays(np.zeros(50), np.zeros(50))
    found = assess(made([[TRUE] * 4]), still, draws=20)
    assert found.parts[1].scores[0]["rmse"] == 0.0
    assert found.parts[1].scores[0]["fit"] is None
    assert found.trusted.short == "Cannot be told: the output stands still"
    json.dumps(found.describe(), allow_nan=False)


def test_bands_of_the_true_model_hold_and_those_of_too_small_noise_do_not() -> None:
    assert assess(made([[TRUE] * 4]), TEST).trusted.short == "Yes"
    timid = assess(made([[(*TRUE[:2], 0.0001)] * 4]), TEST).trusted
    assert timid.short == "With care: its bands are too narrow"
    bold = assess(made([[(*TRUE[:2], 1.0)] * 4]), TEST).trusted
    assert bold.short == "With care: its bands are too wide"


# Is something left in the residuals?


def left(residual: np.ndarray, u: np.ndarray, is_free_run: bool = False) -> Answer:
    tests = residual_tests([residual], [np.zeros(len(u))], {"u": [u]})
    posterior = SimpleNamespace(is_free_run=is_free_run)
    return Assessment(posterior, SimpleNamespace(), (), tuple(tests)).exhausted


def test_white_residuals_leave_nothing() -> None:
    u, error = np.random.default_rng(0).standard_normal((2, 1000))
    assert left(error, u) == Answer(
        "good",
        "Nothing that the tests see",
        ("all 7 correlation tests pass: what is left looks like white noise",),
    )


def test_what_the_input_explains_asks_for_a_richer_model() -> None:
    u, error = np.random.default_rng(0).standard_normal((2, 1000))
    answer = left(error - np.roll(u, 3), u)
    assert (answer.level, answer.short) == ("caution", "Yes")
    assert answer.reasons[0].startswith("2 of 7 correlation tests fail; the largest correlation is")
    assert "correlation is -0.69" in answer.reasons[0]
    assert answer.reasons[0].endswith("of residual with input at lag 3")
    assert answer.reasons[1].startswith("a larger max_lag or max_degree")


def test_coloured_noise_asks_for_wider_intervals() -> None:
    u, error = np.random.default_rng(1).standard_normal((2, 1000))
    answer = left(error + 0.5 * np.roll(error, 1), u)
    assert "of residual with itself at lag 1" in answer.reasons[0]
    assert "likelihood_power='auto' widens them" in answer.reasons[1]


def test_coloured_residuals_of_a_free_run_ask_for_a_wider_tolerance() -> None:
    u, error = np.random.default_rng(1).standard_normal((2, 1000))
    answer = left(error + 0.5 * np.roll(error, 1), u, is_free_run=True)
    assert answer.short == "Yes"
    assert "measurement noise is coloured" in answer.reasons[1]
    assert "misses slow dynamics" in answer.reasons[1]
    assert "ladder={'tolerance': …}" in answer.reasons[1]
    assert "likelihood_power" not in answer.reasons[1]


def test_a_small_correlation_of_much_data_is_slight() -> None:
    u, error = np.random.default_rng(2).standard_normal((2, 20_000))
    answer = left(error + 0.05 * np.roll(u, 2), u)
    assert answer.short == "Slightly"
    assert "is +0.05, of residual with input at lag 2" in answer.reasons[0]


def test_the_largest_correlation_named_is_one_that_failed() -> None:
    """Lag 1 correlates more, but by chance, for its error is large."""
    test = ResidualTest(
        "x", "$x$", np.array([1, 2]), np.array([0.4, -0.2]), np.array([1.0, -9.0]), 100, 2, 1
    )
    answer = Assessment(SimpleNamespace(), SimpleNamespace(), (), (test,)).exhausted
    assert "is -0.20, of x at lag 2" in answer.reasons[0]


# As plain values, and where to look closer


def test_the_description_is_plain_values(selected: Assessment) -> None:
    found = json.loads(json.dumps(selected.describe(), allow_nan=False))
    assert found == selected.describe()
    assert set(found["scores"]) == set(found["coverage_95"]) == {"training", "validation", "test"}
    assert found["scores"]["test"] == list(selected.parts[2].scores)
    assert found["coverage_95"]["test"] == selected.parts[2].coverage
    assert found["diverged"] == {"training": 0.0, "validation": 0.0, "test": 0.0}
    assert [test["test"] for test in found["residual_tests"]] == [
        test.name for test in selected.residual_tests
    ]
    for name, answer in (
        ("unique", selected.unique),
        ("trusted", selected.trusted),
        ("left_in_residuals", selected.exhausted),
    ):
        assert found["answers"][name] == {
            "level": answer.level,
            "answer": answer.short,
            "reasons": list(answer.reasons),
        }


def test_a_fit_can_be_assessed() -> None:
    posterior = quick(samples=4000).fit(TRAIN, held_out=HELD_OUT).posterior_
    found = assess(posterior, TEST)
    assert found.is_selected
    assert found.trusted.short == "Yes"
    assert found.exhausted.level == "good"
    json.dumps(found.describe(), allow_nan=False)


def test_an_autonomous_system_can_be_assessed() -> None:
    rng = np.random.default_rng(0)
    y = Model.parse("y(k) = 0.9*y(k-1)").simulate(200, noise=rng.standard_normal(200))
    train, test = Dataset.from_arrays(None, y).split(0.5)
    found = assess(quick().fit(train).posterior_, test, draws=30)
    assert len(found.residual_tests) == 2
    json.dumps(found.describe(), allow_nan=False)


@pytest.mark.parametrize(("n", "shown"), [(100, 100), (1000, 150), (5000, 250), (20_000, 400)])
def test_a_closer_look_is_where_the_output_moves_most(n: int, shown: int) -> None:
    y = np.zeros(n)
    y[n // 2 : n // 2 + 20] = 9.0
    data = Dataset.from_arrays([np.zeros(n), np.zeros(90)], [y, np.arange(90.0)])
    (number, begin, end), (other, first, last) = stretches(SimpleNamespace(data=data))
    assert (number, other, first, last) == (0, 1, 0, 90)
    assert end - begin == shown
    assert begin <= n // 2 < n // 2 + 20 <= end
