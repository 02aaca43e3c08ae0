"""The pool of candidate terms: what informed moves choose from, and how it is chosen.

Receives an alphabet with its prior and the data; hands the kernels a `Pool`. A pool is chosen
before anything is recorded: the terms of all rungs, those that were of use so far, and those of the
whole alphabet that explain what the present structures leave over. Of a small alphabet it is all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Int1D, Int2D
from adjoin.grammar.encoding import Encoding
from adjoin.kernels.candidates import Pool
from adjoin.kernels.layouts import Regression
from adjoin.kernels.products import ROWS
from adjoin.kernels.screening import Listing, Screening, fill_squares, list_terms
from adjoin.kernels.state import PriorTable

MOST_LISTED = 1_000_000
"""Terms that are screened at the most; of more, as many degrees from the lowest as go in."""
_MOST_ROWS = 8 * ROWS
"""Rows by which terms are screened."""
_MOST_WORK = 2e9
"""Products of one screening: by so many residuals as this allows."""
_MOST_RESIDUALS = 24


class Terms(NamedTuple):
    """Terms as arrays: ``atom`` : (n, max_degree); ``degree``, ``key``, ``log_prior`` : (n,)."""

    atom: Int2D
    degree: Int1D
    key: Int1D
    log_prior: Float1D

    def take(self, places: Int1D) -> Terms:
        """Some of them."""
        return Terms(
            self.atom[places], self.degree[places], self.key[places], self.log_prior[places]
        )

    def join(self, more: Terms) -> Terms:
        """These, and more of them."""
        return Terms(
            np.concatenate([self.atom, more.atom]),
            np.concatenate([self.degree, more.degree]),
            np.concatenate([self.key, more.key]),
            np.concatenate([self.log_prior, more.log_prior]),
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
        found = found.join(Terms(atom[:n], np.full(n, degree), key, log_prior))
    fixed = [encoding.key(term) for term in encoding.alphabet.fixed]
    return found.take(np.flatnonzero(~np.isin(found.key, fixed)))


def make_listing(terms: Terms, data: Regression) -> Listing:
    """These terms, to be screened by a part of the rows that is spread over all."""
    n_blocks = len(data.start)
    width = data.stop - data.start
    step = max(1, math.ceil(int(width.sum()) / _MOST_ROWS))
    block = np.arange(0, n_blocks, step, dtype=np.int64)
    share = float(width[block].sum() / max(width.sum(), 1)) if n_blocks else 1.0
    listing = Listing(*terms, square=np.zeros(len(terms.key)), block=block, share=share)
    fill_squares(data, listing, np.zeros(ROWS))
    return listing


def make_screening(listing: Listing, data: Regression, n_left_out: int) -> Screening:
    """Room for the residual of a structure, and for so many without a term, as the work allows."""
    n_rows = int((data.stop - data.start)[listing.block].sum())
    work = max(len(listing.key) * n_rows, 1)
    n = 1 + min(n_left_out, _MOST_RESIDUALS, int(_MOST_WORK / work))
    return Screening(
        residual=np.zeros((n, data.target.shape[0])),
        reference=np.zeros(n),
        inner=np.zeros((len(listing.key), n)),
        score=np.zeros(len(listing.key)),
    )


def terms_of(pool: Pool) -> Terms:
    """The terms of a pool."""
    return Terms(pool.atom, pool.degree, pool.key, pool.log_prior)


def likely_terms(terms: Terms, most: int) -> Terms:
    """Those with the highest prior, in their order."""
    order = np.argsort(-terms.log_prior, kind="stable")[:most]
    return terms.take(np.sort(order))


def best_terms(terms: Terms, score: Float1D, known: Int1D, most: int) -> Terms:
    """Those with the highest scores that are not known yet, in their order."""
    score = np.where(np.isin(terms.key, known), -np.inf, score)
    most = max(min(most, int(np.isfinite(score).sum())), 0)
    order = np.argsort(-score, kind="stable")[:most]
    return terms.take(np.sort(order))
