"""A model as Python source that needs nothing but the standard library.

Receives a `Model`; gives the text of a module with one function, the free run, plain enough to be
translated to another language line by line.
"""

from __future__ import annotations

import builtins
import keyword
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from adjoin.errors import AdjoinError
from adjoin.grammar.equation import term_text
from adjoin.grammar.functions import find_function
from adjoin.grammar.terms import Atom, Term, powers
from adjoin.modelling.simulation import WIDEST
from adjoin.version import __version__

if TYPE_CHECKING:
    from adjoin.model import Model

_WIDTH = 88  # of a line, as ruff and black format by default
_OWN = {"math", "k", "n_samples", "simulated", "total", "value", "y_init", "_sign"}
_UNREADABLE = {"l", "O", "I"}  # linters take them for digits


def python_code(model: Model, function_name: str = "simulate") -> str:
    r"""Write the free run of a model as a Python module without dependencies.

    .. math:: \hat y(k) = o_y + \sum_j θ_j \prod_{a \in t_j} f_a(x_a(k - l_a) - o_a)

    Parameters
    ----------
    model : Model
        What to write; its noise is zero.
    function_name : str
        What the function is called. It takes the inputs as sequences by their names, or the number
        of samples where there are none, and `y_init`, as `Model.simulate` does, and returns a list.
        A name that Python or the function has another use for gets an underscore.

    Returns
    -------
    str
        Source, formatted as by ruff where names have no more than 24 characters. Samples lost to
        divergence are NaN, as in `Model.simulate`, by the same limits.
    """
    taken = _OWN | _UNREADABLE | set(dir(builtins)) | set(keyword.kwlist)
    if not function_name.isidentifier() or function_name in taken:
        raise AdjoinError(
            f"a function cannot be called {function_name!r}; use letters, digits and _, and no name"
            " that Python has"
        )
    name_of: dict[str, str] = {}
    for signal in (*model.names.inputs, model.names.output):
        name = signal
        while name in taken:
            name += "_"
        taken.add(name)
        name_of[signal] = name
    body = [
        *_docstring(model, name_of),
        *_preparation(model, name_of),
        *_recursion(model, name_of),
    ]
    head = ['"""' + f"A model discovered by adjoin {__version__}, to be run without it." + '"""']
    parts = [*head, "", "import math", ""]
    for function in model.structure.functions:
        parts += find_function(function).python_helper.splitlines()
    signature = _signature(function_name, [name_of[name] for name in model.names.inputs])
    parts += ["", *signature, *textwrap.indent("\n".join(body), "    ").splitlines()]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def _signature(function_name: str, inputs: list[str]) -> list[str]:
    parameters = [*(inputs or ["n_samples"]), "y_init=None"]
    line = f"def {function_name}({', '.join(parameters)}):"
    if len(line) <= _WIDTH:
        return [line]
    return [f"def {function_name}(", *(f"    {parameter}," for parameter in parameters), "):"]


def _docstring(model: Model, name_of: dict[str, str]) -> list[str]:
    """What the function computes, from what, in which units."""
    names = model.names
    lines = [f'"""Simulate {names.output} from its own past.', ""]
    lines += _wrapped(model.format(None), "    ")
    facts = []
    if model.offsets:
        stated = ", ".join(f"{name} from {offset!r}" for name, offset in model.offsets.items())
        facts.append(f"The equation is in deviations: {stated}. Arguments and result are not.")
    renamed = [f"{old} is called {new}" for old, new in name_of.items() if old != new]
    if renamed:
        facts.append(f"Since Python has other uses for the names, {', '.join(renamed)}.")
    if model.noise_sd:
        facts.append(f"The noise, of standard deviation {model.noise_sd:.6g}, is left out.")
    given = "Each input is a sequence of numbers" if names.inputs else "n_samples says how many"
    seeds = f"y_init are the first values of {names.output}, at least {model.max_lag}"
    lost = f"beyond {WIDEST[1]:g}"
    if model.limits is not None:
        lost = f"below {model.limits[0]:.6g} or above {model.limits[1]:.6g}"
    facts.append(
        f"{given}; {seeds} (default: at rest). Returns a list of y_init and what follows; nan once"
        f" the simulation is {lost}."
    )
    for fact in facts:
        lines += ["", *_wrapped(fact)]
    return [*lines, '"""']


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH - 4,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _preparation(model: Model, name_of: dict[str, str]) -> list[str]:
    """Turn arguments into lists of deviations, and check their lengths."""
    names, lag = model.names, model.max_lag
    output = name_of[names.output]
    offset = model.offsets.get(names.output, 0.0)
    lines = []
    for signal in names.inputs:
        name = name_of[signal]
        lines += _deviations(name, name, model.offsets.get(signal, 0.0))
    if names.inputs:
        first, *others = (name_of[signal] for signal in names.inputs)
        lines.append(f"n_samples = len({first})")
        for name in others:
            lines += [
                f"if len({name}) != n_samples:",
                '    raise ValueError("the inputs differ in length")',
            ]
    lines += [
        "if y_init is None:",
        f"    y_init = [{_literal(offset)}] * {lag}",
        f"if not {lag} <= len(y_init) < n_samples:",
        f'    raise ValueError("y_init needs {lag} samples or more, but not all of them")',
    ]
    return lines + _deviations(output, "y_init", offset)


def _deviations(target: str, source: str, offset: float) -> list[str]:
    """Make a list of numbers, and take the offset off."""
    inner = f"float(value){_shift(-offset)} for value in {source}"
    line = f"{target} = [{inner}]"
    return [line] if len(line) <= _WIDTH - 4 else [f"{target} = [", f"    {inner}", "]"]


def _literal(value: float) -> str:
    """A number as ruff spells it, which reads back exactly."""
    return repr(value).replace("e+", "e")


def _shift(by: float) -> str:
    """`` + 1.5`` or `` - 1.5``, or nothing for nothing."""
    if not by:
        return ""
    return f" + {_literal(by)}" if by > 0.0 else f" - {_literal(-by)}"


def _recursion(model: Model, name_of: dict[str, str]) -> list[str]:
    """Compute sample after sample, a statement per term."""
    names = model.names
    output = name_of[names.output]
    offset = model.offsets.get(names.output, 0.0)
    silent = [t for t in model.structure if any(atom.signal == names.noise for atom in t)]
    heard = [
        (term, theta)
        for term, theta in zip(model.structure, model.theta, strict=True)
        if term not in silent
    ]
    # Powers and exponentials raise an error beyond the range of numbers, products do not.
    may_raise = any(
        n > 1 or find_function(atom.function).can_overflow
        for t, _ in heard
        for atom, n in powers(t)
    )
    indent = " " * (8 if may_raise else 4)
    lines = [f"for k in range(len({output}), n_samples):"]
    lines += [f"    # {term_text(term)} is left out: there is no noise." for term in silent]
    lines += ["    try:"] if may_raise else []
    lines.append(f"{indent}total = 0.0")
    for term, theta in heard:
        sign = "-" if theta < 0.0 else "+"
        lines += _statement(sign, [_literal(abs(theta)), *_factors(term, name_of)], indent)
    if may_raise:
        lines += ["    except OverflowError:", "        total = math.inf"]
    lower, upper = map(_literal, model.bounds)
    within = f"abs(total) <= {upper}" if model.bounds == WIDEST else f"{lower} <= total <= {upper}"
    lines.append(f"    if not {within}:")
    if any(atom.signal == names.output for term in model.structure for atom in term):
        lines += [f"        {output} += [math.nan] * (n_samples - k)", "        break"]
    else:
        lines.append("        total = math.nan")
    lines.append(f"    {output}.append(total)")
    if not offset:
        return [*lines, f"return {output}"]
    return [  # not from the deviations: what was given comes back to the last bit
        *lines,
        f"simulated = [value{_shift(offset)} for value in {output}[len(y_init) :]]",
        "return [float(value) for value in y_init] + simulated",
    ]


def _factors(term: Term, name_of: dict[str, str]) -> Iterable[str]:
    for atom, power in powers(term):
        yield _factor(atom, name_of) + (f" ** {power}" if power > 1 else "")


def _factor(atom: Atom, name_of: dict[str, str]) -> str:
    index = f"k - {atom.lag}" if atom.lag else "k"
    function = find_function(atom.function)
    return function.python.format(f"{name_of[atom.signal]}[{index}]{_shift(-function.shift)}")


def _statement(sign: str, factors: list[str], indent: str) -> list[str]:
    """Add a product to the total; broken into lines as ruff does where it is long."""
    line = f"{indent}total {sign}= {' * '.join(factors)}"
    room = _WIDTH - 4  # the body of the function is indented once more
    if len(line) <= room:
        return [line]
    inner = indent + "    "
    broken = [f"{inner}{' * '.join(factors)}"]
    if len(broken[0]) > room:
        first, *others = factors
        broken = [f"{inner}{first}", *(f"{inner}* {factor}" for factor in others)]
    return [f"{indent}total {sign}= (", *broken, f"{indent})"]
