r"""Informed moves: exchange, birth and death over a pool of candidates whose odds are all known.

**What they leave invariant.** Given σ², a term that explains much can hardly go, however many
others could stand in for it: σ² would have to grow first. So σ² is integrated out. With the
coefficients' prior as it is that has no closed form, but nearly: with R, U and d of ``odds`` at a
*reference* variance :math:`σ_r²` of the rung, where p coefficients are well determined,

.. math::
    \hat m(T) = p(T) \frac{Γ(E)\, B^{-E} σ_r^{2(E-A)}}{\prod_i U_{ii} d_i}, \quad
    B = β - κσ_r² + \tfrac w2 ‖y‖² R, \quad
    E = \max(A - \tfrac p2, \tfrac A2), \quad A = α + \tfrac{wn}2

and :math:`\hat q(σ²|T) = IG(E, B)`. (Of the exponent :math:`w‖y‖²R/2σ²` the coefficients' prior has
:math:`‖θ‖²/2σ_θ²`, which does not depend on σ². κ is what that was where the reference was taken
from; its factor :math:`e^{-κ}`, the same for all structures, is left out.) A sweep makes several
moves that are reversible with respect to :math:`\hat m`, draws σ² from :math:`\hat q`, and is
accepted as a whole with the ratio of

.. math:: ω(T, σ²) = \frac{π(T, σ²)}{\hat m(T)\, \hat q(σ²|T)}

after and before (a surrogate transition: moves of one kind in a row are reversible together). That
is exact whatever the approximation, and accepted nearly always where that is good.

**The moves**, with :math:`o_j(T) = \hat m(T ∪ j) / \hat m(T)`, the pool P, and m the number of
terms of T that are in P and not fixed:

- *exchange*: one of the m terms, each equally likely, is taken out, and j takes its place with
  probability :math:`o_j(T∖i) / \sum_{P∖T ∪ i} o_k(T∖i)`. The reverse has the same sum, and
  :math:`\hat m(T∖i ∪ j) ∝ o_j(T∖i)`: a Gibbs step.
- *birth*: j joins with probability :math:`o_j(T)/S(T)`, :math:`S(T) = \sum_{P∖T} o_k(T)`.
  Reverse: a death that picks j, :math:`1/(m+1)`. Target: :math:`o_j(T)`. Together

  .. math:: \frac{o_j(T) / (m+1)}{o_j(T)/S(T)} = \frac{S(T)}{m+1}

  whatever j is, so that it is decided before j is drawn.
- *death*: one of the m terms goes; the reverse of a birth, :math:`m / S(T∖i)`.

Births and deaths are tried equally often. No Jacobian: coefficients are integrated out. A change
that would leave the clear structures (see ``odds``) is refused, there and back alike.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.candidates import Informed, Pool, Sweep
from adjoin.kernels.draw import draw_index, draw_inverse_gamma
from adjoin.kernels.edits import apply_edit, copy_state
from adjoin.kernels.evidence import evaluate_present, gather_fit, is_sharp
from adjoin.kernels.layouts import Regression
from adjoin.kernels.linalg import solve_upper
from adjoin.kernels.moves import count_terms
from adjoin.kernels.odds import (
    CLEAR,
    LEAST,
    add_row,
    drop_row,
    find_unit,
    lay_out,
    look_without,
)
from adjoin.kernels.prior import term_rate
from adjoin.kernels.state import (
    ACCEPTED,
    APPEND,
    BIRTH,
    DEATH,
    EXCHANGE,
    POSSIBLE,
    PROPOSED,
    REMOVE,
    REPLACE,
    SWEEP,
    Chain,
    PriorTable,
    Rules,
    Target,
)
from adjoin.kernels.tables import ProductTable, Work

EXCHANGES = 0.5  # of informed moves; births and deaths share the rest
# Odds that are e^-65 of the largest, before the factor 1/sqrt(s) of at most e^11.6, are below the
# resolution of a uniform draw even for a million of them.
NEGLIGIBLE = -65.0


class Surrogate(NamedTuple):
    r"""The numbers of :math:`\hat m`: A, β, κσ_r², :math:`\tfrac w2 ‖y‖²` and :math:`\log σ_r²`."""

    shape: float
    scale: float
    penalty: float
    energy: float
    log_reference: float


@kernel()
def make_surrogate(target: Target, data: Regression, reference: float, penalty: float) -> Surrogate:
    """These numbers, for a reference variance and κσ_r².

    Mutates: nothing. Allocates: nothing.
    """
    power, norm = target.power, data.target_norm
    shape = target.noise_shape + 0.5 * power * data.n_rows
    energy = 0.5 * power * norm * norm
    return Surrogate(shape, target.noise_scale, penalty, energy, math.log(reference))


@kernel()
def scale_of(surrogate: Surrogate, left: float) -> float:
    """B where R is `left`; not positive where the surrogate has no mass.

    Mutates: nothing. Allocates: nothing.
    """
    return surrogate.scale - surrogate.penalty + surrogate.energy * left


@kernel()
def shape_of(surrogate: Surrogate, n: int) -> float:
    """E of n terms; A itself where there are no data.

    Mutates: nothing. Allocates: nothing.
    """
    if not surrogate.energy > 0.0:
        return surrogate.shape
    return max(surrogate.shape - 0.5 * n, 0.5 * surrogate.shape)


@kernel()
def weigh_all(
    informed: Informed, surrogate: Surrogate, prior: PriorTable, n: int, n_counted: int, q: int
) -> tuple[float, float, float]:
    """Odds of all candidates beside the n terms without that of row q (-1: beside all).

    `n_counted` terms count for the prior then. Returns the log of the unit in which ``weight`` has
    the odds, the sum of it, and ζ.

    Mutates: informed.sweep. Allocates: nothing.
    """
    pool, sweep, odds = informed.pool, informed.sweep, informed.sweep.odds
    zeta, weight, direction = look_without(sweep, n, q), odds.weight, odds.direction
    n_before = n - 1 if q >= 0 else n
    left, log_rate = sweep.left[0] + zeta * zeta, math.log(term_rate(prior, n_counted))
    before, after = shape_of(surrogate, n_before), shape_of(surrogate, n_before + 1)
    b, energy, largest = scale_of(surrogate, left), surrogate.energy, -math.inf
    for j in range(weight.shape[0]):
        s = odds.pivot[j] + direction[j] * direction[j]
        r = odds.lead[j] + direction[j] * zeta
        value = -math.inf
        if (pool.row[j] < 0 or pool.row[j] == q) and s > CLEAR:
            gain = r * r / s
            if left - gain > LEAST and energy * gain < b:
                value = pool.log_prior[j] - after * math.log(1.0 - energy * gain / b)
                value += log_rate if pool.degree[j] > 0 else 0.0
        weight[j] = value
        largest = max(largest, value)
    total = 0.0
    for j in range(weight.shape[0] if largest > -math.inf else 0):
        if weight[j] - largest > NEGLIGIBLE:
            s = odds.pivot[j] + direction[j] * direction[j]
            weight[j] = math.exp(weight[j] - largest) / (math.sqrt(s) * odds.spread[j])
            total += weight[j]
        else:
            weight[j] = 0.0
    largest += math.lgamma(after) - math.lgamma(before)
    largest += (before - after) * (math.log(b) - surrogate.log_reference)
    return largest, total, zeta


@kernel()
def log_remainder(chain: Chain, log_evidence: float, surrogate: Surrogate, sweep: Sweep) -> float:
    r"""Log ω of a state: what the surrogate gets wrong; `log_evidence` less ½g² in any case.

    .. math:: \log \frac{p(y|T,σ²)^w}{p(y|∅,σ²)^w} - \frac{w‖y‖²}{2σ²} + \frac{B - β}{σ²}
        - (A - E) \log \frac{σ²}{σ_r²} + \sum_i \log U_{ii} d_i

    Mutates: nothing. Allocates: nothing.
    """
    n, noise = chain.n_terms[0], chain.noise[0]
    slack = surrogate.shape - shape_of(surrogate, n)
    return (
        log_evidence
        + (surrogate.energy * sweep.left[0] - surrogate.penalty) / noise
        - slack * (math.log(noise) - surrogate.log_reference)
        + sweep.left[1]
    )


@kernel()
def count_members(sweep: Sweep, n: int) -> int:
    """How many of the n terms are candidates.

    Mutates: nothing. Allocates: nothing.
    """
    count = 0
    for i in range(n):
        count += 1 if sweep.candidate[i] >= 0 else 0
    return count


@kernel()
def pick_member(rng: np.random.Generator, sweep: Sweep, n: int, n_members: int) -> int:
    """The row of one of the candidates that are in, each equally likely.

    Mutates: rng (one uniform). Allocates: nothing.
    """
    remaining = draw_index(rng, n_members)
    for i in range(n):
        if sweep.candidate[i] >= 0:
            if remaining == 0:
                return i
            remaining -= 1
    return -1


@kernel()
def draw_candidate(rng: np.random.Generator, sweep: Sweep, total: float) -> int:
    """One of the pool, by ``weight``, which sums to `total`.

    Mutates: rng (one uniform). Allocates: nothing.
    """
    weight = sweep.odds.weight
    value, last = rng.random() * total, -1
    for j in range(weight.shape[0]):
        if weight[j] > 0.0:
            last = j
            value -= weight[j]
            if value < 0.0:
                return j
    return last  # rounding left the sum a hair short of the total


@kernel()
def write_candidate(chain: Chain, pool: Pool, edit: int, place: int, j: int, work: Work) -> None:
    """Put candidate j into the chain's list of terms.

    Mutates: chain, work. Allocates: nothing.
    """
    for i in range(pool.degree[j]):
        work.atom[i] = pool.atom[j, i]
    apply_edit(chain, edit, place, pool.degree[j], pool.key[j], work)


@kernel()
def step_informed(
    rng: np.random.Generator,
    move: int,
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: ProductTable,
    work: Work,
    informed: Informed,
) -> int:
    """One informed move; how far it came: `PROPOSED`, `POSSIBLE` or `ACCEPTED`.

    An exchange is a death and a birth in one. (One kernel for all three: what they share is long to
    compile.)

    Mutates: rng, chain, table, work, informed. Allocates: nothing.
    """
    pool, sweep, n = informed.pool, informed.sweep, chain.n_terms[0]
    n_members, q, old, place = count_members(sweep, n), -1, -1, n
    if n == chain.key.shape[0] if move == BIRTH else n_members == 0:
        return PROPOSED
    if move != BIRTH:
        q = pick_member(rng, sweep, n, n_members)
        old, place = sweep.candidate[q], sweep.place[q]
    n_counted = count_terms(chain, rules.moves.n_fixed, 1, chain.atom.shape[1])
    n_counted -= 1 if old >= 0 and pool.degree[old] > 0 else 0
    surrogate = make_surrogate(rules.target, data, informed.reference[0], informed.penalty[0])
    log_unit, total, zeta = weigh_all(informed, surrogate, rules.prior, n, n_counted, q)
    if not total > 0.0:
        return PROPOSED
    if move != EXCHANGE:
        log_odds = log_unit + math.log(total)
        log_odds = (
            log_odds - math.log(n_members + 1.0)
            if move == BIRTH
            else (math.log(n_members) - log_odds)
        )
        if not math.log(1.0 - rng.random()) < log_odds:
            return POSSIBLE
    new = draw_candidate(rng, sweep, total) if move != DEATH else -1
    if new == old:
        return POSSIBLE
    if old >= 0:
        drop_row(pool, sweep, n, q, zeta)
        n -= 1
    if move == DEATH:
        apply_edit(chain, REMOVE, place, 0, 0, work)
        for i in range(n):
            if sweep.place[i] == n:  # the last term has taken the place that was left
                sweep.place[i] = place
        return ACCEPTED
    for taken in (new, old):  # where it is not clear with the new one, the old one comes back
        if taken >= 0 and add_row(pool, sweep, table, data, n, taken, work):
            sweep.place[n] = place
            if taken == new:
                write_candidate(chain, pool, APPEND if move == BIRTH else REPLACE, place, new, work)
                return ACCEPTED
            return POSSIBLE
    return POSSIBLE


@kernel()
def log_odds_of_all(chain: Chain, rules: Rules, data: Regression, informed: Informed) -> None:
    r"""The log odds of every candidate's being in, given all others and σ², into ``weight``.

    .. math:: \log \frac{p(T ∪ j)}{p(T∖j)} - \log d_j \sqrt{s_j}
        + \frac{w‖y‖²}{2σ²} \frac{r_j²}{s_j}

    with s and r beside T∖j: of the terms that are in, s is 1/(C⁻¹)_qq, and r²/s the square of ζ.
    The sweep must be laid out at σ².

    Mutates: informed.sweep. Allocates: nothing.
    """
    pool, sweep, n, prior = informed.pool, informed.sweep, chain.n_terms[0], rules.prior
    odds, weight, norm = sweep.odds, sweep.odds.weight, data.target_norm
    half = 0.5 * rules.target.power * norm * norm / chain.noise[0]
    n_counted = count_terms(chain, rules.moves.n_fixed, 1, chain.atom.shape[1])
    log_rate = math.log(term_rate(prior, n_counted))
    log_rate_within = math.log(term_rate(prior, max(n_counted - 1, 0)))
    for j in range(weight.shape[0]):
        weight[j] = -math.inf
        if pool.row[j] < 0 and odds.pivot[j] > CLEAR:
            value = pool.log_prior[j] + half * odds.lead[j] * odds.lead[j] / odds.pivot[j]
            value += log_rate if pool.degree[j] > 0 else 0.0
            weight[j] = value - math.log(math.sqrt(odds.pivot[j]) * odds.spread[j])
    for q in range(n):
        j = sweep.candidate[q]
        if j >= 0:
            alone, zeta = find_unit(sweep, n, q), 0.0
            for i in range(q, n):
                zeta += sweep.unit[i] * sweep.projection[i]
            value = pool.log_prior[j] + half * zeta * zeta
            value += log_rate_within if pool.degree[j] > 0 else 0.0
            weight[j] = value - math.log(math.sqrt(alone) * odds.spread[j])


@kernel()
def average_inclusion(
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: ProductTable,
    work: Work,
    informed: Informed,
) -> None:
    r"""Add every candidate's probability of being in, given all others, to ``inclusion``.

    .. math:: \frac{o_j(T∖j)}{1 + o_j(T∖j)}

    Its average over the chain is the posterior inclusion (Rao and Blackwell). Where the structure
    is not clear, whether it is in.

    Mutates: table, work, informed. Allocates: nothing.
    """
    pool, weight, power = informed.pool, informed.sweep.odds.weight, rules.target.power
    noise = chain.noise[0]
    is_done = not is_sharp(noise, power, data.target_norm)
    is_done = is_done and lay_out(chain, noise, power, data, table, work, informed)
    if is_done:
        log_odds_of_all(chain, rules, data, informed)
    informed.n_averaged[0] += 1
    for j in range(weight.shape[0]):
        if is_done:
            is_in = weight[j] > NEGLIGIBLE
            informed.inclusion[j] += 1.0 / (1.0 + math.exp(-weight[j])) if is_in else 0.0
        else:
            for i in range(chain.n_terms[0]):
                informed.inclusion[j] += 1.0 if chain.key[i] == pool.key[j] else 0.0


@kernel()
def follow_state(
    chain: Chain, target: Target, data: Regression, work: Work, informed: Informed
) -> None:
    r"""Take σ_r² from a state, and κσ_r² from the posterior mean of its coefficients.

    .. math:: κ = \tfrac12 ‖θ‖² / σ_θ², \qquad θ_i = σ_θ (U^{-1} v)_i / d_i

    The fit in `work.current` and its factor must be of that state.

    Mutates: work, informed. Allocates: nothing.
    """
    fit, n = work.current, chain.n_terms[0]
    for i in range(n):
        work.normal[i] = fit.projection[i]
    solve_upper(fit.factor, n, work.normal)
    square = 0.0
    for i in range(data.pinned_theta.shape[0], n):
        square += (work.normal[i] / fit.spread[i]) ** 2
    informed.reference[0] = chain.noise[0]
    # without data there is no such exponent
    informed.penalty[0] = 0.5 * square * chain.noise[0] if target.power > 0.0 else 0.0


@kernel()
def sweep_candidates(
    rng: np.random.Generator,
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: ProductTable,
    work: Work,
    informed: Informed,
    log_evidence: float,
) -> float:
    """A sweep of informed moves, accepted or refused as a whole; the log evidence after.

    The fit in `work.current`, its factor and `log_evidence` must be of the present state, and are
    again. Where the structure is not clear, it does nothing.

    Mutates: rng, chain, table, work, informed. Allocates: nothing.
    """
    target, counter = rules.target, informed.counter
    power, reference, norm = target.power, informed.reference[0], data.target_norm
    counter[SWEEP, PROPOSED] += 1
    if not lay_out(chain, reference, power, data, table, work, informed):
        return log_evidence
    counter[SWEEP, POSSIBLE] += 1
    before = informed.before
    surrogate = make_surrogate(target, data, reference, informed.penalty[0])
    if not scale_of(surrogate, informed.sweep.left[0]) > 0.0:
        return log_evidence
    copy_state(chain, before)
    noise, found = chain.noise[0], log_evidence
    shift = 0.0 if is_sharp(noise, power, norm) else surrogate.energy / noise
    log_ratio = -log_remainder(chain, log_evidence - shift, surrogate, informed.sweep)
    for _ in range(informed.n_moves):
        value = rng.random()
        move = EXCHANGE
        if value >= EXCHANGES:
            move = BIRTH if value < 0.5 + 0.5 * EXCHANGES else DEATH
        counter[move, PROPOSED] += 1
        stage = step_informed(rng, move, chain, rules, data, table, work, informed)
        counter[move, POSSIBLE] += 1 if stage != PROPOSED else 0
        counter[move, ACCEPTED] += 1 if stage == ACCEPTED else 0
    left = scale_of(surrogate, informed.sweep.left[0])
    chain.noise[0] = draw_inverse_gamma(rng, shape_of(surrogate, chain.n_terms[0]), left)
    log_uniform = math.log(1.0 - rng.random())
    for i in range(chain.n_terms[0]):
        if informed.sweep.candidate[i] >= 0:
            informed.use[informed.sweep.candidate[i]] += 1
    for attempt in range(2):
        gather_fit(chain, data, table, work)
        found = evaluate_present(chain, power, data, table, work)
        if attempt == 1:
            break
        shift = 0.0 if is_sharp(chain.noise[0], power, norm) else surrogate.energy / chain.noise[0]
        log_ratio += log_remainder(chain, found - shift, surrogate, informed.sweep)
        if log_uniform < log_ratio + informed.slack[0]:
            counter[SWEEP, ACCEPTED] += 1
            break
        copy_state(before, chain)
        chain.noise[0] = noise
    return found
