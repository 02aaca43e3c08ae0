"""The power that the likelihood deserves: intervals that cover, and one story for one residual."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter
from tests.systems import by_hand

from adjoin import Dataset, Grammar, Model, Posterior
from adjoin.inference.autocorrelation import integrated_time
from adjoin.results.assessment import assess
from adjoin.results.power import dependence, estimate_power

Z = 4.0  # one-sided; false alarm 3e-5 a comparison
FIR = Grammar.fir(max_lag=2)
EVEN = Grammar.volterra(max_lag=1, max_degree=2)
RUNS = 100


def filtered(b: list[float], a: list[float], n: int, rng: np.random.Generator) -> np.ndarray:
    """White noise through a filter, of unit variance but for chance."""
    series = np.asarray(lfilter(b, a, rng.standard_normal(n + 300)))[300:]
    return series / series.std()


def fitted(u: np.ndarray, y: np.ndarray, terms: str, grammar: Grammar, **changed) -> Posterior:
    """The posterior of one structure, as wide as one draw of it says: not at all."""
    n_terms = terms.count("+") + 1
    draws = [(terms, [1.0] * n_terms, float(np.var(y)) * 1e-6)]
    return by_hand(Dataset.from_arrays(u, y), [draws], grammar, **changed)


NOISE = {
    "white": ([1.0], [1.0]),
    "AR(1) 0.8": ([1.0], [1.0, -0.8]),
    "AR(1) -0.8": ([1.0], [1.0, 0.8]),
    "MA(1) 0.8": ([1.0, 0.8], [1.0]),
    "MA(1) -0.8": ([1.0, -0.8], [1.0]),
}


@pytest.mark.parametrize("slow", [0.0, 0.9], ids=["white input", "slow input"])
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize(
    ("terms", "grammar"),
    [("u(k) + u(k-1) + u(k-2)", FIR), ("u(k) + u(k)^2 + u(k)*u(k-1)", EVEN)],
    ids=["linear", "even powers"],
)
def test_no_interval_is_too_narrow(noise: str, slow: float, terms: str, grammar: Grammar) -> None:
    """Every coefficient's 95 % interval holds the truth at least as often, whatever the noise.

    The width is that of the posterior, (σ²/w)·(ΦᵀΦ)⁻¹; over 100 records of 400 samples.
    """
    n, n_covered = 400, np.zeros(3)
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        u = filtered([1.0], [1.0, -slow], n, rng)
        y = Model.parse("y(k) = " + terms).simulate(u) + filtered(*NOISE[noise], n, rng)
        posterior = fitted(u, y, terms, grammar)
        columns = posterior.run.problem.rows.design(posterior.structure(0))
        theta = np.array(list(posterior.map_model.coefficients.values()))
        (left,) = posterior.residuals()
        power = estimate_power(dependence(posterior), 1).power
        variance = left @ left / (len(left) - 3) * np.diag(np.linalg.inv(columns.T @ columns))
        n_covered += np.abs(theta - 1.0) < 1.96 * np.sqrt(variance / power)
    # 0.92: a power from 400 samples is itself uncertain; the whole likelihood has 0.69 at worst.
    error = np.sqrt(0.92 * 0.08 / RUNS)
    assert (n_covered / RUNS > 0.92 - Z * error).all()


@pytest.mark.parametrize("n", [300, 3000])
def test_white_residuals_keep_the_whole_likelihood(n: int) -> None:
    """Exactly 1, but for the test's false alarms: of 100 records, more than 5 at z = 4."""
    powers = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        u = filtered([1.0], [1.0, -0.9], n, rng)
        posterior = fitted(u, u + rng.standard_normal(n), "u(k)", FIR)
        powers.append(estimate_power(dependence(posterior), 1).power)
    assert sum(power < 1.0 for power in powers) <= 5


def test_the_time_is_that_of_the_product_of_correlations() -> None:
    r"""τ = (1 + ab)/(1 - ab) for autoregressions with a and b; for a constant part, that of a."""
    n, a, b = 40_000, 0.8, 0.9
    rng = np.random.default_rng(0)
    u, noise = filtered([1.0], [1.0, -b], n, rng), filtered([1.0], [1.0, -a], n, rng)
    found = dependence(fitted(u, u + noise, "u(k)", FIR))
    expected = (1 + a * b) / (1 - a * b)
    assert abs(found.time / expected - 1) < Z * np.sqrt(2 * (10 * expected + 1) / n)
    assert found.term == "u(k)"
    # a white input's square has a mean, and (E u²)²/E u⁴ = 1/3 of its weight is in it
    white = rng.standard_normal(n)
    found = dependence(fitted(white, white**2 + noise, "u(k)^2", EVEN))
    expected = 2 / 3 + (1 + a) / (1 - a) / 3
    assert abs(found.time / expected - 1) < Z * np.sqrt(2 * (10 * 9 + 1) / n)


def test_records_are_never_joined() -> None:
    rng = np.random.default_rng(1)
    u = [filtered([1.0], [1.0, -0.9], 500, rng) for _ in range(30)]
    y = [x + filtered([1.0], [1.0, -0.8], 500, rng) for x in u]
    data = Dataset.from_arrays(u, y)
    found = dependence(by_hand(data, [[("u(k)", [1.0], 1e-6)]], FIR))
    expected = 1.72 / 0.28
    assert abs(found.time / expected - 1) < Z * np.sqrt(2 * (10 * expected + 1) / 15_000)


def test_without_terms_the_residuals_speak_for_themselves() -> None:
    rng = np.random.default_rng(2)
    y = filtered([1.0], [1.0, -0.8], 2000, rng)
    data = Dataset.from_arrays(rng.standard_normal(2000), y)
    posterior = by_hand(data, [[("0", [], 1.0)]], FIR)
    found = dependence(posterior)
    assert found.time == integrated_time(posterior.residuals())
    assert found.term == ""


def test_few_samples_say_nothing() -> None:
    rng = np.random.default_rng(3)
    u, noise = rng.standard_normal(40), filtered([1.0], [1.0, -0.9], 40, rng)
    found = estimate_power(dependence(fitted(u, u + noise, "u(k)", FIR)), 1)
    assert (found.power, found.is_refused) == (1.0, False)
    assert found.note == "38 fitted samples are too few to see autocorrelation in"


def told(
    noise: str, slow: float, terms: str = "u(k)", **settings
) -> tuple[Posterior, float, str, str]:
    """Of one record: the posterior, power and note of the estimate; what the report says."""
    rng = np.random.default_rng(4)
    u = filtered([1.0], [1.0, -slow], 2000, rng)
    y = Model.parse("y(k) = " + terms).simulate(u) + filtered(*NOISE[noise], 2000, rng)
    posterior = fitted(u, y, terms, EVEN, settings=settings)
    estimate = estimate_power(dependence(posterior), 500)
    answer = assess(posterior, draws=5).exhausted
    return posterior, estimate.power, estimate.note, " | ".join(answer.reasons)


def test_independent_residuals_are_so_for_the_report_and_for_the_power() -> None:
    _, power, note, report = told("white", 0.9)
    assert power == 1.0
    assert note == "the residuals of a first run of 500 samples look independent"
    assert "all 7 correlation tests pass" in report


def test_positive_correlation_is_allowed_for_and_the_report_says_how() -> None:
    _, power, note, report = told("AR(1) 0.8", 0.9)
    assert power < 0.4
    assert "are autocorrelated (+0.8" in note
    assert "samples are worth one independent one, for the coefficient of u(k)" in note
    assert "of residual with itself at lag 1" in report
    assert "too narrow, by a factor of up to 2" in report
    assert "likelihood_power='auto' widens them" in report
    settings = {"likelihood_power": power, "is_power_estimated": True}
    _, _, _, report = told("AR(1) 0.8", 0.9, **settings)
    assert f"counts to the power {power:.3g}, which allows for it" in report
    _, _, _, report = told("AR(1) 0.8", 0.9, is_power_estimated=True)
    assert f"likelihood_power={power:.2g} widens them" in report  # the first run saw less


@pytest.mark.parametrize("noise", ["MA(1) -0.8", "AR(1) -0.8"])
def test_negative_correlation_is_no_evidence_for_more_than_one(noise: str) -> None:
    """As noise on the output, differences and oversampling leave it; and it is not hidden."""
    _, power, note, report = told(noise, 0.9)
    assert power == 1.0
    assert "are autocorrelated (-0." in note
    assert "so the power is never above 1" in note
    assert "of residual with itself at lag 1" in report
    assert "negative correlations cancel in sums" in report
    assert "too narrow" not in report


def test_slow_noise_under_a_fast_input_takes_nothing() -> None:
    posterior, power, _, report = told("AR(1) 0.8", 0.0)
    assert integrated_time(posterior.residuals()) > 6.0
    assert power > 0.9
    assert "the regressors average that out" in report


def test_negative_correlation_with_alternating_regressors_does_cost() -> None:
    """Both change sign from sample to sample, so their products do not."""
    rng = np.random.default_rng(6)
    u = filtered([1.0], [1.0, 0.8], 4000, rng)
    y = u + filtered([1.0], [1.0, 0.8], 4000, rng)
    found = dependence(fitted(u, y, "u(k)", FIR))
    assert integrated_time([y - u]) == 1.0
    expected = 1.64 / 0.36
    assert abs(found.time / expected - 1) < Z * np.sqrt(2 * (10 * expected + 1) / 4000)


def test_noise_too_slow_for_its_record_is_said() -> None:
    rng = np.random.default_rng(7)
    u = filtered([1.0], [1.0, -0.9], 300, rng)
    y = u**2 + filtered([1.0], [1.0, -0.97], 300, rng)
    found = dependence(fitted(u, y, "u(k)^2", EVEN))
    assert found.n_worth < 30
    assert "take this power as an upper limit" in estimate_power(found, 1).note
    assert "upper limit" not in told("AR(1) 0.8", 0.9)[2]
