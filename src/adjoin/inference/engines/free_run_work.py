"""Empty workspaces of the free-run engine: the ladder, free runs, and free-run fits."""

from __future__ import annotations

import math

import numpy as np

from adjoin.grammar.functions import find_function
from adjoin.inference.engines.workspace import make_chain, make_table, make_work
from adjoin.inference.problem import Problem
from adjoin.kernels.functions import fill_function
from adjoin.kernels.ladders import (
    AbcLadder,
    Champion,
    Counters,
    Nearest,
    Pending,
    Rungs,
    Runs,
    Tolerances,
    Walk,
)
from adjoin.kernels.layouts import FreeRun, Program, Recursion
from adjoin.kernels.simulate import BLOCK
from adjoin.kernels.state import FREE_RUN, N_MOVES, N_SAVED, ONE_STEP
from adjoin.kernels.tables import Colour, Entries, FitTable, FitWork, Linearised, Slopes

_TABLE_TERMS = 2048  # inner products of so many terms, for the one-step starts of fits
_ENTRIES = 2**16  # fits remembered; beyond, all are forgotten
_KEYS = 64  # room for the keys and the order of a fit of 32 terms, on average


def make_rungs(capacity: int, max_degree: int, n_rungs: int) -> Rungs:
    """Empty rungs, whatever they differ in."""
    return Rungs(
        state=make_chain(capacity, max_degree, n_rungs),
        proposed=make_chain(capacity, max_degree, n_rungs),
        pending=Pending(
            is_open=np.zeros(n_rungs, dtype=np.int64),
            move=np.zeros(n_rungs, dtype=np.int64),
            is_guided=np.zeros(n_rungs, dtype=np.int64),
            log_ratio=np.zeros(n_rungs),
            log_uniform=np.zeros(n_rungs),
        ),
        error=np.full(n_rungs, math.inf),
        counters=Counters(
            move=np.zeros((n_rungs, N_MOVES, 3), dtype=np.int64),
            guided=np.zeros((n_rungs, 2), dtype=np.int64),
            swap=np.zeros((n_rungs, 2), dtype=np.int64),
            saved=np.zeros(N_SAVED, dtype=np.int64),
        ),
    )


def make_ladder(
    capacity: int, max_degree: int, n_rungs: int, n_cold: int, n_series: int
) -> AbcLadder:
    """An empty ladder, with room for `n_cold` distances of the coldest rung.

    `n_series` samples of every proposal's run are handed out.
    """
    return AbcLadder(
        rungs=make_rungs(capacity, max_degree, n_rungs),
        tolerances=Tolerances(
            tolerance=np.full(n_rungs, math.inf),
            distance=np.full(n_rungs, math.inf),
            level=np.full(1, math.inf),
            cold=np.zeros(n_cold),
            n_cold=np.zeros(1, dtype=np.int64),
        ),
        walk=Walk(width=np.ones(n_rungs), n_steps=np.zeros(n_rungs, dtype=np.int64)),
        best=Nearest(
            state=make_chain(capacity, max_degree),
            distance=np.full(1, math.inf),
            error=np.full(1, math.inf),
        ),
        champion=Champion(
            state=make_chain(capacity, max_degree),
            score=np.full(1, -math.inf),
            error=np.full(1, math.inf),
        ),
        runs=Runs(series=np.zeros((n_rungs, n_series)), error=np.zeros(n_rungs)),
    )


def make_free_run(problem: Problem) -> FreeRun:
    """Runs on the data of a problem, seeded with the measured output.

    Where its alphabet has past noise, one-step predictions that feed their residual back, seeded
    with none.
    """
    encoding, regression, capacity = problem.encoding, problem.regression, problem.capacity
    names, degree, has_noise = encoding.names, max(3, encoding.max_degree), problem.has_noise
    signal = names.noise if has_noise else names.output
    fed_back = [atom for atom in encoding.atoms if atom.signal == signal]
    series = problem.rows.past_noise if has_noise else regression.output
    rows = ["", *sorted({atom.function for atom in fed_back} - {""})]
    plain = 0
    if has_noise and problem.rows.noise_unit != 1.0:
        # Noise is fed back as it is, and read in its own unit; it is in no function.
        rows, plain = ["", ""], 1
    # A function that does not scale gets the output in its own unit.
    unit = float(problem.rows.scaling.scale[-1])
    functions = [find_function(word) for word in rows]
    scale, shift = np.array([function.argument(unit) for function in functions]).T.copy()
    if plain:
        scale[plain] = 1.0 / problem.rows.noise_unit
    n_samples = len(regression.output)
    back = np.empty((len(rows), n_samples))
    for i, function in enumerate(functions):
        fill_function(function.code, series * scale[i] - shift[i], back[i])
    return FreeRun(
        mode=ONE_STEP if has_noise else FREE_RUN,
        back_row=np.array(
            [
                (rows.index(a.function) if a.function else plain) if a in fed_back else -1
                for a in encoding.atoms
            ],
            dtype=np.int64,
        ),
        program=Program(
            theta=np.zeros(capacity),
            known_start=np.zeros(capacity + 1, dtype=np.int64),
            known_row=np.zeros(capacity * degree, dtype=np.int64),
            known_lag=np.zeros(capacity * degree, dtype=np.int64),
            back_offset=np.zeros((degree, capacity), dtype=np.int64),
            group=np.zeros(2 * degree + 2, dtype=np.int64),
            back_function=np.array([function.code for function in functions], dtype=np.int64),
            back_scale=scale,
            back_shift=shift,
        ),
        order=np.zeros(capacity, dtype=np.int64),
        data=Recursion(
            known=regression.series,
            back=back.ravel(),
            measured=regression.output,
            noise=np.zeros(n_samples),
            predicted=regression.output.copy(),
            first=problem.rows.table.first.copy(),
            stop=problem.rows.table.start[1:].copy(),
            diverged=np.full(problem.data.n_records, -1, dtype=np.int64),
            lower=problem.bounds[0],
            upper=problem.bounds[1],
        ),
        gain=np.zeros((capacity + 1, BLOCK)),
        max_lag=max((atom.lag for atom in fed_back), default=0),
    )


def make_fit_work(
    run: FreeRun, capacity: int, max_degree: int, table_bytes: int = 64 * 2**20, order: int = 0
) -> FitWork:
    """What free-run fits need, with autoregressive noise of so high an order.

    The tables take memory as they fill.
    """
    rho = np.zeros(order)
    # One cache line more than a power of two, or all rows would compete for the same lines.
    width = capacity + 8
    return FitWork(
        work=make_work(capacity, max_degree),
        table=make_table(max(_TABLE_TERMS, 2 * capacity), max_degree),
        run=run,
        linear=Linearised(
            slopes=Slopes(
                slope=np.zeros((run.max_lag + BLOCK, width)),
                column=np.zeros((capacity, BLOCK + 8)),
                feedback=np.zeros((run.max_lag + 1, BLOCK)),
                lag=np.zeros(run.max_lag + 1, dtype=np.int64),
                slot=np.zeros(run.max_lag + 1, dtype=np.int64),
                product=np.zeros(BLOCK),
                known=np.zeros(BLOCK),
            ),
            normal=np.zeros((capacity, width)),
            factor=np.zeros((capacity, width)),
            gradient=np.zeros(capacity),
            length=np.zeros(capacity),
            step=np.zeros(capacity),
            trial=np.zeros(capacity),
            rho=rho,
            tail=np.zeros((2 * order, capacity + 1)),
        ),
        fits=FitTable(
            bucket=np.full(2 * _ENTRIES, -1, dtype=np.int64),
            entry=Entries(
                status=np.zeros(_ENTRIES, dtype=np.int64),
                error=np.zeros(_ENTRIES),
                foreseen=np.zeros(_ENTRIES),
                log_det=np.zeros(_ENTRIES),
                score=np.zeros(_ENTRIES),
                volume=np.zeros(_ENTRIES),
                n_terms=np.zeros(_ENTRIES, dtype=np.int64),
                first_key=np.zeros(_ENTRIES, dtype=np.int64),
                first_value=np.zeros(_ENTRIES, dtype=np.int64),
            ),
            key=np.zeros(_KEYS * _ENTRIES, dtype=np.int64),
            value=np.zeros(max(table_bytes // 8, capacity * (capacity + 5))),
            n_entries=np.zeros(1, dtype=np.int64),
            n_made=np.zeros(1, dtype=np.int64),
            n_keys=np.zeros(1, dtype=np.int64),
            n_values=np.zeros(1, dtype=np.int64),
        ),
        scratch=make_chain(capacity, max_degree),
        sorted=np.zeros(capacity, dtype=np.int64),
        place=np.zeros(capacity, dtype=np.int64),
        kept=np.zeros(capacity),
        colour=Colour(
            moment=np.zeros((order + 1, order + 1)),
            rho=rho,
            volume=np.zeros(1),
            factor=np.zeros((order, order)),
            step=np.zeros(order),
        ),
    )


def forget_all(fits: FitTable) -> None:
    """Forget every fit, as what they are functions of has changed."""
    for taken in (fits.n_entries, fits.n_keys, fits.n_values):
        taken[:] = 0
    fits.bucket[:] = -1
