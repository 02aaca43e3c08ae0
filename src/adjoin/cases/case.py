"""What a case study is: the contract that its module fulfils, and how a case is found by name.

The machinery (`study`, `tables`, `records`, `words`, `outputs`, `estimate`) asks a `Case` and never
compares names; so a further case is one more module, and one line in `registry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from adjoin.cases.learning import Curve
from adjoin.cases.measure import NMSE, Measure
from adjoin.cases.outcome import Study
from adjoin.cases.published import N_CHAINS, Literature, ParameterTable, Scores, ScoreTable
from adjoin.cases.registry import CASES
from adjoin.cases.setups import OBJECTIVES, Plan, Setup, Size, Variant
from adjoin.cases.table_parts import coefficient_sheet
from adjoin.datasets import Benchmark
from adjoin.errors import AdjoinError
from adjoin.report.case_parts import Finding, Section
from adjoin.report.sheet import Sheet

_N_CURVE = 10  # seeds of a learning curve


@dataclass(frozen=True, eq=False)
class Case(ABC):
    """One case study: what it runs, what the paper printed of it, and what its page shows.

    A subclass has to say where the data come from (`make_benchmark`). It may say more by the other
    methods under "What may be one's own", whose defaults add nothing. Which columns the tables have
    follows from the data and the figures: those of the truth where it is known, of the white box
    where there is one, the paper's where it printed any.

    Parameters
    ----------
    name : str
        By which `registry.CASES` and the command line find it.
    title : str
    variants : tuple of Variant
        What is run, in the order of the tables.
    sizes : mapping of str to Size
        How much of it, by objective.
    quick_sizes : mapping of str to Size
        The same for a quick run, where that is less.
    takes_data : bool
        Whether it reads a file of the user's; else it simulates its data.
    n_draws : int
        Realisations of the forward integration.
    scoring_seconds : float
        What scoring one setup took on the machine where setups were measured.
    unit : str
        Of the output.
    places : int
        Decimals of NMSE in the tables.
    test_name : str
        What the main test set is called in a sentence.
    measure : Measure
        The error by which it is held against others.
    scores : mapping
        The paper's scores by objective, λ_t and number of the method.
    parameters : mapping
        The paper's estimates by objective, λ_t and term.
    white_box_name : str
        Whose equation the known physics is, where there is some.
    white_box_nmse : float or None
        The paper's NMSE of it alone, in percent.
    literature : Literature or None
        What others reached.
    """

    name: str
    title: str
    variants: tuple[Variant, ...]
    sizes: Mapping[str, Size]
    quick_sizes: Mapping[str, Size] = field(default_factory=dict)
    takes_data: bool = False
    n_draws: int = 100
    scoring_seconds: float = 1.0
    unit: str = ""
    places: int = 3
    test_name: str = "the test set"
    measure: Measure = NMSE
    scores: ScoreTable = field(default_factory=dict)
    parameters: ParameterTable = field(default_factory=dict)
    white_box_name: str = "the white box"
    white_box_nmse: float | None = None
    literature: Literature | None = None

    # What may be one's own.

    @abstractmethod
    def make_benchmark(self, plan: Plan) -> Benchmark:
        """The data with the protocol of the paper; they must have a validation part."""

    def make_official(self, plan: Plan) -> Benchmark:
        """The data under the official split, for the variants that are `is_official`."""
        raise NotImplementedError(f"the case {self.name} has no official split")

    def title_of(self, plan: Plan) -> str:
        """The title, if it depends on the data."""
        return self.title

    def unit_of(self, plan: Plan) -> str:
        """The unit, if it depends on the data."""
        return self.unit

    def warnings(self, plan: Plan) -> tuple[str, ...]:
        """What must not be overlooked about the data."""
        return ()

    def why(self, plan: Plan) -> tuple[str, ...]:
        """Why figures differ from the paper's, as far as a plan can show it."""
        return ()

    def curve(self, plan: Plan) -> Curve | None:
        """What a learning curve over the data of many seeds is made of, where there is one."""
        return None

    def findings(self, study: Study) -> Iterable[Finding]:
        """What is reproduced and what differs, each made of the figures of this run."""
        return ()

    def error_sheets(self, study: Study) -> list[Sheet]:
        """Tables of errors after the first, with a row for every setup."""
        return []

    def sections(self, study: Study) -> list[Section]:
        """Sections between the predictions and the literature: parameters, an official split."""
        best = study.best()
        if best is None:
            return []
        sheet = coefficient_sheet(best)
        return [Section("parameters", sheet.title, (), [sheet])]

    # What follows from it.

    def benchmark(self, plan: Plan) -> Benchmark:
        """The data with the protocol of the paper; a file for a case without one is refused."""
        if plan.data is not None and not self.takes_data:
            raise AdjoinError(f"the {self.name} case simulates its data; leave --data out")
        if plan.curve and self.curve(plan) is None:
            raise AdjoinError("there is no learning curve of this; leave --curve out")
        return self.make_benchmark(plan)

    def size(self, objective: str, is_quick: bool) -> Size:
        """How much of an objective is run."""
        full = self.sizes[objective]
        return self.quick_sizes.get(objective, full) if is_quick else full

    def setups(self, plan: Plan) -> tuple[Setup, ...]:
        """What is run under the paper's protocol, in the order of its tables."""
        return self._setups(plan, is_official=False)

    def official_setups(self, plan: Plan) -> tuple[Setup, ...]:
        """What is run under the official split."""
        return self._setups(plan, is_official=True)

    def all_setups(self, plan: Plan) -> tuple[Setup, ...]:
        """Everything that is run, in that order."""
        return self.setups(plan) + self.official_setups(plan)

    def _setups(self, plan: Plan, is_official: bool) -> tuple[Setup, ...]:
        return tuple(
            variant.setup(rate, size)
            for variant in self.variants
            if variant.objective in plan.objectives and variant.is_official is is_official
            for size in [self.size(variant.objective, plan.is_quick)]
            for rate in plan.rates(size)
        )

    def curve_seeds(self, plan: Plan) -> range:
        """The seeds of the data of the learning curve, from the plan's on; empty: there is none."""
        n_seeds = plan.curve
        if n_seeds is None:
            n_seeds = 0 if plan.is_quick else _N_CURVE
        return range(plan.seed, plan.seed + (n_seeds if self.curve(plan) is not None else 0))

    def shortened(self, plan: Plan) -> tuple[str, ...]:
        """What a quick run leaves out, in words."""
        if not plan.is_quick:
            return ()
        left_out = [f"{plan.n_chains} chains (the paper: {N_CHAINS})"] * (plan.n_chains < N_CHAINS)
        for objective in plan.objectives:
            if objective not in self.sizes:
                continue
            quick, full = self.size(objective, True), self.size(objective, False)
            words = OBJECTIVES[objective]
            if quick.samples < full.samples:
                left_out.append(f"{words}: {quick.samples:,} samples instead of {full.samples:,}")
            if quick.n_train != full.n_train:
                left_out.append(f"{words}: the first {quick.n_train:,} training samples only")
            if plan.rates(quick) != plan.term_rates:
                rates = ", ".join(f"{rate:g}" for rate in plan.rates(quick))
                left_out.append(f"{words}: λ_t = {rates} only")
        if self.curve(plan) is not None and plan.curve is None:
            left_out.append("no learning curve")
        return tuple(left_out)

    def printed(self, setup: Setup) -> Scores:
        """The paper's row with the same objective and λ_t, whatever the prior."""
        key = setup.objective, setup.expected_terms, setup.number
        # Under the official split the paper has no figures.
        return Scores() if setup.is_official else self.scores.get(key, Scores())

    def prints(self, name: str) -> bool:
        """Whether the paper has a figure of this name (as in `Scores`) for any setup."""
        return any(getattr(scores, name) is not None for scores in self.scores.values())


def find_case(name: str) -> Case:
    """The case of this name; its module is imported now."""
    if name not in CASES:
        raise AdjoinError(f"there is no case '{name}'; there are {', '.join(CASES)}")
    case = import_module(CASES[name]).CASE
    assert isinstance(case, Case)
    return case


def case_of(plan: Plan) -> Case:
    """The case that a plan asks for."""
    return find_case(plan.case)
