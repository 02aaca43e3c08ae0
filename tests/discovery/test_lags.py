"""Linear models of all lags, against least squares written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from adjoin import Dataset
from adjoin.discovery.lags import far_lags, linear_models


def _delayed(n: int = 600, delay: int = 17) -> Dataset:
    rng = np.random.default_rng(3)
    u = 5.0 + rng.normal(size=n)
    y = np.zeros(n)
    for k in range(delay, n):
        y[k] = 0.7 * y[k - 1] + 2.0 * u[k - delay] + 1.5
    return Dataset.from_arrays(u, y + 0.05 * rng.normal(size=n))


def test_every_order_is_that_of_least_squares() -> None:
    data = _delayed()
    models, most = linear_models(data), 40
    record = data.records[0]
    u, y = record.inputs[:, 0], record.output
    for order in (1, 3, 10):
        rows = range(most, len(y))
        design = [
            [1.0, *(y[k - i] for i in range(1, order + 1)), *(u[k - i] for i in range(order + 1))]
            for k in rows
        ]
        theta = np.linalg.lstsq(np.array(design), y[most:], rcond=None)[0]
        terms = ["1", *(f"y(k-{i})" for i in range(1, order + 1)), "u(k)"]
        terms += [f"u(k-{i})" for i in range(1, order + 1)]
        found = models[order].coefficients
        assert [found[term] for term in terms] == pytest.approx(theta, rel=1e-7, abs=1e-9)


def test_copies_of_a_column_do_no_harm() -> None:
    data = _delayed()
    both = np.column_stack([data.u, data.u])
    models = linear_models(Dataset.from_arrays(both, data.y))
    assert all(np.isfinite(model.theta).all() for model in models.values())


def test_windows_end_where_rows_do() -> None:
    assert max(linear_models(_delayed(n=120))) < 15
    assert max(linear_models(_delayed(), most=8)) == 8


def test_longer_windows_are_asked_for_where_they_pay() -> None:
    assert far_lags({5: 1.0, 10: 1.0, 20: 0.1, 40: 0.099}, usual=10) == (20,)
    assert far_lags({5: 1.0, 10: 1.0, 20: 0.99}, usual=10) == ()
    assert far_lags({5: np.inf}, usual=10) == ()
