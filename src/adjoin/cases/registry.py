"""The case studies by name, one line each.

Imports nothing: the help of the command line lists the names, and must stay instant.
"""

from __future__ import annotations

CASES = {
    "academic": "adjoin.cases.academic",
    "silverbox": "adjoin.cases.silverbox",
    "waves": "adjoin.cases.waves",
}
"""The module of each case, which holds it as ``CASE``; `case.find_case` imports it."""
