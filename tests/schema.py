"""The shapes of JSON that several commands share, as scripts rely on them."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Real
from typing import Any


def require_scores(scores: dict[str, Any], parts: Collection[str], is_lone: bool = False) -> None:
    """Scores by part, in the one shape; those of a lone model have no coverage."""
    assert set(scores) == set(parts)
    for found in scores.values():
        assert set(found) == {"free_run", "one_step", "coverage"}
        assert set(found["free_run"]) == {"rmse", "nmse", "fit", "diverged"}
        assert set(found["one_step"]) == {"rmse", "nmse"}
        assert 0.0 <= found["free_run"]["diverged"] <= 1.0
        for value in (*found["free_run"].values(), *found["one_step"].values()):
            assert value is None or isinstance(value, Real)
        if is_lone or found["free_run"]["diverged"] == 1.0:  # no draw, no band
            assert found["coverage"] is None
        else:
            assert 0.0 <= found["coverage"] <= 1.0


def require_findings(facts: dict[str, Any], parts: Collection[str]) -> None:
    """What ``fit``, ``report`` and ``demo`` say of a run."""
    assert set(facts) >= {
        "equation",
        "structures",
        "terms",
        "noise",
        "scores",
        "comparison",
        "runaways",
        "white_box",
        "verdict",
        "diagnostics",
        "timing",
        "settings",
        "version",
    }
    require_scores(facts["scores"], parts)
    assert set(facts["comparison"]) == set(parts)
    for rows in facts["comparison"].values():
        for row in rows:
            assert set(row) == {"chains", "predictor", "rmse", "nmse", "fit"}
    assert set(facts["runaways"]) == set(parts)
    for draws in facts["runaways"].values():
        assert set(draws) == {"n_draws", "n_stayed", "first_lost", "words"}
    if facts["white_box"] is not None:
        assert set(facts["white_box"]) == {"equation", "noise_sd", "scores"}
        require_scores(facts["white_box"]["scores"], parts, is_lone=True)
    assert set(facts["verdict"]) == {"level", "summary", "reasons", "next", "settled"}
    for verdict in (facts["verdict"], facts["diagnostics"]["verdict"]):
        assert verdict["level"] in ("good", "caution", "poor")
        assert verdict["summary"]
        assert verdict["reasons"]
