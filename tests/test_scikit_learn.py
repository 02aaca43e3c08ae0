"""`Identifier` before scikit-learn's own `check_estimator`.

What fails because a fit here is of series in time, and not of rows that could be shuffled, is
listed with its reason, also in ``docs/identify.md``. Each must fail, and for that reason.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator
from tests.systems import quick, simulated

from adjoin import AdjoinError, Dataset, Identifier

U, Y = simulated()
MEASURED = "there is no output; pass u and y, or a Dataset"


class FreeRun(Identifier):
    """For tools that call ``predict(u)``: without measured outputs, what is left is a free run."""

    def predict(self, u: Any) -> Any:
        return self.simulate(u)


INHERENT = {
    "check_estimators_empty_data_messages": "Did not raise",  # no inputs: an autonomous system
    "check_fit1d": "Did not raise",  # one series is one input
    "check_regressors_train": "200 records",  # a list of lists is a list of records
    "check_fit2d_predict1d": "transpose them, a signal is a column",
    "check_n_features_in_after_fitting": "does not check for consistency",  # it does, in our words
    "check_dtype_object": "not numbers",  # AdjoinError, where TypeError is asked for
    "check_supervised_y_2d": "DataConversionWarning",  # an output of one column is an output
}
"""The message of every check that fails in a free run."""

NEEDS_OUTPUT = {
    name: MEASURED
    for name in (
        "check_dict_unchanged",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_predict1d",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_regressor_data_not_an_array",
        "check_regressors_int",
        "check_supervised_y_2d",
    )
} | {"check_estimators_nan_inf": "in predict"}
"""The message of every check that fails because it predicts without a measured output."""

MEANINGLESS = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")
"""Of a free run: its samples have an order, whether or not a model shows it."""


def checks(kind: type[Identifier]) -> list[Any]:
    """Every check of scikit-learn, with its name."""
    settings = {"max_lag": 1, "max_degree": 1, "samples": 100, "thin": 1, "chains": 1, "seed": 0}
    model = kind(n_jobs=1, progress=False, **settings)
    with warnings.catch_warnings():
        # It is no BaseEstimator, so that it can do without scikit-learn.
        warnings.filterwarnings("ignore", "Estimator .* does not inherit from")
        found = [check for _, check in estimator_checks_generator(model)]
    return [pytest.param(model, check, id=f"{name_of(check)}-{i}") for i, check in enumerate(found)]


def name_of(check: Any) -> str:
    return str(check.func.__name__)


def hold(model: Identifier, check: Callable[[Identifier], None], expected: dict[str, str]) -> None:
    reason = expected.get(name_of(check))
    if reason is None:
        check(model)
    else:
        with pytest.raises((AssertionError, AdjoinError)) as caught:
            check(model)
        assert reason in str(caught.value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("model", "check"), checks(Identifier))
def test_check_estimator(model: Identifier, check: Callable[[Identifier], None]) -> None:
    hold(model, check, INHERENT | NEEDS_OUTPUT)


@pytest.mark.parametrize(("model", "check"), checks(FreeRun))
def test_check_estimator_by_free_runs(model: FreeRun, check: Callable[[Identifier], None]) -> None:
    """The same where `predict` takes inputs only, so that the checks get to their point."""
    if name_of(check) not in MEANINGLESS:
        hold(model, check, INHERENT)


def test_every_exception_is_documented_and_still_a_check() -> None:
    page = Path("docs/identify.md").read_text(encoding="utf-8")
    names = {name_of(parameter.values[1]) for parameter in checks(Identifier)}
    for name in INHERENT | NEEDS_OUTPUT:
        assert name in names
        assert f"`{name}`" in page


def test_tags_say_what_it_is() -> None:
    tags = get_tags(quick())
    assert tags.estimator_type == "regressor"
    assert tags.regressor_tags is not None
    assert tags.target_tags.required
    assert not tags.input_tags.sparse


@pytest.mark.parametrize("method", ["predict", "simulate", "score"])
def test_before_fit_it_is_scikit_learns_error_and_ours(method: str) -> None:
    arguments = (U,) if method == "simulate" else (U, Y)
    for kind in (NotFittedError, AdjoinError):
        with pytest.raises(kind, match="has learned nothing yet; call fit") as caught:
            getattr(quick(), method)(*arguments)
        copy = pickle.loads(pickle.dumps(caught.value))
        assert isinstance(copy, kind)
        assert str(copy) == str(caught.value)


def test_without_scikit_learn_nothing_of_it_is_loaded() -> None:
    code = (
        "import sys, adjoin\n"
        "try: adjoin.Identifier().predict([1.0])\n"
        "except adjoin.AdjoinError as error: print(type(error).__name__, error)\n"
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("AdjoinError this Identifier has learned nothing yet")
    assert done.stdout.endswith("False\n")


@pytest.mark.parametrize(
    ("u", "y", "message"),
    [
        (U + 0j, Y, "input 'u' is complex. Complex data not supported: pass real and imaginary"),
        (U, Y + 0j, "output 'y' is complex. Complex data not supported"),
        (scipy.sparse.csr_array(U[:, None]), Y, "the input is sparse. Sparse data are not"),
        (scipy.sparse.dok_array(U[:, None]), Y, r"Sparse data are not supported: .*\.toarray\(\)"),
        ([scipy.sparse.csr_matrix(U[:, None])] * 2, [Y, Y], "the input in record 0 is sparse"),
        (U, scipy.sparse.csr_matrix(Y[:, None]), "the output is sparse"),
        (U[:1], Y[:1], "there is one sample only; a fit needs many more than max_lag"),
        (U, None, "requires y to be passed, but the target y is None, so there is no output"),
    ],
)
def test_what_it_cannot_take_is_said(u: Any, y: Any, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        quick().fit(u, y)


def test_features_are_counted_and_named_as_in_the_frame() -> None:
    frame = pd.DataFrame({"Force (N)": U, "wind": np.roll(U, 3)})
    model = quick(samples=100).fit(frame, Y)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["Force (N)", "wind"]
    assert model.feature_names_in_.dtype == object
    assert model.fit([frame, frame], [Y, Y]).feature_names_in_.tolist() == ["Force (N)", "wind"]
    for unnamed in (U, pd.DataFrame({0: U}), Dataset.from_arrays(U, Y)):
        again = model.fit(unnamed, None if isinstance(unnamed, Dataset) else Y)
        assert again.n_features_in_ == 1
        assert not hasattr(again, "feature_names_in_")


@pytest.mark.parametrize("objective", ["prediction", "abc"])
def test_what_was_learned_can_be_sent_to_another_process(objective: str) -> None:
    model = quick(samples=300, objective=objective).fit(U, Y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.model_ == model.model_
    assert copy.posterior_.map_model == model.model_
    np.testing.assert_array_equal(copy.predict(U, Y), model.predict(U, Y))
    assert clone(copy).get_params() == model.get_params()
