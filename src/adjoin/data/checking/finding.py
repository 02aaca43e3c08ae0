"""One thing that was noticed about data: how bad it is, in words, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass


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
    """

    name: str
    level: str
    words: str
    remedy: str = ""

    @property
    def plain(self) -> dict[str, str]:
        """For JSON."""
        return asdict(self)
