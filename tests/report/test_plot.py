"""`adjoin.plot`: one call for whatever a user holds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.results.runs import HELD_OUT, POOR, TEST, TRAIN, TRUE, made
from tests.systems import LINEAR, quick

import adjoin
from adjoin import AdjoinError, Dataset, Model

TIMED = Dataset.from_arrays(TEST.u, TEST.y, ["u", "y"], 0.5)


def test_a_posterior_is_drawn_with_its_bands_in_seconds() -> None:
    upper, lower = adjoin.plot(made([[TRUE, POOR]]), TIMED).axes
    labels = upper.get_legend_handles_labels()[1]
    assert {"measured", "68 % of draws", "95 % of draws"} <= set(labels)
    assert upper.get_ylabel() == "y"
    assert lower.get_ylabel() == "error of y"
    assert lower.get_xlabel() == "time (s)"
    assert lower.get_xlim() == (0.0, pytest.approx(74.5))


def test_its_own_data_are_drawn_where_none_are_given() -> None:
    held_out = adjoin.plot(made([[TRUE]], held_out=HELD_OUT))
    assert held_out.axes[0].get_xlim() == (0.0, len(HELD_OUT) - 1.0)
    fitted = made([[TRUE]])
    assert adjoin.plot(fitted).axes[0].get_xlim() == (0.0, len(TRAIN) - 1.0)
    assert adjoin.plot(fitted.map_model).axes[0].get_xlim() == (0.0, len(TRAIN) - 1.0)


def test_a_model_is_drawn_without_bands() -> None:
    upper, _ = adjoin.plot(Model.parse(LINEAR), TIMED, first=10, last=30).axes
    assert upper.get_legend_handles_labels()[1] == ["measured", "simulation"]
    assert upper.get_xlim() == pytest.approx((5.0, 14.5))
    run = np.asarray(upper.lines[1].get_ydata())
    np.testing.assert_array_equal(run, Model.parse(LINEAR).simulate(TIMED)[10:30])


def test_an_identifier_and_a_path_are_drawn_too() -> None:
    fitted = quick(samples=400).fit(TRAIN)
    assert "measured" in adjoin.plot(fitted, TEST).axes[0].get_legend_handles_labels()[1]
    path = adjoin.forward_selection(TRAIN, max_lag=2, max_degree=2, max_terms=3)
    assert "simulation" in adjoin.plot(path, TEST).axes[0].get_legend_handles_labels()[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((3,), "plot draws a Posterior"),
        ((quick(),), "a fitted Identifier"),
        ((Model.parse(LINEAR),), "plot needs a Dataset to simulate"),
        ((made([[TRUE]]), [1.0, 2.0]), "plot needs a Dataset to simulate"),
        ((made([[TRUE]]), Dataset.from_arrays(TEST.u, TEST.y, ["v", "y"])), "signals v, y"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments: tuple, complaint: str) -> None:
    with pytest.raises(AdjoinError, match=complaint):
        adjoin.plot(*arguments)


def test_a_record_that_is_not_there_is_refused() -> None:
    with pytest.raises(AdjoinError, match="there is no record 2; there are 1"):
        adjoin.plot(made([[TRUE]]), TEST, record=2)


def test_a_notebook_shows_the_figure_by_itself() -> None:
    image, size = adjoin.plot(Model.parse(LINEAR), TIMED)._repr_png_()
    assert image.startswith(b"\x89PNG")
    assert size["width"] == 720
