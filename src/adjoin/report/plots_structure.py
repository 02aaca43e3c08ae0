"""Pictures of what was found: structures, terms, lags, and how many terms, prior and posterior.

Receives posteriors; each function draws into the Axes it is given, or into a figure of its own, and
returns the Axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from adjoin.arrays import Float1D, Int1D
from adjoin.checks import make_generator, require_count
from adjoin.grammar import Structure
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.equation import function_text, term_text
from adjoin.grammar.terms import Term, function_key
from adjoin.inference.prior import Prior, draw_prior_terms
from adjoin.posterior import Posterior
from adjoin.report.colours import BLUE, FAINT, INK, MUTED, ORANGE, PAPER
from adjoin.report.labels import (
    add_legend,
    label_axes,
    list_rows,
    room,
    say,
    shorten,
    shorten_middle,
    write,
)
from adjoin.report.style import FONT, SMALL, WIDE, count_by_whole_numbers, dress, new_axes, width_of
from adjoin.report.trees import figure_derived
from adjoin.results.masses import is_settled, mass_text

if TYPE_CHECKING:
    import pandas as pd

ROW = 0.21  # inches for a row with its label beside it
_SURE = 0.995  # shown as 1.00
_PRIOR_DRAWS = 5000  # a bar of 0.2 is then known to 0.006


def plot_structures(
    posterior: Posterior,
    most: int = 10,
    ax: Axes | None = None,
    width: float = WIDE,
    masses: Sequence[str] = (),
) -> Axes:
    """Masses of the most frequent structures: a bar for all chains, a mark for each alone.

    A structure too long to be written is told by what it has more and less than the first.

    Parameters
    ----------
    posterior : Posterior
    most : int
        So many rows; the rest is summed up in one more.
    ax : Axes, optional
    width : float
        Of the new figure in inches, where no `ax` is given.
    masses : sequence of str
        What is written beside the rows, where more is known than these draws say. Default: the
        mass, or its range where the chains do not agree on it.
    """
    require_count("most", most)
    frame = posterior.structures
    n_shown = min(most, len(frame))
    n_rest = len(frame) - n_shown
    n_rows = n_shown + bool(n_rest)
    ax = dress(ax or new_axes(width, 0.8 + 0.38 * n_rows), "x")
    columns = ["mass", *(f"chain_{i}" for i in posterior.chain_numbers)]
    mass = frame[columns].to_numpy()
    mass = np.vstack([mass[:n_shown], mass[n_shown:].sum(axis=0)])[:n_rows]
    n_letters = room(width_of(ax) - 1.0)
    best = posterior.structure(0)
    labels = [
        _structure_label(rank, posterior.structure(rank), best, n_letters)
        for rank in range(n_shown)
    ]
    labels += [f"{n_rest:,} more"] if n_rest else []
    row = np.arange(n_rows)
    colours = [BLUE] * n_shown + [MUTED] * bool(n_rest)
    whose = "all chains" if posterior.n_chains > 1 else f"chain {posterior.chain_numbers[0]}"
    ax.barh(row + 0.22, mass[:, 0], height=0.3, color=colours, alpha=0.75, label=whose)
    if posterior.n_chains > 1:
        place = np.repeat(row + 0.22, posterior.n_chains)
        ax.plot(mass[:, 1:].ravel(), place, "|", color=INK, markersize=9, label="each chain alone")
    highest = float(mass.max())
    for i, label in enumerate(labels):
        write(ax, 0.0, i - 0.16, label, color=INK, fontsize=FONT, va="center")
        text = probability_text(mass[i, 0], 3)
        if i < n_shown and not is_settled(mass[i, 1:]):
            text = mass_text(mass[i, 0], mass[i, 1:])
        if i < len(masses) and " to " in masses[i]:
            text = masses[i]
        beside = ax.get_yaxis_transform()
        write(ax, 1.0, i - 0.16, text, transform=beside, ha="right", va="center", fontsize=FONT)
    ax.set_xlim(0.0, min(1.08 * highest, 1.01))
    list_rows(ax, [""] * n_rows)
    label_axes(ax, "probability of the structure")
    add_legend(ax, [whose])
    return ax


def _structure_label(rank: int, structure: Structure, best: Structure, n_letters: int) -> str:
    """The structure where it fits, else how it differs from the first one."""
    number, text = f"{rank + 1}.  ", str(structure) if len(structure) else "0 (noise only)"
    if len(number + text) <= n_letters:
        return number + text
    count = f"{len(structure)} terms"
    if rank == 0:
        return shorten(f"{number}{count}: {text}", n_letters)
    more = [term_text(term) for term in structure if term not in best.terms]
    less = [term_text(term) for term in best if term not in structure.terms]
    written = "".join([*(f" + {term}" for term in more), *(f" - {term}" for term in less)])
    label = f"{number}{count}: 1st{written}"
    if len(label) <= n_letters:
        return label
    changes = [
        f"{len(part)} {word}" for word, part in (("added", more), ("left out", less)) if part
    ]
    return f"{number}{count}: 1st, {', '.join(changes)}"


def plot_inclusion(
    posterior: Posterior, most: int = 25, ax: Axes | None = None, width: float = WIDE
) -> Axes:
    r"""The probability of each term being in the model, and what it was a priori.

    .. math:: P(t \in T \mid y) \quad\text{and}\quad λ_t p(t) / (1 + λ_t p(t))

    Parameters as for `plot_structures`; terms beyond `most` are left out, and after five of them
    those below 1 %. Where certain terms alone would fill the picture, they are only counted.
    """
    frame, label = leading_terms(posterior, most), "probability of being in the model"
    is_sure = posterior.terms["inclusion"] >= _SURE
    if len(frame) == most < len(posterior.terms) and is_sure.sum() >= most:
        left = posterior.terms[~is_sure & (posterior.terms["inclusion"] >= 0.01)]
        frame = left.head(most) if len(left) else frame
        label += f" ({len(frame)} open terms; {is_sure.sum()} certain ones not shown)"
    else:
        label += of_how_many(posterior, len(frame))
    ax = dress(ax or new_axes(width, 0.9 + ROW * max(len(frame), 2)), "x")
    if frame.empty:
        return say(ax, "no term was ever in the model")
    fixed = set(map(term_text, posterior.grammar.alphabet.fixed))
    is_fixed = np.array([text in fixed for text in frame["term"]])
    inclusion = frame["inclusion"].to_numpy()
    row = np.arange(len(frame))
    for chosen, colour, name in ((~is_fixed, BLUE, "posterior"), (is_fixed, MUTED, "fixed term")):
        if chosen.any():
            ax.barh(
                row[chosen], inclusion[chosen], height=0.6, color=colour, alpha=0.75, label=name
            )
    prior = _prior_inclusion(posterior, frame["term"])
    free = ~is_fixed
    ax.plot(prior[free], row[free], "|", color=ORANGE, ms=9, mew=1.6, label="prior")
    list_terms(ax, frame["term"], [probability_text(p) for p in inclusion])
    ax.set_xlim(0.0, 1.005)
    label_axes(ax, label)
    add_legend(ax, ["posterior", "fixed term"], share=0.5)
    return ax


def _prior_inclusion(posterior: Posterior, texts: Iterable[str]) -> Float1D:
    """Of each term, by text; 1 for fixed terms."""
    prior, alphabet = posterior.settings.prior, posterior.grammar.alphabet
    terms = {term_text(term): term for term in _vocabulary(posterior)}
    return np.array(
        [
            1.0 if terms[text] in alphabet.fixed.terms else prior.inclusion(terms[text], alphabet)
            for text in texts
        ]
    )


def _vocabulary(posterior: Posterior) -> list[Term]:
    """The terms by the numbers they have in ``posterior.draws.term``."""
    return [posterior.encoding.term(key) for key in posterior.term_keys]


def leading_terms(posterior: Posterior, most: int) -> pd.DataFrame:
    """The rows of ``posterior.terms`` worth a place: at most so many, after five none below 1 %."""
    require_count("most", most)
    n_likely = int(np.sum(posterior.terms["inclusion"] >= 0.01))
    return posterior.terms.head(min(most, max(n_likely, 5)))


def probability_text(p: float, digits: int = 2) -> str:
    """``0.97``; ``<0.01`` for what is more than nothing."""
    smallest = 10.0**-digits
    return f"<{smallest:.{digits}f}" if 0.0 < p < 0.5 * smallest else f"{p:.{digits}f}"


def of_how_many(posterior: Posterior, n_shown: int) -> str:
    """Says how many of the terms are shown, where not all are."""
    total = len(posterior.terms)
    return f" ({n_shown}\u00a0of\u00a0{total}\u00a0terms)" if n_shown < total else ""


def list_terms(ax: Axes, texts: Iterable[str], values: Iterable[str]) -> None:
    """A row for each term: its text on the left, as far as there is room, a value on the right."""
    n_letters = room(0.42 * width_of(ax), SMALL)
    list_rows(ax, [shorten_middle(text, n_letters) for text in texts])
    for i, value in enumerate(values):
        write(ax, 1.02, i, value, transform=ax.get_yaxis_transform(), va="center")


def plot_lags(posterior: Posterior, ax: Axes | None = None, width: float = WIDE) -> Axes:
    """The probability that some term has a signal at a lag; functions have rows of their own.

    Parameters as for `plot_structures`.
    """
    share = lag_probabilities(posterior)
    n_lags = posterior.max_lag + 1
    ax = dress(ax or new_axes(width, 0.85 + 0.3 * len(share)), "")
    letters = max(map(len, share))
    cell = (width_of(ax) * 72.0 - 0.6 * SMALL * letters - 40.0) / n_lags  # points
    for row, values in enumerate(share.values()):
        for lag in np.flatnonzero(np.isfinite(values)).tolist():
            p = float(values[lag])
            corner = (lag - 0.46, row - 0.44)
            ax.add_patch(Rectangle(corner, 0.92, 0.88, facecolor=BLUE, alpha=p, linewidth=0))
            ax.add_patch(
                Rectangle(corner, 0.92, 0.88, facecolor="none", edgecolor=FAINT, linewidth=0.5)
            )
            if cell >= 18.0 and p >= 0.005:
                text = f"{p:.2f}".removeprefix("0")
                colour = PAPER if p > 0.55 else INK
                write(ax, lag, row, text, color=colour, ha="center", va="center", fontsize=7.0)
    list_rows(ax, list(share))
    ax.set_xlim(-0.6, n_lags - 0.4)
    count_by_whole_numbers(ax.xaxis)
    ax.spines["bottom"].set_visible(False)
    label_axes(ax, "lag in samples (full colour: always in the model)")
    return ax


def lag_probabilities(posterior: Posterior) -> dict[str, Float1D]:
    r"""For each signal, plain or in a function, P(some term has it at lag l), l = 0 … max_lag.

    .. math:: P(\exists\, t \in T: a_l \in t \mid y)

    NaN at lags that the grammar does not have.
    """
    encoding, draws = posterior.encoding, posterior.draws
    draw = np.repeat(np.arange(len(draws)), np.diff(draws.offset))  # of every coefficient
    terms = [set(term) for term in _vocabulary(posterior)]
    found: dict[str, Float1D] = {}
    for atom in sorted(
        encoding.atoms,
        key=lambda a: (encoding.names.position(a.signal), function_key(a.function)),
    ):
        label = function_text(atom.function, atom.signal)
        row = found.setdefault(label, np.full(posterior.max_lag + 1, np.nan))
        has_atom = np.array([atom in term for term in terms], dtype=bool)
        row[atom.lag] = len(np.unique(draw[has_atom[draws.term]])) / len(draws)
    return found


def plot_prior_posterior(posterior: Posterior, ax: Axes | None = None, width: float = WIDE) -> Axes:
    """The number of terms, before and after the data; the prior from 5,000 draws of its own.

    Parameters as for `plot_structures`.
    """
    before = _prior_sizes(posterior.settings.prior, posterior.encoding)
    after = np.diff(posterior.draws.offset)
    ax = dress(ax or new_axes(width, 2.4))
    last = int(max(before.max(), after.max()))
    edges = np.arange(last + 2) - 0.5
    for counts, colour, name in ((before, ORANGE, "prior"), (after, BLUE, "posterior")):
        share = np.bincount(counts, minlength=last + 1) / len(counts)
        ax.stairs(share, edges, color=colour, alpha=0.15, fill=True)
        ax.stairs(share, edges, color=colour, linewidth=1.3, label=name)
    ax.set_xlim(-0.5, last + 0.5)
    ax.set_ylim(bottom=0.0)
    count_by_whole_numbers(ax.xaxis)
    label_axes(ax, "number of terms", "probability")
    add_legend(ax)
    return ax


@lru_cache(maxsize=8)  # a page draws it wide and narrow
def _prior_sizes(prior: Prior, encoding: Encoding) -> Int1D:
    """The numbers of terms of structures drawn from the prior.

    As `Prior.draw_structure` draws them, all at once: each is hit by a Poisson number of terms, and
    a term of odds x that was hit is kept with probability x / (1 + x) / (1 - exp(-x)). Where the
    rate is learned, they are drawn one after another.
    """
    rng, fixed, table = make_generator(0), encoding.alphabet.fixed.terms, prior.table(encoding)
    if prior.terms_shape is not None:
        found = prior.draw_learned(rng, encoding, _PRIOR_DRAWS)[1]
    else:
        n_hits = rng.poisson(prior.expected_terms, _PRIOR_DRAWS)
        hits = draw_prior_terms(rng, encoding, table, int(n_hits.sum()))
        number = {term: i for i, term in enumerate(dict(hits))}
        odds = prior.expected_terms * np.array([*dict(hits).values()])
        keep = odds / (1.0 + odds) / -np.expm1(-odds)
        keep[[number[term] for term in fixed if term in number]] = 0.0  # they are in all the same
        owner = np.repeat(np.arange(_PRIOR_DRAWS), n_hits)
        once = np.unique(np.stack([owner, [number[term] for term, _ in hits]]), axis=1)
        kept = once[0, rng.random(once.shape[1]) < keep[once[1]]]
        found = np.bincount(kept, minlength=_PRIOR_DRAWS)
    found = found + len(fixed)
    if table.constant_share > 0.0:
        found = found + (rng.random(_PRIOR_DRAWS) * (1.0 + prior.constant_odds) >= 1.0)
    return found


def figure_map_trees(posterior: Posterior) -> Figure:
    """The derived tree of the most frequent structure, above the derivation that built it."""
    grammar = posterior.grammar
    return figure_derived(grammar.derive(posterior.structure(0)), grammar.tag)
