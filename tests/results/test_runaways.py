"""Free runs that leave the range of the fitted output, through everything that is made of them."""

from __future__ import annotations

import csv
import io
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tests.command import run as command
from tests.systems import by_hand, quick

import adjoin
from adjoin import AdjoinError, Dataset, DivergenceWarning, Grammar, Identifier, Model, Posterior
from adjoin.inference.problem import Problem
from adjoin.report.findings import describe, print_findings
from adjoin.results.assessment import assess
from adjoin.results.prediction import propagate
from adjoin.results.trial import Trial

GRAMMAR = Grammar.narx(max_lag=1, max_degree=2)
BILINEAR = "y(k) = 0.5*u(k-1) + 0.4*y(k-1) + 0.5*u(k-1)*y(k-1)"
STABLE = ("u(k-1) + y(k-1)", [0.5, 0.4], 1e-6)
WILD = ("u(k-1) + y(k-1)", [0.5, 1.2], 1e-6)


def _record(n: int = 400, size: float = 1.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A bilinear system: stable while |0.4 + 0.5 u| < 1, and it runs away on a larger input."""
    u = size * np.clip(np.random.default_rng(seed).standard_normal(n), -1.1, 1.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        return u, Model.parse(BILINEAR).simulate(u, [0.0])


U, Y = _record()
TRAIN = Dataset.from_arrays(U, Y)
MIDDLE, HALF = (Y.max() + Y.min()) / 2.0, (Y.max() - Y.min()) / 2.0


def _mixed(n_stable: int, n_wild: int, **changed: object) -> Posterior:
    return by_hand(TRAIN, [[STABLE] * n_stable + [WILD] * n_wild], GRAMMAR, **changed)


def test_models_of_a_posterior_carry_ten_half_ranges_of_the_output_of_all_records() -> None:
    records = Dataset.from_arrays([U[:100], U[100:]], [Y[:100], Y[100:]])
    posterior = by_hand(records, [[STABLE] * 4], GRAMMAR)
    wanted = pytest.approx((MIDDLE - 10.0 * HALF, MIDDLE + 10.0 * HALF))
    assert posterior.map_model.limits == wanted
    assert {model.limits for model in posterior.draw_models(3)} == {posterior.map_model.limits}
    assert posterior.map_model == Model(*_fields(posterior.map_model))  # whatever its limits
    assert posterior.map_model.expand().limits == wanted
    assert Model.parse(posterior.map_model.equation).limits is None


def _fields(model: Model) -> tuple:
    return model.structure, model.theta, model.noise_sd, model.offsets


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (300.0, 1.0), (-3.0, 1e-6)])
def test_a_run_is_lost_from_the_first_sample_beyond_its_limits(shift: float, scale: float) -> None:
    """1, 2, 4, 8, …: lost where 2^k exceeds the upper limit, in whatever units and offset."""
    model = Model.parse("y(k) = 2*y(k-1) + 0*u(k)", offsets={"y": shift}, noise_sd=0.0)
    limited = Model(*_fields(model), limits=(shift - scale, shift + 100.0 * scale))
    with pytest.warns(DivergenceWarning, match=r"left the range it was learned in .* at sample 7"):
        run = limited.simulate(np.zeros(20), [shift + scale])
    assert (run[:7] - shift) / scale == pytest.approx(2.0 ** np.arange(7))
    assert np.isnan(run[7:]).all()
    below = Model(*_fields(model), limits=(shift - 100.0 * scale, shift + scale))
    with pytest.warns(DivergenceWarning, match="at sample 7"):
        below.simulate(np.zeros(20), [shift - scale])


def test_predictions_one_step_ahead_are_not_runs_and_those_farther_ahead_are() -> None:
    model = Model.parse("y(k) = 2*y(k-1) + 0*u(k)")
    limited = Model(*_fields(model), limits=(-10.0, 10.0))
    y = np.array([1.0, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0])  # a jump that the model doubles
    assert limited.predict(np.zeros(7), y).tolist() == [1.0, 2.0, 2.0, 16.0, 2.0, 2.0, 2.0]
    with pytest.warns(DivergenceWarning, match="at sample 4;"):
        ahead = limited.predict(np.zeros(7), y, steps_ahead=2)
    # Sample 4 is two steps from y(2) = 8: 16 on the way is beyond already.
    np.testing.assert_array_equal(ahead, [1.0, 2.0, 4.0, 4.0, math.nan, 4.0, 4.0])


def test_limits_go_through_files_and_python_code(tmp_path: Path) -> None:
    model = _mixed(4, 0).map_model
    path = tmp_path / "model.json"
    model.save(path)
    fields = json.loads(path.read_text("utf-8"))
    assert (fields["schema_version"], fields["limits"]) == (3, list(model.limits))
    again = Model.read(path)
    assert (again, again.limits) == (model, model.limits)
    wild = Model(model.structure, (0.5, 1.2), 0.0, limits=model.limits)
    found: dict = {}
    exec(wild.python(), found)
    with pytest.warns(DivergenceWarning):
        expected = wild.simulate(U, [0.1])
    assert np.isnan(expected).any()
    np.testing.assert_allclose(found["simulate"](U, [0.1]), expected, rtol=1e-9)
    Model.parse("y(k) = 0.5*y(k-1) + u(k)").save(path)
    assert json.loads(path.read_text("utf-8"))["schema_version"] == 1  # older ones can read it


@pytest.mark.parametrize("limits", [(1.0, 1.0), (2.0, 1.0), (0.0,), (0.0, math.inf), 5, "ab"])
def test_limits_that_mean_nothing_are_refused(limits: object, tmp_path: Path) -> None:
    with pytest.raises(AdjoinError, match="limit"):
        Model(Model.parse("y(k) = y(k-1)").structure, (1.0,), limits=limits)  # type: ignore
    path = tmp_path / "model.json"
    _mixed(4, 0).map_model.save(path)
    fields = json.loads(path.read_text("utf-8"))
    given = "inf" if limits == (0.0, math.inf) else limits
    path.write_text(json.dumps({**fields, "limits": given}), "utf-8")
    with pytest.raises(AdjoinError, match="limit"):
        Model.read(path)


def test_means_and_bands_are_of_the_draws_that_stayed_and_the_number_is_said() -> None:
    posterior, alone = _mixed(30, 10), _mixed(30, 0)
    found = posterior.simulate(U, Y[:1], draws=200)
    n_wild = sum(model.theta[1] == 1.2 for model in posterior.draw_models(200))
    assert 20 < n_wild < 80
    assert found.diverged == n_wild / 200
    assert (found.n_lost, found.n_stayed) == ((n_wild,), (200 - n_wild,))
    reference = alone.simulate(U, Y[:1], draws=200)
    for name in ("mean", "median"):
        gap = np.abs(getattr(found, name) - getattr(reference, name)).max()
        assert gap < 0.01  # of noise 0.01 in 150 draws
    assert found.sd.max() < 2.0 * reference.sd.max()
    width = found.bands[0.975] - found.bands[0.025]
    assert width.max() < 0.1 * HALF
    at = found.first_lost[0]
    assert found.in_words() == (
        f"mean of {200 - n_wild} of 200 draws; {n_wild} ran away, the first at sample {at}"
    )
    firsts = [
        np.isnan(model.free_response([U[:, None]], [Y[:1]]).series[0]).argmax()
        for model in posterior.draw_models(200)
        if model.theta[1] == 1.2
    ]
    assert abs(at - min(firsts)) <= 3  # but for the noise
    assert found.coverage(Y) == pytest.approx(reference.coverage(Y), abs=0.03)


def test_a_run_that_comes_back_has_run_away_all_the_same() -> None:
    """A spike of 20 half ranges on the way: left out of the whole record, not of the spike only."""
    u = np.zeros(50)
    u[20] = 1.0
    spike = Model.parse("y(k) = 20*u(k) + 0.1*y(k-1)")
    flat = Model.parse("y(k) = 0*u(k) + 0.1*y(k-1) + 1")
    limited = [Model(*_fields(m), limits=(-10.0, 10.0)) for m in (spike, flat)]
    found = propagate(limited, u, [0.0], seed=0)
    assert (found.n_lost, found.first_lost) == ((1,), (20,))
    np.testing.assert_array_equal(found.mean, limited[1].simulate(u, [0.0]))


def test_records_do_not_see_what_ran_away_in_others() -> None:
    """Draws of a bilinear system stay on what was fitted, and leave on a larger input."""
    chain = [("u(k-1) + u(k-1)*y(k-1) + y(k-1)", [0.5, 0.5, 0.4], 1e-6)] * 8
    posterior = by_hand(TRAIN, [chain], GRAMMAR)
    large, _ = _record(size=4.0)
    both = posterior.simulate([U, large], [Y[:1], Y[:1]], draws=20)
    assert both.n_stayed == (20, 0)
    assert both.diverged == 1.0
    assert np.isfinite(both.mean[0]).all()
    assert both.mean[1][0] == Y[0]
    assert np.isnan(both.mean[1][1:]).all()
    assert both.in_words(0) == "mean of 20 draws"
    assert both.in_words(1).startswith("no mean: all 20 draws ran away, the first at sample ")
    assert both.in_words().startswith("no mean of record 1; 20 of 20 draws ran away, the first at")
    y = [Y, np.zeros(400)]
    share = posterior.simulate(U, Y[:1], draws=20).coverage(Y)
    assert both.coverage(y) == pytest.approx(share / 2.0, abs=0.01)  # of the half that has a band


def test_a_model_that_runs_away_has_no_score_and_is_not_selected() -> None:
    """Fitted to a bilinear system; on a larger input that structure runs away, a linear stays."""
    bilinear = ("u(k-1) + u(k-1)*y(k-1) + y(k-1)", [0.5, 0.5, 0.4], 1e-6)
    chains = [[bilinear] * 4, [STABLE] * 4]
    posterior = by_hand(TRAIN, chains, GRAMMAR)
    larger, _ = _record(size=4.0, n=100)
    y = np.sin(np.arange(100.0))
    errors = posterior.validation_errors(larger, y)
    assert errors[0] == math.inf > errors[1]
    assert posterior.select_chain(larger, y).chain_numbers == (1,)
    held_out = Dataset.from_arrays(larger, y)
    assert posterior.with_held_out(held_out).selected.chain_numbers == (1,)
    # Without limits it is a number, and a score.
    unlimited = by_hand(TRAIN, chains, GRAMMAR, settings={"runaway": math.inf})
    assert 10.0 * HALF < unlimited.validation_errors(larger, y)[0] < math.inf


def test_advice_speaks_of_simulations_and_never_of_more_samples_first() -> None:
    for chains in ([[STABLE] * 39 + [WILD]] * 2, [[STABLE] * 10 + [WILD] * 30] * 2):
        found = assess(by_hand(TRAIN, chains, GRAMMAR), TRAIN, draws=200)
        assert found.parts[-1].scores.diverged > 0.0
        assert found.verdict.summary.startswith("the simulation ")
        steps = found.verdict.next
        assert any(step.startswith("judge models by their simulation") for step in steps)
        assert not any("more samples" in step for step in steps)


def test_data_that_reach_farther_are_asked_for_where_a_run_leaves_on_a_larger_input() -> None:
    chain = [("u(k-1) + u(k-1)*y(k-1) + y(k-1)", [0.5, 0.5, 0.4], 1e-6)] * 8
    large, _ = _record(size=4.0)
    test = Dataset.from_arrays(large, np.sin(np.arange(400.0)))
    found = assess(by_hand(TRAIN, [chain], GRAMMAR), test, draws=20)
    assert found.trusted.short == "No: it runs away"
    assert any("there u goes" in reason for reason in found.trusted.reasons)
    steps = found.verdict.next
    assert any(
        step.startswith("measure with inputs as far as it is to be run on") for step in steps
    )


def test_terminal_and_json_say_how_many_stayed() -> None:
    timing = {"compile_s": 0.0, "sampling_s": 0.1, "total_s": 0.1}
    found = assess(_mixed(30, 10, timing=timing), TRAIN, draws=50)
    console = Console(file=io.StringIO(), width=300)
    print_findings(console, found)
    said = found.parts[-1].prediction.in_words()
    assert said in console.file.getvalue()
    described = describe(found)
    assert described["runaways"]["test"]["words"] == said
    assert described["scores"]["test"]["free_run"]["diverged"] > 0.0
    assert "FWD median" in {row["predictor"] for row in described["comparison"]["test"]}
    json.dumps(described, allow_nan=False)


def test_a_trial_where_all_draws_are_lost_has_empty_columns_and_words() -> None:
    trial = Trial(_mixed(0, 8), U[:, None], Y, draws=10)
    assert trial.coverage is None
    assert trial.scores.plain["coverage"] is None
    assert list(trial.columns)[3:6] == ["mean", "median", "sd"]
    for name in ("mean", "median", "sd", "q2.5", "q97.5"):
        assert np.isnan(trial.columns[name][1:]).all()


def test_the_setting_goes_with_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    for given, limits in ((3.0, (MIDDLE - 3.0 * HALF, MIDDLE + 3.0 * HALF)), (math.inf, None)):
        settings = {"max_lag": 1, "max_degree": 2, "samples": 400, "runaway": given}
        posterior = quick(**settings).fit(U, Y).posterior_
        assert posterior.settings.runaway == given
        assert posterior.map_model.limits == (None if limits is None else pytest.approx(limits))
        posterior.save(path)
        again = adjoin.load(path)
        assert again.settings.runaway == given
        assert again.map_model.limits == posterior.map_model.limits
        call = posterior.settings["call"]
        assert eval(f"dict({call})")["runaway"] == given
        json.dumps(posterior.settings.plain, allow_nan=False)


@pytest.mark.parametrize("runaway", [1.0, 0.0, -3.0, math.nan, "10", None, True])
def test_settings_that_mean_nothing_are_refused(runaway: object) -> None:
    with pytest.raises(AdjoinError, match="runaway must be a number above 1"):
        Identifier(runaway=runaway).fit(U, Y)  # type: ignore[arg-type]


def test_a_constant_output_has_no_range_to_leave() -> None:
    data = Dataset.from_arrays(U, np.full(len(U), 3.0))
    assert Problem(data, GRAMMAR.alphabet).limits is None


def test_a_table_of_a_run_has_a_median(tmp_path: Path) -> None:
    _mixed(30, 10).save(tmp_path / "run.nc")
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["u", "y"], *zip(U, Y, strict=True)])
    done = command("simulate", "run.nc", "new.csv", "--out", "out.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ran away, the first at sample" in " ".join(done.stderr.split())
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["median"]) == pytest.approx(float(rows[-1]["mean"]), abs=0.02)
