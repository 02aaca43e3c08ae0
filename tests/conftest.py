"""Shared fixtures. Property tests draw the same examples every time: no seed is a date."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "adjoin",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("adjoin")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def silverbox_folder() -> Path:
    """The folder with SNLS80mV.csv: ADJOIN_DATA, or shared/data beside the project."""
    folder = Path(os.environ.get("ADJOIN_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "SNLS80mV.csv").is_file():
        pytest.skip("no Silverbox data: set ADJOIN_DATA to the folder with SNLS80mV.csv")
    return folder
