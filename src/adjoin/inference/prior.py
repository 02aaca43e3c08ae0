"""The prior over structures, coefficients and noise: hyperparameters, densities, draws.

Receives the user's hyperparameters and an alphabet; hands tables to the kernels, and equations
drawn from the prior to people.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from numbers import Real
from typing import Self

import numpy as np

from adjoin.arrays import Float1D, Int1D, Int2D
from adjoin.checks import is_real, make_generator, require_count
from adjoin.errors import AdjoinError
from adjoin.grammar import Alphabet, Grammar, Structure, Term
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.spelling import is_reduced, reduced_products
from adjoin.grammar.terms import Atom, make_term
from adjoin.kernels.draw import SMALLEST
from adjoin.kernels.prior import draw_terms, term_priors
from adjoin.kernels.state import PriorTable
from adjoin.model import Model

STANDARD, RAW = "standard", "raw"
_FLAT = 0.05  # an inverse gamma with a smaller shape has draws that overflow
_MOST_CONSTANT = 0.2  # of the additions of a term propose the constant
_N_SWEEPS = 30  # of a learned λ_t and its terms in turn, until they have forgotten their start
_N_RATES = 400  # of a learned λ_t, over which inclusions are averaged
FIRST = {"constant_odds": 0.0, "lag_uniform": 0.0}
"""What the paper's prior and runs of the first version have not got."""


@dataclass(frozen=True)
class Prior:
    r"""Beliefs before the data; the defaults are the preset ``"default"``.

    .. math::
        p(T) \propto o_1^{[1 ∈ T]} \prod_{1 ≠ t \in T} λ_t\, p(t), \qquad
        p(t) = (1-λ_m)\, q_c(t) + λ_m\, q_p(t), \qquad
        θ \sim N(0, σ_θ² I), \quad σ² \sim IG(α, β)

    where q_c is a product of independent atoms and q_p a power of one. Read the first as
    independent inclusion: a term is in with odds :math:`λ_t\, p(t)`, the constant with odds o_1.

    Parameters
    ----------
    expected_terms : float
        λ_t, about the expected number of terms.
    terms_shape : float, optional
        a: λ_t is learned, :math:`p(T, λ) \propto \mathrm{Ga}(λ; a, b)\, e^{-λ} \prod λ\, p(t)`.
        That is a Gamma law with this shape and the mean `expected_terms`, less the structures that
        would repeat a term; so of large means less is left. None: it is known.
    constant_odds : float
        o_1, the odds of a constant being in, where the grammar has one; 0: never.
    degree_rate : float
        λ_d: degree - 1 of a product is Poisson with this rate, cut off at ``max_degree``.
    lag_decay : float
        λ_l: each further delay of an atom is less likely by this factor.
    lag_uniform : float
        The share of lags that are any lag, each as likely as the others, as after a dead time.
    power_weight : float
        λ_m, the share of pure powers.
    power_rate : float
        λ_p: degree - 1 of a pure power is Poisson with this rate.
    coefficient_sd : float
        σ_θ, the standard deviation of coefficients.
    noise_shape : float
        α of the noise variance.
    noise_scale : float, optional
        β of the noise variance. By default so small that no sensor's noise is near it; see
        `Problem.noise_scale`.
    coefficient_shape, coefficient_scale : float, optional
        a and b of a hyperprior σ_θ² ~ IG(a, b), which `coefficient_sd` then only starts. Off by
        default.
    units : {"standard", "raw"}
        What the numbers refer to: signals of unit variance, or the user's own units. With
        ``"standard"``, `noise_scale` is a multiple of the output's variance even where signals are
        left unscaled.
    """

    expected_terms: float = 5.0
    degree_rate: float = 0.3
    lag_decay: float = 0.6
    power_weight: float = 0.5
    power_rate: float = 0.7
    coefficient_sd: float = 1.0
    noise_shape: float = 1e-6
    noise_scale: float | None = None
    coefficient_shape: float | None = None
    coefficient_scale: float | None = None
    units: str = STANDARD
    constant_odds: float = 1.0
    terms_shape: float | None = None
    lag_uniform: float = 0.0

    def __post_init__(self) -> None:
        for name in (
            "expected_terms",
            "degree_rate",
            "power_rate",
            "coefficient_sd",
            "noise_shape",
        ):
            _require(name, getattr(self, name), 0.0, math.inf, "a positive number")
        if self.noise_scale is not None:
            _require("noise_scale", self.noise_scale, 0.0, math.inf, "a positive number or None")
        _require("lag_decay", self.lag_decay, 0.0, 1.0, "a number between 0 and 1")
        for name in ("power_weight", "lag_uniform"):
            share = getattr(self, name)
            if not (is_real(share) and 0.0 <= share <= 1.0):
                raise AdjoinError(f"{name} must be a share from 0 to 1, not {share!r}")
        odds = self.constant_odds
        if not (is_real(odds) and 0.0 <= odds < math.inf):
            raise AdjoinError(f"constant_odds must be 0 or a positive number, not {odds!r}")
        if self.terms_shape is not None:
            _require("terms_shape", self.terms_shape, 0.0, math.inf, "a positive number")
        hyper = (self.coefficient_shape, self.coefficient_scale)
        if (hyper[0] is None) != (hyper[1] is None):
            raise AdjoinError("coefficient_shape and coefficient_scale go together; give both")
        if hyper[0] is not None:
            for name in ("coefficient_shape", "coefficient_scale"):
                _require(name, getattr(self, name), 0.0, math.inf, "a positive number")
        if self.units not in (STANDARD, RAW):
            raise AdjoinError(f"units must be '{STANDARD}' or '{RAW}', not {self.units!r}")

    @classmethod
    def paper(cls, expected_terms: float = 5.0) -> Self:
        """The paper's printed tables, in the user's own units; it has no constant."""
        return cls(expected_terms=expected_terms, noise_scale=1.0, units=RAW, **FIRST)

    @classmethod
    def read(cls, given: Prior | str, expected_terms: float = 5.0) -> Prior:
        """A preset by name with λ_t, or a `Prior` as it is."""
        if isinstance(given, Prior):
            if expected_terms not in (given.expected_terms, 5.0):
                raise AdjoinError(
                    f"expected_terms={expected_terms!r}, but the prior has"
                    f" {given.expected_terms:g}; set it in the Prior only"
                )
            return given
        if given == "default":
            return cls(expected_terms=expected_terms)
        if given == "paper":
            return cls.paper(expected_terms)
        raise AdjoinError(f"prior must be 'default', 'paper' or an adjoin.Prior, not {given!r}")

    @property
    def settings(self) -> dict[str, float | str | None]:
        """All hyperparameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def changes(self) -> str:
        """What differs from the defaults, as arguments: ``lag_decay=0.5, units='raw'``."""
        plain = type(self)().settings
        return ", ".join(f"{k}={v!r}" for k, v in self.settings.items() if v != plain[k])

    def table(self, encoding: Encoding) -> PriorTable:
        r"""As the kernels take it.

        .. math::
            w(a) = \frac{1}{V} \left((1-υ) \frac{(1-λ_l) λ_l^n}{1 - λ_l^K} + \frac{υ}{K}\right)

        for one of V choices with K lags, n delays after its smallest; υ is `lag_uniform`.
        """
        alphabet = encoding.alphabet
        weight = np.zeros(len(encoding.atoms))
        for atom in alphabet.atoms:
            weight[encoding.number[atom]] = self._atom_weight(atom, alphabet)
        product = _degrees(self.degree_rate, alphabet.max_degree)
        power = _degrees(self.power_rate, alphabet.max_degree)
        factorial = np.array([math.factorial(d) for d in range(alphabet.max_degree + 1)], float)
        of_products = _reduced_chance(encoding, weight) if alphabet.clashes else np.ones(1)
        of_powers = _reduced_powers(encoding, weight) if alphabet.clashes else np.ones(1)
        kept = float(
            (1.0 - self.power_weight) * (product * of_products).sum()
            + self.power_weight * (power * of_powers).sum()
        )
        if not alphabet.clashes:
            kept = 1.0  # not a rounding error less
        has_constant = alphabet.constant is not None and () not in alphabet.fixed.terms
        odds, rate = float(self.constant_odds), float(self.expected_terms)
        return PriorTable(
            weight=weight,
            cumulative=np.cumsum(weight),
            product=(1.0 - self.power_weight) * product * factorial / kept,
            power=self.power_weight * power / kept,
            product_cumulative=np.cumsum(product),
            power_cumulative=np.cumsum(power),
            power_weight=float(self.power_weight),
            expected_terms=rate,
            terms_shape=float(self.terms_shape or 0.0),
            constant_odds=odds,
            # As often as the prior would have it, but never so often that others are starved.
            constant_share=min(odds / (odds + rate), _MOST_CONSTANT) if has_constant else 0.0,
            clash=_clash_table(encoding),
        )

    def _atom_weight(self, atom: Atom, alphabet: Alphabet) -> float:
        choice, decay = alphabet.choice(atom), self.lag_decay
        share = (1.0 - decay) / (1.0 - decay**choice.n_lags)
        near = share * decay ** (atom.lag - choice.min_lag)
        return choice.weight * (near + self.lag_uniform * (1.0 / choice.n_lags - near))

    def term_probability(self, term: Term, alphabet: Alphabet) -> float:
        """p(t) of a term of the alphabet; 0 if it is spelled otherwise."""
        term = make_term(term, alphabet.names)
        if not 1 <= len(term) <= alphabet.max_degree:
            raise AdjoinError(
                f"a term has from 1 to max_degree={alphabet.max_degree} factors, not {len(term)}"
            )
        for atom in term:
            alphabet.choice(atom)  # refuses atoms that are not in the alphabet
        encoding, density = Encoding(alphabet), np.empty(1)
        number = np.array([[encoding.number[atom] for atom in term]], dtype=np.int64)
        term_priors(self.table(encoding), number, np.array([len(term)], dtype=np.int64), density)
        return float(density[0])

    def inclusion(self, term: Term, alphabet: Alphabet) -> float:
        r"""The prior probability of a term being in, :math:`λ_t p / (1 + λ_t p)`.

        That of the constant is :math:`o_1 / (1 + o_1)`. Where λ_t is learned, it is the average
        over draws of it.
        """
        if not term:
            odds = self.constant_odds if alphabet.constant is not None else 0.0
            return odds / (1.0 + odds)
        density, rate = self.term_probability(term, alphabet), np.array([self.expected_terms])
        if self.terms_shape is not None:
            rate = _learned_rates(self, alphabet)
        odds_at = rate * density
        return float(np.mean(odds_at / (1.0 + odds_at)))

    def draw(self, grammar: Grammar, n: int = 10, seed: int | None = 0) -> list[Model]:
        """Models drawn from the prior, in the prior's units, to look at before fitting.

        Their `noise_sd` is None where the noise prior is too flat to be drawn from, or waits for
        the data.
        """
        require_count("n", n)
        if not isinstance(grammar, Grammar):
            raise AdjoinError(f"grammar must be an adjoin.Grammar, not {grammar!r}")
        encoding = Encoding(grammar.alphabet)
        table, rng = self.table(encoding), make_generator(seed)
        return [self._draw_model(rng, encoding, table) for _ in range(n)]

    def _draw_model(self, rng: np.random.Generator, encoding: Encoding, table: PriorTable) -> Model:
        structure = self.draw_structure(rng, encoding, table)
        sd = self.coefficient_sd
        if self.coefficient_shape is not None and self.coefficient_scale is not None:
            sd = _draw_sd(rng, self.coefficient_shape, self.coefficient_scale)
        noise = None
        if self.noise_scale is not None and self.noise_shape >= _FLAT:
            noise = _draw_sd(rng, self.noise_shape, self.noise_scale)
        return Model(structure, tuple(sd * rng.standard_normal(len(structure))), noise)

    def draw_structure(
        self, rng: np.random.Generator, encoding: Encoding, table: PriorTable
    ) -> Structure:
        r"""A structure with every term in independently with odds :math:`x = λ_t\, p(t)`.

        Where λ_t is learned, it and the terms are drawn in turn.
        """
        rate, fixed = float(self.expected_terms), encoding.alphabet.fixed
        kept = self._draw_at(rng, encoding, table, rate)
        if self.terms_shape is not None:
            for _ in range(_N_SWEEPS):
                kept = self._draw_at(rng, encoding, table, self._draw_rate(rng, len(kept)))
        constant: list[Term] = []
        if table.constant_share > 0.0 and rng.random() * (1.0 + self.constant_odds) >= 1.0:
            constant = [()]
        return Structure((*fixed.terms, *kept, *constant), fixed.names)

    def _draw_at(
        self, rng: np.random.Generator, encoding: Encoding, table: PriorTable, rate: float
    ) -> list[Term]:
        r"""The terms that are in beside the fixed ones, at one λ_t; the constant is not among them.

        A Poisson(λ_t) number of draws from p(t) hits each term Poisson(x) times; a term that was
        hit is kept with probability :math:`\frac{x}{1+x} / (1 - e^{-x})`.
        """
        hits = draw_prior_terms(rng, encoding, table, int(rng.poisson(rate)))
        odds = {term: rate * density for term, density in hits}
        kept = [t for t, x in odds.items() if rng.random() < x / (1.0 + x) / -math.expm1(-x)]
        return [term for term in kept if term not in encoding.alphabet.fixed.terms]

    def _draw_rate(self, rng: np.random.Generator, n_terms: int) -> float:
        r"""λ_t given m terms: :math:`\mathrm{Ga}(a + m, b + 1)` with b = a/`expected_terms`."""
        shape = float(self.terms_shape or 0.0)
        return float(rng.standard_gamma(shape + n_terms) / (shape / self.expected_terms + 1.0))

    def draw_learned(
        self, rng: np.random.Generator, encoding: Encoding, n: int
    ) -> tuple[Float1D, Int1D]:
        """A learned λ_t and the number of terms beside fixed ones and the constant, n in a row."""
        table, kept = self.table(encoding), 0
        rate, size = np.empty(n), np.empty(n, dtype=np.int64)
        for i in range(-_N_SWEEPS, n):
            now = self._draw_rate(rng, kept)
            kept = len(self._draw_at(rng, encoding, table, now))
            if i >= 0:
                rate[i], size[i] = now, kept
        return rate, size


@lru_cache(maxsize=8)
def _learned_rates(prior: Prior, alphabet: Alphabet) -> Float1D:
    """Draws of a learned λ_t under the prior of structures."""
    return prior.draw_learned(make_generator(0), Encoding(alphabet), _N_RATES)[0]


def without_constant(given: Prior | str, expected_terms: float = 5.0) -> Prior:
    """The same prior, by which there is never a constant."""
    return replace(Prior.read(given, expected_terms), constant_odds=0.0)


def draw_prior_terms(
    rng: np.random.Generator, encoding: Encoding, table: PriorTable, n: int
) -> list[tuple[Term, float]]:
    """So many draws from p(t), each with its p(t)."""
    atom = np.zeros((n, encoding.max_degree), dtype=np.int64)
    degree, density = np.zeros(n, dtype=np.int64), np.zeros(n)
    draw_terms(rng, table, atom, degree, density)
    terms = [tuple(encoding.atoms[i] for i in row[:d]) for row, d in zip(atom, degree, strict=True)]
    return list(zip(terms, density.tolist(), strict=True))


def _clash_table(encoding: Encoding) -> Int2D:
    """For every atom the numbers of those it never stands beside, then -1."""
    clashes = encoding.alphabet.clashes
    width = max(map(len, clashes.values()), default=0)
    table = np.full((len(encoding.atoms), width), -1, dtype=np.int64)
    for atom, others in clashes.items():
        table[encoding.number[atom], : len(others)] = [encoding.number[other] for other in others]
    return table


def _reduced_chance(encoding: Encoding, weight: Float1D) -> Float1D:
    r"""The chance that d atoms drawn independently have no clash, for d = 0 … max_degree.

    .. math::
        d!\, [z^d]\; e^{z \sum_{free} w(a)}
        \prod_g \sum_{t} \prod_{a ∈ t} \frac{(w(a) z)^{c_a}}{c_a!}

    with t the products without a clash of the atoms of a moment g: exponential generating
    functions multiply where draws may come in any order.
    """
    alphabet = encoding.alphabet
    moments, max_degree = alphabet.moments, alphabet.max_degree
    factorial = np.array([math.factorial(d) for d in range(max_degree + 1)], float)
    free = math.fsum(weight) - math.fsum(
        weight[encoding.number[a]] for together in moments for a in together
    )
    series: Float1D = max(free, 0.0) ** np.arange(max_degree + 1) / factorial
    for together in moments:
        part = np.zeros(max_degree + 1)
        for product in reduced_products(together, alphabet.clashes, max_degree):
            share = [
                weight[encoding.number[atom]] ** n / math.factorial(n)
                for atom, n in Counter(product).items()
            ]
            part[len(product)] += math.prod(share)
        series = np.convolve(series, part)[: max_degree + 1]
    return np.asarray(series * factorial)


def _reduced_powers(encoding: Encoding, weight: Float1D) -> Float1D:
    """The weight of the atoms whose power d has no other spelling, for d = 0 … max_degree."""
    alphabet = encoding.alphabet
    total = np.zeros(alphabet.max_degree + 1)
    for atom in alphabet.atoms:
        highest = alphabet.max_degree if is_reduced((atom, atom), alphabet.clashes) else 1
        total[: highest + 1] += weight[encoding.number[atom]]
    return total


def _degrees(rate: float, max_degree: int) -> Float1D:
    """P(d) for d = 0 … max_degree: d - 1 is Poisson, cut off; no term has degree 0."""
    mass = [0.0] + [rate ** (d - 1) / math.factorial(d - 1) for d in range(1, max_degree + 1)]
    return np.array(mass) / math.fsum(mass)


def _draw_sd(rng: np.random.Generator, shape: float, scale: float) -> float:
    """The root of a draw from IG(shape, scale), whose gamma variate may underflow to zero."""
    return math.sqrt(scale / max(rng.standard_gamma(shape), SMALLEST))


def _require(name: str, value: object, low: float, high: float, what: str) -> None:
    if not (isinstance(value, Real) and is_real(value) and low < float(value) < high):
        raise AdjoinError(f"{name} must be {what}, not {value!r}")
