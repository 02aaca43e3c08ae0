"""`Identifier`: from measured input and output to a posterior over equations, in one call.

Receives what the user passes; wires data, grammar, scaling, prior, engine and runner together.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any, Self, cast

import numpy as np

from adjoin.cluster.connection import Scheduler
from adjoin.cluster.executor import executor_of
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar import Grammar
from adjoin.grammar.library import Functions
from adjoin.inference.arguments import check_fit
from adjoin.inference.centring import N_CHAINS, choose_scaling, has_means, make_engines
from adjoin.inference.checkpoint import Checkpoint, keep
from adjoin.inference.described import describe_run
from adjoin.inference.engine import Engine
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.estimator import Estimator, not_fitted
from adjoin.inference.kept_chains import keep_chains
from adjoin.inference.ladder import Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.prior import STANDARD, Prior
from adjoin.inference.problem import Problem
from adjoin.inference.progress import compiling, watching
from adjoin.inference.runner import Observer, Sampled, run_chains, warm_up
from adjoin.inference.search import Search
from adjoin.inference.settings import RESIDUAL, RUNAWAY, RunSettings
from adjoin.inference.stages import AUTO, PILOT
from adjoin.model import Model
from adjoin.posterior import Posterior
from adjoin.results.pilot import LONGEST, run_pilot
from adjoin.results.power import REMEDY, PowerEstimate
from adjoin.results.prediction import measured_pair, run_against
from adjoin.results.run import Run
from adjoin.results.run_settings import make_settings
from adjoin.results.staged import run_stages
from adjoin.scores import fit_index
from adjoin.threads import n_workers

_MEGABYTE = 2**20
_PILOT_KEY = 2**32 - 1  # of a seed that no chain has


class Identifier(Estimator):
    """Discover the equation of a dynamical system, and how sure it is.

    Parameters
    ----------
    objective : {"prediction", "simulation", "abc"}
        What a model is judged by: ``"prediction"`` (or ``"osa"``), its one-step-ahead residuals;
        ``"simulation"`` (or ``"output-error"``), the likelihood of its free run with noise on the
        measured output; ``"abc"``, how near its free run comes to it, as the paper has it: of its
        `samples` the first half anneals a ladder of tolerances.
    grammar : Grammar, optional
        Which equations can be said. Default: polynomial NARX of the data's signals.
    max_lag, max_degree : int
        Largest delay, and largest number of factors in a term, of the default grammar.
    past_noise : bool
        Whether the default grammar has past noise ``e(k-1)``, … too (NARMAX); of predictions only.
    expected_terms : float
        λ_t, about how many terms to expect before seeing data.
    samples : int or "auto"
        How many samples each chain draws. ``"auto"`` draws in stages, with more and more means to
        get from one structure to another, until the chains agree; the last stage that is no control
        is the result.
    max_samples : int, optional
        With ``samples="auto"``: the most that a chain draws in all stages together. Default:
        500,000, and fewer where chains still find structures so much better that the rest would
        not make them agree.
    time_limit : float, optional
        With ``samples="auto"``: no stage is begun that would probably end later than so many
        seconds after the first. A result that this ended is not a function of the seed alone, and
        says so.
    search : mapping, optional
        With ``objective="prediction"`` and a number of samples: informed moves and tempering, such
        as ``{"candidates": 512, "rungs": 12}``; see `adjoin.inference.search.Search`. Default: the
        nine moves alone; ``samples="auto"`` chooses. With ``"simulation"``: the rungs alone.
    burn_in : float
        The share of each chain's records that is left out of the posterior. With
        ``objective="abc"`` a chain records nothing while it anneals.
    thin : int
        Every n-th sample is recorded.
    chains : int
        How many chains.
    seed : int, optional
        The result is a function of it and the data. None: a new one every time.
    prior : {"default", "paper"} or Prior
        Hyperparameters. ``"default"`` does not depend on units; ``"paper"`` is the printed tables.
    center, scale : bool, optional
        Whether signals are centred and scaled inside; models come back in the user's units either
        way. Scaling never changes a model: inside a function that does not scale, such as ``sin``,
        a signal keeps its unit. Default: on with the default prior and off with the paper's.
        Centring makes another polynomial of it. Default: with the default prior, two short runs
        decide whether deviations from the means explain the data better than the raw signals, by
        their best posterior, whatever the objective and the seed; off with the paper's prior, with
        fixed initial terms and with functions.
    initial : str, optional
        Fixed terms of every model (a grey box): ``"u(k)*abs(u(k)) + udot(k)"``.
    initial_mode : {"joint", "residual"}
        How: ``"joint"`` learns their coefficients with the rest (the paper's Method 3);
        ``"residual"`` fits the fixed terms by least squares first, keeps these coefficients, and
        learns further terms on what is left (Method 2).
    functions : str, sequence of str, or mapping of signal to those
        Functions that the default grammar may put around a signal: ``"abs"``, ``"sin, cos"``.
        ``"hinge"`` is for shapes that bend, such as saturation and dead zone: ``pos(x - c)``, the
        larger of x - c and 0, with knots c at quantiles of the training data. By signal:
        ``{"u": "hinge", "y": "abs"}``.
    knots : int
        How many knots each signal has with ``functions="hinge"``: at the quantiles i/(knots + 1).
    likelihood_power : float or "auto"
        w: the likelihood counts to this power. 1: residuals are taken as independent. Residuals of
        a real rig are not, and then 1 is too sure of itself; ``"auto"`` estimates w from the
        autocorrelation of the residuals of a short first run, or says why it does not. 0 samples
        the prior.
    rule : {"default", "paper"}
        With ``objective="abc"``: where the tolerance ends up, and how coefficients are proposed.
        ``"default"`` knows about noise and is guided by free-run fits; ``"paper"`` is as printed.
    distance : callable, optional
        With ``objective="abc"``: a function of the simulated and the measured output of a record,
        instead of the normalised mean square error in percent; see `adjoin.distances`.
    ladder : mapping or adjoin.Ladder, optional
        With ``objective="abc"``: settings of the tolerance ladder that differ from the defaults,
        such as ``{"rungs": 8, "tolerance": 1.5}``.
    noise : {"white", "ar", "ar2"}
        With ``objective="simulation"``: what is left between the free run and the measured output.
        ``"white"`` is sensor noise; ``"ar"`` and ``"ar2"`` are autoregressive of order 1 and 2,
        with coefficients that are sampled, for what else disturbs a rig.
    horizon : int, optional
        With ``objective="simulation"``: free runs begin anew from the measured output after so many
        samples, such as 10, 50 or 250: between predictions one step ahead, and None, runs through
        whole records. For systems whose long runs drift or are chaotic.
    runaway : float
        A free run is lost from the first sample that is more than so many half-widths away from the
        middle of the range of the fitted output. Lost runs are never accepted by a free-run
        objective, have no score, and are left out of means and bands, which say how many they are.
        ``math.inf``: only runs beyond all numbers (1e100) are lost.
    moves : mapping of str to float, optional
        Probabilities of the nine moves, by name; default the paper's.
    n_jobs : int, optional
        How many chains run at a time. Default: one per core. The result does not depend on it.
    memory_mb : int
        Most memory for tables of inner products of all running chains; what they record beyond it
        goes to temporary files.
    progress : bool or callable, optional
        Whether to show progress bars; default: if standard error is a terminal. A callable gets a
        `adjoin.inference.runner.Snapshot` now and then from each chain.
    checkpoint : str or path, optional
        A folder, new or of an earlier call, where chains are saved every few seconds. The same fit
        with the same checkpoint goes on from there, and ends as if it had never been stopped; other
        data or settings are refused. It stays there, so that a fit that was done is read from it.
    warm_start : bool
        Whether a fit with more samples goes on with the chains of a `checkpoint` that has fewer.
    scheduler : str or dask.distributed.Client, optional
        Of a Dask cluster, whose workers draw the chains: its address, or a client. The result does
        not depend on it. Needs ``pip install 'adjoin[dask]'``.

    Attributes
    ----------
    posterior_ : Posterior
        What was found.
    model_ : Model
        Its MAP model.
    grammar_ : Grammar
        The grammar that was used, fixed terms included.
    seed_ : int
        The seed that was used.
    is_complete_ : bool
        False if it was interrupted; the posterior then is what there was, of the chains that had
        something to show.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : array of str
        The columns of the frame that the inputs were passed in, as they stand there; only then.
    scaling_ : Scaling
        From the user's units to those of the fit.
    """

    def __init__(
        self,
        objective: str = "prediction",
        grammar: Grammar | None = None,
        max_lag: int = 10,
        max_degree: int = 4,
        expected_terms: float = 5.0,
        samples: int | str = 30_000,
        burn_in: float = 0.5,
        thin: int = 5,
        chains: int = 4,
        seed: int | None = None,
        prior: str | Prior = "default",
        center: bool | None = None,
        scale: bool | None = None,
        initial: str | None = None,
        initial_mode: str = "joint",
        n_jobs: int | None = None,
        progress: bool | Observer | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        functions: Functions = (),
        likelihood_power: float | str = 1.0,
        moves: Mapping[str, float] | Moves | None = None,
        memory_mb: int = 512,
        rule: str = "default",
        distance: Callable[..., float] | None = None,
        ladder: Mapping[str, Any] | Ladder | None = None,
        runaway: float = RUNAWAY,
        knots: int = 3,
        search: Mapping[str, Any] | Search | None = None,
        max_samples: int | None = None,
        time_limit: float | None = None,
        noise: str = "white",
        horizon: int | None = None,
        past_noise: bool = False,
        warm_start: bool = False,
        scheduler: Scheduler = None,
    ) -> None:
        self.objective = objective
        self.grammar = grammar
        self.max_lag = max_lag
        self.max_degree = max_degree
        self.expected_terms = expected_terms
        self.samples = samples
        self.burn_in = burn_in
        self.thin = thin
        self.chains = chains
        self.seed = seed
        self.prior = prior
        self.center = center
        self.scale = scale
        self.initial = initial
        self.initial_mode = initial_mode
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.functions = functions
        self.likelihood_power = likelihood_power
        self.moves = moves
        self.memory_mb = memory_mb
        self.rule = rule
        self.distance = distance
        self.ladder = ladder
        self.runaway = runaway
        self.knots = knots
        self.search = search
        self.max_samples = max_samples
        self.time_limit = time_limit
        self.noise = noise
        self.horizon = horizon
        self.past_noise = past_noise
        self.warm_start = warm_start
        self.scheduler = scheduler

    def fit(self, u: Any, y: Any = None, held_out: Dataset | None = None) -> Self:
        """Learn the posterior of equations from input and output.

        Parameters
        ----------
        u : (n,) or (n, n_inputs) array, DataFrame, Dataset, or a list of arrays or frames
            The inputs; column names become signal names, a list means several records. None for an
            autonomous system.
        y : (n,) array, Series, or a list of them
            The output; not needed with a `Dataset`.
        held_out : Dataset, optional
            Data that were kept back: they are not fitted, but go with the posterior, to choose a
            chain by and to be scored on.
        """
        begin = time.perf_counter()
        params = self.get_params()
        engine_class, data, grammar, prior = check_fit(params, self._parameters(), u, y, held_out)
        described = partial(describe_run, "fit", params, data, held_out)
        with (
            keep(self.checkpoint, described, self.seed, self.warm_start) as checkpoint,
            executor_of(self.scheduler) as executor,
        ):
            posterior, compile_s, sampling_s = self._sample(
                engine_class, data, grammar, prior, held_out, checkpoint, executor
            )
        total_s = time.perf_counter() - begin
        timing = {"compile_s": compile_s, "sampling_s": sampling_s, "total_s": total_s}
        self.grammar_ = grammar
        self.scaling_ = posterior.run.scaling
        self.seed_ = int(posterior.settings.seed or 0)
        self.is_complete_ = posterior.settings.is_complete
        self._note_features(u, data.names.inputs)
        self.posterior_ = replace(posterior, run=replace(posterior.run, timing=timing))
        self.model_ = self.posterior_.map_model
        return self

    def check(self, u: Any, y: Any = None, held_out: Dataset | None = None) -> None:
        """Refuse, before anything is computed, arguments and data that `fit` would refuse."""
        check_fit(self.get_params(), self._parameters(), u, y, held_out)

    def _sample(
        self,
        engine_class: type[Engine],
        data: Dataset,
        grammar: Grammar,
        prior: Prior,
        held_out: Dataset | None,
        checkpoint: Checkpoint,
        executor: Executor | None,
    ) -> tuple[Posterior, float, float]:
        """The posterior, and the seconds that compiling and sampling took."""
        scaling, gain = self._scaling(data, grammar, prior, checkpoint, executor)
        is_residual, runaway = self.initial_mode == RESIDUAL, float(self.runaway)
        problem = Problem(data, grammar.alphabet, scaling, is_residual, runaway)
        if problem.is_residual and not len(problem.pinned):
            raise AdjoinError("initial_mode='residual' needs terms to fit first; pass initial='…'")
        engine = self._engine(engine_class, problem, prior)
        with compiling(engine.kernel, self.progress):
            compile_s = warm_up(engine)
        seed = np.random.SeedSequence(checkpoint.entropy)
        estimate = None
        if self.likelihood_power == "auto":
            estimate = self._estimate_power(engine, grammar, seed, checkpoint, executor)
            engine = self._engine(engine_class, problem, prior, likelihood_power=estimate.power)
        run = partial(self._run, checkpoint, executor)

        def gather(engine: Engine, sampled: Sampled, n_samples: int) -> Posterior:
            """What one set of chains has to say."""
            kept = keep_chains(sampled, engine_class, self.chains, n_samples)
            goes_on = "" if checkpoint.path is None else f"; '{checkpoint.path}' goes on from there"
            for sentence in kept.notes:
                self._note(sentence if sampled.is_complete else f"{sentence}{goes_on}")
            given = self.get_params() | {"seed": checkpoint.entropy}
            settings = make_settings(given, self._parameters(), engine, grammar, estimate)
            settings = replace(
                settings,
                center_gain=gain,
                samples=n_samples,
                is_complete=sampled.is_complete,
                left_out=kept.left_out,
            )
            made = Run(grammar, problem, settings, {}, held_out)
            return Posterior(tuple(kept.traces.values()), made, tuple(kept.traces))

        if self.samples == AUTO:
            searching = cast(PredictionEngine, engine)  # the arguments were checked for it
            staged = run_stages(searching, seed, run, gather, self.max_samples, self.time_limit)
            return staged[0], compile_s, staged[1]
        n_samples = int(self.samples)
        sampled = run(engine, n_samples, seed)
        return gather(engine, sampled, n_samples), compile_s, sampled.seconds

    def _run(
        self,
        checkpoint: Checkpoint,
        executor: Executor | None,
        engine: Engine,
        n_samples: int,
        seed: np.random.SeedSequence,
        title: str = "chain",
    ) -> Sampled:
        part = checkpoint.part(title.replace(", ", "-").replace(" ", "-"))
        with watching(self.progress, self.chains, n_samples, title) as observer:
            return run_chains(
                engine, self.chains, n_samples, seed, self.n_jobs, observer, executor, part
            )

    def _engine(
        self, engine: type[Engine], problem: Problem, prior: Prior, **changed: Any
    ) -> Engine:
        """The engine with this object's arguments, but for those that are `changed`."""
        given = {name: getattr(self, name) for name in engine.options} | changed
        if given.get("likelihood_power") == "auto":
            given["likelihood_power"] = 1.0
        if "search" in given:
            given["search"] = Search.read(given["search"], engine.default_search)
        n_samples = LONGEST if self.samples == AUTO else int(self.samples)
        return engine(
            problem=problem,
            prior=prior,
            moves=Moves.read(self.moves),
            samples=n_samples,
            burn_in=float(self.burn_in),
            thin=int(self.thin),
            table_bytes=self.memory_mb * _MEGABYTE // n_workers(self.n_jobs, self.chains),
            **{engine.options[name]: value for name, value in given.items()},
        )

    def _scaling(
        self,
        data: Dataset,
        grammar: Grammar,
        prior: Prior,
        checkpoint: Checkpoint,
        executor: Executor | None,
    ) -> tuple[Scaling, float | None]:
        """Scale if the prior is about standard units; centre where that is better.

        Also by how much it is better, in nats, where nobody said what to do and the signals have
        means. Known terms and functions are of the signals as they are, and keep them.
        """
        alphabet, is_standard = grammar.alphabet.without_noise, prior.units == STANDARD
        is_plain = not len(alphabet.fixed) and {c.function for c in alphabet.choices} == {""}
        scale = is_standard if self.scale is None else bool(self.scale)
        is_open = self.center is None and is_standard and is_plain and has_means(data)
        if not is_open:
            return Scaling.from_dataset(data, bool(self.center), scale), None
        search = PILOT if self.samples == AUTO else Search()  # luck with a far lag decides nothing
        table_bytes = self.memory_mb * _MEGABYTE // n_workers(self.n_jobs, N_CHAINS)
        moves = Moves.read(self.moves)
        engines = make_engines(data, alphabet, scale, prior, moves, search, table_bytes)
        progress = None if callable(self.progress) else self.progress  # one's own is for the rest
        return choose_scaling(data, scale, *engines, self.n_jobs, progress, checkpoint, executor)

    def _estimate_power(
        self,
        engine: Engine,
        grammar: Grammar,
        seed: np.random.SeedSequence,
        checkpoint: Checkpoint,
        executor: Executor | None,
    ) -> PowerEstimate:
        """The power, from the residuals of a short first run."""
        own_seed = np.random.SeedSequence(seed.entropy, spawn_key=(_PILOT_KEY,))
        settings = RunSettings(
            engine.objective,
            initial_mode=self.initial_mode,
            prior=engine.prior,
            runaway=engine.problem.runaway,
        )
        # A caller's own observer is for the run that counts.
        progress = None if callable(self.progress) else self.progress
        n_samples = LONGEST if self.samples == AUTO else int(self.samples)
        how = (self.chains, n_samples, self.n_jobs, progress, checkpoint, executor)
        found = run_pilot(engine, grammar, settings, own_seed, *how)
        if found.is_refused:
            self._note(f"likelihood_power='auto': {found.note}; {REMEDY}")
        return found

    def _fitted(self) -> Model:
        if not hasattr(self, "posterior_"):
            raise not_fitted("this Identifier has learned nothing yet; call fit(u, y) first")
        return self.model_

    def predict(self, u: Any, y: Any = None, steps_ahead: int = 1) -> Any:
        """Predict from measured outputs up to `steps_ahead` samples before, by the MAP model."""
        model = self._fitted()
        inputs, outputs, several = measured_pair(model.names, u, y)
        found = model.predict(inputs, outputs, steps_ahead)
        return found if several else found[0]

    def simulate(self, u: Any, y_init: Any = None) -> Any:
        """Free run of the MAP model, seeded by `y_init`, or by the first outputs of a Dataset."""
        return self._fitted().simulate(u, y_init)

    def score(self, u: Any, y: Any = None) -> float:
        r"""The fit index of the MAP model's free run, 100·(1 - RMSE/σ_y); 100 is perfect.

        The first ``max_lag`` samples of each record seed the run and are not scored.
        """
        model = self._fitted()
        inputs, outputs, _ = measured_pair(model.names, u, y)
        return fit_index(*run_against(model, inputs, outputs, self.posterior_.max_lag))
