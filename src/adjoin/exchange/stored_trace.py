"""One chain's trace in a saved run: its layout, and what must hold of it.

Receives a `ChainTrace` and writes it into a group; reads a group and hands back the same trace, or
an `AdjoinError` that says what in it no chain could have left behind.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np

from adjoin.arrays import Int1D
from adjoin.exchange.stored_group import FLOAT, INTEGER, Series, StoredGroup, store_all
from adjoin.exchange.stored_ladder import read_ladder, write_ladder
from adjoin.exchange.stored_search import read_search, write_search
from adjoin.grammar.encoding import Encoding
from adjoin.inference.traces import ChainTrace
from adjoin.kernels.state import N_MOVES, PROPOSALS

_LAYOUT = {
    "structure": Series(INTEGER, ("record",), "number of the structure, from 0 on"),
    "offset": Series(INTEGER, ("record_edge",), "record i has theta from offset[i] to offset[i+1]"),
    "theta": Series(FLOAT, ("entry",), "coefficients of all records end to end, in model units"),
    "noise": Series(FLOAT, ("record",), "variance of the noise, in model units"),
    "coefficient": Series(FLOAT, ("record",), "prior variance of the coefficients"),
    "log_lik": Series(FLOAT, ("record",), "log likelihood of the draw"),
    "log_prior": Series(FLOAT, ("record",), "log prior of the structure"),
    "key_offset": Series(
        INTEGER, ("structure_edge",), "structure j has the keys from key_offset[j] to [j+1]"
    ),
    "key": Series(
        INTEGER,
        ("term_entry",),
        "terms of all structures end to end; the digits of a key to base (number of atoms + 1) are"
        " the term's factors, counted from 1 in the attribute 'atoms' of the file",
    ),
    "move": Series(INTEGER, ("kind", "outcome"), "moves proposed, possible and accepted"),
    "trouble": Series(
        INTEGER,
        ("reason",),
        "refused: proposals and noise draws not to be factorised, structures without room",
    ),
}
_RHO = "rho"
_COLOUR = {
    _RHO: Series(FLOAT, ("record", "order"), "coefficients of autoregressive noise, by lag"),
}
_LENGTHS = {"kind": N_MOVES, "outcome": 3, "reason": 3}
_LADDER, _SEARCH = "ladder", "search"


def write_trace(group: Any, trace: ChainTrace) -> None:
    """Write a chain's trace into an h5netcdf group."""
    values = trace._asdict()
    structures = values.pop("structures")
    values["key"] = np.array([*chain.from_iterable(structures)], dtype=np.int64)
    values["key_offset"] = np.cumsum([0, *map(len, structures)])
    group.attrs["n_samples"] = values.pop("n_samples")
    store_all(group, _LAYOUT, values)
    if trace.rho is not None:
        store_all(group, _COLOUR, values)
    if trace.ladder is not None:
        # Last: it shares the dimensions of the chain.
        write_ladder(group.create_group(_LADDER), trace.ladder)
    if trace.search is not None:
        write_search(group.create_group(_SEARCH), trace.search)


def read_trace(group: StoredGroup, encoding: Encoding) -> ChainTrace:
    """The trace in a group, checked against the grammar that its keys are made of."""
    found = group.variables(_LAYOUT, _LENGTHS)
    structures = _read_structures(group, found.pop("key"), found.pop("key_offset"), encoding)
    n_samples, ladder = group.whole("n_samples"), None
    if _LADDER in group.group:
        ladder = read_ladder(group.child(_LADDER), len(found["structure"]), n_samples)
    search = read_search(group.child(_SEARCH)) if _SEARCH in group.group else None
    if _RHO in group.group:
        found |= group.variables(_COLOUR, {"record": len(found["structure"])})
    trace = ChainTrace(
        structures=structures, n_samples=n_samples, ladder=ladder, search=search, **found
    )
    _check(group, trace)
    return trace


def _check(group: StoredGroup, trace: ChainTrace) -> None:
    n_draws, n_structures = len(trace.structure), len(trace.structures)
    if not 0 < n_draws <= trace.n_samples:
        raise group.fault("structure", f"has {n_draws} draws of {trace.n_samples} samples")
    if trace.structure.min() < 0 or trace.structure.max() >= n_structures:
        raise group.fault("structure", f"must be from 0 to below {n_structures}")
    n_terms = np.array([len(keys) for keys in trace.structures])[trace.structure]
    if not np.array_equal(trace.offset, np.append(0, np.cumsum(n_terms))):
        raise group.fault("offset", "does not fit the structures")
    if len(trace.theta) != trace.offset[-1]:
        raise group.fault("theta", f"has {len(trace.theta)} values, not {trace.offset[-1]}")
    finite = ["theta", "coefficient", "log_lik", "log_prior"]
    # A tolerance without limit, by which the prior is sampled, stands for noise without limit.
    if trace.ladder is None or np.isfinite(trace.ladder.tolerance).all():
        finite.append("noise")
    for name in finite:
        if not np.isfinite(getattr(trace, name)).all():
            raise group.fault(name, "must be finite everywhere")
    if trace.rho is not None and not np.isfinite(trace.rho).all():
        raise group.fault(_RHO, "must be finite everywhere")
    for name in ("noise", "coefficient"):
        if not (getattr(trace, name) > 0).all():  # nor is NaN
            raise group.fault(name, "must be positive everywhere")
    group.require_nested("move", trace.move, trace.n_samples)
    # At most one trouble of a kind per sample, or per proposal where every rung makes its own.
    n_decided = trace.n_samples if trace.ladder is None else int(trace.ladder.saved[PROPOSALS])
    if trace.trouble.min() < 0 or trace.trouble.max() > n_decided:
        raise group.fault("trouble", f"must be from 0 to {n_decided}")


def _read_structures(
    group: StoredGroup, key: Int1D, edge: Int1D, encoding: Encoding
) -> list[tuple[int, ...]]:
    """The structures that lie end to end in `key`, each in canonical order and there once."""
    is_ordered = len(edge) > 0 and np.array_equal(edge, np.sort(edge))
    if not (is_ordered and edge[0] == 0 and edge[-1] == len(key)):
        raise group.fault("key_offset", "does not fit the keys")
    place = _order(group, key, encoding)
    is_next = np.ones(max(len(key) - 1, 0), dtype=bool)  # within a structure, not across two
    is_next[edge[(edge > 0) & (edge < len(key))] - 1] = False
    if (np.diff(place)[is_next] <= 0).any():
        raise group.fault("key", "has a structure whose terms are not distinct and in order")
    keys = key.tolist()
    structures = [tuple(keys[first:last]) for first, last in pairwise(edge.tolist())]
    fixed = {encoding.key(term) for term in encoding.alphabet.fixed}
    if any(not fixed.issubset(structure) for structure in structures):
        raise group.fault("key", "has a structure without the fixed terms of the grammar")
    if len(set(structures)) < len(structures):
        raise group.fault("key", "has a structure twice")
    return structures


def _order(group: StoredGroup, key: Int1D, encoding: Encoding) -> Int1D:
    """The place of each key's term in canonical order; every key must be a term's."""
    distinct, number = np.unique(key, return_inverse=True)
    alphabet = encoding.alphabet
    derivable, fixed = {encoding.number[atom] for atom in alphabet.atoms}, {*alphabet.fixed}
    digits = {}
    for value in distinct.tolist():
        found = encoding.digits(value) if value >= 0 else (-1,)
        is_term = 0 < len(found) <= alphabet.max_degree and derivable.issuperset(found)
        is_term = is_term or (value == 0 and alphabet.constant is not None)
        is_fixed = -1 not in found and encoding.term(value) in fixed
        if not (is_term or is_fixed) or list(found) != sorted(found):
            raise group.fault("key", f"has the key {value}, which is no term of the grammar")
        digits[value] = found
    place = {value: i for i, value in enumerate(sorted(digits, key=digits.__getitem__))}
    return np.array([place[value] for value in distinct.tolist()], dtype=np.int64)[number]
