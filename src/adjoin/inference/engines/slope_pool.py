"""Candidates of informed moves by slopes: room for them, and which terms they are.

Receives a `SimulationSetup` and the state of a chain; hands ``kernels/slope_moves.py`` an
`Informed`. Of a small alphabet all terms are candidates; of a large one the terms of all rungs, and
those that gain most beside the coldest, of as many as the work allows, drawn anew each time.
"""

from __future__ import annotations

import numpy as np

from adjoin.arrays import Int1D
from adjoin.inference.engines.simulation_setup import ENOUGH_TERMS, SimulationSetup
from adjoin.inference.engines.workspace import make_chain
from adjoin.inference.forward import make_batch, make_leftover
from adjoin.kernels.gains import Candidates, find_gains, look_over
from adjoin.kernels.layouts import FreeRun
from adjoin.kernels.refits import run_freely
from adjoin.kernels.run_rungs import FreeRunLadder
from adjoin.kernels.slope_odds import Bases, Candidacy, Informed
from adjoin.kernels.state import N_INFORMED
from adjoin.kernels.tables import FitWork

MOST_WORK = 1e8
"""Products in which a base is held against all candidates, some hundredths of a second. Fewer rows
are a false saving: what is counted double is doubly wrong, and the best by it is the luckiest."""
MOST_RANKED = 20_000
"""Terms that are looked at when candidates are chosen."""
_FEWEST_ROWS = 512
_SLOTS = 128  # bases remembered: the structures next to four rungs of thirty terms
_OVERHEAD = 8  # what a candidate costs beside its products with the model's own slopes


def make_informed(setup: SimulationSetup, run: FreeRun) -> Informed:
    """Room for the candidates of one chain; there are none yet."""
    n, capacity, degree = setup.n_candidates, setup.capacity, setup.encoding.max_degree
    most_rows = max(MOST_WORK / (max(n, 1) * (ENOUGH_TERMS + _OVERHEAD)), _FEWEST_ROWS)
    leftover = make_leftover(setup.runs, most_rows if n else 1.0, run.max_lag, capacity)
    n_rows = sum(stop - first for first, stop in setup.runs.rows.stretches)
    return Informed(
        pool=Candidacy(
            atom=np.full((n, degree), -1),
            degree=np.zeros(n, dtype=np.int64),
            key=np.zeros(n, dtype=np.int64),
            sorted_key=np.zeros(n, dtype=np.int64),
            place=np.zeros(n, dtype=np.int64),
        ),
        bases=Bases(
            key=np.zeros((_SLOTS, capacity), dtype=np.int64),
            n_terms=np.full(_SLOTS, -1, dtype=np.int64),
            error=np.zeros(_SLOTS),
            gain=np.zeros((_SLOTS, n)),
            across=np.zeros((_SLOTS, n)),
            next=np.zeros(1, dtype=np.int64),
        ),
        base=make_chain(capacity, degree),
        leftover=leftover,
        batch=make_batch(run.max_lag, capacity, setup.order),
        share=n_rows / leftover.row.shape[1],
        log_odds=np.zeros(n),
        cumulative=np.zeros(n),
        counter=np.zeros((N_INFORMED, 3), dtype=np.int64),
        n_moves=setup.search.moves if n else 0,
    )


def choose_candidates(
    setup: SimulationSetup,
    ladder: FreeRunLadder,
    fitting: FitWork,
    informed: Informed,
    rng: np.random.Generator,
) -> None:
    """Choose the candidates by the present states of the rungs; what was weighed is forgotten."""
    n, terms = setup.n_candidates, setup.terms
    informed.bases.n_terms[:] = -1
    if not n:
        return
    places = np.arange(len(terms.key))
    if len(places) > n:
        places = _best_places(setup, ladder, fitting, informed, rng)
    pool = informed.pool
    pool.atom[:], pool.degree[:] = terms.atom[places], terms.degree[places]
    pool.key[:] = terms.key[places]
    pool.place[:] = np.argsort(pool.key)
    pool.sorted_key[:] = pool.key[pool.place]


def _best_places(
    setup: SimulationSetup,
    ladder: FreeRunLadder,
    fitting: FitWork,
    informed: Informed,
    rng: np.random.Generator,
) -> Int1D:
    """Where the candidates are among all terms, ascending."""
    n, terms, state = setup.n_candidates, setup.terms, ladder.state
    used = np.concatenate([k[: m[0]] for k, m in zip(state.key, state.n_terms, strict=True)])
    own = np.flatnonzero(np.isin(terms.key, used))[:n]
    others = np.setdiff1d(np.arange(len(terms.key)), own)
    if len(others) > MOST_RANKED:
        others = np.sort(rng.choice(others, MOST_RANKED, replace=False))
    score = terms.log_prior[others] + _gains(setup, ladder, fitting, informed, others)
    best = others[np.argsort(-score, kind="stable")[: n - len(own)]]
    return np.sort(np.concatenate([own, best]))


def _gains(
    setup: SimulationSetup,
    ladder: FreeRunLadder,
    fitting: FitWork,
    informed: Informed,
    places: Int1D,
) -> np.ndarray:
    """What terms gain beside the coldest rung, in nats to first order; 0 where its run is lost."""
    scratch, run, data = fitting.scratch, fitting.run, setup.regression
    m = int(ladder.state.n_terms[0, 0])
    for name in ("atom", "degree", "key", "theta"):
        getattr(scratch, name)[:m] = getattr(ladder.state, name)[0, :m]
    scratch.n_terms[0] = m
    fitting.colour.rho[:] = ladder.runs.rho[0]
    candidates = Candidates(
        setup.terms.atom[places],
        setup.terms.degree[places],
        np.zeros(len(places)),
        np.zeros(len(places)),
    )
    with np.errstate(all="ignore"):
        error = run_freely(data, fitting)
        if not 0.0 < error < np.inf:
            return candidates.gain
        look_over(True, scratch, run, data, fitting.linear, informed.leftover)
        find_gains(candidates, run, data, fitting.linear, informed.leftover, informed.batch)
    nats = 0.5 * setup.power * data.n_rows * informed.share * candidates.gain / error
    return np.minimum(nats, setup.power * data.n_rows)
