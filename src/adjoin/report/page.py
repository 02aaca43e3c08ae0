"""The report: one self-contained HTML page with everything a run found.

Receives an `Assessment`; gives the page as text. No script, no network: equations are MathML, and
pictures SVG, drawn for a wide and for a narrow screen, whose colours follow the reader's light or
dark setting. All text passes the template's escaping.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from markupsafe import Markup

from adjoin.data.dataset import Dataset
from adjoin.files import write_whole
from adjoin.grammar.equation import term_text
from adjoin.inference.objective import Tempered
from adjoin.levels import LEVEL_WORDS
from adjoin.model import Model
from adjoin.modelling.mathml import offsets_mathml, term_mathml
from adjoin.posterior import Posterior
from adjoin.report.colours import THEMES
from adjoin.report.data_findings import data_findings
from adjoin.report.findings import centring_in_words, structure_difference
from adjoin.report.ladder_words import ladder_reasons, ladder_rows
from adjoin.report.page_facts import facts_of, lags_of, questions_of, shown_equation, tried_of
from adjoin.report.page_pictures import draw_all
from adjoin.report.page_words import (
    LONG_NAME,
    LONG_TERM,
    breakable,
    mark_of_run,
    with_code,
)
from adjoin.report.series import unit_of
from adjoin.report.templates import templates
from adjoin.results.assessment import Assessment, assess
from adjoin.results.compared import origin, time_taken
from adjoin.results.diagnose import TERM
from adjoin.results.stage_words import in_words
from adjoin.text import counted, summed_up
from adjoin.version import __version__

_MOST_STRUCTURES = 12
_SMALLEST_INCLUSION = 0.01
_LONG_TITLE = 60  # characters
_MOST_TRIED = 12
_LONG = 30  # rows of a table that are shown at once


def write_report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    test: Dataset | None = None,
    title: str = "",
    draws: int | None = None,
    source: str = "",
) -> None:
    """Write the page of a posterior, whole or not at all.

    Parameters
    ----------
    posterior : Posterior
    path : path
        Where to; such as ``report.html``.
    test : Dataset, optional
        Data to score on that neither fitting nor selecting has seen.
    title : str
        At its head; default: what the data are called.
    draws : int, optional
        How many models are run for the bands. Default: 200, fewer of very long records.
    source : str
        Where the run is kept, if it is, for the lines that make it again.
    """
    write_whole(path, make_page(assess(posterior, test, draws), title, source))


def make_page(
    found: Assessment[Posterior],
    title: str = "",
    source: str = "",
    spell: Callable[[str], str] = str,
) -> str:
    """The whole page.

    Parameters
    ----------
    found : Assessment
    title : str
        At its head; default: what the data are called.
    source : str
        Where the run is kept, if it is, for the lines that make it again.
    spell : callable
        Writes reasons, and what to do about the data, as their reader needs them, such as options
        of a command.
    """
    posterior, all_chains = found.posterior, found.all_chains
    model, data = posterior.map_model, all_chains.data
    names = data.names
    discovered, findings = found.discovered, data_findings(data, spell)
    is_open = not posterior.settings.keeps_terms
    terms = _terms(found)
    sources = ", ".join(names.inputs) or "its own past"
    if len(sources) > _LONG_TITLE:
        sources = counted(len(names.inputs), "input")
    template = templates().get_template("page.html.jinja")
    return template.render(
        title=title or data.label or f"{names.output} from {sources}",
        version=__version__,
        themes=THEMES,
        level_words=LEVEL_WORDS,
        found=found,
        posterior=posterior,
        all_chains=all_chains,
        model=model,
        equation=shown_equation(model, data),
        white_box=None if found.white_box is None else shown_equation(found.white_box),
        offsets=_offsets(model),
        lags=lags_of(model),
        centring=centring_in_words(posterior),
        facts=facts_of(found),
        questions=questions_of(found, findings),
        steps=[with_code(step) for step in found.verdict.next],
        discovered=discovered,
        tried=None if discovered is None else tried_of(discovered),
        origin="" if discovered is None else origin(discovered),
        time_taken=time_taken(discovered.timing) if discovered and discovered.timing else "",
        most_tried=_MOST_TRIED,
        findings=findings,
        prepared=data.prepared,
        unit=unit_of(data, names.output),
        stages=in_words(all_chains.settings),
        structures=_structures(found),
        is_open=is_open,
        terms=terms,
        terms_are_text=any("<math>" not in row["term"] for row in terms),
        ladder=_ladder(found),
        diagnostics=found.diagnostics,
        chain_steps=[with_code(step) for step in found.diagnostics["verdict"]["advice"]],
        convergence=_worst_first(found.diagnostics["convergence"]),
        pictures=draw_all(found),
        data=[_describe(part.label, part.data) for part in found.parts],
        settings=_flat({k: v for k, v in all_chains.settings.items() if k != "stages"}),
        source=source,
        spell=spell,
        mark=mark_of_run(source) if source else "",
        python=_python(found, source or "run.nc"),
        long=_LONG,
    )


def _offsets(model: Model) -> list[Markup]:
    """What each Δ stands for; as text where a name is too long for a formula."""
    if max(map(len, model.offsets), default=0) <= LONG_NAME:
        return offsets_mathml(model)
    return [
        Markup("{} from {}").format(breakable(name), offset)
        for name, offset in model.printed_offsets.items()
    ]


def _structures(found: Assessment[Posterior]) -> list[dict[str, Any]]:
    posterior = found.posterior
    frame = posterior.structures.head(_MOST_STRUCTURES)
    best = [term_text(term) for term in posterior.structure(0)]
    rows: list[dict[str, Any]] = []
    for rank, row in enumerate(frame.to_dict("records")):
        terms = [term_text(term) for term in posterior.structure(rank)]
        rows.append(
            {
                **{str(k): v for k, v in row.items()},
                "mass_text": found.mass_text(rank),
                "text": structure_difference(terms, best),
            }
        )
    return rows


def _terms(found: Assessment[Posterior]) -> list[dict[str, Any]]:
    posterior = found.posterior
    frame = posterior.terms[posterior.terms["inclusion"] >= _SMALLEST_INCLUSION]
    spelled = {term_text(posterior.encoding.term(key)): key for key in posterior.term_keys}
    moved = posterior.map_model.offsets
    is_text = max(map(len, frame["term"]), default=0) > LONG_TERM
    rows = []
    for row in frame.to_dict("records"):
        term = posterior.encoding.term(spelled[row["term"]])
        numbers = summed_up(*(row[name] for name in ("mean", "sd", "q025", "q975")))
        shown = [text.replace("-", "−") for text in numbers]
        rows.append(
            {
                "term": breakable(row["term"])
                if is_text
                else Markup("<math>{}</math>").format(term_mathml(term, moved)),
                "inclusion": row["inclusion"],
                **dict(zip(("mean", "sd", "q025", "q975"), shown, strict=True)),
            }
        )
    return rows


def _ladder(found: Assessment[Posterior]) -> dict[str, Any] | None:
    """What the page says of the tolerance ladders; nothing of a one-step run."""
    objective = found.all_chains.objective
    if objective.ladder is not Tempered.TOLERANCE:
        return None
    ladders = found.diagnostics["ladder"]
    rows = ladder_rows(ladders)
    return {
        "rows": rows,
        "reasons": ladder_reasons(rows),
        "is_squared": objective.is_squared,
        "is_guided": any(row["guided"] is not None for row in rows),
        "n_stages": len(ladders[0]["stages"]) - 1,
    }


def _describe(name: str, data: Dataset) -> dict[str, Any]:
    """One part of the data: its size, and what each signal is like."""
    values = {
        signal: np.concatenate([record.inputs[:, i] for record in data.records])
        for i, signal in enumerate(data.names.inputs)
    }
    values[data.names.output] = np.concatenate([record.output for record in data.records])
    rows = [
        {
            "signal": signal,
            "role": "output" if signal == data.names.output else "input",
            "unit": unit_of(data, signal),
            "mean": float(x.mean()),
            "sd": float(x.std()),
            "min": float(x.min()),
            "max": float(x.max()),
        }
        for signal, x in values.items()
    ]
    return {
        "name": name,
        "label": data.label,
        "n_records": data.n_records,
        "n_samples": data.n_samples,
        "sampling_time": data.sampling_time,
        "has_units": any(data.units),
        "signals": rows,
    }


def _flat(settings: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as rows of name and value."""
    rows: list[tuple[str, str]] = []
    for name, value in settings.items():
        if name == "call":
            continue
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            if isinstance(value, bool):
                shown = "yes" if value else "no"
            elif isinstance(value, float):
                shown = f"{value:g}"
            rows.append((f"{prefix}{name}", "–" if shown in (None, "") else str(shown)))
    return rows


def _python(found: Assessment[Posterior], source: str) -> str:
    """The lines that make the run again, bit for bit, from its file."""
    call = found.all_chains.settings.call
    lines = [
        "import adjoin",
        "",
        f"run = adjoin.load({source!r})",
        f"again = adjoin.Identifier({call}).fit(run.data).posterior_",
    ]
    if found.is_selected:
        lines.append("again = again.with_held_out(run.held_out).selected  # the equation above")
    return "\n".join(lines) + "\n"


def _worst_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What every run has first; then the terms, those that the chains disagree on most first."""
    common = [row for row in rows if row["kind"] != TERM]
    terms = [row for row in rows if row["kind"] == TERM]
    return common + sorted(terms, key=lambda row: -(row["rhat"] or 0.0))
