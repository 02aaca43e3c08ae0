"""Series: thinned to what can be seen, extremes and gaps included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adjoin.report.series import envelope


@given(
    arrays(float, st.integers(1, 400), elements=st.floats(-1e6, 1e6) | st.just(np.nan)),
    st.integers(1, 50),
)
def test_thinning_keeps_extremes_and_gaps(x: np.ndarray, n_columns: int) -> None:
    keep = envelope(x, n_columns)
    assert len(keep) <= 2 * n_columns + 2
    assert (np.diff(keep) > 0).all()
    assert {keep[0], keep[-1]} == {0, len(x) - 1}
    for column in np.split(np.arange(len(x)), np.linspace(0, len(x), n_columns + 1).astype(int)):
        inside = np.intersect1d(column, keep)
        if len(column) and not np.isnan(x[column]).all():
            assert np.nanmin(x[inside]) == np.nanmin(x[column])
            assert np.nanmax(x[inside]) == np.nanmax(x[column])
        elif len(column):
            assert len(inside)
            assert np.isnan(x[inside]).all()


def test_a_short_series_is_not_thinned() -> None:
    assert envelope(np.zeros(22), 10).tolist() == list(range(22))
