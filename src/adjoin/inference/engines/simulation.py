"""The simulation engine: exact output-error posteriors by free runs, on rungs of likelihood powers.

Receives a `Problem`, prior, moves and how to search (``simulation_setup``); starts chains
(``simulation_chain``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from adjoin.arrays import Float1D
from adjoin.checks import is_count
from adjoin.errors import AdjoinError
from adjoin.grammar.terms import Structure
from adjoin.inference.engine import Modes, Packed, Visits
from adjoin.inference.engines.free_run_work import make_fit_work, make_free_run
from adjoin.inference.engines.simulation_chain import SimulationChain, make_references
from adjoin.inference.engines.simulation_setup import (
    ORDERS,
    SEARCH,
    WHITE,
    SimulationSetup,
)
from adjoin.inference.engines.workspace import make_chain, write_terms
from adjoin.inference.objective import SIMULATION, Noise, Objective
from adjoin.inference.problem import Problem
from adjoin.inference.search import Search
from adjoin.inference.search_findings import describe_search, on_search
from adjoin.inference.settings import OwnSettings, RunSettings
from adjoin.inference.start_findings import (
    STARTS,
    describe_start,
    find_stragglers,
    on_starts,
    start_name,
)
from adjoin.inference.traces import ChainTrace
from adjoin.kernels.output_error import refine_state, run_output_error
from adjoin.levels import Finding


@dataclass(frozen=True)
class SimulationSettings:
    """What this engine alone has; arguments of `Identifier` by the same name."""

    noise: str
    search: Search
    horizon: int | None = None

    @property
    def plain(self) -> dict[str, Any]:
        """By name, as values that JSON has."""
        return {"noise": self.noise, "horizon": self.horizon, "search": self.search.plain}


class SimulationEngine(SimulationSetup):
    """Chains by free runs with noise on the output; see `SimulationSetup` for the parameters."""

    name: ClassVar[str] = SIMULATION.name
    options: ClassVar[Mapping[str, str]] = {
        "likelihood_power": "power",
        "search": "search",
        "noise": "noise",
        "horizon": "horizon",
    }
    default_search: ClassVar[Search] = SEARCH
    settled_by: ClassVar[str] = "burn_in={share}"
    has_stages: ClassVar[bool] = False
    kernel: ClassVar[Callable[..., Any]] = staticmethod(run_output_error)
    n_apart: ClassVar[int] = 0
    has_noise: ClassVar[bool] = False
    """Whether its runs are predictions that feed past noise back."""

    def __post_init__(self) -> None:
        if self.problem.has_noise != self.has_noise:  # runs would be other ones than it says
            raise AdjoinError(
                "predictions need past noise to feed back; use PredictionEngine without"
                if self.has_noise
                else "a free run has no past noise; use a grammar without it"
            )
        super().__post_init__()

    @property
    def objective(self) -> Objective:
        """Free runs, with white or coloured noise on top."""
        return objective_of(self.noise)

    @property
    def own_settings(self) -> OwnSettings:
        """The noise, and how it searches."""
        return SimulationSettings(self.noise, self.search, self.horizon)

    def warm_up(self) -> None:
        """Compile what a chain runs."""
        self.start(0).advance(1)

    def start(self, seed: np.random.SeedSequence | int) -> SimulationChain:
        """A chain that has drawn nothing yet; it begins as `start_of` says."""
        rng = np.random.Generator(np.random.PCG64(seed))
        return SimulationChain.begin(self, rng, self.starts[start_of(seed, self.start_names)])

    def resume(self, packed: Mapping[str, np.ndarray]) -> SimulationChain:
        """A chain from what `SimulationChain.pack` gave; it continues bit for bit."""
        return SimulationChain.unpack(self, packed)

    def agree(self, packed: Sequence[Packed]) -> Sequence[Packed]:
        """Each chain goes its own way."""
        return packed

    @staticmethod
    def read_objective(settings: Mapping[str, Any]) -> Objective:
        """The objective of a saved run: its noise is among the settings."""
        return objective_of(str(settings.get("noise", WHITE)))

    @staticmethod
    def read_own_settings(values: Mapping[str, Any]) -> OwnSettings:
        """The noise, and how it searches; what is missing has its default."""
        if strangers := set(values) - {"noise", "search", "horizon"}:
            raise AdjoinError(f"settings: '{min(strangers)}' is not known")
        noise = values.get("noise", WHITE)
        if noise not in ORDERS:
            raise AdjoinError(f"settings: noise cannot be {noise!r}")
        horizon = values.get("horizon")
        if horizon is not None and not is_count(horizon):
            raise AdjoinError(f"settings: horizon cannot be {horizon!r}")
        return SimulationSettings(noise, Search.read(values.get("search"), SEARCH), horizon)

    @staticmethod
    def modes(problem: Problem, settings: RunSettings) -> Modes:
        """The mode of the coefficients, with the noise integrated out, from the mean of the draws.

        Pinned coefficients stay, and the others explain what is left.
        """
        noise = str(settings.plain.get("noise", WHITE))
        setup = SimulationSetup(
            problem,
            settings.prior,
            power=settings.likelihood_power,
            noise=noise,
            horizon=settings.plain.get("horizon"),
        )
        capacity, degree, run = setup.capacity, setup.encoding.max_degree, make_free_run(setup.runs)
        fitting = make_fit_work(run, capacity, degree, table_bytes=2**20, order=setup.order)
        known = problem.alphabet.fixed.terms

        def mode(structure: Structure, visits: Visits) -> Float1D:
            # In a chain's order fixed terms come first.
            fixed = [term for term in structure if term in known]
            terms = [*fixed, *(term for term in structure if term not in fixed)]
            order = [structure.terms.index(term) for term in terms]
            factor = problem.rows.factors(structure)
            state, references = make_chain(capacity, degree), make_references(1, capacity)
            write_terms(state, setup.encoding, terms)
            references.key[0], references.n_terms[0] = state.key, len(terms)
            references.theta[0, : len(terms)] = (visits.theta.mean(axis=0) / factor)[order]
            refine_state(state, setup.rules, setup.how, setup.regression, references, fitting)
            found = np.empty(len(terms))
            found[order] = state.theta[: len(terms)]
            return found * factor

        return mode

    @staticmethod
    def excuse(trace: ChainTrace) -> str:
        """A chain that runs always records."""
        return "it recorded nothing; draw more samples, or thin less"

    @staticmethod
    def stragglers(traces: Mapping[int, ChainTrace]) -> dict[int, str]:
        """Chains that stayed where no posterior mass is."""
        return find_stragglers(traces)

    @staticmethod
    def diagnostics(traces: Mapping[int, ChainTrace]) -> dict[str, Any]:
        """What the rungs of every chain did, where it began, and how good it ended."""
        return describe_chains(traces, STARTS)

    @staticmethod
    def findings(diagnostics: Mapping[str, Any]) -> Sequence[Finding]:
        """What that means for the result."""
        return [
            *on_search(diagnostics.get("search", ())),
            *on_starts(diagnostics.get("starts", ())),
        ]


def describe_chains(traces: Mapping[int, ChainTrace], start_names: Sequence[str]) -> dict[str, Any]:
    """What the rungs of every chain did, where it began, and how good it ended."""
    searches = {number: trace.search for number, trace in traces.items()}
    return {
        "search": [
            {"chain": number} | describe_search(search)
            for number, search in searches.items()
            if search is not None
        ],
        "starts": [
            {"chain": number} | describe_start(number, trace, start_names)
            for number, trace in traces.items()
        ],
    }


def start_of(seed: np.random.SeedSequence | int, start_names: Sequence[str] = STARTS) -> str:
    """Where the chain of a seed begins: chains take turns, by their number."""
    key = seed.spawn_key if isinstance(seed, np.random.SeedSequence) else ()
    return start_name(key[-1] if key else 0, start_names)


def objective_of(noise: str) -> Objective:
    """The objective with this noise."""
    return SIMULATION if noise == WHITE else replace(SIMULATION, noise=Noise.COLOURED)
