"""Chains that agree on nothing are not good: what forbids it, in words, and what to do."""

from __future__ import annotations

import numpy as np
from tests.systems import by_hand, quick, simulated

from adjoin import Dataset, Grammar, Identifier, Posterior
from adjoin.results.assessment import assess
from adjoin.results.vetoes import vetoes

N = 500


FAR = "let samples='auto' look at all lags, or give far lags their share: Prior(lag_uniform=0.5)"


def delayed(lag: int = 20) -> Dataset:
    """A dead time, and a tenth of noise."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal(N)
    y = 0.8 * np.append(np.zeros(lag), u[:-lag]) + 0.08 * rng.standard_normal(N)
    return Dataset.from_arrays(u, y)


def empty(data: Dataset, max_lag: int = 2) -> Posterior:
    """Four chains that agree that there is nothing."""
    rng = np.random.default_rng(1)
    chains = [[("0", [], rng.gamma(50.0) / 50.0) for _ in range(400)] for _ in range(4)]
    inputs = data.names.inputs
    return by_hand(data, chains, Grammar.narx(inputs=inputs, max_lag=max_lag, max_degree=1))


def test_chains_stuck_at_the_empty_model_are_not_good() -> None:
    model = Identifier(max_lag=25, samples=60_000, chains=4, seed=0, progress=False)
    data = delayed()
    posterior = model.fit(data.u, data.y).posterior_
    assert not len(posterior.structure(0))  # else there is nothing to veto
    found = posterior.diagnostics["verdict"]
    assert found["level"] == "poor"
    assert "u predicts 99 %, about 20 samples later" in found["reasons"][-1]


def test_an_input_within_the_window_asks_for_its_lag() -> None:
    posterior = empty(delayed(), 25)
    found = posterior.diagnostics["verdict"]
    assert (found["level"], found["agreement"]) == ("poor", "good")
    assert found["summary"] == "the chains agree, but nothing was found"
    assert found["reasons"][-1] == (
        "the equation is empty: its one-step error is 100 % of the output's variance, of which u"
        " predicts 99 %, about 20 samples later"
    )
    step = (
        "let samples='auto' look at all lags, or give far lags their share: Prior(lag_uniform=0.5)"
    )
    assert found["advice"] == [step]
    verdict = assess(posterior, draws=20).verdict
    assert verdict.level == "poor"
    assert verdict.summary.startswith("nothing was found; the simulation cannot be trusted")
    assert verdict.summary.endswith("the chains agree")
    assert len(set(verdict.reasons)) == len(verdict.reasons)


def test_an_input_beyond_the_window_asks_for_a_longer_one() -> None:
    found = empty(delayed(), 10).diagnostics["verdict"]
    assert found["level"] == "poor"
    assert found["reasons"][-1].endswith("about 20 samples later, beyond max_lag=10")
    assert found["advice"] == [
        "raise max_lag: the residual follows u about 20 samples later (max_lag=25)"
    ]
    assert (
        assess(empty(delayed(), 10), draws=20).unique.short == "Cannot be said: nothing was found"
    )


def test_noise_is_said_to_be_noise() -> None:
    u, y = np.random.default_rng(2).standard_normal((2, N))
    posterior = empty(Dataset.from_arrays(u, y))
    found = posterior.diagnostics["verdict"]
    assert (found["level"], found["agreement"]) == ("caution", "good")
    words = "nothing found: the output looks like noise unrelated to the inputs"
    assert found["summary"] == f"the chains agree; {words}"
    assert found["reasons"][-1].startswith(words)
    verdict = assess(posterior, draws=20).verdict
    assert verdict.level != "good"
    assert verdict.summary.startswith(words)
    alone = empty(Dataset.from_arrays(None, y)).diagnostics["verdict"]
    assert alone["summary"].endswith("nothing found: the output looks like noise")


def test_an_output_that_its_own_past_predicts_is_no_noise() -> None:
    u, y = np.random.default_rng(3).standard_normal((2, N))
    for k in range(1, N):
        y[k] += 0.9 * y[k - 1]
    (found,) = vetoes(empty(Dataset.from_arrays(u, y)))
    assert found.level == "poor"
    assert "of which its own past predicts 81 %" in found.reason
    assert "(most at lag 1)" in found.reason


def test_an_input_that_is_left_over_takes_away() -> None:
    """Of a sum of two lags, one is missed: two thirds of the residual, a fifth of the variance."""
    rng = np.random.default_rng(4)
    u = rng.standard_normal(N)
    for factor, level in ((0.7, "poor"), (0.3, "caution"), (0.02, "good")):
        y = np.roll(u, 1) + factor * np.roll(u, 2) + 0.3 * rng.standard_normal(N)
        draws = [
            ("u(k-1)", [1.0 + 0.01 * rng.standard_normal()], rng.gamma(9.0)) for _ in range(400)
        ]
        data = Dataset.from_arrays(u, y)
        found = by_hand(data, [draws] * 4, Grammar.narx(max_lag=2)).diagnostics["verdict"]
        assert found["level"] == level
        if level != "good":
            assert found["summary"] == "the chains agree, but what is left still follows u"
            assert "the residual follows an input: u predicts" in found["reasons"][-1]
            assert found["advice"] == [FAR]


def test_a_free_run_that_explains_nothing_takes_away() -> None:
    data = Dataset.from_arrays(*simulated(n=300))
    (found,) = vetoes(by_hand(data, [[("y(k-1)^2", [50.0], 1.0)] * 8], Grammar.narx(max_lag=2)))
    assert found.level in ("caution", "poor")
    rng = np.random.default_rng(5)
    u, y = rng.standard_normal((2, N))
    for k in range(1, N):
        y[k] += 0.95 * y[k - 1]  # noise alone moves it
    posterior = by_hand(
        Dataset.from_arrays(u, y), [[("y(k-1)", [0.95], 1.0)] * 8], Grammar.narx(max_lag=2)
    )
    (found,) = vetoes(posterior)
    assert (found.level, found.short) == ("caution", "its simulation explains nothing")
    assert not vetoes(posterior, asks_free_run=False)


def test_healthy_runs_and_the_prior_alone_are_not_forbidden() -> None:
    data = Dataset.from_arrays(*simulated(n=300))
    assert not vetoes(quick(samples=3000).fit(data).posterior_)
    assert not vetoes(quick(likelihood_power=0).fit(data).posterior_)
    u, y = simulated(n=300, noise=0.0)
    assert not vetoes(quick(samples=2000).fit(u, y).posterior_)
