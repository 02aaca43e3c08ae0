"""Models made of recorded draws: the best of each structure, any number at random, and their runs.

Receives a `Sample`; `adjoin.Posterior` is this collection, with what it says of itself and where it
goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from adjoin.arrays import Float1D, Float2D, Int1D
from adjoin.blocks import TESTED, is_long, spread
from adjoin.checks import make_generator, require_count
from adjoin.data.dataset import Dataset
from adjoin.data.gate import as_inputs, as_seeds
from adjoin.data.timing import require_step
from adjoin.errors import AdjoinError
from adjoin.grammar import Structure
from adjoin.grammar.equation import term_text
from adjoin.inference.engine import Visits
from adjoin.inference.objective import Residual
from adjoin.model import Model
from adjoin.results.alternatives import Alternatives, find_alternatives
from adjoin.results.colour import innovations
from adjoin.results.prediction import (
    BANDS,
    Drawn,
    Prediction,
    free_run_error,
    measured_pair,
    predict_records,
    require_more,
    require_room,
    run_error,
    run_records,
)
from adjoin.results.residual_tests import MAX_LAG, ResidualTest, residual_tests
from adjoin.results.sample import Sample
from adjoin.results.stacking import stack_members

CERTAIN = 0.99
"""Inclusion in every chain: such a term is settled."""
_TIE = 1.001  # errors this close are equal


@dataclass(frozen=True, eq=False, repr=False)
class Collection(Sample):
    """Weighted models: a `Sample`, of which each draw is an equation with numbers."""

    @cached_property
    def map_model(self) -> Model:
        """The most frequent structure with the mode of its coefficients."""
        return self.model(0)

    def model(self, structure: int | str | Structure = 0) -> Model:
        """A structure (as for `coefficients`) with the mode of its coefficients.

        The mode is computed from the data, so that it carries no Monte Carlo error, however rarely
        the structure was visited: one step ahead it maximises their full conditional at the
        structure's mean noise variance; of free runs it is where the squared error is smallest, or,
        with a distance of the user's own, the nearest draw.
        """
        number = self.number_of(structure)
        if number not in self._modes:
            self._modes[number] = self._mode_of(number)
        return self._modes[number]

    @cached_property
    def _modes(self) -> dict[int, Model]:
        """Those that were asked for, by the number of their structure."""
        return {}

    def _mode_of(self, number: int) -> Model:
        structure = self.encoding.structure(self._catalogue[0][number])
        draws = self.draws
        chosen = np.flatnonzero(draws.structure == number)
        entry = draws.offset[chosen, None] + np.arange(len(structure))
        distance = np.empty(0) if self.objective.has_likelihood else self.distance[chosen]
        visits = Visits(
            draws.theta[entry], draws.noise[chosen], draws.coefficient[chosen], distance
        )
        theta = self.run.modes(structure, visits)
        noise_sd = float(np.sqrt(np.mean(draws.noise_sd[chosen] ** 2)))
        return self._fitted(structure, theta, noise_sd)

    def _fitted(self, structure: Structure, theta: Iterable[float], noise_sd: float) -> Model:
        offsets, limits = self.scaling.offsets, self.run.problem.limits
        theta, fitted_to, origin = tuple(theta), self.run.fitted_to, self.run.origin
        return Model(
            structure, theta, noise_sd, offsets, limits, fitted_to=fitted_to, origin=origin
        )

    def residuals(self) -> list[Float1D]:
        """Residuals of the MAP model on the fitted data, one series per record.

        One step ahead, or of the free run if that is what was fitted; where its noise is coloured,
        what its own past does not predict of it.
        """
        return self._residuals

    @cached_property
    def _residuals(self) -> list[Float1D]:
        of = {Residual.FREE_RUN: self.free_run, Residual.ONE_STEP: self.one_step}
        series = of[self.objective.residual](self.data)
        n_seed, pairs = self.max_lag, zip(self.data.outputs, series, strict=True)
        left = [measured[n_seed:] - predicted[n_seed:] for measured, predicted in pairs]
        return [innovations(residual, self._mode_rho) for residual in left]

    @cached_property
    def _mode_rho(self) -> Float1D:
        """The mean of ρ over the draws of the MAP structure."""
        return np.asarray(self.draws.rho[self.draws.structure == self.number_of(0)].mean(axis=0))

    def free_run(self, data: Dataset) -> list[Float1D]:
        """The MAP model's free run on a data set of these signals, one series per record.

        The first `max_lag` measured samples of each record seed it. Worked out once per data set,
        as chain selection, residuals, scores and pictures ask for it.
        """
        if data not in self._free_runs:
            require_more(data.outputs, self.max_lag, "score")
            seeds = [record[: self.max_lag] for record in data.outputs]
            self._free_runs[data] = self.map_model.free_response(data.inputs, seeds).series
        return self._free_runs[data]

    def one_step(self, data: Dataset) -> list[Float1D]:
        """As `free_run`, but predicted one step ahead of what was measured."""
        if data not in self._one_steps:
            response = self.map_model.predicted_response(data.inputs, data.outputs)
            self._one_steps[data] = response.series
        return self._one_steps[data]

    @cached_property
    def _free_runs(self) -> dict[Dataset, list[Float1D]]:
        """Those that were asked for."""
        return {}

    @cached_property
    def _one_steps(self) -> dict[Dataset, list[Float1D]]:
        """Those that were asked for."""
        return {}

    def residual_tests(self, max_lag: int = MAX_LAG) -> list[ResidualTest]:
        """Whether the residuals of the MAP model still hold something; all lags to 25."""
        first, data = self.max_lag, self.data_to_test
        inputs = {
            name: [record[first:, i] for record in data.inputs]
            for i, name in enumerate(data.names.inputs)
        }
        outputs = [record[first:] for record in data.outputs]
        return residual_tests(self.residuals_to_test, outputs, inputs, max_lag)

    @cached_property
    def _stretches(self) -> list[tuple[int, int, int]] | None:
        lengths = [len(record) - self.max_lag for record in self.data.records]
        return spread(lengths, TESTED) if is_long(sum(lengths)) else None

    @cached_property
    def data_to_test(self) -> Dataset:
        """The fitted data that tests look at, each record with the samples that seed it.

        All of them; of long records 32 stretches at even distances, which together have some
        million samples: smaller correlations than these show are of no practical size.
        """
        if self._stretches is None:
            return self.data
        return self.data.stretches([(i, a, b + self.max_lag) for i, a, b in self._stretches])

    @property
    def residuals_to_test(self) -> list[Float1D]:
        """The residuals of `data_to_test`, as they are where all data are run."""
        if self._stretches is None:
            return self.residuals()
        return [self.residuals()[i][a:b] for i, a, b in self._stretches]

    def draw_models(self, n: int = 100, seed: int | None = 0) -> list[Model]:
        """Models drawn at random from the posterior: structure, coefficients and noise together.

        Of a stacked one (`stack_chains`) each is from a chain drawn by its weight.
        """
        return list(self._models(self._choose(n, seed)))

    def _choose(self, n: int, seed: int | None) -> Int1D:
        """Numbers of draws, at random."""
        require_count("n", n)
        rng = make_generator(seed)
        if self.draw_weight is None:
            return np.asarray(rng.integers(len(self), size=int(n)))
        return np.asarray(rng.choice(len(self), size=int(n), p=self.draw_weight))

    def _models(self, chosen: Sequence[int] | Int1D) -> Iterator[Model]:
        draws, catalogue = self.draws, self._catalogue[0]
        structures = {s: self.encoding.structure(catalogue[s]) for s in draws.structure[chosen]}
        for i in chosen:
            theta = draws.theta[draws.offset[i] : draws.offset[i + 1]]
            yield self._fitted(structures[draws.structure[i]], theta, float(draws.noise_sd[i]))

    def simulate(
        self,
        u: Any,
        y_init: Any = None,
        draws: int = 100,
        seed: int | None = 0,
        quantiles: Sequence[float] = BANDS,
        n_jobs: int | None = None,
    ) -> Prediction:
        """Free run of models drawn from the posterior, each with fresh noise of its own scale.

        The noise is fed back at every step, or lies on top of the run, as the objective has it.

        A `Dataset` seeds every draw with the first `max_lag` samples of its own output:
        ``posterior.simulate(test)``. Of bare inputs, `y_init` has so many samples to start from;
        without it, every draw starts at rest. The mean, the bands and the share of diverged draws
        come back in a `Prediction`. It does not depend on `n_jobs`, the number of threads.
        """
        self._require_rate(u)
        inputs, several = as_inputs(u, self.data.names)
        seeds = as_seeds(u, y_init, self.data.names.output, self.max_lag)
        prediction = self.simulate_records(inputs, seeds, draws, seed, quantiles, n_jobs)
        return prediction if several else prediction.lone

    def simulate_records(
        self,
        inputs: Sequence[Float2D],
        seeds: Sequence[Float1D] | None,
        draws: int = 100,
        seed: int | None = 0,
        quantiles: Sequence[float] = BANDS,
        n_jobs: int | None = None,
    ) -> Prediction:
        """As `simulate`, of arrays that are known to be good: one of each per record."""
        drawn, noise_seed = self.drawn(draws, seed, sum(map(len, inputs)))
        if seeds is None:
            # Else each would start at its own lag, and the first bands mix rest and noise.
            seeds = [np.full(self.max_lag, self.scaling.offset[-1])] * len(inputs)
        is_fed_back = self.objective.is_fed_back
        return run_records(drawn, inputs, seeds, noise_seed, quantiles, n_jobs, is_fed_back)

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
        self._require_rate(u)
        inputs, outputs, several = measured_pair(self.data.names, u, y)
        prediction = self.predict_records(
            inputs, outputs, steps_ahead, draws, seed, quantiles, n_jobs
        )
        return prediction if several else prediction.lone

    def predict_records(
        self,
        inputs: Sequence[Float2D],
        outputs: Sequence[Float1D],
        steps_ahead: int = 1,
        draws: int = 100,
        seed: int | None = 0,
        quantiles: Sequence[float] = BANDS,
        n_jobs: int | None = None,
    ) -> Prediction:
        """As `predict`, of arrays that are known to be good: one of each per record."""
        drawn, noise_seed = self.drawn(draws, seed, sum(map(len, outputs)))
        return predict_records(
            drawn, inputs, outputs, steps_ahead, self.max_lag, noise_seed, quantiles, n_jobs
        )

    def drawn(self, draws: int, seed: int | None, n_samples: int) -> tuple[list[Drawn], int | None]:
        """Models to run on so many samples, with their noise, and a seed of its own for that."""
        require_count("draws", draws)
        require_room(draws, n_samples)
        chosen = self._choose(draws, seed)
        drawn = map(Drawn, self._models(chosen), self.draws.rho[chosen])
        return list(drawn), None if seed is None else seed + 1

    def chain(self, number: int) -> Self:
        """The posterior of one chain alone."""
        if number not in self.chain_numbers:
            raise AdjoinError(f"there is no chain {number}; there are {list(self.chain_numbers)}")
        if number not in self._chains:
            trace = self.traces[self.chain_numbers.index(number)]
            self._chains[number] = replace(
                self, traces=(trace,), chain_numbers=(number,), weights=None
            )
        return self._chains[number]

    @cached_property
    def _chains(self) -> dict[int, Self]:
        """Those that were asked for, by number; one that is alone is itself."""
        return {self.chain_numbers[0]: self} if self.n_chains == 1 else {}

    def validation_errors(self, u: Any, y: Any = None) -> dict[int, float]:
        """The free-run RMSE of each chain's own MAP model; infinite where it diverges."""
        inputs, outputs, _ = measured_pair(self.data.names, u, y)
        return {
            number: free_run_error(self.chain(number).map_model, inputs, outputs, self.max_lag)
            for number in self.chain_numbers
        }

    def select_chain(self, u: Any, y: Any = None) -> Self:
        """The posterior of the chain whose MAP model has the smallest free-run error on (u, y).

        Chains with the same structure differ there by rounding only; of those within a thousandth
        of the smallest error, the one that is surest of its structure is taken. Use validation
        data, never the test set.
        """
        return self._best_chain(self.validation_errors(u, y))

    def _best_chain(self, errors: Mapping[int, float]) -> Self:
        """Of chains with these errors by number, the one to take."""
        least = min(errors.values())
        chains = [self.chain(n) for n, error in errors.items() if error <= _TIE * least]
        return max(chains, key=lambda chain: float(chain.structures["mass"].iloc[0]))

    @cached_property
    def selected(self) -> Self:
        """The chain that the held-out data select; this posterior where there are none."""
        held_out = self.held_out
        if held_out is None or self.n_chains == 1:
            return self
        self.require_signals(held_out, "validation")
        runs = {number: self.chain(number).free_run(held_out) for number in self.chain_numbers}
        return self._best_chain(
            {n: run_error(held_out.outputs, run, self.max_lag) for n, run in runs.items()}
        )

    @cached_property
    def alternatives(self) -> tuple[Alternatives, ...]:
        """Groups of terms that stand in for each other; see `adjoin.results.alternatives`."""
        return find_alternatives(self)

    @property
    def shared_terms(self) -> tuple[str, ...]:
        """The terms that are in at least 99 % of the draws of every chain."""
        shares = zip(self.term_keys, self.inclusion_by_chain.min(axis=1), strict=True)
        keys = [key for key, share in shares if share >= CERTAIN]
        return tuple(term_text(self.encoding.term(key)) for key in keys)

    def masses(self, of: Collection, rank: int = 0) -> tuple[float, ...]:
        """What each chain here gives the structure that has that place in `of`; 0 if nothing."""
        try:
            number = self.number_of(of.structure(rank))
        except AdjoinError:  # drawn in another run
            return (0.0,) * self.n_chains
        return tuple(map(float, self.mass_by_chain(number)))

    def stack_chains(self, u: Any, y: Any = None) -> Self:
        """The same draws with chains weighted such that together they predict (u, y) best.

        Where chains found different equations, none of which is best everywhere, taking one of
        them (`select_chain`) wastes the others, and all of them alike (this posterior) lets the
        poor ones in. `weights_` has the weights; `adjoin.results.stacking` says how they are found,
        by free runs of 100 draws of each chain. Models, predictions, `structures`, `terms`,
        `inclusion`, `coefficients` and `noise` are by weight, and a saved run keeps it. `draws`,
        diagnostics, pictures of densities and what goes to ArviZ show the chains as they are. Use
        validation data, never the test set.
        """
        inputs, outputs, _ = measured_pair(self.data.names, u, y)
        return self._stacked_by(inputs, outputs)

    def _stacked_by(self, inputs: Sequence[Float2D], outputs: Sequence[Float1D]) -> Self:
        if self.n_chains == 1:
            return replace(self, weights={self.chain_numbers[0]: 1.0})
        chains = [self.chain(number) for number in self.chain_numbers]
        weight = stack_members(chains, inputs, outputs, self.max_lag).weight.tolist()
        return replace(self, weights=dict(zip(self.chain_numbers, weight, strict=True)))

    @cached_property
    def stacked(self) -> Self:
        """The chains weighted by the held-out data; this posterior where there are none.

        Nor are chains weighted again that have their weights.
        """
        held_out = self.held_out
        if held_out is None or self.n_chains == 1 or self.weights is not None:
            return self
        self.require_signals(held_out, "validation")
        return self._stacked_by(held_out.inputs, held_out.outputs)

    def with_held_out(self, data: Dataset) -> Self:
        """The same posterior with data that were kept back: a report selects a chain by them."""
        return replace(self, run=replace(self.run, held_out=data))

    def _require_rate(self, given: Any) -> None:
        """Refuse a data set of another sampling time; bare arrays do not say theirs."""
        if isinstance(given, Dataset):
            require_step(given.sampling_time, self.data.sampling_time, "given")

    def require_signals(self, data: Dataset, what: str) -> None:
        """Refuse data of other signals, and records too short to be scored."""
        given, expected = (", ".join(d.names.ordered[:-1]) for d in (data, self.data))
        if given != expected:
            raise AdjoinError(
                f"the {what} data have the signals {given}, but the run is of {expected}"
            )
        require_step(data.sampling_time, self.data.sampling_time, what)
        data.require_window(self.max_lag)
