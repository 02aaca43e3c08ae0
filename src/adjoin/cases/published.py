"""The paper's printed figures, by table, and the records of others; data, nothing else.

Receives nothing; hands figures to the tables, which put them beside ours.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scores:
    """One row of Table ``cs1`` or ``cs2``, or of ``cbt_nmse``: NMSE in percent, hours per chain.

    None where the table has no such column. `n_recovered` is out of 4 chains.
    """

    selected_map: float | None = None
    selected_fwd: float | None = None
    pooled_map: float | None = None
    pooled_fwd: float | None = None
    hours: float | None = None
    n_recovered: int | None = None
    mass: float | None = None
    n_terms: float | None = None
    rmse_mv: float | None = None


@dataclass(frozen=True)
class Estimate:
    """A posterior mean and its 95 % interval, None where none is printed."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Result:
    """What a method reached, in the unit of its table; None where it is not reported.

    For the Silverbox: free-run RMSE in mV on the full arrow, the arrow without extrapolation, and
    the rest of the multisine. For the Christchurch Bay Tower: NMSE in percent.
    """

    method: str
    value: float
    no_extrapolation: float | None = None
    multisine: float | None = None


N_CHAINS = 4

ACADEMIC = {
    ("osa", 1.0): Scores(1.154, 1.166, 1.154, 1.160, 0.04, 3, 0.747),
    ("osa", 5.0): Scores(1.154, 1.166, 1.154, 1.165, 0.03, 4, 0.987),
    ("osa", 20.0): Scores(1.155, 1.168, 1.155, 1.174, 0.05, 3, 0.678),
    ("abc", 1.0): Scores(3.218, 2.667, 4.046, 2.165, 0.64, 0, 0.000),
    ("abc", 5.0): Scores(1.154, 1.164, 3.173, 1.748, 0.71, 1, 0.254),
    ("abc", 20.0): Scores(1.159, 1.171, 1.156, 1.445, 0.83, 1, 0.228),
}
"""Table ``cs1``, by objective and λ_t."""

ACADEMIC_PARAMETERS = {
    ("osa", "u(k-1)"): Estimate(0.5024, 0.4847, 0.5196),
    ("osa", "u(k-5)^3"): Estimate(-0.3011, -0.3062, -0.2958),
    ("osa", "y(k-1)"): Estimate(0.2961, 0.2827, 0.3088),
    ("osa", "noise"): Estimate(0.1752, 0.1682, 0.1829),
    ("abc", "u(k-1)"): Estimate(0.5070, 0.4776, 0.5333),
    ("abc", "u(k-5)^3"): Estimate(-0.3023, -0.3111, -0.2930),
    ("abc", "y(k-1)"): Estimate(0.2924, 0.2699, 0.3151),
    ("abc", "noise"): Estimate(0.1663),
}
"""Table ``cs1params`` (λ_t = 5), by objective and term; ``noise`` is σ_ε, of their data 0.1561."""

SILVERBOX = {
    ("osa", 1.0): Scores(0.0061, 0.0092, 0.0061, 0.0087, 0.27, None, None, 19.5, 0.419),
    ("osa", 5.0): Scores(0.0055, 0.0080, 0.0200, 0.0095, 0.38, None, None, 20.0, 0.397),
    ("osa", 20.0): Scores(0.0068, 0.0073, 0.0065, 0.0097, 0.29, None, None, 19.5, 0.442),
    ("abc", 1.0): Scores(7.2078, 6.9726, 8.6794, 7.8068, 7.50, None, None, 3.0, 14.358),
    ("abc", 5.0): Scores(0.7404, 0.3286, 7.1003, 4.1935, 7.66, None, None, 3.5, 4.602),
    ("abc", 20.0): Scores(0.0407, 0.0504, 0.0479, 0.0956, 8.11, None, None, 4.5, 1.079),
}
"""Table ``cs2``, by objective and λ_t."""

SILVERBOX_RECORDS = (
    Result("p-NLSS (Paduart 2010)", 0.260),
    Result("TAG with genetic programming (Khandelwal 2020)", 0.360),
    Result("the paper, OSA", 0.397),
    Result("GP-NARX (Champneys 2024)", 0.720),
    Result("the paper, MPO", 1.079),
    Result("p-NARX (Champneys 2024)", 2.250),
)
"""Table ``benchmark_silverbox``, and the paper's best MPO of ``cs2``."""

SILVERBOX_OFFICIAL = (
    Result("GP-NARX (Champneys 2024)", 0.720, 0.259, 0.301),
    Result("p-NARX (Champneys 2024)", 2.250, 0.571, 0.640),
)
"""Those of them that are known on all three tests of the official split."""

WHITE_BOX = 19.463
"""NMSE of Morison's equation on the Christchurch Bay Tower."""

WAVES = {
    (1, "abc", 20.0): Scores(16.730),
    (2, "abc", 20.0): Scores(14.600),
    (3, "abc", 20.0): Scores(13.730),
}
"""Table ``cbt_nmse``, by method, objective and λ_t: the rest is in a figure only."""

WAVES_RECORDS = (
    Result("Morison's equation (white box)", WHITE_BOX),
    Result("the paper, method 1 (black box), MPO", 16.730),
    Result("the paper, method 2 (residual), MPO", 14.600),
    Result("the paper, method 3 (grey-box TAG), MPO", 13.730),
    Result("polynomial NARMAX (Worden 2001)", 21.430),
    Result("GP-NARX (Worden 2018)", 19.520),
    Result("Morison's equation + GP-NARX (Pitchforth 2021)", 13.840),
)
"""Table ``cbt_nmse`` whole: of the real record, which is not public."""
