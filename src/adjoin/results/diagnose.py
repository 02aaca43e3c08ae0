"""What converged and what did not, in numbers of ArviZ and in words.

Receives a `Collection`; gives the dictionary of `Posterior.diagnostics`. Coefficients come and go
with their terms, so R-hat and effective sample sizes are taken of quantities that every draw has:
number of terms, log posterior, noise, and whether a term or the best structure is in.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from adjoin.arrays import Float2D
from adjoin.inference.moves import Moves
from adjoin.levels import CAUTION, GOOD, POOR, Finding
from adjoin.results.collection import Collection

_LIMIT, _FAR = 1.01, 1.1  # R-hat: Vehtari et al. (2021) ask for 1.01; beyond 1.1 chains differ
_ENOUGH = 100  # effective samples per chain, of the same source
_FEW = 5  # effective samples per chain with which nothing is known
_TAIL = (0.05, 0.95)  # quantiles whose effective sample size is the tail's, as ArviZ takes them
_RARE = 0.05  # inclusion: a term below says little about how the chains did
_MOST_TERMS = 30
_FEW_SHOWN = 3
_OFTEN = 0.01  # of all samples: a proposal refused now and then is what refusing is for
_CLEAR = 0.05  # mass: no structure above means that none stands out


def diagnose(posterior: Collection) -> dict[str, Any]:
    """Acceptance by move, each chain's own answer, convergence, trouble met, and a verdict."""
    moves = np.sum([trace.move for trace in posterior.traces], axis=0)
    trouble = np.sum([trace.trouble for trace in posterior.traces], axis=0)
    chains = [_chain_summary(posterior, i) for i in range(posterior.n_chains)]
    found: dict[str, Any] = {
        "chains": chains,
        "chains_agree_on_mode": len({chain["mode"] for chain in chains}) == 1,
        "acceptance": {
            name: float(row[2] / row[0]) if row[0] else None
            for name, row in zip(Moves().probabilities, moves, strict=True)
        },
        "convergence": convergence(posterior),
        "likelihood_power": posterior.power,
        "singular_proposals": int(trouble[0]),
        "singular_noise_draws": int(trouble[1]),
        "proposals_beyond_largest_structure": int(trouble[2]),
    }
    numbered = dict(zip(posterior.chain_numbers, posterior.traces, strict=True))
    found |= posterior.run.engine.diagnostics(numbered)
    found["verdict"] = _verdict(posterior, found)
    return found


def _chain_summary(posterior: Collection, i: int) -> dict[str, Any]:
    draws, trace, number = posterior.draws, posterior.traces[i], posterior.chain_numbers[i]
    masses = posterior.structures[f"chain_{number}"]
    best = int(masses.argmax())
    is_own = draws.chain == number
    move = trace.move[1:]
    return {
        "chain": number,
        "n_samples": trace.n_samples,
        "mode": str(posterior.structures["structure"].iloc[best]),
        "mode_mass": float(masses.iloc[best]),
        "n_terms_median": float(np.median(draws.size[is_own])),
        "noise_mean": float(draws.noise_sd[is_own].mean()),
        "acceptance": float(move[:, 2].sum() / max(int(move[:, 0].sum()), 1)),
    }


def convergence(posterior: Collection) -> list[dict[str, Any]]:
    """Rank-normalised R-hat and bulk and tail effective sample size, of ArviZ.

    One row per quantity: `quantity`, `rhat`, `ess_bulk`, `ess_tail`; None where it does not vary or
    where there are too few chains or draws to say.
    """
    draws = posterior.draws
    rows = {
        "number of terms": draws.size,
        "log posterior": posterior.log_posterior,
    }
    if posterior.objective.has_likelihood:
        rows["noise standard deviation"] = draws.noise_sd
    else:
        rows["distance"] = posterior.distance
    if np.ptp(draws.coefficient):
        rows["coefficient standard deviation"] = np.sqrt(draws.coefficient)
    rows["best structure is there"] = draws.structure == posterior.number_of(0)
    inclusion = posterior.terms.set_index("term")["inclusion"]
    is_open = (inclusion >= _RARE) & (inclusion < 1.0)
    # The least settled first, since only so many are looked at.
    for term in (inclusion[is_open] - 0.5).abs().sort_values(kind="stable").index[:_MOST_TERMS]:
        rows[f"{term} is in"] = posterior.includes(term)
    return [
        {"quantity": name, **_statistics(values[draws.ends].astype(float))}
        for name, values in rows.items()
    ]


def _statistics(values: Float2D) -> dict[str, float | None]:
    from arviz_stats.base import array_stats

    if not np.ptp(values) > 0.0:
        return {"rhat": None, "ess_bulk": None, "ess_tail": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a chain that stands still: 0/0, None
        found = {
            "rhat": array_stats.rhat(values),
            "ess_bulk": array_stats.ess(values),
            "ess_tail": array_stats.ess(values, method="tail", prob=_TAIL),
        }
    return {k: float(value) if math.isfinite(value) else None for k, value in found.items()}


def _verdict(posterior: Collection, found: dict[str, Any]) -> dict[str, Any]:
    """A level, a sentence, the reasons for it, and what to do about them."""
    findings = [_on_structure(posterior, found), *_on_mixing(posterior, found)]
    findings += _on_trouble(posterior, found)
    findings += posterior.run.engine.findings(found)
    levels = [level for level, _, _ in findings]
    level = next(grade for grade in (POOR, CAUTION, GOOD) if grade in levels)
    summary = {
        GOOD: "the chains agree; masses and intervals can be relied on",
        CAUTION: "usable with care",
        POOR: "the chains have not converged; masses and intervals are not to be relied on",
    }[level]
    if posterior.n_chains == 1:
        summary = "one chain cannot be compared with another"
        summary += ", and has not converged" if level == POOR else ""
    advice = list(dict.fromkeys(advice for _, _, advice in findings if advice))
    return {
        "level": level,
        "summary": summary,
        "reasons": [reason for _, reason, _ in findings],
        # What another piece of advice says already, and says more of, is left out.
        "advice": [a for a in advice if not any(b.startswith(a) for b in advice if b != a)],
    }


_MORE = "draw more samples"
_LESS = "lower max_lag or max_degree"
_SELECT = ", or let validation data choose a chain"


def _on_structure(posterior: Collection, found: dict[str, Any]) -> Finding:
    """Whether the chains found the same structure."""
    modes = [chain["mode"] for chain in found["chains"]]
    masses = [chain["mode_mass"] for chain in found["chains"]]
    largest = float(posterior.structures["mass"].iloc[0])
    if len(modes) == 1:
        return (
            CAUTION,
            f"there is one chain only, and nothing to compare it with (its best structure has mass"
            f" {masses[0]:.2f})",
            "run several chains",
        )
    if len(set(modes)) == 1:
        low, high = f"{min(masses):.2f}", f"{max(masses):.2f}"
        whose = "both" if len(modes) == 2 else f"all {len(modes)}"
        span = low if low == high else f"{low} to {high}"
        return GOOD, f"{whose} chains agree on the structure, with mass {span}", ""
    if largest < _CLEAR:
        return (
            CAUTION,
            f"no structure stands out: the most frequent of {len(posterior.structures):,} has mass"
            f" {largest:.3f}; terms and predictions say more than one equation does",
            "",
        )
    best = max(modes, key=modes.count)
    share = f"{modes.count(best)} of {len(modes)}" if modes.count(best) > 1 else "no two"
    others = [
        f"chain {chain['chain']} {_difference(chain['mode'], best)}"
        for chain in found["chains"]
        if chain["mode"] != best
    ]
    shown = "; ".join(others[:_FEW_SHOWN])
    reason = f"the chains disagree on the structure: {share} have '{_shortened(best)}'; {shown}"
    if share == "no two":
        reason = (
            f"the chains disagree on the structure: each has its own; against chain"
            f" {found['chains'][modes.index(best)]['chain']}, {shown}"
        )
    row = next(r for r in found["convergence"] if r["quantity"] == "best structure is there")
    is_mixed = row["rhat"] is not None and row["rhat"] <= _LIMIT
    if is_mixed:  # several structures of like mass, which every chain visits alike
        return CAUTION, f"{reason}; but all visit them alike: the data leave it open", ""
    level = POOR if 2 * modes.count(best) <= len(modes) else CAUTION
    way_out = "" if posterior.held_out is not None else _SELECT
    return level, reason, f"{_MORE}; {_LESS}{way_out}"


def _terms(structure: str) -> list[str]:
    return [] if structure == "0" else structure.split(" + ")


def _shortened(structure: str) -> str:
    terms = _terms(structure)
    return structure if len(terms) <= 5 else " + ".join([*terms[:4], f"… ({len(terms)} terms)"])


def _difference(structure: str, best: str) -> str:
    """What a structure has and lacks beside another."""
    own, other = _terms(structure), _terms(best)
    added = [term for term in own if term not in other]
    dropped = [term for term in other if term not in own]
    parts = []
    for verb, terms in (("adds", added), ("lacks", dropped)):
        if len(terms) > _FEW_SHOWN:
            parts.append(f"{verb} {len(terms)} terms")
        elif terms:
            parts.append(f"{verb} {', '.join(terms)}")
    return " and ".join(parts)


def _on_mixing(posterior: Collection, found: dict[str, Any]) -> list[Finding]:
    """Whether R-hat and the effective sample sizes are what they should be."""
    known = [row for row in found["convergence"] if row["rhat"] is not None]
    findings: list[Finding] = []
    if known:
        worst = max(known, key=lambda row: row["rhat"])
        n_above = sum(row["rhat"] > _LIMIT for row in known)
        size = f"{worst['rhat']:.3f}" if worst["rhat"] < 100 else "over 100"
        if n_above:
            level = POOR if worst["rhat"] > _FAR else CAUTION
            reason = (
                f"R-hat is above {_LIMIT} for {n_above} of {len(known)} quantities, worst {size}"
                f" for '{worst['quantity']}': the chains have not forgotten where they began"
            )
            findings.append((level, reason, _MORE))
        else:
            findings.append((GOOD, f"R-hat is at most {size} (limit {_LIMIT})", ""))
    elif posterior.n_chains > 1:
        reason = "the draws are too few or too alike to tell whether the chains have converged"
        findings.append((CAUTION, reason, _MORE))
    needed = _ENOUGH * posterior.n_chains
    sized = [row for row in found["convergence"] if row["ess_bulk"] is not None]
    if sized:
        worst = min(sized, key=lambda row: row["ess_bulk"])
        size = worst["ess_bulk"]
        reason = f"the smallest effective sample size is {size:,.0f}, of '{worst['quantity']}'"
        if size < needed:
            times = math.ceil(needed / max(size, 1.0))
            advice = f"{_MORE}, about {times} times as many" if times <= 50 else _MORE
            level = POOR if size < _FEW * posterior.n_chains else CAUTION
            findings.append((level, f"{reason}; {needed} are wanted", advice))
        else:
            findings.append((GOOD, reason, ""))
    return findings


def _on_trouble(posterior: Collection, found: dict[str, Any]) -> list[Finding]:
    """What went wrong on the way."""
    findings: list[Finding] = []
    if posterior.power == 0.0:
        findings.append((CAUTION, "the likelihood is off: this is the prior, not an answer", ""))
    if not posterior.settings.is_complete:
        findings.append((CAUTION, "the run was stopped before its end", ""))
    refused = found["singular_proposals"] + found["singular_noise_draws"]
    if refused > _OFTEN * sum(chain["n_samples"] for chain in found["chains"]):
        findings.append(
            (
                CAUTION,
                f"{refused:,} proposals were refused because terms could not be told apart on these"
                " data",
                "check for signals that repeat each other, and for units that differ by many orders"
                " of magnitude",
            )
        )
    if found["proposals_beyond_largest_structure"]:
        findings.append(
            (
                CAUTION,
                f"{found['proposals_beyond_largest_structure']:,} proposals were turned away at the"
                " largest structure",
                "expect fewer terms, or raise the noise prior's scale",
            )
        )
    return findings
