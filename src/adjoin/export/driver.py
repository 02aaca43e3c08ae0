"""A C program that runs exported models on records in files, to be held against Python.

Receives the C of models; gives the text of a program, and runs it: every model reads the same
layout, rows of inputs and the measured output, and writes a row of outputs for every sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adjoin.arrays import Float2D
from adjoin.export.c_parts import CCode
from adjoin.export.compiling import EXACT, STRICT, compile_program, run_program, workplace

_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arguments, four for each model: "step" or "predict", how many samples seed, and two files. */
int main(int n_arguments, char **argument)
{
    int i;
    for (i = 1; i + 3 < n_arguments; i += 4) {
        const int number = (i - 1) / 4;
        const long n_seed = strtol(argument[i + 1], NULL, 10);
        const int is_free = strcmp(argument[i], "step") == 0;
        FILE *from = fopen(argument[i + 2], "rb");
        FILE *to = fopen(argument[i + 3], "wb");
        if (from == NULL || to == NULL)
            return 2;
        run[number](from, to, n_seed, is_free);
        if (fclose(from) != 0 || fclose(to) != 0)
            return 3;
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Trial:
    """One run of one model.

    Parameters
    ----------
    code : CCode
        What is run.
    rows : (n, n_inputs + 1) array
        The inputs and the measured output.
    n_seed : int
        How many rows seed it.
    is_free : bool
        Whether it is a free run, and not predictions one step ahead.
    single : bool
        Whether its numbers are ``float``.
    """

    code: CCode
    rows: Float2D
    n_seed: int
    is_free: bool = True
    single: bool = False


def driver_text(trials: Sequence[Trial], is_whole: bool) -> str:
    """The program; with the models themselves in it if `is_whole`, else with their headers."""
    parts = [str(t.code) if is_whole else f'#include "{t.code.name}.h"\n' for t in trials]
    parts.append("#include <stdio.h>\n")
    parts += map(_runner, trials)
    table = ",\n    ".join(f"run_{trial.code.name}" for trial in trials)
    parts.append(f"static void (*const run[])(FILE *, FILE *, long, int) = {{\n    {table}\n}};\n")
    return "".join(parts) + _MAIN


def _runner(trial: Trial) -> str:
    code, n_inputs = trial.code, trial.rows.shape[1] - 1
    name, real = code.name, "float" if trial.single else "double"
    inputs = "".join(f", ({real})row[{i}]" for i in range(n_inputs))
    measured = f"{inputs}, ({real})row[{n_inputs}]"
    n_out = len(code.outputs)
    if n_out == 1:
        step = f"out[0] = (double)(is_free ? {name}_step(&state{inputs})"
        step += f" : {name}_predict(&state{measured}));"
        extra = ""
    else:
        extra = f"    {name}_output found;\n"
        step = f"(void)is_free;\n            {name}_step(&state{inputs}, &found);\n            "
        members = ["mean", "sd", "model_sd", *(f"band[{i}]" for i in range(n_out - 4)), "n_lost"]
        step += "".join(f"out[{i}] = (double)found.{m}; " for i, m in enumerate(members))
    return f"""
static void run_{name}(FILE *from, FILE *to, long n_seed, int is_free)
{{
    double row[{n_inputs + 1}], out[{n_out}];
    long k;
    int i;
    {name}_state state;
{extra}    {name}_init(&state);
    for (k = 0; fread(row, sizeof row[0], {n_inputs + 1}u, from) == {n_inputs + 1}u; k++) {{
        if (k < n_seed) {{
            {name}_seed(&state{measured});
            for (i = 0; i < {n_out}; i++)
                out[i] = row[{n_inputs}];
        }} else {{
            {step}
        }}
        (void)fwrite(out, sizeof out[0], {n_out}u, to);
    }}
}}
"""


def run_trials(trials: Sequence[Trial], flags: Sequence[str] = (*STRICT, *EXACT)) -> list[Float2D]:
    """What every trial gave: (n, n_outputs), the seeding rows as the measured output.

    A lone model is compiled from its two files, as a user does; several are one program.
    """
    is_whole = len(trials) > 1
    files = {"driver.c": driver_text(trials, is_whole)}
    if not is_whole:
        code = trials[0].code
        files |= {f"{code.name}.c": code.source, f"{code.name}.h": code.header}
    with workplace(files) as folder:
        sources = [name for name in files if name.endswith(".c")]
        program = compile_program(folder, sources, "driver", flags)
        arguments: list[str] = []
        for i, trial in enumerate(trials):
            np.ascontiguousarray(trial.rows, dtype=np.float64).tofile(folder / f"{i}.in")
            mode = "step" if trial.is_free else "predict"
            arguments += [mode, str(trial.n_seed), f"{i}.in", f"{i}.out"]
        run_program([program, *arguments], folder, "the exported code")
        return [_read(folder / f"{i}.out", trial) for i, trial in enumerate(trials)]


def _read(path: Path, trial: Trial) -> Float2D:
    return np.fromfile(path, dtype=np.float64).reshape(len(trial.rows), len(trial.code.outputs))


_FMU_MAIN = """
#include <stdio.h>
#include <stdlib.h>

#include "adjoin_wiring.h"

{declarations}
int main(int n_arguments, char **argument)
{{
    const long n = n_arguments > 1 ? strtol(argument[1], NULL, 10) : 0;
    const unsigned references[] = {{{references}}};
    double input[{n_inputs} + 1], output[{n_outputs}];
    FILE *from = fopen("in", "rb"), *to = fopen("out", "wb");
    long k;
    void *c;
    if (from == NULL || to == NULL)
        return 2;
{start}
    for (k = 0; k < n; k++) {{
        const double time = (double)k * SAMPLING_TIME;
        if (fread(input, sizeof input[0], {n_inputs}u, from) != {n_inputs}u)
            return 3;
        if ({set} != 0 || {get} != 0)
            return 4;
        (void)fwrite(output, sizeof output[0], {n_outputs}u, to);
        if ({step} != 0)
            return 5;
    }}
    fmi{fmi}FreeInstance(c);
    return fclose(from) != 0 || fclose(to) != 0 ? 6 : 0;
}}
"""

_FMI2_DECLARATIONS = """#include "adjoin_fmi2_types.h"
fmi2Component fmi2Instantiate(fmi2String, fmi2Type, fmi2String, fmi2String,
                              const fmi2CallbackFunctions *, fmi2Boolean, fmi2Boolean);
fmi2Status fmi2SetupExperiment(fmi2Component, fmi2Boolean, fmi2Real, fmi2Real, fmi2Boolean,
                               fmi2Real);
fmi2Status fmi2EnterInitializationMode(fmi2Component);
fmi2Status fmi2ExitInitializationMode(fmi2Component);
fmi2Status fmi2SetReal(fmi2Component, const fmi2ValueReference[], size_t, const fmi2Real[]);
fmi2Status fmi2GetReal(fmi2Component, const fmi2ValueReference[], size_t, fmi2Real[]);
fmi2Status fmi2DoStep(fmi2Component, fmi2Real, fmi2Real, fmi2Boolean);
void fmi2FreeInstance(fmi2Component);
"""

_FMI2_START = """    c = fmi2Instantiate("check", fmi2CoSimulation, TOKEN, "", NULL, 0, 0);
    if (c == NULL || fmi2SetupExperiment(c, 0, 0.0, 0.0, 0, 0.0) != 0
        || fmi2EnterInitializationMode(c) != 0 || fmi2ExitInitializationMode(c) != 0)
        return 7;"""

_FMI3_DECLARATIONS = """#include "adjoin_fmi3_types.h"
fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String, fmi3String, fmi3String, fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean,
    const fmi3ValueReference[], size_t, fmi3InstanceEnvironment, fmi3LogMessageCallback,
    fmi3IntermediateUpdateCallback);
fmi3Status fmi3EnterInitializationMode(fmi3Instance, fmi3Boolean, fmi3Float64, fmi3Float64,
                                       fmi3Boolean, fmi3Float64);
fmi3Status fmi3ExitInitializationMode(fmi3Instance);
fmi3Status fmi3SetFloat64(fmi3Instance, const fmi3ValueReference[], size_t, const fmi3Float64[],
                          size_t);
fmi3Status fmi3GetFloat64(fmi3Instance, const fmi3ValueReference[], size_t, fmi3Float64[], size_t);
fmi3Status fmi3DoStep(fmi3Instance, fmi3Float64, fmi3Float64, fmi3Boolean, fmi3Boolean *,
                      fmi3Boolean *, fmi3Boolean *, fmi3Float64 *);
void fmi3FreeInstance(fmi3Instance);
"""

_FMI3_START = """    bool event, terminate, early;
    double last;
    c = fmi3InstantiateCoSimulation("check", TOKEN, "", false, false, false, false, NULL, 0u, NULL,
                                    NULL, NULL);
    if (c == NULL || fmi3EnterInitializationMode(c, false, 0.0, 0.0, false, 0.0) != 0
        || fmi3ExitInitializationMode(c) != 0)
        return 7;"""


def fmu_driver_text(fmi: int, n_inputs: int, n_outputs: int) -> str:
    """A program that runs an FMU as a tool does: set inputs, get outputs, step; from rest."""
    if fmi == 2:
        set_call = f"fmi2SetReal(c, references, {n_inputs}u, input)"
        get_call = f"fmi2GetReal(c, references + {n_inputs}, {n_outputs}u, output)"
        step = "fmi2DoStep(c, time, SAMPLING_TIME, 1)"
        declarations, start = _FMI2_DECLARATIONS, _FMI2_START
    else:
        set_call = f"fmi3SetFloat64(c, references, {n_inputs}u, input, {n_inputs}u)"
        get_call = f"fmi3GetFloat64(c, references + {n_inputs}, {n_outputs}u, output, {n_outputs}u)"
        step = "fmi3DoStep(c, time, SAMPLING_TIME, true, &event, &terminate, &early, &last)"
        declarations, start = _FMI3_DECLARATIONS, _FMI3_START
    return _FMU_MAIN.format(
        fmi=fmi,
        declarations=declarations,
        start=start,
        references=", ".join(f"{i}u" for i in range(n_inputs + n_outputs)),
        n_inputs=n_inputs,
        n_outputs=n_outputs,
        set=set_call,
        get=get_call,
        step=step,
    )
