r"""The prior of terms: its density, draws from it, and the weights of one factor more or less.

A term t of degree d with atoms a_1 … a_d and multiplicities c_k has

.. math:: p(t) = (1-λ_m) P_c(d) \frac{d!}{\prod c_k!} \prod_i w(a_i) + λ_m [t = a^d] P_p(d) w(a)

with :math:`P_c(d) \propto λ_d^{d-1}/(d-1)!`, :math:`P_p(d) \propto λ_p^{d-1}/(d-1)!`, both cut off
at the largest degree and renormalised; and p(t) = 0 if t has a spelling with other atoms
(``clash``), the rest being renormalised again. Summed over all terms it is 1.

The structure has

.. math:: p(T) \propto o_1^{[1 ∈ T]} \prod_{i=1}^m λ_i\, p(t_i)

with o_1 the odds of the constant and m other terms. λ_i is the expected number of terms λ_t; or,
where that is drawn from a Gamma law with shape a and mean λ_t, rate b = a/λ_t, it is what
integrating over it leaves,

.. math::
    \int \mathrm{Ga}(λ; a, b)\, e^{-λ} λ^m dλ \propto \prod_{i=1}^m λ_i,
    \qquad λ_i = \frac{a + i - 1}{b + 1}

which is as if terms were drawn one after another from p(t), a Poisson number of them of rate λ, and
λ and all drawn again where two are equal.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.draw import draw_categorical
from adjoin.kernels.state import Chain, PriorTable
from adjoin.kernels.terms import copy_without, insert_atom, multiplicity


@kernel()
def is_reduced(prior: PriorTable, atom: Int1D, degree: int) -> bool:
    """Whether no two atoms of a term clash.

    Mutates: nothing. Allocates: nothing.
    """
    for i in range(1, degree):
        for c in range(prior.clash.shape[1]):
            other = prior.clash[atom[i], c]
            for j in range(i):
                if atom[j] == other:
                    return False
    return True


@kernel()
def product_weight(prior: PriorTable, atom: Int1D, degree: int) -> float:
    r""":math:`\prod_i w(a_i) / \prod_k c_k!` of a term.

    Mutates: nothing. Allocates: nothing.
    """
    weight, run = 1.0, 0
    for i in range(degree):
        run = run + 1 if i > 0 and atom[i] == atom[i - 1] else 1
        weight *= prior.weight[atom[i]] / run
    return weight


@kernel()
def term_prior(prior: PriorTable, atom: Int1D, degree: int) -> float:
    """p(t) of a term with at least one atom.

    Mutates: nothing. Allocates: nothing.
    """
    if not is_reduced(prior, atom, degree):
        return 0.0
    density = prior.product[degree] * product_weight(prior, atom, degree)
    if atom[0] == atom[degree - 1]:
        density += prior.power[degree] * prior.weight[atom[0]]
    return density


@kernel()
def draw_term(rng: np.random.Generator, prior: PriorTable, atom: Int1D) -> int:
    """Draw a term from p(t); returns its degree. What has another spelling is drawn again.

    Mutates: rng, atom. Allocates: nothing.
    """
    while True:
        if rng.random() < prior.power_weight:
            degree = draw_categorical(rng, prior.power_cumulative)
            only = draw_categorical(rng, prior.cumulative)
            for i in range(degree):
                atom[i] = only
        else:
            degree = draw_categorical(rng, prior.product_cumulative)
            for i in range(degree):
                insert_atom(atom, i, draw_categorical(rng, prior.cumulative))
        if is_reduced(prior, atom, degree):
            return degree


@kernel(entry=True)
def term_priors(prior: PriorTable, atom: Int2D, degree: Int1D, density: Float1D) -> None:
    """p(t) of several terms.

    Mutates: density. Allocates: nothing.
    """
    for i in range(degree.shape[0]):
        density[i] = term_prior(prior, atom[i], degree[i])


@kernel(entry=True)
def draw_terms(
    rng: np.random.Generator, prior: PriorTable, atom: Int2D, degree: Int1D, density: Float1D
) -> None:
    """Draw terms from p(t), as many as there are rows, and their p(t).

    Mutates: rng, atom, degree, density. Allocates: nothing.
    """
    for i in range(degree.shape[0]):
        degree[i] = draw_term(rng, prior, atom[i])
        density[i] = term_prior(prior, atom[i], degree[i])


@kernel()
def extension_weights(prior: PriorTable, atom: Int1D, degree: int) -> tuple[float, float, float]:
    r"""The sum of p(t·a) over all atoms a, in O(degree), as if no atoms clashed.

    .. math::
        p(t·a) = K \frac{w(a)}{c_a + 1} + [t·a = a^{d+1}] L, \quad
        Z(t) = K \Big(1 - \sum_{a \in t} w(a) \frac{c_a}{c_a + 1}\Big) + [t = b^d] L

    with :math:`K = (1-λ_m) P_c(d+1) (d+1)! \prod w / \prod c!` and :math:`L = λ_m P_p(d+1) w(b)`.
    Returns Z, its part K·Σ, and L (0 unless t is a pure power).

    Mutates: nothing. Allocates: nothing.
    """
    rest, i = 1.0, 0
    while i < degree:
        count = multiplicity(atom, degree, atom[i])
        rest -= prior.weight[atom[i]] * count / (count + 1.0)
        i += count
    product = prior.product[degree + 1] * product_weight(prior, atom, degree) * rest
    power = 0.0
    if atom[0] == atom[degree - 1]:
        power = prior.power[degree + 1] * prior.weight[atom[0]]
    return product + power, product, power


@kernel()
def draw_extension(
    rng: np.random.Generator, prior: PriorTable, atom: Int1D, degree: int, share: float
) -> int:
    """Draw an atom a with probability p(t·a)/Z(t), as if no atoms clashed; `share` is L/Z.

    w(a)/(c_a + 1) is drawn by rejection from w: atoms outside the term are always accepted.

    Mutates: rng. Allocates: nothing.
    """
    if rng.random() < share:
        return atom[0]
    while True:
        new = draw_categorical(rng, prior.cumulative)
        count = multiplicity(atom, degree, new)
        if count == 0 or rng.random() * (count + 1.0) < 1.0:
            return new


@kernel()
def reduction_weights(
    prior: PriorTable, atom: Int1D, degree: int, reduced: Int1D, weight: Float1D
) -> float:
    """The sum Z'(t) of p(t/a) over the distinct atoms a of a term of degree 2 or more.

    ``weight[i]`` is p(t/a) at the first place of each distinct atom, and 0 at the others.

    Mutates: reduced, weight. Allocates: nothing.
    """
    total = 0.0
    for i in range(degree):
        weight[i] = 0.0
        if i == 0 or atom[i] != atom[i - 1]:
            copy_without(atom, degree, i, reduced)
            weight[i] = term_prior(prior, reduced, degree - 1)
            total += weight[i]
    return total


@kernel()
def term_rate(prior: PriorTable, n_terms: int) -> float:
    r""":math:`λ_{m+1}`, by which p(T) changes, times p(t), where t joins m terms.

    The constant is not counted.

    Mutates: nothing. Allocates: nothing.
    """
    if prior.terms_shape == 0.0:
        return prior.expected_terms
    return (prior.terms_shape + n_terms) / (prior.terms_shape / prior.expected_terms + 1.0)


@kernel()
def prior_odds(prior: PriorTable, atom: Int1D, degree: int, n_terms: int) -> float:
    """The factor of p(T) for a term that joins `n_terms` others, the constant not counted.

    Mutates: nothing. Allocates: nothing.
    """
    if degree == 0:
        return prior.constant_odds
    return term_rate(prior, n_terms) * term_prior(prior, atom, degree)


@kernel()
def log_prior_structure(prior: PriorTable, chain: Chain, n_fixed: int) -> float:
    r""":math:`\log p(T)` of the editable terms, up to a constant.

    Mutates: nothing. Allocates: nothing.
    """
    total, n_counted = 0.0, 0
    for i in range(n_fixed, chain.n_terms[0]):
        degree = chain.degree[i]
        total += math.log(prior_odds(prior, chain.atom[i], degree, n_counted))
        n_counted += 1 if degree > 0 else 0
    return total


@kernel()
def log_normal(value: float, variance: float) -> float:
    """Log density of N(0, variance).

    Mutates: nothing. Allocates: nothing.
    """
    return -0.5 * (math.log(2.0 * math.pi * variance) + value * value / variance)


@kernel()
def log_coefficients(chain: Chain, variance: float) -> float:
    """Log prior density of all coefficients, each N(0, variance).

    Mutates: nothing. Allocates: nothing.
    """
    total = 0.0
    for i in range(chain.n_terms[0]):
        total += log_normal(chain.theta[i], variance)
    return total
