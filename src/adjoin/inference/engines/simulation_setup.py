"""What all chains of the simulation engine share: data, prior, moves, rungs, and where they begin.

Receives a `Problem`, prior and moves; hands chains the kernels' rules and ways to propose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from adjoin.arrays import Float1D
from adjoin.checks import is_count
from adjoin.errors import AdjoinError
from adjoin.grammar.encoding import Encoding
from adjoin.inference.forward import PREDICTION as FORWARD_PREDICTION
from adjoin.inference.forward import SIMULATION as FORWARD_SIMULATION
from adjoin.inference.forward import Selection, Step, refit_structure
from adjoin.inference.moves import Moves
from adjoin.inference.pool import list_alphabet
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.inference.search import Search
from adjoin.inference.start_findings import FREE_RUNS, ONE_STEP, STARTS
from adjoin.kernels.laplace import Proposals
from adjoin.kernels.layouts import Regression
from adjoin.kernels.screening import Terms
from adjoin.kernels.state import Rules, Target

WHITE = "white"
ORDERS = {WHITE: 0, "ar": 1, "ar2": 2}
"""How many coefficients each kind of noise has."""

SEARCH = Search(candidates=512, moves=2, rungs=4, hottest=0.3, interval=2, screenings=7)
"""A short ladder: what a rung costs is better spent on samples, but chains that begin with nothing
get stuck without any; see DECISIONS."""

ENOUGH_TERMS, MOST_TERMS = 20, 40
"""Of a path to what a chain begins with: it goes so far, and on to the second while the best of it
is among the last `PATIENCE`. There a term costs four fits, and a chain hundreds."""
PATIENCE = 5

HORIZONS = (10, 50, 250)
"""Samples after which runs begin anew, for coefficients whose free run is lost."""
LEAST_HORIZON = 5
"""Shorter runs are what predictions are for."""

_LONG, _SEEN = 2**19, 2**17
"""Samples from which on starts are looked for on stretches, and how many these have together."""
_FREEDOM = 10.0  # of the t: tails for what Laplace misses, at the cost of a few refusals
_WIDE = 0.05  # of the draws around a mode: from the prior, where a mode is a poor likeness
_WALK = 0.3  # of the moves that keep the terms: for what a t around the mode never reaches
_WIDTH = 2.38  # of a step, by the root of the number of coefficients (Roberts, Gelman and Gilks)


class Start(NamedTuple):
    """A structure to begin with, as keys of its terms, fixed ones first, and its coefficients."""

    keys: tuple[int, ...]
    theta: Float1D


@dataclass(frozen=True, eq=False)
class SimulationSetup:
    r"""The posterior of structures, coefficients and noise given the errors of free runs.

    .. math:: y(k) = \hat y(k; T, θ) + v(k), \qquad v(k) = \sum_l ρ_l v(k-l) + e(k), \quad
        e(k) \sim N(0, σ²)

    Parameters
    ----------
    problem : Problem
    prior : Prior
    moves : Moves
    power : float
        w, to which the likelihood is raised; 0 samples the prior.
    samples : int
        How many samples a chain is meant to draw; it may go on.
    thin : int
        Every n-th sample is recorded.
    table_bytes : int
        Most memory for the modes that one chain remembers. Results do not depend on it.
    search : Search
        Rungs of powers, and how often they are placed.
    burn_in : float
        The share of the samples during which rungs and references may change.
    noise : {"white", "ar", "ar2"}
        Whether v is white (there is no ρ), or autoregressive of order 1 or 2, with ρ flat where it
        is stationary. The first samples of a record, as many as the order, are given.
    horizon : int, optional
        Free runs begin anew from the measured output after so many samples; None: never.
    guess : tuple of float
        Coefficients of the fixed terms, in the user's units, that somebody has found before; where
        no move changes the terms, chains begin with them or at a better optimum. Empty: nobody has.

    Attributes
    ----------
    rules : Rules
        As the kernels take them.
    how : Proposals
        How coefficients are proposed.
    """

    problem: Problem
    prior: Prior = field(default_factory=Prior)
    moves: Moves = field(default_factory=Moves)
    power: float = 1.0
    samples: int = 0
    thin: int = 1
    table_bytes: int = 64 * 2**20
    search: Search = SEARCH
    burn_in: float = 0.5
    noise: str = WHITE
    horizon: int | None = None
    guess: tuple[float, ...] = ()
    start_names: ClassVar[tuple[str, ...]] = STARTS
    rules: Rules = field(init=False)
    how: Proposals = field(init=False)

    def __post_init__(self) -> None:
        if self.noise not in ORDERS:
            choice = ", ".join(f"'{name}'" for name in ORDERS)
            raise AdjoinError(f"noise must be one of {choice}, not {self.noise!r}")
        if self.horizon is not None and not (
            is_count(self.horizon) and self.horizon >= LEAST_HORIZON
        ):
            raise AdjoinError(
                f"horizon must be a whole number of samples from {LEAST_HORIZON} on, or None for"
                f" runs through whole records, not {self.horizon!r}"
            )
        if self.search.flips:
            raise AdjoinError(
                "search: flips are for objective='prediction' without past noise; here there are"
                " candidates, moves, rungs, hottest, interval and screenings"
            )
        prior, encoding = self.prior, self.encoding
        target = Target(
            noise_shape=float(prior.noise_shape) - 0.5 * self.order,  # by integrating over ρ
            noise_scale=self.problem.noise_scale(prior),
            power=float(self.power),
            coefficient_shape=float(prior.coefficient_shape or 0.0),
            coefficient_scale=float(prior.coefficient_scale or 0.0),
            thin=int(self.thin),
        )
        rules = Rules(prior.table(encoding), self.moves.table(encoding), target)
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "how", self._proposals())

    @property
    def encoding(self) -> Encoding:
        """Numbers for atoms and terms."""
        return self.problem.encoding

    @property
    def order(self) -> int:
        """How many coefficients the noise has."""
        return ORDERS[self.noise] if self.power > 0.0 else 0

    @cached_property
    def runs(self) -> Problem:
        """What is run: the records, or stretches of them where runs begin anew."""
        return self.problem.restarted(self.horizon)

    @cached_property
    def regression(self) -> Regression:
        """The data, or none where the likelihood is off; what is given is not counted."""
        if self.power == 0.0:
            return self.problem.without_data
        found, n_given = self.runs.regression, self.order * self.runs.data.n_records
        return found._replace(n_rows=found.n_rows - n_given)

    @property
    def capacity(self) -> int:
        """How many terms a structure may have."""
        return self.problem.capacity

    @cached_property
    def terms(self) -> Terms:
        """All terms with a prior, that informed moves may choose from."""
        return list_alphabet(self.rules.prior, self.encoding)

    @property
    def n_candidates(self) -> int:
        """How many of them they do choose from; none where the likelihood is off."""
        if self.power == 0.0 or not self.search.candidates:
            return 0
        return min(self.search.candidates, len(self.terms.key))

    @property
    def n_rungs(self) -> int:
        """How many powers there are; one where the likelihood is off."""
        return self.search.rungs if self.power > 0.0 else 1

    @property
    def adaptations(self) -> tuple[int, ...]:
        """After how many samples rungs and references are set, the last time for good."""
        rounds = [int(self.burn_in * self.samples) >> i for i in range(self.search.screenings)]
        return tuple(sorted(set(rounds) - {0}))

    @property
    def schedule(self) -> tuple[int, ...]:
        """See `adjoin.inference.engine.Engine`."""
        return self.adaptations

    @cached_property
    def starts(self) -> dict[str, Start]:
        r"""Where chains begin, by their names; worked out once for all of them.

        Of each path of forward selection, the structure with the smallest

        .. math:: w n \log S + p \log(w n) - 2 \log p(T)

        whose S is finite, with the mean of λ_t where it is learned; where there is none, nothing.
        """
        found = self._find_starts() if self.power > 0.0 else {}
        return {name: found.get(name) or Start((), np.empty(0)) for name in self.start_names}

    @property
    def first_block(self) -> int:
        """Samples to the first report: of a long record each may take seconds."""
        return 1 if self.problem.data.n_samples >= _LONG else 200

    @cached_property
    def _glimpse(self) -> Problem:
        """What starts are looked for on: all that is run, or stretches of long records."""
        data, n_seed = self.problem.data, self.problem.alphabet.max_lag
        if data.n_samples < _LONG:
            return self.runs
        seen = replace(
            self.problem, data=data.excerpt(n_seed, _SEEN), scaling=self.problem.rows.scaling
        )
        return seen.restarted(self.horizon)

    def _find_starts(self) -> dict[str, Start | None]:
        if self.moves.keep_terms and not self.search.changes_terms:
            # None would ever go again: the fixed ones are all there are.
            return dict.fromkeys(self.start_names, self._led(self._fixed()))
        return {
            FREE_RUNS: self._selected(FORWARD_SIMULATION),
            ONE_STEP: self._led(self._selected(FORWARD_PREDICTION)),
        }

    def _fixed(self) -> Start | None:
        """The fixed terms, where there are some, at what is known of their coefficients."""
        fixed = self.problem.alphabet.fixed
        if not len(fixed):
            return None
        theta = np.zeros(len(fixed))
        if self.guess:
            theta = np.array(self.guess) / self.problem.rows.factors(fixed)
        return Start(tuple(self.encoding.key(term) for term in fixed), theta)

    def _led(self, start: Start | None) -> Start | None:
        """The same terms at their free-run optimum, the better of two.

        One is reached at once. The other by way of runs that begin anew, often at first, as these
        stay where long ones are lost: from coefficients whose own run is lost, a fit to whole
        records begins anywhere.
        """
        if start is None:
            return None
        longest, reached = max(map(len, self._glimpse.data.records)), []
        for way in ((), [horizon for horizon in HORIZONS if horizon < longest]):
            theta, error = start.theta, math.inf
            for horizon in (*way, None):
                problem = self._glimpse.restarted(horizon)
                error, theta = refit_structure(problem, self.prior, start.keys, theta)
            reached.append((error, theta))
        error, theta = min(reached, key=lambda one: one[0])
        return start._replace(theta=theta) if error < math.inf else start

    def _selected(self, objective: str) -> Start | None:
        glimpse = self._glimpse
        seen = self.regression if glimpse is self.runs else glimpse.regression
        n_rows = max(self.power * seen.n_rows, 2.0)
        selection = Selection(glimpse, self.prior, MOST_TERMS, objective)
        terms = selection.terms
        log_odds = terms.log_prior + np.where(
            terms.degree > 0, math.log(self.prior.expected_terms), 0
        )

        def criterion(step: Step) -> float:
            log_prior = float(log_odds[np.isin(terms.key, step.keys)].sum())
            size = len(step.keys) * math.log(n_rows)
            return n_rows * math.log(step.error) + size - 2.0 * log_prior

        best: Step | None = None
        least, n_since = math.inf, 0
        for step in selection.steps():
            n_since += 1
            if 0.0 < step.error < math.inf and (found := criterion(step)) < least:
                best, least, n_since = step, found, 0
            if len(step.keys) >= ENOUGH_TERMS and n_since >= PATIENCE:
                break
        return None if best is None else Start(best.keys, best.theta)

    def _proposals(self) -> Proposals:
        return Proposals(
            coefficient=float(self.prior.coefficient_sd) ** 2,
            walk=_WALK,
            width=_WIDTH,
            freedom=_FREEDOM,
            log_constant=student_constants(_FREEDOM, self.capacity),
            wide=_WIDE,
        )


def student_constants(freedom: float, most: int) -> Float1D:
    r"""Log constants of a p-variate t density with unit scale, for p from 0 to `most`.

    .. math:: \log Γ(\tfrac{ν+p}{2}) - \log Γ(\tfrac ν2) - \tfrac p2 \log(νπ)
    """
    first = math.lgamma(0.5 * freedom)
    return np.array(
        [
            math.lgamma(0.5 * (freedom + p)) - first - 0.5 * p * math.log(freedom * math.pi)
            for p in range(most + 1)
        ]
    )
