"""The steps of a discovery, one after the other, and what they share.

Receives data and what a user allows; `discovery.discover` takes the steps: `Work.hold_out`,
`Work.compare`, `Work.settle`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Bool1D
from adjoin.checks import require_seed
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.discovery.folds import Fold, make_folds
from adjoin.discovery.grown import grow_for
from adjoin.discovery.kept import Kept
from adjoin.discovery.lags import ORDERS, far_lags
from adjoin.discovery.posteriors import Drawn, agrees, choose_settings, draw, sample
from adjoin.discovery.quiet import GivenTerms
from adjoin.discovery.ranking import (
    NEAR,
    Candidate,
    beats,
    best_few,
    choose,
    order,
    rank,
    still_growing,
)
from adjoin.discovery.scan import N_BLOCKS, Path, scan, variance
from adjoin.discovery.second_look import Look, larger, look_again, telling
from adjoin.discovery.settings import LINEAR, Effort, Setting, make_settings
from adjoin.discovery.workers import Workers
from adjoin.errors import AdjoinError
from adjoin.grammar import Structure
from adjoin.grammar.library import Functions
from adjoin.grammar.terms import exponents
from adjoin.inference.forward import PREDICTION
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.model import Model
from adjoin.posterior import Posterior
from adjoin.results.average import Average
from adjoin.results.discovered import HARDLY

_N_BEST = 10  # candidates that are looked at twice and averaged, at most
_LONG = 5_000  # samples, beyond which a fold less tells as much
_WIDE = 10.0  # times the largest coefficient


class Settled(NamedTuple):
    """What was chosen, the best together, and posteriors of all data and without one fold.

    `best` is what the chosen one was held against: the best path of those that were looked at
    twice. `trial` has `fold` as held-out data.
    """

    ranked: list[Candidate]
    best: Candidate | None
    chosen: Candidate | None
    average: Average
    posterior: Posterior
    trial: Posterior
    fold: Fold


class Work:
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
        self.data, self.effort, self.seed = data, effort, seed
        self.workers = Workers(n_jobs)
        self.function_names = (
            tuple(part.strip() for part in functions.split(",") if part.strip())
            if isinstance(functions, str)
            else tuple(functions)
        )
        given = {"functions": self.function_names, "initial": initial}
        self.known: dict[str, Any] = {name: value for name, value in given.items() if value}
        self.say = observe or (lambda words: None)
        self.n_seed, self.scale = 1, variance(data)
        self.kept = Kept()

    def hold_out(self, validation: float | None, max_lag: int | None) -> tuple[Fold, ...]:
        """The folds; runs are scored from the same sample on for all candidates."""
        longest = max(map(len, self.data.records))
        self.n_seed = min(max_lag or ORDERS[-1], max(longest // 20, 2))
        n_folds = self.effort.n_folds - (self.data.n_samples > _LONG)
        return make_folds(self.data, self.n_seed, max(n_folds, 2), validation)

    def compare(
        self, folds: tuple[Fold, ...], max_lag: int | None, max_degree: int | None
    ) -> list[Candidate]:
        """All models of all paths, best held-out error first."""
        most = min(max_lag or ORDERS[-1], self.n_seed)
        paths = []
        if not self.known:
            self.say("linear models of all lags")
            whole = Setting(LINEAR, most, 1, False, 0)
            paths += scan([whole], folds, self.n_seed, {}, self.seed, self.workers, None, self.kept)
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

        def tell(path: Path) -> None:
            nonlocal best, n_done
            n_done += 1
            best = min(best, 100.0 * float(path.error.mean(axis=(1, 2)).min()) / self.scale)
            found = f"; the best misses {best:.3g} % of the variance" if best < math.inf else ""
            self.say(f"{n_done} of {total} settings{found}")

        self.say(f"0 of {total} settings")
        how = (self.n_seed, self.known, self.seed, self.workers, tell, self.kept)
        paths += scan(settings, folds, *how)
        ranked = rank(paths, self.scale)
        growing = still_growing(ranked, self.effort.n_longer)
        if not growing:
            return ranked
        longer = [replace(one, max_terms=2 * one.max_terms) for one in growing]
        total += len(longer)
        self.say(f"{n_done} of {total} settings; {len(longer)} of them with larger models")
        paths = [path for path in paths if path.setting not in growing]
        return rank(paths + scan(longer, folds, *how), self.scale)

    def _far(self, linear: Path) -> tuple[int, ...]:
        """Lags beyond the usual ones that linear models gain from."""
        per_lag = 1 + len(self.data.names.inputs)
        errors = {
            (size - per_lag) // per_lag: float(error.mean())
            for size, error in zip(linear.n_terms, linear.error, strict=True)
        }
        return far_lags(errors, self.effort.lags[-1])

    def settle(self, ranked: list[Candidate], folds: Sequence[Fold]) -> Settled:
        """Which candidate is the answer, and the best ones fitted to all data.

        The best few are grown on all data, and their terms are held against every fold again; the
        larger of both errors counts. The best settings get posteriors of structures; one that does
        as well as the best of the paths is preferred, as it says how sure its terms are.
        """
        if not beats(ranked[0], _mean_errors(folds, self.n_seed)):
            posterior, trial = self._fixed(None, self._mean(), folds)
            average = Average((posterior.map_model,))
            fold = folds[_middle(None, folds)]
            return Settled(ranked, None, None, average, posterior, trial, fold)
        kept = best_few(ranked, _N_BEST)
        self.say(f"fitting the best {len(kept)} to all data")
        settings = list(dict.fromkeys(one.setting for one in kept))

        def models(setting: Setting) -> dict[int, Model]:
            return grow_for(self.workers, setting, self.data, self.known, self.seed)

        found = self.workers.each(models, settings, "grow")
        paths = dict(zip(settings, found, strict=True))
        grown = {one: _of_size(paths[one.setting], one.n_terms) for one in kept}
        looks = {one: self._look(one, model, folds) for one, model in grown.items()}
        tells = telling(looks.values())
        again = {
            self._again(one, looks[one], tells, len(model.theta)): model
            for one, model in grown.items()
        }
        drawn = self._draw(ranked, folds)
        best = min(again, key=order)
        sampled, posteriors = self._preferred(drawn, best, folds, tells)
        paths_once = [one for one in ranked if one not in grown]
        everything = sorted([*again, *posteriors, *paths_once], key=order)
        if sampled is not None:
            candidate, posterior, trial = sampled
            near = _near(again, candidate)
            draws = posterior.draw_models(_N_BEST - 1, self.seed)
            average = Average((posterior.map_model, *draws, *near))
            fold = folds[_middle(candidate, folds)]
            return Settled(everything, best, candidate, average, posterior, trial, fold)
        chosen = choose(sorted(again, key=order))
        posterior, trial = self._fixed(chosen, again[chosen], folds)
        average = Average((posterior.map_model, *_near(again, chosen, but=chosen)))
        fold = folds[_middle(chosen, folds)]
        return Settled(everything, best, chosen, average, posterior, trial, fold)

    def _look(self, one: Candidate, model: Model, folds: Sequence[Fold]) -> Look:
        return look_again(model, one.setting, self.data, folds, self.n_seed, self.workers)

    def _again(self, one: Candidate, look: Look, tells: Bool1D, n_terms: int) -> Candidate:
        """A candidate with the larger of two errors, where the second look tells something."""
        error = larger(one.error, look.error, tells)
        return one.with_error(error, look.fitted, n_terms, self.scale)

    def _draw(self, ranked: Sequence[Candidate], folds: Sequence[Fold]) -> list[Drawn]:
        settings = choose_settings(ranked, self.effort, self.data.n_samples)
        settings = tuple(setting for setting in settings if setting.max_lag <= self.n_seed)

        def tell(n_done: int, total: int) -> None:
            self.say(f"posteriors of the best settings: {n_done} of {total}")

        if not settings:
            return []
        tell(0, len(settings) * len(folds))
        return draw(
            settings,
            folds,
            self.data,
            self.n_seed,
            self.effort,
            self.known,
            self.seed,
            self.workers,
            tell,
            self.kept,
        )

    def _preferred(
        self, drawn: Sequence[Drawn], best: Candidate, folds: Sequence[Fold], tells: Bool1D
    ) -> tuple[tuple[Candidate, Posterior, Posterior] | None, list[Candidate]]:
        """The best posterior, fitted to all data, if it does as well as the best of the paths.

        And all posteriors as candidates, with the larger error where there was a second look: one
        that fell short there must not stand in a table as if it were better than the chosen one.
        """
        found = {one: one.candidate for one in drawn}
        for one in sorted(drawn, key=lambda one: order(one.candidate)):
            if not _is_as_good(one.candidate, best, agree=True):  # they may, with all data
                break
            self.say("the posterior of the chosen setting")
            setting = one.candidate.setting
            how = (self.effort, self.known, self.seed, self.workers, self.kept)
            posterior = sample(setting, self.data, None, *how)
            model = posterior.map_model
            look = self._look(one.candidate, model, folds)
            candidate = self._again(one.candidate, look, tells, len(model.theta))
            found[one] = candidate
            if _is_as_good(candidate, best, agrees(posterior)):
                trial = one.posteriors[_middle(candidate, folds)]
                return (candidate, posterior, trial), [*found.values()]
        return None, [*found.values()]

    def _mean(self) -> Model:
        """The mean of the output, and nothing else."""
        outputs = np.concatenate(self.data.outputs)
        constant = Structure(((),), self.data.names)
        return Model(constant, (float(outputs.mean()),), float(outputs.std()))

    def _fixed(
        self, chosen: Candidate | None, model: Model, folds: Sequence[Fold]
    ) -> tuple[Posterior, Posterior]:
        """Coefficients and noise of the chosen terms: of all data, and without one fold."""
        self.say("sampling coefficients and noise of the chosen equation")
        fold = folds[_middle(chosen, folds)]
        everything = self._sampled(chosen, model, self.data, None)
        return everything, self._sampled(chosen, model, fold.fitted, fold.held_out)

    def _sampled(
        self, chosen: Candidate | None, model: Model, data: Dataset, held_out: Dataset | None
    ) -> Posterior:
        structure, center = model.structure, chosen is not None and chosen.setting.center
        is_run = chosen is not None and chosen.setting.objective not in (PREDICTION, LINEAR)
        identifier = GivenTerms(
            objective="simulation" if is_run else "prediction",
            max_lag=max(model.max_lag, 1),
            max_degree=max(structure.max_degree, 1),
            initial=str(structure),
            functions=self.function_names,
            center=center,
            prior=_wide_prior(model, data, center),
            moves=Moves.fixed(),
            search={"candidates": 0, "rungs": 1},
            samples=self.effort.samples,
            chains=2,
            seed=self.seed,
            n_jobs=self.workers.n_jobs,
            scheduler=self.workers.executor,
            progress=False,
            checkpoint=self.kept.place("fixed", [str(structure), model.theta, is_run], data),
        )
        identifier.guess = model.theta
        return identifier.fit(data, held_out=held_out).posterior_


class Clock:
    """Seconds since it was made, and since it was last asked."""

    def __init__(self) -> None:
        self._begin = self._last = time.perf_counter()

    def lap(self) -> float:
        """Since it was last asked."""
        last, self._last = self._last, time.perf_counter()
        return self._last - last

    @property
    def total(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self._begin


def _wide_prior(model: Model, data: Dataset, center: bool) -> Prior:
    """One that leaves the coefficients of given terms to the data.

    They were fitted without a prior, and are large where terms are nearly collinear; the default
    prior would draw them to zero, and the equation away from the one that was compared.
    """
    scaling = Scaling.from_dataset(data, center, scale=True)
    units = [scaling.coefficient_factor(exponents(term)) for term in model.structure]
    largest = max(np.abs(np.array(model.theta) / units), default=0.0)
    return replace(Prior(), coefficient_sd=max(1.0, _WIDE * float(largest)))


def _is_as_good(one: Candidate, best: Candidate, agree: bool) -> bool:
    """Whether a posterior does as well as the best path.

    Where its chains agree it may miss a little more, that nobody would notice: it says how sure
    each term is. Where they do not, it says nothing of the kind.
    """
    return math.isfinite(one.nmse) and one.nmse <= (HARDLY if agree else 1.0) * best.nmse


def _near(
    again: dict[Candidate, Model], best: Candidate, but: Candidate | None = None
) -> list[Model]:
    """The models that are nearly as good as the chosen one, best first."""
    found = [one for one in sorted(again, key=order) if one.nmse <= NEAR * best.nmse]
    return [again[one] for one in found if one is not but]


def _of_size(models: dict[int, Model], n_terms: int) -> Model:
    """The model of that size, or the largest below it, as paths may end early."""
    return models[max([size for size in models if size <= n_terms] or [min(models)])]


def _middle(chosen: Candidate | None, folds: Sequence[Fold]) -> int:
    """The fold that was neither easy nor hard for the chosen candidate."""
    if chosen is None:
        return len(folds) - 1
    ascending = np.argsort(chosen.error.mean(axis=1), kind="stable")
    return int(ascending[len(ascending) // 2])


def _mean_errors(folds: Sequence[Fold], n_seed: int) -> np.ndarray:
    """What the mean of the fitted output misses, as `scan.block_errors` does."""
    found = []
    for fold in folds:
        mean = np.concatenate(fold.fitted.outputs).mean()
        squared = np.concatenate([(y[n_seed:] - mean) ** 2 for y in fold.held_out.outputs])
        found.append([block.mean() for block in np.array_split(squared, N_BLOCKS)])
    return np.array(found)
