"""`Posterior`: the weighted collection of models that a run returns, in the user's units.

Receives traces in model units, with the scaling that led there; answers what the structures, terms,
coefficients and noise are and how sure that is, and hands models to prediction.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoin.arrays import Float1D, Int1D
from adjoin.checks import make_generator, require_count
from adjoin.data.dataset import Dataset
from adjoin.data.gate import as_inputs
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.exchange.arviz_data import to_arviz
from adjoin.exchange.latex_table import latex_table
from adjoin.exchange.run_file import read_run, write_run
from adjoin.grammar import Grammar, Structure
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.equation import term_text
from adjoin.grammar.terms import exponents
from adjoin.inference.prior import STANDARD, Prior
from adjoin.inference.problem import RESIDUAL, white_box
from adjoin.inference.traces import ChainTrace
from adjoin.model import Model
from adjoin.results.diagnose import diagnose
from adjoin.results.draws import Draws, log_density
from adjoin.results.mode import mode_of
from adjoin.results.prediction import (
    BANDS,
    Prediction,
    free_run_error,
    measured_pair,
    predict_many,
    propagate,
    require_room,
    run_against,
)
from adjoin.results.residual_tests import MAX_LAG, ResidualTest, residual_tests

if TYPE_CHECKING:
    import pandas as pd

_LOW, _HIGH = 0.025, 0.975
_TIE = 1.001  # errors this close are equal


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Structures, coefficients and noise, as sure as the data make them.

    Parameters
    ----------
    traces : sequence of ChainTrace
        One per chain, in model units.
    grammar : Grammar
        What structures are made of; its encoding says what the keys in the traces stand for.
    scaling : Scaling
        From the user's units to those of the traces.
    data : Dataset
        What was fitted, in the user's units.
    held_out : Dataset, optional
        What was kept back to choose a chain by and to be scored on.
    power : float
        The power w to which the likelihood was raised.
    burn_in : float
        The share of every chain that is left out.
    settings, timing : mapping
        How it was made, and how long it took.
    chain_numbers : tuple of int
        What the chains were called in the run they come from.
    """

    traces: tuple[ChainTrace, ...]
    grammar: Grammar
    scaling: Scaling
    data: Dataset
    power: float = 1.0
    burn_in: float = 0.5
    settings: Mapping[str, Any] = field(default_factory=dict)
    timing: Mapping[str, float] = field(default_factory=dict)
    chain_numbers: tuple[int, ...] = ()
    held_out: Dataset | None = None

    def __post_init__(self) -> None:
        if not self.chain_numbers:
            object.__setattr__(self, "chain_numbers", tuple(range(len(self.traces))))
        if not all(len(trace.structure) for trace in self.traces):
            raise AdjoinError("a chain has no recorded sample; draw more samples, or thin less")

    @property
    def n_chains(self) -> int:
        """How many chains it is made of."""
        return len(self.traces)

    @cached_property
    def encoding(self) -> Encoding:
        """What the keys in the traces stand for."""
        return Encoding(self.grammar.alphabet)

    @property
    def is_free_run(self) -> bool:
        """Whether models were judged by their free run, not one step ahead."""
        return self.traces[0].ladder is not None

    @property
    def is_residual(self) -> bool:
        """Whether fixed terms kept the coefficients of their own fit (``initial_mode``)."""
        return self.settings.get("initial_mode") == RESIDUAL

    @cached_property
    def white_box(self) -> Model | None:
        """The fixed terms alone, by least squares, to compare with; None where there are none."""
        fixed = self.grammar.alphabet.fixed
        return white_box(self.data, fixed, self.max_lag, self.scaling) if len(fixed) else None

    @property
    def max_lag(self) -> int:
        """The lag window: so many samples at the start of a record seed the regressors."""
        return self.grammar.alphabet.max_lag

    @property
    def n_rows(self) -> int:
        """How many samples were fitted: all but the first `max_lag` of each record."""
        return self.data.n_samples - self.max_lag * self.data.n_records

    def __len__(self) -> int:
        return len(self.draws)

    def __repr__(self) -> str:
        return (
            f"Posterior({len(self)} draws of {self.n_chains} chains,"
            f" {len(self.structures)} structures; best with mass"
            f" {self.structures['mass'].iloc[0]:.3f}: {self.structures['structure'].iloc[0]})"
        )

    @cached_property
    def _catalogue(self) -> tuple[list[tuple[int, ...]], list[Int1D]]:
        """Every structure of all chains by its keys, and each chain's numbers among them."""
        number: dict[tuple[int, ...], int] = {}
        places = [
            np.array([number.setdefault(keys, len(number)) for keys in trace.structures])
            for trace in self.traces
        ]
        return list(number), places

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
        terms = [self.encoding.term(key) for key in self._terms]
        return np.array([self.scaling.coefficient_factor(exponents(term)) for term in terms])

    def _first(self, trace: ChainTrace) -> int:
        """The first record of a chain after burn-in."""
        n_records = len(trace.structure)
        return min(int(self.burn_in * n_records), n_records - 1)

    @cached_property
    def draws(self) -> Draws:
        """The recorded samples after burn-in, in the user's units."""
        catalogue, places = self._catalogue
        of_structure = [np.array([self._terms[key] for key in keys]) for keys in catalogue]
        parts: dict[str, list[np.ndarray]] = {name: [] for name in Draws.__dataclass_fields__}
        sizes = []
        for number, trace, place in zip(self.chain_numbers, self.traces, places, strict=True):
            first = self._first(trace)
            structure = place[trace.structure[first:]]
            term = np.concatenate([np.empty(0), *(of_structure[s] for s in structure)]).astype(int)
            parts["chain"].append(np.full(len(structure), number))
            parts["structure"].append(structure)
            parts["term"].append(term)
            parts["theta"].append(trace.theta[trace.offset[first] :] * self._factor[term])
            parts["noise_sd"].append(np.sqrt(trace.noise[first:]) * self.scaling.noise_factor)
            for name in ("noise", "coefficient", "log_lik", "log_prior"):
                parts[name].append(getattr(trace, name)[first:])
            sizes.append(np.diff(trace.offset[first:]))
        joined = {name: np.concatenate(part) for name, part in parts.items() if part}
        return Draws(**joined, offset=np.append(0, np.cumsum(np.concatenate(sizes))))

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
    def _ranking(self) -> Int1D:
        """Numbers of the structures visited after burn-in, most frequent first."""
        total = self._count.sum(axis=1)
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
        mass.insert(0, "mass", count.sum(axis=1) / len(self))
        mass["n_terms"] = [len(catalogue[i]) for i in self._ranking]
        mass["structure"] = [str(self.encoding.structure(catalogue[i])) for i in self._ranking]
        return mass

    @cached_property
    def terms(self) -> pd.DataFrame:
        """Terms by inclusion probability, with their coefficients wherever they are in.

        Columns: `term`, `inclusion`, `mean`, `sd`, `q025`, `q975`.
        """
        frame = self._summary(np.arange(len(self)))
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
            if number is not None and self._count[number].any():
                return number
        raise AdjoinError(f"no draw has the structure '{structure}'; see .structures")

    @cached_property
    def _number_of(self) -> dict[tuple[int, ...], int]:
        """The number of each structure by its keys."""
        return {keys: number for number, keys in enumerate(self._catalogue[0])}

    def _summary(self, chosen: Int1D) -> pd.DataFrame:
        """One row per term that occurs among the chosen draws."""
        import pandas as pd

        draws, rows = self.draws, []
        is_chosen = np.zeros(len(draws), dtype=bool)
        is_chosen[chosen] = True
        inside = np.repeat(is_chosen, np.diff(draws.offset))
        term, theta = draws.term[inside], draws.theta[inside]
        order = np.argsort(term, kind="stable")
        present, start = np.unique(term[order], return_index=True)
        texts = [term_text(self.encoding.term(key)) for key in self._terms]
        for number, values in zip(present, np.split(theta[order], start[1:]), strict=False):
            low, high = np.quantile(values, [_LOW, _HIGH])
            share = len(values) / max(len(chosen), 1)
            rows.append((texts[number], share, values.mean(), values.std(), low, high))
        return pd.DataFrame(rows, columns=["term", "inclusion", "mean", "sd", "q025", "q975"])

    def includes(self, term: str) -> np.ndarray:
        """(n_draws,) whether each draw has the term with this text, as in `terms`."""
        number = [term_text(self.encoding.term(key)) for key in self._terms].index(term)
        found = np.zeros(len(self), dtype=bool)
        found[self.draws.owner[self.draws.term == number]] = True
        return found

    @property
    def prior(self) -> Prior:
        """The prior it was made with."""
        return Prior(**self.settings.get("prior", {}))

    @cached_property
    def log_posterior(self) -> Float1D:
        """(n_draws,) log density of each draw in model units, up to a constant."""
        output = [record.output for record in self.scaling.apply(self.data).records]
        unit = float(np.var(np.concatenate(output))) if self.prior.units == STANDARD else 1.0
        fixed = self.grammar.alphabet.fixed.terms if self.is_residual else ()
        kept, term = [self._terms[self.encoding.key(t)] for t in fixed], self.draws.term
        theta = np.where(np.isin(term, kept), 0.0, self.draws.theta / self._factor[term])
        parts = self.prior, self.power, unit or 1.0, not self.is_free_run, len(kept)
        return log_density(self.draws, theta, *parts)

    @cached_property
    def noise(self) -> pd.Series[float]:
        """The standard deviation of the noise: `mean`, `sd`, `q025`, `q975`."""
        import pandas as pd

        sd = self.draws.noise_sd
        low, high = np.quantile(sd, [_LOW, _HIGH])
        return pd.Series({"mean": sd.mean(), "sd": sd.std(), "q025": low, "q975": high})

    @cached_property
    def map_model(self) -> Model:
        """The most frequent structure with the mode of its coefficients."""
        return self.model(0)

    def model(self, structure: int | str | Structure = 0) -> Model:
        """A structure (as for `coefficients`) with the mode of its coefficients.

        The mode is computed from the data at the structure's mean noise variance: no Monte Carlo
        error, however rarely the structure was visited. Of a free-run posterior it is where the
        squared error of the free run is smallest; with a distance of the user's own, the nearest
        draw.
        """
        number = self.number_of(structure)
        return mode_of(self, number, self.encoding.structure(self._catalogue[0][number]))

    @cached_property
    def distance(self) -> Float1D:
        """(n_draws,) how far each draw's free run is from the fitted output; free-run runs only."""
        parts = []
        for trace in self.traces:
            if trace.ladder is None:
                raise AdjoinError("only a run with objective='abc' has distances")
            parts.append(trace.ladder.distance[self._first(trace) :])
        return np.concatenate(parts)

    def residuals(self) -> list[Float1D]:
        """Residuals of the MAP model on the fitted data, one series per record.

        One step ahead, or of the free run if that is what was fitted.
        """
        model, data, n_seed = self.map_model, self.data, self.max_lag
        if self.is_free_run:
            outputs, predicted = run_against(model, data, None, n_seed)
        else:
            outputs = [record.output[n_seed:] for record in data.records]
            found = model.predict(
                [r.inputs for r in data.records], [r.output for r in data.records]
            )
            predicted = [series[n_seed:] for series in found]
        return [y - found for y, found in zip(outputs, predicted, strict=True)]

    def residual_tests(self, max_lag: int = MAX_LAG) -> list[ResidualTest]:
        """Whether the residuals of the MAP model still hold something; all lags to 25."""
        records, first = self.data.records, self.max_lag
        inputs = {
            name: [record.inputs[first:, i] for record in records]
            for i, name in enumerate(self.data.names.inputs)
        }
        outputs = [record.output[first:] for record in records]
        return residual_tests(self.residuals(), outputs, inputs, max_lag)

    def draw_models(self, n: int = 100, seed: int | None = 0) -> list[Model]:
        """Models drawn at random from the posterior: structure, coefficients and noise together."""
        require_count("n", n)
        chosen = make_generator(seed).integers(len(self), size=int(n))
        return list(self._models(chosen))

    def _models(self, chosen: Sequence[int] | Int1D) -> Iterator[Model]:
        draws, catalogue = self.draws, self._catalogue[0]
        structures = {s: self.encoding.structure(catalogue[s]) for s in draws.structure[chosen]}
        for i in chosen:
            theta = draws.theta[draws.offset[i] : draws.offset[i + 1]]
            noise = float(draws.noise_sd[i])
            yield Model(structures[draws.structure[i]], tuple(theta), noise, self.scaling.offsets)

    def simulate(
        self,
        u: Any,
        y_init: Any = None,
        draws: int = 100,
        seed: int | None = 0,
        quantiles: Sequence[float] = BANDS,
        n_jobs: int | None = None,
    ) -> Prediction:
        """Free run of models drawn from the posterior, with fresh noise fed back at every step.

        Where models were judged by their free run, the noise is the sensor's and not fed back.

        `y_init` needs `max_lag` samples; without it, every draw starts from so many at rest. The
        mean, the bands and the share of diverged draws come back in a `Prediction`. It does not
        depend on `n_jobs`, the number of threads.
        """
        models, noise_seed = self._drawn(draws, seed, u)
        if y_init is None and self.max_lag:
            # Else each would start at its own lag, and the first bands mix rest and noise.
            inputs, several = as_inputs(u, self.data.names)
            rest = np.full(self.max_lag, self.scaling.offset[-1])
            y_init = [rest] * len(inputs) if several else rest
        is_fed_back = not self.is_free_run
        return propagate(models, u, y_init, noise_seed, quantiles, n_jobs, is_fed_back)

    def predict(
        self,
        u: Any,
        y: Any = None,
        steps_ahead: int = 1,
        draws: int = 100,
        seed: int | None = 0,
        quantiles: Sequence[float] = BANDS,
        n_jobs: int | None = None,
    ) -> Prediction:
        """Predict from measured outputs up to `steps_ahead` samples before, by drawn models.

        As `simulate`, but every sample starts from what was measured; the first `max_lag` samples
        of each record are copied through.
        """
        u, y = measured_pair(next(self._models([0])), u, y)
        models, noise_seed = self._drawn(draws, seed, u)
        return predict_many(models, u, y, steps_ahead, self.max_lag, noise_seed, quantiles, n_jobs)

    def _drawn(self, draws: int, seed: int | None, u: Any) -> tuple[list[Model], int | None]:
        """Models to run on `u`, and a seed of its own for their noise."""
        require_count("draws", draws)
        require_room(draws, sum(map(len, as_inputs(u, self.data.names)[0])))
        return self.draw_models(draws, seed), None if seed is None else seed + 1

    def chain(self, number: int) -> Posterior:
        """The posterior of one chain alone."""
        if number not in self.chain_numbers:
            raise AdjoinError(f"there is no chain {number}; there are {list(self.chain_numbers)}")
        trace = self.traces[self.chain_numbers.index(number)]
        return replace(self, traces=(trace,), chain_numbers=(number,))

    def validation_errors(self, u: Any, y: Any = None) -> dict[int, float]:
        """The free-run RMSE of each chain's own MAP model; infinite where it diverges."""
        models = {number: self.chain(number).map_model for number in self.chain_numbers}
        return {n: free_run_error(model, u, y, self.max_lag) for n, model in models.items()}

    def select_chain(self, u: Any, y: Any = None) -> Posterior:
        """The posterior of the chain whose MAP model has the smallest free-run error on (u, y).

        Chains with the same structure differ there by rounding only; of those within a thousandth
        of the smallest error, the one that is surest of its structure is taken. Use validation
        data, never the test set.
        """
        errors = self.validation_errors(u, y)
        least = min(errors.values())
        chains = [self.chain(n) for n, error in errors.items() if error <= _TIE * least]
        return max(chains, key=lambda chain: float(chain.structures["mass"].iloc[0]))

    @cached_property
    def selected(self) -> Posterior:
        """The chain that the held-out data select; this posterior where there are none."""
        if self.held_out is None or self.n_chains == 1:
            return self
        return self.select_chain(self.held_out)

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """What the chains did, whether they agree, and a verdict in words; see `diagnose`."""
        return diagnose(self)

    def with_held_out(self, data: Dataset) -> Posterior:
        """The same posterior with data that were kept back: a report selects a chain by them."""
        return replace(self, held_out=data)

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
