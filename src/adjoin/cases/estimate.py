"""How long a case will take, before it starts.

Receives a `Plan`; gives seconds by objective: what was measured on one machine, times how much
slower this one runs a compiled free run, times the chains that each core has to do.
"""

from __future__ import annotations

import math
import time

import numpy as np

from adjoin.cases.case import case_of
from adjoin.cases.setups import OBJECTIVES, Plan, Setup
from adjoin.datasets import SILVERBOX_EQUATION
from adjoin.inference.engines import find_engine
from adjoin.kernels._jit import is_compiled
from adjoin.model import Model
from adjoin.threads import n_workers

_N_TIMED = 100_000  # samples of the timed free run: a few milliseconds
_REFERENCE_SECONDS = 0.0058  # it took on the machine where setups were measured
_CURVE = "learning curve"
_COMPILING = 60.0  # seconds, once per machine


def machine_factor() -> float:
    """How much slower this machine is than the one where setups were measured."""
    model = Model.parse(SILVERBOX_EQUATION)
    u = 0.05 * np.sin(0.1 * np.arange(_N_TIMED))
    model.simulate(u[:100])  # compiles
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        model.simulate(u)
        taken.append(time.perf_counter() - begin)
    return min(taken) / _REFERENCE_SECONDS


def setup_seconds(plan: Plan, setup: Setup, factor: float) -> float:
    """What one setup takes, from its fit to its scores."""
    rounds = math.ceil(plan.n_chains / n_workers(plan.n_jobs, plan.n_chains))
    return factor * (rounds * setup.seconds + case_of(plan).scoring_seconds)


def curve_seconds(plan: Plan, factor: float) -> float:
    """What the learning curve takes, where there is one."""
    case = case_of(plan)
    curve = case.curve(plan)
    if curve is None:
        return 0.0
    n_cores = n_workers(plan.n_jobs, curve.n_chains)
    return factor * len(case.curve_seeds(plan)) * curve.seconds / n_cores


def estimate(plan: Plan, factor: float) -> dict[str, float]:
    """Seconds by objective, compilation included where it has not been done; the learning curve."""
    seconds = {}
    for objective in plan.objectives:
        kernel = find_engine(objective).kernel
        setups = [s for s in case_of(plan).all_setups(plan) if s.objective == objective]
        if not setups:
            continue
        seconds[objective] = sum(setup_seconds(plan, setup, factor) for setup in setups)
        if not is_compiled(kernel):
            seconds[objective] += factor * _COMPILING
    if curve := curve_seconds(plan, factor):
        seconds[_CURVE] = curve
    return seconds


def in_words(seconds: dict[str, float]) -> str:
    """``one step ahead: about 20 s; free run: about 6 min``."""
    return "; ".join(
        f"{OBJECTIVES.get(name, name)}: {about(value)}" for name, value in seconds.items()
    )


def about(seconds: float) -> str:
    """A duration as nobody can take it for exact."""
    if seconds < 1.0:
        return "about a second"
    if seconds < 100.0:
        places = 10 if seconds >= 20.0 else 5 if seconds >= 10.0 else 1
        return f"about {places * round(seconds / places)} s"
    if seconds < 100 * 60.0:
        return f"about {round(seconds / 60.0)} min"
    return f"about {seconds / 3600.0:.1f} h"
