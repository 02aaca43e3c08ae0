"""Data laid out for one-step-ahead regression on terms.

Receives a `Dataset`, its `Scaling` and an `Encoding`; gives the kernels a `Regression`, and the
coefficients of one structure where a posterior mode is wanted.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.equation import term_text
from adjoin.grammar.terms import FUNCTIONS, Atom, Structure, exponents
from adjoin.kernels.functions import fill_function
from adjoin.kernels.layouts import Regression
from adjoin.kernels.products import ROWS
from adjoin.model import Model

JOINT, RESIDUAL = "joint", "residual"
"""How the coefficients of fixed terms are found: with all others, or before them, to stay."""


def lay_out(
    data: Dataset,
    encoding: Encoding,
    scaling: Scaling | None = None,
    is_off: bool = False,
    is_residual: bool = False,
) -> Regression:
    """The regression of the output on terms; with `is_off` one without rows, the prior alone.

    The first ``max_lag`` samples of each record seed the regressors and are not fitted. With
    `is_residual` the fixed terms keep the coefficients of `least_squares`, and the others are to
    explain what these leave.
    """
    names, alphabet = data.names, encoding.alphabet
    if names.noise in {atom.signal for atom in encoding.atoms}:
        raise AdjoinError(
            "there is no past noise to regress on; use a grammar without"
            f" noise atoms ('{names.noise}')"
        )
    scaling = scaling or Scaling.identity(names)
    table = scaling.apply(data).lag_table(alphabet.max_lag)
    rows = sorted({(names.position(atom.signal), atom.function) for atom in encoding.atoms})
    series = np.empty((max(len(rows), 1), data.n_samples))
    for i, (signal, function) in enumerate(rows):
        series[i] = _evaluate(table.value[signal], function, scaling.scale[signal])
    edges = [
        np.append(np.arange(first, stop, ROWS), stop)
        for first, stop in zip(table.first, table.start[1:], strict=True)
    ]
    blocks = [] if is_off else [pair for edge in edges for pair in pairwise(edge)]
    output = table.value[len(names.inputs)].copy()
    fitted = np.concatenate([np.arange(a, b) for a, b in blocks] or [np.empty(0, dtype=int)])
    fixed = alphabet.fixed if is_residual else Structure((), names)
    target, pinned = output, np.empty(0)
    if len(fixed):
        columns, measured = design(data, fixed, alphabet.max_lag, scaling)
        pinned, target = least_squares(fixed, columns, measured), output.copy()
        everywhere = np.concatenate([np.arange(edge[0], edge[-1]) for edge in edges])
        target[everywhere] -= columns @ pinned
    return Regression(
        series=series,
        row=np.array(
            [rows.index((names.position(a.signal), a.function)) for a in encoding.atoms],
            dtype=np.int64,
        ),
        lag=np.array([atom.lag for atom in encoding.atoms], dtype=np.int64),
        output=output,
        target=target,
        start=np.array([start for start, _ in blocks], dtype=np.int64),
        stop=np.array([stop for _, stop in blocks], dtype=np.int64),
        output_norm=float(np.linalg.norm(output[fitted])),
        target_norm=float(np.linalg.norm(target[fitted])),
        n_rows=len(fitted),
        pinned_key=np.array([encoding.key(term) for term in fixed], dtype=np.int64),
        pinned_theta=pinned,
    )


def design(
    data: Dataset, structure: Structure, max_lag: int, scaling: Scaling | None = None
) -> tuple[Float2D, Float1D]:
    """The columns of a structure ``(n_rows, n_terms)`` and the output, all records end to end."""
    scaling = scaling or Scaling.identity(data.names)
    table = scaling.apply(data).lag_table(max_lag)
    stretches = list(zip(table.first, table.start[1:], strict=True))
    columns = np.ones((len(structure), sum(stop - first for first, stop in stretches)))
    seen: dict[Atom, Float1D] = {}
    for i, term in enumerate(structure):
        for atom in term:
            if atom not in seen:
                signal = data.names.position(atom.signal)
                row = table.value[signal]
                moved = np.concatenate([row[a - atom.lag : b - atom.lag] for a, b in stretches])
                seen[atom] = _evaluate(moved, atom.function, scaling.scale[signal])
            columns[i] *= seen[atom]
    output = table.value[len(data.names.inputs)]
    return columns.T, np.concatenate([output[first:stop] for first, stop in stretches])


def _evaluate(series: Float1D, function: str, scale: float) -> Float1D:
    """A function of a scaled signal; one that does not scale gets the signal in its own unit."""
    found = FUNCTIONS[function]
    argument = series * scale if found.homogeneity is None else series
    value = np.empty_like(series)
    fill_function(found.code, np.ascontiguousarray(argument), value)
    return value


def white_box(
    data: Dataset, fixed: Structure, max_lag: int, scaling: Scaling | None = None
) -> Model:
    """The fixed terms alone, fitted by `least_squares` to the same samples as everything else."""
    scaling = scaling or Scaling.identity(data.names)
    columns, output = design(data, fixed, max_lag, scaling)
    theta = least_squares(fixed, columns, output)
    left, n_free = output - columns @ theta, max(len(output) - len(fixed), 1)
    factor = [scaling.coefficient_factor(exponents(term)) for term in fixed]
    noise_sd = float(np.sqrt(left @ left / n_free)) * scaling.noise_factor
    return Model(fixed, tuple(theta * factor), noise_sd, scaling.offsets)


def least_squares(structure: Structure, columns: Float2D, output: Float1D) -> Float1D:
    """The coefficients of a structure by ordinary least squares; its columns are as `design` has.

    Raises where they are not determined: the terms are a user's, who should hear of it.
    """
    with np.errstate(over="ignore"):  # what overflows is refused
        length = np.linalg.norm(columns, axis=0)
    if not (np.isfinite(length).all() and length.all()):
        bad = structure.terms[int(np.argmax(~np.isfinite(length) | (length == 0.0)))]
        raise AdjoinError(
            f"the fixed term '{term_text(bad)}' is zero or not finite on these data; leave it out,"
            " or check the units of its signals"
        )
    theta, _, rank, _ = np.linalg.lstsq(columns / length, output)
    if rank < len(structure):
        raise AdjoinError(
            f"the fixed terms '{structure}' cannot be told apart on these data; leave one out"
        )
    return np.asarray(theta / length)


def conditional_mode(
    columns: Float2D, output: Float1D, noise: float, coefficient: float, power: float
) -> Float1D:
    r"""The coefficients that maximise their full conditional.

    .. math:: \hat θ = \arg\min \frac{w}{σ²}‖y - Φθ‖² + \frac{1}{σ_θ²}‖θ‖²

    By normal equations on columns of unit length, and one step of refinement from the residuals of
    the solution, which wins back the digits that squaring the columns lost. `noise` and
    `coefficient` are the variances σ² and σ_θ², `power` is w.
    """
    if not columns.shape[1] or not power > 0.0:
        return np.zeros(columns.shape[1])
    length = np.linalg.norm(columns, axis=0)
    length[length == 0.0] = 1.0
    unit, ridge = columns / length, noise / (coefficient * power) / length**2
    normal = unit.T @ unit
    normal[np.diag_indices_from(normal)] += ridge
    theta = _solve(normal, unit.T @ output)
    theta += _solve(normal, unit.T @ (output - unit @ theta) - ridge * theta)
    return np.asarray(theta / length)


def _solve(normal: Float2D, right: Float1D) -> Float1D:
    """Solve with a matrix that should be regular; by least squares if rounding says it is not."""
    try:
        return np.asarray(np.linalg.solve(normal, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(normal, right)[0])
