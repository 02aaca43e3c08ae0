"""Informed moves by slopes, by their formulas: births, deaths and exchanges of candidates.

Every candidate's slope is that of a model that has it, too, with coefficient 0, from a run of its
own, and the odds of a base are worked out whenever they are asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.naive.colours import whitened
from tests.naive.gains import gain_and_square
from tests.naive.output_error import Twin
from tests.naive.prior import Term, draw_categorical, draw_index

KINDS = ("exchange", "birth", "death")
LEAST_LEFT = 0.05


class InformedTwin(Twin):
    """The sampler with candidates, in the order in which they are drawn."""

    def __init__(self, *args: Any, candidates: list[Term], n_moves: int, **more: Any) -> None:
        super().__init__(*args, **more)
        self.candidates, self.n_moves = candidates, n_moves
        self.tried: dict[str, list[int]] = {kind: [0, 0, 0] for kind in KINDS}
        self.known: dict[frozenset[Term], list[tuple[float, float]]] = {}
        self.chances: list[tuple[str, float, float]] = []

    def adapt(self, powers: list[float]) -> None:
        super().adapt(powers)
        self.known.clear()
        self.tried = {kind: [0, 0, 0] for kind in KINDS}

    def sweep(self, rng: np.random.Generator, c: int) -> None:
        for _ in range(self.n_moves):
            kind = KINDS[draw_index(rng, len(KINDS))]
            self.has_passed = False
            is_accepted = self.inform(rng, c, kind)
            if c == 0:
                for i, is_counted in enumerate((True, self.has_passed, is_accepted)):
                    self.tried[kind][i] += is_counted

    def inform(self, rng: np.random.Generator, c: int, kind: str) -> bool:
        rung, left, joined = self.rungs[c], None, None
        log_first, log_second = (math.log(1.0 - rng.random()) for _ in range(2))
        own = [t for t in rung.terms if t in self.candidates and t not in self.law.fixed]
        base = list(rung.terms)
        if kind != "birth":
            if not own:
                return False
            left = own[draw_index(rng, len(own))]
            base[base.index(left)] = base[-1]  # the last takes its place
            base.pop()
        if kind == "death":  # the chance of its birth is 1 at most
            here, there = (self.gaussian(terms, rung.power) for terms in (rung.terms, base))
            most = self.log_prior(base) - self.log_prior(rung.terms) + math.log(len(own))
            if not log_first < most + there.log_evidence - here.log_evidence:
                return False
        odds = self.log_odds(base, rung.power)
        if not np.isfinite(odds).any():
            return False
        chance = np.exp(odds - odds.max())
        chance /= chance.sum()
        if kind != "death":
            joined = self.candidates[draw_categorical(rng, chance.tolist())]
            if joined == left:
                return False
        after = [*base, joined] if joined is not None else base
        log_moves = self.log_prior(after) - self.log_prior(rung.terms)
        there = self.chance_of(chance, joined) / (len(own) if left is not None else 1.0)
        n_after = len([t for t in after if t in self.candidates and t not in self.law.fixed])
        back = self.chance_of(chance, left) / (n_after if joined is not None else 1.0)
        if back == 0.0:
            return False
        log_moves += math.log(back) - math.log(there)
        self.chances.append((kind, there, back))
        return self.decide(rng, c, kind, after, log_moves, log_first, log_second)

    def chance_of(self, chance: np.ndarray, term: Term | None) -> float:
        return 1.0 if term is None else float(chance[self.candidates.index(term)])

    def log_prior(self, terms: list[Term]) -> float:
        return self.law.log_structure([t for t in terms if t not in self.law.fixed])

    def log_odds(self, base: list[Term], power: float) -> np.ndarray:
        """log p(B ∪ j)/p(B) + A log B(S)/B(S - g') - ½ log v of every candidate."""
        mode = self.mode(base)
        theta = {**self.pinned, **dict(zip(mode.terms, mode.theta.tolist(), strict=True))}
        theta = {term: theta[term] for term in base}
        run = self.judge(theta)
        found = np.full(len(self.candidates), -math.inf)
        if run.error == math.inf:
            return found
        key = frozenset(base)
        if key not in self.known:
            self.known[key] = [self._gain(theta, run.rho, term) for term in self.candidates]
        weight = self.noise.precision(power, run.error)
        for j, (term, (gain, square)) in enumerate(
            zip(self.candidates, self.known[key], strict=True)
        ):
            if term in base or square == 0.0:
                continue
            volume = 1.0 + self.middle * weight * square
            left = max(run.error - gain * (1.0 - 1.0 / volume), LEAST_LEFT * run.error)
            promised = self.noise.log_fit(power, left) - self.noise.log_fit(power, run.error)
            log_prior = self.log_prior([*base, term]) - self.log_prior(base)
            found[j] = log_prior + promised - 0.5 * math.log(volume)
        return found

    def _gain(self, theta: dict[Term, float], rho: np.ndarray, term: Term) -> tuple[float, float]:
        if term in theta:
            return 0.0, 0.0
        slopes, residual = self.runs.linearised([*theta, term], [*theta.values(), 0.0])
        lengths = self.modes.lengths
        white = np.array([whitened(row, lengths, rho) for row in slopes.T]).T
        free = [i for i, own in enumerate(theta) if own not in self.pinned]
        return gain_and_square(white[:, free], white[:, -1], whitened(residual, lengths, rho))
