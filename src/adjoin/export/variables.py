"""The variables of an FMU, and the C that connects them with the model.

Receives what `c_code` or `c_ensemble` made; gives `Variable` objects in the order of their numbers,
and ``adjoin_wiring.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adjoin.export.c_parts import CCode
from adjoin.export.card import Card
from adjoin.export.identifiers import plain_text

if TYPE_CHECKING:
    from adjoin.model import Model

START, TIME = "start of the output", "time"


@dataclass(frozen=True)
class Variable:
    """One variable of an FMU.

    Parameters
    ----------
    name : str
        Unique in the FMU.
    causality : str
        ``input``, ``output``, ``parameter`` or ``independent``, as the standard has it.
    description : str
        For people.
    unit : str
        Empty where it is not known.
    start : float, optional
        Its value before anything is set.
    """

    name: str
    causality: str
    description: str
    unit: str = ""
    start: float | None = None


def find_variables(model: Model, code: CCode, card: Card) -> list[Variable]:
    """Inputs, outputs, the value of the output before the first sample, time: in that order."""
    names = model.names
    taken: set[str] = set()

    def claim(wanted: str) -> str:
        name = wanted
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    found = [
        Variable(
            claim(name),
            "input",
            f"input {name}",
            card.units.get(name, ""),
            model.offsets.get(name, 0.0),
        )
        for name in names.inputs
    ]
    unit = card.units.get(names.output, "")
    for wanted in code.outputs:
        what = _describe(wanted.removeprefix(names.output), names.output)
        own = "" if wanted.endswith("_n_lost") and len(code.outputs) > 1 else unit
        found.append(Variable(claim(wanted), "output", what, own))
    rest = model.offsets.get(names.output, 0.0)
    before = f"{names.output} at all samples before the first"
    found.append(Variable(claim(f"{names.output}_start"), "parameter", before, unit, rest))
    found.append(Variable(claim(TIME), "independent", "time of the sample", "s"))
    return found


def _describe(ending: str, output: str) -> str:
    """What an output of an ensemble is, by the ending of its name."""
    if not ending:
        return f"{output} by the model"
    plain = ending.lstrip("_")
    if plain.startswith("q"):
        percent = plain[1:].replace("_", ".")
        return f"{percent} % of samples of {output} are expected below"
    return {
        "sd": f"standard deviation of {output}, of models and noise",
        "model_sd": f"how far the models differ in {output}: the standard deviation of their runs",
        "n_lost": "how many runs are lost",
    }[plain]


def wiring_text(
    model: Model, code: CCode, card: Card, variables: list[Variable], token: str
) -> str:
    """The header by which the same C serves every model; nothing of a user's text is in it."""
    n_inputs, n_outputs, name = len(model.names.inputs), len(code.outputs), code.name
    starts = [v.start or 0.0 for v in variables if v.start is not None]
    inputs = "".join(f", input[{i}]" for i in range(n_inputs))
    rest = "".join(f", start_value[{i}]" for i in range(n_inputs))
    if n_outputs == 1:
        step = f"    output[0] = {name}_step(state{inputs});"
    else:
        n_bands = n_outputs - 4
        members = ["mean", "sd", "model_sd", *(f"band[{i}]" for i in range(n_bands))]
        lines = [f"    {name}_output found;", f"    {name}_step(state{inputs}, &found);"]
        lines += [f"    output[{i}] = found.{member};" for i, member in enumerate(members)]
        lines.append(f"    output[{n_outputs - 1}] = (double)found.n_lost;")
        step = "\n".join(lines)
    unread = "" if n_inputs else "    (void)input;\n"
    return f"""/* adjoin_wiring.h: which model the FMU has. */
#ifndef ADJOIN_WIRING_H
#define ADJOIN_WIRING_H

#include "{name}.h"

#define N_INPUTS {n_inputs}
#define N_OUTPUTS {n_outputs}
#define SAMPLING_TIME {card.step!r}
#define TOKEN "{plain_text(token)}"

typedef {name}_state adjoin_state;

/* Of the inputs, then of the output. */
static const double start_value[N_INPUTS + 1] = {{{", ".join(map(repr, starts))}}};

/* Inputs at rest, and an output that has always been the same. */
static void adjoin_start(adjoin_state *state, double output)
{{
    int k;
    {name}_init(state);
    for (k = 0; k < {name}_max_lag; k++)
        {name}_seed(state{rest}, output);
}}

static void adjoin_step(adjoin_state *state, const double *input, double *output)
{{
{unread}{step}
}}

#endif
"""
