"""What a run found, as tables for the terminal and as the JSON object of the command line.

Receives an `Assessment`; `describe` gives a dictionary, `print_findings` shows the same numbers.
Neither computes any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from adjoin.grammar.equation import term_text
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.report.ladder_words import distance_unit, ladder_line, span
from adjoin.results.assessment import Assessment
from adjoin.results.collection import Collection
from adjoin.results.discovered import Discovered
from adjoin.results.scoring import Scores
from adjoin.results.stage_words import in_words
from adjoin.text import UNKNOWN, percent, rounded, summed_up
from adjoin.version import __version__

_MOST_STRUCTURES = 10
_MOST_TERMS = 40
_SMALLEST_MASS, _SMALLEST_INCLUSION = 0.005, 0.01  # below, a table only counts
_BAR, _WIDE = 10, 100  # characters
_NARROWEST = 10  # characters for a term
_SHORT, _SHORT_TEXT = 8, 120  # terms, and characters, that fit on a line or two
_FRAME = 10  # characters around the columns of the structures
_PARTS = re.compile(r"[^_*)]*[_*)]+|[^_*)]+")
_SHADE = {GOOD: "green", CAUTION: "yellow", POOR: "red"}


def describe(assessment: Assessment[Any]) -> dict[str, Any]:
    """The JSON object of ``adjoin fit``, ``report`` and ``demo``.

    None stands for scores that do not exist, and for infinite numbers, which JSON does not have.
    """
    posterior, model = assessment.posterior, assessment.model
    diagnostics = dict(assessment.diagnostics)
    if assessment.is_selected:
        diagnostics["selected_chain"] = posterior.chain_numbers[0]
    facts = {
        "equation": model.equation,
        "offsets": dict(model.offsets),
        "structures": _describe_structures(assessment),
        "n_structures": len(posterior.structures),
        "n_rows": posterior.n_rows,
        "terms": posterior.terms.to_dict("records"),
        "noise": {name: float(value) for name, value in posterior.noise.items()}
        | {"is_told": posterior.is_noise_told},
        "scores": {part.name: part.scores.plain for part in assessment.parts},
        "comparison": {
            part.name: [row.plain for row in part.comparison] for part in assessment.parts
        },
        "runaways": {part.name: part.runaways for part in assessment.parts},
        "white_box": _describe_white_box(assessment),
        "residual_tests": [test.summary for test in assessment.residual_tests],
        "answers": {
            "unique": assessment.unique.plain,
            "trusted": assessment.trusted.plain,
            "left_in_residuals": assessment.exhausted.plain,
        },
        "verdict": assessment.verdict.plain,
        "alternatives": [group.plain for group in assessment.all_chains.alternatives],
        "agreement_of_free_runs": assessment.agreement.plain if assessment.agreement else None,
        "diagnostics": diagnostics,
        "timing": dict(posterior.timing),
        "settings": dict(posterior.settings),
        "version": __version__,
    }
    if assessment.discovered is not None:
        facts |= _describe_discovered(assessment.discovered)
        facts["timing"] |= dict(assessment.discovered.timing)
        facts["settings"] |= {"discover": dict(assessment.discovered.settings)}
    described: dict[str, Any] = _as_json(facts)
    return described


def _describe_discovered(found: Discovered) -> dict[str, Any]:
    """What was compared; ``held_out`` is the error of the chosen candidate on all folds."""
    chosen = found.chosen
    return {
        "candidates": [dict(row) for row in found.candidates],
        "n_tried": found.n_tried,
        "folds": list(found.folds),
        "held_out": None if chosen is None else chosen["validation"],
        "apart_from_average": found.apart,
    }


def _describe_structures(assessment: Assessment[Any]) -> list[dict[str, Any]]:
    posterior = assessment.posterior
    masses = posterior.structures["mass"].head(_MOST_STRUCTURES)
    models = [posterior.model(rank) for rank in range(len(masses))]
    return [
        {
            "structure": [term_text(term) for term in model.structure],
            "equation": model.equation,
            "mass": float(mass),
            "mass_by_chain": list(assessment.masses(rank)),
            "is_settled": assessment.is_mass_settled(rank),
        }
        for rank, (model, mass) in enumerate(zip(models, masses, strict=True))
    ]


def _describe_white_box(assessment: Assessment[Any]) -> dict[str, Any] | None:
    model = assessment.white_box
    if model is None:
        return None
    scores = {part.name: part.white_box.plain for part in assessment.parts if part.white_box}
    return {"equation": model.equation, "noise_sd": model.noise_sd, "scores": scores}


def print_findings(
    console: Console, assessment: Assessment[Any], spell: Callable[[str], str] = str
) -> None:
    """Show what was found: equation, structures, terms, noise, scores, verdict, and the chains.

    `spell` is given every line with advice, to spell arguments as the reader would pass them.
    """
    posterior, model = assessment.posterior, assessment.model
    if assessment.is_selected:
        console.print(
            f"[bold]chain {posterior.chain_numbers[0]}[/bold] has the smallest free-run error on"
            " the validation part; equation and tables are of this chain alone"
        )
    console.print("[bold]equation[/bold]  (most frequent structure, coefficients at their mode)")
    for line in fold(model.equation, console.width - 4).split("\n"):
        console.print(f"  {escape(line)}", soft_wrap=False)
    if model.offsets:
        stated = ", ".join(f"{name} from {text}" for name, text in model.printed_offsets.items())
        console.print(f"  [dim]in deviations: {escape(stated)}[/dim]")
    if model.digits.remark:
        console.print(f"  [dim]{escape(model.digits.remark)}[/dim]")
    console.print()
    _print_structures(console, assessment)
    print_terms(console, posterior)
    console.print(f"[bold]noise[/bold]      {_say_noise(posterior)}")
    for part in assessment.parts:
        said = _say_scores(part.scores, part.prediction.in_words())
        console.print(f"[bold]{escape(part.name):11}[/bold]{said}")
    if assessment.white_box is not None:
        text, remark = assessment.white_box.equation, assessment.white_box.digits.remark
        note = "; ".join(filter(None, ("fixed terms alone", remark)))
        console.print(f"[bold]white box[/bold]  {escape(text)}  ({escape(note)})")
        for part in assessment.parts:
            if part.white_box is not None:
                console.print(f"           {escape(part.name)}: {_say_scores(part.white_box)}")
    for line in [*_say_verdict(assessment), *_say_chains(assessment)]:
        console.print(spell(line))
    if ladders := assessment.diagnostics.get("ladder"):
        unit = distance_unit(posterior) or f"by {posterior.objective.distance}"
        console.print(f"[bold]ladder[/bold]     {escape(ladder_line(ladders, unit))}")
    for line in _say_effort(assessment):
        console.print(line)


def _print_structures(console: Console, assessment: Assessment[Any]) -> None:
    posterior = assessment.posterior
    masses = posterior.structures["mass"].head(_MOST_STRUCTURES)
    shown = [
        (float(mass), assessment.mass_text(rank), [term_text(t) for t in posterior.structure(rank)])
        for rank, mass in enumerate(masses)
        if rank == 0 or mass >= _SMALLEST_MASS
    ]
    is_agreed = all(assessment.is_mass_settled(rank) for rank in range(len(shown)))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mass" if is_agreed else "mass by chain", justify="right", no_wrap=True)
    table.add_column("terms", justify="right", no_wrap=True)
    table.add_column("structure", overflow="fold")
    best = shown[0][2]
    beside = max(len("mass by chain"), *(cell_len(text) for _, text, _ in shown)) + len("terms")
    width = max(console.width - beside - _FRAME, _NARROWEST)
    for _, text, terms in shown:
        written = fold(structure_difference(terms, best), width)
        table.add_row(text, str(len(terms)), escape(written))
    n_more = len(posterior.structures) - len(shown)
    if n_more > 0:
        rest = max(1.0 - math.fsum(mass for mass, *_ in shown), 0.0)
        table.add_row(f"{rest:.3f}" if is_agreed else "", "", f"[dim]{n_more} more[/dim]")
    console.print(table, soft_wrap=False)


def structure_difference(structure: list[str], best: list[str]) -> str:
    """A structure in full if it is short, else what it has more and less than the best one."""
    whole = " + ".join(structure) or "0"
    is_best = structure == best
    if len(structure) <= _SHORT and (is_best or len(whole) <= _SHORT_TEXT):
        return whole
    added = [term for term in structure if term not in best]
    dropped = [term for term in best if term not in structure]
    if not added + dropped:
        return "the equation above"
    if len(added) + len(dropped) > _SHORT:
        return f"the first with {len(added)} other terms, without {len(dropped)} of its own"
    with_these = ["with " + ", ".join(added)] if added else []
    without = ["without " + ", ".join(dropped)] if dropped else []
    return "the first " + " and ".join(with_these + without)


def fold(text: str, width: int) -> str:
    """A text in lines of that width, broken at spaces, and within long names after ``_*)``."""
    lines = [""]
    for word in text.split(" "):
        parts = [word] if cell_len(word) <= width else _PARTS.findall(word)
        for i, part in enumerate(parts):
            before = " " if i == 0 and lines[-1] else ""
            if cell_len(lines[-1] + before + part) > width and lines[-1]:
                lines.append(part)
            else:
                lines[-1] += before + part
    return "\n".join(lines)


def print_terms(console: Console, posterior: Collection) -> None:
    """Show the terms with their coefficients, and with their inclusion where they were sampled."""
    terms = posterior.terms.to_dict("records")
    shown = [term for term in terms if term["inclusion"] >= _SMALLEST_INCLUSION][:_MOST_TERMS]
    rows = []
    for term in shown:
        bar = "█" * round(_BAR * term["inclusion"]) if console.width >= _WIDE else ""
        share = f"{term['inclusion']:.3f} [cyan]{bar}[/cyan]".replace(" [cyan][/cyan]", "")
        numbers = summed_up(*(term[name] for name in ("mean", "sd", "q025", "q975")))
        rows.append([escape(term["term"]), share, *numbers])
    if rest := terms[len(shown) :]:
        share = f"[dim]≤ {rest[0]['inclusion']:.3f}[/dim]"
        rows.append([f"[dim]{len(rest)} more[/dim]", share, "", "", "", ""])
    names = ["term", "inclusion", "mean", "sd", "2.5 %", "97.5 %"]
    if posterior.settings.keeps_terms:  # 1.000 of every term would read as certainty
        _leave_out("inclusion", names, *rows)
    widths = [
        max(cell_len(Text.from_markup(text).plain) for text in (name, *(row[i] for row in rows)))
        for i, name in enumerate(names)
    ]
    # A number is never cut: on a narrow terminal terms are folded between their factors. Where the
    # spread alone keeps a factor from its line, it is left out (the interval says the same).
    factors = [factor for term in shown for factor in term["term"].split("*")]
    longest = max(map(cell_len, factors), default=0)
    room = console.width - sum(widths[1:]) - 3 * len(names) - 2
    if max(room, _NARROWEST) < longest <= room + widths[names.index("sd")] + 3:
        del widths[names.index("sd")]
        _leave_out("sd", names, *rows)
    frame = 3 * len(names) + 2
    widths[0] = min(widths[0], max(_NARROWEST, console.width - sum(widths[1:]) - frame))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, column_width in zip(names, widths, strict=True):
        side: Literal["left", "right"] = "left" if name in ("term", "inclusion") else "right"
        table.add_column(name, justify=side, overflow="fold", width=column_width)
    for row in rows:
        name = fold(row[0], widths[0]) if "[dim]" not in row[0] else row[0]
        table.add_row(f"[bold]{name}[/bold]", *row[1:])
    width, console.width = console.width, max(console.width, sum(widths) + frame)
    console.print(table, soft_wrap=False)
    console.width = width


def _leave_out(name: str, names: list[str], *rows: list[str]) -> None:
    """Take a column out of a table."""
    at = names.index(name)
    for row in (*rows, names):
        del row[at]


def _say_scores(scores: Scores, draws: str = "") -> str:
    error, share, _ = scores.free_run
    if error is None:
        pieces = ["[red]free run runs away[/red]"]
    else:
        normalised = "" if share is None else f" (NMSE {share:.3g} % of the variance)"
        pieces = [f"free run RMSE {error:.4g}{normalised}"]
    if scores.one_step.rmse is not None:
        pieces.append(f"one step ahead RMSE {scores.one_step.rmse:.4g}")
    if scores.coverage is not None:
        pieces.append(f"{percent(scores.coverage)} in the 95 % band")
    if scores.diverged and draws:
        pieces.append(f"[red]{draws}[/red]")
    return ", ".join(pieces)


def noise_in_words(posterior: Collection) -> tuple[str, str]:
    """The standard deviation of the noise, a dash where nothing is known, and how sure it is."""
    sd = posterior.draws.noise_sd
    if posterior.power == 0.0:
        return UNKNOWN, "the likelihood is off"
    if not all(
        t.ladder is None or np.isfinite(t.ladder.tolerance[-1, 0]) for t in posterior.traces
    ):
        return UNKNOWN, "the tolerance is infinite"
    if not posterior.objective.has_likelihood and posterior.objective.is_squared:
        # One value per chain, which no datum had a say in.
        limits = span([float(sd.min()), float(sd.max())])
        apart = f"s of the chains, {limits}" if " to " in limits else ""
        return f"{sd.mean():.4g}", f"implied by the tolerance{apart}; no posterior"
    noise = posterior.noise
    mean, low, high = rounded([noise["mean"], noise["q025"], noise["q975"]], noise["sd"])
    whose = "" if posterior.objective.has_likelihood else "error of each draw's free run, "
    rho = [f"{value:.2f}" for value in posterior.draws.rho.mean(axis=0)]
    memory = f", correlated with its past by {' and '.join(rho)}" if rho else ""
    if posterior.is_noise_told:
        return mean, f"{whose}95 % in [{low}, {high}]{memory}"
    if posterior.prior.noise_scale is None:
        return f"at most {noise['q975']:.2g}", "which is below what can be told from these data"
    return mean, f"95 % in [{low}, {high}], raised by the prior's noise_scale"


def centring_in_words(posterior: Collection) -> str:
    """Why signals are in deviations from their means or not, where a short run decided that."""
    gain = posterior.settings.center_gain
    if gain is None:
        return ""
    size = f"{abs(gain):.1f}" if abs(gain) < 100 else f"{abs(gain):,.0f}"
    better, worse = "raw signals", "deviations from their means"
    if gain > 0.0:
        better, worse = worse, better
    kept = "" if (gain > 0.0) == posterior.settings.center else ", too little to change units for"
    return f"{better} explain the data better than {worse}, by {size} nats in a short run{kept}"


def _say_noise(posterior: Collection) -> str:
    value, note = noise_in_words(posterior)
    if value == UNKNOWN:
        return f"not determined: {note}"
    return f"standard deviation {value}, {escape(note)}"


def _say_verdict(assessment: Assessment[Any]) -> list[str]:
    """The verdict with what speaks of the model; the reasons of the chains have their own lines."""
    verdict = assessment.verdict
    lines = [_shaded("verdict", verdict.level, verdict.summary)]
    lines += [f"           · {escape(reason)}" for reason in verdict.on_model]
    return [*lines, *(f"           → {escape(step)}" for step in verdict.next)]


def _say_chains(assessment: Assessment[Any]) -> list[str]:
    diagnostics = assessment.diagnostics
    verdict, power = diagnostics["verdict"], diagnostics["likelihood_power"]
    acceptance = ", ".join(f"{chain['acceptance']:.1%}" for chain in diagnostics["chains"])
    lines = [_shaded("chains", verdict["level"], verdict["summary"])]
    lines += [f"           · {escape(reason)}" for reason in assessment.verdict.on_chains]
    lines.append(f"           · structure moves accepted {acceptance}")
    for i, sentence in enumerate(assessment.verdict.settled):
        head = "[bold]settled[/bold]    " if i == 0 else "           "
        lines.append(f"{head}· {escape(sentence)}")
    settings = assessment.posterior.settings
    if settings.is_power_estimated or power != 1.0:
        why = settings.power_note or "autocorrelated samples count less"
        lines.append(f"[bold]likelihood[/bold] to the power {power:.3g} ({escape(why)})")
    return lines


def _shaded(name: str, level: str, summary: str) -> str:
    return f"[bold]{name:11}[/bold][{_SHADE[level]}]{escape(summary)}[/{_SHADE[level]}]"


def _say_effort(assessment: Assessment[Any]) -> list[str]:
    timing, n_rows = assessment.posterior.timing, assessment.posterior.n_rows
    n_samples = sum(chain["n_samples"] for chain in assessment.diagnostics["chains"])
    centring, stages = (
        centring_in_words(assessment.posterior),
        in_words(assessment.all_chains.settings),
    )
    return [
        f"[bold]data[/bold]       {n_rows:,} samples fitted; the others seed the lags",
        *([f"           {centring}"] if centring else []),
        f"[bold]time[/bold]       {timing['sampling_s']:.2f} s for {n_samples:,} samples"
        f" ({timing['total_s']:.2f} s in all)",
        *([f"           {stages}"] if stages else []),
    ]


def _as_json(value: Any) -> Any:
    """Nested values without the numbers that JSON does not know."""
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return _finite(value) if isinstance(value, float) else value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
