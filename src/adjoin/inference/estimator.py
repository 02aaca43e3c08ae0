"""scikit-learn's conventions for an estimator, without its import, which takes longer than a fit.

Receives a subclass whose ``__init__`` only stores its arguments. ``clone``, ``GridSearchCV`` and
``check_is_fitted`` then work on it; tests hold it against scikit-learn's own ``check_estimator``.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from adjoin.errors import AdjoinError


class Estimator:
    """Parameters by name, as scikit-learn reads and sets them."""

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        """The names of the parameters with their defaults."""
        found = inspect.signature(cls.__init__).parameters
        return {name: found[name].default for name in list(found)[1:]}

    def _note(self, sentence: str) -> None:
        """Tell whoever called `fit`; also found in diagnostics, for whoever calls it many times."""
        warnings.warn(sentence, stacklevel=5)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name; `deep` has no meaning here, as there are no nested ones."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                raise AdjoinError(
                    f"{type(self).__name__} has no parameter '{name}'; there are {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._parameters().items()
            if getattr(self, name) is not default and getattr(self, name) != default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _note_features(self, u: Any, inputs: Sequence[str]) -> None:
        """How many inputs there are, and their names where the user's frame has names."""
        self.n_features_in_ = len(inputs)
        first = u[0] if isinstance(u, list | tuple) else u
        columns = list(getattr(first, "columns", ()))
        if columns and all(isinstance(column, str) for column in columns):
            self.feature_names_in_ = np.array(columns, dtype=object)
        else:
            vars(self).pop("feature_names_in_", None)  # of an earlier fit

    def __sklearn_tags__(self) -> Any:
        # Only scikit-learn asks for tags, so it is there.
        from sklearn.base import BaseEstimator
        from sklearn.utils import RegressorTags

        tags = BaseEstimator().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        return tags


def not_fitted(message: str) -> AdjoinError:
    """An `AdjoinError` that is scikit-learn's `NotFittedError`, too, where that is loaded.

    Whoever catches scikit-learn's has imported it; for all others it need not be.
    """
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return AdjoinError(message)
    kind = type(
        "NotFittedError",
        (AdjoinError, exceptions.NotFittedError),
        {"__module__": __name__, "__reduce__": lambda error: (not_fitted, error.args)},
    )
    error: AdjoinError = kind(message)
    return error
