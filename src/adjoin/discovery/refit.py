"""The terms of a finished equation, fitted to other data.

Receives a model, data and the setting it is of; gives the model at the optimum of these data, for
the second look of ``second_look``.
"""

from __future__ import annotations

import numpy as np

from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.discovery.settings import LINEAR, Setting
from adjoin.forward import as_model
from adjoin.inference.forward import PREDICTION, SIMULATION, Selection, Step
from adjoin.inference.model_class import choose_grammar
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.model import Model


def refit(model: Model, data: Dataset, setting: Setting) -> Model:
    """The same terms at the optimum of other data, begun at the coefficients they have."""
    prior, structure, center = Prior(), model.structure, setting.center
    ahead = setting.objective in (PREDICTION, LINEAR)
    given = {
        "grammar": None,
        "max_lag": structure.max_lag if setting.objective == LINEAR else setting.max_lag,
        "max_degree": max(structure.max_degree, 1),
        "functions": (),
        "knots": 3,
        "initial": str(structure),
        "center": center,
        "past_noise": False,
    }
    alphabet = choose_grammar(given, dict(given), data, prior).alphabet
    problem = Problem(data, alphabet, Scaling.from_dataset(data, center, scale=True))
    # One more for y(k-1), which a path begins with; it is not fitted here.
    selection = Selection(
        problem, prior, len(structure) + 1, PREDICTION if ahead else SIMULATION, seed=0
    )
    keys = tuple(problem.encoding.key(term) for term in structure)
    start = np.array(model.theta) / problem.rows.factors(structure)
    error, theta = selection.fit(keys, start)
    return as_model(problem, Step(keys, theta, error, np.nan))
