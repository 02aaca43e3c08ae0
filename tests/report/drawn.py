"""Made-up predictions and posteriors to draw, and what is found in the Axes afterwards."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from tests.systems import by_hand, simulated

from adjoin import Dataset, Grammar, Posterior
from adjoin.report.plots import (
    plot_trace,
)
from adjoin.report.plots_coefficients import plot_coefficient_intervals, plot_coefficients
from adjoin.report.plots_structure import (
    plot_inclusion,
    plot_lags,
    plot_prior_posterior,
    plot_structures,
)
from adjoin.report.svg import to_svg
from adjoin.results.discovered import Discovered
from adjoin.results.prediction import Prediction

GRAMMAR = Grammar.narx(max_lag=2, max_degree=2)
DATA = Dataset.from_arrays(*simulated(n=60))
OF_POSTERIOR: dict[str, Callable[..., Axes]] = {
    "structures": plot_structures,
    "inclusion": plot_inclusion,
    "lags": plot_lags,
    "intervals": plot_coefficient_intervals,
    "prior": plot_prior_posterior,
    "trace": plot_trace,
    "log posterior": lambda p, **options: plot_trace(p, "log_posterior", **options),
    "noise": lambda p, **options: plot_trace(p, "noise_sd", **options),
    "coefficients": lambda p, **options: plot_coefficients(p, **options).ravel()[0],
}


def hand_made(*chains: list[tuple[str, list[float], float]], **changed: Any) -> Posterior:
    return by_hand(DATA, chains, GRAMMAR, **changed)


def made_up(n: int = 40, **changed: Any) -> Prediction:
    mean = np.sin(np.arange(n) / 5.0)
    bands = {q: mean + q - 0.5 for q in (0.025, 0.16, 0.5, 0.84, 0.975)}
    settings = {"mean": mean, "sd": np.full(n, 0.2), "bands": bands, "median": mean}
    counts = {"diverged": 0.0, "n_draws": 9, "n_seed": (0,)}
    stayed = {"n_lost": (0,), "n_stayed": (9,), "first_lost": (None,)}
    return Prediction(**{**settings, **counts, **stayed, **changed})


def line_of(ax: Axes, label: str) -> np.ndarray:
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xydata()


def band_of(ax: Axes, label: str) -> np.ndarray:
    (band,) = [band for band in ax.collections if band.get_label() == label]
    return band.get_paths()[0].vertices


def texts_of(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def rows_of(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def svg_of(ax: Axes) -> str:
    return to_svg(ax.get_figure())


def correlation(is_passed: bool, signal: str = "") -> SimpleNamespace:
    return SimpleNamespace(
        name=f"residual with input {signal}" if signal else "residual with itself",
        signal=signal,
        symbol=r"$\phi_{\varepsilon\varepsilon}$",
        lag=np.arange(6),
        correlation=np.array([1.0, 0.05, -0.3, 0.0, 0.02, 0.01]),
        band=0.1,
        is_passed=is_passed,
        is_significant=np.arange(6) == (9 if is_passed else 2),
    )


def tried_row(objective: str, n_terms: int, nmse: float | None, **changed: Any) -> dict[str, Any]:
    lost = 0 if nmse is not None else 2
    return {
        "words": f"{objective}, lag 3, degree 2, raw signals",
        "settings": {"objective": objective, "max_lag": 3, "max_degree": 2, "center": False},
        "n_terms": n_terms,
        "validation": {"nmse": nmse, "sd": None if nmse is None else 0.1 * nmse, "n_lost": lost},
        "cpu_s": 1.25,
        "is_checked": False,
        "best": False,
        "chosen": False,
        **changed,
    }


def compared(*rows: dict[str, Any], **changed: Any) -> Discovered:
    """What a comparison of these classes leaves."""
    settings = {
        "candidates": rows,
        "n_tried": 40,
        "n_lost": 3,
        "folds": ("part 1 of 2 of every record", "part 2 of 2 of every record"),
        "beyond": {},
        "apart": 0.034,
        "settings": {"effort": "quick", "functions": [], "max_lag": None},
        "average": (None, None),
        "trial": None,
    }
    return Discovered(**{**settings, **changed})
