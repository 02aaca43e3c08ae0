"""``adjoin fit``: from data to a posterior."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjoin.cli.data import (
    DataArgument,
    DecimateOption,
    DetrendOption,
    FillOption,
    InputsOption,
    OutputOption,
    SamplingTimeOption,
)
from adjoin.cli.given import given_options
from adjoin.cli.output import (
    DecimalOption,
    ForceOption,
    JsonOption,
    SchedulerOption,
    console,
    print_json,
    say,
    warnings_as_notes,
)
from adjoin.cli.resuming import (
    KeepOption,
    ResumeOption,
    find_finished,
    require_begin,
    say_how_to_go_on,
    saying_how_to_go_on,
)
from adjoin.cli.run import write_page
from adjoin.cli.spelling import spell_for_fit
from adjoin.errors import AdjoinError
from adjoin.exchange.data_files import read_tables

if TYPE_CHECKING:
    from adjoin.posterior import Posterior
    from adjoin.results.assessment import Assessment


ReportOption = Annotated[
    Path | None, typer.Option("--report", help="Also write a page about it, such as rig.html.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="RUN", help="Save the run, e.g. rig.nc, for adjoin report."),
]


def fit(
    context: typer.Context,
    data: DataArgument,
    inputs: InputsOption = None,
    output: OutputOption = None,
    objective: Annotated[
        str,
        typer.Option(
            help="What models are judged by: prediction (one step ahead), simulation (free run, by"
            " its likelihood), abc (free run, by its distance)."
        ),
    ] = "prediction",
    noise: Annotated[
        str,
        typer.Option(help="Of simulation: white, or ar, ar2 (autoregressive) noise on the output."),
    ] = "white",
    horizon: Annotated[
        int | None,
        typer.Option(
            help="Of simulation: runs begin anew from the measured output after so many samples."
            r"  \[default: never]"
        ),
    ] = None,
    past_noise: Annotated[
        bool,
        typer.Option(
            "--past-noise",
            help="Of prediction: models may have past noise e(k-1), … (NARMAX).",
        ),
    ] = False,
    rule: Annotated[
        str, typer.Option(help="Of abc, where its tolerance ends up: default or paper.")
    ] = "default",
    tolerance: Annotated[
        float | None, typer.Option(help=r"Of abc, its final tolerance.  \[default: by the rule]")
    ] = None,
    rungs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of abc, how many tolerances; of simulation and with past noise, how many powers"
            r" of the likelihood.  \[default: 12 tolerances, 4 powers]",
        ),
    ] = None,
    max_lag: Annotated[int, typer.Option(min=1, help="Largest lag.")] = 10,
    max_degree: Annotated[int, typer.Option(min=1, help="Most factors in a term.")] = 4,
    expected_terms: Annotated[float, typer.Option(help="Terms expected a priori, λ_t.")] = 5.0,
    samples: Annotated[
        str | None,
        typer.Option(
            help="Samples per chain, or auto: until the chains agree."
            r"  \[default: auto; of abc 30000, of simulation and with past noise 10000]",
        ),
    ] = None,
    max_samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of auto, the most that a chain draws in all stages."
            r"  \[default: 500000, fewer where that would be in vain]",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Of auto, begin no stage that would end after so many seconds."),
    ] = None,
    chains: Annotated[int, typer.Option(min=1, help="Number of chains.")] = 4,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the run reproducible.")] = None,
    prior: Annotated[str, typer.Option(help="default, or paper (raw units).")] = "default",
    constant: Annotated[
        bool,
        typer.Option(
            "--constant/--no-constant",
            help="Whether there may be a constant; the paper's prior has none.",
        ),
    ] = True,
    initial: Annotated[
        str | None, typer.Option(help='Fixed terms, e.g. "1 + u(k)*abs(u(k)) + udot(k)".')
    ] = None,
    initial_mode: Annotated[
        str,
        typer.Option(help="Fixed terms are learned with the rest (joint) or before (residual)."),
    ] = "joint",
    functions: Annotated[
        str,
        typer.Option(
            help="Functions of signals, e.g. abs,sin; hinge for shapes that bend (saturation)."
        ),
    ] = "",
    knots: Annotated[
        int, typer.Option(min=1, help="Of hinge, how many knots a signal has: at its quantiles.")
    ] = 3,
    grammar: Annotated[
        Path | None, typer.Option(help="A grammar file, instead of lags, degree and functions.")
    ] = None,
    likelihood_power: Annotated[
        str, typer.Option(help="1, a number in [0, 1], or auto (autocorrelated residuals).")
    ] = "1",
    validation: Annotated[
        float | None,
        typer.Option(help="Hold out this last share of the data, and select the chain by it."),
    ] = None,
    sampling_time: SamplingTimeOption = None,
    decimal: DecimalOption = None,
    decimate: DecimateOption = 1,
    detrend: DetrendOption = False,
    fill: FillOption = None,
    burn_in: Annotated[float, typer.Option(help="Share of each chain left out.")] = 0.5,
    thin: Annotated[int, typer.Option(min=1, help="Record every n-th sample.")] = 5,
    center: Annotated[
        bool | None,
        typer.Option("--center/--no-center", help=r"Centre signals.  \[default: where sensible]"),
    ] = None,
    scale: Annotated[
        bool | None,
        typer.Option("--scale/--no-scale", help=r"Scale signals.  \[default: where sensible]"),
    ] = None,
    runaway: Annotated[
        float,
        typer.Option(help="A free run this many half ranges of the output off its middle is lost."),
    ] = 10.0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help=r"Chains at a time.  \[default: one per core]")
    ] = None,
    scheduler: SchedulerOption = None,
    out: OutOption = None,
    page: ReportOption = None,
    resume: ResumeOption = False,
    keep_checkpoint: KeepOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Discover the equation behind measured data, and how sure it is.

    With --out, what is drawn is saved every few seconds: a run that was stopped, or killed, goes
    on by the same command with --resume, and ends as if nothing had happened.

    [dim]Example:[/dim] adjoin fit rig.csv --inputs force --output velocity --validation 0.2
    """
    from adjoin.report import findings

    checkpoint = require_begin(out, page, data, resume, force)
    with console(stderr=True).status("reading the data …"):
        from adjoin import Identifier
        from adjoin.inference.options import identifier_arguments

        everything = read_tables(
            data, inputs, output, sampling_time, decimal, decimate, detrend, fill
        )
        train, held_out = everything, None
        if validation is not None:
            if not 0.0 < validation < 1.0:
                raise AdjoinError(f"--validation is a share between 0 and 1, not {validation:g}")
            train, held_out = everything.split(1.0 - validation)
    identifier = Identifier(
        **identifier_arguments(
            objective=objective,
            noise=noise,
            horizon=horizon,
            past_noise=past_noise,
            rule=rule,
            tolerance=tolerance,
            rungs=rungs,
            max_lag=max_lag,
            max_degree=max_degree,
            expected_terms=expected_terms,
            samples=_samples(samples),
            max_samples=max_samples,
            time_limit=time_limit,
            chains=chains,
            prior=prior,
            constant=constant,
            initial=initial,
            initial_mode=initial_mode,
            functions=functions,
            knots=knots,
            grammar=grammar,
            likelihood_power=_power(likelihood_power),
            burn_in=burn_in,
            thin=thin,
            center=center,
            scale=scale,
            runaway=runaway,
        ),
        seed=seed,
        n_jobs=jobs,
        checkpoint=checkpoint,
        warm_start=resume and checkpoint is not None,
        scheduler=scheduler,
    )
    options, posterior = given_options(context), None
    if resume and not force and out is not None and checkpoint is not None:
        posterior = find_finished("fit", out, checkpoint, options, train, held_out, keep_checkpoint)
    for note in everything.prepared:
        say(f"prepared: {note}")
    is_read = posterior is not None
    if posterior is None:
        with warnings_as_notes(), saying_how_to_go_on(checkpoint):
            identifier.fit(train, held_out=held_out)
        posterior = identifier.posterior_.with_source(
            [str(file) for file in data], validation, options
        )
    done = None if keep_checkpoint or not posterior.settings.is_complete else checkpoint
    assessment, written = _write(posterior, out, page, done, is_read)
    if as_json:
        print_json(findings.describe(assessment) | {"written": written})
    else:
        findings.print_findings(console(), assessment, spell_for_fit)
    if not posterior.settings.is_complete:
        if checkpoint is not None:
            say_how_to_go_on(checkpoint)
        raise typer.Exit(1)


def _write(
    posterior: Posterior,
    out: Path | None,
    page: Path | None,
    done: Path | None,
    is_read: bool,
) -> tuple[Assessment[Posterior], dict[str, str]]:
    """Save the run, assess it, and write its page, where they are wanted; what was written.

    `done` is a checkpoint that is of no more use then.
    """
    if out is not None and not is_read:
        posterior.save(out)  # first of all: whatever comes after, the run is not lost
    if done is not None:
        from adjoin.inference.checkpoint import remove

        remove(done)
    with console(stderr=True).status("simulating …"):
        from adjoin.results.assessment import assess

        assessment = assess(posterior)
        assessment.prepare()
    if page is not None:
        write_page(assessment, page, "", out.name if out else "")
    written = {"run": None if is_read else out, "report": page}
    for path in filter(None, written.values()):
        say(f"wrote {path}")
    return assessment, {name: str(path) for name, path in written.items() if path is not None}


def _samples(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    try:
        return int(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise AdjoinError(f"--samples is a whole number or auto, not '{text}'") from None


def _power(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise AdjoinError(f"--likelihood-power is a number or auto, not '{text}'") from None
