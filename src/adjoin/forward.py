"""`forward_selection`: one path of models that grow by the term that gains most.

Receives what a user passes; wires data, grammar, scaling and ``inference/forward.py`` together, and
hands the path back as models in the user's units.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoin.checks import require_count, require_seed
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar import Grammar, Structure
from adjoin.grammar.equation import term_text
from adjoin.grammar.library import Functions
from adjoin.inference.arguments import check_held_out
from adjoin.inference.forward import PREDICTION, SIMULATION, Step, forward_path
from adjoin.inference.model_class import choose_grammar
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.inference.settings import JOINT, RESIDUAL, RUNAWAY, is_runaway
from adjoin.markup import html_heading, html_table
from adjoin.model import Model
from adjoin.modelling.digits import FittedTo
from adjoin.modelling.mathml import model_html
from adjoin.results.scoring import errors_of
from adjoin.text import UNKNOWN, counted
from adjoin.threads import one_blas_thread

if TYPE_CHECKING:
    import pandas as pd

_TINY = 1e-300
_SYNONYMS = {"osa": PREDICTION, "output-error": SIMULATION}


@dataclass(frozen=True, eq=False, repr=False)
class ForwardPath:
    r"""Models of growing size, as `forward_selection` found them.

    Parameters
    ----------
    models : tuple of Model
        In the order in which they grew, in the user's units.
    added : tuple of str
        The term that each has and the one before it has not; of the first, all of its terms.
    objective : {"simulation", "prediction"}
        What was made small.
    free_run, one_step, held_out : tuple of float
        NMSE in percent of the training data's free run and one-step prediction, and of the free run
        of the held-out data: infinite where a run is lost; NaN where nothing was held out.
    bic : tuple of float
        :math:`n \log(S/n) + p \log n + 2 \log \binom Mp` with S the squared error of the objective
        on n rows, p terms that are not fixed, and M to choose them from: the extended criterion of
        Chen and Chen (Biometrika 95, 2008), without which the best of thousands of useless terms
        looks useful. Infinite where a run is lost.
    """

    models: tuple[Model, ...]
    added: tuple[str, ...]
    objective: str
    free_run: tuple[float, ...]
    one_step: tuple[float, ...]
    held_out: tuple[float, ...]
    bic: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.models)

    def __iter__(self) -> Iterator[Model]:
        return iter(self.models)

    def __getitem__(self, i: int) -> Model:
        return self.models[i]

    def __repr__(self) -> str:
        return f"ForwardPath({len(self)} models, the best: {self.best.equation})"

    def _repr_html_(self) -> str:
        heads = ("terms", "added", "free run, NMSE %", "one step, NMSE %", "held out, NMSE %", "")
        rows = [
            (str(n), term, _share(free), _share(ahead), _share(held), mark)
            for n, term, free, ahead, held, mark in zip(
                (len(model.structure) for model in self.models),
                self.added,
                self.free_run,
                self.one_step,
                self.held_out,
                ("best" if i == self.n_best else "" for i in range(len(self))),
                strict=True,
            )
        ]
        title = html_heading("ForwardPath", f"{counted(len(self), 'model')}, by {self.objective}")
        return title + html_table(heads, rows) + model_html(self.best)

    @property
    def n_best(self) -> int:
        """Which is the best: by the held-out free run, or by `bic` where nothing was held out.

        The criterion takes residuals as white. Those of a free run rarely are, and it then has too
        many terms rather than too few: hold data back to be safe.
        """
        judged = self.held_out if not math.isnan(self.held_out[0]) else self.bic
        return int(np.argmin(judged))

    @property
    def best(self) -> Model:
        """The best model; see `n_best`."""
        return self.models[self.n_best]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each model: its number of terms, the term it was given, and its errors."""
        import pandas as pd

        return pd.DataFrame(
            {
                "n_terms": [len(model.structure) for model in self.models],
                "added": self.added,
                "free_run": self.free_run,
                "one_step": self.one_step,
                "bic": self.bic,
                "held_out": self.held_out,
            }
        )


def _share(nmse: float) -> str:
    """An error as a table shows it: a dash where there is none, as of a run that is lost."""
    return f"{nmse:.4g}" if math.isfinite(nmse) else UNKNOWN


@one_blas_thread()
def forward_selection(
    u: Any,
    y: Any = None,
    *,
    objective: str = SIMULATION,
    grammar: Grammar | None = None,
    max_lag: int = 10,
    max_degree: int = 3,
    max_terms: int = 20,
    functions: Functions = (),
    knots: int = 3,
    constant: bool = True,
    initial: str | Structure | None = None,
    initial_mode: str = JOINT,
    center: bool = False,
    scale: bool = True,
    runaway: float = RUNAWAY,
    held_out: Dataset | None = None,
    seed: int = 0,
    past_noise: bool = False,
) -> ForwardPath:
    r"""Grow a model term by term, each time by the one that improves its free run most.

    .. math:: g_j = \frac{(r^Ts_j^⊥)²}{‖s_j^⊥‖²}, \qquad
        s_j(k) = φ_j(k) + \sum_l \frac{∂f(k)}{∂\hat y(k-l)} s_j(k-l)

    is what the squared error of the free run loses to first order if term j joins, with r the
    residual and :math:`s_j^⊥` what the slope of the run to the new coefficient has beside those to
    the others. From :math:`y(k-1)` and the fixed terms on, the three terms of the largest gain are
    fitted in each step, and the best of them joins. Seconds, where sampling takes minutes: a quick
    look, and a start. It says nothing about how sure it is.

    Parameters
    ----------
    u, y
        Inputs and output, as `Identifier.fit` takes them: arrays, frames, lists of those for
        several records, or one `Dataset`.
    objective : {"simulation", "prediction"}
        Whose squared error is made small: that of free runs (synonym ``"output-error"``), or of
        predictions one step ahead (``"osa"``), which is orthogonal least squares.
    grammar : Grammar, optional
        Which equations can be said. Default: polynomial NARX of the data's signals.
    max_lag, max_degree : int
        Largest delay, and largest number of factors in a term, of the default grammar.
    max_terms : int
        How many terms the largest model may have, fixed ones included.
    functions, knots
        Functions of the default grammar, as for `Identifier`.
    constant : bool
        Whether the default grammar has a constant.
    initial : str, optional
        Fixed terms of every model: ``"u(k)*abs(u(k)) + udot(k)"``.
    initial_mode : {"joint", "residual"}
        Whether their coefficients are learned with the rest, or kept from a fit of their own.
    center, scale : bool
        Whether signals are centred and scaled inside; models come back in the user's units.
    runaway : float
        Where a free run is lost, as for `Identifier`.
    held_out : Dataset, optional
        Data to choose from the path by.
    seed : int
        Only alphabets that are too large to be looked at as a whole depend on it.
    past_noise : bool
        Whether the default grammar has past noise (NARMAX); with ``objective="prediction"``.

    Returns
    -------
    ForwardPath
        The models with their errors, smallest first.

    Examples
    --------
    >>> import adjoin
    >>> train, validation, _ = adjoin.datasets.academic(0)
    >>> path = adjoin.forward_selection(train, held_out=validation, max_terms=6)
    >>> print(path[2].structure)
    u(k-1) + u(k-5)^3 + y(k-1)
    """
    switches = {"center": center, "scale": scale, "constant": constant, "past_noise": past_noise}
    objective = _check(objective, max_terms, initial_mode, runaway, switches)
    require_seed(seed)
    data = _dataset(u, y, grammar)
    data.require_variation()
    prior = Prior() if constant else Prior(constant_odds=0.0)
    given = {
        "grammar": grammar,
        "max_lag": max_lag,
        "max_degree": max_degree,
        "functions": functions,
        "knots": knots,
        "initial": initial,
        "center": center,
        "past_noise": past_noise,
    }
    default = {"max_lag": 10, "max_degree": 3, "knots": 3}
    alphabet = choose_grammar(given, default, data, prior).alphabet
    data.require_window(alphabet.max_lag)
    data.require_degree(max(alphabet.max_degree, alphabet.fixed.max_degree))
    check_held_out(held_out, data, alphabet.max_lag)
    scaling = Scaling.from_dataset(data, bool(center), bool(scale))
    problem = Problem(data, alphabet, scaling, initial_mode == RESIDUAL, float(runaway))
    if problem.is_residual and not len(problem.pinned):
        raise AdjoinError("initial_mode='residual' needs terms to fit first; pass initial='…'")
    steps = forward_path(problem, prior, max_terms, objective, int(seed or 0))
    return _as_path(problem, steps, objective, held_out)


def _check(
    objective: Any, max_terms: Any, initial_mode: Any, runaway: Any, switches: Mapping[str, Any]
) -> str:
    """The objective by its name; what means nothing is refused."""
    known = _SYNONYMS.get(objective, objective) if isinstance(objective, str) else objective
    if known not in (SIMULATION, PREDICTION):
        raise AdjoinError(
            f"objective={objective!r} is unknown; use '{SIMULATION}' or '{PREDICTION}'"
        )
    require_count("max_terms", max_terms)
    if initial_mode not in (JOINT, RESIDUAL):
        raise AdjoinError(
            f"initial_mode={initial_mode!r} is unknown; use '{JOINT}' or '{RESIDUAL}'"
        )
    if not is_runaway(runaway):
        raise AdjoinError(
            "runaway must be a number above 1 (times half the range of the measured output), or"
            f" infinite, not {runaway!r}"
        )
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool):
            raise AdjoinError(f"{name} must be True or False, not {value!r}")
    return str(known)


def _dataset(u: Any, y: Any, grammar: Grammar | None) -> Dataset:
    names = grammar.names if isinstance(grammar, Grammar) else None
    if not isinstance(u, Dataset):
        if y is None:
            raise AdjoinError(
                "there is no output; call forward_selection(u, y), or forward_selection(dataset)"
            )
        return Dataset.from_arrays(u, y, names)
    if y is not None:
        raise AdjoinError("a Dataset holds its output already; pass it without y")
    if names is not None and names.ordered[:-1] != u.names.ordered[:-1]:
        raise AdjoinError(
            f"the grammar is of the signals {', '.join(names.ordered[:-1])}, but the data have"
            f" {', '.join(u.names.ordered[:-1])}"
        )
    return u


def _as_path(
    problem: Problem, steps: list[Step], objective: str, held_out: Dataset | None
) -> ForwardPath:
    """Models in the user's units, and their errors."""
    models = tuple(as_model(problem, step) for step in steps)
    n_seed = problem.alphabet.max_lag
    first = str(problem.encoding.structure(steps[0].keys))
    return ForwardPath(
        models=models,
        added=(first, *(_term(problem, step.keys[-1]) for step in steps[1:])),
        objective=objective,
        free_run=tuple(_free_run(model, problem.data, n_seed) for model in models),
        one_step=tuple(_one_step(model, problem.data, n_seed) for model in models),
        held_out=tuple(
            _free_run(model, held_out, n_seed) if held_out is not None else math.nan
            for model in models
        ),
        bic=tuple(_criterion(problem, step) for step in steps),
    )


def _term(problem: Problem, key: int) -> str:
    return term_text(problem.encoding.term(key))


def as_model(problem: Problem, step: Step) -> Model:
    """A structure of the path in the user's units."""
    rows, n = problem.rows, problem.rows.n_rows
    structure = problem.encoding.structure(step.keys)
    by_key = dict(zip(step.keys, step.theta, strict=True))
    theta = np.array([by_key[problem.encoding.key(term)] for term in structure])
    left = step.error / max(n - len(step.keys), 1)
    return Model(
        structure,
        tuple(theta * rows.factors(structure)),
        math.sqrt(left) * rows.scaling.noise_factor if math.isfinite(left) else None,
        rows.scaling.offsets,
        limits=problem.limits,
        fitted_to=FittedTo(problem.data, problem.alphabet.max_lag),
    )


def _criterion(problem: Problem, step: Step) -> float:
    """See `ForwardPath`, ``bic``."""
    n, n_terms = problem.rows.n_rows, problem.alphabet.n_terms
    p = min(len(step.keys) - len(problem.alphabet.fixed), n_terms)
    ways = math.lgamma(n_terms + 1) - math.lgamma(p + 1) - math.lgamma(n_terms - p + 1)
    return n * math.log(max(step.error, _TINY) / n) + p * math.log(n) + 2.0 * ways


def _free_run(model: Model, data: Dataset, n_seed: int) -> float:
    """NMSE in percent of the free run; infinite where it is lost."""
    runs = model.free_response(data.inputs, [record[:n_seed] for record in data.outputs]).series
    found = errors_of(data.outputs, runs, n_seed).nmse
    return math.inf if found is None else found


def _one_step(model: Model, data: Dataset, n_seed: int) -> float:
    """NMSE in percent of the prediction one step ahead; infinite where it is lost."""
    found = errors_of(
        data.outputs, model.predicted_response(data.inputs, data.outputs).series, n_seed
    ).nmse
    return math.inf if found is None else found
