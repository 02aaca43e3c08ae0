"""A C compiler of this machine, where there is one, and programs made and run by it.

Receives sources as text; runs them in a folder of their own, which goes when it is done.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from adjoin.errors import AdjoinError

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
"""What exported code passes without a warning."""

EXACT = ("-O2", "-ffp-contract=off")
"""With these a compiler keeps to the order of sums, and so to the digits."""

_SECONDS = 600.0


def find_compiler() -> tuple[str, ...] | None:
    """The command of a C compiler: what CC says, else cc, gcc or clang; None if there is none."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in (named, ["cc"], ["gcc"], ["clang"]):
        if command and (found := shutil.which(command[0])):
            return (found, *command[1:])
    return None


def require_compiler(what: str) -> tuple[str, ...]:
    """As `find_compiler`; an `AdjoinError` that says what needs it where there is none."""
    compiler = find_compiler()
    if compiler is None:
        raise AdjoinError(
            f"{what} needs a C compiler, and there is none (cc, gcc, clang, or what the environment"
            " variable CC names)"
        )
    return compiler


@contextmanager
def workplace(files: Mapping[str, str]) -> Iterator[Path]:
    """A folder with these files, which goes at the end."""
    with tempfile.TemporaryDirectory(prefix="adjoin-export-") as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8", newline="\n")
        yield Path(folder)


def compile_program(
    folder: Path, sources: Sequence[str], program: str, flags: Sequence[str] = (*STRICT, *EXACT)
) -> Path:
    """Compile and link sources in a folder; what the compiler objects to is an `AdjoinError`."""
    compiler = require_compiler("compiling exported code")
    command = [*compiler, *flags, *sources, "-o", program, "-lm"]
    run_program(command, folder, "the compiler")
    return folder / program


def run_program(command: Sequence[str | Path], folder: Path, what: str) -> str:
    """Run a program in a folder; its output. If it fails, an `AdjoinError` with what it said."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[:2000]
        raise AdjoinError(f"{what} failed with status {done.returncode}: {said}")
    return done.stdout
