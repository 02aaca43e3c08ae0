"""What a run is worth, worked out once for the terminal, for JSON and for the page.

Receives a `Collection`; gives an `Assessment`: the parts of the data with their scores, residual
tests, diagnostics, plain answers and a verdict. Nothing of it is computed before it is asked for,
nor twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.check import DataCheck, check_data
from adjoin.data.dataset import Dataset
from adjoin.errors import AdjoinError
from adjoin.levels import POOR
from adjoin.model import Model
from adjoin.results.advice import Verdict, make_verdict, reservation
from adjoin.results.agreement import Agreement, find_agreement
from adjoin.results.answers import (
    Answer,
    answer_exhausted,
    answer_fixed,
    answer_trusted,
    answer_unique,
)
from adjoin.results.collection import Collection
from adjoin.results.command import origin_of
from adjoin.results.compared import answer_compared, judge
from adjoin.results.diagnose import diagnose
from adjoin.results.discovered import Discovered
from adjoin.results.masses import is_settled, mass_percent, mass_text
from adjoin.results.objections import Objection, objections, on_columns
from adjoin.results.power import dependence
from adjoin.results.residual_tests import ResidualTest
from adjoin.results.scoring import TEST, TRAIN, VALIDATION, Part, affordable_draws
from adjoin.results.seen import Seen, look
from adjoin.results.steps import next_steps
from adjoin.results.tested import judge_test
from adjoin.results.vetoes import vetoes

Assessed = TypeVar("Assessed", bound=Collection)
"""What is assessed: what chains left, or a `Posterior` as a user holds it."""


@dataclass(frozen=True, eq=False)
class Assessment(Generic[Assessed]):
    """A run with all that is said of it.

    Parameters
    ----------
    posterior : Collection
        What is reported: the chain that validation selected, or all of them.
    all_chains : Collection
        All of them.
    parts : tuple of Part
        The data it was held against; the last one is what counts.
    """

    posterior: Assessed
    all_chains: Assessed
    parts: tuple[Part, ...]

    @property
    def discovered(self) -> Discovered | None:
        """How its terms were found, where candidates were compared."""
        return self.all_chains.discovered

    @property
    def is_selected(self) -> bool:
        """Whether validation data chose one chain."""
        return self.posterior is not self.all_chains

    @property
    def is_tested(self) -> bool:
        """Whether there are data that neither fitting nor selecting has seen."""
        return self.parts[-1].name not in (TRAIN, VALIDATION)

    @property
    def model(self) -> Model:
        """The equation that is reported."""
        return self.posterior.map_model

    @property
    def white_box(self) -> Model | None:
        """The fixed terms alone, by least squares; None where there are none."""
        return self.all_chains.white_box

    def prepare(self) -> None:
        """Work out what takes long, so that what shows it later does not wait."""
        for part in self.parts:
            _ = part.scores

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """What the chains did, whether they agree, and a verdict on them alone."""
        return diagnose(self.all_chains)

    def masses(self, rank: int = 0) -> tuple[float, ...]:
        """What each chain gives the structure that has that place among those reported."""
        return self.all_chains.masses(self.posterior, rank)

    def is_mass_settled(self, rank: int = 0) -> bool:
        """Whether the chains agree on the mass of that structure."""
        return is_settled(self.masses(rank), self.diagnostics["verdict"]["agreement"])

    def mass_text(self, rank: int = 0) -> str:
        """Its mass as a table shows it: a number, or the range over the chains."""
        mass = float(self.posterior.structures["mass"].iloc[rank])
        return mass_text(mass, self.masses(rank), self.diagnostics["verdict"]["agreement"])

    def mass_percent(self, rank: int = 0) -> str:
        """The same in percent."""
        mass = float(self.posterior.structures["mass"].iloc[rank])
        return mass_percent(mass, self.masses(rank), self.diagnostics["verdict"]["agreement"])

    @cached_property
    def residual_tests(self) -> tuple[ResidualTest, ...]:
        """Of the reported equation on the fitted data."""
        return tuple(self.posterior.residual_tests())

    @cached_property
    def unique(self) -> Answer:
        """Whether this equation is the only one."""
        if self.all_chains.settings.keeps_terms:
            found = self.discovered
            return answer_fixed(self.posterior) if found is None else answer_compared(found)
        level = self.diagnostics["verdict"]["agreement"]
        against = next((veto.short for veto in self._vetoes if veto.level == POOR), "")
        return answer_unique(self.posterior, self.all_chains, level, against)

    @cached_property
    def trusted(self) -> Answer:
        """Whether its simulation can be trusted."""
        return answer_trusted(self.parts, self.all_chains.data)

    @cached_property
    def exhausted(self) -> Answer:
        """Whether something is left in the residuals."""
        chains, tests = self.all_chains, self.residual_tests
        if not chains.objective.has_likelihood or chains.power == 0.0:
            return answer_exhausted(tests, chains.objective)
        found = dependence(self.posterior, tests)
        is_estimated = chains.settings.is_power_estimated
        return answer_exhausted(tests, chains.objective, found, chains.power, is_estimated)

    @cached_property
    def objections(self) -> tuple[Objection, ...]:
        """What speaks against the run whatever its simulation says, the worst first.

        That its simulation explains nothing is left to `trusted`, which says more of it.
        """
        found = [*objections(self.posterior), *self._on_columns, *self._vetoes]
        return tuple(sorted(dict.fromkeys(found), key=lambda objection: objection.level != POOR))

    @cached_property
    def _checked(self) -> DataCheck:
        return check_data(self.all_chains.data)

    @cached_property
    def _on_columns(self) -> tuple[Objection, ...]:
        return tuple(on_columns(self.posterior, self._checked.findings))

    @cached_property
    def _vetoes(self) -> tuple[Objection, ...]:
        return vetoes(self.posterior, asks_free_run=False)

    @cached_property
    def verdict(self) -> Verdict:
        """On the run as a whole: what forbids it, then the simulation, then the chains.

        Where candidates were compared, their held-out simulations speak first, and before them test
        data, if there are any.
        """
        chains, n_chains = self.diagnostics["verdict"], self.all_chains.n_chains
        own = make_verdict(
            self.trusted,
            self.exhausted,
            chains,
            n_chains,
            self.objections,
            self._on_runs,
            self.steps,
        )
        if self.discovered is None:
            return own
        tested = judge_test(self.parts[-1], self.trusted) if self.is_tested else None
        return judge(self.discovered, own, self._on_columns, chains["agreement"], tested)

    @property
    def reservation(self) -> str:
        """What to mind where no step is left to take; empty where all is well."""
        return reservation(self.trusted, self.verdict)

    @property
    def tested_on(self) -> str:
        """The test data that it was held against; empty without them."""
        return self.parts[-1].words if self.is_tested else ""

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """What to do next, each step with its command; at most three."""
        return next_steps(self.seen, origin_of(self.all_chains))

    @cached_property
    def seen(self) -> Seen:
        """What steps are decided by."""
        tests, chains = self.residual_tests, self.diagnostics["verdict"]
        return look(self.parts, self.posterior, self.all_chains, tests, chains, self._checked)

    @cached_property
    def agreement(self) -> Agreement | None:
        """How far simulations by the chains' equations are apart; None where that is unknown."""
        return find_agreement(self.all_chains)

    @property
    def _on_runs(self) -> tuple[str, ...]:
        """Whether chains whose structures differ predict alike."""
        if self.diagnostics["chains_agree_on_mode"] or self.agreement is None:
            return ()
        return (self.agreement.words(self.trusted.level != POOR),)


def assess(
    all_chains: Assessed,
    test: Dataset | None = None,
    draws: int | None = None,
    test_name: str = TEST,
) -> Assessment[Assessed]:
    """Hold a posterior against what it was fitted to, what was held out, and test data.

    Where data were held out, they select the chain that is reported. Where candidates were
    compared, the validation part is what one fold held out, and was predicted by the chosen terms
    as they were fitted without it.

    Parameters
    ----------
    all_chains : Collection
        The posterior of all chains.
    test : Dataset, optional
        Data that neither fitting nor selecting has seen.
    draws : int, optional
        How many models are run for the bands. Default: 200, fewer of very long records.
    test_name : str
        What the test data are called, such as the name of their file.
    """
    _require(all_chains, Collection, "a Posterior, as adjoin.load gives")
    if test is not None:
        _require(test, Dataset, "a Dataset, as adjoin.read_data gives")
    called: dict[str, dict[str, Any]] = {}
    given = {TRAIN: all_chains.data, VALIDATION: all_chains.held_out, test_name: test}
    whose = dict.fromkeys(given, (all_chains.selected, all_chains))
    if all_chains.discovered is not None:
        without = type(all_chains)(*all_chains.discovered.trial)
        given[VALIDATION], whose[VALIDATION] = without.held_out, (without, without)
        found = all_chains.discovered
        called[VALIDATION] = {"called": found.trial_words, "numbers": found.tried_records}
    parts = {name: data for name, data in given.items() if data is not None}
    for name, data in parts.items():
        all_chains.require_signals(data, name)
    return Assessment(
        all_chains.selected,
        all_chains,
        tuple(
            Part(
                name,
                data,
                *whose[name],
                draws or affordable_draws(data.n_samples),
                **called.get(name, {}),
            )
            for name, data in parts.items()
        ),
    )


def _require(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise AdjoinError(f"a report needs {what}, not {value!r:.60}")


def stretches(part: Part) -> Iterator[tuple[int, int, int]]:
    """For every record its number, and where a closer look begins and ends: where it moves most."""
    for number, record in enumerate(part.data.records):
        n_shown = min(len(record), max(150, min(400, len(record) // 20)))
        begin = int(_spread_within(record.output, n_shown).argmax())
        yield number, begin, begin + n_shown


def _spread_within(values: Float1D, n: int) -> Float1D:
    """The sum of squares about its own mean of every stretch of `n` values.

    About the mean of all, a stretch where nothing moves far from it would be the largest.
    """
    total, squares = (
        np.concatenate([[0.0], np.cumsum(series)])
        for series in (values - values.mean(), (values - values.mean()) ** 2)
    )
    size = squares[n:] - squares[:-n] - (total[n:] - total[:-n]) ** 2 / n
    return np.asarray(size)
