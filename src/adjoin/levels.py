"""How good a finding is, in the three words that every verdict uses."""

from __future__ import annotations

GOOD, CAUTION, POOR = "good", "caution", "poor"

Finding = tuple[str, str, str]
"""A level, why, and what to do (nothing if empty)."""
