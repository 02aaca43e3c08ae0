"""Engines set up from data and an alphabet, as tests of the samplers want them."""

from __future__ import annotations

from typing import Any

from adjoin import Dataset
from adjoin.data.scaling import Scaling
from adjoin.grammar import Alphabet
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.engines.innovations import InnovationsEngine
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.engines.simulation import SimulationEngine
from adjoin.inference.problem import Problem
from adjoin.inference.settings import RUNAWAY


def prediction_engine(
    data: Dataset,
    alphabet: Alphabet,
    *settings: Any,
    scaling: Scaling | None = None,
    is_residual: bool = False,
    **more: Any,
) -> PredictionEngine:
    """One step ahead: prior, moves and power in this order, or by name."""
    return PredictionEngine(Problem(data, alphabet, scaling, is_residual), *settings, **more)


def abc_engine(
    data: Dataset,
    alphabet: Alphabet,
    *settings: Any,
    scaling: Scaling | None = None,
    is_residual: bool = False,
    runaway: float = RUNAWAY,
    **more: Any,
) -> AbcEngine:
    """By free runs: samples, prior, moves, ladder, rule and distance in this order, or by name."""
    return AbcEngine(Problem(data, alphabet, scaling, is_residual, runaway), *settings, **more)


def simulation_engine(
    data: Dataset,
    alphabet: Alphabet,
    *settings: Any,
    scaling: Scaling | None = None,
    is_residual: bool = False,
    runaway: float = RUNAWAY,
    **more: Any,
) -> SimulationEngine:
    """By free runs with noise on the output: prior, moves and power in this order, or by name.

    With past noise in the alphabet, by predictions one step ahead that feed it back.
    """
    problem = Problem(data, alphabet, scaling, is_residual, runaway)
    engine = InnovationsEngine if alphabet.has_noise else SimulationEngine
    return engine(problem, *settings, **more)
