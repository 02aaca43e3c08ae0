"""The first step of what to do next, followed as it stands: the error on other data falls."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.advice import measure


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("offset", "allow a constant"),
        ("dead time", "look further back"),
        ("bends", "allow shapes that bend"),
        ("products", "allow products of signals"),
        ("oversampled", "keep fewer samples"),
    ],
)
def test_the_first_step_helps(name: str, words: str, tmp_path: Path) -> None:
    found = measure(name, 0, 1, tmp_path)
    before, after = found["errors"]
    assert found["steps"][0].startswith(words)
    assert after < 0.5 * before
