"""Inputs and output together: delay, feedback, swapped columns, an output among the inputs.

Correlations are of what the past of a signal does not predict (prewhitened), so that slow signals
do not seem related because both are slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.checking.excitation import is_narrow
from adjoin.data.checking.finding import Evidence, Finding
from adjoin.data.checking.sampling import held
from adjoin.data.checking.series import (
    Signal,
    cross_correlation,
    filtered,
    independent,
    n_lags,
    noise_floor,
    past,
    products,
    residual,
    self_filter,
    signals,
)
from adjoin.data.dataset import Dataset
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.text import counted

_SEEN = 5.0
"""Standard errors of a correlation that is there: with 200 lags, one in 10,000 by chance."""
_ONSET = 0.25
"""The delay ends with the first correlation of this share of the largest."""
_STRONG = 0.1
"""A correlation that tells the delay; what is seen but weaker may be anything both depend on."""
_MOST_DELAY = 100  # samples
_MAX_LAG = 10  # what a fit looks at by default
_PREDICTED = 1e-4
"""Share of a signal that its own past leaves: with less, it is a sine or nearly so, and everything
can be told from anything."""
_COPY, _DELAYED_COPY = 1e-5, 1e-2
"""What an input may leave unexplained of the output and still be it. A system that passes its input
on has noise, 50 dB at best; an input that lags behind the output can only be made of it."""
_AS_IT_IS = np.ones(1)  # a filter that does nothing
_REACH = 20  # lags at which a copy is looked for
_FEW = 100  # rows, with which such claims are not made
_SWAPPED, _NOT_SWAPPED = 0.05, 0.02
"""What the past of the output predicts of an input, and at most the input's of the output, beyond
their own pasts, where columns are swapped. A causal system has it the other way round."""
_JUMP = 0.05
"""Of the range: a quantised sensor takes smaller steps."""
_FEWEST = 5  # levels of a command
_NOISELESS = 1e-7
"""Share of a spectrum's peak that is left near half the sampling rate. A sensor has 1e-6 or more; a
command, written with 12 bits, less where it is slow."""
_SHALLOW = 1e-2  # of the variance: where signals are whitened no deeper than 20 dB
_OWN = 3  # times as many lags of an input itself: what is band-limited goes on being told by them
_FEEDBACK = 0.05
"""What the past of the output predicts of an input, where there is feedback worth speaking of."""
_SURE = 1e-6  # of the F tests behind both: the chance that there is nothing


def find_relations(data: Dataset) -> Iterator[Finding]:
    """Everything about inputs and output together."""
    *inputs, output = signals(data)
    inputs = [signal for signal in inputs if np.ptp(signal.pooled) > 0]
    if not np.ptp(output.pooled) > 0 or not inputs:
        return
    copies = {signal.name: _copy(signal, output) for signal in inputs}
    for signal in inputs:
        if (lag := copies[signal.name]) is not None:
            yield _leak(signal, output, lag)
    others = [signal for signal in inputs if copies[signal.name] is None]
    if not others or data.n_samples < _FEW or held(output) > 1:
        return  # with rows written several times, the past seems to tell everything
    order = n_lags(data)
    gains = [_gains(i, others, output, order) for i in range(len(others))]
    if (told := _find_swapped(others, output, gains)) is not None:
        yield told
        return
    for signal, gain in zip(others, gains, strict=True):
        # what is nearly a sine can be told from anything that rings with it
        if gain is not None and gain.backward > _FEEDBACK and not is_narrow(signal):
            yield Finding(
                "feedback",
                CAUTION,
                f"the past of {output.name} predicts the input {signal.name}: feedback, such as a"
                " controller, or a common cause. Noise then looks like dynamics.",
                "objective='simulation' is less misled than predictions one step ahead",
                Evidence("correlation", (signal.name, output.name)),
            )
    yield from _find_delays(others, output, order)


def _find_swapped(
    inputs: list[Signal], output: Signal, gains: list[_Gain | None]
) -> Finding | None:
    """An input that follows the output and does not lead it, or an output that is a command."""
    (signal, *others), (gain, *_) = inputs, gains
    if not others and gain is not None and gain.backward > _SWAPPED > gain.forward:
        # a noisy look at a sine can be told by a better one, which says nothing of what is first
        is_led = _is_behind(signal, output) or _is_noisy(signal, output)
        if is_led and gain.forward < _NOT_SWAPPED:
            words = (
                f"the input {signal.name} follows the output {output.name}, and not the other way"
                " round: the columns seem to be swapped."
            )
            seen = Evidence("correlation", (output.name, signal.name))
            return _swapped(signal, output, words, seen)
    if _is_stepped(output) and (found := [x for x in inputs if _is_noisy(x, output)]):
        words = (
            f"the output {output.name} takes steps and rests exactly, as a command does, while the"
            f" input {found[0].name} is noisy, as a measurement is: the columns seem to be swapped."
        )
        return _swapped(found[0], output, words, Evidence("closer", (output.name, found[0].name)))
    return None


def _swapped(signal: Signal, output: Signal, words: str, seen: Evidence) -> Finding:
    remedy = f"inputs='{output.name}' and output='{signal.name}'"
    return Finding("swapped", POOR, words, remedy, seen)


def correlation_by_lag(first: Signal, second: Signal, lags: Sequence[int]) -> tuple[Float1D, float]:
    """Correlation of one signal with another so much later, and what chance alone would reach.

    Both pass the filter that whitens the first, down to 20 dB.
    """
    order = max(1, min(_MAX_LAG, len(first.pooled) // 20))
    weights, _ = self_filter(first.records, order, ridge=_SHALLOW)
    white, shaped = filtered(first.records, weights), filtered(second.records, weights)
    return cross_correlation(white, shaped, lags), _SEEN / np.sqrt(independent(white, shaped))


def _is_behind(signal: Signal, output: Signal) -> bool:
    """Whether an input shows what the output did before, and not what it does later.

    Slow signals are whitened down to 20 dB only, as what is below is their noise.
    """
    lags = range(-_MOST_DELAY // 3, _MOST_DELAY // 3 + 1)
    weights, _ = self_filter(output.records, 2 * _MAX_LAG, ridge=_SHALLOW)
    shaped = filtered(signal.records, weights)
    found = np.abs(cross_correlation(filtered(output.records, weights), shaped, lags))
    middle = len(lags) // 2
    return bool(found[middle:].max() > 2.0 * found[:middle].max())


def _is_noisy(signal: Signal, output: Signal) -> bool:
    """Whether an input has noise that the output does not have."""
    if _is_stepped(output):
        return not _is_stepped(signal) and noise_floor(signal) > _NOISELESS
    floor = noise_floor(output)
    return floor < _NOISELESS and noise_floor(signal) > 100.0 * floor


def _is_stepped(signal: Signal) -> bool:
    """Whether a signal jumps far and rests exactly in between."""
    steps = np.abs(np.concatenate([np.diff(part) for part in signal.records]))
    jumps = steps[steps > 0]
    is_still = 0 < 2 * len(jumps) < len(steps)
    if not is_still or len(np.unique(signal.pooled)) < _FEWEST:  # which a switch has as well
        return False
    return float(np.median(jumps)) > _JUMP * float(np.ptp(signal.pooled))


def _copy(signal: Signal, output: Signal) -> int | None:
    """By how many samples an input lags behind the output that it is a copy of; else None."""
    lags = range(-_REACH, _REACH + 1)
    order = min(5, max(1, len(output.pooled) // 50))
    weights, _ = self_filter(output.records, order)
    raw = cross_correlation(
        filtered(output.records, _AS_IT_IS), filtered(signal.records, _AS_IT_IS), lags
    )
    lag = lags[int(np.argmax(np.abs(raw)))]
    left = max(_unlike(output, signal, lag, _AS_IT_IS), _unlike(output, signal, lag, weights))
    return lag if left < (_DELAYED_COPY if lag > 0 else _COPY) else None


def _unlike(output: Signal, signal: Signal, lag: int, weights: Float1D) -> float:
    """What a filtered input leaves unexplained of the output so many samples before it."""
    early, late = max(0, -lag), max(0, lag)
    pairs = zip(filtered(output.records, weights), filtered(signal.records, weights), strict=True)
    long = [(y, u) for y, u in pairs if len(y) > abs(lag)]
    if not long:
        return 1.0
    y = [part[early : len(part) - late] for part, _ in long]
    u = [part[late : len(part) - early] for _, part in long]
    first, second = np.concatenate(y), np.concatenate(u)
    if len(first) < 3 or not (np.ptp(first) > 0 and np.ptp(second) > 0):
        return 1.0
    return 1.0 - float(np.corrcoef(first, second)[0, 1]) ** 2


def _leak(signal: Signal, output: Signal, lag: int) -> Finding:
    when = (
        f"{counted(lag, 'sample')} later"
        if lag > 0
        else f"{counted(-lag, 'sample')} before"
        if lag < 0
        else "at the same sample"
    )
    return Finding(
        "leak",
        POOR,
        f"the input {signal.name} is the output {output.name} itself, {when}, up to a factor and an"
        " offset.",
        "leave it out of --inputs",
        Evidence("copies", (signal.name, output.name), value=float(lag)),
    )


class _Gain(NamedTuple):
    """What one past predicts beyond another: of the output (forward), of an input (backward)."""

    forward: float
    backward: float


def _gains(i: int, inputs: list[Signal], output: Signal, order: int) -> _Gain | None:
    lags, longer = range(1, order + 1), range(1, _OWN * order + 1)
    first = longer[-1]
    own = past(output.records, longer, first)
    pasts = [past(signal.records, lags, first) for signal in inputs]
    pasts[i] = past(inputs[i].records, longer, first)  # beyond both own pasts
    now = [past(signal.records, [0], first) for signal in (inputs[i], output)]
    u, y = now[0][:, 0], now[1][:, 0]
    if len(u) < max(_FEW, 10 * order * (len(pasts) + 3)):
        return None
    known = np.column_stack(pasts)
    forward = _gain(own, np.column_stack([own, *(past[:, :order] for past in pasts)]), y)
    backward = _gain(known, np.column_stack([own[:, :order], known]), u)
    return None if backward is None else _Gain(0.0 if forward is None else forward, backward)


def _gain(fewer: Float2D, more: Float2D, target: Float1D) -> float | None:
    """Share of what is left that more columns explain; 0 if by chance, None if nothing is left."""
    from scipy.stats import f

    before = residual(fewer, target)
    if before.var() < _PREDICTED * target.var():
        return None
    after = residual(more, target)
    n_more, n_free = more.shape[1] - fewer.shape[1], len(target) - more.shape[1] - 1
    share = 1.0 - float(products(after, after)) / float(products(before, before))
    ratio = share / max(1.0 - share, 1e-12) * n_free / n_more
    return share if f.sf(ratio, n_more, n_free) < _SURE else 0.0


def _find_delays(inputs: list[Signal], output: Signal, order: int) -> Iterator[Finding]:
    """The first lag at which each input shows in the output."""
    n = len(output.pooled)
    lags = range(min(_MOST_DELAY, n // 4) + 1)
    is_seen, is_blind = False, False
    for signal in inputs:
        if self_filter(signal.records, order)[1] < _PREDICTED:
            is_blind = True
            continue
        weights, _ = self_filter(signal.records, order, ridge=_SHALLOW)
        white, shaped = filtered(signal.records, weights), filtered(output.records, weights)
        found = np.abs(cross_correlation(white, shaped, lags))
        limit = _SEEN / np.sqrt(independent(white, shaped))
        if found.max() < limit:
            bent = [part**2 - np.mean(part**2) for part in white]
            squared = np.abs(cross_correlation(bent, shaped, lags))
            is_seen = is_seen or bool(squared.max() > limit)
            continue
        is_seen = True
        if found.max() < _STRONG:
            continue
        delay = int(np.flatnonzero(found >= max(limit, _ONSET * found.max()))[0])
        seen = Evidence("correlation", (signal.name, output.name), value=float(delay))
        words = f"{output.name} begins to follow the input {signal.name} "
        words += f"after {counted(delay, 'sample')}." if delay else "at the same sample."
        if delay > _MAX_LAG:
            remedy = f"max_lag={delay + 5}, to reach so far back"
            yield Finding("delay", CAUTION, words, remedy, seen)
        else:
            yield Finding("delay", GOOD, words, evidence=seen)
    if not (is_seen or is_blind):
        listed = ", ".join(signal.name for signal in inputs)
        yield Finding(
            "unrelated",
            CAUTION,
            f"no trace of {listed} is seen in {output.name} within {len(lags) - 1} samples.",
            "check the columns, and whether records were cut and aligned",
            Evidence("correlation", (inputs[0].name, output.name)),
        )
