"""``--resume``: what a run that was stopped left behind, and what may be done with it.

The checkpoint of ``--out rig.nc`` is the folder ``rig.nc.checkpoint`` beside it, as long as the run
is not done. Receives what was asked for; says where to keep the checkpoint, or that all is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjoin.cli.output import say
from adjoin.cli.run import require_writable
from adjoin.errors import AdjoinError
from adjoin.report.page_words import is_page_of

if TYPE_CHECKING:
    from adjoin.data.dataset import Dataset
    from adjoin.posterior import Posterior

ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the run that was stopped, or killed, before --out was finished.",
    ),
]

KeepOption = Annotated[
    bool,
    typer.Option(
        "--keep-checkpoint",
        help="Keep what was drawn when --out is finished: --resume with more --samples goes on.",
    ),
]

_NOT_COMPARED = ("jobs",)
_LENGTHS = ("samples", "max_samples", "burn_in")


def checkpoint_of(out: Path | None) -> Path | None:
    """Where the checkpoint of a run is; without a file there is none."""
    return None if out is None else out.with_name(f"{out.name}.checkpoint")


def require_begin(
    out: Path | None, page: Path | None, inputs: list[Path], resume: bool, force: bool
) -> Path | None:
    """Refuse, before anything is read, what would lose a run; else where its checkpoint is.

    A left-over checkpoint is gone on with by ``--resume`` and thrown away by ``--force`` alone.
    """
    folder = checkpoint_of(out)
    if folder is None or out is None:
        if resume:
            raise AdjoinError("--resume goes on with the run that --out names; pass both")
        require_writable({"report": page}, inputs, force)
        return None
    is_left = require_left(folder, resume, force)
    # What an interrupted run wrote is written again when it goes on.
    own = ("run", "report") if page is None or is_page_of(page, out.name) else ("run",)
    require_writable({"run": out, "report": page}, inputs, force, own if resume else ())
    begin_at(folder, is_left, resume, out.exists())
    return folder


def require_left(folder: Path, resume: bool, force: bool) -> bool:
    """Whether a checkpoint is left; refused where it was not said what is to become of it."""
    from adjoin.inference.checkpoint import is_checkpoint, require_free

    if not is_checkpoint(folder):
        return False
    require_free(folder)
    if not resume and not force:
        raise AdjoinError(
            f"a run that was stopped has left '{folder}': pass --resume to go on with it, or"
            " --force to begin anew"
        )
    return True


def begin_at(folder: Path, is_left: bool, resume: bool, is_finished: bool) -> None:
    """Throw a checkpoint away, or say whether it is gone on with."""
    from adjoin.inference.checkpoint import remove

    if is_left and not resume:
        remove(folder)
    elif is_left:
        say(f"going on from {folder}")
    elif resume and not is_finished:
        say(f"there is no {folder} to go on from: the run begins")


def find_finished(
    kind: str,
    out: Path,
    folder: Path,
    options: Mapping[str, Any],
    data: Dataset,
    held_out: Dataset | None = None,
    keep: bool = False,
) -> Posterior | None:
    """The run that is to be resumed, if it is finished; None if there is something to go on with.

    Parameters
    ----------
    kind : {"fit", "discover"}
        The command.
    out, folder : Path
        The run, and its checkpoint.
    options : mapping
        What was typed, by name.
    data, held_out : Dataset
    keep : bool
        Whether the checkpoint of a finished run stays.

    Raises
    ------
    AdjoinError
        If the file is another run, or a part of one whose checkpoint is gone.
    """
    if not out.exists():
        return None
    from adjoin.inference.checkpoint import is_checkpoint, remove
    from adjoin.inference.described import describe_run, differences
    from adjoin.posterior import load

    found = load(out)
    typed = found.settings.options or {}
    saved_kind = "fit" if found.discovered is None else "discover"
    saved = describe_run(saved_kind, _compared(typed), found.data, found.run.held_out)
    now = describe_run(kind, _compared(options), data, held_out)
    words = differences(saved, now)
    if words and is_checkpoint(folder) and not differences(_unmeasured(saved), _unmeasured(now)):
        return None  # whether the run is longer is found out where its chains are
    if words:
        raise AdjoinError(
            f"'{out}' is another run: {'; '.join(words)}. Pass --force too to replace it, or name"
            " another file. A run is made longer if it was made with --keep-checkpoint"
        )
    if found.settings.is_complete:
        if not keep:
            remove(folder)
        say(f"{out} is finished: there is nothing to resume")
        return found
    if not is_checkpoint(folder):
        raise AdjoinError(
            f"'{out}' was interrupted, and its checkpoint '{folder}' is gone; pass --force to begin"
            " anew"
        )
    return None


def _unmeasured(described: Mapping[str, Any]) -> dict[str, Any]:
    """What a run is of, but for how long it is."""
    settings = {k: v for k, v in described["settings"].items() if k not in _LENGTHS}
    return {**described, "settings": settings}


def _compared(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _NOT_COMPARED}


@contextmanager
def saying_how_to_go_on(folder: Path | None) -> Iterator[None]:
    """Ctrl-C before there is anything to show: one sentence about what is left."""
    from adjoin.inference.checkpoint import is_checkpoint

    try:
        yield
    except KeyboardInterrupt:
        if folder is not None and is_checkpoint(folder):
            say_how_to_go_on(folder)
        raise


def say_how_to_go_on(folder: Path) -> None:
    """What is left when a run is stopped, in one sentence."""
    say(f"what was drawn is kept in {folder}: the same command with --resume goes on from there")
