"""A data set brings the samples that its free run starts from."""

from __future__ import annotations

import numpy as np
import pytest
from tests.results.runs import POOR, TEST, TRUE, made
from tests.systems import quick

from adjoin import AdjoinError, Dataset, Model


def test_a_posterior_is_seeded_by_the_data_set() -> None:
    posterior = made([[TRUE, POOR]])
    found = posterior.simulate(TEST, draws=10)
    told = posterior.simulate(TEST.u, TEST.y[: posterior.max_lag], draws=10)
    assert found.n_seed == (posterior.max_lag,)
    np.testing.assert_array_equal(found.mean, told.mean)
    at_rest = posterior.simulate(TEST.u, draws=10)
    assert at_rest.mean[0] == 0.0 != found.mean[0]


def test_a_model_is_seeded_by_every_record() -> None:
    model = Model.parse("y(k) = 0.5*y(k-2) + u(k)")
    data = Dataset.from_arrays([np.ones(5), np.ones(4)], [np.arange(5.0), 7.0 * np.ones(4)])
    first, second = model.simulate(data)
    assert first.tolist() == [0.0, 1.0, 1.0, 1.5, 1.5]
    assert second.tolist() == [7.0, 7.0, 4.5, 4.5]
    assert model.simulate(data, [[2.0, 2.0]] * 2)[0][0] == 2.0  # what is told counts


def test_an_identifier_is_seeded_by_the_data_set() -> None:
    fitted = quick(samples=400).fit(TEST)
    n_seed = fitted.model_.max_lag
    np.testing.assert_array_equal(fitted.simulate(TEST), fitted.simulate(TEST.u, TEST.y[:n_seed]))


def test_a_model_without_inputs_starts_from_the_data() -> None:
    data = Dataset.from_arrays(None, [4.0, 3.0, 9.0])
    assert Model.parse("y(k) = 0.5*y(k-1)").simulate(data).tolist() == [4.0, 2.0, 1.0]


def test_a_record_too_short_to_run_on_is_refused() -> None:
    with pytest.raises(AdjoinError, match="do not reach beyond"):
        Model.parse("y(k) = y(k-3) + u(k)").simulate(Dataset.from_arrays([1.0, 2.0], [1.0, 3.0]))
