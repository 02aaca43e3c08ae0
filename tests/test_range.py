"""The stated range of numbers: inside it units do not matter, outside it data are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.systems import quick, simulated

from adjoin import AdjoinError, Dataset, Identifier, Model, Scaling, read_data, scores
from adjoin.data.columns import LARGEST, SMALLEST
from adjoin.data.names import SignalNames
from adjoin.data.readers import read_experiment

EQUATION = "y(k) = 0.5*u(k-1) + 0.3*u(k-1)*y(k-1) - 0.2*u(k-2)^4 + 0.4*y(k-2)"
U, Y = simulated(EQUATION, noise=0.1)
U, Y = U / np.abs(U).max(), Y / np.abs(Y).max()  # at most 1 in size
HIGH, LOW = 2.0**83, 2.0**-83  # 9.7e24 and 1.03e-25; powers of two do not round
MODEL = Model.parse("y(k) = 0.5*u(k-1) + 0.2*y(k-1)")


def fitted(a: float, b: float, **changed: Any) -> Identifier:
    return quick(max_degree=4, **{"samples": 1500, **changed}).fit(a * U, b * Y)


@pytest.mark.parametrize("a", [HIGH, LOW])
@pytest.mark.parametrize("b", [HIGH, LOW])
def test_just_inside_the_answer_is_the_same_in_other_units(a: float, b: float) -> None:
    """Bit for bit: structures, coefficients, noise, free runs with their bands, and scores."""
    one, two = fitted(1.0, 1.0), fitted(a, b)
    left, right = one.posterior_, two.posterior_
    np.testing.assert_array_equal(left.draws.structure, right.draws.structure)
    np.testing.assert_array_equal(b * left.draws.noise_sd, right.draws.noise_sd)
    for term, value in one.model_.coefficients.items():
        powers = {"u": 0, "y": 0}
        for factor in term.split("*"):
            powers[factor[0]] += int(factor.partition("^")[2] or 1)
        factor = b / (a ** powers["u"] * b ** powers["y"])
        assert two.model_.coefficients[term] == factor * value
    bands = [p.simulate(x * U, z * Y[:2], draws=20) for p, x, z in ((left, 1, 1), (right, a, b))]
    np.testing.assert_allclose(bands[1].mean, b * bands[0].mean, rtol=1e-12)
    np.testing.assert_allclose(bands[1].sd, b * bands[0].sd, rtol=1e-9)
    assert two.score(a * U, b * Y) == pytest.approx(one.score(U, Y), rel=1e-12)
    assert right.diagnostics["verdict"] == left.diagnostics["verdict"]
    assert Model.parse(two.model_.format(None), inputs="u").coefficients == two.model_.coefficients


@pytest.mark.parametrize("a", [HIGH, LOW])
def test_just_inside_free_run_chains_and_unscaled_fits_stay_finite(a: float) -> None:
    free = fitted(a, 1 / a, objective="abc", samples=400)
    assert np.isfinite(list(free.model_.coefficients.values())).all()
    raw = fitted(a, a, prior="paper", samples=400)
    assert np.isfinite(raw.posterior_.draws.noise_sd).all()
    assert np.isfinite(raw.posterior_.draws.theta).all()


REFUSALS: dict[str, Callable[[np.ndarray], Any]] = {
    "fit": lambda x: quick().fit(x, Y),
    "fit output": lambda x: quick().fit(U, x),
    "dataset": lambda x: Dataset.from_arrays(pd.DataFrame({"u": x}), Y),
    "records": lambda x: Dataset.from_arrays([x, x], [Y, Y]),
    "simulate": MODEL.simulate,
    "predict": lambda x: MODEL.predict(U, x),
    "noise": lambda x: MODEL.simulate(U, noise=x),
    "score": lambda x: scores.rmse(x, Y),
}


@pytest.mark.parametrize("entrance", REFUSALS)
@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (1.01 * LARGEST, ["1.01e+25", "at most 1e+25 in size", "another unit"]),
        (0.49 * SMALLEST, ["varies by", "e-26 only", "vary by 1e-25 or more", "another unit"]),
        (1e149, ["1e+149", "another unit"]),
        (1e-78, ["e-78 only", "another unit"]),
        (1e-170, ["e-170 only", "another unit"]),
    ],
)
def test_just_outside_is_refused_at_every_entrance(
    entrance: str, unit: float, words: list[str]
) -> None:
    series = unit * np.where(np.arange(len(U)) == 7, 1.0, U * 0.9)
    with pytest.raises(AdjoinError) as caught:
        REFUSALS[entrance](series)
    assert all(word in str(caught.value) for word in words), caught.value


def test_files_are_refused_alike(tmp_path: Path) -> None:
    for unit, word in ((1e26, "at most 1e+25"), (1e-26, "1e-25 or more")):
        path = tmp_path / f"{unit:g}.csv"
        pd.DataFrame({"u": unit * U, "y": Y}).to_csv(path, index=False)
        for read in (read_data, lambda p: read_experiment(p, SignalNames())):
            with pytest.raises(AdjoinError, match="another unit") as caught:
                read(path)
            assert word in str(caught.value)
            assert "'u'" in str(caught.value)


def test_constants_zeros_and_tails_are_no_matter_of_units() -> None:
    """A signal that rests says nothing about its unit, nor does one that has died away."""
    for constant in (0.0, 1e-30, -1e-300):
        assert Dataset.from_arrays(np.full(9, constant), Y[:9]).u[0] == constant
        assert np.isfinite(MODEL.simulate(np.full(9, constant))).all()
        with pytest.raises(AdjoinError, match="constant signals: 'u'"):
            quick().fit(np.full(400, constant), Y)
    tail = 1e-40 * U
    assert Dataset.from_arrays([U, tail], [Y, Y]).n_records == 2
    assert np.isfinite(MODEL.simulate([U, tail])[1]).all()
    assert MODEL.simulate(U[:5], [1e-200])[0] == 1e-200


def test_a_higher_degree_has_a_narrower_range() -> None:
    data = Dataset.from_arrays(1e-14 * U, Y)
    data.require_degree(8)
    with pytest.raises(AdjoinError, match=r"'u' is up to 1e-14 .* of 10 factors .* max_degree"):
        data.require_degree(10)
    with pytest.raises(AdjoinError, match="lower max_degree"):
        quick(max_lag=1, max_degree=10, samples=100).fit(1e-14 * U, Y)
    with pytest.raises(AdjoinError, match="terms of 10 factors"):
        quick(initial="u(k)^10", samples=100).fit(1e-14 * U, Y)


def test_no_coefficient_is_converted_to_infinity_or_nothing() -> None:
    scaling = Scaling(SignalNames(), np.zeros(2), np.array([1e-20, 1e20]))
    assert scaling.coefficient_factor({"u": 14}) == pytest.approx(1e300)
    for powers in ({"u": 15}, {"u": 40}, {"y": 17}, {"y": 40}):
        with pytest.raises(AdjoinError, match="beyond the range of numbers"):
            scaling.coefficient_factor(powers)
