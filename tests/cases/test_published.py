"""The paper's figures as data: against its tables, checked by hand, and against each other."""

from __future__ import annotations

import pytest

from adjoin.cases import published

SIGMA_Y = 53.48  # mV, of the full arrow


def test_every_objective_and_term_rate_of_the_first_two_tables_is_there() -> None:
    keys = {(objective, rate) for objective in ("osa", "abc") for rate in (1.0, 5.0, 20.0)}
    assert set(published.ACADEMIC) == set(published.SILVERBOX) == keys


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (("osa", 1.0), (1.154, 1.166, 1.154, 1.160, 0.04, 3, 0.747)),
        (("osa", 5.0), (1.154, 1.166, 1.154, 1.165, 0.03, 4, 0.987)),
        (("osa", 20.0), (1.155, 1.168, 1.155, 1.174, 0.05, 3, 0.678)),
        (("abc", 1.0), (3.218, 2.667, 4.046, 2.165, 0.64, 0, 0.0)),
        (("abc", 5.0), (1.154, 1.164, 3.173, 1.748, 0.71, 1, 0.254)),
        (("abc", 20.0), (1.159, 1.171, 1.156, 1.445, 0.83, 1, 0.228)),
    ],
)
def test_table_1_is_as_printed(key: tuple[str, float], values: tuple[float, ...]) -> None:
    row = published.ACADEMIC[key]
    assert (row.selected_map, row.selected_fwd, row.pooled_map, row.pooled_fwd) == values[:4]
    assert (row.hours, row.n_recovered, row.mass) == values[4:]


@pytest.mark.parametrize("key", published.SILVERBOX)
def test_rmse_and_nmse_of_table_2_are_the_same_error(key: tuple[str, float]) -> None:
    row = published.SILVERBOX[key]
    implied = SIGMA_Y * (row.selected_map / 100.0) ** 0.5
    # The NMSE has four decimals: half a unit of the last one, as an error of the RMSE.
    rounding = SIGMA_Y**2 * 0.5e-4 / 100.0 / (2.0 * implied)
    assert implied == pytest.approx(row.rmse_mv, abs=rounding + 1e-3)


def test_the_paper_s_intervals_hold_the_true_coefficients() -> None:
    truth = {"u(k-1)": 0.5, "u(k-5)^3": -0.3, "y(k-1)": 0.3}
    for (_, term), found in published.ACADEMIC_PARAMETERS.items():
        if term in truth:
            assert found.low < truth[term] < found.high
            assert found.low < found.mean < found.high


def test_the_records_agree_with_the_tables_they_repeat() -> None:
    silverbox = {result.method: result for result in published.SILVERBOX_RECORDS}
    for method, objective in (("the paper, OSA", "osa"), ("the paper, MPO", "abc")):
        best = min(row.rmse_mv for (own, _), row in published.SILVERBOX.items() if own == objective)
        assert silverbox[method].value == best
    for own in published.SILVERBOX_OFFICIAL:
        assert own.value == silverbox[own.method].value
    waves = [result.value for result in published.WAVES_RECORDS]
    assert waves[0] == published.WHITE_BOX == 19.463
    assert waves[1:4] == [published.WAVES[n, "abc", 20.0].selected_map for n in (1, 2, 3)]
    assert waves[1:4] == [16.73, 14.6, 13.73]
