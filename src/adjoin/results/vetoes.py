"""What forbids to call a run good although its chains agree: chains can agree on nothing.

Receives a `Collection`; gives `Objection`, to ``diagnose`` for the verdict on the chains and to the
assessment for the one on the run. Both look at the reported equation on the fitted data:

- *nothing is explained*: the one-step error is at least 90 % of the output's variance. It is *poor*
  where an input or the output's own past still predicts the output, *caution* where the output
  looks like noise: then to find nothing is right, and no good run either;
- *an input is left over*: an input, or its square, up to twice the window and ten samples ago,
  predicts at least 5 % of the residual (``leftover``); *poor* where it predicts half of it and that
  is a tenth of the output's variance, else *caution*;
- *the simulation explains nothing*: it misses at least 90 % of the variance, or runs away;
  *caution* here, as one step ahead the equation may be right, and asked of systems with inputs
  only. What a simulation is worth as such is a question of its own (``answers``).

With the likelihood off nothing was to be explained, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjoin.blocks import moments
from adjoin.grammar import Atom
from adjoin.inference.objective import Residual
from adjoin.levels import CAUTION, POOR
from adjoin.results.collection import Collection
from adjoin.results.leftover import Leftover, find_leftover
from adjoin.results.objections import SILENT, Objection
from adjoin.results.scoring import errors_of
from adjoin.text import counted, percent

NOTHING = 90.0
"""Percent of the output's variance: an error of so much explains nothing."""
_BEYOND = 10  # samples further than twice the window that an input is looked at
_MOST_OF = 0.5  # of the residual: what predicts so much is no small thing left over
_MUCH = 10.0  # percent of the output's variance

_MORE = "draw more samples"
_AUTO = "let samples='auto' look at all lags"
_FAR_LAGS = "give far lags their share: Prior(lag_uniform=0.5)"
_OTHER_TERMS = "a larger max_degree, another input or a function may help"


def vetoes(posterior: Collection, asks_free_run: bool = True) -> tuple[Objection, ...]:
    """All that forbids it, the worst first; `asks_free_run`: what the simulation says too."""
    if posterior.power == 0.0:
        return ()
    share = errors_of(posterior.data.outputs, posterior.one_step(posterior.data), posterior.max_lag)
    left = left_of_inputs(posterior)
    found: list[Objection] = []
    if share.nmse is not None and share.nmse >= NOTHING:
        found.append(_on_nothing(posterior, share.nmse, left))
    else:
        found += _on_leftover(posterior, left)
        found += _on_free_run(posterior) if asks_free_run else ()
    return tuple(found)


def left_of_inputs(posterior: Collection) -> Leftover | None:
    """What the inputs still predict of the residuals, if that is clear."""
    names = posterior.data.names.inputs
    if not moments(posterior.residuals())[1] > SILENT * moments(posterior.data.outputs)[1]:
        return None  # what rounding leaves; NaN where the simulation that was fitted is lost
    residuals, data = posterior.residuals_to_test, posterior.data_to_test
    inputs = {n: [r[:, i] for r in data.inputs] for i, n in enumerate(names)}
    lags = range(2 * posterior.max_lag + _BEYOND + 1)
    found = find_leftover(residuals, inputs, posterior.max_lag, lags)
    return found if found is not None and found.is_clear else None


def left_of_own_past(posterior: Collection) -> Leftover | None:
    """What the output's own past predicts of it, if that is clear."""
    first, name = posterior.max_lag, posterior.data.names.output
    outputs = posterior.data_to_test.outputs
    later = [record[first:] for record in outputs]
    found = find_leftover(later, {name: outputs}, first, range(1, first + 1), powers=(1,))
    return found if found is not None and found.is_clear else None


def _on_nothing(posterior: Collection, share: float, left: Leftover | None) -> Objection:
    """An equation that predicts no better than the mean does."""
    is_empty = not len(posterior.map_model.structure)
    what = "the equation is empty" if is_empty else "the equation explains next to nothing"
    error = f"{what}: its one-step error is {share:.3g} % of the output's variance"
    short = "nothing was found" if is_empty else "the equation explains nothing"
    if left is not None:
        reason = f"{error}, of which {_sentence(posterior, left)}"
        return Objection(POOR, short, reason, _remedy(posterior, left))
    own = left_of_own_past(posterior)
    if own is not None:
        reason = (
            f"{error}, of which its own past predicts {percent(own.share, 0)} (most at lag"
            f" {own.lag})"
        )
        return Objection(POOR, short, reason, f"{_MORE}; {_OTHER_TERMS}")
    inputs = posterior.data.names.inputs
    unrelated = " unrelated to the inputs" if inputs else ""
    noise = f"the output looks like noise{unrelated}"
    if is_empty:
        short, reason = f"nothing found: {noise}", f"nothing found: {noise} ({error})"
    else:
        reason = f"{error}; beyond that {noise}"
    check = "check that the inputs are those that act on the output, at the same times"
    window = f"max_lag={2 * posterior.max_lag + _BEYOND} looks further back"
    advice = f"{check}; {window}" if inputs else window
    return Objection(CAUTION, short, reason, advice, is_said_first=True)


def _on_leftover(posterior: Collection, left: Leftover | None) -> Iterator[Objection]:
    """Residuals that follow an input."""
    if left is None:
        return
    data, n_seed = posterior.data, posterior.max_lag
    measured = [record[n_seed:] for record in data.outputs]
    missed = 100.0 * (moments(posterior.residuals())[1] / moments(measured)[1]) ** 2
    level = POOR if left.share >= _MOST_OF and missed >= _MUCH else CAUTION
    yield Objection(
        level,
        f"what is left still follows {left.words}",
        f"the residual follows an input: {_sentence(posterior, left)}",
        _remedy(posterior, left),
    )


def _on_free_run(posterior: Collection) -> Iterator[Objection]:
    """A simulation on the fitted data that is no better than their mean."""
    if not posterior.data.names.inputs or posterior.objective.residual is Residual.FREE_RUN:
        return
    run = errors_of(posterior.data.outputs, posterior.free_run(posterior.data), posterior.max_lag)
    if run.rmse is not None and (run.nmse is None or run.nmse < NOTHING):
        return
    how = "runs away" if run.rmse is None else f"misses {run.nmse:.3g} % of their variance"
    yield Objection(
        CAUTION,
        "its simulation explains nothing",
        f"one step ahead the equation does, but its simulation on the fitted data {how}",
        "judge models by their simulation (objective='simulation')",
    )


def _sentence(posterior: Collection, left: Leftover) -> str:
    """What predicts the residual, how much of it, and how late."""
    late = f"about {counted(left.lag, 'sample')} later" if left.lag else "at once"
    beyond = f", beyond max_lag={posterior.max_lag}" if left.lag > posterior.max_lag else ""
    return f"{left.words} predicts {percent(left.share, 0)}, {late}{beyond}"


def _remedy(posterior: Collection, left: Leftover) -> str:
    """What to do: a longer window, more samples, or other terms."""
    if left.lag > posterior.max_lag:
        return (
            f"raise max_lag: the residual follows {left.signal} about {left.lag} samples later"
            f" (max_lag={left.lag + max(2, left.lag // 4)})"
        )
    term = (Atom(left.signal, left.lag),) * left.power
    if term not in posterior.map_model.structure.terms:
        more = _MORE if posterior.settings.is_auto else _AUTO
        return f"{more}, or {_FAR_LAGS}" if left.lag > 1 else more
    return f"{_MORE}; {_OTHER_TERMS}"
