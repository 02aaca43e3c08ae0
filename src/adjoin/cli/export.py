"""``adjoin export``: what was found as C, an FMU, MATLAB or Python, and whether it runs right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjoin.cli.output import ForceOption, JsonOption, console, print_json, say
from adjoin.cli.run import is_json, require_writable, step_of
from adjoin.errors import AdjoinError
from adjoin.text import counted

if TYPE_CHECKING:
    from adjoin.export.check import Check
    from adjoin.export.ensemble import Ensemble
    from adjoin.model import Model

_ENDINGS = {"c": ".c", "fmu": ".fmu", "matlab": ".m", "python": ".py"}


def export(
    model: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a model file of adjoin report.")
    ],
    c: Annotated[
        Path | None, typer.Option("--c", help="C99: this file, and a header beside it.")
    ] = None,
    fmu: Annotated[
        Path | None, typer.Option(help="An FMU with the C sources, for co-simulation.")
    ] = None,
    matlab: Annotated[
        Path | None, typer.Option(help="A MATLAB function, and run_NAME.m for a CSV file.")
    ] = None,
    python: Annotated[
        Path | None, typer.Option(help="A Python function that needs no package.")
    ] = None,
    fmi: Annotated[int, typer.Option(min=2, max=3, help="Version of the FMU: 2 or 3.")] = 3,
    binary: Annotated[
        bool, typer.Option("--binary", help="Compile the FMU for this machine too.")
    ] = False,
    draws: Annotated[
        int | None,
        typer.Option(min=2, help="So many models of a run side by side, with bands, in C and FMU."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    single: Annotated[
        bool, typer.Option("--float", help="Single precision in C, instead of double.")
    ] = False,
    step: Annotated[
        float | None,
        typer.Option(help=r"Seconds between two samples.  \[default: of the data, where known]"),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compile and run what was written; compare with Python."),
    ] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write what was found as code that runs without adjoin: C, FMU, MATLAB, Python.

    Functions are called as their file. Of a run with held-out data, the chain they select is taken.

    [dim]Example:[/dim] adjoin export rig.nc --c rig.c --fmu rig.fmu --check
    """
    written = {"c": c, "fmu": fmu, "matlab": matlab, "python": python}
    asked = {kind: path for kind, path in written.items() if path is not None}
    _require_kinds(asked)
    if c is not None:
        written["header"] = c.with_name(f"{_name_of(c)}.h")
    if matlab is not None:
        written["script"] = matlab.with_name(f"run_{_name_of(matlab)}.m")
    require_writable(written, [model], force)
    with console(stderr=True).status("writing …"):
        from adjoin.export.card import Card

        lone, many, known = _load(model, draws, seed)
        card = Card.of(lone, known if step is None else step)
        if step is not None:
            card = Card(card.units, step, card.origin).with_step()
        checks = _write(lone, many, card, asked, (fmi, binary, single), check)
    paths = {kind: str(path) for kind, path in written.items() if path is not None}
    is_good = all(found.is_good is not False for found in checks)
    if as_json:
        print_json(_describe(lone, many, card, paths, checks))
    else:
        say(
            f"equation   {lone}"
            if many is None
            else f"ensemble   {counted(len(many.models), 'model')}"
        )
        for found in checks:
            say(_say_check(found))
        for path in paths.values():
            say(f"wrote {path}")
    if not is_good:
        raise typer.Exit(1)


def _require_kinds(asked: dict[str, Path]) -> None:
    if not asked:
        raise AdjoinError("nothing to write; name a file by --c, --fmu, --matlab or --python")
    for kind, path in asked.items():
        if path.suffix != _ENDINGS[kind]:
            raise AdjoinError(f"'{path}' is to be {kind}; let its name end in {_ENDINGS[kind]}")


def _name_of(path: Path) -> str:
    """What functions in a file are called: as the file, where languages have such names."""
    from adjoin.data.names import legal_name
    from adjoin.export.identifiers import C_WORDS, MATLAB_WORDS

    name = legal_name(path.stem).lstrip("_")[:40] or "model"
    name = f"m{name}" if name[0].isdigit() else name
    return f"{name[:34]}_model" if name in C_WORDS | MATLAB_WORDS else name


def _load(path: Path, draws: int | None, seed: int) -> tuple[Model, Ensemble | None, float | None]:
    """The model, the ensemble where one is asked for, and the sampling time where it is known."""
    from adjoin.model import Model
    from adjoin.posterior import load
    from adjoin.results.ensembles import draw_ensemble

    if is_json(path):
        if draws is not None:
            raise AdjoinError(
                f"'{path}' is one model, of which no others can be drawn; give the run it is of, or"
                " leave out --draws"
            )
        return Model.read(path), None, step_of(path)
    posterior = load(path).selected
    many = None if draws is None else draw_ensemble(posterior, draws, seed)
    return posterior.map_model, many, posterior.data.sampling_time


def _write(
    lone: Model,
    many: Ensemble | None,
    card: Any,
    asked: dict[str, Path],
    settings: tuple[int, bool, bool],
    is_checked: bool,
) -> list[Check]:
    """Write what is asked for, and check each of it where that is asked for too."""
    from adjoin.export.c_code import c_code
    from adjoin.export.c_ensemble import c_ensemble
    from adjoin.export.check import check_c, check_fmu, check_matlab, check_python
    from adjoin.export.fmu import write_fmu
    from adjoin.export.matlab_code import matlab_code
    from adjoin.files import write_whole

    fmi, binary, single = settings
    subject = lone if many is None else many
    checks: list[Check] = []
    if "c" in asked:
        name = _name_of(asked["c"])
        code = c_code(lone, name, single, card) if many is None else None
        code = code or c_ensemble(subject, name, single, card)  # type: ignore[arg-type]
        code.save(asked["c"])
        checks += [check_c(subject, code, single)] if is_checked else []
    if "fmu" in asked:
        path = asked["fmu"]
        write_fmu(subject, path, fmi, card.step, _name_of(path), binary, card)
        checks += [check_fmu(subject, path, fmi)] if is_checked else []
    if "matlab" in asked:
        path = asked["matlab"]
        found = matlab_code(lone, _name_of(path), card)
        write_whole(path, found.function)
        write_whole(path.with_name(f"run_{_name_of(path)}.m"), found.script)
        checks += [check_matlab(lone, found.function, _name_of(path))] if is_checked else []
    if "python" in asked:
        text = lone.python()
        write_whole(asked["python"], text)
        checks += [check_python(lone, text)] if is_checked else []
    return checks


def _say_check(found: Check) -> str:
    if found.error is None:
        return f"{found.kind:10} {found.words}"
    verdict = "the same as adjoin" if found.is_good else "NOT the same as adjoin"
    return (
        f"{found.kind:10} {verdict}: largest relative difference {found.error:.1e} ({found.words})"
    )


def _describe(
    lone: Model, many: Ensemble | None, card: Any, paths: dict[str, str], checks: list[Check]
) -> dict[str, Any]:
    """The same as plain values."""
    found = [
        {
            "kind": each.kind,
            "error": each.error if each.error is None or each.error < float("inf") else None,
            "is_good": each.is_good,
            "words": each.words,
        }
        for each in checks
    ]
    origin = None if lone.origin is None else lone.origin.plain
    return {
        "equation": lone.equation,
        "draws": None if many is None else len(many.models),
        "sampling_time": card.step,
        "origin": origin,
        "checks": found,
        "written": paths,
    }
