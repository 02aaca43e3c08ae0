"""An `Identifier` that keeps its notes to its posterior.

A discovery fits many, in threads, where filters of warnings, which are those of the whole process,
cannot be set aside. Whatever is worth knowing of the one that is chosen is in its diagnostics.
"""

from __future__ import annotations

from adjoin.identifier import Identifier


class QuietIdentifier(Identifier):
    """The same, but chains that are left out are found in the diagnostics only."""

    def _note(self, sentence: str) -> None:
        pass
