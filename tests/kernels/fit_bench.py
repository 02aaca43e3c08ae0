"""What tests of slopes, fits and ellipsoids share: data, structures, and the compiled calls."""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import numba
import numpy as np
from tests.engines import abc_engine, simulation_engine

from adjoin import Dataset, Grammar, Structure
from adjoin.data.scaling import Scaling
from adjoin.grammar.terms import Term
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.engines.free_run_work import make_fit_work, make_free_run
from adjoin.inference.engines.innovations import InnovationsEngine
from adjoin.inference.engines.workspace import make_chain, write_terms
from adjoin.inference.ladder import Ladder
from adjoin.kernels.ellipsoids import is_inside, log_volume
from adjoin.kernels.fit_table import add_fit, fitted_theta, look_up
from adjoin.kernels.fits import fit_structure
from adjoin.kernels.free_run import assemble, free_run_error
from adjoin.kernels.simulate import BLOCK
from adjoin.kernels.slopes import linearise
from adjoin.kernels.state import FITTED, Chain
from adjoin.kernels.tables import FitWork

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


COEFFICIENT = 1.0


@numba.njit
def linearise_chain(chain, data, run, linear):
    assemble(chain, data, run)
    return linearise(chain.n_terms[0], run, linear)


@numba.njit
def run_chain_freely(chain, data, run):
    assemble(chain, data, run)
    return free_run_error(chain.n_terms[0], run, np.inf)[0]


@numba.njit
def fit_chain(chain, data, fitting, coefficient, level):
    """The entry of a structure, as the sampler gets it; its optimum goes to the chain."""
    entry = look_up(chain, fitting)
    if entry < 0:
        entry = add_fit(fitting, fit_structure(data, fitting, coefficient, level))
    if fitting.fits.entry.status[entry] == FITTED:
        fitted_theta(fitting, entry, chain.theta)
    return entry


@numba.njit
def tell_inside(chain, fitting, entry, theta, square, found):
    look_up(chain, fitting)
    for i in range(theta.shape[0]):
        found[i] = is_inside(fitting, entry, theta[i], square)


@numba.njit
def volume_of(data, fitting, entry, square):
    return log_volume(fitting.fits, data, entry, square)


class Bench(NamedTuple):
    """An engine's tables, and a chain to hold a structure."""

    engine: AbcEngine | InnovationsEngine
    fitting: FitWork
    chain: Chain

    def write(self, terms: list[Term], theta: Any = ()) -> None:
        write_terms(self.chain, self.engine.encoding, terms)
        self.chain.theta[: len(terms)] = theta if len(theta) else math.nan

    def run(self, terms: list[Term], theta: Any) -> tuple[float, np.ndarray]:
        """The squared error, and the output where it is compared."""
        self.write(terms, theta)
        data = self.engine.regression
        with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn of infinities
            error = run_chain_freely(self.chain, data, self.fitting.run)
        blocks = zip(data.start, data.stop, strict=True)
        predicted = self.fitting.run.data.predicted
        return error, np.concatenate([predicted[start:stop] for start, stop in blocks])

    def fit(self, terms: list[Term], level: float = math.inf) -> tuple[int, float, np.ndarray]:
        """The entry, its squared error, infinite if there is none, and the optimum."""
        self.write(terms)
        with np.errstate(all="ignore"):
            entry = fit_chain(self.chain, self.engine.regression, self.fitting, COEFFICIENT, level)
        theta = self.chain.theta[: len(terms)].copy()
        found = self.fitting.fits.entry
        error = float(found.error[entry]) if found.status[entry] == FITTED else math.inf
        return entry, error, theta

    def forget(self) -> None:
        self.fitting.table.size[:] = self.fitting.fits.n_entries[:] = 0
        self.fitting.fits.n_keys[:] = self.fitting.fits.n_values[:] = 0
        self.fitting.table.bucket[:] = self.fitting.fits.bucket[:] = -1


def make_bench(
    data: Dataset, grammar: Grammar, scaling: Scaling | None = None, is_residual: bool = False
) -> Bench:
    units = {"scaling": scaling, "is_residual": is_residual}
    if grammar.alphabet.has_noise:
        engine = simulation_engine(data, grammar.alphabet, **units)
    else:
        engine = abc_engine(data, grammar.alphabet, 10, ladder=Ladder(rungs=1), **units)
    capacity, degree = engine.capacity, engine.encoding.max_degree
    fitting = make_fit_work(make_free_run(engine.problem), capacity, degree)
    return Bench(engine, fitting, make_chain(capacity, degree))


def terms_of(text: str, grammar: Grammar) -> list[Term]:
    return list(Structure.parse(text, grammar.alphabet.names))


FUNCTIONS = ("abs", "sin", "cos", "tanh", "exp", "sqrtabs", "pos[0.3]", "pos[-0.2]")


GRAMMAR = Grammar.narx(inputs=("u", "v"), functions=FUNCTIONS, max_lag=3, max_degree=4)


TRUTH = "0.6*u(k-1) + 0.5*y(k-1) - 0.3*tanh(y(k-2)) + 0.2*v(k)*y(k-1) - 0.1*u(k)*v(k-1)"


LENGTHS = (2 * BLOCK + 40, 12, 90) if IS_COMPILED else (BLOCK + 20, 12, 30)


def rig_data(noise: float = 0.1, lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> Dataset:
    """Free runs of the truth, and noise on what is measured."""
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for n in lengths:
        u, v = rng.standard_normal((2, n))
        y = np.zeros(n)
        for k in range(2, n):
            y[k] = 0.6 * u[k - 1] + 0.5 * y[k - 1] - 0.3 * math.tanh(y[k - 2])
            y[k] += 0.2 * v[k] * y[k - 1] - 0.1 * u[k] * v[k - 1]
        inputs.append(np.column_stack([u, v]))
        outputs.append(y + noise * rng.standard_normal(n))
    return Dataset.from_arrays(inputs, outputs, names=("u", "v", "y"))


MORE = " + 0.03*abs(y(k-1)) + 0.1*cos(y(k-3))*u(k) + 0.01*exp(u(k))*y(k-2)"


EQUATIONS = {
    "the truth": TRUTH,
    "more terms": TRUTH + MORE,
    # Above or below zero throughout: at zero the root has no slope.
    "output in functions": "0.5*abs(u(k-1)) + 0.5*sqrt(abs(y(k-2))) + 0.2*sin(y(k-1))"
    " + 0.02*exp(y(k-3))*abs(u(k))",
    "output below zero": "-0.5*abs(u(k-1)) - 0.5*sqrt(abs(y(k-2))) + 0.2*abs(y(k-1))*tanh(y(k-3))",
    "powers of the output": "0.4*u(k-1) + 0.3*y(k-1) - 0.05*y(k-2)^2*y(k-1)*u(k) - 0.01*y(k-1)^4"
    " + 0.1*v(k)^2*y(k-3)^2 + 0.1*y(k-1)*y(k-2)*y(k-3)",
    "a linear output": "0.4*u(k-1) + 0.3*y(k-1) - 0.5*y(k-3)",
    "output in hinges": "0.5*u(k-1) + 0.6*y(k-1) - 0.4*pos(y(k-1) - 0.3)"
    " - 0.1*pos(y(k-2) + 0.2)*pos(v(k) - 0.3) + 0.05*pos(y(k-3) + 0.2)^2",
}


PAST_NOISE = Grammar.narx(inputs=("u", "v"), functions="tanh", max_lag=3, max_degree=3, noise=True)


PAST_NOISE_EQUATIONS = {
    "past noise": "0.6*u(k-1) + 0.5*y(k-1) + 0.6*e(k-1) - 0.2*e(k-3)",
    "products with past noise": "0.5*u(k-1) + 0.2*u(k-1)*e(k-1) - 0.03*v(k)*e(k-1)*e(k-2)"
    " + 0.02*y(k-1)*e(k-2)^2 + 0.2*tanh(u(k))*e(k-3) - 0.01*e(k-1)^3 + 0.3*tanh(y(k-2))",
}


def known_of(fitting: FitWork, entry: int) -> tuple[bytes, ...]:
    """What an entry says, wherever it lies in the pools."""
    names = ("status", "error", "foreseen", "log_det", "score", "n_terms")
    return tuple(getattr(fitting.fits.entry, name)[entry].tobytes() for name in names)


def outputs_of(bench: Bench) -> np.ndarray:
    data = bench.engine.regression
    blocks = zip(data.start, data.stop, strict=True)
    return np.concatenate([data.output[start:stop] for start, stop in blocks])


PINNED = {
    "of inputs, none fed back": ("u(k-1) + u(k)*v(k-1)", "v(k) + u(k-2) + tanh(v(k))"),
    "of inputs": ("u(k-1) + u(k)*v(k-1)", "y(k-1) + v(k)*y(k-1) + u(k-2)"),
    "of the output": ("y(k-1) + tanh(y(k-2))", "u(k-1) + u(k)*v(k-1) + v(k)"),
    "of the output, more fed back": ("tanh(y(k-2)) + v(k)*y(k-1)", "u(k-1) + y(k-1) + y(k-3)"),
    "none is free": ("y(k-1) + u(k-1)", ""),
}


"""Terms whose coefficients are given, and others."""


def make_pinned_bench(
    pinned: str, free: str, scaling: Scaling | None = None
) -> tuple[Bench, list[Term], np.ndarray]:
    """The terms in no order, and which of them are free."""
    fixed, others = terms_of(pinned, GRAMMAR), terms_of(free, GRAMMAR) if free else []
    bench = make_bench(rig_data(0.3), GRAMMAR.with_initial(pinned), scaling, is_residual=True)
    terms = [*others[:1], *fixed[::-1], *others[:0:-1]]
    return bench, terms, np.array([term not in fixed for term in terms])
