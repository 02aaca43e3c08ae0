"""scikit-learn's conventions for an estimator, without its import, which takes longer than a fit.

Receives a subclass whose ``__init__`` only stores its arguments. ``clone``, ``GridSearchCV`` and
``check_is_fitted`` then work on it; tests hold it against scikit-learn itself.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

from adjoin.errors import AdjoinError


class Estimator:
    """Parameters by name, as scikit-learn reads and sets them."""

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        """The names of the parameters with their defaults."""
        found = inspect.signature(cls.__init__).parameters
        return {name: found[name].default for name in list(found)[1:]}

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

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        tags = BaseEstimator().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.target_tags.required = True
        return tags
