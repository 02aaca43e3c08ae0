"""The compiled ladder of free runs equals the plain one draw for draw, from the same seed.

And the plain one decides by what its formulas say: both stages together are the whole ratio, and
what is accepted there is accepted as often back.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.kernels.output_error_cases import (
    CASES,
    IS_COMPILED,
    Case,
    adapt,
    advance,
    forget,
    make_chain_of,
    make_twin,
    modes_of,
    n_made,
    n_trips_of,
    rungs_of,
    samples_of,
)
from tests.naive.output_error import FREEDOM, WIDE, Decision, Ratio, Twin
from tests.naive.prediction import INVERSE, Sample
from tests.naive.slope_moves import KINDS, InformedTwin

from adjoin.inference.engines.simulation_chain import SimulationChain


def _assert_same_state(chain: SimulationChain, twin: Twin, rtol: float = 1e-8) -> None:
    """Every rung, and all that is counted."""
    for seen, rung in zip(rungs_of(chain), twin.rungs, strict=True):
        assert list(seen.theta) == rung.terms
        values = [list(seen.theta.values()), list(rung.theta.values())]
        # One that is near 0 keeps the rounding of the others.
        np.testing.assert_allclose(*values, rtol=rtol, atol=1e-10)
        assert {t: seen.theta[t] for t in twin.pinned} == pytest.approx(twin.pinned, rel=1e-11)
        assert seen.power == pytest.approx(rung.power, rel=1e-12)
        assert seen.coefficient == pytest.approx(rung.coefficient, rel=rtol)
        assert seen.error == pytest.approx(rung.run.error, rel=rtol)
        assert seen.rho == pytest.approx(rung.rho.tolist(), rel=rtol)
        assert seen.counts == list(rung.counts.values())
        assert (seen.passed, seen.swaps) == (rung.passed, rung.swaps)
        assert seen.is_from_hot == rung.is_from_hot
    assert n_trips_of(chain) == twin.n_trips


def _assert_same_modes(chain: SimulationChain, twin: Twin) -> None:
    """All that were searched, whether anything was proposed from them or not."""
    fast = modes_of(chain)
    assert fast.keys() == twin.found.keys()
    for key, plain in twin.found.items():
        found = fast[key]
        assert found.terms == plain.terms
        assert found.error == pytest.approx(plain.error, rel=1e-8)
        assert found.volume == pytest.approx(plain.volume, rel=1e-8)
        np.testing.assert_allclose(found.theta, plain.theta, rtol=1e-7, atol=1e-10)
        size = np.sqrt(np.outer(np.diag(plain.normal), np.diag(plain.normal))) + 1e-300
        np.testing.assert_allclose(found.normal / size, plain.normal / size, rtol=0, atol=1e-7)
        steep = np.sqrt(np.diag(plain.normal) * max(plain.error, 1.0)) + 1e-300
        np.testing.assert_allclose(
            found.gradient / steep, plain.gradient / steep, rtol=0, atol=1e-7
        )


def _run_twin(case: Case, twin: Twin, chain: SimulationChain, seed: int) -> list[Sample]:
    """Pieces with an adaptation between two of them, both chains side by side."""
    rng, plain = np.random.Generator(np.random.PCG64(seed)), []
    n_samples = case.n_samples if IS_COMPILED else max(case.n_samples // 5, 40)
    for piece in range(case.n_pieces):
        if piece:
            twin.adapt(adapt(chain))
        plain += twin.run(rng, n_samples)
        advance(chain, n_samples)
        _assert_same_state(chain, twin)
        _assert_same_modes(chain, twin)
    assert chain.rng.random() == rng.random()  # as many numbers were drawn
    return plain


@pytest.mark.parametrize("name", CASES)
def test_the_compiled_ladder_equals_the_plain_one(name: str) -> None:
    case = CASES[name]
    chain, twin = make_chain_of(case, 17), make_twin(case)
    plain = _run_twin(case, twin, chain, 17)
    fast = samples_of(chain)
    assert [sample.terms for sample in fast] == [sample.terms for sample in plain]
    for field in ("theta", "noise", "coefficient", "log_lik", "log_prior"):
        left = np.hstack([getattr(sample, field) for sample in fast])
        right = np.hstack([getattr(sample, field) for sample in plain])
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-10, err_msg=field)
    if isinstance(twin, InformedTwin):
        assert chain.finish().search.counter[:3].tolist() == list(twin.tried.values())
    if twin.order:
        np.testing.assert_allclose(chain.finish().rho, twin.rho, rtol=1e-8)
    if IS_COMPILED:  # the comparison is worth something
        assert len({sample.terms for sample in plain}) > 5
        decided = [decision.is_accepted for decision in twin.decisions]
        assert 10 < sum(decided) < len(decided)
        for rung in twin.rungs:
            assert 3 < rung.counts["stay"][2] < rung.counts["stay"][1]
        assert case.rungs == 1 or any(rung.swaps[1] for rung in twin.rungs)
        assert twin.modes.references
        if isinstance(twin, InformedTwin):
            kinds = [decision.move for decision in twin.decisions if decision.is_accepted]
            assert set(kinds) >= set(KINDS)
        names = [atom.function for key in twin.found for t in key for atom in twin.law.decode(t)]
        assert set(names) >= set(case.functions)
        if case.grammar.alphabet.has_noise and case.power:  # in what was accepted, too
            drawn = [[a.signal for t in s.terms for a in twin.law.decode(t)] for s in plain]
            assert 0.1 < np.mean(["e" in signals for signals in drawn]) <= 1.0


def _assert_is_the_whole_ratio(twin: Twin, decision: Decision) -> None:
    """π(T', θ') j(T' → T) q(θ|T) / (π(T, θ) j(T → T') q(θ'|T')), each factor on its own."""
    rung, ratio = twin.rungs[decision.rung], decision.ratio
    before, after = list(decision.before), list(decision.after)
    lost, gained = set(before) - set(after), set(after) - set(before)
    change = (next(iter(lost), None), next(iter(gained), None))
    whole = math.log(twin.moves.chance(INVERSE[decision.move], after, change[::-1]))
    whole -= math.log(twin.moves.chance(decision.move, before, change))
    for theta, sign in ((decision.after, 1.0), (decision.before, -1.0)):
        terms, gaussian = list(theta), twin.gaussian(list(theta), rung.power)
        free = [theta[term] for term in gaussian.terms]
        assert set(gaussian.terms) == set(terms) - set(twin.pinned)
        log_posterior = twin.law.log_structure(terms)
        log_posterior += stats.norm.logpdf(free, scale=math.sqrt(decision.coefficient)).sum()
        log_posterior += twin.noise.log_run(rung.power, twin.judge(theta))
        log_proposal = 0.0
        if free:
            shape = np.linalg.inv(gaussian.factor.T @ gaussian.factor)
            near = stats.multivariate_t(gaussian.mean, shape, FREEDOM).pdf(free)
            far = stats.norm.pdf(free, scale=math.sqrt(twin.middle)).prod()
            log_proposal = math.log((1.0 - WIDE) * near + WIDE * far)
        whole += sign * (log_posterior - log_proposal)
    if math.isinf(whole):  # the proposed run leaves its bounds
        assert (whole, ratio.second, decision.is_accepted) == (-math.inf, -math.inf, False)
        return
    assert ratio.first + ratio.second == pytest.approx(whole, rel=1e-8, abs=1e-8)
    # Balance in detail: the log probability of being accepted, there and back.
    there = min(0.0, ratio.first) + min(0.0, ratio.second)
    back = min(0.0, -ratio.first) + min(0.0, -ratio.second)
    assert there - back == pytest.approx(whole, rel=1e-8, abs=1e-8)
    assert there <= min(0.0, whole) + 1e-8  # what two stages cost


@pytest.mark.parametrize(
    "name",
    [
        "one rung",
        "constant, three rungs",
        "residual, hyperprior",
        "power",
        "hyperprior",
        "past noise, degree three, two records",
    ],
)
def test_both_stages_together_are_the_whole_ratio(name: str) -> None:
    """Of every change that passed the first; the second corrects what Laplace got wrong."""
    case = CASES[name]
    twin, rng = make_twin(case), np.random.default_rng(3)
    seconds = []
    for _ in range(2):
        list(twin.run(rng, 180 // case.rungs))
        for decision in twin.decisions:
            _assert_is_the_whole_ratio(twin, decision)
        seconds += [decision.ratio.second for decision in twin.decisions]
        # Modes depend on references: those of before are others now.
        twin.decisions.clear()
        twin.adapt([rung.power for rung in twin.rungs])
    assert len(seconds) > 20
    assert np.mean(np.abs([x for x in seconds if x > -math.inf]) > 0.1) > 0.2


def test_the_first_stage_is_the_whole_where_laplace_is_exact() -> None:
    """Without a likelihood the Gaussian is the prior: evidences are equal, by hand."""
    case = CASES["likelihood off"]
    twin = make_twin(case)
    list(twin.run(np.random.default_rng(3), 100))
    for decision in twin.decisions:
        n = [len(theta) for theta in (decision.before, decision.after)]
        evidence = twin.noise.log_fit(0.0, 0.0)
        # -½ p log σ_θ² - ½ log|I/σ_θ²| = 0
        assert decision.ratio.evidence == pytest.approx([evidence] * 2, abs=1e-12)
        assert abs(n[1] - n[0]) <= 1
    assert len(twin.decisions) > 20


NUMBERS = {
    # moves, Λ, Λ', t, t', π, π': first, second and whole by hand.
    "better twice": (0.5, -10.0, -8.0, 1.0, 2.0, -9.5, -6.0, 2.5, 0.5, 3.0),
    "first refuses": (-1.0, -8.0, -10.0, 0.5, 0.25, -7.0, -9.0, -3.0, 0.25, -2.75),
    "second refuses": (0.0, -8.0, -7.0, 0.0, 3.0, -8.0, -6.5, 1.0, -2.5, -1.5),
    "both refuse": (-0.5, -4.0, -5.0, 1.0, 1.5, -3.0, -5.0, -1.5, -1.5, -3.0),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_stages_of_listed_numbers(name: str) -> None:
    moves, *pairs, first, second, whole = NUMBERS[name]
    ratio = Ratio(moves, *(tuple(pairs[i : i + 2]) for i in (0, 2, 4)))
    assert (ratio.first, ratio.second) == (first, second)
    # whole = moves + π' - π + t - t'
    assert whole == moves + pairs[5] - pairs[4] + pairs[2] - pairs[3]
    assert ratio.first + ratio.second == whole
    back = Ratio(-moves, *(tuple(pairs[i : i + 2][::-1]) for i in (0, 2, 4)))
    accepted = [min(0.0, r.first) + min(0.0, r.second) for r in (ratio, back)]
    assert accepted[0] - accepted[1] == whole


@pytest.mark.parametrize(
    "name",
    [
        "one rung",
        "constant, three rungs",
        "two inputs, two records, functions",
        "residual",
        "past noise, fixed terms, two inputs, functions",
        "informed, three rungs",
    ],
)
def test_a_chain_is_the_same_however_it_is_cut_and_whatever_it_has_forgotten(name: str) -> None:
    """By hand after every piece, and by a table with room for little more than one mode."""
    case, n_samples = CASES[name], 2000 if IS_COMPILED else 30
    whole, cut, tiny = (make_chain_of(case, 8, table_bytes=b) for b in (2**20, 2**20, 1))
    for _ in range(2):
        for chain in (whole, tiny):
            advance(chain, n_samples)
        for done in range(0, n_samples, 7):
            advance(cut, min(7, n_samples - done))
            forget(cut)
        for chain in (whole, cut, tiny):
            adapt(chain)
    advanced = [rungs_of(chain) for chain in (whole, cut, tiny)]
    assert advanced[0] == advanced[1] == advanced[2]  # to the last bit
    states = [chain.rng.bit_generator.state for chain in (whole, cut, tiny)]
    assert states[0] == states[1] == states[2]
    assert samples_of(whole) == samples_of(cut) == samples_of(tiny)
    assert n_made(cut) > n_made(whole)
    if IS_COMPILED:
        assert n_made(tiny) > n_made(whole)
