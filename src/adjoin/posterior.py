"""`Posterior`: the weighted collection of models that a run returns, as a user holds it.

What it is made of, and predicts, is `adjoin.results.collection`; here is what it says of itself,
and how it goes into files and to other programs.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from adjoin.exchange.arviz_data import to_arviz
from adjoin.exchange.latex_table import latex_table
from adjoin.exchange.run_file import read_run, write_run
from adjoin.export.c_ensemble import c_ensemble
from adjoin.export.c_parts import CCode
from adjoin.export.fmu import write_fmu
from adjoin.markup import html_heading, html_notes, html_table
from adjoin.modelling.mathml import model_html
from adjoin.results.collection import Collection
from adjoin.results.diagnose import diagnose
from adjoin.results.ensembles import draw_ensemble
from adjoin.results.masses import mass_text
from adjoin.text import counted

_MOST_STRUCTURES = 5  # of which a notebook shows a row


class Posterior(Collection):
    """Structures, coefficients and noise, as sure as the data make them."""

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """What the chains did, whether they agree, and a verdict in words; see `diagnose`."""
        return diagnose(self)

    def _repr_html_(self) -> str:
        size = f"{len(self)} draws of {counted(self.n_chains, 'chain')}"
        found = self.structures
        rows = [
            (self._mass_text(rank), str(len(self.structure(rank))), str(self.structure(rank)))
            for rank in range(min(_MOST_STRUCTURES, len(found)))
        ]
        more = len(found) - len(rows)
        return "".join(
            (
                html_heading("Posterior", f"{size}, {counted(len(found), 'structure')}"),
                model_html(self.map_model),
                html_table(("mass", "terms", "structure"), rows),
                html_notes([f"{more} more"] if more else []),
            )
        )

    def _mass_text(self, rank: int) -> str:
        mass = float(self.structures["mass"].iloc[rank])
        return mass_text(mass, self.masses(self, rank))

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

    def c(
        self, draws: int = 50, seed: int | None = 0, name: str = "model", single: bool = False
    ) -> CCode:
        """Models drawn at random as C99 that gives mean, spread and bands at every step.

        See `adjoin.results.ensembles.draw_ensemble` for what noise the bands include; a lone model,
        such as `map_model`, has a `c` of its own.
        """
        return c_ensemble(draw_ensemble(self, draws, seed), name, single)

    def fmu(
        self,
        path: str | os.PathLike[str],
        draws: int = 50,
        seed: int | None = 0,
        fmi: Literal[2, 3] = 3,
        step: float | None = None,
        name: str = "model",
        binary: bool = False,
    ) -> None:
        """Write models drawn at random as an FMU whose outputs are mean, spread and bands.

        See `c` for what these are of, and `adjoin.export.fmu.write_fmu` for the rest.
        """
        write_fmu(draw_ensemble(self, draws, seed), path, fmi, step, name, binary)

    def latex(self, most: int = 20) -> str:
        """A LaTeX table of the terms with their inclusion and coefficients."""
        return latex_table(self, most)


def load(path: str | os.PathLike[str]) -> Posterior:
    """The posterior that `Posterior.save` or ``adjoin fit --out`` saved."""
    saved = read_run(path)
    return Posterior(*saved._replace(run=replace(saved.run, name=Path(path).name)))
