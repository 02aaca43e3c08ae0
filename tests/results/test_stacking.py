"""Weights of chains by held-out data, of synthetic members and of posteriors written by hand."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from tests.results.runs import GRAMMAR, HELD_OUT, POOR, TEST, TRAIN, TRUE, made
from tests.systems import by_hand

from adjoin import AdjoinError, Dataset, Posterior, load
from adjoin.report.findings import describe
from adjoin.results.assessment import assess
from adjoin.results.prediction import Prediction
from adjoin.results.stacking import Stacking, stack_members, stack_predictions
from adjoin.scores import rmse

Z = 4.5  # two-sided; false alarm 7e-6 a comparison
LOST = ("u(k-1) + y(k-1)^2", [0.5, 9.0], 0.1)  # runs away within a few samples


def predicted(
    means: list[np.ndarray], sd: float = 0.1, stayed: int | list[int] = 100
) -> Prediction:
    """What 100 draws predict of records, so many of which stayed in each."""
    n_stayed = [stayed] * len(means) if isinstance(stayed, int) else stayed
    means = [
        mean if n else np.full(len(mean), np.nan) for mean, n in zip(means, n_stayed, strict=True)
    ]
    return Prediction(
        mean=means,
        sd=[np.where(np.isnan(mean), np.nan, sd) for mean in means],
        bands={},
        diverged=1.0 - min(n_stayed) / 100,
        n_draws=100,
        n_seed=(0,) * len(means),
        median=means,
        n_lost=tuple(100 - n for n in n_stayed),
        n_stayed=tuple(n_stayed),
        first_lost=tuple(None if n == 100 else 5 for n in n_stayed),
    )


def white(n: int, seed: int = 0, sd: float = 0.1) -> np.ndarray:
    return sd * np.random.default_rng(seed).standard_normal(n)


def require_sound(found: Stacking) -> None:
    assert found.weight.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found.weight >= 0.0).all()
    assert np.isfinite(found.log_score).all()
    assert found.log_score.shape == (len(found.weight), len(found.blocks))


# Weights


@pytest.mark.parametrize("n_members", [1, 2, 5])
def test_members_that_predict_the_same_have_the_same_weight(n_members: int) -> None:
    y = [white(300)]
    found = stack_predictions([predicted([np.zeros(300)])] * n_members, y, 3)
    require_sound(found)
    assert found.weight == pytest.approx([1.0 / n_members] * n_members, abs=1e-6)


def test_the_better_member_has_nearly_all_the_weight() -> None:
    y = [np.sin(np.arange(500) / 3) + white(500)]
    truth = np.sin(np.arange(500) / 3)
    found = stack_predictions([predicted([0.5 * truth]), predicted([truth])], y, 0)
    require_sound(found)
    # What the other has is the prior's, half a block; and where the truth is near zero, a share.
    assert 0.5 / (len(found.blocks) + 1) < found.weight[0] < 0.02


def test_a_few_blocks_do_not_decide_alone() -> None:
    """The worse one is hardly worse; without the prior it would have nothing."""
    y = [white(16)]
    found = stack_predictions([predicted([np.zeros(16)]), predicted([np.full(16, 0.02)])], y, 0)
    assert len(found.blocks) == 8
    assert (found.weight > 0.2).all()


def test_a_mixture_beats_both_where_the_truth_alternates() -> None:
    """Two levels, each for some time: either member is wrong half of the time."""
    rng = np.random.default_rng(1)
    level = np.repeat(rng.permutation([0.0] * 40 + [1.0] * 20), 25)
    y = [level + white(len(level), 2)]
    members = [predicted([np.full(len(level), value)]) for value in (0.0, 1.0)]
    found = stack_predictions(members, y, 0)
    require_sound(found)
    assert 0.5 < found.weight[0] < 0.9
    score = np.log(found.weight @ np.exp(found.log_score - found.log_score.max())).sum()
    alone = (found.log_score - found.log_score.max()).sum(axis=1)
    assert score > alone.max()
    average = found.weight @ [0.0, 1.0]
    error = rmse(y[0], np.full(len(level), average))
    assert error < min(rmse(y[0], np.full(len(level), value)) for value in (0.0, 1.0))


def test_the_weights_are_where_the_slope_is_flat() -> None:
    """Lagrange: Σ_b κ p_cb/Σ_d w_d p_db + a/(C w_c) is the same for every member."""
    y = [white(400) + np.repeat([0.0, 0.3, 0.1, -0.2], 100)]
    members = [predicted([np.full(400, value)]) for value in (0.0, 0.2, -0.1)]
    found = stack_predictions(members, y, 0)
    density = np.exp(found.log_score - found.log_score.max(axis=0))
    n_blocks = len(found.blocks)
    share = min(1.0, 400 / (2.0 * found.time * n_blocks))
    slope = share * (density / (found.weight @ density)).sum(axis=1) + 1 / (3 * found.weight)
    assert slope == pytest.approx([share * n_blocks + 1.0] * 3, rel=1e-4)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 7.0, 1e12])
def test_units_of_the_output_change_nothing(factor: float) -> None:
    rng = np.random.default_rng(3)
    y, means = white(200), [0.1 * rng.standard_normal(200) for _ in range(3)]
    one = stack_predictions([predicted([m]) for m in means], [y], 2)
    many = [predicted([factor * m + 3 * factor], factor * 0.1) for m in means]
    other = stack_predictions(many, [factor * y + 3 * factor], 2)
    assert other.weight == pytest.approx(one.weight, abs=1e-6)
    assert other.blocks == one.blocks
    assert other.width == pytest.approx(factor * one.width)


def test_slow_errors_make_long_blocks_that_count_less() -> None:
    rng = np.random.default_rng(4)
    slow = np.zeros(3000)
    for k in range(1, 3000):
        slow[k] = 0.95 * slow[k - 1] + 0.1 * rng.standard_normal()
    fast = stack_predictions([predicted([np.zeros(3000)])], [white(3000)], 0)
    found = stack_predictions([predicted([np.zeros(3000)], 0.3)], [slow], 0)
    assert fast.time < 2.0
    assert 15.0 < found.time < 80.0  # 39 of the process
    lengths = {block.end - block.begin for block in found.blocks}
    assert min(lengths) >= 2 * found.time
    assert len({block.end - block.begin for block in fast.blocks}) <= 2
    stuck = stack_predictions([predicted([np.zeros(64)])], [np.linspace(-1.0, 1.0, 64)], 0)
    assert len(stuck.blocks) == 8
    require_sound(stuck)


def test_records_are_cut_apart_and_judged_together() -> None:
    y = [white(100, 5), white(7, 6), 1.0 + white(200, 7)]
    right = [np.zeros(100), np.zeros(7), np.ones(200)]
    wrong = [np.zeros(100), np.zeros(7), np.zeros(200)]
    found = stack_predictions([predicted(wrong), predicted(right)], y, 3)
    require_sound(found)
    assert {block.record for block in found.blocks} == {0, 1, 2}
    for record, n in enumerate((100, 7, 200)):
        places = [np.arange(b.begin, b.end) for b in found.blocks if b.record == record]
        assert np.concatenate(places).tolist() == list(range(3, n))
    assert found.weight[1] > 0.9


# Runs that ran away


def test_a_member_that_ran_away_has_no_weight() -> None:
    y = [white(200), white(100, 1)]
    good, lost = predicted([np.zeros(200), np.zeros(100)]), predicted(y, stayed=0)
    found = stack_predictions([lost, good, good], y, 0)
    require_sound(found)
    assert found.weight == pytest.approx([0.0, 0.5, 0.5], abs=1e-6)
    everywhere = stack_predictions([lost, lost], y, 0)
    require_sound(everywhere)
    assert everywhere.weight.tolist() == [0.5, 0.5]


def test_what_was_lost_in_one_record_or_by_some_draws_counts_against_a_member() -> None:
    y = [white(200), white(100, 1)]
    zero = [np.zeros(200), np.zeros(100)]
    good, once = predicted(zero), predicted(zero, stayed=[100, 0])
    found = stack_predictions([once, good], y, 0)
    require_sound(found)
    assert found.weight[0] < 0.1
    some = stack_predictions([predicted(zero, stayed=60), good], y, 0)
    require_sound(some)
    assert some.weight[0] < 0.1
    # A block that nobody knows anything of says nothing.
    neither = stack_predictions([once, once], y, 0)
    assert neither.weight == pytest.approx([0.5, 0.5])


def test_perfect_and_constant_series_are_finite() -> None:
    exact = [np.arange(50.0)]
    found = stack_predictions(
        [predicted(exact, sd=0.0), predicted([np.zeros(50)], sd=0.0)], exact, 2
    )
    require_sound(found)
    assert found.weight[0] > 0.9
    rest = stack_predictions([predicted([np.zeros(50)], sd=0.0)] * 2, [np.zeros(50)], 2)
    require_sound(rest)


def test_what_cannot_be_stacked_is_refused() -> None:
    with pytest.raises(AdjoinError, match="nothing to stack"):
        stack_predictions([], [white(9)], 0)
    with pytest.raises(AdjoinError, match="nothing to weigh by"):
        made([[TRUE] * 4] * 2).stack_chains(HELD_OUT.u[:2], HELD_OUT.y[:2])


# Posteriors


@pytest.fixture(scope="module")
def pooled() -> Posterior:
    """Three chains: a poor one, the truth with something else, and one that runs away."""
    return made([[POOR] * 8, [TRUE] * 6 + [POOR] * 2, [LOST] * 8], held_out=HELD_OUT)


def test_chains_are_weighted_by_free_runs(pooled: Posterior) -> None:
    stacked = pooled.stack_chains(HELD_OUT)
    assert pooled.weights is None
    assert pooled.weights_ == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    assert sum(stacked.weights_.values()) == pytest.approx(1.0)
    assert stacked.weights_[2] == 0.0
    assert stacked.weights_[1] > 0.9
    assert pooled.stack_chains(HELD_OUT.u, HELD_OUT.y).weights_ == stacked.weights_
    assert pooled.stacked.weights_ == stacked.weights_
    assert stacked.stacked is stacked
    assert stacked.chain(0).weights is None
    assert stacked.whole.weights_ == stacked.weights_
    again = made([[POOR] * 8, [TRUE] * 6 + [POOR] * 2, [LOST] * 8]).stack_chains(HELD_OUT)
    assert again.weights_ == stacked.weights_


def test_runs_of_any_kind_are_members() -> None:
    good, poor = made([[TRUE] * 4]), made([[POOR] * 4])
    found = stack_members([poor, good], HELD_OUT.inputs, HELD_OUT.outputs, 2, draws=50)
    assert found.weight[1] > 0.9


def test_one_chain_has_all_the_weight() -> None:
    lone = made([[TRUE] * 4], held_out=HELD_OUT)
    assert lone.stack_chains(HELD_OUT).weights_ == {0: 1.0}
    assert lone.stacked is lone


def test_several_records_weigh_chains_too() -> None:
    u, y = [HELD_OUT.u[:40], HELD_OUT.u[40:]], [HELD_OUT.y[:40], HELD_OUT.y[40:]]
    stacked = made([[POOR] * 8, [TRUE] * 8]).stack_chains(u, y)
    assert stacked.weights_[1] > 0.9


def test_units_of_the_data_change_no_weight() -> None:
    chains = [[POOR] * 8, [TRUE] * 6 + [POOR] * 2]
    found = made(chains).stack_chains(HELD_OUT).weights_
    scaled = [[(text, theta, 1e6 * noise) for text, theta, noise in chain] for chain in chains]
    train, held_out = (Dataset.from_arrays(1e3 * d.u, 1e3 * d.y) for d in (TRAIN, HELD_OUT))
    other = by_hand(train, scaled, GRAMMAR).stack_chains(held_out).weights_
    assert other == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("weight", [0.05, 0.3, 0.8])
def test_models_are_drawn_by_weight(weight: float) -> None:
    """Chains of different lengths; false alarm 7e-6 each."""
    stacked = replace(made([[POOR] * 3, [TRUE] * 8]), weights={0: weight, 1: 1.0 - weight})
    n = 5000
    share = np.mean([len(model.structure) == 1 for model in stacked.draw_models(n, seed=1)])
    assert abs(share - weight) < Z * sqrt(weight * (1 - weight) / n)
    first, again = (stacked.simulate(TEST.u, TEST.y[:2], draws=20) for _ in range(2))
    np.testing.assert_array_equal(first.mean, again.mean)


def test_without_weights_draws_are_what_they_were(pooled: Posterior) -> None:
    chosen = np.random.Generator(np.random.PCG64(3)).integers(len(pooled), size=40)
    expected = [pooled.draws.size[i] for i in chosen]
    drawn = pooled.draw_models(40, seed=3)
    assert [len(model.structure) for model in drawn] == expected
    alone = replace(pooled, traces=pooled.traces[:2], chain_numbers=(0, 1))
    equal = replace(alone, weights={0: 0.5, 1: 0.5})
    assert equal.structures["mass"].tolist() == alone.structures["mass"].tolist()
    assert equal.inclusion.tolist() == alone.inclusion.tolist()
    assert equal.terms["mean"].tolist() == pytest.approx(alone.terms["mean"].tolist())


def test_masses_terms_and_noise_are_by_weight(pooled: Posterior) -> None:
    stacked = replace(pooled, weights={0: 0.2, 1: 0.8, 2: 0.0})
    assert stacked.structures["structure"].tolist() == ["u(k-1) + y(k-1)", "u(k-2)"]
    assert stacked.structures["mass"].tolist() == pytest.approx([0.6, 0.4])
    inclusion = dict(zip(stacked.terms["term"], stacked.terms["inclusion"], strict=True))
    assert inclusion == pytest.approx({"u(k-1)": 0.6, "y(k-1)": 0.6, "u(k-2)": 0.4})
    assert stacked.noise["mean"] == pytest.approx(0.6 * sqrt(0.01) + 0.4 * sqrt(0.1))
    assert stacked.noise["q025"] == pytest.approx(0.1)
    assert str(stacked.map_model.structure) == "u(k-1) + y(k-1)"
    assert stacked.coefficients("u(k-2)")["mean"].tolist() == pytest.approx([0.3])
    with pytest.raises(AdjoinError, match="no draw has the structure"):
        stacked.coefficients("u(k-1) + y(k-1)^2")


def test_a_saved_run_keeps_its_weights(pooled: Posterior, tmp_path: Path) -> None:
    stacked = pooled.stacked
    stacked.save(tmp_path / "run.nc")
    again = load(tmp_path / "run.nc")
    assert again.weights == stacked.weights
    assert again.structures.equals(stacked.structures)
    pooled.save(tmp_path / "plain.nc")
    assert load(tmp_path / "plain.nc").weights is None
    assert b"adjoin-run schema 00000004 " in (tmp_path / "run.nc").read_bytes()
    assert b"adjoin-run schema 00000003 " in (tmp_path / "plain.nc").read_bytes()


@pytest.mark.parametrize(
    "weights", [{0: 1.0}, {0: 0.5, 1: 0.6}, {0: -0.5, 1: 1.5}, {0: 0.5, 2: 0.5}, {0: 0.5, 1: None}]
)
def test_weights_that_are_none_are_refused(weights: dict) -> None:
    with pytest.raises(AdjoinError, match="weights must be numbers from 0 to 1 of the chains"):
        replace(made([[POOR] * 3, [TRUE] * 8]), weights=weights)


# What it is worth


def test_the_table_of_predictors_has_the_stacked_average(pooled: Posterior) -> None:
    found = assess(pooled, TEST, draws=40)
    for part, data in zip(found.parts, (TRAIN, HELD_OUT, TEST), strict=True):
        run = pooled.stack_chains(HELD_OUT).simulate(data.u, data.y[:2], draws=40)
        rows = [row for row in part.comparison if "weighted" in row.chains]
        own = ", by these very data" if data is HELD_OUT else ""
        assert [(row.chains, row.predictor) for row in rows] == [
            (f"all chains, weighted{own}", "FWD mean"),
            (f"all chains, weighted{own}", "FWD median"),
        ]
        for row, series in zip(rows, (run.mean, run.median), strict=True):
            assert row.errors.rmse == pytest.approx(rmse(data.y[2:], series[2:]))
    assert len(describe(found)["comparison"]["test"]) == 8
    weighted = assess(pooled.stacked, TEST, draws=20).parts[-1]
    assert weighted.stacked_prediction is None
    assert {row.chains for row in weighted.comparison} == {
        "chain 1, selected",
        "all chains, weighted",
    }
