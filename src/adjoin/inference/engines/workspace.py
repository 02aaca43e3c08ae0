"""Empty tables and scratch for the kernels; generators and traces in packed chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoin.grammar.encoding import Encoding
from adjoin.grammar.terms import Term
from adjoin.inference.traces import ChainTrace, from_arrays, to_arrays
from adjoin.kernels.candidates import Informed, Odds, Pool, Sweep
from adjoin.kernels.products import ROWS
from adjoin.kernels.screening import Terms
from adjoin.kernels.state import N_INFORMED, Chain
from adjoin.kernels.tables import Digits, Fit, ProductTable, Remainder, Work


def make_chain(capacity: int, max_degree: int, *rungs: int) -> Chain:
    """An empty state with room for so many terms; with `rungs`, one for each."""
    return Chain(
        atom=np.full((*rungs, capacity, max_degree), -1, dtype=np.int64),
        degree=np.zeros((*rungs, capacity), dtype=np.int64),
        key=np.zeros((*rungs, capacity), dtype=np.int64),
        theta=np.zeros((*rungs, capacity)),
        noise=np.ones((*rungs, 1)),
        coefficient=np.ones((*rungs, 1)),
        n_terms=np.zeros((*rungs, 1), dtype=np.int64),
        n_drawn=np.zeros((*rungs, 1), dtype=np.int64),
    )


def as_rung(states: Chain, c: int) -> Chain:
    """The state of one rung, as views."""
    return Chain(**{name: values[c] for name, values in states._asdict().items()})


def write_terms(state: Chain, encoding: Encoding, terms: Sequence[Term]) -> None:
    """Put terms into an empty state."""
    for i, term in enumerate(terms):
        state.atom[i, : len(term)] = [encoding.number[atom] for atom in term]
        state.degree[i] = len(term)
        state.key[i] = encoding.key(term)
    state.n_terms[0] = len(terms)


def make_table(capacity: int, max_degree: int) -> ProductTable:
    """An empty table of inner products."""
    n_buckets = 1 << (2 * capacity).bit_length()
    return ProductTable(
        key=np.zeros(capacity, dtype=np.int64),
        degree=np.zeros(capacity, dtype=np.int64),
        atom=np.zeros((capacity, max_degree), dtype=np.int64),
        norm=np.zeros(capacity),
        target=np.zeros(capacity),
        # Not touched before a slot is taken, so the pages of an empty table cost no memory.
        correlation=np.empty((capacity, capacity)),
        used=np.zeros(capacity, dtype=np.int64),
        bucket=np.full(n_buckets, -1, dtype=np.int64),
        size=np.zeros(1, dtype=np.int64),
        rest=Remainder(
            is_begun=np.zeros(capacity, dtype=np.int64),
            target=np.zeros(capacity),
            correlation=np.empty((capacity, capacity)),
            square=np.full(1, np.nan),
        ),
    )


def make_work(capacity: int, max_degree: int, n_candidates: int = 0) -> Work:
    """The scratch of a chain; products are taken with as many terms at a time as there may be."""
    n_products = max(capacity, n_candidates)

    def fit() -> Fit:
        # One cache line more than a power of two, or all rows would compete for the same lines.
        width = capacity + 8
        return Fit(
            slot=np.zeros(capacity, dtype=np.int64),
            norm=np.zeros(capacity),
            target=np.zeros(capacity),
            correlation=np.zeros((capacity, width)),
            shrink=np.zeros(capacity),
            spread=np.zeros(capacity),
            factor=np.zeros((capacity, width)),
            projection=np.zeros(capacity),
        )

    return Work(
        current=fit(),
        proposed=fit(),
        atom=np.zeros(max_degree, dtype=np.int64),
        reduced=np.zeros(max_degree, dtype=np.int64),
        weight=np.zeros(max_degree),
        missing=np.zeros(n_products, dtype=np.int64),
        column=np.zeros(ROWS),
        other=np.zeros(ROWS),
        product=np.zeros(n_products),
        normal=np.zeros(capacity),
        digits=Digits(
            factor=np.zeros((capacity, capacity + 8)),
            projection=np.zeros(capacity),
            normal=np.zeros(capacity),
            total=np.zeros(ROWS),
            total_rest=np.zeros(ROWS),
        ),
    )


def make_informed(terms: Terms, capacity: int, n_moves: int) -> Informed:
    """A pool of these terms, with its scratch and empty counters."""
    n = len(terms.key)
    return Informed(
        pool=Pool(
            key=terms.key,
            degree=terms.degree,
            atom=terms.atom,
            log_prior=terms.log_prior,
            slot=np.zeros(n, dtype=np.int64),
            row=np.zeros(n, dtype=np.int64),
        ),
        sweep=Sweep(
            reach=np.zeros((capacity, n)),
            odds=Odds(*np.zeros((6, n))),
            factor=np.zeros((capacity, capacity + 8)),
            projection=np.zeros(capacity),
            unit=np.zeros(capacity),
            candidate=np.zeros(capacity, dtype=np.int64),
            place=np.zeros(capacity, dtype=np.int64),
            left=np.zeros(2),
        ),
        before=make_chain(capacity, terms.atom.shape[1]),
        reference=np.ones(1),
        penalty=np.zeros(1),
        slack=np.zeros(1),
        inclusion=np.zeros(n),
        n_averaged=np.zeros(1, dtype=np.int64),
        use=np.zeros(n, dtype=np.int64),
        counter=np.zeros((N_INFORMED, 3), dtype=np.int64),
        n_moves=n_moves,
    )


def arrays_of(value: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Every array of a tuple of tuples, by the names that lead there; all else is left out."""
    found: dict[str, np.ndarray] = {}
    for name, part in value._asdict().items():
        if isinstance(part, np.ndarray):
            found[prefix + name] = part
        elif isinstance(part, tuple) and part:
            found |= arrays_of(part, f"{prefix}{name}_")
    return found


_WORD = 2**64


def pack_generator(rng: np.random.Generator) -> np.ndarray:
    """The state of a PCG64 generator as six 64-bit words."""
    state = rng.bit_generator.state
    inner = state["state"]
    words = [*divmod(inner["state"], _WORD), *divmod(inner["inc"], _WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def unpack_generator(packed: np.ndarray) -> dict[str, object]:
    """The state that `pack_generator` packed."""
    words = [int(word) for word in packed]
    return {
        "bit_generator": "PCG64",
        "state": {"state": words[0] * _WORD + words[1], "inc": words[2] * _WORD + words[3]},
        "has_uint32": words[4],
        "uinteger": words[5],
    }


_TRACE = "trace."


def pack_trace(trace: ChainTrace) -> dict[str, np.ndarray]:
    """A trace among the arrays of a packed chain."""
    return {_TRACE + name: values for name, values in to_arrays(trace).items()}


def unpack_trace(packed: Mapping[str, np.ndarray]) -> ChainTrace:
    """The trace that `pack_trace` packed."""
    found = {k.removeprefix(_TRACE): v for k, v in packed.items() if k.startswith(_TRACE)}
    return from_arrays(found)
