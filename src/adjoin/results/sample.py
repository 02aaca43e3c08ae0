"""The recorded draws of all chains of a run, and what is counted and averaged over them.

Receives traces in model units with the `Run` they come from; gives structures, terms, coefficients
and noise in the user's units to ``collection``, which makes models of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adjoin.arrays import Float1D, Float2D, Int1D
from adjoin.checks import is_real
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar import Grammar, Structure, Term
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.equation import term_text
from adjoin.inference.objective import Objective
from adjoin.inference.prior import Prior
from adjoin.inference.settings import RunSettings
from adjoin.inference.traces import ChainTrace
from adjoin.model import Model
from adjoin.results.discovered import Discovered
from adjoin.results.draws import Draws, averages, gather_draws, log_density
from adjoin.results.masses import is_settled, mass_text
from adjoin.results.run import Run

if TYPE_CHECKING:
    import pandas as pd

_TOLD = (
    3.0  # times what the prior alone would make of the noise: a ninth of the variance is then its
)


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """What the chains of a run drew after burn-in.

    Parameters
    ----------
    traces : tuple of ChainTrace
        One per chain, in model units.
    run : Run
        What they have in common.
    chain_numbers : tuple of int
        What the chains were called in the run they come from.
    weights : mapping of int to float, optional
        How much each chain counts, by its number. Default: as much as it has draws.
    discovered : Discovered, optional
        How its terms were found, where candidates were compared.
    """

    traces: tuple[ChainTrace, ...]
    run: Run
    chain_numbers: tuple[int, ...] = ()
    weights: Mapping[int, float] | None = None
    discovered: Discovered | None = None

    def __post_init__(self) -> None:
        if not self.chain_numbers:
            object.__setattr__(self, "chain_numbers", tuple(range(len(self.traces))))
        if self.weights is not None:
            _require_weights(self.weights, self.chain_numbers)
        if not all(len(trace.structure) for trace in self.traces):
            raise AdjoinError("a chain has no recorded sample; draw more samples, or thin less")

    @property
    def n_chains(self) -> int:
        """How many chains it is made of."""
        return len(self.traces)

    @property
    def weights_(self) -> dict[int, float]:
        """How much each chain counts, by its number; they sum to 1."""
        if self.weights is not None:
            return dict(self.weights)
        share = self._count.sum(axis=0) / len(self)
        return dict(zip(self.chain_numbers, share.tolist(), strict=True))

    @cached_property
    def draw_weight(self) -> Float1D | None:
        """(n_draws,) how much each draw counts, 1 in all; None where all count the same."""
        if self.weights is None:
            return None
        of_chain = self._chain_weight / self._count.sum(axis=0)
        return np.asarray(of_chain[np.searchsorted(self.chain_numbers, self.draws.chain)])

    @property
    def _chain_weight(self) -> Float1D:
        """(n_chains,) the same as `weights_`."""
        return np.array([self.weights_[number] for number in self.chain_numbers])

    @property
    def objective(self) -> Objective:
        """What models were judged by."""
        return self.run.objective

    @property
    def settings(self) -> RunSettings:
        """How it was made."""
        return self.run.settings

    @property
    def timing(self) -> Mapping[str, float]:
        """How long it took, in seconds."""
        return self.run.timing

    @property
    def grammar(self) -> Grammar:
        """What structures are made of."""
        return self.run.grammar

    @property
    def encoding(self) -> Encoding:
        """What the keys in the traces stand for."""
        return self.run.encoding

    @property
    def scaling(self) -> Scaling:
        """From the user's units to those of the traces."""
        return self.run.scaling

    @property
    def data(self) -> Dataset:
        """What was fitted, in the user's units."""
        return self.run.data

    @property
    def held_out(self) -> Dataset | None:
        """What was kept back to choose a chain by and to be scored on."""
        return self.run.held_out

    @property
    def prior(self) -> Prior:
        """The prior it was made with."""
        return self.settings.prior

    @property
    def burn_in(self) -> float:
        """The share of every chain that is left out."""
        return self.settings.burn_in

    @property
    def power(self) -> float:
        """The power w to which the likelihood was raised."""
        return self.settings.likelihood_power

    @property
    def white_box(self) -> Model | None:
        """The fixed terms alone, by least squares, to compare with; None where there are none."""
        return self.run.white_box

    @property
    def max_lag(self) -> int:
        """The lag window: so many samples at the start of a record seed the regressors."""
        return self.run.max_lag

    @property
    def n_rows(self) -> int:
        """How many samples were fitted: all but the first `max_lag` of each record."""
        return self.data.n_samples - self.max_lag * self.data.n_records

    def with_settings(self, **changed: Any) -> Self:
        """The same draws with some settings changed."""
        settings = replace(self.settings, **changed)
        return replace(self, run=replace(self.run, settings=settings))

    def with_source(
        self,
        files: Sequence[str],
        validation: float | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """The same with a note of the files it comes from, and of the share of them held out.

        Also of the `options` that were typed, by which ``command`` says how to go on. What was
        worked out stays worked out, since nothing depends on it.
        """
        settings = replace(self.settings, data=tuple(files), validation=validation, options=options)
        noted, run = copy(self), copy(self.run)
        object.__setattr__(run, "settings", settings)
        object.__setattr__(noted, "run", run)
        for posteriors in ("whole", "selected", "stacked", "_chains"):  # these would lack the note
            noted.__dict__.pop(posteriors, None)
        return noted

    @cached_property
    def whole(self) -> Self:
        """The same with its burn-in."""
        return self.with_settings(burn_in=0.0)

    def __len__(self) -> int:
        return len(self.draws)

    def __repr__(self) -> str:
        best = self.structures.iloc[0]
        mass = mass_text(best["mass"], self.mass_by_chain(self.number_of(0)))
        whose = "" if is_settled(self.mass_by_chain(self.number_of(0))) else " by chain"
        return (
            f"{type(self).__name__}({len(self)} draws of {self.n_chains} chains,"
            f" {len(self.structures)} structures; best with mass {mass}{whose}:"
            f" {best['structure']})"
        )

    @cached_property
    def _catalogue(self) -> tuple[list[tuple[int, ...]], list[Int1D]]:
        """Every structure of all chains by its keys, and each chain's numbers among them."""
        number: dict[tuple[int, ...], int] = {}
        numbers = [
            np.array([number.setdefault(keys, len(number)) for keys in trace.structures])
            for trace in self.traces
        ]
        return list(number), numbers

    @cached_property
    def _terms(self) -> dict[int, int]:
        """The number of every term that occurs, by key, in canonical order."""
        keys = {key for structure in self._catalogue[0] for key in structure}
        return {key: i for i, key in enumerate(sorted(keys, key=self.encoding.digits))}

    @property
    def term_keys(self) -> tuple[int, ...]:
        """The key of every term that occurs, in canonical order."""
        return tuple(self._terms)

    @cached_property
    def _factor(self) -> Float1D:
        """What turns each term's coefficient into the user's units."""
        return np.array([self._factor_of(self.encoding.term(key)) for key in self._terms])

    def _factor_of(self, term: Term) -> float:
        return self.run.problem.rows.factor(term)

    def _first(self, trace: ChainTrace) -> int:
        """The first draw of a chain after burn-in."""
        n_draws = len(trace.structure)
        return min(int(self.settings.burn_in * n_draws), n_draws - 1)

    @cached_property
    def draws(self) -> Draws:
        """The recorded samples after burn-in, in the user's units."""
        catalogue, numbers = self._catalogue
        of_structure = [np.array([self._terms[key] for key in keys]) for keys in catalogue]
        return gather_draws(
            dict(zip(self.chain_numbers, self.traces, strict=True)),
            [self._first(trace) for trace in self.traces],
            numbers,
            of_structure,
            self._factor,
            self.scaling.noise_factor,
        )

    def structure(self, rank: int = 0) -> Structure:
        """The structure with that place in `structures`; 0 has the largest mass."""
        return self.encoding.structure(self._catalogue[0][self.number_of(rank)])

    @cached_property
    def _count(self) -> np.ndarray:
        """(n_structures, n_chains) how often each chain visited each structure."""
        count = np.zeros((len(self._catalogue[0]), self.n_chains))
        column = np.searchsorted(self.chain_numbers, self.draws.chain)
        np.add.at(count, (self.draws.structure, column), 1.0)
        return count

    @cached_property
    def _mass(self) -> Float1D:
        r"""(n_structures,) the mass of each: :math:`\sum_c w_c m_c` of chains with masses m_c."""
        if self.weights is None:
            return np.asarray(self._count.sum(axis=1) / len(self))
        return np.asarray(self._count / self._count.sum(axis=0) @ self._chain_weight)

    @cached_property
    def _ranking(self) -> Int1D:
        """Numbers of the structures visited after burn-in, most frequent first."""
        total = self._mass
        order: Int1D = np.argsort(-total, kind="stable")
        return np.asarray(order[total[order] > 0])

    @cached_property
    def structures(self) -> pd.DataFrame:
        """Structures by mass: `mass`, in each chain `chain_0`, …, `n_terms`, `structure`."""
        import pandas as pd

        count = self._count[self._ranking]
        catalogue = self._catalogue[0]
        mass = pd.DataFrame(
            count / self._count.sum(axis=0), columns=[f"chain_{i}" for i in self.chain_numbers]
        )
        mass.insert(0, "mass", self._mass[self._ranking])
        mass["n_terms"] = [len(catalogue[i]) for i in self._ranking]
        mass["structure"] = [str(self.encoding.structure(catalogue[i])) for i in self._ranking]
        return mass

    @cached_property
    def terms(self) -> pd.DataFrame:
        """Terms by inclusion probability, with their coefficients wherever they are in.

        Columns: `term`, `inclusion`, `mean`, `sd`, `q025`, `q975`, `frequency`. The last is the
        share of draws that have the term; `inclusion` is the same, but where chains worked out the
        probability of a term given all others, it is the average of that, which is less noisy.
        """
        frame = self._summary(np.arange(len(self)))
        frame["frequency"] = frame["inclusion"]
        texts = [term_text(self.encoding.term(key)) for key in self._terms]
        expected = dict(zip(texts, self.expected_inclusion, strict=True))
        frame["inclusion"] = [expected[text] for text in frame["term"]]
        return frame.sort_values("inclusion", ascending=False, kind="stable", ignore_index=True)

    def coefficients(self, structure: int | str | Structure = 0) -> pd.DataFrame:
        """Coefficients given one structure: by its place in `structures`, its text, or itself.

        Columns: `term`, `mean`, `sd`, `q025`, `q975`.
        """
        chosen = np.flatnonzero(self.draws.structure == self.number_of(structure))
        return self._summary(chosen).drop(columns="inclusion")

    def number_of(self, structure: int | str | Structure) -> int:
        """The number that `draws` has for a structure (as for `coefficients`)."""
        if isinstance(structure, str):
            structure = Structure.parse(structure, self.encoding.names)
        if not isinstance(structure, Structure):
            if not (isinstance(structure, Integral) and 0 <= structure < len(self._ranking)):
                raise AdjoinError(
                    f"there is no structure {structure}; there are {len(self._ranking)}, from 0 on"
                )
            return int(self._ranking[structure])
        structure = Structure(structure.terms, self.encoding.names)  # in this order of the signals
        known = set(self.encoding.atoms)
        if all(atom in known for term in structure for atom in term):
            number = self._number_of.get(tuple(map(self.encoding.key, structure)))
            if number is not None and self._mass[number] > 0.0:
                return number
        raise AdjoinError(f"no draw has the structure '{structure}'; see .structures")

    @cached_property
    def _number_of(self) -> dict[tuple[int, ...], int]:
        """The number of each structure by its keys."""
        return {keys: number for number, keys in enumerate(self._catalogue[0])}

    def drawn_keys(self, most: int) -> list[tuple[int, ...]]:
        """The keys of the terms of so many structures, in the order of `structures`."""
        return [self._catalogue[0][number] for number in self._ranking[:most]]

    def mass_by_chain(self, number: int) -> Float1D:
        """(n_chains,) the share of each chain's draws with the structure of that number."""
        return np.asarray(self._count[number] / self._count.sum(axis=0))

    def _summary(self, chosen: Int1D) -> pd.DataFrame:
        """One row per term that occurs among the chosen draws."""
        import pandas as pd

        draws, rows = self.draws, []
        is_chosen, counts = np.zeros(len(draws), dtype=bool), self.draw_weight
        is_chosen[chosen] = True
        if counts is not None:
            is_chosen &= counts > 0.0
        inside = np.flatnonzero(np.repeat(is_chosen, np.diff(draws.offset)))
        inside = inside[np.argsort(draws.term[inside], kind="stable")]
        present, start = np.unique(draws.term[inside], return_index=True)
        texts = [term_text(self.encoding.term(key)) for key in self._terms]
        owner = draws.owner
        for number, entry in zip(present, np.split(inside, start[1:]), strict=False):
            weight, share = None, len(entry) / max(len(chosen), 1)
            if counts is not None:
                weight = counts[owner[entry]]
                share = weight.sum() / counts[chosen].sum()
            rows.append((texts[number], share, *averages(draws.theta[entry], weight)))
        return pd.DataFrame(rows, columns=["term", "inclusion", "mean", "sd", "q025", "q975"])

    def includes(self, term: str | Term) -> np.ndarray:
        """(n_draws,) whether each draw has the term: itself, or its text as in `terms`."""
        if isinstance(term, str):
            texts = [term_text(self.encoding.term(key)) for key in self._terms]
            number = texts.index(term)
        else:
            number = self._terms[self.encoding.key(term)]
        has_term = np.zeros(len(self), dtype=bool)
        has_term[self.draws.owner[self.draws.term == number]] = True
        return has_term

    @cached_property
    def _term_count(self) -> Float2D:
        """(n_terms, n_chains) how many draws of each chain have each term."""
        draws = self.draws
        column = np.searchsorted(self.chain_numbers, draws.chain)
        count = np.zeros((len(self._terms), self.n_chains))
        np.add.at(count, (draws.term, column[draws.owner]), 1.0)
        return count

    @property
    def inclusion(self) -> Float1D:
        """(n_terms,) the share of draws that have each term of `term_keys`."""
        if self.weights is not None:
            return np.asarray(self.inclusion_by_chain @ self._chain_weight)
        return np.asarray(self._term_count.sum(axis=1) / len(self))

    @property
    def inclusion_by_chain(self) -> Float2D:
        """(n_terms, n_chains) the same of each chain alone."""
        return np.asarray(self._term_count / self._count.sum(axis=0))

    @cached_property
    def expected_inclusion_by_chain(self) -> Float2D:
        """(n_terms, n_chains) each chain's probability of each term of `term_keys`.

        On average over the chain given all else (Rao and Blackwell), where that was worked out;
        else the share of its draws.
        """
        found = self.inclusion_by_chain.copy()
        for column, trace in enumerate(self.traces):
            # Files of earlier versions have zeros where it was not worked out.
            if trace.search is not None and trace.search.inclusion.any():
                known = zip(trace.search.key.tolist(), trace.search.inclusion, strict=True)
                for key, share in known:
                    if key in self._terms:
                        found[self._terms[key], column] = min(float(share), 1.0)
        return found

    @property
    def expected_inclusion(self) -> Float1D:
        """(n_terms,) the same of all chains, by their weight."""
        if all(trace.search is None for trace in self.traces):
            return self.inclusion
        return np.asarray(self.expected_inclusion_by_chain @ self._chain_weight)

    @cached_property
    def log_posterior(self) -> Float1D:
        """(n_draws,) log density of each draw in model units, up to a constant."""
        prior, problem = self.settings.prior, self.run.problem
        scale = problem.noise_scale(prior)
        kept = [self._terms[self.encoding.key(term)] for term in problem.pinned]
        term = self.draws.term
        theta = np.where(np.isin(term, kept), 0.0, self.draws.theta / self._factor[term])
        has_noise = self.objective.has_likelihood
        return log_density(self.draws, theta, prior, self.power, scale, has_noise, len(kept))

    @cached_property
    def noise(self) -> pd.Series[float]:
        """The standard deviation of the noise: `mean`, `sd`, `q025`, `q975`."""
        import pandas as pd

        found = averages(self.draws.noise_sd, self.draw_weight)
        return pd.Series(dict(zip(("mean", "sd", "q025", "q975"), found, strict=True)))

    @cached_property
    def is_noise_told(self) -> bool:
        """Whether the data tell the noise; if not, it is at most what is reported.

        Not where it is less than 3 times what the prior alone would make it: with the default
        prior, where it cannot be told from rounding.
        """
        if not self.objective.has_likelihood or self.power == 0.0:
            return self.power > 0.0
        limit = self.run.problem.noise_limit(self.prior, self.power) * self.scaling.noise_factor
        return float(self.noise["mean"]) >= _TOLD * limit

    @cached_property
    def distance(self) -> Float1D:
        """(n_draws,) how far each draw's free run is from the fitted output, by the tolerance."""
        parts = []
        for trace in self.traces:
            if trace.ladder is None:
                raise AdjoinError("only a run with objective='abc' has distances")
            parts.append(trace.ladder.distance[self._first(trace) :])
        return np.concatenate(parts)


def _require_weights(weights: Mapping[int, float], chain_numbers: Sequence[int]) -> None:
    """Refuse weights that are not those of the chains, or do not sum to 1."""
    is_good = sorted(weights) == sorted(chain_numbers) and all(
        is_real(weight) and 0.0 <= weight <= 1.0 for weight in weights.values()
    )
    if not is_good or abs(sum(weights.values()) - 1.0) > 1e-9:
        raise AdjoinError(
            f"weights must be numbers from 0 to 1 of the chains {list(chain_numbers)} that sum to"
            f" 1, not {dict(weights)!r:.100}"
        )
