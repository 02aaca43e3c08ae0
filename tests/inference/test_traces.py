"""What a chain leaves behind, where it is stopped at an odd moment."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.engines import prediction_engine

from adjoin import Dataset, Grammar

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


@pytest.mark.parametrize("n_samples", [0, 40, 4096 * 50 + 5])
def test_a_trace_may_end_between_two_records(n_samples: int) -> None:
    """Nothing recorded at all, or nothing since the buffer was last full."""
    grammar = Grammar.arx(max_lag=1)
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.standard_normal(20), rng.standard_normal(20))
    chain = prediction_engine(data, grammar.alphabet, thin=50).start(0)
    chain.advance(n_samples if IS_COMPILED else min(n_samples, 40))
    trace = chain.finish()
    assert len(trace.noise) == trace.n_samples // 50
