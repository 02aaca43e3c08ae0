"""Every plot: it draws where it is told, and whatever the run, nothing is cut off."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.report.drawn import (
    DATA,
    OF_POSTERIOR,
    correlation,
    hand_made,
    made_up,
)
from tests.systems import by_hand, quick, simulated

from adjoin import Grammar, Posterior
from adjoin.report import style
from adjoin.report.plots import (
    plot_correlation,
    plot_error,
    plot_residuals,
    plot_response,
)
from adjoin.report.plots_coefficients import plot_coefficients


@pytest.mark.parametrize("name", [*OF_POSTERIOR])
def test_a_plot_draws_into_the_axes_it_is_given(name: str, found: Posterior) -> None:
    axes = Figure(figsize=(9.0, 6.0)).subplots(1, 4)
    if name == "coefficients":
        assert plot_coefficients(found, axes=axes).tolist() == axes.tolist()
    else:
        assert OF_POSTERIOR[name](found, ax=axes[1]) is axes[1]
    for draw in (plot_response, plot_error):
        assert draw(made_up(), np.zeros(40), ax=axes[2]) is axes[2]
    assert plot_residuals(np.zeros(9), ax=axes[3]) is axes[3]
    assert plot_correlation(correlation(True), ax=axes[3]) is axes[3]


def _odd_posteriors() -> dict[str, Posterior]:
    atoms = [f"u(k-{i})" if i else "u(k)" for i in range(30)] + [f"y(k-{i})" for i in range(1, 31)]
    rng = np.random.default_rng(0)
    u, y = simulated(n_inputs=2, equation="y(k) = 0.5*u1(k-1) + 0.2*u2(k) + 0.6*y(k-1)")
    large = Grammar.narx(max_lag=30, max_degree=2)
    records = [(" + ".join(atoms), rng.standard_normal(60).tolist(), 1.0) for _ in range(20)]
    return {
        "one draw": hand_made([("u(k)", [0.5], 1.0)]),
        "empty": hand_made([("0", [], 1.0)]),
        "empty and not": hand_made([("0", [], 1.0)] * 3, [("u(k)", [0.0], 1.0)] * 3),
        "60 terms": by_hand(DATA, [records, records], large),
        "many chains": hand_made(*[[("u(k)", [0.5], 1.0)] * 5] * 12),
        "prior": quick(likelihood_power=0.0).fit(*simulated()).posterior_,
        "records": quick(functions="abs").fit([u, u[:50]], [y, y[:50]]).posterior_,
    }


@pytest.fixture(scope="module")
def odd() -> dict[str, Posterior]:
    return _odd_posteriors()


@pytest.mark.parametrize("name", [*OF_POSTERIOR])
@pytest.mark.parametrize("width", [style.WIDE, style.NARROW])
def test_odd_posteriors_are_drawn_whole(
    name: str, width: float, odd: dict[str, Posterior], found: Posterior
) -> None:
    every = {**odd, "one chain": found.chain(1), "usual": found}
    narrow_only = () if width == style.NARROW else ("empty and not", "prior", "one chain", "usual")
    for case in every.keys() - narrow_only:
        posterior = every[case]
        figure = OF_POSTERIOR[name](posterior, width=width).get_figure()
        assert figure.get_figwidth() == width
        figure.draw_without_rendering()
        box = figure.get_tightbbox()  # of everything that is drawn, in inches
        assert min(box.x0, box.y0) > -0.02, case
        assert box.x1 < width + 0.02, case
        assert box.y1 < figure.get_figheight() + 0.02, case
