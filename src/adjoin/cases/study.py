"""Runs a case: fits every setup, selects a chain by validation, and only then scores on the test.

Receives a `Plan`; gives a `Study`, whose rows are plain values and the series that pictures need.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from adjoin.cases.case import Case, case_of
from adjoin.cases.described import describe_study
from adjoin.cases.learning import Point, learn
from adjoin.cases.outcome import NOISE, Parameter, Row, Series, Study, coefficients_by_term
from adjoin.cases.scoring import (
    Score,
    free_run,
    score_free_run,
    score_one_step,
    score_run,
    share_within,
)
from adjoin.cases.setups import Plan, Setup
from adjoin.cases.white_box import fit_white_box
from adjoin.datasets import Benchmark
from adjoin.errors import AdjoinError, CheckpointError, DivergenceWarning
from adjoin.grammar.equation import term_text
from adjoin.inference.checkpoint import Checkpoint, keep
from adjoin.inference.runner import Snapshot
from adjoin.model import Model
from adjoin.posterior import Posterior
from adjoin.threads import n_workers

_SECONDS = "seconds"


class Step(NamedTuple):
    """Where a study stands: what is at work, how much of it is done; a setup ends with its row.

    The learning curve, where there is one, has the number after the last setup's.
    """

    number: int
    label: str
    share: float
    row: Row | None = None


Watcher = Callable[[Step], None]


def run_study(
    plan: Plan,
    watch: Watcher = lambda step: None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Study:
    """Run every setup of a plan; one that cannot be run becomes a row that says why.

    Ctrl-C ends it with the rows that are done; with none it is raised. In a folder called
    `checkpoint` all chains are kept: the same study goes on from there, and ends with the same
    numbers, but for seconds.
    """
    begin = time.perf_counter()
    case = case_of(plan)
    setups, official_setups = case.setups(plan), case.official_setups(plan)
    benchmark = case.benchmark(plan)
    official = case.make_official(plan) if official_setups else None
    white = _white_box(benchmark)  # what it refuses would be refused by most setups, but later
    work: list[tuple[Setup, Benchmark]] = [(setup, benchmark) for setup in setups]
    if official is not None:
        work += [(setup, official) for setup in official_setups]
    rows: list[Row] = []
    curve: list[Point] = []
    is_complete = True
    with keep(checkpoint, partial(describe_study, plan, benchmark), plan.seed) as kept:
        try:
            for number, (setup, data) in enumerate(work):
                place = kept.within(f"setup-{number}")
                rows.append(_run(case, plan, number, setup, data, watch, place))
                watch(Step(number, setup.label, 1.0, rows[-1]))
            for points in _learn(case, plan, len(work), watch, kept):
                curve += points
        except KeyboardInterrupt:
            if not rows:
                raise
            is_complete = False
    return Study(
        plan,
        benchmark,
        tuple(rows[: len(setups)]),
        white,
        official,
        tuple(rows[len(setups) :]),
        time.perf_counter() - begin,
        is_complete,
        tuple(curve),
    )


def _learn(
    case: Case, plan: Plan, number: int, watch: Watcher, kept: Checkpoint
) -> Iterator[list[Point]]:
    """The learning curve, seed by seed."""
    curve, seeds = case.curve(plan), case.curve_seeds(plan)
    for i, seed in enumerate(seeds):
        assert curve is not None
        label = f"learning curve, data set {i + 1} of {len(seeds)}"
        watch(Step(number, label, i / len(seeds)))
        data = case.make_benchmark(replace(plan, seed=seed))
        yield list(learn(curve, plan, seed, data, kept))
        watch(Step(number, label, (i + 1) / len(seeds)))


def _run(
    case: Case,
    plan: Plan,
    number: int,
    setup: Setup,
    benchmark: Benchmark,
    watch: Watcher,
    place: Checkpoint,
) -> Row:
    """Fit, select, and then look at the test sets."""
    done = [0] * plan.n_chains

    def observe(snapshot: Snapshot) -> None:
        done[snapshot.chain] = snapshot.n_samples
        watch(Step(number, setup.label, sum(done) / (plan.n_chains * setup.samples)))

    watch(Step(number, setup.label, 0.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DivergenceWarning)  # scores and shares of draws say it
        try:
            fitted = _fit(plan, setup, benchmark, observe, place)
            row = _scored(setup, fitted, benchmark, case.n_draws)
        except CheckpointError:  # it is no fault of the setup, and all others would have it too
            raise
        except AdjoinError as error:
            row = Row(setup, error=str(error))
    return replace(row, notes=tuple(dict.fromkeys(str(warning.message) for warning in caught)))


class _Fitted(NamedTuple):
    all_chains: Posterior
    selected: Posterior
    validation: float
    seconds: float


def _fit(
    plan: Plan,
    setup: Setup,
    benchmark: Benchmark,
    observe: Callable[[Snapshot], None],
    place: Checkpoint | None = None,
) -> _Fitted:
    """The posterior, and the chain that validation selects; no test set is within reach."""
    place = place or Checkpoint()
    train, validation = benchmark.train, benchmark.validation
    assert validation is not None
    if setup.n_train is not None:
        train = train[: setup.n_train]
    given = (benchmark.initial, plan.n_chains, plan.seed, plan.n_jobs, observe)
    identifier = setup.identifier(*given, checkpoint=place)
    begin = time.process_time()
    all_chains = identifier.fit(train).posterior_
    spent = time.process_time() - begin
    if not identifier.is_complete_:
        raise KeyboardInterrupt  # half a chain is no result to hold against the paper's
    selected = all_chains.select_chain(validation)
    error = score_free_run(selected.map_model, validation, all_chains.max_lag).rmse
    # What other programs take does not count, nor does compiling: the smaller has only one of them.
    cores = n_workers(plan.n_jobs, plan.n_chains)
    taken = cores * (all_chains.timing["total_s"] - all_chains.timing["compile_s"])
    seconds = _kept_seconds(place, min(spent, taken) / plan.n_chains)
    return _Fitted(all_chains, selected, math.inf if error is None else error, seconds)


def _kept_seconds(place: Checkpoint, seconds: float) -> float:
    """Of a fit that was finished before and has only been read, what it took then."""
    found = place.read(_SECONDS)
    if found is None:
        found = {"seconds": np.array([seconds])}
        place.write(_SECONDS, found)
    return float(found["seconds"][0])


def _scored(setup: Setup, fitted: _Fitted, benchmark: Benchmark, n_draws: int) -> Row:
    all_chains, selected = fitted.all_chains, fitted.selected
    chains = [all_chains.chain(number) for number in all_chains.chain_numbers]
    n_seed, test = all_chains.max_lag, benchmark.test
    scores = {
        name: {
            "selected_map": score_free_run(selected.map_model, data, n_seed),
            "pooled_map": score_free_run(all_chains.map_model, data, n_seed),
        }
        for name, data in benchmark.tests.items()
    }
    prediction = selected.simulate(test.u, test.y[:n_seed], n_draws)
    pooled = all_chains.simulate(test.u, test.y[:n_seed], n_draws)
    scores[next(iter(benchmark.tests))] |= {
        "selected_fwd": score_run(test, prediction.mean, n_seed),
        "pooled_fwd": score_run(test, pooled.mean, n_seed),
    }
    masses = list(_truth_masses(chains, benchmark))
    return Row(
        setup,
        seconds=fitted.seconds,
        selected_chain=selected.chain_numbers[0],
        n_chains=all_chains.n_chains,
        validation=fitted.validation,
        scores=scores,
        one_step=score_one_step(selected.map_model, test, n_seed),
        n_terms=float(np.median([np.median(chain.draws.size) for chain in chains])),
        n_recovered=sum(is_mode for is_mode, _ in masses) if masses else None,
        mass=float(np.mean([mass for _, mass in masses])) if masses else None,
        coverage=prediction.coverage(test.y),
        coverage_3_sigma=share_within(test.y, prediction, n_seed),
        diverged=prediction.diverged,
        pooled_diverged=pooled.diverged,
        power=all_chains.power,
        equation=selected.map_model.format(None),
        parameters=tuple(_parameters(setup, selected, benchmark)),
        is_given_truth=_truth_number(selected, benchmark) is not None,
        series=Series(test.y, free_run(selected.map_model, test, n_seed), prediction, n_seed),
    )


def _truth_number(posterior: Posterior, benchmark: Benchmark) -> int | None:
    """The number that draws have for the true structure; None if unknown or never visited."""
    if benchmark.truth is None:
        return None
    try:
        return posterior.number_of(benchmark.truth.structure)
    except AdjoinError:
        return None


def _truth_masses(
    chains: Sequence[Posterior], benchmark: Benchmark
) -> Iterator[tuple[bool, float]]:
    """For each chain whether its most frequent structure is the truth, and the truth's mass."""
    if benchmark.truth is None:
        return
    for chain in chains:
        number = _truth_number(chain, benchmark)
        mass = 0.0 if number is None else float(np.mean(chain.draws.structure == number))
        yield number == chain.number_of(0), mass


def _parameters(setup: Setup, selected: Posterior, benchmark: Benchmark) -> Iterator[Parameter]:
    truth: dict[str, float] = dict(benchmark.constants)
    fixed = set(map(term_text, selected.grammar.alphabet.fixed))
    frame: Any = None
    if setup.initial_mode == "joint" and benchmark.initial is not None:
        frame = selected.terms[selected.terms["term"].isin(fixed)]
    elif benchmark.truth is not None:
        truth = coefficients_by_term(benchmark.truth)
        if _truth_number(selected, benchmark) is not None:
            frame = selected.coefficients(benchmark.truth.structure)
    if frame is None:
        frame = selected.coefficients(0)
    for row in frame.to_dict("records"):
        mean, sd, low, high = (float(row[name]) for name in ("mean", "sd", "q025", "q975"))
        # Fitted before, and kept: there is no posterior.
        if setup.initial_mode == "residual" and row["term"] in fixed:
            sd = low = high = math.nan
        yield Parameter(row["term"], mean, sd, low, high, truth.get(row["term"]))
    noise = selected.noise
    has_spread = selected.objective.has_likelihood  # else the tolerance implies it
    yield Parameter(
        NOISE,
        float(noise["mean"]),
        float(noise["sd"]) if has_spread else math.nan,
        float(noise["q025"]) if has_spread else math.nan,
        float(noise["q975"]) if has_spread else math.nan,
        # Where no model of the class is the truth, residuals hold more than the sensor's noise.
        benchmark.noise_sd if benchmark.truth is not None else None,
    )


def _white_box(benchmark: Benchmark) -> tuple[Model, Score] | None:
    """The known physics alone, and its error."""
    model = fit_white_box(benchmark)
    if model is None:
        return None
    return model, score_free_run(model, benchmark.test, benchmark.n_seed)
