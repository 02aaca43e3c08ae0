"""Ladders of free runs in many settings, plain and compiled, in the same state.

What a compiled chain is made of is known here, and nowhere else among the tests of this sampler.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from tests.engines import simulation_engine
from tests.kernels.ladder_cases import UNEVEN, hard_data, rig_data
from tests.naive.output_error import Mode, Twin
from tests.naive.prediction import Sample
from tests.naive.prior import Term
from tests.naive.slope_moves import InformedTwin

from adjoin import Dataset, Grammar
from adjoin.inference.engines.simulation_chain import SimulationChain
from adjoin.inference.engines.simulation_setup import ORDERS, Start
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.search import Search

N_INFORMED = 2
"""Informed moves of a rung in a sweep, where there are candidates."""
IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"

SISO = Grammar.narx(max_lag=2, max_degree=2, constant=False)
WITH_CONSTANT = Grammar.narx(max_lag=2, max_degree=2)
CUBIC = Grammar.narx(max_lag=2, max_degree=3)
TWO = Grammar.narx(inputs=("u", "v"), functions=("abs", "tanh"), max_lag=2, max_degree=2)
PAST_NOISE = Grammar.narx(max_lag=2, max_degree=2, noise=True)
LOOSE = Prior(
    expected_terms=5.0, degree_rate=1.2, lag_decay=0.9, coefficient_sd=0.5, noise_scale=0.1
)
HYPER = Prior(
    **{**LOOSE.settings, "coefficient_shape": 2.5, "coefficient_scale": 0.4, "noise_shape": 1.5}
)


class Case(NamedTuple):
    """A system and how it is sampled; `n_pieces` with an adaptation between two of them."""

    data: Dataset
    grammar: Grammar = SISO
    prior: Prior = LOOSE
    moves: Moves = UNEVEN
    power: float = 1.0
    rungs: int = 1
    hottest: float = 0.4
    interval: int = 3
    thin: int = 1
    is_residual: bool = False
    n_samples: int = 100
    n_pieces: int = 2
    functions: tuple[str, ...] = ()
    noise: str = "white"
    candidates: int = 0


def memory_data(n_inputs: int = 1, lengths: tuple[int, ...] = (60,), seed: int = 0) -> Dataset:
    """Short records whose noise has a memory, by itself and in a product."""
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for n in lengths:
        u, e, y = rng.standard_normal((n, n_inputs)), 0.5 * rng.standard_normal(n), np.zeros(n)
        for k in range(2, n):
            y[k] = 0.4 * y[k - 1] + 0.5 * u[k - 1, 0] - 0.2 * u[k - 2, -1] ** 2 + e[k]
            y[k] += 0.6 * e[k - 1] + 0.4 * u[k - 1, 0] * e[k - 1]
        inputs.append(u)
        outputs.append(1.5 * y)
    return Dataset.from_arrays(inputs, outputs, names=(*("u", "v")[:n_inputs], "y"))


CASES = {
    "one rung": Case(rig_data(), n_samples=300),
    "one rung, degree three": Case(rig_data(seed=1), CUBIC, n_samples=200),
    "default prior and moves": Case(rig_data(seed=2), prior=Prior(), moves=Moves(), n_samples=200),
    "constant, three rungs": Case(rig_data(seed=3), WITH_CONSTANT, rungs=3),
    "two inputs, two records, functions": Case(
        rig_data(2, lengths=(30, 20), seed=4), TWO, rungs=3, functions=("abs", "tanh")
    ),
    "fixed terms": Case(
        rig_data(seed=5),
        WITH_CONSTANT.with_initial("u(k-1) + u(k)*y(k-1)"),
        rungs=2,
        hottest=0.8,
        interval=1,
    ),
    "fixed terms beyond the alphabet": Case(
        rig_data(2, seed=6),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=1).with_initial(
            "tanh(u(k-3))*y(k-1)*v(k)"
        ),
        rungs=2,
    ),
    "residual": Case(
        rig_data(seed=7), SISO.with_initial("u(k-1) + u(k-2)^2"), rungs=3, is_residual=True
    ),
    "residual, an output lag": Case(
        rig_data(seed=8), CUBIC.with_initial("u(k-2) + y(k-1)"), is_residual=True, n_samples=200
    ),
    "residual, hyperprior": Case(
        rig_data(2, lengths=(30, 8, 15), seed=9),
        TWO.with_initial("abs(y(k-2)) + v(k)"),
        HYPER,
        rungs=2,
        hottest=0.8,
        interval=1,
        is_residual=True,
    ),
    "power": Case(rig_data(seed=10), WITH_CONSTANT, power=0.3, n_samples=250),
    "power, three rungs": Case(rig_data(seed=11), power=0.3, rungs=3, thin=4),
    "hyperprior": Case(rig_data(seed=12), WITH_CONSTANT, HYPER, n_samples=250),
    "hyperprior, three rungs": Case(rig_data(seed=13), SISO, HYPER, rungs=3, interval=1),
    "inputs alone": Case(
        rig_data(2, seed=14), Grammar.volterra(inputs=("u", "v"), max_lag=2), rungs=2
    ),
    "starts that are damped": Case(
        hard_data(), CUBIC, rungs=2, hottest=0.8, interval=1, n_samples=80, n_pieces=3
    ),
    "coloured noise": Case(rig_data(seed=17), WITH_CONSTANT, noise="ar", n_samples=250),
    "coloured noise of order two, three rungs": Case(
        rig_data(2, lengths=(30, 20), seed=18), TWO, power=0.5, rungs=3, interval=1, noise="ar2"
    ),
    "coloured noise, residual": Case(
        rig_data(seed=19),
        SISO.with_initial("u(k-1) + u(k-2)^2"),
        HYPER,
        rungs=2,
        is_residual=True,
        noise="ar2",
    ),
    "past noise": Case(memory_data(seed=20), PAST_NOISE, n_samples=120),
    "past noise, degree three, two records": Case(
        memory_data(lengths=(40, 25), seed=21),
        Grammar.narx(max_lag=2, max_degree=3, noise=True, constant=False),
        HYPER,
        power=0.6,
        rungs=3,
        interval=1,
    ),
    "past noise, fixed terms, two inputs, functions": Case(
        memory_data(2, lengths=(30, 8, 15), seed=22),
        Grammar.narx(
            inputs=("u", "v"), functions=("abs", "tanh"), max_lag=2, max_degree=2, noise=True
        ).with_initial("e(k-1) + u(k-1)*e(k-2)"),
        rungs=2,
        hottest=0.8,
        interval=1,
        n_samples=80,
        functions=("abs", "tanh"),
    ),
    "past noise, residual": Case(
        memory_data(seed=23), PAST_NOISE.with_initial("u(k-1) + y(k-1)"), rungs=2, is_residual=True
    ),
    "past noise, likelihood off": Case(
        memory_data(seed=24), PAST_NOISE, HYPER, power=0.0, n_samples=400
    ),
    "informed": Case(rig_data(seed=20), WITH_CONSTANT, candidates=99, n_samples=120),
    "informed, three rungs": Case(
        rig_data(2, lengths=(30, 20), seed=21),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=1, functions=("tanh",)),
        power=0.6,
        rungs=3,
        interval=2,
        candidates=99,
        n_samples=60,
    ),
    "informed, residual": Case(
        rig_data(seed=22),
        SISO.with_initial("u(k-1) + u(k-2)^2"),
        HYPER,
        rungs=2,
        interval=1,
        is_residual=True,
        candidates=99,
        n_samples=60,
    ),
    "informed, coloured noise": Case(
        rig_data(2, lengths=(30, 8, 15), seed=23),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=1),
        noise="ar2",
        candidates=99,
    ),
    "informed, past noise": Case(
        memory_data(seed=24),
        Grammar.narx(noise=True, max_lag=2, max_degree=1),
        candidates=99,
        n_samples=150,
    ),
    "likelihood off": Case(rig_data(seed=15), WITH_CONSTANT, HYPER, power=0.0, n_samples=400),
    "residual, likelihood off": Case(
        rig_data(seed=16),
        CUBIC.with_initial("u(k-1) + y(k-1)"),
        HYPER,
        power=0.0,
        is_residual=True,
        n_samples=400,
    ),
}


def make_chain_of(case: Case, seed: int, **more: Any) -> SimulationChain:
    """A compiled chain that adapts only when it is told to."""
    engine = simulation_engine(
        case.data,
        case.grammar.alphabet,
        case.prior,
        case.moves,
        case.power,
        thin=case.thin,
        search=Search(
            candidates=case.candidates,
            moves=N_INFORMED,
            rungs=case.rungs,
            hottest=case.hottest,
            interval=case.interval,
        ),
        is_residual=case.is_residual,
        noise=case.noise,
        **more,
    )
    rng = np.random.Generator(np.random.PCG64(seed))
    return SimulationChain.begin(engine, rng, Start((), np.empty(0)))


def make_twin(case: Case, **more: Any) -> Twin:
    powers = (case.power,)
    if case.rungs > 1:
        powers = tuple(case.power * np.geomspace(1.0, case.hottest, case.rungs))
    if case.candidates:
        more |= {"candidates": candidates_of(make_chain_of(case, 0)), "n_moves": N_INFORMED}
    return (InformedTwin if case.candidates else Twin)(
        case.data,
        case.grammar.alphabet,
        case.prior,
        case.moves,
        powers=powers,
        interval=case.interval,
        thin=case.thin,
        is_residual=case.is_residual,
        order=ORDERS[case.noise],
        **more,
    )


def candidates_of(chain: SimulationChain) -> list[Term]:
    """What informed moves choose from, in the order they do; all terms, but the fixed ones."""
    assert len(chain.informed.pool.key) == len(chain.engine.terms.key)
    return [chain.engine.encoding.digits(key) for key in chain.informed.pool.key.tolist()]


def advance(chain: SimulationChain, n_samples: int) -> None:
    with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn where kernels give infinities
        chain.advance(n_samples)


def adapt(chain: SimulationChain) -> list[float]:
    """Place the rungs and take references; the powers."""
    chain._adapt()
    return chain.ladder.power.tolist()


def samples_of(chain: SimulationChain) -> list[Sample]:
    """What was recorded, terms in canonical order."""
    trace, digits = chain.finish(), chain.engine.encoding.digits
    assert not trace.trouble.any()
    terms = [tuple(map(digits, keys)) for keys in trace.structures]
    theta = np.split(trace.theta, trace.offset[1:-1])
    numbers = (trace.noise, trace.coefficient, trace.log_lik, trace.log_prior)
    rows = zip(trace.structure, theta, *map(np.ndarray.tolist, numbers), strict=True)
    return [Sample(terms[i], tuple(values.tolist()), *others) for i, values, *others in rows]


class Seen(NamedTuple):
    """A rung of a compiled chain."""

    power: float
    theta: dict[Term, float]
    coefficient: float
    error: float
    rho: list[float]
    counts: list[list[int]]
    passed: list[int]
    swaps: list[int]
    is_from_hot: bool


def rungs_of(chain: SimulationChain) -> list[Seen]:
    ladder, digits = chain.ladder, chain.engine.encoding.digits
    state, found = ladder.state, []
    for c, n in enumerate(state.n_terms[:, 0].tolist()):
        terms = [digits(key) for key in state.key[c, :n].tolist()]
        found.append(
            Seen(
                float(ladder.power[c]),
                dict(zip(terms, state.theta[c, :n].tolist(), strict=True)),
                float(state.coefficient[c, 0]),
                float(ladder.runs.error[c]),
                ladder.runs.rho[c].tolist(),
                ladder.move[c].tolist(),
                ladder.passed[c].tolist(),
                ladder.swap[c].tolist(),
                bool(ladder.is_from_hot[c]),
            )
        )
    return found


def n_trips_of(chain: SimulationChain) -> int:
    return int(chain.ladder.n_trips[0])


def modes_of(chain: SimulationChain) -> dict[frozenset[Term], Mode]:
    """Every mode in the table; pinned terms are left out."""
    fits, digits, found = chain.fitting.fits, chain.engine.encoding.digits, {}
    pinned = chain.engine.regression.pinned_key.tolist()
    for entry in range(int(fits.n_entries[0])):
        n = int(fits.entry.n_terms[entry])
        first, at = int(fits.entry.first_key[entry]), int(fits.entry.first_value[entry])
        keys = fits.key[first : first + n]
        keys = keys[fits.key[first + n : first + 2 * n]].tolist()
        normal = np.zeros((n, n))
        normal[np.triu_indices(n)] = fits.value[at + 2 * n : at + 2 * n + n * (n + 1) // 2]
        normal = normal + np.triu(normal, 1).T
        free = [i for i, key in enumerate(keys) if key not in pinned]
        found[frozenset(map(digits, keys))] = Mode(
            [digits(keys[i]) for i in free],
            fits.value[at : at + n][free],
            float(fits.entry.error[entry]),
            normal[np.ix_(free, free)],
            fits.value[at + n : at + 2 * n][free],
            float(fits.entry.volume[entry]),
        )
    return found


def forget(chain: SimulationChain) -> None:
    """All tables."""
    chain.informed.bases.n_terms[:] = -1
    fitting = chain.fitting
    fitting.table.size[:] = fitting.fits.n_entries[:] = 0
    fitting.fits.n_keys[:] = fitting.fits.n_values[:] = 0
    fitting.table.bucket[:] = fitting.fits.bucket[:] = -1


def n_made(chain: SimulationChain) -> int:
    """How many modes were searched, those forgotten included."""
    return int(chain.fitting.fits.n_made[0])
