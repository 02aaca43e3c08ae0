"""What each case runs: the paper's settings and ours, in full and in short.

Receives what the user asked for, a `Plan`; gives the list of `Setup`s, each one `Identifier` to
fit, with the time it took on the machine where they were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from adjoin.checks import is_real, require_count, require_seed
from adjoin.datasets import Benchmark, academic, silverbox, wave_record, waves
from adjoin.errors import AdjoinError
from adjoin.identifier import Identifier
from adjoin.inference.prior import RAW, Prior
from adjoin.inference.runner import Observer

ACADEMIC, SILVERBOX, WAVES = "academic", "silverbox", "waves"
OSA, ABC = "osa", "abc"
OBJECTIVES = {OSA: "one step ahead", ABC: "free run"}
TERM_RATES = (1.0, 5.0, 20.0)
NEIGHBOURHOOD = 1e-2
"""β in raw volts that leads to the size and error that the paper reports; see `words`."""

_N_CHAINS, _N_CHAINS_QUICK = 4, 2
# Beyond, nothing is learned about the paper, and nobody could say how long it takes.
_LEAST_RATE, _LARGEST_RATE = 1e-3, 100.0


@dataclass(frozen=True)
class Setup:
    """One row of a table: a fit with several chains.

    Parameters
    ----------
    method : str
        What it is called.
    objective : {"osa", "abc"}
    expected_terms : float
        λ_t.
    samples, max_lag : int
        As for `Identifier`.
    prior, rule, likelihood_power, center
        As for `Identifier`.
    initial_mode : {"joint", "residual"} or None
        How the known physics of the data is used; None: not at all.
    n_train : int or None
        How many samples of the training part are used; None: all.
    seconds : float
        Of one core for one chain, on the machine where it was measured.
    number : int
        Of the paper's method, where they have numbers; else 0.
    is_official : bool
        Whether it is run under the official split of the Silverbox.
    """

    method: str
    objective: str
    expected_terms: float
    samples: int
    max_lag: int
    prior: str | Prior = "default"
    rule: str = "default"
    likelihood_power: float | str = 1.0
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
    ) -> Identifier:
        """The estimator; `initial` is the known physics, used if the setup asks for it."""
        own: dict[str, Any] = {}
        if self.initial_mode is not None:
            own = {"initial": initial, "initial_mode": self.initial_mode}
        if self.objective == ABC:
            own["rule"] = self.rule
        else:
            own["likelihood_power"] = self.likelihood_power
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
            **own,
        )


@dataclass(frozen=True)
class _Variant:
    """A setup for every λ_t; seconds for λ_t of 1, 5 and 20."""

    method: str
    objective: str
    seconds: tuple[float, float, float]
    settings: Mapping[str, Any] = field(default_factory=dict)
    noise_scale: float | None = None
    is_official: bool = False

    def setup(self, term_rate: float, size: _Size) -> Setup:
        """The setup for one λ_t."""
        settings = dict(self.settings)
        if self.noise_scale is not None:
            settings["prior"] = Prior(
                expected_terms=term_rate, noise_scale=self.noise_scale, units=RAW
            )
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
class _Size:
    """How much of one objective is run; `share` is its cost as a part of the full run's."""

    samples: int
    max_lag: int
    share: float = 1.0
    n_train: int | None = None
    term_rates: tuple[float, ...] | None = None


_PAPER: dict[str, Any] = {"prior": "paper"}
_VARIANTS = {
    ACADEMIC: (
        _Variant("OSA, paper's prior", OSA, (0.1, 0.1, 0.1), _PAPER),
        _Variant("OSA, default prior", OSA, (0.1, 0.1, 0.1)),
        _Variant("free run, paper's rule", ABC, (2.0, 2.5, 3.4), {**_PAPER, "rule": "paper"}),
        _Variant("free run, default rule", ABC, (2.8, 3.4, 6.5)),
    ),
    SILVERBOX: (
        _Variant("OSA, paper's prior", OSA, (0.6, 0.6, 0.9), _PAPER),
        _Variant("OSA, paper's with β = 1e-2", OSA, (1.2, 1.3, 2.5), noise_scale=NEIGHBOURHOOD),
        _Variant("OSA, default prior", OSA, (3.0, 3.0, 3.3)),
        _Variant("OSA, default, power auto", OSA, (3.5, 4.0, 3.0), {"likelihood_power": "auto"}),
        _Variant("free run, paper's rule", ABC, (38.0, 64.0, 100.0), {**_PAPER, "rule": "paper"}),
        _Variant("free run, default rule", ABC, (170.0, 200.0, 270.0)),
        # The protocol gives raw volts; as under the paper's, the training means are taken off.
        _Variant("OSA, default prior", OSA, (1.5, 1.5, 1.5), {"center": True}, is_official=True),
        _Variant(
            "OSA, default, power auto",
            OSA,
            (1.2, 1.2, 1.2),
            {"center": True, "likelihood_power": "auto"},
            is_official=True,
        ),
    ),
    WAVES: tuple(
        _Variant(f"method {number}, {name}, {word}", objective, seconds, {**own, "number": number})
        for number, name, own in (
            (1, "black box", {}),
            (2, "residual", {"initial_mode": "residual"}),
            (3, "grey-box TAG", {"initial_mode": "joint"}),
        )
        for objective, word, seconds in (
            (OSA, "OSA", (0.2, 0.2, 0.3)),
            (ABC, "free run", (5.5, 7.0, 14.0)),
        )
    ),
}
_FULL = {
    (ACADEMIC, OSA): _Size(30_000, 10),
    (ACADEMIC, ABC): _Size(60_000, 10),
    (SILVERBOX, OSA): _Size(10_000, 50),
    (SILVERBOX, ABC): _Size(20_000, 50),
    (WAVES, OSA): _Size(30_000, 10),
    (WAVES, ABC): _Size(60_000, 10),
}
_QUICK = {
    (ACADEMIC, OSA): _Size(30_000, 10),
    (ACADEMIC, ABC): _Size(20_000, 10, 1 / 3),
    (SILVERBOX, OSA): _Size(10_000, 50),
    (SILVERBOX, ABC): _Size(6_000, 50, 0.1, 10_000, (20.0,)),
    (WAVES, OSA): _Size(30_000, 10),
    (WAVES, ABC): _Size(15_000, 10, 1 / 4),
}
CASES = tuple(_VARIANTS)


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Parameters
    ----------
    case : {"academic", "silverbox", "waves"}
    objectives : tuple of {"osa", "abc"}
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
        The Silverbox file or its folder; a record of waves and forces.
    """

    case: str
    objectives: tuple[str, ...] = (OSA, ABC)
    term_rates: tuple[float, ...] = TERM_RATES
    chains: int | None = None
    is_quick: bool = False
    seed: int = 0
    n_jobs: int | None = None
    data: Path | None = None

    def __post_init__(self) -> None:
        if self.case not in CASES:
            raise AdjoinError(f"there is no case '{self.case}'; there are {', '.join(CASES)}")
        for name in self.objectives:
            if name not in OBJECTIVES:
                known = " and ".join(OBJECTIVES)
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
        require_seed(self.seed)
        if self.case == ACADEMIC and self.data is not None:
            raise AdjoinError("the academic case simulates its data; leave --data out")

    @property
    def n_chains(self) -> int:
        """Chains per setup."""
        if self.chains is not None:
            return self.chains
        return _N_CHAINS_QUICK if self.is_quick else _N_CHAINS

    @cached_property
    def setups(self) -> tuple[Setup, ...]:
        """What the paper ran, in the order of its tables."""
        return self._setups(is_official=False)

    @cached_property
    def official_setups(self) -> tuple[Setup, ...]:
        """What is run under the official split of the Silverbox."""
        return self._setups(is_official=True)

    def _setups(self, is_official: bool) -> tuple[Setup, ...]:
        sizes = _QUICK if self.is_quick else _FULL
        return tuple(
            variant.setup(rate, size)
            for variant in _VARIANTS[self.case]
            if variant.objective in self.objectives and variant.is_official is is_official
            for size in [sizes[self.case, variant.objective]]
            for rate in self._rates(size)
        )

    def _rates(self, size: _Size) -> tuple[float, ...]:
        """A quick run may leave some out, but none that were asked for."""
        is_default = self.term_rates == TERM_RATES
        return size.term_rates if is_default and size.term_rates else self.term_rates

    def benchmark(self) -> Benchmark:
        """The data of the case."""
        if self.case == ACADEMIC:
            return academic(self.seed)
        if self.case == SILVERBOX:
            return silverbox(self.data)
        return waves(self.seed) if self.data is None else wave_record(self.data)

    @property
    def shortened(self) -> tuple[str, ...]:
        """What a quick run leaves out, in words."""
        if not self.is_quick:
            return ()
        found = [f"{self.n_chains} chains (the paper: {_N_CHAINS})"] * (self.n_chains < _N_CHAINS)
        for objective in self.objectives:
            quick, full = _QUICK[self.case, objective], _FULL[self.case, objective]
            words = OBJECTIVES[objective]
            if quick.samples < full.samples:
                found.append(f"{words}: {quick.samples:,} samples instead of {full.samples:,}")
            if quick.n_train is not None:
                found.append(f"{words}: the first {quick.n_train:,} training samples only")
            if self._rates(quick) != self.term_rates:
                rates = ", ".join(f"{rate:g}" for rate in self._rates(quick))
                found.append(f"{words}: λ_t = {rates} only")
        return tuple(found)
