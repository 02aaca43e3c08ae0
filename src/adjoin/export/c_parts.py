"""What the C of one model and of an ensemble have in common: headers, pasts of inputs, comments.

Receives histories and a `Spelling`; gives pieces of C.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adjoin.errors import AdjoinError
from adjoin.export.c_spelling import Spelling, value_at
from adjoin.export.histories import History
from adjoin.export.identifiers import comment_text, wrapped
from adjoin.files import write_whole

if TYPE_CHECKING:
    from adjoin.model import Model

_WIDTH = 92  # of a line of a comment


@dataclass(frozen=True)
class CCode:
    """A header and a source that belong together; printed, one file that needs no other.

    Parameters
    ----------
    name : str
        What its types and functions begin with, and what the header is called.
    header, source : str
        What the two files hold.
    n_state_bytes, n_stack_bytes : int
        What one state has, padding aside, and what the variables of a step need at most.
    outputs : tuple of str
        What a step gives: of a model its output, of an ensemble also spread, bands and the number
        of runs that are lost.
    """

    name: str
    header: str
    source: str
    n_state_bytes: int
    n_stack_bytes: int
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        return self.header + "\n" + self.source.replace(f'#include "{self.name}.h"\n', "")

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write the source to a path that ends in .c, and the header beside it as ``NAME.h``."""
        source = Path(path)
        if source.suffix != ".c":
            raise AdjoinError(f"'{path}' is to be C; let its name end in .c")
        header = source.with_name(f"{self.name}.h")
        write_whole(header, self.header)
        write_whole(source, self.source)
        return source, header


def paragraphs(*facts: str) -> list[str]:
    """Lines of a comment, an empty line before each paragraph; nothing in them ends the comment."""
    lines: list[str] = []
    for fact in facts:
        lines += ["", *wrapped(comment_text(fact), _WIDTH)]
    return lines


def comment(lines: Iterable[str]) -> str:
    """A block comment."""
    body = "\n".join(f" * {line}".rstrip() for line in lines)
    return f"/*\n{body}\n */\n"


def header_text(name: str, about: Sequence[str], declarations: str) -> str:
    """A header with its guard, for C and C++."""
    guard = f"ADJOIN_{name.upper()}_H"
    return (
        f"{comment(about)}"
        f"#ifndef {guard}\n#define {guard}\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        f"{declarations}\n"
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )


def length_of(history: History, is_input: bool) -> int:
    """Samples that are kept: of an input the present one too."""
    return history.lag + is_input


def past_functions(spelling: Spelling) -> str:
    """Filling a past, and putting the newest sample into it."""
    name, real = spelling.name, spelling.real
    return f"""
/* A past is kept twice, one copy behind the other, so that it is always in one piece. */
static void {name}_fill({real} *past, unsigned length, {real} value)
{{
    unsigned i;
    for (i = 0u; i < 2u * length; i++)
        past[i] = value;
}}

static const {real} *{name}_push({real} *past, unsigned *at, unsigned length, {real} value)
{{
    *at = *at + 1u < length ? *at + 1u : 0u;
    past[*at] = value;
    past[*at + length] = value;
    return past + *at + length;
}}
"""


def members(histories: Iterable[History], n_extra: int, real: str) -> list[str]:
    """Members of a state that hold pasts; `n_extra` samples besides those lagged."""
    lines = []
    for history in histories:
        if length := history.lag and history.lag + n_extra:
            lines.append(f"    {real} past_{history.plain}[{2 * length}];")
            lines.append(f"    unsigned at_{history.plain};")
    return lines


def filled(histories: Iterable[History], n_extra: int, spelling: Spelling) -> list[str]:
    """Statements that set pasts to what they are at rest."""
    lines = []
    for history in histories:
        if length := history.lag and history.lag + n_extra:
            rest = spelling.number(value_at(history.word, 0.0))
            plain = history.plain
            lines.append(f"    {spelling.name}_fill(state->past_{plain}, {length}u, {rest});")
            lines.append(f"    state->at_{plain} = 0u;")
    return lines


def heard(
    model: Model, histories: Iterable[History], argument: dict[str, str], spelling: Spelling
) -> list[str]:
    """Statements that take in the inputs: deviations, functions of them, and their pasts."""
    used: dict[str, list[History]] = {name: [] for name in model.names.inputs}
    for history in histories:
        used[history.signal].append(history)
    lines = []
    for signal, own in used.items():
        if not own:
            lines.append(f"    (void){argument[signal]}; /* not in the equation */")
            continue
        deviation = shifted(argument[signal], -model.offsets.get(signal, 0.0), spelling)
        if any(history.word for history in own) and deviation != argument[signal]:
            lines.append(f"    {argument[signal]} = {deviation};")
            deviation = argument[signal]
        lines += [_taken_in(history, deviation, spelling) for history in own]
    return lines


def _taken_in(history: History, deviation: str, spelling: Spelling) -> str:
    value, plain = spelling.call(history.word, deviation), history.plain
    if not history.lag:
        return f"    const {spelling.real} now_{plain} = {value};"
    pushed = f"state->past_{plain}, &state->at_{plain}, {history.lag + 1}u, {value}"
    return (
        f"    const {spelling.real} *const past_{plain} =\n        {spelling.name}_push({pushed});"
    )


def shifted(text: str, by: float, spelling: Spelling) -> str:
    """A sum such as ``force - 1.5``, or nothing more where nothing is added."""
    if not by:
        return text
    return f"{text} {'+' if by > 0.0 else '-'} {spelling.number(abs(by))}"


def signature(arguments: Sequence[str], real: str) -> str:
    """Parameters that are numbers, behind the state: ``, double force, double angle``."""
    return "".join(f", {real} {argument}" for argument in arguments)
