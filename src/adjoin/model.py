"""`Model`: one equation with numbers, which can be typed, printed, drawn and run.

Receives a structure (``grammar``) with coefficients; hands runs to ``simulation``. Predictions take
and return the user's own units.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.checks import is_count
from adjoin.data.dataset import Dataset
from adjoin.data.gate import as_inputs, as_seeds, as_series, require_same_lengths
from adjoin.data.names import SignalNames
from adjoin.data.timing import require_step
from adjoin.errors import AdjoinError, DivergenceWarning
from adjoin.export.c_code import c_code
from adjoin.export.c_parts import CCode
from adjoin.grammar import Atom, Grammar, Structure, Term
from adjoin.grammar.derivation import DerivedTree
from adjoin.grammar.equation import equation_latex, equation_sympy, equation_text, term_text
from adjoin.grammar.functions import find_function, hinge_word, is_hinge
from adjoin.grammar.parser import read_equation
from adjoin.grammar.terms import powers
from adjoin.modelling.digits import ENOUGH, Digits, FittedTo, enough_digits, rounded_text
from adjoin.modelling.model_file import read_model, write_model
from adjoin.modelling.origin import Origin
from adjoin.modelling.python_code import python_code
from adjoin.modelling.simulation import WIDEST, Response, free_run, predict

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, repr=False)
class Model:
    r"""A structure with its coefficients.

    .. math:: y(k) - o_y = \sum_j θ_j \prod_{a \in t_j} (x_a(k - l_a) - o_a) + ε(k)

    Parameters
    ----------
    structure : Structure
        The terms t_j.
    theta : iterable of float
        The coefficients θ_j, in the order of ``structure.terms``.
    noise_sd : float, optional
        Standard deviation of ε, where known.
    offsets : mapping of str to float, optional
        The offsets o by signal name; zero for signals that are not named. The equation is printed
        in deviations from them, while data go in and come out in raw units.
    limits : (float, float), optional
        A free run is lost at the first sample below or above, in raw units: models that were
        learned have the range of what they were fitted to, and some; see `Identifier`, ``runaway``.
        Without them, as of a typed equation, it is lost beyond 1e100. They say where an equation
        can be trusted, not what it is: models that differ in nothing else are equal.
    fitted_to : FittedTo, optional
        The data it was fitted to, where it was: `equation` then has as many digits as its free run
        there needs. Models are compared without it.

    Examples
    --------
    >>> model = Model.parse("y(k) = 0.5*u(k-1) + 0.3*y(k-1)")
    >>> model.simulate([1.0, 1.0, 1.0], y_init=[0.0])
    array([0.  , 0.5 , 0.65])
    """

    structure: Structure
    theta: tuple[float, ...]
    noise_sd: float | None = None
    offsets: Mapping[str, float] = field(default_factory=dict, hash=False)
    limits: tuple[float, float] | None = field(default=None, compare=False)
    fitted_to: FittedTo | None = field(default=None, compare=False, kw_only=True)
    origin: Origin | None = field(default=None, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        theta = tuple(_number(value, "a coefficient") for value in self.theta)
        if len(theta) != len(self.structure):
            raise AdjoinError(
                f"{len(theta)} coefficients for {len(self.structure)} terms ({self.structure})"
            )
        if self.noise_sd is not None and _number(self.noise_sd, "noise_sd") < 0.0:
            raise AdjoinError(f"noise_sd must not be negative, but is {self.noise_sd}")
        known = (*self.names.inputs, self.names.output)
        offsets = {n: _number(o, f"the offset of '{n}'") for n, o in self.offsets.items()}
        if strangers := [name for name in offsets if name not in known]:
            raise AdjoinError(
                f"there is an offset for '{strangers[0]}', but the signals are {', '.join(known)}"
            )
        if self.limits is not None:
            object.__setattr__(self, "limits", _limits(self.limits))
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "offsets", {n: o for n, o in offsets.items() if o})

    @classmethod
    def parse(
        cls,
        text: str,
        inputs: str | Iterable[str] | None = None,
        constants: Mapping[str, float] | None = None,
        noise_sd: float | None = None,
        offsets: Mapping[str, float] | None = None,
    ) -> Self:
        """Read an equation such as ``y(k) = 0.5*u(k-1) - 0.3*u(k-5)^3 + 0.3*y(k-1)``.

        Parameters
        ----------
        text : str
            A sum of products; the left-hand side names the output. Equal terms are added up.
        inputs : str or iterable of str, optional
            The inputs in order (the columns of ``u``), including any that do not occur; a string
            is split at commas. Default: in the order in which they appear. The name ``e`` is the
            noise, unless an input is called so.
        constants : mapping of str to float, optional
            Values of named coefficients, as ``Cd`` in ``F(k) = Cd*u(k)*abs(u(k))``.
        noise_sd, offsets
            As for the class.
        """
        equation = read_equation(text, None, constants, inputs)
        return cls(equation.structure, equation.theta, noise_sd, offsets or {})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file, as `save` writes it."""
        fields = read_model(path)
        try:
            return cls(*fields[:-1], origin=fields.origin)
        except AdjoinError as error:
            raise AdjoinError(f"'{path}' is not a model file that can be read: {error}") from None

    def save(self, path: str | os.PathLike[str], sampling_time: float | None = None) -> None:
        """Write a JSON model file, whole or not at all; ``adjoin simulate`` and `read` take it.

        `sampling_time`, the seconds between two samples, goes into it as a remark.
        """
        write_model(self, path, sampling_time)

    @property
    def names(self) -> SignalNames:
        """The declared signals."""
        return self.structure.names

    @property
    def max_lag(self) -> int:
        """How many samples a prediction needs before it."""
        return self.structure.max_lag

    @property
    def coefficients(self) -> dict[str, float]:
        """Coefficients by term text."""
        return dict(zip(map(term_text, self.structure), self.theta, strict=True))

    @cached_property
    def digits(self) -> Digits:
        """How many digits `equation` and `printed_offsets` have, worked out once; see `Digits`."""
        return enough_digits(self)

    @property
    def equation(self) -> str:
        """The equation, in deviations from `offsets`, as `parse` reads it back.

        A fitted model has as many digits as it takes for the free run on the data it was fitted to
        to stay the same within 1 % of the noise; any other reads back exactly the same numbers, as
        ``format(None)`` does of all. A centred model is ``Model.parse(model.equation,
        inputs=model.names.inputs, offsets=model.offsets)``.
        """
        return self.format()

    def format(self, digits: int | Literal["enough"] | None = ENOUGH) -> str:
        """The equation with so many significant digits.

        Default: as `equation`. None: as many as read back exactly.
        """
        chosen, _ = self._digits(digits)
        return equation_text(self.names.output, self.structure.terms, self.theta, chosen)

    def _digits(self, digits: int | Literal["enough"] | None) -> tuple[int | None, int | None]:
        """Of coefficients and offsets."""
        if digits == ENOUGH:
            return self.digits.coefficients, self.digits.offsets
        if digits is not None and not is_count(digits):
            raise AdjoinError(
                f"digits must be at least 1, or None for all there are, not {digits!r}"
            )
        return digits, digits

    @property
    def printed_offsets(self) -> dict[str, str]:
        """The offsets by signal name, with as many digits as the free run needs."""
        return {n: rounded_text(o, self.digits.offsets) for n, o in self.offsets.items()}

    def __repr__(self) -> str:
        return f"Model('{self}')"

    def __str__(self) -> str:
        text = self.equation
        if self.offsets:
            stated = ", ".join(f"{name} from {o}" for name, o in self.printed_offsets.items())
            text += f"    (deviations: {stated})"
        return text + (f"    ({self.digits.remark})" if self.digits.remark else "")

    def _repr_html_(self) -> str:
        from adjoin.modelling.mathml import model_html

        return model_html(self)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def latex(self, digits: int | Literal["enough"] | None = ENOUGH) -> str:
        """The equation in LaTeX, digits as for `format`; tildes mark offsets, said behind it."""
        return equation_latex(
            self.names.output,
            self.structure.terms,
            self.theta,
            *self._digits(digits),
            self.offsets,
        )

    def sympy(self) -> sympy.Eq:
        """The equation as a SymPy equality in raw signals, offsets written out.

        It holds every digit; SymPy shows 15 of them.
        """
        return equation_sympy(self.names.output, self.structure.terms, self.theta, self.offsets)

    def python(self, function_name: str = "simulate") -> str:
        """The free run as the source of a Python module that needs no other package."""
        return python_code(self, function_name)

    def c(self, name: str = "model", single: bool = False) -> CCode:
        """The model as C99, free run and one step ahead; see `adjoin.export.c_code.c_code`."""
        return c_code(self, name, single)

    def matlab(self, name: str = "model") -> str:
        """The free run as a MATLAB function, ``NAME.m``, which Octave reads too."""
        from adjoin.export.matlab_code import matlab_code

        return matlab_code(self, name).function

    def fmu(
        self,
        path: str | os.PathLike[str],
        fmi: Literal[2, 3] = 3,
        step: float | None = None,
        name: str = "model",
        binary: bool = False,
    ) -> None:
        """Write the model as an FMU, source code without Python; see `adjoin.export.fmu`."""
        from adjoin.export.fmu import write_fmu

        write_fmu(self, path, fmi, step, name, binary)

    def tree(self) -> DerivedTree:
        """The derived tree of the structure in the smallest grammar that has it."""
        return Grammar.smallest(self.structure).derive(self.structure)

    def expand(self) -> Model:
        r"""The same model as a polynomial in raw signals, without offsets.

        .. math:: (x - o)^n = \sum_{j=0}^{n} \binom{n}{j} (-o)^{n-j} x^j

        The expansion is exact; it adds terms of lower degree, down to a constant.
        """
        total: dict[Term, float] = {}
        if shift := self.offsets.get(self.names.output, 0.0):
            total[()] = shift
        for term, theta in zip(self.structure, self.theta, strict=True):
            if any(self._is_bound(atom) for atom in term):
                raise AdjoinError(
                    f"{term_text(term)} has a function of a centred signal, which no polynomial in"
                    " the raw signals equals; keep the model in deviations"
                )
            for choice in product(*(self._binomial(atom, n) for atom, n in powers(term))):
                part = tuple(atom for atom, kept, _ in choice for _ in range(kept))
                value = theta * math.prod(factor for _, _, factor in choice)
                total[part] = total.get(part, 0.0) + value
        structure = Structure(tuple(total), self.names)
        values = tuple(total[term] for term in structure)
        return replace(self, structure=structure, theta=values, offsets={})

    def _is_bound(self, atom: Atom) -> bool:
        """Whether an atom is a function of deviations that has no like of raw signals."""
        is_centred = atom.signal in self.offsets
        return is_centred and bool(atom.function) and not is_hinge(atom.function)

    def _binomial(self, atom: Atom, power: int) -> list[tuple[Atom, int, float]]:
        """(atom - o)^power as (atom, j, factor) for every power j that remains of the atom."""
        if atom.signal not in self.offsets:
            return [(atom, power, 1.0)]
        shift = -self.offsets[atom.signal]
        if atom.function:  # a hinge, whose knot moves with the signal
            knot = find_function(atom.function).shift - shift
            return [(atom._replace(function=hinge_word(knot)), power, 1.0)]
        return [(atom, j, math.comb(power, j) * shift ** (power - j)) for j in range(power + 1)]

    @property
    def bounds(self) -> tuple[float, float]:
        """Where a free run is lost, in deviations from the output's offset."""
        if self.limits is None:
            return WIDEST
        lower, upper = (limit - self.offsets.get(self.names.output, 0.0) for limit in self.limits)
        return max(lower, WIDEST[0]), min(upper, WIDEST[1])

    def simulate(self, u: Any, y_init: Any = None, noise: Any = None) -> Any:
        """Free run: simulate from the model's own outputs.

        Parameters
        ----------
        u : (n,) or (n, n_inputs) array, DataFrame, a list of them, or a Dataset
            The inputs; for a model without inputs, the number of samples.
        y_init : (n_init,) array or list of them, optional
            The first output samples, at least ``max_lag`` of them, which seed the recursion.
            Default: those of a Dataset itself; of bare inputs at rest (zero, or the output's
            offset).
        noise : (n,) array or list of them, optional
            A series added at every step and fed back; none by default.

        Returns
        -------
        (n,) array, or a list of them
            The seeding samples copied through, then the simulation; NaN from where it is lost
            (see `limits`), with a `DivergenceWarning`.
        """
        self._require_rate(u)
        inputs, several = as_inputs(u, self.names)
        seeds = as_seeds(u, y_init, self.names.output, self.max_lag)
        response = self.free_response(inputs, seeds, self._noise(noise, inputs))
        return self._finish(response, several)

    def _require_rate(self, given: Any) -> None:
        """Refuse a data set of another sampling time than the one that the model was fitted to."""
        if isinstance(given, Dataset) and self.fitted_to is not None:
            require_step(given.sampling_time, self.fitted_to.data.sampling_time, "given")

    def free_response(
        self,
        inputs: Sequence[Float2D],
        seeds: Sequence[Float1D] | None = None,
        noise: Sequence[Float1D] | None = None,
    ) -> Response:
        """As `simulate`, of arrays that are known to be good, one per record; it does not warn."""
        offset = self.offsets.get(self.names.output, 0.0)
        if seeds is None:
            seeds = [np.full(self.max_lag, offset)] * len(inputs)
        self._check_seeds(inputs, seeds)
        response = free_run(
            self.structure,
            self.theta,
            [self._deviations(record) for record in inputs],
            [seed - offset for seed in seeds],
            noise,
            self.bounds,
        )
        return self._in_raw_units(response, seeds)

    def _noise(self, noise: Any, inputs: Sequence[Float2D]) -> list[Float1D] | None:
        if noise is None:
            return None
        series, _ = as_series(noise, self.names.noise, "noise")
        if [len(record) for record in series] != [len(record) for record in inputs]:
            raise AdjoinError("the noise must have one value per sample of every record")
        return series

    def predict(self, u: Any, y: Any, steps_ahead: int = 1, noise: Any = None) -> Any:
        """Predict every sample from measured outputs up to `steps_ahead` samples before it.

        Parameters
        ----------
        u : as for `simulate`
        y : (n,) array or list of them
            The measured output.
        steps_ahead : int
            1 for one-step-ahead prediction.
        noise : (n,) array or list of them, optional
            A series added at every predicted step and fed back within the horizon; none by
            default.

        Returns
        -------
        (n,) array, or a list of them
            The first ``max_lag`` samples copied through, then the predictions.
        """
        self._require_rate(u)
        inputs, several = as_inputs(u, self.names)
        outputs, _ = as_series(y, self.names.output)
        response = self.predicted_response(inputs, outputs, steps_ahead, self._noise(noise, inputs))
        return self._finish(response, several)

    def predicted_response(
        self,
        inputs: Sequence[Float2D],
        outputs: Sequence[Float1D],
        steps_ahead: int = 1,
        noise: Sequence[Float1D] | None = None,
    ) -> Response:
        """As `predict`, of arrays that are known to be good, one per record; it does not warn."""
        if not is_count(steps_ahead):
            raise AdjoinError(f"steps_ahead must be a whole number from 1 on, not {steps_ahead!r}")
        require_same_lengths(inputs, outputs)
        seeds = [record[: self.max_lag] for record in outputs]
        self._check_seeds(inputs, seeds)
        response = predict(
            self.structure,
            self.theta,
            [self._deviations(record) for record in inputs],
            [record - self.offsets.get(self.names.output, 0.0) for record in outputs],
            int(steps_ahead),
            noise,
            self.bounds,
        )
        return self._in_raw_units(response, seeds)

    def _deviations(self, record: Float2D) -> Float2D:
        return np.subtract(record, [self.offsets.get(name, 0.0) for name in self.names.inputs])

    def _check_seeds(self, inputs: Sequence[Float2D], seeds: Sequence[Float1D]) -> None:
        if len(seeds) != len(inputs):
            raise AdjoinError(
                f"{len(inputs)} records of inputs but {len(seeds)} of initial outputs"
            )
        for number, (record, seed) in enumerate(zip(inputs, seeds, strict=True)):
            where = f" of record {number}" if len(inputs) > 1 else ""
            if len(record) <= self.max_lag:
                raise AdjoinError(
                    f"the {len(record)} samples{where} do not reach beyond the model's largest lag"
                    f" {self.max_lag}; give longer records"
                )
            if len(seed) < self.max_lag:
                raise AdjoinError(
                    f"the model looks back {self.max_lag} samples, but the initial output{where}"
                    f" has {len(seed)}; pass the first {self.max_lag} measured outputs"
                )
            if len(seed) >= len(record):
                raise AdjoinError(
                    f"the initial output{where} has {len(seed)} samples for {len(record)} input"
                    f" samples, so nothing is left to simulate; pass y[:{self.max_lag}] only"
                )

    def _in_raw_units(self, response: Response, seeds: Sequence[Float1D]) -> Response:
        offset = self.offsets.get(self.names.output, 0.0)
        for series, seed in zip(response.series, seeds, strict=True):
            np.add(series, offset, out=series)
            series[: len(seed)] = seed  # copied through to the last bit
        return response

    def _finish(self, response: Response, several: bool) -> Any:
        """Warn of divergence; a lone record comes as an array."""
        lost = [(i, at) for i, at in enumerate(response.diverged) if at is not None]
        if lost:
            where = ", ".join(
                f"sample {at}" + (f" of record {i}" if several else "") for i, at in lost
            )
            how = "diverged"
            if self.limits is not None:
                lower, upper = self.limits
                how = f"left the range it was learned in ({lower:.4g} to {upper:.4g})"
            warnings.warn(
                f"the model's prediction {how} at {where}; the samples lost there are NaN."
                " Check the units and the seeding samples, or use another model",
                DivergenceWarning,
                stacklevel=3,
            )
        return response.series if several else response.series[0]


def _limits(limits: Any) -> tuple[float, float]:
    try:
        lower, upper = limits
    except (TypeError, ValueError):
        raise AdjoinError(f"limits must be two numbers, not {limits!r}") from None
    found = _number(lower, "a limit"), _number(upper, "a limit")
    if not found[0] < found[1]:
        raise AdjoinError(f"the lower limit {lower} must be below the upper one, {upper}")
    return found


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise AdjoinError(f"{what} must be a finite number, not {value!r}")
    return number
