"""A learning curve: how far off each method is by how much it was trained on, over several seeds.

Receives the data of one seed and the setups of the methods from a case; gives a `Point` for each
and for the white box. Everything is learned from the training samples alone: nothing is chosen by
validation, which a user with so few samples would not have.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from adjoin.cases.scoring import score_free_run, score_one_step
from adjoin.cases.setups import Plan, Setup
from adjoin.cases.white_box import fit_white_box
from adjoin.datasets import Benchmark
from adjoin.inference.checkpoint import Checkpoint
from adjoin.model import Model

WHITE_BOX = 0
"""The number of the known physics alone among the methods."""


@dataclass(frozen=True)
class Curve:
    """What a learning curve is made of.

    Parameters
    ----------
    setups : tuple of Setup
        One for each method; which training samples it has is not asked.
    sizes : tuple of int
        Numbers of training samples, the first ones of each record.
    n_chains : int
        Of each fit.
    seconds : float
        Of one core for all sizes and methods of one seed, on the machine where it was measured.
    """

    setups: tuple[Setup, ...]
    sizes: tuple[int, ...]
    n_chains: int
    seconds: float


@dataclass(frozen=True)
class Point:
    """The NMSE of one method on the test set of one seed, in percent; None: it diverges."""

    seed: int
    n_train: int
    number: int
    free_run: float | None
    one_step: float | None


@dataclass(frozen=True)
class Level:
    """One method at one number of training samples: the median over the seeds and its quartiles.

    Infinite where runs diverge.
    """

    n_train: int
    number: int
    median: float
    low: float
    high: float
    n_seeds: int
    n_diverged: int

    @staticmethod
    def of(n_train: int, number: int, errors: Sequence[float]) -> Level:
        """The level of some errors."""
        low, median, high = (_quantile(errors, share) for share in (0.25, 0.5, 0.75))
        n_diverged = sum(error == math.inf for error in errors)
        return Level(n_train, number, median, low, high, len(errors), n_diverged)


def _quantile(errors: Sequence[float], share: float) -> float:
    """As NumPy has it; between an error and infinity lies infinity."""
    ordered = sorted(errors)
    rest, number = math.modf(share * (len(ordered) - 1))
    below = ordered[int(number)]
    return below + rest * (ordered[int(number) + 1] - below) if rest and below < math.inf else below


def learn(
    curve: Curve, plan: Plan, seed: int, benchmark: Benchmark, kept: Checkpoint | None = None
) -> Iterator[Point]:
    """Every size and method on the data of one seed; chains are `kept` with those of the study."""
    kept = kept or Checkpoint()
    for n_train in curve.sizes:
        data = replace(benchmark, train=benchmark.train[:n_train])
        place = kept.within(f"curve-{seed}-{n_train}")
        models = {
            setup.number: _fit(curve, plan, seed, setup, data, place.within(str(setup.number)))
            for setup in curve.setups
        }
        if (white := fit_white_box(data)) is not None:
            models[WHITE_BOX] = white
        for number, model in models.items():
            free_run = score_free_run(model, data.test, data.n_seed).nmse
            one_step = score_one_step(model, data.test, data.n_seed).nmse
            yield Point(seed, n_train, number, free_run, one_step)


def _fit(
    curve: Curve, plan: Plan, seed: int, setup: Setup, data: Benchmark, place: Checkpoint
) -> Model:
    """The MAP model of all chains together."""
    given = (data.initial, curve.n_chains, seed, plan.n_jobs)
    identifier = setup.identifier(*given, checkpoint=place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few samples; the error says what came of it
        fitted = identifier.fit(data.train)
    if not fitted.is_complete_:
        raise KeyboardInterrupt
    return fitted.posterior_.map_model


def levels(points: Sequence[Point]) -> list[Level]:
    """Points by size and method, in that order."""
    found: dict[tuple[int, int], list[float]] = {}
    for point in points:
        error = math.inf if point.free_run is None else point.free_run
        found.setdefault((point.n_train, point.number), []).append(error)
    return [Level.of(n_train, number, errors) for (n_train, number), errors in found.items()]


def n_better(points: Sequence[Point], n_train: int, number: int, other: int) -> int:
    """In how many of the seeds one method errs less than another, from as many samples."""
    errors = {
        (point.seed, point.number): math.inf if point.free_run is None else point.free_run
        for point in points
        if point.n_train == n_train
    }
    seeds = {seed for seed, _ in errors}
    return sum(errors[seed, number] < errors[seed, other] for seed in seeds)
