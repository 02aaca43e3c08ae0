"""Where chains of the simulation engine begin: the best of a path by its posterior."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.engines import simulation_engine

from adjoin import Dataset, Grammar, Structure, datasets
from adjoin.inference.engines.simulation_setup import ENOUGH_TERMS, MOST_TERMS
from adjoin.inference.start_findings import FREE_RUNS, ONE_STEP

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="whole paths take long in plain Python"
)


def test_useless_terms_are_not_begun_with() -> None:
    data = datasets.academic(seed=1).train
    engine = simulation_engine(data, Grammar.narx(max_lag=10, max_degree=3).alphabet)
    truth = Structure.parse("u(k-1) + u(k-5)^3 + y(k-1)", data.names)
    keys = {engine.encoding.key(term) for term in truth}
    for name in (FREE_RUNS, ONE_STEP):
        assert set(engine.starts[name].keys) == keys


def test_a_path_goes_on_while_it_gains_and_not_beyond() -> None:
    rng = np.random.default_rng(2)
    u = rng.standard_normal((600, 2))
    weight = rng.uniform(0.5, 1.0, size=(2, 25))
    y = sum(np.convolve(u[:, i], weight[i])[:600] for i in range(2))
    data = Dataset.from_arrays(u, y + 0.05 * rng.standard_normal(600))
    alphabet = Grammar.narx(data.names.inputs, max_lag=24, max_degree=1).alphabet
    n_terms = len(simulation_engine(data, alphabet).starts[FREE_RUNS].keys)
    assert ENOUGH_TERMS < n_terms <= MOST_TERMS
