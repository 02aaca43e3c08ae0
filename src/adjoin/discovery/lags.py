r"""Linear models of all lags: the cheap scan before all others, and candidates of their own.

.. math:: y(k) = c + \sum_{l=1}^{L} a_l y(k-l) + \sum_i \sum_{l=0}^{L} b_{il} u_i(k-l)

by least squares for several L. One QR factor serves them all, as the columns are in the order of
their lags and all orders are fitted to the same rows. Receives data; gives models of growing order,
and says which lag windows beyond the usual ones are worth a path of models, where dead time or
order asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.dataset import Dataset, Record
from adjoin.data.scaling import Scaling
from adjoin.grammar import Structure
from adjoin.grammar.terms import Atom, Term
from adjoin.inference.problem import limits_of
from adjoin.model import Model
from adjoin.modelling.digits import FittedTo

ORDERS = (1, 2, 3, 5, 8, 10, 15, 20, 30, 40)
_WORTH = 0.97  # of the error of a shorter window: what a longer one must be below to be worth it
_ROWS_PER_TERM = 5
_RANK = 1e-12  # of the largest singular value: below, columns are one another's copies


def linear_models(data: Dataset, most: int | None = None) -> dict[int, Model]:
    """The least-squares models of all orders that the data allow, by their order."""
    orders = [order for order in ORDERS if _is_possible(data, order, most or ORDERS[-1])]
    if not orders:
        return {}
    scaling = Scaling.from_dataset(data, center=False, scale=True)
    factor, n_rows = _triangle(scaling.apply(data), orders[-1])
    models = {}
    for order in orders:
        terms = list(_terms(data, order))
        theta, left = _solve(factor, len(terms))
        coefficient = {
            term: value * scaling.coefficient_factor({atom.signal: 1 for atom in term})
            for term, value in zip(terms, theta, strict=True)
        }
        structure = Structure(tuple(terms), data.names)
        models[order] = Model(
            structure,
            tuple(coefficient[term] for term in structure),
            math.sqrt(left / max(n_rows - len(terms), 1)) * scaling.noise_factor,
            limits=limits_of(data),
            fitted_to=FittedTo(data, order),
        )
    return models


def far_lags(errors: Mapping[int, float], usual: int) -> tuple[int, ...]:
    """Lag windows beyond the `usual` one that linear models gain from; none where they do not.

    `errors` are mean squared errors of held-out free runs, by order.
    """
    kept = {order: error for order, error in errors.items() if math.isfinite(error)}
    if not kept:
        return ()
    best = min(kept.values())
    order = min(order for order, error in kept.items() if error * _WORTH <= best)
    return (order,) if order > usual else ()


def _is_possible(data: Dataset, order: int, most: int) -> bool:
    """Whether there are rows enough for all lags of that order."""
    n_rows = sum(max(len(record) - order, 0) for record in data.records)
    n_terms = 1 + order + len(data.names.inputs) * (order + 1)
    return order <= most and n_rows >= _ROWS_PER_TERM * n_terms


def _terms(data: Dataset, order: int) -> Iterator[Term]:
    """The constant, and every signal at every lag, lags ascending."""
    yield ()
    yield from ((Atom(name, 0),) for name in data.names.inputs)
    for lag in range(1, order + 1):
        yield from ((Atom(name, lag),) for name in (data.names.output, *data.names.inputs))


def _triangle(data: Dataset, order: int) -> tuple[Float2D, int]:
    """The triangular factor of all columns with the output as the last, and its rows."""
    blocks = [_rows(record, order) for record in data.records if len(record) > order]
    rows = np.vstack(blocks)
    factor: Float2D = np.asarray(np.linalg.qr(rows, mode="r"))
    return factor, len(rows)


def _rows(record: Record, order: int) -> Float2D:
    """The columns of all lags, in the order of `_terms`, and then what they explain."""
    n = len(record)
    columns = [np.ones(n - order), *record.inputs[order:].T]
    for lag in range(1, order + 1):
        part = slice(order - lag, n - lag)
        columns += [record.output[part], *record.inputs[part].T]
    return np.column_stack([*columns, record.output[order:]])


def _solve(factor: Float2D, n_terms: int) -> tuple[Float1D, float]:
    """Coefficients of the first columns, and the squared error they leave."""
    target = factor[:, -1]
    found = np.linalg.lstsq(factor[:n_terms, :n_terms], target[:n_terms], rcond=_RANK)
    theta = np.asarray(found[0], dtype=np.float64)
    left = factor[:, :n_terms] @ theta - target
    return theta, float(left @ left)
