"""What the tests of the report share."""

from __future__ import annotations

import pytest
from tests.systems import quick, simulated

from adjoin import Posterior


@pytest.fixture(scope="session")
def found() -> Posterior:
    """A run as users have them, two chains with burn-in."""
    return quick().fit(*simulated()).posterior_
