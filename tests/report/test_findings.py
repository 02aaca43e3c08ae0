"""Tables of what was found: no number is cut, and digits agree with their uncertainty."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

from adjoin import Identifier
from adjoin.report.findings import describe_findings, print_findings, rounded


@pytest.mark.parametrize(
    ("values", "spread", "texts"),
    [
        ([1.49931, 0.0004, 1.4985, 1.5], 0.0004, ["1.49931", "0.00040", "1.49850", "1.50000"]),
        ([-4.739e-5, 1.7e-6], 1.7e-6, ["-0.0000474", "0.0000017"]),
        ([-4.739e-9, 1.7e-10], 1.7e-10, ["-4.74e-09", "1.7e-10"]),
        ([12345.678, 12.0], 12.0, ["12346", "12"]),
        ([2.0, 0.0], 0.0, ["2", "0"]),
        ([0.0, 0.0], 0.0, ["0", "0"]),
    ],
)
def test_digits_follow_the_spread(values: list[float], spread: float, texts: list[str]) -> None:
    assert rounded(values, spread) == texts


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_no_number_is_cut_however_narrow_the_terminal(width: int) -> None:
    rng = np.random.default_rng(0)
    u, noise = rng.standard_normal((2, 300))
    y = 1e-5 * (np.roll(u, 1) + 0.1 * u**2 + 0.1 * noise)
    posterior = Identifier(samples=2000, chains=2, seed=0, max_lag=3).fit(u, y).posterior_
    page = io.StringIO()
    print_findings(
        Console(file=page, width=width, soft_wrap=True), posterior, describe_findings(posterior)
    )
    text = page.getvalue()
    assert "…" not in text
    for term in posterior.terms.head(2).itertuples():
        (line,) = [row for row in text.splitlines() if row.strip().startswith(f"{term.term} ")]
        numbers = [float(word) for word in re.findall(r"-?\d[\d.]*(?:e-?\d+)?", line)[-4:]]
        assert numbers == pytest.approx([term.mean, term.sd, term.q025, term.q975], rel=0.06)
