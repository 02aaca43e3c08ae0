"""`discover`: the whole way from data to an answer, and `Discovery`, what it ends with.

Receives data and what a user allows; holds out (``folds``), looks how far back to go (``lags``),
grows models for all candidates (``scan``), compares their held-out free runs (``ranking``), and
fits the winner to all data.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoin.checks import require_count, require_seed
from adjoin.data.dataset import Dataset
from adjoin.data.readers import read_data
from adjoin.discovery.average import N_BEST, NEAR, Average, distance
from adjoin.discovery.folds import Fold, make_folds
from adjoin.discovery.lags import ORDERS, far_lags
from adjoin.discovery.ranking import Candidate, beats, best_few, choose, rank
from adjoin.discovery.refit import refit
from adjoin.discovery.scan import N_BLOCKS, Path, block_errors, grow, scan, variance
from adjoin.discovery.settings import LINEAR, Effort, Setting, make_settings, read_effort
from adjoin.discovery.verdict import Findings, judge
from adjoin.errors import AdjoinError
from adjoin.grammar import Structure
from adjoin.grammar.library import Functions
from adjoin.identifier import Identifier
from adjoin.inference.forward import PREDICTION
from adjoin.inference.moves import Moves
from adjoin.model import Model
from adjoin.posterior import Posterior
from adjoin.results.advice import Verdict
from adjoin.results.assessment import Assessment, assess

if TYPE_CHECKING:
    import pandas as pd

_LONG = 5_000  # samples, beyond which a fold less tells as much


@dataclass(frozen=True, eq=False, repr=False)
class Discovery:
    """What was tried, what won, and what it is worth.

    Parameters
    ----------
    candidates : tuple of Candidate
        All that were compared, best held-out free run first.
    chosen : Candidate or None
        The simplest that is as good as the best; None where nothing is better than the mean of the
        output.
    posterior : Posterior
        Coefficients and noise of the chosen equation, fitted to all data.
    trial : Assessment
        The same equation fitted without one fold, and held against it.
    average : Average
        The best candidates together, fitted to all data; the first is the chosen one.
    folds : tuple of Fold
    findings : Findings
        What is said of the comparison.
    settings, timing : dict
    """

    candidates: tuple[Candidate, ...]
    chosen: Candidate | None
    posterior: Posterior
    trial: Assessment[Posterior]
    average: Average
    folds: tuple[Fold, ...]
    findings: Findings
    settings: dict[str, Any]
    timing: dict[str, float]

    def __repr__(self) -> str:
        return f"Discovery({self.verdict.summary}: {self.model.equation})"

    @property
    def model(self) -> Model:
        """The equation, fitted to all data."""
        return self.posterior.map_model

    @property
    def equation(self) -> str:
        """The equation as text."""
        return self.model.equation

    @property
    def verdict(self) -> Verdict:
        """What it is worth: held-out free runs first."""
        return self.findings.verdict

    def simulate(self, u: Any, y_init: Any = None) -> Any:
        """The mean of the best candidates' free runs; a `Dataset` seeds itself."""
        return self.average.simulate(u, y_init)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The best size of every setting, best first."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "setting": one.setting.words,
                    "n_terms": one.n_terms,
                    "held_out_nmse": one.nmse,
                    "sd": one.sd,
                    "n_lost": one.n_lost,
                    "chosen": one is self.chosen,
                }
                for one in best_by_setting(self.candidates, self.chosen)
            ]
        )

    @property
    def plain_candidates(self) -> list[dict[str, Any]]:
        """The rows of `table` as plain values."""
        shown = best_by_setting(self.candidates, self.chosen)
        return [one.plain | {"chosen": one is self.chosen} for one in shown]


def best_by_setting(candidates: Sequence[Candidate], chosen: Candidate | None) -> list[Candidate]:
    """Of every setting its best size, in the order of the ranking; and the chosen one."""
    found: dict[Setting, Candidate] = {}
    for one in candidates:
        if one is chosen or one.setting not in found:
            found[one.setting] = one
    return sorted(found.values(), key=candidates.index)


def discover(
    data: Dataset | str | os.PathLike[str],
    inputs: str | Iterable[str] | None = None,
    output: str | None = None,
    *,
    validation: float | None = None,
    max_lag: int | None = None,
    max_degree: int | None = None,
    functions: Functions = (),
    initial: str | None = None,
    effort: str = "normal",
    seed: int = 0,
    n_jobs: int | None = None,
    observe: Callable[[str], None] | None = None,
) -> Discovery:
    """Compare many ways to model the data on held-out free runs, and fit the best to all of them.

    Candidates differ in what is made small (the error of free runs, or of predictions one step
    ahead), in lags, degree and size, and in whether signals are taken as deviations from their
    means; linear models of all lags are among them. Each is fitted without a part of the data, fold
    after fold, and its free run there decides.

    Parameters
    ----------
    data : Dataset, or path
        As `adjoin.read_data` and `Dataset.from_arrays` give it, or a file to read.
    inputs, output : str
        Columns of a file, as for `adjoin.read_data`.
    validation : float, optional
        Hold out this last share of every record. Default: whole records in turn where there are at
        least three, else stretches of time in turn.
    max_lag, max_degree : int, optional
        Bounds of what is tried. Default: lags up to 10, beyond where linear models gain by it;
        degree 3.
    functions : sequence of str, optional
        Functions that may be in the equation, such as ``"abs"`` or ``"hinge"``.
    initial : str, optional
        Known terms of every model, such as ``"u(k)*abs(u(k)) + udot(k)"``.
    effort : {"quick", "normal", "thorough"}
        How much is tried.
    seed : int
        The result is a function of data, arguments and seed.
    n_jobs : int, optional
        How many candidates are worked out at a time. Default: one per core.
    observe : callable, optional
        Told, in words, what is being done.
    """
    begin = time.perf_counter()
    if isinstance(data, str | os.PathLike):
        data = read_data(data, inputs, output)
    elif inputs is not None or output is not None:
        raise AdjoinError("inputs and output are columns of a file; a Dataset has its signals")
    work = _Work(data, read_effort(effort), functions, initial, seed, n_jobs, observe)
    for name, bound in (("max_lag", max_lag), ("max_degree", max_degree)):
        if bound is not None:
            require_count(name, bound)
    folds = work.hold_out(validation, max_lag)
    paths = work.compare(folds, max_lag, max_degree)
    ranked = rank(paths, variance(data))
    chosen, average = work.settle(ranked, folds)
    posterior, trial = work.sample(chosen, average.models[0], folds)
    findings = judge(ranked, chosen, folds, trial, _apart(average, data))
    settings = {
        "effort": effort,
        "validation": validation,
        "max_lag": max_lag,
        "max_degree": max_degree,
        "functions": list(work.function_names),
        "initial": initial,
        "seed": seed,
        "folds": [fold.words for fold in folds],
        "n_candidates": len(ranked),
        "n_averaged": len(average),
    }
    timing = {"scan_s": work.scan_s, "total_s": time.perf_counter() - begin}
    return Discovery(
        tuple(ranked), chosen, posterior, trial, average, folds, findings, settings, timing
    )


class _Work:
    """What all steps share."""

    def __init__(
        self,
        data: Dataset,
        effort: Effort,
        functions: Functions,
        initial: str | None,
        seed: int,
        n_jobs: int | None,
        observe: Callable[[str], None] | None,
    ) -> None:
        if not isinstance(data, Dataset):
            raise AdjoinError(
                f"discover needs a Dataset, as adjoin.read_data gives, not {data!r:.60}"
            )
        data.require_variation()
        require_seed(seed)
        self.data, self.effort, self.seed, self.n_jobs = data, effort, seed, n_jobs
        self.function_names = (
            tuple(part.strip() for part in functions.split(",") if part.strip())
            if isinstance(functions, str)
            else tuple(functions)
        )
        given = {"functions": self.function_names, "initial": initial}
        self.known: dict[str, Any] = {name: value for name, value in given.items() if value}
        self.say = observe or (lambda words: None)
        self.n_seed, self.scan_s = 1, 0.0

    def hold_out(self, validation: float | None, max_lag: int | None) -> tuple[Fold, ...]:
        """The folds; runs are scored from the same sample on for all candidates."""
        longest = max(map(len, self.data.records))
        self.n_seed = min(max_lag or ORDERS[-1], max(longest // 20, 2))
        n_folds = self.effort.n_folds - (self.data.n_samples > _LONG)
        return make_folds(self.data, self.n_seed, max(n_folds, 2), validation)

    def compare(
        self, folds: tuple[Fold, ...], max_lag: int | None, max_degree: int | None
    ) -> list[Path]:
        """Held-out errors of all candidates."""
        begin = time.perf_counter()
        most = min(max_lag or ORDERS[-1], self.n_seed)
        paths = []
        if not self.known:
            self.say("linear models of all lags")
            whole = Setting(LINEAR, most, 1, False, 0)
            paths += scan([whole], folds, self.n_seed, {}, self.seed, 1)
            paths = [path for path in paths if path.n_terms]
        far = self._far(paths[0]) if paths else ()
        settings = make_settings(
            self.effort,
            len(self.data.names.inputs),
            len(self.function_names),
            far,
            None if max_lag is None and most >= self.effort.lags[-1] else most,
            max_degree,
            may_center=not self.known,
        )
        if not settings:
            raise AdjoinError("nothing is left to be tried; allow a larger max_lag or max_degree")
        best, n_done, total = math.inf, 0, len(settings)
        scale = variance(self.data)

        def tell(path: Path) -> None:
            nonlocal best, n_done
            n_done += 1
            best = min(best, 100.0 * float(path.error.mean(axis=(1, 2)).min()) / scale)
            found = f"; the best misses {best:.3g} % of the variance" if best < math.inf else ""
            self.say(f"{n_done} of {total} model classes{found}")

        self.say(f"0 of {total} model classes")
        paths += scan(settings, folds, self.n_seed, self.known, self.seed, self.n_jobs, tell)
        self.scan_s = time.perf_counter() - begin
        return paths

    def _far(self, linear: Path) -> tuple[int, ...]:
        """Lags beyond the usual ones that linear models gain from."""
        per_lag = 1 + len(self.data.names.inputs)
        errors = {
            (size - per_lag) // per_lag: float(error.mean())
            for size, error in zip(linear.n_terms, linear.error, strict=True)
        }
        return far_lags(errors, self.effort.lags[-1])

    def settle(
        self, ranked: list[Candidate], folds: Sequence[Fold]
    ) -> tuple[Candidate | None, Average]:
        """Which candidate is the answer, and the best ones fitted to all data, that one first.

        The best few are grown on all data, and their terms are held against every fold again; the
        larger of both errors counts.
        """
        if not beats(ranked[0], _mean_errors(folds, self.n_seed)):
            return None, Average((self._mean(),))
        kept = best_few(ranked, N_BEST)
        self.say(f"fitting the best {len(kept)} to all data")
        paths: dict[Setting, dict[int, Model]] = {}
        for setting in dict.fromkeys(one.setting for one in kept):
            paths[setting] = grow(setting, self.data, self.known, self.seed)
        models = {one: _of_size(paths[one.setting], one.n_terms) for one in kept}
        again = [self._again(one, models[one], folds) for one in kept]
        second = sorted(again, key=lambda one: (one.n_lost, one.nmse, one.n_terms))
        chosen = choose(second)
        order = sorted(zip(again, kept, strict=True), key=lambda pair: second.index(pair[0]))
        order.sort(key=lambda pair: pair[0] is not chosen)
        ranked[:] = [*second, *(one for one in ranked if one not in models)]
        near = [before for again, before in order if again.nmse <= NEAR * second[0].nmse]
        return chosen, Average(tuple(models[before] for before in near))

    def _again(self, one: Candidate, model: Model, folds: Sequence[Fold]) -> Candidate:
        """A candidate with the larger of two errors.

        That of what was grown without a fold, and that of these terms fitted without it.
        """
        errors = [
            block_errors(refit(model, fold.fitted, one.setting), fold.held_out, self.n_seed)
            for fold in folds
        ]
        return one.with_error(np.maximum(one.error, np.array(errors)), variance(self.data))

    def _mean(self) -> Model:
        """The mean of the output, and nothing else."""
        outputs = np.concatenate(self.data.outputs)
        constant = Structure(((),), self.data.names)
        return Model(constant, (float(outputs.mean()),), float(outputs.std()))

    def sample(
        self, chosen: Candidate | None, model: Model, folds: Sequence[Fold]
    ) -> tuple[Posterior, Assessment[Posterior]]:
        """Coefficients and noise of the chosen terms: of all data, and without one fold."""
        self.say("sampling coefficients and noise of the chosen equation")
        fold = _middle(chosen, folds)
        everything = self._sampled(chosen, model, self.data, None)
        without = self._sampled(chosen, model, fold.fitted, fold.held_out)
        return everything, assess(without)

    def _sampled(
        self, chosen: Candidate | None, model: Model, data: Dataset, held_out: Dataset | None
    ) -> Posterior:
        structure = model.structure
        is_run = chosen is not None and chosen.setting.objective not in (PREDICTION, LINEAR)
        identifier = Identifier(
            objective="simulation" if is_run else "prediction",
            max_lag=max(model.max_lag, 1),
            max_degree=max(structure.max_degree, 1),
            initial=str(structure),
            functions=self.function_names,
            center=chosen is not None and chosen.setting.center,
            moves=Moves.fixed(),
            search={"candidates": 0, "rungs": 1},
            samples=self.effort.samples,
            chains=2,
            seed=self.seed,
            n_jobs=self.n_jobs,
            progress=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # chains that are left out are in the diagnostics
            return identifier.fit(data, held_out=held_out).posterior_


def _of_size(models: dict[int, Model], n_terms: int) -> Model:
    """The model of that size, or the largest below it, as paths may end early."""
    return models[max([size for size in models if size <= n_terms] or [min(models)])]


def _middle(chosen: Candidate | None, folds: Sequence[Fold]) -> Fold:
    """The fold that was neither easy nor hard for the chosen candidate."""
    if chosen is None:
        return folds[-1]
    order = np.argsort(chosen.error.mean(axis=1), kind="stable")
    return folds[int(order[len(order) // 2])]


def _mean_errors(folds: Sequence[Fold], n_seed: int) -> np.ndarray:
    """What the mean of the fitted output misses, as `scan.block_errors` does."""
    found = []
    for fold in folds:
        mean = np.concatenate(fold.fitted.outputs).mean()
        squared = np.concatenate([(y[n_seed:] - mean) ** 2 for y in fold.held_out.outputs])
        found.append([block.mean() for block in np.array_split(squared, N_BLOCKS)])
    return np.array(found)


def _apart(average: Average, data: Dataset) -> float | None:
    """How far the equation's free run is from the average, in standard deviations of the output."""
    if len(average) < 2:
        return None
    seeds = [output[: average.n_seed] for output in data.outputs]
    own = average.models[0].free_response(data.inputs, seeds).series
    together = average.runs(data.inputs, seeds)
    size = float(np.std(np.concatenate(data.outputs)))
    found = distance(own, together, size)
    return found if math.isfinite(found) else None
