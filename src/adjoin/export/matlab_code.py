"""A model as a MATLAB function, which Octave reads too, and a script that runs it on a CSV file.

Receives a `Model`; gives two texts. Terms are added up in the order of the kernel, so that the
numbers are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from adjoin.export.card import Card
from adjoin.export.ensemble import feeds_back
from adjoin.export.histories import History, Key, find_histories
from adjoin.export.identifiers import (
    MATLAB_WORDS,
    Identifiers,
    comment_text,
    require_identifier,
    wrapped,
)
from adjoin.grammar.equation import term_text
from adjoin.grammar.functions import POS, find_function
from adjoin.grammar.terms import Atom
from adjoin.modelling.simulation import Part, in_order
from adjoin.text import counted

if TYPE_CHECKING:
    from adjoin.model import Model

_WIDTH = 90
_CALLS = {
    "abs": "abs({})",
    "sin": "sin({})",
    "cos": "cos({})",
    "tanh": "tanh({})",
    "sign": "sign({})",
    "exp": "limited_exp({})",
    "sqrtabs": "sqrt(abs({}))",
    POS: "max({}, 0)",
}
_EXP = """
function value = limited_exp(x)
% The exponential, infinite from the bound on where adjoin says so.
value = exp(x);
value(x >= 709) = inf;
end
"""


class MatlabCode(NamedTuple):
    """A function and a script that runs it; ``NAME.m`` and ``run_NAME.m``."""

    function: str
    script: str


def matlab_code(model: Model, name: str = "model", card: Card | None = None) -> MatlabCode:
    """Write the free run of a model for MATLAB and Octave.

    Parameters
    ----------
    model : Model
        What to write; its noise is zero.
    name : str
        What the function, and so its file, is called.
    card : Card, optional
        Units, sampling time and origin. Default: what the model knows of them.
    """
    require_identifier(name, MATLAB_WORDS, "a MATLAB function")
    card = card or Card.of(model)
    return MatlabCode(_function(model, name, card), _script(model, name, card))


def _function(model: Model, name: str, card: Card) -> str:
    names, lag = model.names, model.max_lag
    own = {name, f"run_{name}", "u", "y", "y_init", "k", "n", "total", "limited_exp", "value", "x"}
    identifiers = Identifiers.of_matlab(own)
    parts = in_order(model.structure, model.theta, names.output)
    parts = [part for part in parts if all(atom.signal != names.noise for atom in part.known)]
    terms = [tuple([*part.known, *part.back]) for part in parts]
    history = find_histories(terms, names, identifiers)
    given = "u" if names.inputs else "n"
    what = [
        f"the inputs, one column for each of {', '.join(map(card.signal, names.inputs))}"
        if names.inputs
        else "the number of samples",
        f"the first samples of {card.signal(names.output)}, at least {lag}; default: at rest",
    ]
    lines = [f"function y = {name}({given}, y_init)"]
    lines += _comment(f"{name.upper()}  Simulate {names.output} from its own past (a free run).")
    lines += _comment(model.format(None), "    ")
    lines += _comment(
        f"{given}: {what[0]}. y_init: {what[1]}. y: y_init and what follows, NaN where"
        " the run is lost."
    )
    for fact in card.facts(model, lag):
        lines += _comment(fact)
    if model.noise_sd is not None:
        lines += _comment(f"Noise of standard deviation {model.noise_sd:.6g} is left out.")
    lines += _comment(card.provenance)
    lines += _preparation(model, given)
    lines += [
        f"past_{h.plain} = {_call(h.word, _column(h.signal, model))};"
        for h in history.values()
        if h.signal != names.output
    ]
    plain = history.get((names.output, ""))
    output = f"past_{plain.plain}" if plain else identifiers.claim("past_output")
    lines += ["total = nan(n, 1);", f"{output} = nan(n, 1);"]
    offset = model.offsets.get(names.output, 0.0)
    lines.append(f"{output}(1:numel(y_init)) = {_shifted('y_init(:)', -offset)};")
    functions = [h for h in history.values() if h.signal == names.output and h.word]
    lines += [f"past_{h.plain} = {_call(h.word, output)};" for h in functions]
    lines.append("for k = numel(y_init) + 1:n")
    lines.append("    total(k) = 0;")
    for part, term in zip(parts, terms, strict=True):
        lines += [f"    % {line}" for line in wrapped(comment_text(term_text(term)), _WIDTH)]
        lines += _statement(part, history)
    lower, upper = model.bounds
    lines.append(f"    if ~(total(k) >= {lower!r} && total(k) <= {upper!r})")
    lines += (
        ["        total(k) = nan;", "        break"]
        if feeds_back(model)
        else ["        total(k) = nan;"]
    )
    lines.append("    end")
    if feeds_back(model):
        lines.append(f"    {output}(k) = total(k);")
        lines += [f"    past_{h.plain}(k) = {_call(h.word, f'{output}(k)')};" for h in functions]
    lines += ["end", f"y = {_shifted('total', offset)};", "y(1:numel(y_init)) = y_init(:);", "end"]
    is_exp = any(find_function(h.word).name == "exp" for h in history.values() if h.word)
    return "\n".join(lines) + "\n" + (_EXP if is_exp else "")


def _comment(text: str, indent: str = "") -> list[str]:
    return [f"% {line}" for line in wrapped(comment_text(text), _WIDTH, indent)]


def _preparation(model: Model, given: str) -> list[str]:
    n_inputs, lag = len(model.names.inputs), model.max_lag
    rest = model.offsets.get(model.names.output, 0.0)
    lines = []
    if given == "u":
        if n_inputs == 1:
            lines.append("u = u(:);")
        lines += [
            f"if size(u, 2) ~= {n_inputs}",
            f"    error('the inputs need {counted(n_inputs, 'column')}');",
            "end",
            "n = size(u, 1);",
        ]
    return [
        *lines,
        "if nargin < 2 || isempty(y_init)",
        f"    y_init = {rest!r} * ones({lag}, 1);",
        "end",
        f"if numel(y_init) < {lag} || numel(y_init) >= n",
        f"    error('y_init needs {lag} samples or more, but not all of them');",
        "end",
    ]


def _column(signal: str, model: Model) -> str:
    """An input as deviations."""
    column = f"u(:, {model.names.inputs.index(signal) + 1})"
    return _shifted(column, -model.offsets.get(signal, 0.0))


def _shifted(text: str, by: float) -> str:
    if not by:
        return text
    return f"{text} {'+' if by > 0.0 else '-'} {abs(by)!r}"


def _call(word: str, argument: str) -> str:
    if not word:
        return argument
    function = find_function(word)
    kind = POS if function.name.startswith(f"{POS}[") else function.name
    return _CALLS[kind].format(_shifted(argument, -function.shift))


def is_spelled(name: str) -> bool:
    """Whether MATLAB has a spelling for a function of the register."""
    return not name or name in _CALLS


def _statement(part: Part, history: dict[Key, History]) -> list[str]:
    factors = [repr(part.theta), *(_value(atom, history) for atom in (*part.known, *part.back))]
    line = f"    total(k) = total(k) + {' * '.join(factors)};"
    if len(line) <= _WIDTH:
        return [line]
    inner = [f"        {factor} * ..." for factor in factors[:-1]]
    return ["    total(k) = total(k) + ...", *inner, f"        {factors[-1]};"]


def _value(atom: Atom, history: dict[Key, History]) -> str:
    found = history[atom.signal, atom.function]
    return f"past_{found.plain}(k - {atom.lag})" if atom.lag else f"past_{found.plain}(k)"


def _script(model: Model, name: str, card: Card) -> str:
    names = model.names
    columns = ", ".join(f"'{signal}'" for signal in names.inputs)
    lines = _comment(f"Run {name}.m on a table: a CSV file with a header and one row per sample.")
    lines += _comment(
        f"Columns are found by their names, such as {names.output}; where the output was measured,"
        f" its first {model.max_lag} samples begin the run. The result goes to"
        f" {name}_simulated.csv."
    )
    lines += _comment(card.provenance)
    n_inputs = len(names.inputs)
    lines += [
        "if ~exist('file', 'var')",
        "    file = 'data.csv';  % which table",
        "end",
        f"columns = {{{columns}}};",
        f"output = '{names.output}';",
        "rows = strsplit(strtrim(strrep(fileread(file), char(13), '')), char(10));",
        "% Names are those of the header, with or without their units.",
        "head = strrep(strsplit(rows{1}, ','), '\"', '');",
        "whole = regexprep(regexprep(head, '\\W+', '_'), '^_+|_+$', '');",
        "plain = regexprep(regexprep(head, '[\\[(].*$', ''), '\\W+', '_');",
        "plain = regexprep(plain, '^_+|_+$', '');",
        "cells = regexp(rows(2:end)', ',', 'split');",
        "cells = vertcat(cells{:});",
        f"u = zeros(size(cells, 1), {n_inputs});",
        f"for i = 1:{n_inputs}",
        "    place = find(strcmp(plain, columns{i}) | strcmp(whole, columns{i}), 1);",
        "    if isempty(place)",
        "        error('%s has no column %s', file, columns{i});",
        "    end",
        "    u(:, i) = str2double(cells(:, place));",
        "end",
        "y_init = [];",
        "place = find(strcmp(plain, output) | strcmp(whole, output), 1);",
        "if ~isempty(place)",
        f"    y_init = str2double(cells(1:{model.max_lag}, place));",
        "end",
        f"simulated = {name}({'u' if n_inputs else 'size(cells, 1)'}, y_init);",
        f"result = fopen('{name}_simulated.csv', 'w');",
        f"fprintf(result, '{names.output}\\n');",
        "fprintf(result, '%.17g\\n', simulated);",
        "fclose(result);",
    ]
    return "\n".join(lines) + "\n"
