"""The picture of what was compared."""

from __future__ import annotations

import pytest
from tests.report.drawn import compared, line_of, svg_of, texts_of, tried_row

from adjoin.report.plots_tried import plot_tried

FOUND = compared(
    tried_row("simulation", 9, 2.0, is_checked=True),
    tried_row("simulation", 5, 2.02, is_checked=True, chosen=True),
    tried_row("prediction", 12, 4.0),
    tried_row("linear", 80, 90.0),
    tried_row("prediction", 30, None),
)


@pytest.mark.parametrize("width", [3.6, 7.5])
def test_every_class_is_a_dot_and_the_chosen_one_is_ringed(width: float) -> None:
    ax = plot_tried(FOUND, width=width)
    assert line_of(ax, "fitted by simulation").tolist() == [[9.0, 2.0], [5.0, 2.02]]
    assert line_of(ax, "fitted by prediction one step ahead").tolist() == [[12.0, 4.0]]
    assert line_of(ax, "all linear terms").tolist() == [[80.0, 90.0]]
    assert line_of(ax, "chosen").tolist() == [[5.0, 2.02]]
    assert "(1 class ran away)" in ax.get_xlabel().replace("\n", " ")
    assert ax.get_xscale() == "log"
    spans = [path.vertices[:, 1].tolist() for part in ax.collections for path in part.get_paths()]
    assert [1.8, 2.2] in [pytest.approx(span) for span in spans]
    svg_of(ax)


def test_models_of_like_size_are_on_a_plain_scale() -> None:
    ax = plot_tried(
        compared(tried_row("simulation", 3, 0.5, chosen=True), tried_row("simulation", 4, 0.4))
    )
    assert ax.get_xscale() == "linear"
    assert "ran away" not in ax.get_xlabel()
    assert "the mean of the output" not in [line.get_label() for line in ax.lines]


def test_where_all_ran_away_there_is_nothing_to_draw() -> None:
    ax = plot_tried(compared(tried_row("simulation", 3, None), tried_row("prediction", 3, None)))
    assert texts_of(ax) == ["every class of models ran away on held-out data"]
