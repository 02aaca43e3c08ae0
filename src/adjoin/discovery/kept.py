"""What a discovery has worked out so far, kept in a checkpoint so that a killed one can go on.

Receives errors of paths from `scan`, and hands identifiers the place for their chains. What takes
seconds once these are there, such as the order of candidates, is worked out again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.inference.checkpoint import Checkpoint
from adjoin.inference.described import describe_data, plain
from adjoin.threads import cpu_seconds

Errors = dict[int, Float1D]
"""Of the models of one path on one fold, by their number of terms."""


@dataclass(frozen=True)
class Kept:
    """What is kept of a discovery; nothing, where there is no checkpoint."""

    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    def errors(self, what: Any, find: Callable[[], Errors]) -> tuple[Errors, float]:
        """The errors of what is described, and the CPU seconds it took to find them."""
        name = f"path-{_digest(what)}"
        found = self.checkpoint.read(name)
        if found is None:
            begin = cpu_seconds()
            errors = find()
            found = {
                "size": np.array([*errors], dtype=np.int64),
                "error": np.array([*errors.values()]),
                "cpu_s": np.array([cpu_seconds() - begin]),
            }
            self.checkpoint.write(name, found)
        pairs = zip(found["size"].tolist(), found["error"], strict=True)
        return dict(pairs), float(found["cpu_s"][0])

    def place(self, title: str, what: Any, data: Dataset) -> Checkpoint | None:
        """Where an identifier keeps the chains of what is described, of these data."""
        if self.checkpoint.path is None:
            return None
        return self.checkpoint.within(f"{title}-{_digest([what, describe_data(data)])}")


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(plain(what), sort_keys=True).encode()).hexdigest()[:16]
