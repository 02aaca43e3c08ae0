"""The free-run sampler by its formulas, in plain Python and NumPy.

What the compiled sampler leaves undone (a run that is too far off already, a proposal that the
ratio refuses) is done here all the same, or left undone where it changes nothing. The chain
consumes the same random numbers as the compiled one: equal seeds and equal states give equal
chains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from tests.naive.fits import HOPELESS, Fit, Fitting, FreeRuns
from tests.naive.prediction import Change, Moves
from tests.naive.prior import Term, TermPrior, draw_categorical

from adjoin import Dataset
from adjoin.grammar import Alphabet
from adjoin.inference import moves as product
from adjoin.inference.prior import Prior


@dataclass
class Rung:
    """One tolerance and its state, terms in the chain's order."""

    terms: list[Term]
    theta: list[float]
    tolerance: float
    width: float
    distance: float
    n_steps: int = 0


class Sample(NamedTuple):
    """A recorded state of the coldest rung."""

    terms: tuple[Term, ...]
    theta: tuple[float, ...]
    noise: float
    log_prior: float
    distance: float


@dataclass
class Proposal:
    """What a rung may become, and what the densities make of it."""

    move: str
    log_uniform: float
    is_guided: bool
    terms: list[Term] | None = None
    theta: list[float] = field(default_factory=list)
    log_ratio: float = 0.0


def log_normal(theta: list[float], variance: float) -> float:
    return sum(-0.5 * (math.log(2.0 * math.pi * variance) + x * x / variance) for x in theta)


class Twin:
    """The sampler, one ladder at a time; `rungs` and `level` are the caller's to set.

    With `is_residual` the fixed terms are pinned: they run with coefficients that no move changes.
    """

    def __init__(
        self,
        data: Dataset,
        alphabet: Alphabet,
        prior: Prior,
        moves: product.Moves,
        *,
        birth_sd: float = 0.1,
        acceptance: float = 0.234,
        guided: float = 0.0,
        reach: float = 1.2,
        swap_interval: int = 25,
        thin: int = 1,
        is_residual: bool = False,
    ) -> None:
        self.law = TermPrior(alphabet, prior)
        self.moves = Moves(self.law, moves.probabilities)
        self.runs = FreeRuns(data, self.law)
        self.coefficient = prior.coefficient_sd**2
        self.fitting = Fitting(self.runs, self.coefficient, is_residual)
        self.pinned = self.fitting.pinned
        self.birth, self.acceptance, self.guided = birth_sd**2, acceptance, guided
        self.reach, self.swap_interval, self.thin = reach, swap_interval, thin
        measured = self.runs.measured
        self.unit = len(measured) * float(np.var(measured)) / 100.0
        self.rungs: list[Rung] = []
        self.level, self.n_drawn = math.inf, 0
        self.fits: dict[frozenset[Term], Fit] = {}
        self.n_asked = 0
        self.smallest, self.champion, self.score = math.inf, Fit([]), -math.inf
        self.cold: list[float] = []
        self.counts: list[dict[str, list[int]]] = []
        self.guides: list[list[int]] = []
        self.swaps: list[list[int]] = []
        self.saved = dict.fromkeys(("impossible", "unguided", "by ratio", "simulated", "near"), 0)

    def put(self, terms: list[Term], theta: list[float], tolerance: float, width: float) -> None:
        """One more rung, looser than those before."""
        distance = self.runs.error(terms, theta) / self.unit
        self.rungs.append(Rung(list(terms), list(theta), tolerance, width, distance))
        self.counts.append({name: [0, 0, 0] for name in self.moves.names})
        self.guides.append([0, 0])
        self.swaps.append([0, 0])

    def run(self, rng: np.random.Generator, n_samples: int, mode: str) -> Iterator[Sample]:
        """Samples by "record" or "anneal"; the latter adapts widths and gives none."""
        for _ in range(n_samples):
            for c in range(len(self.rungs)):
                self.step(rng, c, is_adapting=mode == "anneal")
            self.n_drawn += 1
            if self.n_drawn % self.swap_interval == 0:
                self.swap(self.n_drawn // self.swap_interval % 2)
            if mode == "anneal":
                self.cold.append(self.rungs[0].distance)
            elif self.n_drawn % self.thin == 0:
                yield self.sample()

    def descend(self, rng: np.random.Generator, n_samples: int) -> None:
        """Greedy steps: a rung's tolerance is where it is."""
        for _ in range(n_samples):
            for c, rung in enumerate(self.rungs):
                rung.tolerance = rung.distance
                self.step(rng, c, is_adapting=True)

    def polish(self) -> None:
        """Every rung to the optimum of its structure, if that is nearer."""
        for c, rung in enumerate(self.rungs):
            rung.tolerance = rung.distance
            fit = self.fit(rung.terms)
            if fit.error < (1.0 - 1e-9) * rung.distance * self.unit:
                proposal = Proposal("stay", -math.inf, True, rung.terms)
                proposal.theta = fit.in_order(fit.theta, rung.terms)
                self.decide(c, proposal, self.simulate(rung, proposal))

    def sample(self) -> Sample:
        cold = self.rungs[0]
        terms, theta = tuple(cold.terms), tuple(cold.theta)
        noise = cold.tolerance * self.unit / len(self.runs.measured)
        return Sample(terms, theta, noise, self.law.log_structure(cold.terms), cold.distance)

    def step(self, rng: np.random.Generator, c: int, is_adapting: bool) -> None:
        rung, proposal, error = self.rungs[c], self.propose(rng, c), math.inf
        if proposal.terms is not None and self.is_likely(rung, proposal):
            error = self.simulate(rung, proposal)
        is_accepted = self.decide(c, proposal, error)
        is_walk = proposal.move == "stay" and not proposal.is_guided
        if is_adapting and is_walk and len(proposal.theta) > len(self.pinned):
            aim = self.acceptance
            slope, rung.n_steps = 1.0 / (aim * (1.0 - aim)), rung.n_steps + 1
            gain = slope * (is_accepted - aim) / (rung.n_steps + 5.0 * slope)
            rung.width *= math.exp(gain)

    def propose(self, rng: np.random.Generator, c: int) -> Proposal:
        """The move, whether it is guided, the uniform that decides, then what is proposed."""
        rung = self.rungs[c]
        weights = list(self.moves.probability.values())
        move = self.moves.names[draw_categorical(rng, weights)]
        is_guided = self.guided > 0.0 and rng.random() < self.guided
        is_guided = is_guided and rung.tolerance * self.unit <= self.level
        proposal = Proposal(move, math.log(1.0 - rng.random()), is_guided)
        self.counts[c][move][0] += 1
        change = None if move == "stay" else self.moves.draw(rng, move, rung.terms)
        after = rung.terms
        if move != "stay":
            after = None if change is None else self.moves.apply(rung.terms, change)
        if after is None:
            self.saved["impossible"] += 1
            return proposal
        self.counts[c][move][1] += 1
        if change is not None:
            proposal.log_ratio = self.moves.log_ratio(move, rung.terms, change)
        if is_guided:
            self.guides[c][0] += 1
            self.draw_guided(rng, rung, proposal, after)
            self.saved["unguided"] += proposal.terms is None
            return proposal
        proposal.terms = after
        if change is None:
            proposal.theta = [
                x if term in self.pinned else x + rung.width * rng.standard_normal()
                for term, x in zip(rung.terms, rung.theta, strict=True)
            ]
        else:
            self.draw_birth(rng, rung, proposal, change)
        return proposal

    def draw_birth(
        self, rng: np.random.Generator, rung: Rung, proposal: Proposal, change: Change
    ) -> None:
        """The paper's proposal: retained terms keep θ, a new term's is N(0, σ_u²)."""
        kept = dict(zip(rung.terms, rung.theta, strict=True))
        lost, gained = change
        if lost is not None:
            proposal.log_ratio += log_normal([kept[lost]], self.birth)
        if gained is not None:
            kept[gained] = math.sqrt(self.birth) * rng.standard_normal()
            proposal.log_ratio -= log_normal([kept[gained]], self.birth)
        proposal.theta = [kept[term] for term in proposal.terms]

    def draw_guided(
        self, rng: np.random.Generator, rung: Rung, proposal: Proposal, after: list[Term]
    ) -> None:
        """Uniform on E_T'; 1/|E_T'| there, 1/|E_T| back, if the present θ is in E_T at all."""
        here = self.ellipsoid(rung, rung.terms)
        if here is None or here[0].deviation(rung.terms, rung.theta) > here[1]:
            return
        if (there := self.ellipsoid(rung, after)) is not None:
            fit, square = there
            proposal.terms, proposal.theta = after, fit.draw(rng, square, after)
            proposal.log_ratio += fit.log_volume(square) - here[0].log_volume(here[1])

    def ellipsoid(self, rung: Rung, terms: list[Term]) -> tuple[Fit, float] | None:
        """The fit of the terms and r(ε - S_T), the square of the ellipsoid's size."""
        fit = self.fit(terms)
        square = self.reach * (rung.tolerance * self.unit - fit.error)
        if not square > 0.0 or fit.foreseen > HOPELESS * self.level:
            return None
        return fit, square

    def fit(self, terms: list[Term]) -> Fit:
        key = frozenset(terms)
        self.n_asked += 1
        if key not in self.fits:
            self.fits[key] = self.fitting.fit(terms, self.level)
            self.note(self.fits[key])
        return self.fits[key]

    def note(self, fit: Fit) -> None:
        """The champion is the fit with the largest Laplace approximation of its posterior."""
        if fit.error == math.inf:
            return
        n_rows, n = len(self.runs.measured), len(fit.terms)
        variance = fit.error / n_rows
        # The density of the pinned ones is the same for all.
        theta = [*fit.theta.tolist(), *self.pinned.values()]
        score = self.law.log_structure(fit.terms) + log_normal(theta, self.coefficient)
        score -= 0.5 * n_rows * math.log(variance) + fit.log_determinant
        score += 0.5 * n * math.log(2.0 * math.pi * variance)
        if score > self.score:
            self.champion, self.score = fit, score

    def is_likely(self, rung: Rung, proposal: Proposal) -> bool:
        ratio = proposal.log_ratio + log_normal(proposal.theta, self.coefficient)
        is_likely = proposal.log_uniform < ratio - log_normal(rung.theta, self.coefficient)
        self.saved["by ratio"] += not is_likely
        return is_likely

    def simulate(self, rung: Rung, proposal: Proposal) -> float:
        error = self.runs.error(proposal.terms, proposal.theta)
        self.saved["simulated"] += 1
        self.saved["near"] += error <= rung.tolerance * self.unit
        return error

    def decide(self, c: int, proposal: Proposal, error: float) -> bool:
        rung, distance = self.rungs[c], error / self.unit
        if error == math.inf or distance > rung.tolerance:
            return False
        self.counts[c][proposal.move][2] += 1
        self.guides[c][1] += proposal.is_guided
        rung.terms, rung.theta, rung.distance = list(proposal.terms), proposal.theta, distance
        self.smallest = min(self.smallest, distance)
        return True

    def swap(self, first: int) -> None:
        """Exchange every other pair of neighbours if the looser one is near enough."""
        for c in range(first, len(self.rungs) - 1, 2):
            cold, hot = self.rungs[c], self.rungs[c + 1]
            self.swaps[c][0] += 1
            if hot.distance <= cold.tolerance:
                self.swaps[c][1] += 1
                cold.terms, hot.terms = hot.terms, cold.terms
                cold.theta, hot.theta = hot.theta, cold.theta
                cold.distance, hot.distance = hot.distance, cold.distance
