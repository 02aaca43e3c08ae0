"""The assessment: which part counts, what is reported, and that nothing is done twice."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from tests.results.runs import HELD_OUT, POOR, TEST, TRAIN, TRUE, made
from tests.systems import quick

from adjoin import AdjoinError, Dataset, Model
from adjoin.data.columns import Columns
from adjoin.data.scaling import Scaling
from adjoin.results import assessment, scoring
from adjoin.results.assessment import Assessment, assess, stretches
from adjoin.results.collection import Collection
from adjoin.results.stacking import DRAWS


@pytest.fixture(scope="module")
def selected() -> Assessment:
    """Two chains, of which validation chooses the second; and test data."""
    return assess(made([[POOR] * 8, [TRUE] * 4], held_out=HELD_OUT), TEST, draws=40)


def test_the_last_part_is_what_counts() -> None:
    alone, held = made([[TRUE] * 4]), made([[TRUE] * 4], held_out=HELD_OUT)
    names = {
        ("train",): assess(alone, draws=20),
        ("train", "validation"): assess(held, draws=20),
        ("train", "test"): assess(alone, TEST, draws=20),
        ("train", "validation", "test"): assess(held, TEST, draws=20),
    }
    for expected, found in names.items():
        assert tuple(part.name for part in found.parts) == expected
        last = expected[-1]
        where = "the data that were fitted" if last == "train" else f"the {last} data"
        _, share, fit = found.parts[-1].scores.free_run
        assert found.trusted.reasons[0] == (
            f"its error is {share:.3g} % of the variance of {where} (fit index {fit:.1f} %)"
        )
    assert [part.data for part in names["train", "validation", "test"].parts] == [
        TRAIN,
        HELD_OUT,
        TEST,
    ]


def test_validation_selects_the_chain_that_is_reported(selected: Assessment) -> None:
    assert selected.is_selected
    assert selected.posterior.chain_numbers == (1,)
    assert selected.all_chains.n_chains == 2
    rows = [(row.chains, row.predictor) for row in selected.parts[-1].comparison]
    assert rows == [
        ("chain 1, selected", "MAP"),
        ("chain 1, selected", "FWD mean"),
        ("chain 1, selected", "FWD median"),
        ("all chains", "MAP"),
        ("all chains", "FWD mean"),
        ("all chains", "FWD median"),
        ("all chains, weighted", "FWD mean"),
        ("all chains, weighted", "FWD median"),
    ]


def test_without_validation_all_chains_are_reported() -> None:
    both = assess(made([[POOR] * 8, [TRUE] * 4]), TEST, draws=20)
    assert not both.is_selected
    assert [row.chains for row in both.parts[0].comparison] == ["all chains"] * 3
    lone = assess(made([[TRUE] * 4], held_out=HELD_OUT), draws=20)
    assert not lone.is_selected
    assert [row.chains for row in lone.parts[0].comparison] == ["the chain"] * 3


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
    part = assess(made([[TRUE]]), TEST[:4], draws=5).parts[1]
    assert part.scores.coverage in (0.0, 0.5, 1.0)


def test_a_fit_can_be_assessed() -> None:
    posterior = quick(samples=4000).fit(TRAIN, held_out=HELD_OUT).posterior_
    found = assess(posterior, TEST)
    assert found.is_selected
    assert found.trusted.short == "Yes"
    assert found.exhausted.level == "good"


def test_an_autonomous_system_can_be_assessed() -> None:
    rng = np.random.default_rng(0)
    y = Model.parse("y(k) = 0.9*y(k-1)").simulate(200, noise=rng.standard_normal(200))
    train, test = Dataset.from_arrays(None, y).split(0.5)
    found = assess(quick().fit(train).posterior_, test, draws=30)
    assert len(found.residual_tests) == 2


@pytest.mark.parametrize(("n", "shown"), [(100, 100), (1000, 150), (5000, 250), (20_000, 400)])
def test_a_closer_look_is_where_the_output_moves_most(n: int, shown: int) -> None:
    y = np.zeros(n)
    y[n // 2 : n // 2 + 20] = 9.0
    data = Dataset.from_arrays([np.zeros(n), np.zeros(90)], [y, np.arange(90.0)])
    (number, begin, end), (other, first, last) = stretches(SimpleNamespace(data=data))
    assert (number, other, first, last) == (0, 1, 0, 90)
    assert end - begin == shown
    assert begin <= n // 2 < n // 2 + 20 <= end


def test_a_rest_far_from_the_mean_is_not_where_it_moves() -> None:
    y = np.concatenate([np.full(600, 40.0), np.sin(np.arange(300) / 9.0), np.zeros(600)])
    data = Dataset.from_arrays([np.zeros(len(y))], [y])
    ((_, begin, end),) = stretches(SimpleNamespace(data=data))
    assert begin < 600 < end  # the step down from rest to the wave is the largest move of all


def test_test_data_may_have_a_name_of_their_own() -> None:
    found = assess(made([[TRUE] * 4]), TEST, draws=20, test_name="rig.csv")
    assert [part.name for part in found.parts] == ["train", "rig.csv"]
    assert "of the variance of rig.csv (fit index" in found.trusted.reasons[0]
    assert found.verdict.summary.startswith("the simulation holds on rig.csv; ")


def test_of_very_long_records_fewer_draws_are_run() -> None:
    assert scoring.affordable_draws(1000) == 200
    assert scoring.affordable_draws(2**20) == 64
    assert scoring.affordable_draws(2**26) == 20
    assert assess(made([[TRUE] * 4])).parts[0].prediction.n_draws == 200


def test_everything_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for all of it twice, and count what was computed."""
    count: Counter[str] = Counter()

    def watch(owner: object, name: str) -> None:
        original = getattr(owner, name)

        def counted(*arguments, **options):
            count[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)

    for owner, name in (
        (Collection, "_mode_of"),
        (Collection, "simulate_records"),
        (Model, "free_response"),
        (Model, "predicted_response"),
        (assessment, "diagnose"),
        (Columns, "matrix"),
        (Scaling, "lag_table"),
    ):
        watch(owner, name)
    posterior = made([[POOR] * 8, [TRUE] * 4], held_out=HELD_OUT)
    draws = 10
    found = assess(posterior, TEST, draws=draws)
    for _ in range(2):
        assert [part.comparison for part in found.parts]
        assert found.verdict
        assert found.unique
        assert found.residual_tests
    # Modes: of both chains, which validation compares, and of all draws.
    assert count["_mode_of"] == 3
    assert count["diagnose"] == 1
    # Three parts, by one chain, all and all by weight; and both chains to weigh them.
    assert count["simulate_records"] == 9 + 2
    # Each part by the drawn models, the selected equation and that of all chains; and the other
    # chain on the validation data.
    assert count["free_response"] == 9 * draws + 2 * DRAWS + 3 + 3 + 1
    assert count["predicted_response"] == 4  # and all chains' equation on what was fitted
    assert count["matrix"] == 0  # what passed the gate once is not checked again
    assert count["lag_table"] == 1
    count.clear()
    alone = assess(made([[TRUE] * 4], held_out=HELD_OUT), draws=draws)
    assert [len(part.comparison) for part in alone.parts] == [3, 3]
    assert alone.verdict
    assert count["simulate_records"] == 2


def test_a_note_of_the_files_costs_nothing() -> None:
    posterior = made([[POOR] * 8, [TRUE] * 4], held_out=HELD_OUT)
    model, chosen = posterior.map_model, posterior.selected
    noted = posterior.with_source(["rig.csv"], 0.3, {"validation": 0.3})
    assert noted.map_model is model
    assert (noted.settings.data, noted.settings.validation) == (("rig.csv",), 0.3)
    assert noted.selected.settings.data == ("rig.csv",)
    assert noted.selected.chain_numbers == chosen.chain_numbers
    assert noted.settings.options == {"validation": 0.3}
    assert (posterior.settings.data, posterior.settings.options) == ((), None)
