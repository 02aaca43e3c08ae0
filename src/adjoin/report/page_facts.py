"""What the page says in a few words: facts of the first screen, questions, and what was tried.

Receives an `Assessment`; gives the templates plain rows of text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.grammar.equation import term_text
from adjoin.inference.rows import Rows
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.model import Model
from adjoin.modelling.mathml import equation_mathml
from adjoin.posterior import Posterior
from adjoin.report.findings import noise_in_words
from adjoin.report.page_words import LONG_TERM, breakable, n_on_first_screen, without_level
from adjoin.report.series import unit_of
from adjoin.results.assessment import Assessment
from adjoin.results.compared import error_text, why_chosen
from adjoin.results.discovered import Discovered
from adjoin.text import counted, percent

_LEAST_SHARE = 0.001


class Shown(NamedTuple):
    """An equation in pieces that lines can break between, and those of them that come first."""

    pieces: Sequence[Markup]
    first: Sequence[Markup]
    n_more: int
    is_text: bool


def shown_equation(model: Model, data: Dataset | None = None) -> Shown:
    """Typeset; as text that can break where names are so long that no formula would fit.

    Where it is cut, what contributes most to the fitted `data` comes first.
    """
    terms = [term_text(term) for term in model.structure]
    is_text = max(map(len, terms), default=0) > LONG_TERM
    pieces = _in_text(model) if is_text else equation_mathml(model)
    if n_on_first_screen(terms) == len(terms) or data is None:
        return Shown(pieces, pieces, 0, is_text)
    order = np.argsort(-_contributions(model, data), kind="stable").tolist()
    first = order[: n_on_first_screen([terms[i] for i in order])]
    shown = _in_text(model, first) if is_text else equation_mathml(model, first)
    return Shown(pieces, shown, len(terms) - len(first), is_text)


def _contributions(model: Model, data: Dataset) -> Float1D:
    """How far each term moves the output: |coefficient| times the deviation of its factors."""
    offset = np.array([model.offsets.get(name, 0.0) for name in data.names.ordered[:-1]])
    rows = Rows(data, model.structure.max_lag, Scaling(data.names, offset, np.ones(len(offset))))
    return np.asarray(np.abs(model.theta) * rows.design(model.structure).std(axis=0))


def _in_text(model: Model, order: Sequence[int] | None = None) -> list[Markup]:
    """The printed equation, one piece before the first term and one per term."""
    left, right = model.equation.split(" = ", 1)
    pieces, begin, depth = [], 0, 0
    for i, letter in enumerate(right):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and right[i : i + 3] in (" + ", " - "):
            pieces.append(right[begin:i])
            begin = i + 1
    pieces.append(right[begin:])
    if order is not None:
        # The first of all has no sign if it is positive, the others always have.
        signed = [pieces[0] if pieces[0].startswith("-") else f"+ {pieces[0]}", *pieces[1:]]
        pieces = [signed[i] for i in order]
        pieces[0] = pieces[0].removeprefix("+ ")
    whole = Markup('<span class="term">{}</span>')
    return [
        whole.format(breakable(piece.replace("-", "−", piece.startswith("-"))))
        for piece in (f"{left} =", *pieces)
    ]


def facts_of(found: Assessment[Posterior]) -> list[dict[str, str]]:
    """How well it fits, how large it is, its noise, and how sure it is where that is known."""
    posterior, part, model = found.posterior, found.parts[-1], found.model
    errors, unit = part.scores.free_run, unit_of(part.data, part.data.names.output)
    error = "" if errors.rmse is None else f"RMSE {errors.rmse:.3g}{f' {unit}' if unit else ''}"
    note = f"{error}, on {part.words}" if error else f"on {part.words}"
    value = "runs away" if errors.rmse is None else "–"
    fit = []
    if errors.nmse is not None and errors.fit is not None:
        value = f"{100.0 - errors.nmse:.1f} %" if errors.nmse < 100.0 else "nothing"
        note = f"of the variance of {part.words}; {error}"
        shown = f"{errors.fit:.1f}".replace("-", "−")
        fit = [{"name": "Fit index", "value": shown, "note": "= 100 (1 − RMSE/sd)"}]
    noise, on_noise = noise_in_words(posterior)
    rows = [
        {"name": "Simulation explains", "value": value, "note": note},
        *fit,
        {
            "name": "Terms",
            "value": str(len(model.theta)),
            "note": f"degree up to {model.structure.max_degree}, lag up to"
            f" {model.structure.max_lag}",
        },
        {
            "name": "Noise (sd)",
            "value": f"{noise} {unit}" if unit and noise[:1].isdigit() else noise,
            "note": on_noise,
        },
    ]
    if (share := _share(found)) is not None:
        rows.append(share)
    return rows


def lags_of(model: Model) -> str:
    """Which lags of every signal the equation has: ``y 1 to 3; u 0, 2``; empty if none."""
    found: dict[str, set[int]] = {}
    for atom in (atom for term in model.structure for atom in term):
        found.setdefault(atom.signal, set()).add(atom.lag)
    order = (model.names.output, *model.names.inputs)
    known = [name for name in order if name in found]
    others = sorted(set(found) - set(known))  # past noise
    return "; ".join(f"{name} {_ranges(found[name])}" for name in (*known, *others))


def _ranges(lags: set[int]) -> str:
    """Whole numbers, with those that follow each other as a range."""
    runs: list[list[int]] = []
    for lag in sorted(lags):
        if runs and lag == runs[-1][-1] + 1:
            runs[-1].append(lag)
        else:
            runs.append([lag])
    texts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(texts)


def _share(found: Assessment[Posterior]) -> dict[str, str] | None:
    """How many draws have this structure: nothing where that would be read as more than it is."""
    posterior = found.posterior
    agreement = found.diagnostics["verdict"]["agreement"]
    is_known = found.is_mass_settled() and POOR not in (agreement, found.verdict.level)
    if posterior.settings.keeps_terms or not is_known:
        return None
    whose = f"draws of chain {posterior.chain_numbers[0]}" if found.is_selected else "draws"
    return {
        "name": "This structure",
        "value": found.mass_percent(),
        "note": f"of the {whose}; {len(posterior.structures):,} structures seen",
    }


def questions_of(
    found: Assessment[Posterior], findings: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """The questions with the level and the words of their answers, and where more is said."""
    verdict = found.diagnostics["verdict"]
    if found.all_chains.n_chains == 1:
        chains = "Cannot be said: there is one"
    elif verdict["agreement"] == GOOD != verdict["level"]:
        chains = "Yes, but on an equation that falls short"
    elif verdict["agreement"] == GOOD and found.all_chains.settings.keeps_terms:
        chains = "Yes, on the coefficients: the terms were given"
    else:
        chains = {GOOD: "Yes", CAUTION: "With reservations", POOR: "No"}[verdict["agreement"]]
    rows = [
        ("trust", "Can I trust its simulation?", found.trusted.level, found.trusted.short),
        ("unique", "Is this equation the only one?", found.unique.level, found.unique.short),
        (
            "residuals",
            "Is something left in the residuals?",
            found.exhausted.level,
            found.exhausted.short,
        ),
        ("chains", "Did the chains agree?", verdict["level"], chains),
    ]
    if findings:
        levels = [str(finding["level"]) for finding in findings]
        n_bad = sum(level != GOOD for level in levels)
        level = POOR if POOR in levels else CAUTION if n_bad else GOOD
        words = (
            f"{counted(n_bad, 'finding')} to look at" if n_bad else "Nothing that was looked for"
        )
        rows.append(("data", "Is something wrong with the data?", level, words))
    return [
        {"id": name, "ask": ask, "level": level, "words": without_level(level, words)}
        for name, ask, level, words in rows
    ]


def tried_of(discovered: Discovered) -> dict[str, Any]:
    """What was compared, in sentences and rows."""
    rows = [_tried_row(row) for row in discovered.candidates]
    sentences = [f"Held out in turn: {'; '.join(discovered.folds)}."]
    if len(discovered.folds) == 1:
        sentences = [f"Held out: {discovered.folds[0]}."]
    sentences += why_chosen(discovered)
    if discovered.apart is not None:
        sentences.append(
            f"The simulation of the equation is {_share_text(discovered.apart)} of the output's"
            f" standard deviation from the median of the best {len(discovered.average)} candidates'"
            " simulations, which is the safer one where they differ; adjoin simulate writes it too."
        )
    if discovered.beyond:
        named = ", ".join(
            f"{name} ({times:.1f} times)" for name, times in discovered.beyond.items()
        )
        sentences.append(f"Some held-out data go beyond the range that was fitted: {named}.")
    away = f"; {discovered.n_lost:,} of them ran away" if discovered.n_lost else ""
    n = discovered.n_settings
    classes = "1 class" if n == 1 else f"{n} classes"
    return {
        "summary": f"{discovered.n_tried:,} models of {classes} were compared by their simulations"
        f" of held-out data{away}.",
        "sentences": sentences,
        "rows": rows,
        "asked": [
            (str(name).replace("_", " "), _plainly(value))
            for name, value in discovered.settings.items()
            if name != "folds"
        ],
    }


def _tried_row(row: Mapping[str, Any]) -> dict[str, Any]:
    error, seconds = row["validation"], row.get("cpu_s")
    lost = int(error["n_lost"])
    is_lost = lost > 0 or error["nmse"] is None or not math.isfinite(error["nmse"])
    return {
        "words": row["words"],
        "n_terms": row["n_terms"],
        "is_lost": is_lost,
        "error": f"runs away ({counted(lost, 'part')})" if is_lost else error_text(row),
        "is_checked": row["is_checked"],
        "chosen": row["chosen"],
        "cpu": "–" if seconds is None else f"{seconds:.1f}",
    }


def _share_text(share: float) -> str:
    return percent(share) if share >= _LEAST_SHARE else f"less than {percent(_LEAST_SHARE)}"


def _plainly(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    return "–" if value in (None, "") else str(value)
