"""Equation discovery for dynamical systems with Bayesian tree-adjoining grammars.

Public names are resolved on first use, so that ``import adjoin`` and ``adjoin --help`` stay
instant: nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adjoin.version import __version__ as __version__

if TYPE_CHECKING:
    from adjoin import datasets as datasets
    from adjoin import distances as distances
    from adjoin import scores as scores
    from adjoin.data.check import DataCheck as DataCheck
    from adjoin.data.check import check_data as check_data
    from adjoin.data.dataset import Dataset as Dataset
    from adjoin.data.readers import from_object as from_object
    from adjoin.data.readers import read_data as read_data
    from adjoin.data.scaling import Scaling as Scaling
    from adjoin.discovery.discovery import Discovery as Discovery
    from adjoin.discovery.discovery import discover as discover
    from adjoin.errors import AdjoinError as AdjoinError
    from adjoin.errors import DivergenceWarning as DivergenceWarning
    from adjoin.forward import ForwardPath as ForwardPath
    from adjoin.forward import forward_selection as forward_selection
    from adjoin.grammar import Grammar as Grammar
    from adjoin.grammar import Structure as Structure
    from adjoin.identifier import Identifier as Identifier
    from adjoin.inference.ladder import Ladder as Ladder
    from adjoin.inference.prior import Prior as Prior
    from adjoin.model import Model as Model
    from adjoin.posterior import Posterior as Posterior
    from adjoin.posterior import load as load
    from adjoin.report.compare import RunComparison as RunComparison
    from adjoin.report.compare import compare as compare
    from adjoin.report.page import write_report as write_report
    from adjoin.report.plot import plot as plot
    from adjoin.sweeps.collected import Sweep as Sweep
    from adjoin.sweeps.sweep import sweep as sweep

_HOME = {
    "AdjoinError": "adjoin.errors",
    "DataCheck": "adjoin.data.check",
    "Dataset": "adjoin.data.dataset",
    "Discovery": "adjoin.discovery.discovery",
    "DivergenceWarning": "adjoin.errors",
    "ForwardPath": "adjoin.forward",
    "Grammar": "adjoin.grammar",
    "Identifier": "adjoin.identifier",
    "Ladder": "adjoin.inference.ladder",
    "Model": "adjoin.model",
    "Posterior": "adjoin.posterior",
    "Prior": "adjoin.inference.prior",
    "RunComparison": "adjoin.report.compare",
    "Scaling": "adjoin.data.scaling",
    "Structure": "adjoin.grammar",
    "Sweep": "adjoin.sweeps.collected",
    "check_data": "adjoin.data.check",
    "compare": "adjoin.report.compare",
    "discover": "adjoin.discovery.discovery",
    "forward_selection": "adjoin.forward",
    "from_object": "adjoin.data.readers",
    "load": "adjoin.posterior",
    "plot": "adjoin.report.plot",
    "read_data": "adjoin.data.readers",
    "sweep": "adjoin.sweeps.sweep",
    "write_report": "adjoin.report.page",
}
_MODULES = ("datasets", "distances", "scores")

__all__ = [
    "AdjoinError",
    "DataCheck",
    "Dataset",
    "Discovery",
    "DivergenceWarning",
    "ForwardPath",
    "Grammar",
    "Identifier",
    "Ladder",
    "Model",
    "Posterior",
    "Prior",
    "RunComparison",
    "Scaling",
    "Structure",
    "Sweep",
    "__version__",
    "check_data",
    "compare",
    "datasets",
    "discover",
    "distances",
    "forward_selection",
    "from_object",
    "load",
    "plot",
    "read_data",
    "scores",
    "sweep",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"adjoin.{name}")
    raise AttributeError(f"module 'adjoin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
