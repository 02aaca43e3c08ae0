"""The verdict on a run, and what to do next.

A verdict about chains is not one about the model: chains that agree can agree on an equation whose
simulation is useless. So the simulation speaks first and decides; chains that disagree can only
take away from what it says, and so do objections: data or draws that cannot say much. Receives the
answers of an `Assessment`, and what ``steps`` make of them; pages, terminals and JSON show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjoin.levels import CAUTION, GOOD, POOR, worst
from adjoin.results.answers import Answer
from adjoin.results.objections import Objection

_RUN_IT = "run it on new data, with adjoin simulate"
_OF_CHAINS = {
    GOOD: "the chains agree",
    CAUTION: "the chains agree with reservations",
    POOR: "the chains have not converged",
}


@dataclass(frozen=True)
class Verdict:
    """A level (`good`, `caution` or `poor`), a sentence, the reasons for it, and what to do.

    Reasons are about the model first, then about the chains; `settled` is what can be relied on
    though the structure may be open. `cause` is what decided, in a few words; empty where all is
    well.
    """

    level: str
    summary: str
    on_model: tuple[str, ...]
    on_chains: tuple[str, ...]
    next: tuple[str, ...]
    settled: tuple[str, ...] = ()
    cause: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """All of them."""
        return self.on_model + self.on_chains

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "level": self.level,
            "summary": self.summary,
            "reasons": list(self.reasons),
            "next": list(self.next),
            "settled": list(self.settled),
        }


def make_verdict(
    trusted: Answer,
    exhausted: Answer,
    chains: Mapping[str, Any],
    n_chains: int,
    objections: Sequence[Objection] = (),
    on_runs: Sequence[str] = (),
    steps: Sequence[str] = (),
) -> Verdict:
    """Put together what the simulation, the residuals and the chains say.

    Parameters
    ----------
    trusted, exhausted : Answer
        Whether the simulation can be trusted, and whether something is left in the residuals.
    chains : mapping
        The verdict about the chains, of `diagnose`.
    n_chains : int
        How many there are.
    objections : sequence of Objection
        What speaks against it whatever the simulation says, the worst first.
    on_runs : sequence of str
        Whether chains whose structures differ predict alike.
    steps : sequence of str
        What to do next, of ``steps``.
    """
    of_run = CAUTION if trusted.level == GOOD != chains["level"] else trusted.level
    level = worst([of_run, *(objection.level for objection in objections)])
    agreement = chains.get("agreement", chains["level"])
    on_chains = "there is one chain only" if n_chains == 1 else _OF_CHAINS[agreement]
    left = exhausted.reasons[:1] if exhausted.level != GOOD else ()
    first = [o.short for o in objections if o.level == POOR or o.is_said_first]
    doubts = [*(o.short for o in objections if o.level != GOOD), trusted.cause]
    if trusted.level == GOOD:
        doubts[-1] = on_chains if level != GOOD else ""
    on_model = (*(objection.reason for objection in objections), *trusted.reasons, *left)
    return Verdict(
        level,
        "; ".join([*first, trusted.sentence, on_chains]),
        on_model,
        tuple(reason for reason in chains["reasons"] if reason not in on_model),
        tuple(steps),
        (*chains.get("settled", ()), *on_runs),
        doubts[0],
    )


def reservation(trusted: Answer, verdict: Verdict | None = None) -> str:
    """What to mind where no step is known to help; empty where all is well.

    A simulation can be good while the verdict is not, as where chains have not converged.
    """
    if trusted.level != GOOD:
        return trusted.cause
    return "" if verdict is None else verdict.cause


def without_steps(trusted: Answer, verdict: Verdict | None = None, tested_on: str = "") -> str:
    """What to do where no step is known to help, and what to mind.

    `tested_on`: what it was just held against, so that nobody is told to find new data.
    """
    reserved = reservation(trusted, verdict)
    if tested_on:
        done = f"use it with care ({reserved})" if reserved else "nothing more is asked for"
        return f"{done}; it was tried on {tested_on}"
    if not reserved:
        return f"nothing more is asked for; {_RUN_IT}"
    return f"{_RUN_IT}, with care ({reserved})"
