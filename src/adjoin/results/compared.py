"""What a comparison of candidates says: the held-out simulation first, then what is less sure.

Receives a `Discovered` and the verdict on the run itself; gives the verdict that pages, terminals
and JSON show, the answer to whether the equation is the only one, and why it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adjoin.levels import CAUTION, GOOD, POOR, worst
from adjoin.results.advice import Verdict
from adjoin.results.answers import Answer
from adjoin.results.discovered import ALIKE, HARDLY, Discovered
from adjoin.results.objections import Objection
from adjoin.results.tested import Tested, explained, level_of
from adjoin.text import UNKNOWN, counted, percent, rounded

_FAR_APART = 0.1  # standard deviations between the equation's run and the average of the best
_NEARLY = 1.1  # times its error: a setting within it is nearly as good
_MOST_NAMED = 3
_MOST_STEPS = 3
_UNSETTLED = "the chains have not converged"
_COVER_RANGE = "measure records that each cover the whole range of the signals"


def judge(
    found: Discovered,
    own: Verdict,
    on_columns: Sequence[Objection] = (),
    agreement: str = GOOD,
    tested: Tested | None = None,
) -> Verdict:
    """Put the comparison before what is said of the run itself.

    A held-out simulation cannot see that columns are wrong, nor that the posterior was not reached:
    `on_columns` and `agreement`, the level at which the chains of a posterior of structures agree,
    can only take away from what it says. With test data, what these say comes first: nobody
    asks for a test to be told of something else, and what was held out helped to choose. The worse
    counts.
    """
    beyond, chosen = _on_range(found), found.chosen
    said_first = [one.short for one in on_columns]
    if chosen is None:
        best = _missed(found.best["validation"]["nmse"])
        reasons = (
            "no candidate simulates held-out data surely better than the mean of the output: the"
            f" best of {found.n_tried:,} {best}",
            *beyond,
            *(one.reason for one in on_columns),
        )
        summary = "; ".join([*said_first, "no model: nothing was found"])
        return Verdict(POOR, summary, reasons, (), own.next, cause="nothing was found")
    missed = _mean_error(chosen)
    said = [f"{_held_out_words(found, chosen)}, {_compared(found, chosen)}", *beyond]
    if found.n_lost:
        said.append(f"{found.n_lost:,} of {found.n_tried:,} candidates ran away on held-out data")
    if found.apart is not None:
        said.append(
            f"its simulation is {found.apart:.1%} of the output's standard deviation from the"
            " average of the best candidates"
        )
    level = level_of(missed)
    is_far = found.apart is not None and found.apart > _FAR_APART
    is_unsettled = agreement == POOR and _is_sampled(chosen)
    doubts = [(one.level, one.short) for one in on_columns]
    doubts += [] if tested is None else [(tested.level, tested.cause)]
    doubts += [
        (level, "it misses a part of what was held out"),
        (CAUTION if is_unsettled else GOOD, _UNSETTLED),
        (CAUTION if beyond else GOOD, "some held-out data go beyond the range that was fitted"),
        (CAUTION if is_far else GOOD, "the average of the best simulates otherwise"),
    ]
    summary = {
        GOOD: f"it simulates held-out data: {100.0 - missed:.1f} % of the variance explained",
        CAUTION: f"it simulates held-out data in part: {100.0 - missed:.0f} % of the variance"
        " explained",
        POOR: f"it does not simulate held-out data: {missed:.0f} % of the variance missed",
    }[level]
    if tested is not None:
        summary = f"{tested.summary} (held-out data: {explained(missed)})"
    steps = (*own.next, *((_COVER_RANGE,) if beyond else ()))
    on_model = (*said, *own.on_model)
    return Verdict(
        worst(doubt for doubt, _ in doubts),
        "; ".join([*said_first, summary, *([_UNSETTLED] if is_unsettled else ())]),
        on_model,
        own.on_chains,
        steps[:_MOST_STEPS],
        own.settled,
        next((cause for doubt, cause in doubts if doubt != GOOD), ""),
    )


def origin(found: Discovered) -> str:
    """Where the equation comes from, as a sentence without its end."""
    chosen = found.chosen
    if chosen is None:
        return "Nothing better than the mean of the output was found"
    if _is_sampled(chosen):
        return (
            "The equation is the most frequent structure of a posterior that simulates held-out"
            f" data as well as the best of what was compared ({_at_most(HARDLY)}), fitted to all"
            " data"
        )
    if chosen is found.best:
        return (
            "The equation simulates held-out data best of those that were held against them"
            " twice; it is fitted to all data"
        )
    return (
        "The equation has the fewest terms of those that simulate held-out data as well as the"
        f" best ({_at_most(ALIKE)}), fitted to all data"
    )


def why_chosen(found: Discovered) -> list[str]:
    """Which one was chosen, against which other, and by which rule: whole sentences."""
    chosen, best = found.chosen, found.best
    if chosen is None:
        return ["None of them is surely better than the mean of the output."]
    its, theirs = (
        f"{error_text(row)} of the variance with {counted(row['n_terms'], 'term')}"
        for row in (chosen, best)
    )
    if chosen is best:
        said = [f"The best of those held twice was chosen: it misses {its}."]
    elif _is_sampled(chosen):
        said = [
            f"The chosen one is a posterior: it misses {its}, the best single model of those held"
            f" twice {theirs}."
        ]
        if not _is_better(chosen, best):
            said.append(
                "A posterior whose chains agree says how sure each term is, and is chosen, however"
                f" many terms it has, where it is as good: {_at_most(HARDLY)}."
            )
    else:
        said = [
            f"The best of those held twice misses {theirs}; the chosen one misses {its}. It has"
            f" the fewest terms of those that are as good: {_at_most(ALIKE)}, and by no more than"
            " the standard error of the difference."
        ]
    error = chosen["validation"]["nmse"]
    once = [row["validation"]["nmse"] for row in found.candidates if not row["is_checked"]]
    if n_above := sum(other is not None and other < error for other in once):
        held = "class above it was" if n_above == 1 else "classes above it were"
        said.append(
            f"{n_above} {held} held once only (no ✓), without the error of a second look, which"
            " is often the larger one."
        )
    return said


def time_taken(timing: Mapping[str, float]) -> str:
    """How long it took by the clock, and which steps."""
    return (
        f"{timing['total_s']:.0f} s: the comparison {timing['scan_s']:.0f} s, the second look and"
        f" posteriors {timing['settle_s']:.0f} s"
    )


def error_text(row: Mapping[str, Any]) -> str:
    """The held-out error of a candidate and its standard error, in percent."""
    nmse, sd = row["validation"]["nmse"], row["validation"]["sd"]
    if nmse is None:
        return f"{UNKNOWN} %"
    if sd is None or not math.isfinite(sd):
        return f"{nmse:.3g} %"
    return " ± ".join(rounded([nmse, sd], sd)) + " %"


def answer_compared(found: Discovered) -> Answer:
    """Whether the equation is the only one, where its terms were chosen and not sampled."""
    chosen = found.chosen
    if chosen is None:
        return Answer(POOR, "There is none", ("nothing is better than the mean of the output",))
    limit = _NEARLY * chosen["validation"]["nmse"]
    good = [
        row
        for row in found.candidates
        if row["validation"]["nmse"] is not None and row["validation"]["nmse"] <= limit
    ]
    # Errors of one look and of two are not comparable, and tables show the latter.
    near = {row["words"] for row in good if _has_second_look(row)} - {chosen["words"]}
    once = {row["words"] for row in good} - near - {chosen["words"]}
    others = {0: "no other setting has", 1: "one other setting has"}.get(
        len(near), f"{len(near)} other settings have"
    )
    which = "the best" if chosen is found.best else "one as good as the best"
    reasons = [
        f"its terms are those of {which} of {_tried(found)} on held-out data, and were then kept",
        f"{others} a model that is nearly as good (held-out error within {_NEARLY - 1.0:.0%})",
    ]
    if once:
        settings = "1 more was" if len(once) == 1 else f"{len(once)} more were"
        reasons.append(f"{settings} held once only, where errors are often too small to compare")
    if found.apart is not None:
        reasons.append(
            f"the average of the best simulates {found.apart:.1%} of a standard deviation apart"
        )
    if near:
        return Answer(CAUTION, "No: others simulate nearly as well", tuple(reasons))
    return Answer(CAUTION, "The best of what was tried", tuple(reasons))


def _mean_error(row: Mapping[str, Any]) -> float:
    """What is to be expected of data like those held out; earlier versions have one error."""
    error = row["validation"]
    return float(error.get("mean_nmse", error["nmse"]))


def _held_out_words(found: Discovered, chosen: Mapping[str, Any]) -> str:
    """What the chosen one misses: on average, and, if that is another figure, typically."""
    mean, folds = _mean_error(chosen), counted(len(found.folds), "fold")
    if mean <= _NEARLY * chosen["validation"]["nmse"]:
        return f"simulations of held-out data miss {error_text(chosen)} of the variance ({folds})"
    return (
        f"simulations of held-out data miss {mean:.3g} % of the variance on average, and"
        f" {error_text(chosen)} typically (geometric mean over {folds})"
    )


def _missed(nmse: float | None) -> str:
    return "runs away" if nmse is None else f"misses {nmse:.3g} % of the variance"


def _compared(found: Discovered, chosen: Mapping[str, Any]) -> str:
    """How the chosen one stands among the others."""
    best, tried = found.best, f"the best of {_tried(found)} after a second look"
    if chosen is best:
        return tried
    error, n_terms = best["validation"]["nmse"], best["n_terms"]
    why = ""
    if _is_better(chosen, best):
        return f"better than {tried} ({error:.3g} % with {counted(n_terms, 'term')})"
    if _is_sampled(chosen):
        why = ", as a posterior says how sure each term is"
    elif chosen["n_terms"] < n_terms:
        why = f", as it has {chosen['n_terms']} terms"
    return (
        f"as good as {tried} ({error:.3g} % with {counted(n_terms, 'term')}), and preferred to"
        f" it{why}"
    )


def _is_better(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(row["validation"]["nmse"] < other["validation"]["nmse"])


def _has_second_look(row: Mapping[str, Any]) -> bool:
    return bool(row["is_checked"]) or _is_sampled(row)


def _is_sampled(row: Mapping[str, Any]) -> bool:
    return bool(row["settings"].get("sampled"))


def _at_most(times: float) -> str:
    return f"a squared error at most {percent(times - 1.0, 0)} larger"


def _tried(found: Discovered) -> str:
    return f"{counted(found.n_tried, 'model')} in {counted(found.n_settings, 'setting')}"


def _on_range(found: Discovered) -> list[str]:
    """Where what was held out goes beyond what was fitted."""
    if not found.beyond:
        return []
    named = [f"{name} ({times:.1f} times)" for name, times in found.beyond.items()][:_MOST_NAMED]
    return [f"some held-out data go beyond the range that was fitted: {', '.join(named)}"]
