"""What a study is of, as plain values: to tell whether a checkpoint or a file is of the same one.

Receives a `Plan` and its data; hands the description to `study`, which keeps it in the checkpoint,
and to ``case.json``.
"""

from __future__ import annotations

from typing import Any

from adjoin.cases.case import case_of
from adjoin.cases.setups import Plan
from adjoin.datasets import Benchmark
from adjoin.inference.described import describe_data, describe_run


def describe_study(plan: Plan, benchmark: Benchmark) -> dict[str, Any]:
    """What a study is of: what was asked for, and its data."""
    asked = {
        "case": plan.case,
        "objectives": plan.objectives,
        "term_rates": plan.term_rates,
        "chains": plan.n_chains,
        "is_quick": plan.is_quick,
        "seed": plan.seed,
        "curve": len(case_of(plan).curve_seeds(plan)),
    }
    found = describe_run("case", asked, benchmark.train, benchmark.validation)
    return {**found, "test": describe_data(benchmark.test)}
