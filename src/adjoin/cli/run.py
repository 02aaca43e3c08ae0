"""``adjoin report`` and ``adjoin simulate``: what to do with a run or a model once it is there."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjoin.cli.output import JsonOption, console, print_json, say, write_text
from adjoin.errors import AdjoinError, DivergenceWarning

if TYPE_CHECKING:
    import pandas as pd

    from adjoin.model import Model
    from adjoin.posterior import Posterior


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="What adjoin fit --out wrote.")],
    out: Annotated[
        Path | None, typer.Option(help=r"The page.  \[default: RUN with the ending .html]")
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Test data with the same columns; more: one record each."),
    ] = None,
    title: Annotated[str, typer.Option(help=r"At the head of the page.  \[default: data]")] = "",
    draws: Annotated[int, typer.Option(min=1, help="Models drawn for the bands.")] = 200,
    model: Annotated[Path | None, typer.Option(help="Also write the equation as JSON.")] = None,
    python: Annotated[Path | None, typer.Option(help="Also write it as a Python function.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Also write a LaTeX table of terms.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a page of a run: equation, structures, predictions, residuals, diagnostics.

    One file without scripts or network, for a browser, a phone or a printer.

    [dim]Example:[/dim] adjoin report rig.nc --data test.csv --model rig.json
    """
    page = out or run.with_suffix(".html")
    written = {"report": page, "model": model, "python": python, "latex": latex}
    require_writable(written, [run, *(data or [])])
    screen = console(stderr=True)
    with screen.status("reading the run …"):
        from adjoin.data.dataset import Dataset
        from adjoin.files import write_whole
        from adjoin.posterior import load
        from adjoin.report.findings import describe_findings
        from adjoin.results.assessment import assess

        every = load(run)
        test = None
        if data:
            test = Dataset.join([_measured(file, every) for file in data])
    with screen.status("simulating …"):
        found = assess(every, test, draws)
    write_page(found, page, title, run.name)
    chosen = found.posterior.map_model
    if model is not None:
        chosen.save(model)
    if python is not None:
        write_whole(python, chosen.python())
    if latex is not None:
        write_whole(latex, found.posterior.latex())
    paths = {name: str(path) for name, path in written.items() if path is not None}
    if as_json:
        facts = describe_findings(found.posterior, every)
        print_json({**facts, **found.describe(), "written": paths})
        return
    verdict = every.diagnostics["verdict"]
    screen.print(f"equation   {chosen.format(4)}", markup=False, highlight=False)
    for question, answer in (
        ("unique?", found.unique),
        ("free run?", found.trusted),
        ("residuals?", found.exhausted),
    ):
        say(f"{question:11}{answer.short}: {'; '.join(answer.reasons)}")
    say(f"{'chains?':11}{verdict['summary']}")
    for path in paths.values():
        say(f"wrote {path}")


def require_writable(outputs: dict[str, Path | None], inputs: Sequence[Path]) -> None:
    """Refuse, before anything is computed, what could not be written or would overwrite another.

    Parameters
    ----------
    outputs : dict
        What is to be written, by what it is called.
    inputs : sequence of Path
        What is read.
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
        taken[path.resolve()] = f"the {name} '{path}'"


def write_page(found: Any, page: Path, title: str, source: str) -> None:
    """Write the page of an `Assessment`, with a sign of life: it takes some seconds."""
    with console(stderr=True).status("drawing the page …"):
        from adjoin.files import write_whole
        from adjoin.report.page import make_page

        write_whole(page, make_page(found, title, source))


def _measured(file: Path, every: Posterior) -> Any:
    """Test data with the columns of the run."""
    from adjoin.data.dataset import Dataset, Record
    from adjoin.data.readers import read_experiment

    u, y = read_experiment(file, every.data.names)
    if y is None:
        raise AdjoinError(f"{file}: there is no column '{every.data.names.output}' to score on")
    return Dataset((Record(u, y),), every.data.names, every.data.sampling_time, file.name)


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
    as_json: JsonOption = False,
) -> None:
    """Run a model on new data, freely or some steps ahead.

    Where the data have the output too, its first samples seed the run and the rest is scored;
    otherwise it starts at rest. Of a run with held-out data, the chain they select is taken.

    [dim]Example:[/dim] adjoin simulate rig.json new.csv --out simulated.csv
    """
    out = None if out == Path("-") else out
    require_writable({"table": out}, [model, data])
    with console(stderr=True).status("simulating …"):
        from adjoin.data.readers import read_experiment
        from adjoin.files import write_whole
        from adjoin.model import Model
        from adjoin.posterior import load

        found: Model | Posterior
        found = Model.read(model) if _is_json(model) else load(model).selected
        single = found if isinstance(found, Model) else found.map_model
        u, y = read_experiment(data, single.names)
        frame, facts = _run(found, single, u, y, steps_ahead, draws, seed)
    if as_json:
        series = {str(name): [_finite(x) for x in frame[name]] for name in frame}
        facts["series"] = series if out is None else None
        facts["out"] = None if out is None else str(out)
    text = frame.to_csv(index=False, lineterminator="\n")
    if out is not None:
        write_whole(out, text)
    if as_json:
        print_json(facts)
        return
    if out is None:
        write_text(text)
    else:
        say(f"wrote {out}")
    for line in _say(facts):
        say(line)


def _is_json(file: Path) -> bool:
    """A model file begins with a brace; what cannot be read is left to the reader of runs."""
    try:
        with file.open("rb") as stream:
            return stream.read(64).lstrip().startswith(b"{")
    except OSError:
        return False


def _run(
    found: Model | Posterior,
    single: Model,
    u: Any,
    y: Any,
    steps_ahead: int | None,
    draws: int,
    seed: int,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The series as a table, and what is to be said of them."""
    import numpy as np
    import pandas as pd

    from adjoin.posterior import Posterior
    from adjoin.scores import fit_index, rmse

    if steps_ahead is not None and y is None:
        raise AdjoinError(
            f"predicting {steps_ahead} steps ahead needs the measured output"
            f" '{single.names.output}', which the data do not have"
        )
    n_seed = found.max_lag
    n_start = 0 if y is None else n_seed
    if len(u) <= n_seed:
        raise AdjoinError(f"{len(u)} samples do not reach beyond the {n_seed} that seed the run")
    rest = np.full(n_seed, single.offsets.get(single.names.output, 0.0))
    seeds = rest if y is None else y[:n_seed]
    facts: dict[str, Any] = {"equation": single.equation, "n_samples": len(u), "n_seed": n_start}
    if isinstance(found, Posterior):
        facts["chains"] = list(found.chain_numbers)
    columns: dict[str, Any] = {"sample": range(len(u))}
    if y is not None:
        columns["measured"] = y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)  # said below
        is_free = steps_ahead is None
        series = single.simulate(u, seeds) if is_free else single.predict(u, y, steps_ahead or 1)
    columns["model"] = series
    facts["diverged"] = bool(pd.isna(series).any())
    if isinstance(found, Posterior):
        if steps_ahead is not None:
            prediction = found.predict(u, y, steps_ahead, draws, seed)
        else:
            prediction = found.simulate(u, seeds, draws, seed)
        columns |= {"mean": prediction.mean, "sd": prediction.sd}
        columns |= {f"q{100 * q:g}": band for q, band in prediction.bands.items()}
        facts["diverged_draws"] = prediction.diverged
        facts["coverage_95"] = None if y is None else prediction.coverage(y)
    if y is not None:
        pair = y[n_seed:], series[n_seed:]
        facts["scores"] = {"rmse": _finite(rmse(*pair))}
        if len(set(pair[0])) > 1:
            facts["scores"]["fit_percent_of_sd"] = _finite(fit_index(*pair))
    return pd.DataFrame(columns), facts


def _say(facts: dict[str, Any]) -> list[str]:
    lines = []
    if "chains" in facts:
        numbers = ", ".join(map(str, facts["chains"]))
        lines.append(f"of chain {numbers}" if len(facts["chains"]) == 1 else f"chains {numbers}")
    if facts["n_seed"] == 0:
        lines.append("there is no measured output, so it starts at rest")
    if facts["diverged"]:
        lines.append("the model's run diverged; the samples lost are empty in the table")
    elif scores := facts.get("scores"):
        fit = scores.get("fit_percent_of_sd")
        share = "" if fit is None else f", fit {fit:.1f} % (100 (1 - RMSE/sd))"
        lines.append(f"RMSE {scores['rmse']:.4g}{share}, {facts['n_seed']} samples not scored")
    if facts.get("coverage_95") is not None:
        lines.append(f"the 95 % band holds {facts['coverage_95']:.1%} of the measured samples")
    if facts.get("diverged_draws"):
        lines.append(f"{facts['diverged_draws']:.1%} of the draws diverged")
    return lines


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
