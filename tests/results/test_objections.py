"""What no free run makes up for: too few samples, copies, coefficients that never moved."""

from __future__ import annotations

import numpy as np
import pytest
from tests.data.planted import leaking, swapped
from tests.results.runs import HELD_OUT, TRAIN, TRUE, made
from tests.systems import by_hand, quick, simulated

from adjoin import Dataset, Grammar, Identifier, Posterior, check_data, datasets
from adjoin.report.findings import describe
from adjoin.results.assessment import assess
from adjoin.results.objections import PER_TERM, objections, on_columns

TWO = Grammar.narx(inputs=("u1", "u2"), max_lag=2, max_degree=1)


def of_two(u1: np.ndarray, u2: np.ndarray, y: np.ndarray, n_draws: int = 4) -> Posterior:
    """A posterior of two inputs, by hand."""
    data = Dataset.from_arrays(np.column_stack([u1, u2]), y)
    return by_hand(data, [[("u1(k-1) + y(k-1)", [0.5, 0.6], 0.01)] * n_draws], TWO)


def signals(n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u1, y = simulated(n=n)
    return u1, np.random.default_rng(9).standard_normal(n), y


@pytest.mark.parametrize(
    ("factor", "offset", "lag"), [(1.0, 0.0, 0), (-2e3, 5.0, 0), (1e-6, 300.0, 2)]
)
def test_an_output_that_is_an_input_is_refused_by_name(
    factor: float, offset: float, lag: int
) -> None:
    u1, u2, _ = signals()
    y = factor * np.roll(u2, lag) + offset
    (found,) = [o for o in objections(of_two(u1, u2, y)) if o.level == "poor"]
    assert found.short == "the output 'y' is a copy of the input 'u2'"
    ago = " 2 samples ago" if lag else ""
    assert found.reason.startswith(f"'y' is 'u2'{ago}, up to a factor and an offset")
    assert found.advice.startswith("leave 'u2' out (inputs u1), or check which columns")


def test_columns_that_are_swapped_or_leak_are_said_first_and_lower_the_verdict() -> None:
    """Both simulate well: nothing but a look at the data shows them."""
    data = swapped("arx", 0)
    posterior = quick(samples=400).fit(data).posterior_
    found = assess(posterior)
    (one,) = on_columns(posterior, check_data(data).findings)
    assert (one.level, one.short) == ("caution", "the columns seem to be swapped")
    assert found.verdict.level != "good"
    assert found.verdict.summary.startswith("the columns seem to be swapped; ")
    assert found.verdict.next[0].startswith("swap the columns")
    data = leaking("arx", 1)
    noise = 1e-4 * np.random.default_rng(0).standard_normal(data.n_samples)
    data = Dataset.from_arrays(np.column_stack([data.u[:, 0], data.u[:, 1] + noise]), data.y)
    posterior = quick(samples=400).fit(data).posterior_
    found = assess(posterior)
    assert found.verdict.level == "poor"
    assert found.verdict.summary.startswith("an input is the output itself; ")
    assert found.verdict.next[0].startswith(f"leave '{data.names.inputs[1]}' out")
    assert not list(on_columns(posterior, ()))


def test_an_output_beyond_the_window_or_with_noise_is_no_copy() -> None:
    u1, u2, _ = signals()
    assert not objections(of_two(u1, u2, np.roll(u2, 3)))
    near = u2 + 1e-5 * np.random.default_rng(0).standard_normal(len(u2))
    assert not objections(of_two(u1, u2, near))


def test_a_copy_is_a_red_verdict_though_the_free_run_is_perfect() -> None:
    u, _ = simulated(n=300)
    train, held_out = Dataset.from_arrays(u, 3.0 * u).split(200)
    found = assess(quick(samples=600).fit(train, held_out=held_out).posterior_, draws=20)
    assert found.parts[-1].scores.free_run.nmse < 1e-3
    verdict = describe(found)["verdict"]
    assert verdict["level"] == "poor"
    assert verdict["summary"].startswith("the output 'y' is a copy of the input 'u'; ")
    assert "no system between them" in verdict["reasons"][0]
    assert verdict["next"][0] == (
        "check the columns: 'u' is the output itself: adjoin.check_data(train)"
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda u: u, "the input 'u2' is 'u1', up to a factor"),
        (lambda u: 5.0 - 3.0 * u, "the input 'u2' is 'u1', up to a factor"),
        (lambda u: np.roll(u, 1), "the input 'u2' is 'u1' 1 sample ago, up"),
        (lambda u: np.roll(u, -2), "the input 'u1' is 'u2' 2 samples ago, up"),
    ],
)
def test_inputs_that_are_copies_are_pointed_out(make, words: str) -> None:
    u1, _, y = signals()
    (found,) = objections(of_two(u1, make(u1), y))
    assert found.level == "caution"
    assert found.reason.startswith(words)
    assert "nothing tells their terms apart" in found.reason


@pytest.mark.parametrize(("n_rows", "is_enough"), [(20, True), (19, False)])
def test_every_term_and_lag_asks_for_five_samples(n_rows: int, is_enough: bool) -> None:
    """Two terms and two lags."""
    assert PER_TERM == 5
    found = objections(made([[TRUE] * 4], TRAIN[: n_rows + 2]))
    assert bool(found) is not is_enough
    if found:
        assert found[0].level == "poor"
        assert found[0].short == "there are too few samples to say anything"
        assert found[0].reason == (
            "19 samples fitted; 2 terms and a window of 2 lags ask for 20, 5 for each"
        )
        verdict = assess(made([[TRUE] * 4], TRAIN[:21], HELD_OUT), draws=20).verdict
        assert verdict.level == "poor"
        assert verdict.next[0].startswith("measure longer records")


def test_coefficients_that_no_draw_moved_are_no_posterior() -> None:
    found = objections(made([[TRUE] * 50, [TRUE] * 50]))
    assert [o.level for o in found] == ["poor"]
    assert found[0].reason.startswith(
        "the coefficient of u(k-1), y(k-1) is the same in all 100 draws of the equation"
    )
    verdict = assess(made([[TRUE] * 100] * 2, held_out=HELD_OUT), draws=20).verdict
    assert verdict.level == "poor"
    assert "no spread" in verdict.summary
    one = [(TRUE[0], [0.5, 0.6 + 1e-9 * i], TRUE[2]) for i in range(100)]
    (found,) = objections(made([one]))
    assert found.reason.startswith("the coefficient of u(k-1) is the same")
    both = [(TRUE[0], [0.5 - 1e-9 * i, 0.6 + 1e-9 * i], TRUE[2]) for i in range(100)]
    assert not objections(made([both]))
    assert not objections(made([[TRUE] * 99]))  # too few to tell


def test_coefficients_that_were_pinned_may_stay() -> None:
    u, y = simulated(n=300)
    model = quick(initial="u(k-1) + y(k-1)", initial_mode="residual", samples=1500)
    posterior = model.fit(u, y).posterior_
    assert not objections(posterior)


def test_noise_below_rounding_is_said() -> None:
    (found,) = objections(made([[(*TRUE[:2], 1e-16)] * 4]))
    assert found.level == "caution"
    assert found.reason.startswith("the noise is below what can be told: 1e-08, against a")
    assert not objections(made([[(*TRUE[:2], 1e-12)] * 4]))


def test_healthy_data_are_not_refused() -> None:
    """The academic system, a small record, many terms on many samples, and several inputs."""
    train = datasets.academic(seed=0).train
    posterior = Identifier(samples=2000, chains=2, seed=0, progress=False).fit(train).posterior_
    assert not objections(posterior)
    u, y = simulated(n=60)
    assert not objections(quick(samples=1000).fit(u, y).posterior_)
    u1, u2, y = signals()
    assert not objections(of_two(u1, u2, y))
    grammar = Grammar.narx(max_lag=6, max_degree=3)
    u, y = simulated("y(k) = 0.1*u(k) + 1.5*y(k-1) - 0.8*y(k-2) - 0.05*y(k-1)^3", n=5000)
    terms = [f"u(k-{i})*y(k-{j})" for i in range(1, 6) for j in range(1, 6)]
    draw = (" + ".join(terms), [0.01] * len(terms), 0.01)
    assert not objections(by_hand(Dataset.from_arrays(u, y), [[draw] * 4], grammar))


def test_objections_come_before_all_else_and_the_worst_first() -> None:
    u1, _, _ = signals(12)
    found = objections(of_two(u1, -u1, 2.0 * u1))
    assert [o.level for o in found] == ["poor", "poor", "poor", "caution"]
    verdict = assess(of_two(u1, -u1, 2.0 * u1), draws=5).verdict
    assert verdict.on_model[: len(found)] == tuple(o.reason for o in found)
    assert verdict.level == "poor"


def test_a_good_verdict_needs_a_free_run_that_is_good_on_other_data() -> None:
    """Chains that agree and small one-step errors are not enough.

    One step ahead the last output predicts the level of a nearly integrating system; in a free run
    the constant that the equation lacks adds up.
    """
    u, y = np.random.default_rng(0).standard_normal(600), np.zeros(600)
    for k in range(1, 600):
        y[k] = 0.995 * y[k - 1] + 0.1 * u[k - 1] + 0.01
    train, held_out = Dataset.from_arrays(u, y).split(300)
    draws = [[("u(k-1) + y(k-1)", [0.1, 0.995], 0.001)] * 40] * 4
    posterior = by_hand(train, draws, Grammar.narx(max_lag=2), held_out=held_out)
    found = assess(posterior, draws=20)
    scores = found.parts[-1].scores
    assert found.diagnostics["chains_agree_on_mode"]
    assert scores.one_step.nmse < 1.0
    assert scores.free_run.nmse > 10.0
    assert found.verdict.level != "good"
    assert assess(made([[TRUE] * 40] * 4), draws=20).verdict.level != "good"  # not tried elsewhere
