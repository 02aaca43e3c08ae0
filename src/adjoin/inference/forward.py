r"""Forward selection by slopes: one path of growing structures, each at its least-squares optimum.

Receives a `Problem` and a `Prior` (for the alphabet alone); gives structures as keys with their
coefficients in model units. From :math:`y(k-1)` and the fixed terms, each step adds the term that
gains most: candidates are ranked by what they gain to first order (``kernels/gains.py``), the first
`N_REFITTED` are fitted (more while gains are large), and the best of these stays. The first step
looks from all `STARTS`. Where there may be past noise, predictions one step ahead are runs as well:
they feed back what they leave.

Screening costs about :math:`n_{rows} n_{terms} (p + 8)` products for a model of p terms. Where that
is more than `MOST_WORK`, all terms are first held against windows of the records, spread over all,
in which slopes begin at 0, and the best of them, as many as the work allows, against every row.
Where even the shortest windows are too much, half of the terms that are looked at are the best of
the step before, and the others are drawn anew in every step: a path is then a function of its seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Int1D
from adjoin.errors import AdjoinError
from adjoin.grammar.terms import Atom, Structure, Term
from adjoin.inference.engines.free_run_work import make_fit_work, make_free_run
from adjoin.inference.engines.workspace import make_chain, write_terms
from adjoin.inference.pool import list_alphabet
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.kernels.gains import TOGETHER, Batch, Candidates, Leftover, find_gains, look_over
from adjoin.kernels.refits import refit, run_freely
from adjoin.kernels.simulate import BLOCK

SIMULATION, PREDICTION = "simulation", "prediction"
"""What the squared error is of: free runs, or predictions one step ahead."""

N_REFITTED = 3
"""Candidates that are fitted in each step; of the twelve best, the very best was among the first
two in 24 of 27 steps on measured records."""
MOST_REFITTED = 12
"""Where none of them helps, the next ones are, up to so many; and all of these at once while the
largest gain is more than a share `LARGE` of the squared error, where first order is rough."""
LARGE = 0.5
STARTS = (0.9, 0.5, 0.0)
"""Coefficients of y(k-1) from which the first step looks, beside that of its own fit: a run without
a drive says nothing about it, and where it comes out as 1, all slopes grow and mislead."""
MOST_WORK = 1e9
"""Products of one screening, about half a second."""
_OVERHEAD = 8
"""What a candidate costs beside its products with the model's own slopes, in such products."""
_WINDOW = 4
"""Blocks of a window."""
_FEWEST_ROWS = 1024
_LEAST_GAIN = 1e-9
"""Of the squared error: less is rounding."""


@dataclass(frozen=True, eq=False)
class Step:
    """One structure of a path.

    ``keys`` : its terms, fixed ones first, then as they were added. ``theta`` : (n_terms,) their
    coefficients in model units. ``error`` : squared error of the objective, infinite where the free
    run is lost. ``gain`` : what the term that was added promised to first order; NaN at the start.
    """

    keys: tuple[int, ...]
    theta: Float1D
    error: float
    gain: float


class _Proposal(NamedTuple):
    """A term to be fitted: its key, what the others start from, and its gain there."""

    key: int
    theta: Float1D
    gain: float


def forward_path(
    problem: Problem,
    prior: Prior,
    max_terms: int = 20,
    objective: str = SIMULATION,
    seed: int = 0,
) -> list[Step]:
    """Structures of ascending size up to `max_terms`, or to where nothing gains.

    Parameters
    ----------
    problem : Problem
    prior : Prior
        Terms that it gives no mass are not looked at; nothing else of it matters.
    max_terms : int
        Fixed terms count.
    objective : {"simulation", "prediction"}
        With past noise in the alphabet, predictions only.
    seed : int
        For alphabets that are too large to be looked at as a whole.
    """
    return list(Selection(problem, prior, max_terms, objective, seed).steps())


def refit_structure(
    problem: Problem, prior: Prior, keys: tuple[int, ...], theta: Float1D
) -> tuple[float, Float1D]:
    """The squared error of one structure at its free-run optimum, and the coefficients there.

    From `theta`, and from the one-step solution; infinite where no run stays, with `theta` itself.
    """
    degree = problem.encoding.max_degree
    run, found = make_free_run(problem), make_chain(problem.capacity, degree)
    fitting = make_fit_work(run, problem.capacity, degree, table_bytes=0)
    write_terms(fitting.scratch, problem.encoding, [problem.encoding.term(key) for key in keys])
    fitting.scratch.theta[: len(keys)] = theta
    with np.errstate(all="ignore"):
        error = refit(problem.regression, fitting, found, float(prior.coefficient_sd) ** 2)
    return float(error), found.theta[: len(keys)].copy() if error < math.inf else theta


def _blocks(problem: Problem) -> tuple[Int1D, Int1D, Int1D]:
    """Where blocks start and stop, and whether a record begins with one."""
    start, stop, is_fresh = [], [], []
    for first, end in problem.rows.stretches:
        for begin in range(first, end, BLOCK):
            start.append(begin)
            stop.append(min(begin + BLOCK, end))
            is_fresh.append(int(begin == first))
    return np.array(start), np.array(stop), np.array(is_fresh)


def make_batch(max_lag: int, n_terms: int, order: int = 0) -> Batch:
    """Room for candidates beside a model of so many terms, with noise of so high an order."""
    return Batch(
        column=np.zeros((TOGETHER, BLOCK + 8)),
        slope=np.zeros((max_lag + BLOCK, TOGETHER)),
        shared=np.zeros(BLOCK),
        inner=np.zeros((TOGETHER, 1 + n_terms)),
        square=np.zeros(TOGETHER),
        tail=np.zeros((2 * order, TOGETHER)),
    )


def make_leftover(problem: Problem, most_rows: float, max_lag: int, n_terms: int) -> Leftover:
    """Room for what a model of so many terms leaves on all rows, or on windows spread over all."""
    start, stop, is_fresh = _blocks(problem)
    n_rows = int((stop - start).sum())
    if n_rows > most_rows:
        window = np.arange(len(start)) // _WINDOW
        chosen = np.flatnonzero(window % math.ceil(n_rows / most_rows) == 0)
        is_fresh[chosen[np.diff(window[chosen], prepend=-1) > 0]] = 1
        start, stop, is_fresh = start[chosen], stop[chosen], is_fresh[chosen]
    width = stop - start
    return Leftover(
        start=start,
        stop=stop,
        is_fresh=is_fresh,
        offset=np.cumsum(width) - width,
        row=np.zeros((1 + n_terms, int(width.sum()))),
        feedback=np.zeros((max_lag + 1, int(width.sum()))),
        n_found=np.zeros(2, dtype=np.int64),
    )


class Selection:
    """The workspace of one path."""

    def __init__(
        self,
        problem: Problem,
        prior: Prior,
        max_terms: int = 20,
        objective: str = SIMULATION,
        seed: int = 0,
    ) -> None:
        encoding = problem.encoding
        self.problem, self.encoding, self.regression = problem, encoding, problem.regression
        if problem.has_noise and objective != PREDICTION:
            raise AdjoinError(
                "past noise is what one-step predictions leave; use objective='prediction', or a"
                " grammar without noise"
            )
        # Past noise is fed back, and then predictions are runs as well.
        self.is_ahead = objective == PREDICTION and not problem.has_noise
        self.start = self._start_terms()
        self.max_terms = min(max_terms, problem.capacity)
        if len(self.start) > self.max_terms:
            raise AdjoinError(
                f"the fixed terms and y(k-1) are {len(self.start)} terms, more than max_terms="
                f"{max_terms}; allow more"
            )
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.coefficient = float(prior.coefficient_sd) ** 2
        self.floor = 2.0 * problem.noise_scale(prior)
        terms = list_alphabet(prior.table(encoding), encoding)
        n_terms = len(terms.key)
        self.terms, self.last = terms, np.zeros(n_terms)
        run = make_free_run(problem)
        self.measured = run.data.back.copy()
        self.fitting = make_fit_work(run, problem.capacity, encoding.max_degree, table_bytes=0)
        self.found = make_chain(problem.capacity, encoding.max_degree)
        self.columns: dict[int, Float1D] = {}
        work = self.max_terms + _OVERHEAD  # of a row and a term
        self.whole = make_leftover(problem, math.inf, run.max_lag, self.max_terms)
        most_rows = max(MOST_WORK / (work * max(n_terms, 1)), _FEWEST_ROWS)
        self.windows = make_leftover(problem, most_rows, run.max_lag, self.max_terms)
        self.n_windows = max(int(MOST_WORK / (work * self.windows.row.shape[1])), TOGETHER)
        self.n_whole = max(int(MOST_WORK / (work * self.whole.row.shape[1])), TOGETHER)
        self.batch = make_batch(run.max_lag, self.max_terms)

    def _start_terms(self) -> list[Term]:
        """The fixed terms, and the output a sample ago where the alphabet has it."""
        alphabet, names = self.problem.alphabet, self.problem.data.names
        fixed, past = list(alphabet.fixed.terms), Atom(names.output, 1)
        is_new = past in alphabet.atoms and (past,) not in fixed
        return [*fixed, (past,)] if is_new else fixed

    def steps(self) -> Iterator[Step]:
        """One structure after the other."""
        keys = tuple(self.encoding.key(term) for term in self.start)
        pinned = dict(zip(self.regression.pinned_key, self.regression.pinned_theta, strict=True))
        theta = np.array([pinned.get(key, 0.0) for key in keys])
        error, theta = self.fit(keys, theta)
        step: Step | None = Step(keys, theta, error, math.nan)
        while step is not None:
            yield step
            step = self._grow(step)

    def _grow(self, step: Step) -> Step | None:
        """The same with one term more; None where there is none that gains."""
        if len(step.keys) >= self.max_terms or not step.error > self.floor:
            return None
        for group in self._groups(step):
            tried = [self._extended(step, proposal) for proposal in group]
            best = min(tried, key=lambda one: one.error, default=step)
            if best.error < step.error * (1.0 - _LEAST_GAIN):
                return best
        return None

    def _extended(self, step: Step, proposal: _Proposal) -> Step:
        keys = (*step.keys, proposal.key)
        error, theta = self.fit(keys, np.append(proposal.theta, 0.0))
        return Step(keys, theta, error, proposal.gain)

    def _groups(self, step: Step) -> Iterator[list[_Proposal]]:
        """Terms to be fitted, some at a time, until one of them helps."""
        order = self._ranked(step)
        if self.is_ahead:  # a gain is exact there, and nothing has to be fitted to know the best
            yield order[:1]
            return
        is_large = bool(order) and order[0].gain > LARGE * step.error
        n_first = MOST_REFITTED if is_large else N_REFITTED
        first = order[:n_first]
        is_start = len(step.keys) == len(self.start) > len(self.problem.alphabet.fixed)
        for value in STARTS if is_start else ():
            theta = np.append(step.theta[:-1], value)
            first += self._ranked(Step(step.keys, theta, math.inf, math.nan))[:N_REFITTED]
        yield first
        for begin in range(n_first, len(order), N_REFITTED):
            yield order[begin : begin + N_REFITTED]

    def _ranked(self, step: Step) -> list[_Proposal]:
        """The terms with the largest gains, largest first."""
        gain = self.gains(step)
        order = np.argsort(-gain, kind="stable")[:MOST_REFITTED]
        return [
            _Proposal(int(self.terms.key[t]), step.theta, float(gain[t]))
            for t in order
            if gain[t] > 0.0
        ]

    def _write(self, keys: tuple[int, ...], theta: Float1D) -> None:
        scratch = self.fitting.scratch
        write_terms(scratch, self.encoding, [self.encoding.term(key) for key in keys])
        scratch.theta[: len(keys)] = theta

    def fit(self, keys: tuple[int, ...], theta: Float1D) -> tuple[float, Float1D]:
        """The squared error of a structure at its optimum, and the coefficients there."""
        if self.is_ahead:
            return self._fit_ahead(keys)
        self._write(keys, theta)
        with np.errstate(all="ignore"):
            error = refit(self.regression, self.fitting, self.found, self.coefficient)
        return float(error), self.found.theta[: len(keys)].copy() if error < math.inf else theta

    def _fit_ahead(self, keys: tuple[int, ...]) -> tuple[float, Float1D]:
        """The same one step ahead, by QR."""
        theta, rows = np.zeros(len(keys)), self.problem.rows
        n_pinned = len(self.problem.pinned)
        theta[:n_pinned] = self.problem.pinned_theta
        left = rows.fitted.copy()
        for key in keys:
            if key not in self.columns:
                term = Structure((self.encoding.term(key),), self.problem.data.names)
                self.columns[key] = rows.design(term)[:, 0]
        columns = [self.columns[key] for key in keys]
        if n_pinned:
            left -= np.column_stack(columns[:n_pinned]) @ theta[:n_pinned]
        if len(keys) > n_pinned:
            free = np.column_stack(columns[n_pinned:])
            length = np.linalg.norm(free, axis=0)
            theta[n_pinned:] = np.linalg.lstsq(free / length, left)[0] / length
            left -= free @ theta[n_pinned:]
        return float(left @ left), theta

    def gains(self, step: Step) -> Float1D:
        """What every term that was looked at gains to first order; 0 for the others."""
        is_run = False
        self._write(step.keys, step.theta)
        if not self.is_ahead:
            is_run = run_freely(self.regression, self.fitting) < math.inf
        if not is_run:  # also where there is no run to begin with
            self.fitting.run.data.back[:] = self.measured
        is_new = ~np.isin(self.terms.key, step.keys)
        places = np.flatnonzero(is_new)
        if len(places) > self.n_whole:
            places = self._draw(places)
            gain = self._look(is_run, self.windows, places)
            self.last[:] = 0.0
            self.last[places] = gain
            places = np.sort(places[np.argsort(-gain, kind="stable")[: self.n_whole]])
        found = np.zeros(len(is_new))
        found[places] = self._look(is_run, self.whole, places)
        return found

    def _draw(self, places: Int1D) -> Int1D:
        """As many as the work allows: half of them the best of the last step, others at random."""
        if len(places) <= self.n_windows:
            return places
        best = places[np.argsort(-self.last[places], kind="stable")[: self.n_windows // 2]]
        best = best[self.last[best] > 0.0]
        others = np.setdiff1d(places, best)
        drawn = self.rng.choice(others, self.n_windows - len(best), replace=False)
        return np.sort(np.concatenate([best, drawn]))

    def _look(self, is_run: bool, leftover: Leftover, places: Int1D) -> Float1D:
        """The gains of some terms on some rows."""
        fitting, data = self.fitting, self.regression
        n = len(places)
        atom, degree = self.terms.atom[places], self.terms.degree[places]
        candidates = Candidates(atom, degree, np.zeros(n), np.zeros(n))
        run, linear = fitting.run, fitting.linear
        with np.errstate(all="ignore"):
            look_over(is_run, fitting.scratch, run, data, linear, leftover)
            find_gains(candidates, run, data, linear, leftover, self.batch)
        return candidates.gain
