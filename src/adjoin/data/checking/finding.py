"""One thing that was noticed about data: how bad it is, what to do, and where it is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Evidence:
    """What there is to look at: which picture shows a finding, of which signals, and where.

    Parameters
    ----------
    picture : str
        ``series`` (over time, with stretches or samples marked), ``closer`` (a few samples),
        ``line`` (with its straight line), ``levels`` (how often each value occurs), ``spectrum``,
        ``correlation`` (of two signals by lag), ``copies`` (two signals against each other),
        ``records`` (all, where they begin and end), ``steps`` (times between samples), ``lengths``
        (of records) or ``missing`` (rows of the file).
    signals : tuple of str
        Their names.
    record : int
        Which one shows it best.
    stretches : tuple of (int, int)
        First sample, and the one behind the last.
    value : float or None
        The number that the picture marks: a limit, a frequency per sample, a lag, a step.
    """

    picture: str
    signals: tuple[str, ...] = ()
    record: int = 0
    stretches: tuple[tuple[int, int], ...] = ()
    value: float | None = None

    @property
    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "picture": self.picture,
            "signals": list(self.signals),
            "record": self.record,
            "stretches": [list(stretch) for stretch in self.stretches],
            "value": self.value,
        }


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed about data.

    Parameters
    ----------
    name : str
        A short name for programs, such as ``gaps``.
    level : str
        ``good`` (worth knowing), ``caution`` or ``poor``.
    words : str
        A sentence.
    remedy : str
        What to do, with an option that exists; empty if there is nothing to be done here.
    evidence : Evidence, optional
        What of the data shows it.
    """

    name: str
    level: str
    words: str
    remedy: str = ""
    evidence: Evidence | None = None

    @property
    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "level": self.level,
            "words": self.words,
            "remedy": self.remedy,
            "evidence": None if self.evidence is None else self.evidence.plain,
        }
