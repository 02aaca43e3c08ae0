"""Coloured noise in the kernels: without an order the squared error, with one the exact integral.

Quadrature over ρ and σ² is by SciPy, to 1e-8. Draws are tested by z-scores, Bonferroni over what
one test compares: a false alarm once in a thousand seeds. The seeds are fixed.
"""

from __future__ import annotations

import functools
import math

import numba
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.signal import lfilter
from scipy.special import gammaln
from tests.engines import simulation_engine
from tests.kernels.output_error_cases import IS_COMPILED

from adjoin import Dataset, Grammar, Structure
from adjoin.inference.engines.simulation_chain import SimulationChain
from adjoin.inference.engines.workspace import write_terms
from adjoin.inference.prior import Prior
from adjoin.inference.search import Search
from adjoin.kernels.colours import draw_colour, is_stationary, judge_run, solve_colour
from adjoin.kernels.free_run import assemble, free_run_error
from adjoin.kernels.run_rungs import RungRuns, error_of
from adjoin.kernels.state import Target
from adjoin.kernels.tables import Colour

FALSE_ALARM = 1e-3
GRAMMAR = Grammar.narx(max_lag=2, max_degree=2)
LINEAR = Grammar.narx(max_lag=2, max_degree=1, constant=False)
SMALL = Grammar.narx(max_lag=1, max_degree=2, constant=False)
MODELS = {"u(k-1)": [0.5], "u(k-1) + y(k-1)": [0.4, 0.6], "1 + y(k-2)*u(k-1)": [0.2, 0.3]}


@numba.njit
def _judge(chain, data, fitting, limit):
    assemble(chain, data, fitting.run)
    return judge_run(chain.n_terms[0], fitting, limit)


@numba.njit
def _error(chain, data, run, limit):
    assemble(chain, data, run)
    return free_run_error(chain.n_terms[0], run, limit)[0]


@numba.njit
def _solve(colour):
    return solve_colour(colour)


@numba.njit
def _error_of(runs):
    return error_of(0, runs)


@numba.njit
def _is_stationary(rho):
    return is_stationary(rho)


@numba.njit
def _draw_many(rng, target, n_rows, error, colour, n):
    """(n, order) draws of ρ, stationary or not."""
    drawn = np.empty((n, colour.rho.shape[0]))
    best = colour.rho.copy()
    for i in range(n):
        colour.rho[:] = best
        draw_colour(rng, target, n_rows, error, colour)
        drawn[i] = colour.rho
    colour.rho[:] = best
    return drawn


def colour_of(v: np.ndarray, order: int) -> Colour:
    """The moments of one series, its first samples given."""
    rows = np.column_stack([v[order - lag : len(v) - lag] for lag in range(order + 1)])
    return Colour(
        moment=rows.T @ rows,
        rho=np.zeros(order),
        volume=np.zeros(1),
        factor=np.zeros((order, order)),
        step=np.zeros(order),
    )


def coloured(rho: list[float], n: int, seed: int = 3) -> np.ndarray:
    white = np.random.default_rng(seed).standard_normal(n)
    return lfilter([1.0], [1.0, *(-r for r in rho)], white)


def target_of(shape: float, scale: float, power: float, order: int) -> Target:
    return Target(
        noise_shape=shape - 0.5 * order,
        noise_scale=scale,
        power=power,
        coefficient_shape=0.0,
        coefficient_scale=0.0,
        thin=1,
    )


# Judging a run


@functools.cache
def _chain(noise: str) -> SimulationChain:
    """Begun once: as plain Python, where it begins takes longer to find than all that is asked."""
    rng = np.random.default_rng(1)
    lengths = (40, 25)
    inputs = [rng.standard_normal(n) for n in lengths]
    outputs = [rng.standard_normal(n) for n in lengths]
    data = Dataset.from_arrays(inputs, outputs)
    return simulation_engine(data, GRAMMAR.alphabet, noise=noise).start(0)


@pytest.mark.parametrize("text", MODELS)
def test_without_an_order_a_run_is_worth_its_squared_error(text: str) -> None:
    chain = _chain("white")
    fitting, data = chain.fitting, chain.engine.regression
    terms = list(Structure.parse(text, GRAMMAR.signals))
    write_terms(fitting.scratch, chain.engine.encoding, terms)
    fitting.scratch.theta[: len(terms)] = MODELS[text]
    whole = _error(fitting.scratch, data, fitting.run, math.inf)
    assert 0.0 < whole < math.inf
    for limit in (math.inf, 2.0 * whole, 0.5 * whole, 0.0):
        expected = _error(fitting.scratch, data, fitting.run, limit)
        assert _judge(fitting.scratch, data, fitting, limit) == expected
    assert fitting.colour.volume[0] == 0.0


@pytest.mark.parametrize("noise", ["ar", "ar2"])
@pytest.mark.parametrize("text", MODELS)
def test_with_one_it_is_worth_what_the_best_colour_leaves(text: str, noise: str) -> None:
    """By least squares on the residuals of both records; and with ρ = 0 the squared error again."""
    chain = _chain(noise)
    fitting, data, order = chain.fitting, chain.engine.regression, chain.engine.order
    terms = list(Structure.parse(text, GRAMMAR.signals))
    write_terms(fitting.scratch, chain.engine.encoding, terms)
    fitting.scratch.theta[: len(terms)] = MODELS[text]
    found = _judge(fitting.scratch, data, fitting, 0.0)  # there is no limit
    run = fitting.run.data
    left = [(run.measured - run.predicted)[a:b] for a, b in zip(run.first, run.stop, strict=True)]
    now = np.concatenate([v[order:] for v in left])
    past = np.column_stack(
        [np.concatenate([v[order - a : len(v) - a] for v in left]) for a in range(1, order + 1)]
    )
    assert len(now) == data.n_rows
    best, (error,), _, singular = np.linalg.lstsq(past, now, rcond=None)
    assert found == pytest.approx(error, rel=1e-10)
    assert fitting.colour.rho == pytest.approx(best, rel=1e-9)
    assert fitting.colour.volume[0] == pytest.approx(np.log(singular).sum(), abs=1e-10)
    moment = fitting.colour.moment[None].copy()
    for rho in (np.zeros(order), np.full(order, 0.3)):
        runs = RungRuns(np.array([found]), np.zeros(1), moment, rho[None].copy())
        assert _error_of(runs) == pytest.approx(np.square(now - past @ rho).sum(), rel=1e-12)


# The integral over ρ and σ²


def _log_integral(
    v: np.ndarray, shape: float, scale: float, power: float, low: float, high: float
) -> float:
    """log ∫∫ IG(σ²; a, b) N(v; σ², ρ)^w dσ² dρ by quadrature, over log σ² and ρ = ρ̂ + sinh(x)."""
    now, past = v[1:], v[:-1]
    n, best = len(now), float(now @ past / (past @ past))
    least = float(np.square(now - best * past).sum())
    constant = shape * math.log(scale) - gammaln(shape) - 0.5 * power * n * math.log(2 * math.pi)
    total = shape + 0.5 * power * n

    def log_density(log_variance: float, error: float) -> float:
        # One σ² more for the logarithm.
        return -total * log_variance - (scale + 0.5 * power * error) * math.exp(-log_variance)

    middle = math.log((scale + 0.5 * power * least) / total)
    top = log_density(middle, least)
    exact = {"epsabs": 0.0, "epsrel": 1e-11, "limit": 400}
    width = 12.0 / math.sqrt(total)

    def over_variance(rho: float) -> float:
        error = float(np.square(now - rho * past).sum())
        here = math.log((scale + 0.5 * power * error) / total)
        peak = log_density(here, error)
        value, _ = integrate.quad(
            lambda x: math.exp(log_density(x, error) - peak),
            here - width,
            here + 3.0 * width,
            points=[here],
            **exact,
        )
        return value * math.exp(peak - top)

    spread = math.sqrt(2.0 * (scale + 0.5 * power * least) / (power * (past @ past) * 2.0 * total))
    ends = [math.asinh((edge - best) / spread) for edge in (low, high)]
    value, _ = integrate.quad(
        lambda x: over_variance(best + spread * math.sinh(x)) * spread * math.cosh(x),
        *ends,
        points=[0.0] if ends[0] < 0.0 < ends[1] else None,
        **exact,
    )
    return constant + top + math.log(value)


SERIES = {
    "as white": ([0.0], 30, 1.0),
    "positive": ([0.7], 60, 1.0),
    "negative, power": ([-0.5], 40, 0.4),
    "a walk": ([0.97], 25, 1.0),
}


@pytest.mark.parametrize("name", SERIES)
def test_the_collapsed_likelihood_is_the_integral(name: str) -> None:
    rho, n, power = SERIES[name]
    shape, scale, v = 2.0, 0.7, coloured(rho, n)
    colour = colour_of(v, 1)
    error, target = _solve(colour), target_of(shape, scale, power, 1)
    a = target.noise_shape + 0.5 * power * (n - 1)
    b = scale + 0.5 * power * error
    collapsed = -colour.volume[0] - a * math.log(b)
    same = shape * math.log(scale) - gammaln(shape) + gammaln(a)
    same += 0.5 * math.log(2 * math.pi / power) - 0.5 * power * (n - 1) * math.log(2 * math.pi)
    # Far beyond where the t of ρ has anything left: its density falls with the power 2A.
    reach = 200.0
    whole = _log_integral(v, shape, scale, power, -reach, reach)
    assert math.exp(collapsed + same - whole) == pytest.approx(1.0, abs=1e-8)
    # And the part where the noise is stationary is that of the t.
    inside = _log_integral(v, shape, scale, power, -1.0, 1.0)
    spread = math.sqrt(b / (a * power * colour.moment[1, 1]))
    law = stats.t(2.0 * a, loc=colour.rho[0], scale=spread)
    assert math.exp(inside - whole) == pytest.approx(law.cdf(1.0) - law.cdf(-1.0), abs=1e-8)


@pytest.mark.parametrize(
    ("rho", "power"), [([0.9], 1.0), ([-0.5], 0.4), ([0.5, -0.4], 1.0), ([1.2, -0.3], 0.5)]
)
def test_draws_of_the_colour_are_of_its_t(rho: list[float], power: float) -> None:
    """Means, and the squared distance, which is that of an F; independent of SciPy's t."""
    n, order, n_drawn = 40, len(rho), 20_000
    colour = colour_of(coloured(rho, n, seed=5), order)
    error, target = _solve(colour), target_of(2.0, 0.7, power, order)
    best, n_rows = colour.rho.copy(), n - order
    rng = np.random.default_rng(11)
    drawn = _draw_many(rng, target, n_rows, error, colour, n_drawn)
    a = target.noise_shape + 0.5 * power * n_rows
    b = target.noise_scale + 0.5 * power * error
    past = colour.moment[1:, 1:]
    covariance = b / (a - 1.0) / power * np.linalg.inv(past)
    z = (drawn.mean(axis=0) - best) / np.sqrt(np.diag(covariance) / n_drawn)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 4 / order)
    distance = np.einsum("ni,ij,nj->n", drawn - best, past, drawn - best) * a * power / b / order
    law = stats.f(order, 2.0 * a)
    assert stats.kstest(distance, law.cdf).pvalue > FALSE_ALARM / 2


def test_noise_is_stationary_where_all_roots_are_inside() -> None:
    rng = np.random.default_rng(2)
    for rho in [*rng.uniform(-2.5, 2.5, (400, 2)), *rng.uniform(-1.5, 1.5, (50, 1))]:
        expected = bool((np.abs(np.roots([1.0, *-rho])) < 1.0).all())
        assert _is_stationary(rho) == expected
    assert _is_stationary(np.empty(0))


# Units


@pytest.mark.skipif(not IS_COMPILED, reason="too many samples for plain Python")
@pytest.mark.parametrize(
    ("noise", "power_of_two"),
    [
        ("white", -20),
        ("white", 20),
        ("ar", 20),
        ("ar2", 20),
        ("ar", -20),
        ("ar2", -20),
    ],
)
def test_chains_do_not_depend_on_the_unit(noise: str, power_of_two: int) -> None:
    """Of linear terms in raw units, the noise prior in the same: every decision is the same.

    The prior says more of σ² than the residuals do, and so B hardly depends on the run.
    """
    rng, n, traces = np.random.default_rng(4), 60, []
    u = rng.standard_normal(n)
    y = lfilter([0.0, 0.5], [1.0, -0.5], u) + 0.5 * coloured([0.6], n)
    for unit in (1.0, 2.0**power_of_two):
        prior = Prior(coefficient_sd=0.5, noise_shape=2.0, noise_scale=40.0 * unit**2, units="raw")
        chain = simulation_engine(
            Dataset.from_arrays(unit * u, unit * y),
            LINEAR.alphabet,
            prior,
            search=Search(rungs=2, hottest=0.3, interval=2),
            noise=noise,
        ).start(0)
        chain.advance(400)
        traces.append(chain.finish())
    first, second = traces
    assert first.move[:, 2].sum() > 100
    assert second.move.tolist() == first.move.tolist()
    assert second.structure.tolist() == first.structure.tolist()
    np.testing.assert_allclose(second.theta, first.theta, rtol=1e-6, atol=1e-9)
    if first.rho is not None and second.rho is not None:
        np.testing.assert_allclose(second.rho, first.rho, rtol=1e-6, atol=1e-9)


@pytest.mark.skipif(not IS_COMPILED, reason="too many samples for plain Python")
@pytest.mark.parametrize("noise", ["white", "ar"])
def test_chains_find_what_leaves_no_residual(noise: str) -> None:
    """From a structure that is wrong, and then they go on moving."""
    u, y = np.random.default_rng(1).standard_normal(200), np.zeros(200)
    for k in range(1, len(y)):
        y[k] = 0.5 * u[k - 1] + 0.5 * y[k - 1]
    engine = simulation_engine(
        Dataset.from_arrays(u, y), SMALL.alphabet, search=Search(rungs=1), noise=noise
    )
    chain = engine.start(0)
    chain.advance(3000)
    found = {engine.encoding.term(key) for key in chain.state.key[: chain.n_terms]}
    assert found == set(Structure.parse("u(k-1) + y(k-1)", SMALL.signals))
    n_accepted = int(chain.ladder.move[0, 0, 2])
    chain.advance(1000)
    assert chain.ladder.move[0, 0, 2] > n_accepted + 20
