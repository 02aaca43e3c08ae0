"""A posterior as ArviZ sees it: labelled arrays over chain and draw, in the schema's groups.

Receives a `Collection`; gives an `arviz.InferenceData` (ArviZ 0.x) or an xarray `DataTree`
(ArviZ 1.x). Everything is in the user's units.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.checks import make_generator, require_count
from adjoin.errors import AdjoinError
from adjoin.grammar import Structure
from adjoin.grammar.equation import term_text
from adjoin.inference.objective import Residual, Tempered
from adjoin.kernels.state import PROPOSED
from adjoin.model import Model
from adjoin.results.collection import Collection
from adjoin.results.colour import predict_noise
from adjoin.version import __version__

if TYPE_CHECKING:
    import xarray as xr


_MOST_BYTES = 2**30  # of an export, which a laptop holds beside everything else
_BLOCK_VALUES = 2**21  # worked on at a time: 16 MiB, so that the peak is the result itself
_DRAW, _ROW = ("chain", "draw"), ("obs_id",)
_COORDINATES = (*_DRAW, *_ROW, "record", "sample")


def to_arviz(
    posterior: Collection,
    thin: int = 1,
    log_likelihood: bool = True,
    posterior_predictive: bool = True,
    seed: int | None = 0,
) -> Any:
    r"""Export a posterior to ArviZ.

    .. math::
        \log p(y_k | θ, σ) = -\tfrac12 \log 2πσ² - \frac{(y_k - \hat y_k)²}{2σ²}, \qquad
        y_k^{rep} = \hat y_k + σ ξ, \quad ξ \sim N(0, 1)

    are the pointwise groups, with :math:`\hat y_k` the one-step prediction of a draw, or what its
    objective judges instead: with ``"simulation"`` its free run from the first measured samples and
    what the past of coloured noise says of it. The likelihood is not tempered, whatever power the
    chains ran with.

    With ``"abc"`` :math:`\hat y_k` is the free run as well, NaN from where it diverges, and σ² the
    noise variance that the tolerance stands for (with a distance of the user's own, the draw's own
    mean square error). Such a posterior has no likelihood, only a tolerance: the group
    `log_likelihood` and the statistic `log_lik` are left out even if asked for, and the statistic
    `distance` says how far the free run is from the measured output.

    Parameters
    ----------
    posterior : Posterior
        What to export; where chains differ in length, the end of each, as long as the shortest.
    thin : int
        Keep every so many draws.
    log_likelihood, posterior_predictive : bool
        Whether to have the groups with a value for every draw and fitted sample; a
        posterior of ``objective="abc"`` never has the first.
    seed : int or None
        Of the noise in the posterior predictive draws; None for another one every time.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        Groups `posterior` (`theta` and `included` over every `term` that occurs, `n_terms`,
        `noise_sd`, and `coefficient_sd` if it has a prior), `sample_stats`, `log_likelihood`,
        `posterior_predictive`, `observed_data` and, with inputs, `constant_data`.
    """
    require_count("thin", thin)
    rng = make_generator(seed)
    arviz = import_arviz()
    chosen = _choose_draws(posterior, int(thin))
    log_likelihood = bool(log_likelihood) and posterior.objective.has_likelihood
    n_pointwise = log_likelihood + bool(posterior_predictive)
    _require_room(posterior, chosen, int(thin), n_pointwise)
    groups = {
        # Booleans, but for the summary of ArviZ 1.x, which takes differences of them.
        "posterior": _draws_group(posterior, chosen, bool if _is_old(arviz) else np.int8),
        "sample_stats": _statistics_group(posterior, chosen),
    }
    density, replicate = _pointwise(posterior, chosen, rng, log_likelihood, posterior_predictive)
    name, *inputs = _variable_names(posterior)
    over_rows = _draw_coordinates(posterior, chosen) | _row_coordinates(posterior)
    for group, values in (("log_likelihood", density), ("posterior_predictive", replicate)):
        if values is not None:
            shaped = values.reshape(*chosen.shape, -1)
            groups[group] = _dataset({name: (_DRAW + _ROW, shaped)}, over_rows)
    rows = _row_coordinates(posterior)
    groups["observed_data"] = _dataset({name: (_ROW, _fitted_output(posterior))}, rows)
    if inputs:
        table = posterior.data.lag_table(posterior.max_lag).value[:, rows["obs_id"][1]]
        columns = {input_name: (_ROW, row) for input_name, row in zip(inputs, table, strict=False)}
        groups["constant_data"] = _dataset(columns, rows)
    for group, dataset in groups.items():
        dataset.attrs.update(_attributes(posterior, arviz, group))
    return _contain(arviz, groups)


def import_arviz() -> ModuleType:
    """ArviZ, an optional extra, without the notice of its refactoring on the first import a day."""
    with warnings.catch_warnings():
        notice = r"\s*ArviZ is undergoing a major refactor"
        warnings.filterwarnings("ignore", message=notice, category=FutureWarning)
        try:
            import arviz
        except ModuleNotFoundError as error:
            if error.name != "arviz":
                raise
            raise AdjoinError(
                "ArviZ is not installed, to which the posterior should go; run"
                " pip install 'adjoin[arviz]'"
            ) from error
    return arviz  # type: ignore[no-any-return]


def _is_old(arviz: ModuleType) -> bool:
    """Whether this is ArviZ 0.x."""
    return "InferenceData" in vars(arviz)  # hasattr would wake the warnings of ArviZ 1.x


def _contain(arviz: ModuleType, groups: dict[str, xr.Dataset]) -> Any:
    """The groups in the container of this version of ArviZ."""
    if _is_old(arviz):
        return arviz.InferenceData(**groups)
    from xarray import DataTree

    return DataTree.from_dict(groups)


def _choose_draws(posterior: Collection, thin: int) -> Int2D:
    """(n_chains, n) places in `Posterior.draws`: the end of each chain, thinned."""
    lengths = [int((posterior.draws.chain == c).sum()) for c in posterior.chain_numbers]
    if len(set(lengths)) > 1:
        warnings.warn(
            f"the chains have {', '.join(map(str, lengths))} draws; the last {min(lengths)} of"
            " each are exported",
            stacklevel=4,  # the caller of Posterior.to_arviz
        )
    return posterior.draws.ends[:, ::thin]


def _require_room(posterior: Collection, chosen: Int2D, thin: int, n_pointwise: int) -> None:
    """Refuse an export that would fill the memory, and say what would fit."""
    of_terms = 9 * len(posterior.terms)  # a float and a flag each
    of_rows = 8 * posterior.n_rows * n_pointwise
    needed = chosen.size * (of_terms + of_rows)
    if needed <= _MOST_BYTES:
        return
    ways = []
    n_fitting = _MOST_BYTES // (len(chosen) * (of_terms + of_rows))  # draws of each chain
    if n_fitting:
        ways.append(f"thin={math.ceil(thin * chosen.shape[1] / n_fitting)}")
    if n_pointwise and chosen.size * of_terms <= _MOST_BYTES:
        ways.append("log_likelihood=False and posterior_predictive=False")
    raise AdjoinError(
        f"the export needs {needed / 2**30:.1f} GiB for {chosen.size} draws of"
        f" {of_terms // 9} terms and {posterior.n_rows} samples, but may take"
        f" {_MOST_BYTES / 2**30:g}; pass {', or '.join(ways) or 'a posterior of fewer chains'}"
    )


def _draws_group(posterior: Collection, chosen: Int2D, flag: type) -> xr.Dataset:
    """Coefficients over the union of all terms, and the noise; `flag` is the type of `included`."""
    draws, present = posterior.draws, np.unique(posterior.draws.term)
    row_of = np.full(len(draws), -1)
    row_of[chosen.ravel()] = np.arange(chosen.size)
    row, column = row_of[draws.owner], np.searchsorted(present, draws.term)
    inside = row >= 0
    at = row[inside], column[inside]
    theta = np.zeros((chosen.size, len(present)))
    included: np.ndarray = np.zeros(theta.shape, dtype=flag)
    theta[at], included[at] = draws.theta[inside], True
    terms = [posterior.encoding.term(posterior.term_keys[number]) for number in present]
    by_term, shape = (*_DRAW, "term"), (*chosen.shape, len(terms))
    of_noise = "standard deviation of the noise"
    if not posterior.objective.has_likelihood:
        of_noise += " that the tolerance, or a distance of one's own, leaves room for"
    variables = {
        "theta": (by_term, theta.reshape(shape), _said("coefficient; 0 where it is not in")),
        "included": (by_term, included.reshape(shape), _said("whether the term is in")),
        "n_terms": (_DRAW, draws.size[chosen], _said("number of terms")),
        "noise_sd": (_DRAW, draws.noise_sd[chosen], _said(of_noise)),
    }
    if np.ptp(draws.coefficient) > 0.0:
        said = _said("standard deviation of the coefficients' prior, on scaled signals")
        variables["coefficient_sd"] = (_DRAW, np.sqrt(draws.coefficient[chosen]), said)
    for number, rho in enumerate(draws.rho.T, start=1):
        said = _said(f"correlation of the noise with what it was {number} samples before")
        variables[f"rho_{number}"] = (_DRAW, rho[chosen], said)
    texts = np.array([term_text(term) for term in terms], dtype=str)
    return _dataset(variables, _draw_coordinates(posterior, chosen) | {"term": ("term", texts)})


def _statistics_group(posterior: Collection, chosen: Int2D) -> xr.Dataset:
    """Log densities, fit and the rank of the structure of every draw."""
    draws = posterior.draws
    if not posterior.objective.has_likelihood:
        of_draw = (
            "log density of structure and coefficients on scaled signals, up to a constant, which"
            " is their prior within the tolerance"
        )
        fit = "distance", posterior.distance[chosen]
        of_fit = "distance of the free run from the fitted output, in the unit of the tolerance"
    else:
        of_draw = (
            "log density of structure, coefficients and variances on scaled signals, up to a"
            f" constant; the likelihood to the power {posterior.power:g}"
        )
        # A density of y/s is s times that of y, once for every fitted sample; none with power 0.
        n_fitted = posterior.n_rows if posterior.power > 0.0 else 0
        log_unit = math.log(posterior.scaling.noise_factor)
        fit = "log_lik", draws.log_lik[chosen] - n_fitted * log_unit
        of_fit = "log density of all fitted samples given coefficients and noise"
    of_structure = "log prior of the structure, up to a constant"
    rank = _rank_of(posterior)[draws.structure[chosen]]
    variables = {
        "lp": (_DRAW, posterior.log_posterior[chosen], _said(of_draw)),
        fit[0]: (_DRAW, fit[1], _said(of_fit)),
        "log_prior": (_DRAW, draws.log_prior[chosen], _said(of_structure)),
        "structure": (_DRAW, rank, _said("rank of the structure by mass, from 0")),
    }
    return _dataset(variables, _draw_coordinates(posterior, chosen))


def _said(description: str) -> dict[str, str]:
    """What a variable is, as its attribute."""
    return {"description": description}


def _rank_of(posterior: Collection) -> Int1D:
    """The place in `Posterior.structures` of every structure number that the draws use."""
    numbers = [posterior.number_of(rank) for rank in range(len(posterior.structures))]
    rank = np.zeros(max(numbers) + 1, dtype=np.int64)
    rank[numbers] = np.arange(len(numbers))
    return rank


def _pointwise(
    posterior: Collection,
    chosen: Int2D,
    rng: np.random.Generator,
    wants_density: bool,
    wants_replicate: bool,
) -> tuple[Float2D | None, Float2D | None]:
    """(n_draws, n_rows) log densities of the fitted samples, and samples drawn in their place."""
    if not (wants_density or wants_replicate):
        return None, None
    draws, places = posterior.draws, chosen.ravel()
    measured = _fitted_output(posterior)
    shape = len(places), len(measured)
    density = np.empty(shape) if wants_density else None
    # The noise is drawn first, so that it does not depend on which structures there are.
    replicate = rng.standard_normal(shape) if wants_replicate else None
    structure, rank_of = draws.structure[places], _rank_of(posterior)
    order = np.argsort(structure, kind="stable")
    numbers, start = np.unique(structure[order], return_index=True)
    most = max(1, _BLOCK_VALUES // shape[1])
    predictors = {Residual.FREE_RUN: _free_runs, Residual.ONE_STEP: _one_step}
    predictor = predictors[posterior.objective.residual]
    for number, rows in zip(numbers, np.split(order, start[1:]), strict=True):
        found = posterior.structure(int(rank_of[number]))
        predict = predictor(posterior, found)
        for block in np.split(rows, range(most, len(rows), most)):
            at = draws.offset[places[block], None] + np.arange(len(found))
            expected = predict(draws.theta[at])
            if draws.rho.shape[1]:
                expected += _expected_noise(
                    posterior, measured - expected, draws.rho[places[block]]
                )
            sd = draws.noise_sd[places[block], None]
            if density is not None:
                deviation = (measured - expected) / sd
                density[block] = -0.5 * deviation**2 - np.log(math.sqrt(2.0 * math.pi) * sd)
            if replicate is not None:
                replicate[block] = expected + sd * replicate[block]
    return density, replicate


def _expected_noise(posterior: Collection, residual: Float2D, rho: Float2D) -> Float2D:
    """What the past of each record's coloured noise predicts of it, one row per draw."""
    lengths = [len(record) - posterior.max_lag for record in posterior.data.outputs]
    rows = [
        [predict_noise(part, each, 1)[0] for part in np.split(series, np.cumsum(lengths)[:-1])]
        for series, each in zip(residual, rho, strict=True)
    ]
    return np.array([np.concatenate(parts) for parts in rows])


def _one_step(posterior: Collection, structure: Structure) -> Callable[[Float2D], Float2D]:
    """What predicts the fitted samples one step ahead, for rows of coefficients.

    Draws of one structure share its columns, so that they are predicted by one matrix product.
    """
    if structure.has_noise:
        return _predictions(posterior, structure)
    scaling = posterior.scaling
    rows = posterior.run.problem.rows
    columns, factor = rows.design(structure), rows.factors(structure)

    def predict(theta: Float2D) -> Float2D:
        expected: Float2D = (theta / factor) @ columns.T * scaling.noise_factor
        expected += scaling.offset[-1]
        return expected

    return predict


def _free_runs(posterior: Collection, structure: Structure) -> Callable[[Float2D], Float2D]:
    """What simulates the fitted samples, for rows of coefficients; NaN from a divergence on."""
    inputs, first = posterior.data.inputs, posterior.max_lag
    seeds = [output[:first] for output in posterior.data.outputs]

    def run(model: Model) -> Float1D:
        return np.concatenate([s[first:] for s in model.free_response(inputs, seeds).series])

    return _run_each(posterior, structure, run)


def _predictions(posterior: Collection, structure: Structure) -> Callable[[Float2D], Float2D]:
    """What predicts the fitted samples one step ahead with past noise, none before the first."""
    lag = structure.max_lag
    begin = posterior.max_lag - lag
    inputs = [record[begin:] for record in posterior.data.inputs]
    outputs = [record[begin:] for record in posterior.data.outputs]

    def run(model: Model) -> Float1D:
        return np.concatenate([s[lag:] for s in model.predicted_response(inputs, outputs).series])

    return _run_each(posterior, structure, run)


def _run_each(
    posterior: Collection, structure: Structure, run: Callable[[Model], Float1D]
) -> Callable[[Float2D], Float2D]:
    """The runs of rows of coefficients; most draws repeat the one before, and are run once."""
    offsets, limits = posterior.scaling.offsets, posterior.run.problem.limits

    def predict(theta: Float2D) -> Float2D:
        distinct, place = np.unique(theta, axis=0, return_inverse=True)
        models = [Model(structure, tuple(t), offsets=offsets, limits=limits) for t in distinct]
        return np.array([run(model) for model in models])[place.ravel()]

    return predict


def _fitted_output(posterior: Collection) -> Float1D:
    table = posterior.data.lag_table(posterior.max_lag)
    output: Float1D = table.value[-1, _row_coordinates(posterior)["obs_id"][1]]
    return output


def _variable_names(posterior: Collection) -> list[str]:
    """The output's and the inputs' names, with _ behind one that a coordinate has."""
    names, taken = posterior.data.names, set(_COORDINATES)
    found = []
    for name in (names.output, *names.inputs):
        while name in taken:
            name += "_"  # noqa: PLW2901
        taken.add(name)
        found.append(name)
    return found


def _draw_coordinates(posterior: Collection, chosen: Int2D) -> dict[str, Any]:
    chains = np.array(posterior.chain_numbers)
    return {"chain": ("chain", chains), "draw": ("draw", np.arange(chosen.shape[1]))}


def _row_coordinates(posterior: Collection) -> dict[str, Any]:
    """The fitted samples, counted through all records; and in each, where there are several."""
    table = posterior.data.lag_table(posterior.max_lag)
    stretches = list(zip(table.first, table.start[1:], strict=True))
    row = np.concatenate([np.arange(first, stop) for first, stop in stretches])
    found = {"obs_id": ("obs_id", row)}
    if posterior.data.n_records > 1:
        record = np.repeat(np.arange(len(stretches)), [stop - first for first, stop in stretches])
        found["record"] = ("obs_id", record)
        found["sample"] = ("obs_id", row - table.start[record])
    return found


def _dataset(variables: dict[str, Any], coordinates: dict[str, Any]) -> xr.Dataset:
    from xarray import Dataset

    return Dataset(variables, coordinates)


def _attributes(posterior: Collection, arviz: ModuleType, group: str) -> dict[str, Any]:
    """What ArviZ's schema wants to be said of every group."""
    found: dict[str, Any] = {
        "created_at": datetime.now(UTC).isoformat(),
        "inference_library": "adjoin",
        "inference_library_version": __version__,
        "arviz_version": arviz.__version__,
    }
    if group in ("posterior", "sample_stats"):
        trace = min(posterior.traces, key=lambda trace: trace.n_samples)
        n_recording = trace.n_samples
        if posterior.objective.ladder is Tempered.TOLERANCE:
            n_recording = int(trace.move[:, PROPOSED].sum())  # one a sample, since it was frozen
        if posterior.objective.has_likelihood:
            found["likelihood_power"] = float(posterior.power)
        n_annealing = trace.n_samples - n_recording
        found["tuning_steps"] = n_annealing + int(posterior.settings.burn_in * n_recording)
        if "sampling_s" in posterior.timing:
            found["sampling_time"] = float(posterior.timing["sampling_s"])
    return found
