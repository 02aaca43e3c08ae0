"""`Posterior`: the weighted collection of models that a run returns, as a user holds it.

What it is made of, and predicts, is `adjoin.results.collection`; here is what it says of itself,
and how it goes into files and to other programs.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from adjoin.exchange.arviz_data import to_arviz
from adjoin.exchange.latex_table import latex_table
from adjoin.exchange.run_file import read_run, write_run
from adjoin.results.collection import Collection
from adjoin.results.diagnose import diagnose


class Posterior(Collection):
    """Structures, coefficients and noise, as sure as the data make them."""

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """What the chains did, whether they agree, and a verdict in words; see `diagnose`."""
        return diagnose(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything in one netCDF-4 file, whole or not at all; `adjoin.load` reads it."""
        write_run(self, path)

    def to_arviz(
        self,
        thin: int = 1,
        log_likelihood: bool = True,
        posterior_predictive: bool = True,
        seed: int | None = 0,
    ) -> Any:
        """The draws as ArviZ takes them; see `adjoin.exchange.arviz_data.to_arviz`."""
        return to_arviz(self, thin, log_likelihood, posterior_predictive, seed)

    def latex(self, most: int = 20) -> str:
        """A LaTeX table of the terms with their inclusion and coefficients."""
        return latex_table(self, most)


def load(path: str | os.PathLike[str]) -> Posterior:
    """The posterior that `Posterior.save` or ``adjoin fit --out`` saved."""
    return Posterior(*read_run(path))
