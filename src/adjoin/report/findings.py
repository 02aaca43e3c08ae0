"""What a run found, as tables for the terminal and as the JSON object of ``adjoin fit``.

Receives a `Posterior` and scores; `describe_findings` gives a dictionary, `print_findings` shows
it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from adjoin.data.dataset import Dataset
from adjoin.errors import DivergenceWarning
from adjoin.grammar.equation import term_text
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.model import Model
from adjoin.posterior import Posterior
from adjoin.report.ladder_words import distance_unit, ladder_line, span
from adjoin.scores import nmse, rmse
from adjoin.text import rounded
from adjoin.version import __version__

_MOST_STRUCTURES = 10
_MOST_TERMS = 40
_SMALLEST_MASS, _SMALLEST_INCLUSION = 0.005, 0.01  # below, a table only counts
_BAR, _WIDE = 10, 100  # characters
_NARROWEST = 10  # characters for a term
_SHORT = 8  # terms that fit on a line or two
_UNKNOWN = "–"
_NO_PARTS: Mapping[str, Dataset] = {}


def score_model(model: Model, data: Dataset, n_seed: int) -> dict[str, float | None]:
    """Free-run and one-step errors after the first `n_seed` samples; None where it diverges."""
    outputs = [record.output for record in data.records]
    inputs = [record.inputs for record in data.records]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)  # None says it
        free = model.simulate(inputs, [y[:n_seed] for y in outputs])
        ahead = model.predict(inputs, outputs)
    measured = [y[n_seed:] for y in outputs]
    free, ahead = [y[n_seed:] for y in free], [y[n_seed:] for y in ahead]
    return {
        "free_run_rmse": _finite(rmse(measured, free)),
        "free_run_nmse_percent_of_variance": _finite(nmse(measured, free)),
        "one_step_rmse": _finite(rmse(measured, ahead)),
    }


def describe_findings(
    posterior: Posterior, every: Posterior | None = None, parts: Mapping[str, Dataset] = _NO_PARTS
) -> dict[str, Any]:
    """The JSON object of ``adjoin fit``; None where a number is infinite, as JSON has none.

    Parameters
    ----------
    posterior : Posterior
        What is reported: all chains pooled, or the selected one.
    every : Posterior, optional
        All chains, for the diagnostics.
    parts : mapping of str to Dataset, optional
        What to score on: the equation, and the fixed terms alone if there are any.
    """
    every, model = every or posterior, posterior.map_model
    n_shown = min(_MOST_STRUCTURES, len(posterior.structures))
    models = [posterior.model(rank) for rank in range(n_shown)]
    diagnostics = dict(every.diagnostics)
    if every is not posterior:
        diagnostics["selected_chain"] = posterior.chain_numbers[0]
    facts = {
        "equation": model.equation,
        "offsets": dict(model.offsets),
        "structures": [
            {
                "structure": [term_text(term) for term in found.structure],
                "equation": found.equation,
                "mass": float(mass),
            }
            for found, mass in zip(models, posterior.structures["mass"], strict=False)
        ],
        "n_structures": len(posterior.structures),
        "n_rows": posterior.n_rows,
        "terms": posterior.terms.to_dict("records"),
        "noise": {name: float(value) for name, value in posterior.noise.items()},
        "scores": {part: score_model(model, data, every.max_lag) for part, data in parts.items()},
        "white_box": _describe_white_box(every, parts),
        "diagnostics": diagnostics,
        "timing": dict(posterior.timing),
        "settings": dict(posterior.settings),
        "version": __version__,
    }
    described: dict[str, Any] = _as_json(facts)
    return described


def _describe_white_box(every: Posterior, parts: Mapping[str, Dataset]) -> dict[str, Any] | None:
    model = every.white_box
    if model is None:
        return None
    scores = {part: score_model(model, data, every.max_lag) for part, data in parts.items()}
    return {"equation": model.equation, "noise_sd": model.noise_sd, "scores": scores}


def print_findings(console: Console, posterior: Posterior, facts: dict[str, Any]) -> None:
    """Show what was found: equation, structures, terms, noise, scores, and how the chains did."""
    model = posterior.map_model
    if "selected_chain" in facts["diagnostics"]:
        console.print(
            f"[bold]chain {facts['diagnostics']['selected_chain']}[/bold] has the smallest free-run"
            " error on the validation part; equation and tables are of this chain alone"
        )
    console.print("[bold]equation[/bold]  (most frequent structure, coefficients at their mode)")
    console.print(f"  {escape(model.format(4))}", soft_wrap=False)
    if model.offsets:
        stated = ", ".join(f"{name} from {offset:.5g}" for name, offset in model.offsets.items())
        console.print(f"  [dim]in deviations: {escape(stated)}[/dim]")
    console.print()
    _print_structures(console, facts)
    _print_terms(console, facts)
    console.print(f"[bold]noise[/bold]      {_say_noise(posterior)}")
    for part, scores in facts["scores"].items():
        console.print(f"[bold]{part:11}[/bold]{_say_scores(scores)}")
    if (known := posterior.white_box) is not None:
        console.print(f"[bold]white box[/bold]  {escape(known.format(4))}  (fixed terms alone)")
        for part, scores in facts["white_box"]["scores"].items():
            console.print(f"           {part}: {_say_scores(scores)}")
    for line in _say_chains(facts):
        console.print(line)
    if ladders := facts["diagnostics"].get("ladder"):
        unit = distance_unit(posterior) or f"by {posterior.objective.distance}"
        console.print(f"[bold]ladder[/bold]     {escape(ladder_line(ladders, unit))}")
    for line in _say_effort(facts):
        console.print(line)


def _print_structures(console: Console, facts: dict[str, Any]) -> None:
    shown = facts["structures"][:1]
    shown += [found for found in facts["structures"][1:] if found["mass"] >= _SMALLEST_MASS]
    n_more = facts["n_structures"] - len(shown)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mass", justify="right", no_wrap=True)
    table.add_column("terms", justify="right", no_wrap=True)
    table.add_column("structure", overflow="fold")
    best = facts["structures"][0]["structure"]
    for found in shown:
        text = structure_difference(found["structure"], best)
        table.add_row(f"{found['mass']:.3f}", str(len(found["structure"])), escape(text))
    if n_more > 0:
        rest = 1.0 - math.fsum(found["mass"] for found in shown)
        table.add_row(f"{max(rest, 0.0):.3f}", "", f"[dim]{n_more} more[/dim]")
    console.print(table, soft_wrap=False)


def structure_difference(structure: list[str], best: list[str]) -> str:
    """A structure in full if it is short, else what it has more and less than the best one."""
    if len(structure) <= _SHORT:
        return " + ".join(structure) or "0"
    added = [term for term in structure if term not in best]
    dropped = [term for term in best if term not in structure]
    if not added + dropped:
        return "the equation above"
    if len(added) + len(dropped) > _SHORT:
        return f"the first with {len(added)} other terms, without {len(dropped)} of its own"
    with_these = ["with " + ", ".join(added)] if added else []
    without = ["without " + ", ".join(dropped)] if dropped else []
    return "the first " + " and ".join(with_these + without)


def _print_terms(console: Console, facts: dict[str, Any]) -> None:
    shown = [term for term in facts["terms"] if term["inclusion"] >= _SMALLEST_INCLUSION]
    shown = shown[:_MOST_TERMS]
    rows = []
    for term in shown:
        bar = "█" * round(_BAR * term["inclusion"]) if console.width >= _WIDE else ""
        share = f"{term['inclusion']:.3f} [cyan]{bar}[/cyan]".replace(" [cyan][/cyan]", "")
        numbers = rounded([term[name] for name in ("mean", "sd", "q025", "q975")], term["sd"])
        rows.append([escape(term["term"]), share, *numbers])
    if rest := facts["terms"][len(shown) :]:
        share = f"[dim]≤ {rest[0]['inclusion']:.3f}[/dim]"
        rows.append([f"[dim]{len(rest)} more[/dim]", share, "", "", "", ""])
    names = ("term", "inclusion", "mean", "sd", "2.5 %", "97.5 %")
    widths = [
        max(cell_len(Text.from_markup(text).plain) for text in (name, *(row[i] for row in rows)))
        for i, name in enumerate(names)
    ]
    # A number is never cut: on a narrow terminal the terms are folded, then lines run over.
    frame = 3 * len(names) + 2
    widths[0] = min(widths[0], max(_NARROWEST, console.width - sum(widths[1:]) - frame))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, (name, width) in enumerate(zip(names, widths, strict=True)):
        side: Literal["left", "right"] = "left" if i < 2 else "right"
        table.add_column(name, justify=side, overflow="fold", width=width)
    for row in rows:
        table.add_row(f"[bold]{row[0]}[/bold]", *row[1:])
    width, console.width = console.width, max(console.width, sum(widths) + frame)
    console.print(table, soft_wrap=False)
    console.width = width


def _say_scores(scores: dict[str, float | None]) -> str:
    free, share = scores["free_run_rmse"], scores["free_run_nmse_percent_of_variance"]
    if free is None:
        text = "[red]free run diverges[/red]"
    else:
        text = f"free run RMSE {free:.4g} (NMSE {share:.3g} % of the variance)"
    ahead = scores["one_step_rmse"]
    return text if ahead is None else f"{text}, one step ahead RMSE {ahead:.4g}"


def noise_in_words(posterior: Posterior) -> tuple[str, str]:
    """The standard deviation of the noise, a dash where nothing is known, and how sure it is."""
    sd = posterior.draws.noise_sd
    if posterior.power == 0.0:
        return _UNKNOWN, "the likelihood is off"
    if not all(
        t.ladder is None or np.isfinite(t.ladder.tolerance[-1, 0]) for t in posterior.traces
    ):
        return _UNKNOWN, "the tolerance is infinite"
    if not posterior.objective.has_likelihood and posterior.objective.is_squared:
        # One value per chain, which no datum had a say in.
        limits = span([float(sd.min()), float(sd.max())])
        apart = f"s of the chains, {limits}" if " to " in limits else ""
        return f"{sd.mean():.4g}", f"implied by the tolerance{apart}; no posterior"
    noise = posterior.noise
    mean, low, high = rounded([noise["mean"], noise["q025"], noise["q975"]], noise["sd"])
    whose = "" if posterior.objective.has_likelihood else "error of each draw's free run, "
    return mean, f"{whose}95 % in [{low}, {high}]"


def _say_noise(posterior: Posterior) -> str:
    value, note = noise_in_words(posterior)
    if value == _UNKNOWN:
        return f"not determined: {note}"
    return f"standard deviation {value}, {escape(note)}"


_SHADE = {GOOD: "green", CAUTION: "yellow", POOR: "red"}


def _say_chains(facts: dict[str, Any]) -> list[str]:
    found = facts["diagnostics"]
    chains, verdict = found["chains"], found["verdict"]
    shade = _SHADE[verdict["level"]]
    acceptance = ", ".join(f"{chain['acceptance']:.1%}" for chain in chains)
    lines = [f"[bold]chains[/bold]     [{shade}]{verdict['summary']}[/{shade}]"]
    lines += [f"           · {escape(reason)}" for reason in verdict["reasons"]]
    lines += [f"           → {escape(advice)}" for advice in verdict["advice"]]
    lines.append(f"           · structure moves accepted {acceptance}")
    power = found["likelihood_power"]
    if facts["settings"].get("is_power_estimated") or power != 1.0:
        why = "residuals look independent" if power == 1.0 else "autocorrelated samples count less"
        lines.append(f"[bold]likelihood[/bold] to the power {power:.3g} ({why})")
    return lines


def _say_effort(facts: dict[str, Any]) -> list[str]:
    timing = facts["timing"]
    n_samples = sum(chain["n_samples"] for chain in facts["diagnostics"]["chains"])
    return [
        f"[bold]data[/bold]       {facts['n_rows']:,} samples fitted; the others seed the lags",
        f"[bold]time[/bold]       {timing['sampling_s']:.2f} s for {n_samples:,} samples"
        f" ({timing['total_s']:.2f} s in all)",
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
