"""Ladders in many settings, plain and compiled, in the same state."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from tests.engines import abc_engine
from tests.naive.abc import Sample, Twin

from adjoin import Dataset, Grammar, Structure
from adjoin.inference.engines.abc import AbcChain
from adjoin.inference.engines.workspace import as_rung, write_terms
from adjoin.inference.ladder import Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.kernels import abc

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


# Every probability differs from its inverse's: a ratio that drops or swaps one goes astray.
UNEVEN = Moves(
    stay=0.15,
    add_term=0.19,
    remove_term=0.09,
    add_factor=0.12,
    remove_factor=0.07,
    add_lag=0.08,
    remove_lag=0.13,
    swap_input=0.05,
    swap_output=0.12,
)


SMALL = Prior(expected_terms=6.0, degree_rate=1.2, lag_decay=0.9, coefficient_sd=0.5)


def rig_data(n_inputs: int = 1, lengths: tuple[int, ...] = (45,), seed: int = 0) -> Dataset:
    """Short noisy records; the output has a mean and a scale."""
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for n in lengths:
        u, y = rng.standard_normal((n, n_inputs)), np.zeros(n)
        noise = rng.standard_normal(n)
        for k in range(2, n):
            y[k] = 0.5 * y[k - 1] + 0.5 * u[k - 1, 0] - 0.2 * u[k - 2, -1] ** 2
            y[k] += 0.1 * u[k, -1] * y[k - 2] + 0.2 * noise[k]
        inputs.append(u)
        outputs.append(1.5 * y)
    return Dataset.from_arrays(inputs, outputs, names=(*("u", "v")[:n_inputs], "y"))


def hard_data() -> Dataset:
    """One step ahead its structure seems to explode, so that fits begin far from the optimum."""
    rng, n = np.random.default_rng(1), 45
    u, y = rng.uniform(-1.0, 1.0, n), np.zeros(n)
    for k in range(1, n):
        y[k] = 0.5 * y[k - 1] + 0.3 * y[k - 1] ** 3 + u[k - 1]
    return Dataset.from_arrays(u, y + 0.03 * rng.standard_normal(n))


SISO = Grammar.narx(max_lag=2, max_degree=2)


CUBIC = Grammar.narx(max_lag=2, max_degree=3)


TWO = Grammar.narx(inputs=("u", "v"), functions=("abs", "tanh"), max_lag=2, max_degree=2)


# Signals differ in their hinges: some swaps lead to an atom that there is, and some do not.
BENT = Grammar.narx(
    inputs=("u", "v"),
    functions={"u": "pos[0.4]", "v": "pos[0.4], abs", "y": "pos[0.4], pos[-0.5]"},
    max_lag=2,
    max_degree=2,
)


PINNED = SISO.with_initial("u(k-1) + u(k-2)^2")


LADDER = (1.3, 1.8, 3.0, 8.0)


class Case(NamedTuple):
    """A system, where the chain starts on it, and how it is sampled.

    ``tolerance`` : of each rung, as multiples of the distance of the start. ``level`` : the rung up
    to which proposals may be guided; ``lowered`` : that after annealing, where it differs.
    ``functions`` : those of the output that must have been met. ``is_residual`` : whether fixed
    terms are pinned; then the start is of the others.
    """

    data: Dataset
    grammar: Grammar = SISO
    start: str = "u(k-1) + y(k-1)"
    theta: tuple[float, ...] = (0.7, 0.5)
    tolerance: tuple[float, ...] = LADDER
    level: int = 1
    lowered: int | None = None
    guided: float = 0.5
    swap_interval: int = 3
    thin: int = 1
    prior: Prior = SMALL
    moves: Moves = UNEVEN
    n_samples: int = 150
    functions: tuple[str, ...] = ()
    is_residual: bool = False


CASES = {
    "paper's rule, one rung": Case(
        rig_data(), tolerance=(1.6,), level=0, guided=0.0, n_samples=800
    ),
    "paper's rule, four rungs": Case(rig_data(seed=1), CUBIC, guided=0.0, n_samples=300),
    "guided, one rung": Case(rig_data(seed=2), tolerance=(1.4,), level=0, n_samples=400),
    "guided, four rungs": Case(rig_data(seed=3), level=2),
    "guided, degree three": Case(rig_data(seed=4), CUBIC, tolerance=(1.3, 2.5)),
    "guided, nothing is guided above the first rung": Case(rig_data(seed=5), level=0),
    "default prior and moves": Case(rig_data(seed=6), CUBIC, prior=Prior(), moves=Moves()),
    "two inputs, functions": Case(
        rig_data(2, seed=7), TWO, tolerance=(1.3, 3.0), functions=("abs", "tanh")
    ),
    "two inputs, hinges": Case(
        rig_data(2, seed=18), BENT, tolerance=(1.3, 3.0), functions=("pos[0.4]", "pos[-0.5]")
    ),
    "two inputs, paper's rule": Case(rig_data(2, seed=8), TWO, guided=0.0),
    "fixed terms": Case(
        rig_data(seed=9),
        CUBIC.with_initial("u(k-1) + u(k)*y(k-1)"),
        "u(k-1) + u(k)*y(k-1) + y(k-1)",
        (0.7, 0.05, 0.5),
    ),
    "fixed terms beyond the alphabet": Case(
        rig_data(2, seed=10),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=1).with_initial(
            "tanh(u(k-3))*y(k-1)*v(k)"
        ),
        "tanh(u(k-3))*y(k-1)*v(k) + u(k-1) + y(k-1)",
        (0.05, 0.7, 0.5),
    ),
    "several records, thinned": Case(
        rig_data(lengths=(30, 5, 20), seed=11), tolerance=(1.3, 2.0, 4.0), thin=4
    ),
    "inputs alone": Case(
        rig_data(2, seed=12),
        Grammar.volterra(inputs=("u", "v"), max_lag=2),
        "u(k-1)",
        (0.7,),
    ),
    "a level that is lowered": Case(
        hard_data(),
        CUBIC,
        "u(k-1) + y(k-1) + y(k-1)^3",
        (1.0, 0.5, 0.3),
        tolerance=(1.5, 10.0),
        lowered=0,
    ),
    "residual, paper's rule": Case(
        rig_data(seed=14), PINNED, "y(k-1)", (0.4,), guided=0.0, n_samples=300, is_residual=True
    ),
    "residual, guided": Case(rig_data(seed=15), PINNED, "y(k-1)", (0.4,), is_residual=True),
    "residual, an output lag, paper's rule": Case(
        rig_data(seed=16),
        SISO.with_initial("u(k-2) + y(k-1)"),
        "u(k-1)",
        (0.7,),
        guided=0.0,
        n_samples=300,
        is_residual=True,
    ),
    "residual, an output lag, guided": Case(
        rig_data(seed=17),
        CUBIC.with_initial("u(k)*y(k-1) + u(k-2) + y(k-1)"),
        "u(k-1)",
        (0.7,),
        level=2,
        n_samples=100,
        is_residual=True,
    ),
    "residual, from the pinned terms alone": Case(
        rig_data(seed=18),
        SISO.with_initial("u(k-2)^2 + y(k-1)"),
        "0",
        (),
        tolerance=(1.05, 1.2, 2.0),
        is_residual=True,
    ),
    "residual, inputs alone": Case(
        rig_data(2, seed=19),
        Grammar.volterra(inputs=("u", "v"), max_lag=2).with_initial("v(k-1) + u(k-1)*v(k)"),
        "0",
        (),
        tolerance=(1.05, 1.2, 2.0),
        is_residual=True,
    ),
    "residual, beyond the alphabet, several records": Case(
        rig_data(2, lengths=(30, 8, 20), seed=20),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=2).with_initial(
            "tanh(u(k-3))*y(k-1)*v(k) + abs(y(k-2))"
        ),
        tolerance=(1.3, 2.5),
        is_residual=True,
    ),
    "residual, a start that is damped": Case(
        hard_data(),
        CUBIC.with_initial("u(k-1) + y(k-1)"),
        "y(k-1)^3",
        (0.05,),
        tolerance=(1.5, 10.0),
        is_residual=True,
    ),
    "from no terms": Case(rig_data(seed=13), start="0", theta=(), tolerance=(1.05, 1.2, 2.0)),
}


def make_twin(case: Case) -> Twin:
    """The plain ladder, every rung at the start."""
    twin = Twin(
        case.data,
        case.grammar.alphabet,
        case.prior,
        case.moves,
        guided=case.guided,
        swap_interval=case.swap_interval,
        thin=case.thin,
        is_residual=case.is_residual,
    )
    names = case.data.names
    structure = Structure.parse(case.start, names) if case.theta else Structure((), names)
    given = dict(zip([twin.law.encode(t) for t in structure], case.theta, strict=True))
    given.update(twin.pinned)
    terms = [*twin.law.fixed, *(t for t in given if t not in twin.law.fixed)]
    theta = [given[term] for term in terms]
    start = twin.runs.error(terms, theta) / twin.unit
    for c, factor in enumerate(case.tolerance):
        twin.put(terms, theta, factor * start, 0.1 / (c + 1))
    twin.level = twin.rungs[case.level].tolerance * twin.unit
    return twin


def make_chain_of(case: Case, twin: Twin, seed: int) -> AbcChain:
    """A compiled chain in the state of the plain ladder."""
    ladder = Ladder(rungs=len(case.tolerance), swap_interval=case.swap_interval, guided=case.guided)
    engine = abc_engine(
        case.data,
        case.grammar.alphabet,
        10_000,
        case.prior,
        case.moves,
        ladder,
        "default" if case.guided else "paper",
        thin=case.thin,
        is_residual=case.is_residual,
    )
    chain = engine.start(seed)
    fitting = chain.ladder
    for c, rung in enumerate(twin.rungs):
        view = as_rung(fitting.rungs.state, c)
        write_terms(view, engine.encoding, [twin.law.decode(term) for term in rung.terms])
        view.theta[: len(rung.theta)] = rung.theta
        view.theta[: len(twin.pinned)] = engine.regression.pinned_theta
        fitting.tolerances.tolerance[c], fitting.walk.width[c] = rung.tolerance, rung.width
        fitting.tolerances.distance[c] = rung.distance
        fitting.rungs.error[c] = rung.distance * twin.unit
    fitting.tolerances.level[0] = twin.level
    return chain


def lower(case: Case, *ladders: Twin | AbcChain) -> None:
    """The level after annealing."""
    for ladder in ladders if case.lowered is not None else ():
        if isinstance(ladder, Twin):
            ladder.level = ladder.rungs[case.lowered].tolerance * ladder.unit
        else:
            unit, tolerances = ladder.engine.target.unit, ladder.ladder.tolerances
            tolerances.level[0] = tolerances.tolerance[case.lowered] * unit


def advance(chain: AbcChain, n_samples: int, mode: int, **changed: Any) -> int:
    engine = chain.engine
    target = engine.target._replace(**changed)
    with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn where kernels give infinities
        return abc.run_abc(
            chain.rng,
            engine.rules._replace(target=target),
            engine.regression,
            chain.ladder,
            chain.fitting,
            chain.buffer,
            mode,
            n_samples,
        )


def samples_of(chain: AbcChain) -> list[Sample]:
    """What the buffer holds, terms in the chain's order."""
    buffer, found = chain.buffer, []
    at_theta = at_key = 0
    terms: tuple[tuple[int, ...], ...] = ()
    for row in range(buffer.cursor.n_draws[0]):
        n = int(buffer.n_terms[row])
        if buffer.is_new[row]:
            keys = buffer.key[at_key : at_key + n].tolist()
            terms, at_key = tuple(map(chain.engine.encoding.digits, keys)), at_key + n
        theta = tuple(buffer.theta[at_theta : at_theta + n].tolist())
        at_theta += n
        values = (buffer.noise[row], buffer.log_prior[row], buffer.own[row, 0])
        found.append(Sample(terms, theta, *map(float, values)))
    assert [int(written[0]) for written in buffer.cursor] == [len(found), at_theta, at_key]
    return found
