"""What chains draw stays what it was: structures to the letter, numbers to nine digits.

A change that is meant to leave draws alone must pass this as it is. One that is not writes the file
anew (``python -m tests.regression.test_golden``) and its commit says why. Hashes of all bits, which
processors may round differently, are what ``benchmarks/draws.py`` prints.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.draws import setups

from adjoin import Identifier

GOLDEN = Path(__file__).with_name("golden.json")
SAMPLES = {"osa": 1500, "abc": 300}
NAMES = [
    "osa default",
    "osa learned",
    "abc learned",
    "osa hyperprior",
    "osa records",
    "osa functions",
    "osa grey residual",
    "osa power auto",
    "abc paper rule",
    "abc default rule",
    "abc records",
    "abc functions",
    "abc grey residual",
    "abc histogram",
    "abc histogram unlimited",
]


def drawn(name: str) -> dict[str, Any]:
    """A hash of the structures of all draws in order, and sums of the numbers."""
    settings, u, y = setups()[name]
    settings = settings | {"samples": SAMPLES[name[:3]], "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chains that disagree or are left out
        posterior = Identifier(**settings).fit(u, y).posterior_
    texts = [str(trace.structures[i]) for trace in posterior.traces for i in trace.structure]
    sums = {
        quantity: float(sum(np.abs(getattr(trace, quantity)).sum() for trace in posterior.traces))
        for quantity in ("theta", "noise", "coefficient", "log_lik", "log_prior")
    }
    return {"structures": hashlib.sha256("\n".join(texts).encode()).hexdigest(), **sums}


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="takes long")
@pytest.mark.parametrize("name", NAMES)
def test_draws_are_what_they_were(name: str) -> None:
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    found = drawn(name)
    assert found.pop("structures") == expected.pop("structures")
    assert found == pytest.approx(expected, rel=1e-9)


if __name__ == "__main__":
    golden = {name: drawn(name) for name in NAMES}
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
