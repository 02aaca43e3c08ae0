"""The first guess of past noise equals its formula row by row, and is about the noise."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.past_noise import guess

from adjoin import Dataset, Model
from adjoin.inference.past_noise import guess_noise
from adjoin.inference.rows import Rows


def _guess(data: Dataset, max_lag: int) -> np.ndarray:
    return guess_noise(Rows.unscaled(data, max_lag).table, max_lag)


@pytest.mark.parametrize(
    ("lengths", "n_inputs", "max_lag"),
    [
        ((300,), 1, 2),
        ((300,), 1, 8),  # twice the window is more than ten
        ((90, 40, 25), 2, 3),  # fewer rows than so many lags need
        ((60, 6, 80), 1, 4),  # a record that is shorter than the long model
        ((40,), 0, 3),
        ((6,) * 80, 1, 2),  # none is as long as ten lags
        ((14,), 2, 2),  # one lag, though it has not ten rows to a column
    ],
)
def test_a_guess_is_what_a_long_linear_model_leaves(
    lengths: tuple[int, ...], n_inputs: int, max_lag: int
) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((n, n_inputs)) for n in lengths]
    outputs = [rng.standard_normal(n).cumsum() for n in lengths]
    data = Dataset.from_arrays(inputs if n_inputs else None, outputs)
    found, wanted = _guess(data, max_lag), guess(data, max_lag)
    np.testing.assert_allclose(found, np.concatenate(wanted), atol=1e-9)
    for values in wanted:
        assert not any(values[:max_lag])  # seeds are no noise


def test_it_is_about_the_noise_whatever_its_memory_is() -> None:
    rng = np.random.default_rng(1)
    u, e = rng.standard_normal((2, 2000))
    model = Model.parse("y(k) = 0.5*y(k-1) + 0.8*u(k-2) + 0.6*e(k-1)")
    found = _guess(Dataset.from_arrays(u, model.simulate(u, noise=0.3 * e)), 3)
    assert np.corrcoef(found[20:], e[20:])[0, 1] > 0.98
    assert np.std(found[20:]) == pytest.approx(0.3, rel=0.05)
