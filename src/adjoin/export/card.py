"""What exported code says of itself: the equation, units, offsets, lags, and where it came from.

Receives a `Model` and what is known of it; gives lines of plain text, which every language puts
into a comment of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from adjoin.errors import AdjoinError
from adjoin.export.identifiers import comment_text, wrapped
from adjoin.text import counted
from adjoin.version import __version__

if TYPE_CHECKING:
    from adjoin.model import Model

WIDTH = 92  # of a line of a comment


@dataclass(frozen=True)
class Card:
    """What there is to say of a model beside its equation.

    Parameters
    ----------
    units : mapping of str to str
        By signal name, where they are known.
    step : float, optional
        Seconds between two samples.
    origin : str
        Where the model came from, in words.
    """

    units: Mapping[str, str] = field(default_factory=dict)
    step: float | None = None
    origin: str = ""

    @classmethod
    def of(cls, model: Model, step: float | None = None) -> Card:
        """The card of a model; a `step` that is given counts more than that of its data."""
        units: dict[str, str] = {}
        if model.fitted_to is not None:
            data = model.fitted_to.data
            units = dict(zip(data.names.ordered, data.units, strict=False))
            step = data.sampling_time if step is None else step
        origin = "" if model.origin is None else model.origin.in_words
        return cls(units, step, origin)

    def with_step(self) -> Card:
        """The same; an `AdjoinError` where the sampling time is not known."""
        if self.step is None:
            raise AdjoinError(
                "the model does not know its sampling time, which an FMU needs; say how many"
                " seconds are between two samples (step=0.01)"
            )
        if not 0.0 < self.step < float("inf"):
            raise AdjoinError(f"step must be a positive number of seconds, not {self.step!r}")
        return replace(self, step=float(self.step))

    def signal(self, name: str) -> str:
        """A signal with its unit: ``force [N]``."""
        unit = self.units.get(name, "")
        return f"{name} [{unit}]" if unit else name

    def facts(self, model: Model, max_lag: int) -> list[str]:
        """Sentences about the signals, in the order in which they matter."""
        names = model.names
        inputs = ", ".join(map(self.signal, names.inputs)) or "none"
        found = [f"Inputs: {inputs}. Output: {self.signal(names.output)}."]
        if self.step is not None:
            found.append(f"Sampling time: {self.step!r} s.")
        found.append(f"Largest lag: {counted(max_lag, 'sample')}.")
        if model.offsets:
            stated = ", ".join(f"{name} from {offset!r}" for name, offset in model.offsets.items())
            found.append(
                f"The equation is in deviations ({stated}); arguments and results are not."
            )
        if model.limits is not None:
            lower, upper = model.limits
            found.append(
                f"It was learned from {names.output} between about {lower:.6g} and {upper:.6g}; a"
                " run that leaves this range is lost."
            )
        return found

    @property
    def provenance(self) -> str:
        """Who made the code, and of what."""
        return f"Made by adjoin {__version__}{f' from {self.origin}' if self.origin else ''}."


def comment_lines(title: str, equation: str, facts: Sequence[str]) -> list[str]:
    """The lines of a comment: a title, an equation, paragraphs; safe in any language."""
    lines = [*wrapped(comment_text(title), WIDTH), ""]
    if equation:
        lines += [*wrapped(comment_text(equation), WIDTH, "    "), ""]
    for fact in facts:
        lines += wrapped(comment_text(fact), WIDTH)
    return lines
