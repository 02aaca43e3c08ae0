"""What is asked for, and what is run for it: plans, and the setups of a case.

Receives what the user asked for, as a `Plan`; a `Variant` of a case and a `Size` give the `Setup`s,
each one `Identifier` to fit, with the time it took on the machine where they were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adjoin.cases.published import N_CHAINS
from adjoin.cases.registry import CASES
from adjoin.checks import is_real, require_count, require_seed
from adjoin.errors import AdjoinError
from adjoin.identifier import Identifier
from adjoin.inference import objective
from adjoin.inference.checkpoint import Checkpoint
from adjoin.inference.ladder import PAPER
from adjoin.inference.prior import Prior
from adjoin.inference.runner import Observer

OSA, SIMULATION, ABC = (
    each.name for each in (objective.PREDICTION, objective.SIMULATION, objective.ABC)
)
OBJECTIVES = {OSA: "one step ahead", SIMULATION: "simulation", ABC: "ABC"}
"""What models are judged by, in few words; `words.about_objectives` says what each is."""
TERM_RATES = (1.0, 5.0, 20.0)

_N_CHAINS_QUICK = 2
# Beyond, nothing is learned about the paper, and nobody could say how long it takes.
_LEAST_RATE, _LARGEST_RATE = 1e-3, 100.0


@dataclass(frozen=True)
class Setup:
    """One row of a table: a fit with several chains.

    Parameters
    ----------
    method : str
        What it is called.
    objective : {"prediction", "simulation", "abc"}
    expected_terms : float
        λ_t.
    samples, max_lag : int
        As for `Identifier`.
    prior, rule, likelihood_power, noise, center
        As for `Identifier`; of these `rule`, `likelihood_power` and `noise` where the objective has
        them.
    initial_mode : {"joint", "residual"} or None
        How the known physics of the data is used; None: not at all.
    n_train : int or None
        How many samples of the training part are used; None: all.
    seconds : float
        Of one core for one chain, on the machine where it was measured.
    number : int
        Of the paper's method, where they have numbers; else 0.
    is_official : bool
        Whether it is run under the official split, where the case has one.
    """

    method: str
    objective: str
    expected_terms: float
    samples: int
    max_lag: int
    prior: str | Prior = "default"
    rule: str = "default"
    likelihood_power: float | str = 1.0
    noise: str = "white"
    center: bool | None = None
    initial_mode: str | None = None
    n_train: int | None = None
    seconds: float = 0.0
    number: int = 0
    is_official: bool = False

    @property
    def label(self) -> str:
        """The method and λ_t."""
        protocol = ", official split" if self.is_official else ""
        return f"{self.method}, λ_t = {self.expected_terms:g}{protocol}"

    def identifier(
        self,
        initial: str | None,
        chains: int,
        seed: int,
        n_jobs: int | None = None,
        progress: bool | Observer = False,
        checkpoint: Checkpoint | None = None,
    ) -> Identifier:
        """The estimator; `initial` is the known physics, used if the setup asks for it.

        Its chains are kept in the `checkpoint` of the study, where there is one.
        """
        settings: dict[str, Any] = {}
        if self.initial_mode is not None:
            settings = {"initial": initial, "initial_mode": self.initial_mode}
        if self.objective == ABC:
            settings["rule"] = self.rule
            if self.rule == PAPER:  # as printed: every chain ends at a tolerance of its own
                settings["ladder"] = {"common": False}
        else:
            settings["likelihood_power"] = self.likelihood_power
        if self.objective == SIMULATION:
            settings["noise"] = self.noise
        return Identifier(
            objective=self.objective,
            max_lag=self.max_lag,
            expected_terms=self.expected_terms,
            samples=self.samples,
            prior=self.prior,
            center=self.center,
            chains=chains,
            seed=seed,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            **settings,
        )


@dataclass(frozen=True)
class Size:
    """How much of one objective is run.

    Parameters
    ----------
    samples, max_lag : int
        As for `Identifier`.
    share : float
        Its cost as a part of the full run's.
    n_train : int or None
        How many samples of the training part are used; None: all.
    term_rates : tuple of float or None
        Values of λ_t that are run if the user asks for none; None: those of the paper.
    """

    samples: int
    max_lag: int
    share: float = 1.0
    n_train: int | None = None
    term_rates: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Variant:
    """A method: one setup for every λ_t.

    Parameters
    ----------
    method : str
        What it is called; no two of a case are called the same under one protocol.
    objective : {"prediction", "simulation", "abc"}
    seconds : tuple of 3 float
        Of one core for one chain of a full run, for λ_t of 1, 5 and 20.
    settings : mapping
        Fields of `Setup` that are not the defaults.
    noise_scale : float or None
        β instead of the paper's, in raw units; None: the prior of `settings`.
    is_official : bool
        As for `Setup`.
    """

    method: str
    objective: str
    seconds: tuple[float, float, float]
    settings: Mapping[str, Any] = field(default_factory=dict)
    noise_scale: float | None = None
    is_official: bool = False

    def setup(self, term_rate: float, size: Size) -> Setup:
        """The setup for one λ_t."""
        settings = dict(self.settings)
        if self.noise_scale is not None:
            settings["prior"] = replace(Prior.paper(term_rate), noise_scale=self.noise_scale)
        distance = [abs(math.log(term_rate) - math.log(known)) for known in TERM_RATES]
        seconds = self.seconds[distance.index(min(distance))]
        return Setup(
            self.method,
            self.objective,
            term_rate,
            samples=size.samples,
            max_lag=size.max_lag,
            n_train=size.n_train,
            seconds=seconds * size.share,
            is_official=self.is_official,
            **settings,
        )


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Parameters
    ----------
    case : str
        Its name, one of `registry.CASES`.
    objectives : tuple of {"prediction", "simulation", "abc"}
    term_rates : tuple of float
        Values of λ_t.
    chains : int or None
        Per setup; None: 4, or 2 if quick.
    is_quick : bool
        A few minutes at most: less samples, chains and data where it would take longer.
    seed : int
        Of the chains, and of simulated data.
    n_jobs : int or None
        Chains at a time; None: one per core.
    data : Path or None
        A file or folder, for a case that reads its data.
    curve : int or None
        Data sets of the learning curve, for a case that has one; None: 10, or none if quick.
    """

    case: str
    objectives: tuple[str, ...] = tuple(OBJECTIVES)
    term_rates: tuple[float, ...] = TERM_RATES
    chains: int | None = None
    is_quick: bool = False
    seed: int = 0
    n_jobs: int | None = None
    data: Path | None = None
    curve: int | None = None

    def __post_init__(self) -> None:
        if self.case not in CASES:
            raise AdjoinError(f"there is no case '{self.case}'; there are {', '.join(CASES)}")
        names = tuple(map(objective.objective_name, self.objectives))
        object.__setattr__(self, "objectives", names)
        for name in names:
            if name not in OBJECTIVES:
                known = ", ".join(OBJECTIVES)
                raise AdjoinError(f"there is no objective '{name}'; there are {known}")
        for rate in self.term_rates:
            if not (is_real(rate) and _LEAST_RATE <= rate <= _LARGEST_RATE):
                between = f"from {_LEAST_RATE:g} to {_LARGEST_RATE:g}"
                raise AdjoinError(f"λ_t must be a number {between}, not {rate!r}")
        for values, what in ((self.objectives, "objective"), (self.term_rates, "λ_t")):
            if not values or len(set(values)) < len(values):
                raise AdjoinError(f"name every {what} once, and at least one")
        if self.chains is not None:
            require_count("chains", self.chains)
        if self.curve:
            require_count("curve", self.curve)
        require_seed(self.seed)

    @property
    def n_chains(self) -> int:
        """Chains per setup."""
        if self.chains is not None:
            return self.chains
        return _N_CHAINS_QUICK if self.is_quick else N_CHAINS

    def rates(self, size: Size) -> tuple[float, ...]:
        """The values of λ_t: a quick run may leave some out, but none that were asked for."""
        is_default = self.term_rates == TERM_RATES
        return size.term_rates if is_default and size.term_rates else self.term_rates
