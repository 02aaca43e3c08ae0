"""The pool of candidate terms: what informed moves choose from, and how it is chosen.

Receives an alphabet with its prior and the data; hands the kernels a `Pool`. A pool is chosen
before anything is recorded: the terms of all rungs, those that were of use so far, and those of the
whole alphabet that explain what the present structures leave over. Of a small alphabet it is all.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D, Int1D
from adjoin.grammar.encoding import Encoding
from adjoin.kernels.candidates import Pool
from adjoin.kernels.layouts import Regression
from adjoin.kernels.products import ROWS
from adjoin.kernels.screening import CHUNK, Basis, Screening, Terms, list_terms
from adjoin.kernels.state import PriorTable

MOST_LISTED = 1_000_000
"""Terms that are screened at the most; of more, as many degrees from the lowest as go in."""
_MOST_ROWS = 8 * ROWS
"""Rows by which terms are screened."""
_MOST_WORK = 3e9
"""Products of one screening, some tenths of a second; twice as many before terms are left out."""
_MOST_LEFT_OUT = 24


def take(terms: Terms, places: Int1D) -> Terms:
    """Some terms."""
    atom, degree, key, log_prior = terms
    return Terms(atom[places], degree[places], key[places], log_prior[places])


def join(terms: Terms, more: Terms) -> Terms:
    """Terms, and more of them."""
    return Terms(
        np.concatenate([terms.atom, more.atom]),
        np.concatenate([terms.degree, more.degree]),
        np.concatenate([terms.key, more.key]),
        np.concatenate([terms.log_prior, more.log_prior]),
    )


def no_terms(max_degree: int) -> Terms:
    """None."""
    whole = np.int64
    return Terms(
        np.zeros((0, max_degree), whole), np.zeros(0, whole), np.zeros(0, whole), np.zeros(0)
    )


def list_alphabet(prior: PriorTable, encoding: Encoding, most: int = MOST_LISTED) -> Terms:
    """All terms with a prior but the fixed ones, the constant first, then by degree."""
    max_degree, found = encoding.max_degree, no_terms(encoding.max_degree)
    if prior.constant_share > 0.0:
        odds = np.array([math.log(prior.constant_odds)])
        found = Terms(
            np.full((1, max_degree), -1), np.zeros(1, np.int64), np.zeros(1, np.int64), odds
        )
    empty = no_terms(max_degree)
    for degree in range(1, encoding.alphabet.max_degree + 1):
        scratch = np.full((1, max_degree), -1)
        if math.comb(len(encoding.atoms) + degree - 1, degree) > 50 * most:
            break  # even counting them would take long
        n = list_terms(prior, degree, scratch, empty.key, empty.log_prior)
        if len(found.key) + n > most:
            break
        atom = np.full((n + 1, max_degree), -1)
        key, log_prior = np.zeros(n, np.int64), np.zeros(n)
        list_terms(prior, degree, atom, key, log_prior)
        found = join(found, Terms(atom[:n], np.full(n, degree), key, log_prior))
    fixed = [encoding.key(term) for term in encoding.alphabet.fixed]
    return take(found, np.flatnonzero(~np.isin(found.key, fixed)))


def make_screening(
    terms: Terms, data: Regression, n_basis: int, n_left_out: int, rng: np.random.Generator
) -> Screening:
    """Room to hold all terms against a structure of `n_basis`, as much of it as the work allows.

    Rows are spread over all, and not fewer than a block; chunks of the alphabet are drawn where
    even that is too much.
    """
    width = data.stop - data.start
    n_all, n_terms = int(width.sum()), len(terms.key)
    work = max(n_terms * (1 + n_basis), 1)  # of a row
    wanted = min(max(_MOST_WORK / work, ROWS), _MOST_ROWS)
    block = np.arange(0, len(width), max(1, math.ceil(n_all / wanted)), dtype=np.int64)
    n_rows = int(width[block].sum())
    first = np.arange(0, n_terms, CHUNK, dtype=np.int64)
    n_chunks = math.ceil(len(first) * min(1.0, 2.0 * _MOST_WORK / max(work * n_rows, 1)))
    if n_chunks < len(first):
        first = np.sort(rng.choice(first, n_chunks, replace=False))
    return Screening(
        basis=Basis(
            block=block,
            offset=np.cumsum(width[block]) - width[block],
            row=np.zeros((1 + n_basis, n_rows)),
            upper=np.zeros((n_basis, n_basis)),
            projection=np.zeros(n_basis),
            place=np.zeros(n_basis, dtype=np.int64),
        ),
        share=n_rows / n_all if n_rows else 1.0,
        direction=np.zeros((min(n_left_out, _MOST_LEFT_OUT), n_basis)),
        without=np.zeros((min(n_left_out, _MOST_LEFT_OUT), 2)),
        first=first,
        weighted=np.zeros((1 + n_basis, ROWS)),
        inner=np.zeros((CHUNK, 1 + n_basis)),
        square=np.zeros(CHUNK),
        score=np.full(n_terms, -np.inf),
    )


def terms_of(pool: Pool) -> Terms:
    """The terms of a pool."""
    return Terms(pool.atom, pool.degree, pool.key, pool.log_prior)


def likely_terms(terms: Terms, most: int) -> Terms:
    """Those with the highest prior, in their order."""
    order = np.argsort(-terms.log_prior, kind="stable")[:most]
    return take(terms, np.sort(order))


def best_terms(terms: Terms, score: Float1D, known: Int1D, most: int) -> Terms:
    """Those with the highest scores that are not known yet, in their order."""
    score = np.where(np.isin(terms.key, known), -np.inf, score)
    most = max(min(most, int(np.isfinite(score).sum())), 0)
    order = np.argsort(-score, kind="stable")[:most]
    return take(terms, np.sort(order))
