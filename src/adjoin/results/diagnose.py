"""What converged and what did not, in numbers of ArviZ and in words.

Receives a `Collection`; gives the dictionary of `Posterior.diagnostics`. Coefficients come and go
with their terms, so R-hat and effective sample sizes are taken of quantities that every draw has:
number of terms, log posterior, noise, and whether a term or the best structure is in.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float2D
from adjoin.grammar import Structure, Term
from adjoin.grammar.equation import term_text
from adjoin.inference.moves import Moves
from adjoin.levels import CAUTION, GOOD, POOR, Finding, worst
from adjoin.results.collection import Collection
from adjoin.results.objections import Objection
from adjoin.results.power import REMEDY
from adjoin.results.settled import settled
from adjoin.results.stage_words import on_stages
from adjoin.results.unmoved import on_unmoved, unmoved_terms
from adjoin.results.vetoes import vetoes

_LIMIT, _FAR = 1.01, 1.1  # R-hat: Vehtari et al. (2021) ask for 1.01; beyond 1.1 chains differ
_ENOUGH = 100  # effective samples per chain, of the same source
_FEW = 5  # effective samples per chain with which nothing is known
_TAIL = (0.05, 0.95)  # quantiles whose effective sample size is the tail's, as ArviZ takes them
_RARE = 0.05  # inclusion: a term below says little about how the chains did
_MOST_TERMS = 30
_FEW_SHOWN = 3
_OFTEN = 0.01  # of all samples: a proposal refused now and then is what refusing is for
_OFTEN_FOR_NOISE = 0.001  # a noise draw never is, but for a few on the way in
_ALIKE = 1.0 - 1e-12  # correlation of signals that repeat each other
_CLEAR = 0.05  # mass: no structure above means that none stands out


class Quantity(NamedTuple):
    """Something that every draw has, so that chains can be compared by it."""

    kind: str
    words: str
    value: np.ndarray


SIZE, LOG_POSTERIOR, NOISE, DISTANCE = "size", "log_posterior", "noise", "distance"
COEFFICIENT, STRUCTURE, TERM = "coefficient", "structure", "term"
"""Kinds of quantities; there is one of each, but for terms."""


def diagnose(posterior: Collection) -> dict[str, Any]:
    """Acceptance by move, each chain's own answer, convergence, trouble met, and a verdict."""
    moves = np.sum([trace.move for trace in posterior.traces], axis=0)
    trouble = np.sum([trace.trouble for trace in posterior.traces], axis=0)
    best = _best_of_chains(posterior)
    facts: dict[str, Any] = {
        "chains": [_chain_summary(posterior, i, rank) for i, rank in enumerate(best)],
        "chains_agree_on_mode": len(set(best)) == 1,
        "acceptance": {
            name: float(row[2] / row[0]) if row[0] else None
            for name, row in zip(Moves().probabilities, moves, strict=True)
        },
        "convergence": convergence(posterior),
        "likelihood_power": posterior.power,
        "singular_proposals": int(trouble[0]),
        "singular_noise_draws": int(trouble[1]),
        "proposals_beyond_largest_structure": int(trouble[2]),
        "functions_without_effect": list(posterior.run.problem.alike),
        "shared_terms": list(posterior.shared_terms),
        "unmoved_terms": unmoved_terms(posterior),
        "alternatives": [group.plain for group in posterior.alternatives],
    }
    numbered = dict(zip(posterior.chain_numbers, posterior.traces, strict=True))
    facts |= posterior.run.engine.diagnostics(numbered)
    facts["verdict"] = _verdict(posterior, facts)
    return facts


def _best_of_chains(posterior: Collection) -> list[int]:
    """The rank in `structures` of each chain's most frequent structure."""
    return [int(posterior.structures[f"chain_{n}"].argmax()) for n in posterior.chain_numbers]


def _chain_summary(posterior: Collection, i: int, best: int) -> dict[str, Any]:
    draws, trace, number = posterior.draws, posterior.traces[i], posterior.chain_numbers[i]
    is_of_chain = draws.chain == number
    move = trace.move[1:]
    return {
        "chain": number,
        "n_samples": trace.n_samples,
        "mode": str(posterior.structure(best)),
        "mode_mass": float(posterior.structures[f"chain_{number}"].iloc[best]),
        "n_terms_median": float(np.median(draws.size[is_of_chain])),
        "noise_mean": float(draws.noise_sd[is_of_chain].mean()),
        "acceptance": float(move[:, 2].sum() / max(int(move[:, 0].sum()), 1)),
    }


def convergence(posterior: Collection) -> list[dict[str, Any]]:
    """Rank-normalised R-hat and bulk and tail effective sample size, of ArviZ.

    One row per quantity: `quantity` in words, its `kind`, `rhat`, `ess_bulk`, `ess_tail`; None
    where it does not vary or where there are too few chains or draws to say.
    """
    ends = posterior.draws.ends
    return [
        {"quantity": words, "kind": kind, **_statistics(value[ends].astype(float))}
        for kind, words, value in _quantities(posterior)
    ]


def _quantities(posterior: Collection) -> Iterator[Quantity]:
    draws = posterior.draws
    yield Quantity(SIZE, "number of terms", draws.size)
    yield Quantity(LOG_POSTERIOR, "log posterior", posterior.log_posterior)
    if posterior.objective.has_likelihood:
        yield Quantity(NOISE, "noise standard deviation", draws.noise_sd)
        for number, rho in enumerate(draws.rho.T, start=1):
            yield Quantity(NOISE, f"noise correlation ρ_{number}", rho)
    else:
        yield Quantity(DISTANCE, "distance", posterior.distance)
    if np.ptp(draws.coefficient):
        spread = np.sqrt(draws.coefficient)
        yield Quantity(COEFFICIENT, "coefficient standard deviation", spread)
    is_best = draws.structure == posterior.number_of(0)
    yield Quantity(STRUCTURE, "best structure is there", is_best)
    for term in _open_terms(posterior):
        yield Quantity(TERM, f"{term_text(term)} is in", posterior.includes(term))


def _open_terms(posterior: Collection) -> list[Term]:
    """Terms that are neither rare nor always in; the least settled, since so many are followed."""
    share = posterior.inclusion
    is_open = (share >= _RARE) & (share < 1.0)
    order = np.lexsort((-share, np.abs(share - 0.5)))
    return [
        posterior.encoding.term(posterior.term_keys[i]) for i in order[is_open[order]][:_MOST_TERMS]
    ]


def _statistics(values: Float2D) -> dict[str, float | None]:
    from arviz_stats.base import array_stats

    if not np.ptp(values) > 0.0:
        return {"rhat": None, "ess_bulk": None, "ess_tail": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a chain that stands still: 0/0, None
        statistics = {
            "rhat": array_stats.rhat(values),
            "ess_bulk": array_stats.ess(values),
            "ess_tail": array_stats.ess(values, method="tail", prob=_TAIL),
        }
    return {k: float(value) if math.isfinite(value) else None for k, value in statistics.items()}


def _verdict(posterior: Collection, facts: dict[str, Any]) -> dict[str, Any]:
    """A level, a sentence, the reasons for it, and what to do about them.

    `agreement` is the level of the chains alone; `level` is worse where they agree on an equation
    that explains nothing, or leaves an input over. `settled` says what all chains have in common.
    """
    findings = [_on_structure(posterior, facts), *_on_mixing(posterior, facts)]
    findings += _on_trouble(posterior, facts)
    findings += on_unmoved(facts["unmoved_terms"])
    findings += posterior.run.engine.findings(facts)
    findings += on_stages(posterior.settings)
    findings += [(CAUTION, reason, _MORE) for reason in posterior.settings.left_out]
    agreement = worst(level for level, _, _ in findings)
    against = vetoes(posterior)
    findings += [(veto.level, veto.reason, veto.advice) for veto in against]
    advice = list(dict.fromkeys(advice for _, _, advice in findings if advice))
    if posterior.settings.is_auto:  # how many are drawn is not the user's to say there
        advice = [piece.replace(_MORE, "raise max_samples") for piece in advice]
    return {
        "level": worst(level for level, _, _ in findings),
        "agreement": agreement,
        "summary": _summary(posterior, agreement, against),
        "reasons": [reason for _, reason, _ in findings],
        "settled": settled(posterior),
        # What another piece of advice says already, and says more of, is left out.
        "advice": [a for a in advice if not any(b.startswith(a) for b in advice if b != a)],
    }


def _summary(posterior: Collection, agreement: str, against: Sequence[Objection]) -> str:
    """What the chains did, in a sentence, and what forbids to call it good."""
    n_chains, has_likelihood = posterior.n_chains, posterior.objective.has_likelihood
    is_given = posterior.settings.keeps_terms
    # By a tolerance there are no masses, see there, and of given terms none but 1.
    what = "masses and intervals" if has_likelihood and not is_given else "intervals"
    on = " on the coefficients of the terms that were given" if is_given else ""
    sentence = {
        GOOD: f"the chains agree{on}; {what} can be relied on",
        CAUTION: "usable with care",
        POOR: f"the chains have not converged; {what} are not to be relied on",
    }[agreement]
    if n_chains == 1:
        sentence = "one chain cannot be compared with another"
        sentence += ", and has not converged" if agreement == POOR else ""
    if not against:
        return sentence
    start = f"the chains agree{on}" if n_chains > 1 and agreement == GOOD else sentence
    return f"{start}{'; ' if against[0].is_said_first else ', but '}{against[0].short}"


_MORE = "draw more samples"
_LESS = "lower max_lag or max_degree"
_SELECT = ", or let validation data choose a chain"


def _on_structure(posterior: Collection, facts: dict[str, Any]) -> Finding:
    """Whether the chains found the same structure."""
    masses = [chain["mode_mass"] for chain in facts["chains"]]
    largest = float(posterior.structures["mass"].iloc[0])
    whose = "both" if len(masses) == 2 else f"all {len(masses)}"
    if posterior.settings.keeps_terms:
        return _on_given_terms(posterior, whose)
    if len(masses) == 1:
        return (
            CAUTION,
            f"there is one chain only, and nothing to compare it with (its best structure has mass"
            f" {masses[0]:.2f})",
            "run several chains",
        )
    if facts["chains_agree_on_mode"]:
        low, high = f"{min(masses):.2f}", f"{max(masses):.2f}"
        span = low if low == high else f"{low} to {high}"
        return GOOD, f"{whose} chains agree on the structure, with mass {span}", ""
    if largest < _CLEAR:
        return (
            CAUTION,
            f"no structure stands out: the most frequent of {len(posterior.structures):,} has mass"
            f" {largest:.3f}; terms and predictions say more than one equation does",
            "",
        )
    return _on_disagreement(posterior, facts)


def _on_given_terms(posterior: Collection, whose: str) -> Finding:
    """Of terms that could not come or go, which is no agreement of the chains."""
    by = "were fixed" if posterior.discovered is None else "were given by the comparison"
    if posterior.n_chains == 1:
        reason = f"the terms {by}; there is one chain only, and nothing to compare its draws with"
        return CAUTION, reason, "run several chains"
    return GOOD, f"the terms {by}: {whose} chains can agree on coefficients and noise only", ""


def _on_disagreement(posterior: Collection, facts: dict[str, Any]) -> Finding:
    """What chains have that are of different opinions."""
    ranks = _best_of_chains(posterior)
    commonest = max(ranks, key=ranks.count)
    n_agreed, best = ranks.count(commonest), posterior.structure(commonest)
    others = [
        f"chain {number} {_difference(posterior.structure(rank), best)}"
        for number, rank in zip(posterior.chain_numbers, ranks, strict=True)
        if rank != commonest
    ]
    shown = "; ".join(others[:_FEW_SHOWN])
    reason = "the chains disagree on the structure: "
    if n_agreed > 1:
        reason += f"{n_agreed} of {len(ranks)} have '{_shortened(best)}'; {shown}"
    else:
        first = posterior.chain_numbers[ranks.index(commonest)]
        reason += f"each has its own; against chain {first}, {shown}"
    row = next(row for row in facts["convergence"] if row["kind"] == STRUCTURE)
    if row["rhat"] is not None and row["rhat"] <= _LIMIT:
        # several structures of like mass, which every chain visits alike
        return CAUTION, f"{reason}; but all visit them alike: the data leave it open", ""
    level = POOR if 2 * n_agreed <= len(ranks) else CAUTION
    way_out = "" if posterior.held_out is not None else _SELECT
    return level, reason, f"{_MORE}; {_LESS}{way_out}"


def _shortened(structure: Structure) -> str:
    if len(structure) <= 5:
        return str(structure)
    texts = [term_text(term) for term in structure]
    return " + ".join([*texts[:4], f"… ({len(texts)} terms)"])


def _difference(structure: Structure, other: Structure) -> str:
    """What a structure has and lacks beside another."""
    added = [term_text(term) for term in structure if term not in other.terms]
    dropped = [term_text(term) for term in other if term not in structure.terms]
    parts = []
    for verb, texts in (("adds", added), ("lacks", dropped)):
        if len(texts) > _FEW_SHOWN:
            parts.append(f"{verb} {len(texts)} terms")
        elif texts:
            parts.append(f"{verb} {', '.join(texts)}")
    return " and ".join(parts)


def _on_mixing(posterior: Collection, facts: dict[str, Any]) -> list[Finding]:
    """Whether R-hat and the effective sample sizes are what they should be."""
    known = [row for row in facts["convergence"] if row["rhat"] is not None]
    findings: list[Finding] = []
    if known:
        largest = max(known, key=lambda row: row["rhat"])
        n_above = sum(row["rhat"] > _LIMIT for row in known)
        size = f"{largest['rhat']:.3f}" if largest["rhat"] < 100 else "over 100"
        if n_above:
            level = POOR if largest["rhat"] > _FAR else CAUTION
            reason = (
                f"R-hat is above {_LIMIT} for {n_above} of {len(known)} quantities, worst {size}"
                f" for '{largest['quantity']}': the chains have not forgotten where they began"
            )
            findings.append((level, reason, _MORE))
        else:
            findings.append((GOOD, f"R-hat is at most {size} (limit {_LIMIT})", ""))
    elif posterior.n_chains > 1:
        reason = "the draws are too few or too alike to tell whether the chains have converged"
        findings.append((CAUTION, reason, _MORE))
    needed = _ENOUGH * posterior.n_chains
    sized = [row for row in facts["convergence"] if row["ess_bulk"] is not None]
    if sized:
        least = min(sized, key=lambda row: row["ess_bulk"])
        n_effective = least["ess_bulk"]
        reason = (
            f"the smallest effective sample size is {n_effective:,.0f}, of '{least['quantity']}'"
        )
        if n_effective < needed:
            times = math.ceil(needed / max(n_effective, 1.0))
            advice = f"{_MORE}, about {times} times as many" if times <= 50 else _MORE
            level = POOR if n_effective < _FEW * posterior.n_chains else CAUTION
            findings.append((level, f"{reason}; {needed} are wanted", advice))
        else:
            findings.append((GOOD, reason, ""))
    return findings


def _on_trouble(posterior: Collection, facts: dict[str, Any]) -> list[Finding]:
    """What went wrong on the way."""
    findings: list[Finding] = []
    if posterior.power == 0.0:
        findings.append((CAUTION, "the likelihood is off: this is the prior, not an answer", ""))
    if posterior.settings.is_power_refused:
        reason = f"likelihood_power='auto': {posterior.settings.power_note}"
        findings.append((CAUTION, reason, REMEDY))
    if not posterior.settings.is_complete:
        findings.append((CAUTION, "the run was stopped before its end", ""))
    n_proposals, n_noise = facts["singular_proposals"], facts["singular_noise_draws"]
    n_samples = sum(chain["n_samples"] for chain in facts["chains"])
    if n_proposals + n_noise > _OFTEN * n_samples or n_noise > _OFTEN_FOR_NOISE * n_samples:
        findings.append(
            (
                CAUTION,
                f"{n_proposals:,} proposals and {n_noise:,} draws of the noise were refused because"
                " terms could not be told apart on these data, or are not finite: structures and"
                " noise may be biased",
                _on_repeated(posterior),
            )
        )
    if alike := facts["functions_without_effect"]:
        findings.append(
            (
                CAUTION,
                f"on these data {', '.join(alike)}: terms with and without the function cannot be"
                " told apart",
                "leave such a function out",
            )
        )
    if facts["proposals_beyond_largest_structure"]:
        findings.append(
            (
                CAUTION,
                f"{facts['proposals_beyond_largest_structure']:,} proposals were turned away at the"
                " largest structure",
                "expect fewer terms, or raise the noise prior's scale",
            )
        )
    return findings


def _on_repeated(posterior: Collection) -> str:
    """What to do where terms cannot be told apart: the signals to blame by name, if there are."""
    names = posterior.data.names
    series = np.concatenate([np.column_stack([r.inputs, r.output]) for r in posterior.data.records])
    unit = series / np.maximum(np.linalg.norm(series, axis=0), np.finfo(float).tiny)
    alike = np.argwhere(np.triu(np.abs(unit.T @ unit) > _ALIKE, 1))
    if not len(alike):
        return (
            "check for terms that repeat each other, and for units that differ by many orders of"
            " magnitude; a smaller coefficient_sd or a larger noise_scale in the Prior keeps such"
            " terms apart"
        )
    left, right = ([*names.inputs, names.output][i] for i in alike[0])
    return f"leave out '{left}' or '{right}', which repeat each other"
