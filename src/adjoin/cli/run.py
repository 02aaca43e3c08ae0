"""``adjoin report`` and ``adjoin simulate``: what to do with a run or a model once it is there."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjoin.cli.data import DecimateOption
from adjoin.cli.output import (
    DecimalOption,
    ForceOption,
    JsonOption,
    console,
    print_json,
    say,
    write_text,
)
from adjoin.cli.spelling import spell_for_discover, spell_for_fit
from adjoin.errors import AdjoinError
from adjoin.exchange.data_files import require_tables
from adjoin.files import remove_abandoned
from adjoin.report.page_words import is_page_of
from adjoin.text import counted

if TYPE_CHECKING:
    from adjoin.data.readers import Experiment
    from adjoin.posterior import Posterior
    from adjoin.results.assessment import Assessment
    from adjoin.results.trial import Trial

_NOT_OF_RUNS = (".csv", ".tsv", ".txt", ".dat", ".mat", ".xlsx", ".json", ".html", ".htm", ".tex")
RUN_HELP = "A run: what --out of adjoin discover or adjoin fit wrote."


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help=RUN_HELP)],
    out: Annotated[
        Path | None,
        typer.Option(help=r"The page.  \[default: RUN with the ending .html]"),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Test data with the same columns; more: one record each."),
    ] = None,
    title: Annotated[str, typer.Option(help=r"At the head of the page.  \[default: data]")] = "",
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=r"Models drawn for the bands.  \[default: 200, fewer of very long records]",
        ),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Also write the equation as JSON.")] = None,
    python: Annotated[Path | None, typer.Option(help="Also write it as a Python function.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Also write a LaTeX table of terms.")] = None,
    decimal: DecimalOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a page of a run: equation, structures, predictions, residuals, diagnostics.

    One file without scripts or network, for a browser, a phone or a printer.

    [dim]Example:[/dim] adjoin report rig.nc --data test.csv --model rig.json
    """
    screen = console(stderr=True)
    with screen.status("reading the run …"):
        from adjoin.data.dataset import Dataset
        from adjoin.data.readers import read_measured
        from adjoin.files import write_whole
        from adjoin.posterior import load
        from adjoin.report.findings import describe
        from adjoin.results.advice import without_steps
        from adjoin.results.assessment import assess
        from adjoin.results.scoring import TEST

        all_chains = load(run)
    page = out or run.with_suffix(".html")
    # The page beside its run is kept up with it; one that is somebody else's is not touched.
    own = () if out or not is_page_of(page, run.name) else ("report",)
    written = {"report": page, "model": model, "python": python, "latex": latex}
    require_writable(written, [run, *(data or [])], force, own)
    with screen.status("simulating …"):
        files = data or []
        tests = [read_measured(file, all_chains.data, decimal) for file in files]
        test = Dataset.join(tests) if tests else None
        test_name = " + ".join(file.name for file in files) or TEST
        assessment = assess(all_chains, test, draws, test_name)
        assessment.prepare()
    write_page(assessment, page, title, run.name)
    if model is not None:
        assessment.model.save(model, all_chains.data.sampling_time)
    if python is not None:
        write_whole(python, assessment.model.python())
    if latex is not None:
        write_whole(latex, assessment.posterior.latex())
    paths = {name: str(path) for name, path in written.items() if path is not None}
    if as_json:
        print_json({**describe(assessment), "written": paths})
        return
    spell = spell_of(assessment)
    screen.print(f"equation   {assessment.model}", markup=False, highlight=False)
    for question, answer in (
        ("unique?", assessment.unique),
        ("free run?", assessment.trusted),
        ("left over?", assessment.exhausted),
    ):
        say(f"{question:11}{answer.short}: {spell('; '.join(answer.reasons))}")
    verdict, chains = assessment.verdict, assessment.diagnostics["verdict"]
    say(f"{'chains?':11}{spell(chains['summary'])}")
    say(f"{'verdict':11}{spell(verdict.summary)}")
    done = without_steps(assessment.trusted, verdict, assessment.tested_on)
    for step in verdict.next or (done,):
        say(f"{'':11}→ {spell(step)}")
    for path in paths.values():
        say(f"wrote {path}")


def require_writable(
    outputs: dict[str, Path | None],
    inputs: Sequence[Path],
    force: bool = False,
    own: Sequence[str] = (),
) -> None:
    """Refuse, before anything is computed, what could not be written or would overwrite another.

    Parameters
    ----------
    outputs : dict
        What is to be written, by what it is called.
    inputs : sequence of Path
        What is read; it is never overwritten.
    force : bool
        Whether other files may be. Else a person at a terminal is asked, and elsewhere it is an
        error.
    own : sequence of str
        The outputs that nobody named and that are known to be ours, of the same run: they are made
        again without a question.
    """
    taken = {file.resolve(): f"'{file}', which is read" for file in inputs}
    for name, path in outputs.items():
        if path is None:
            continue
        if path.is_dir() or not path.resolve().parent.is_dir():
            fault = "is a folder" if path.is_dir() else f"has no folder '{path.parent}' to go to"
            raise AdjoinError(f"'{path}' {fault}; name a file in a folder that exists")
        if path.resolve() in taken:
            raise AdjoinError(f"the {name} would overwrite {taken[path.resolve()]}; name another")
        if name == "run" and path.suffix.lower() in _NOT_OF_RUNS:
            raise AdjoinError(
                f"'{path}' is to be a saved run, which is no {path.suffix} file; name it"
                f" '{path.with_suffix('.nc').name}'"
            )
        taken[path.resolve()] = f"the {name} '{path}'"
        remove_abandoned(path.resolve().parent)
    for name, path in outputs.items():
        if path is not None and path.exists() and name not in own:
            allow_overwriting(path, force)


def allow_overwriting(path: Path, force: bool) -> None:
    """Whether what exists may be overwritten: said by ``--force``, or by a person who is asked."""
    if force:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise AdjoinError(f"'{path}' exists already; pass --force to overwrite it")
    if not typer.confirm(f"'{path}' exists already; overwrite it?", err=True):
        raise AdjoinError(f"'{path}' exists already and stays as it is; name another file")


def write_page(assessment: Assessment[Posterior], page: Path, title: str, source: str) -> None:
    """Write the page of a run, with a sign of life: it takes some seconds."""
    with console(stderr=True).status("drawing the page …"):
        from adjoin.files import write_whole
        from adjoin.report.page import make_page

        write_whole(page, make_page(assessment, title, source, spell_of(assessment)))


def spell_of(assessment: Assessment[Posterior]) -> Callable[[str], str]:
    """How what is said of a run is spelled, for the command that is run next."""
    return spell_for_fit if assessment.discovered is None else spell_for_discover


def simulate(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file, or a run: then with bands.")
    ],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A CSV, text or MATLAB file with the inputs.")
    ],
    out: Annotated[
        Path | None, typer.Option(help=r"A CSV file.  \[default: standard output]")
    ] = None,
    steps_ahead: Annotated[
        int | None,
        typer.Option(min=1, help="Predict so many steps ahead of measured outputs instead."),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Models drawn from a run.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws and their noise.")] = 0,
    decimal: DecimalOption = None,
    decimate: DecimateOption = 1,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a model on new data, freely or some steps ahead.

    Records are run one by one, as a column of records, gaps and the like tell them. Where the data
    have the output too, the first samples of each seed its run and the rest is scored; otherwise
    it starts at rest. Data of another sampling time than the model's are refused; see
    --decimate. Of a run with held-out data, the chain they select is taken. The table has a
    row for each of DATA, and its columns under their own headers.

    [dim]Example:[/dim] adjoin simulate rig.json new.csv --out simulated.csv
    """
    out = None if out == Path("-") else out
    require_writable({"table": out}, [model, data], force)
    with console(stderr=True).status("simulating …"):
        import pandas as pd

        from adjoin.data.readers import read_labelled
        from adjoin.data.timing import require_step
        from adjoin.files import write_whole
        from adjoin.model import Model
        from adjoin.posterior import load
        from adjoin.results.trial import Trial

        _require_order(model, data)
        require_tables([data])
        subject = Model.read(model) if is_json(model) else load(model).selected
        names = subject.names if isinstance(subject, Model) else subject.data.names
        measured = read_labelled(data, names, decimal).decimated(decimate)
        step = step_of(model) if isinstance(subject, Model) else subject.data.sampling_time
        require_step(measured.step, step, "given")
        u, y, bounds = measured.inputs, measured.output, measured.bounds
        trial = Trial(subject, u, y, steps_ahead, draws, seed, bounds)
        table = pd.DataFrame(trial.columns)
    for note in () if isinstance(subject, Model) else subject.data.prepared:
        say(f"the model is of data as prepared: {note}")
    if trial.n_records > 1:
        say(f"{data.name} has {counted(trial.n_records, 'record')}, each run by itself")
    text = _as_csv(trial.columns, measured)
    if out is not None:
        write_whole(out, text)
    if as_json:
        facts = _describe_trial(trial, data.name)
        series = {str(name): [_finite(x) for x in table[name]] for name in table}
        facts["series"] = series if out is None else None
        facts["out"] = None if out is None else str(out)
        print_json(facts)
        return
    if out is None:
        write_text(text)
    else:
        say(f"wrote {out}")
    for line in _say_trial(trial):
        say(line)


def _require_order(model: Path, data: Path) -> None:
    """Refuse arguments in the wrong order: no table is a model, and no model a table."""
    from adjoin.exchange.sealed import is_run

    def is_model(file: Path) -> bool:
        return is_run(file) or is_json(file)

    if model.exists() and is_model(data) and not is_model(model):
        raise AdjoinError(
            f"'{data}' is a model or a run, and '{model}' is neither: were the arguments swapped?"
            " The model or run comes first, then the data"
        )


def step_of(model: Path) -> float | None:
    """The sampling time that a model file has as a remark, if it has."""
    import json

    step = json.loads(model.read_text(encoding="utf-8")).get("sampling_time")
    return None if step is None else float(step)


def _as_csv(series: Mapping[str, Any], measured: Experiment) -> str:
    """The series as a table, with all of the file's own columns under its own headers.

    Where a header of the file is one of ours, ours is said to be simulated. The band of a half is
    the median, and is not written twice.
    """
    import pandas as pd

    signals = [*measured.inputs.T, *([] if measured.output is None else [measured.output])]
    columns = measured.others | dict(zip(measured.headers, signals, strict=True))
    own = {name: columns[name] for name in measured.order}
    found = {name: values for name, values in series.items() if name not in ("measured", "q50")}
    if "sample" in own:  # the file counts its samples itself
        del found["sample"]
    table = {name: found[name] for name in ("sample",) if name in found} | own
    for name, values in found.items():
        table[f"{name} (simulated)" if name in own else name] = values
    return pd.DataFrame(table).to_csv(index=False, lineterminator="\n")


def is_json(file: Path) -> bool:
    """A model file begins with a brace; what cannot be read is left to the reader of runs."""
    try:
        with file.open("rb") as stream:
            return stream.read(64).lstrip().startswith(b"{")
    except OSError:
        return False


def _describe_trial(trial: Trial, file_name: str) -> dict[str, Any]:
    """What is to be said of it, as plain values."""
    facts: dict[str, Any] = {
        "equation": trial.model.equation,
        "n_records": trial.n_records,
        "n_samples": len(trial.inputs),
        "n_seed": trial.n_seed,
        "chains": _chains(trial),
        "scores": {} if trial.scores is None else {file_name: trial.scores.plain},
        "diverged": trial.is_diverged,
        "diverged_draws": None if trial.prediction is None else trial.prediction.diverged,
        "draws": None if trial.prediction is None else trial.prediction.in_words(),
        "ahead": None,
        "warnings": list(trial.beyond),
        "average": None if trial.average_errors is None else trial.average_errors._asdict(),
    }
    if trial.errors_ahead is not None:
        errors = trial.errors_ahead._asdict()
        facts["ahead"] = {"steps": trial.steps_ahead, **errors, "coverage": trial.coverage}
    return facts


def _chains(trial: Trial) -> list[int] | None:
    """The numbers of the chains that were run; a lone model is of none."""
    from adjoin.model import Model

    return None if isinstance(trial.subject, Model) else list(trial.subject.chain_numbers)


def _say_trial(trial: Trial) -> list[str]:
    lines = []
    if chains := _chains(trial):
        numbers = ", ".join(map(str, chains))
        lines.append(f"of chain {numbers}" if len(chains) == 1 else f"chains {numbers}")
    if trial.n_seed == 0 and trial.n_window:
        who = "it starts" if trial.n_records == 1 else "every record starts"
        lines.append(f"there is no measured output, so {who} at rest")
    errors = trial.errors_ahead or (trial.scores and trial.scores.free_run)
    if trial.is_diverged:
        lines.append(_say_lost(trial))
    elif errors:
        share = "" if errors.fit is None else f", fit {errors.fit:.1f} % (100 (1 - RMSE/sd))"
        where = "" if trial.n_records == 1 else " of each record"
        lines.append(f"RMSE {errors.rmse:.4g}{share}, {trial.n_seed} samples{where} not scored")
    if (together := trial.average_errors) is not None and together.rmse is not None:
        share = "" if together.fit is None else f", fit {together.fit:.1f} %"
        lines.append(f"the best candidates together (average): RMSE {together.rmse:.4g}{share}")
    if trial.coverage is not None:
        lines.append(f"the 95 % band holds {trial.coverage:.1%} of the measured samples")
    if trial.prediction is not None and trial.prediction.diverged:
        lines.append(trial.prediction.in_words())
    return [*lines, *(f"note: {said}" for said in trial.beyond)]


def _say_lost(trial: Trial) -> str:
    """From where the model's run is lost, and why."""
    import numpy as np

    at, how = int(np.isnan(trial.columns["model"]).argmax()), "diverges"
    if trial.model.limits is not None:
        lower, upper = trial.model.limits
        how = f"leaves the range it was learned in ({lower:.4g} to {upper:.4g})"
    return f"the model's run {how} at sample {at}; the samples lost are empty in the table"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
