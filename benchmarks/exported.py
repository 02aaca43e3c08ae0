"""Exported C held against Python, and how fast and how large it is.

Run by ``make bench-export``. 300 random models (all functions, hinges, constants, up to 4 inputs,
lags to 50, offsets) run over 100,000 samples, compiled strictly and under sanitizers; a difference
of more than 1e-12 of the largest value fails. Then nanoseconds per step of C, of the compiled
kernel and of the Python function, and time, bytes of state and stack of an ensemble of 50.
``--n-models`` and ``--n-samples`` make it shorter.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.export.models import Drawn, draw_many, expected

from adjoin import Model, datasets
from adjoin.export.c_ensemble import c_ensemble
from adjoin.export.c_parts import CCode
from adjoin.export.compiling import EXACT, STRICT, compile_program, run_program, workplace
from adjoin.export.driver import Trial, run_trials
from adjoin.export.ensemble import Ensemble
from adjoin.kernels.simulate import run_recursion
from adjoin.kernels.state import FREE_RUN
from adjoin.modelling.simulation import lay_out_free_run
from adjoin.results.prediction import BANDS

AT_A_TIME = 25  # models in one program
BOUND = 1e-12
SANITIZED = (*STRICT, "-O1", "-g", "-ffp-contract=off", "-fsanitize=address,undefined")
SANITIZED = (*SANITIZED, "-fno-sanitize-recover=all")
TIMER = """
#include <stdio.h>
#include <time.h>
#include "timed.h"
int main(void)
{
    static timed_state state;
    volatile double sum = 0.0;
    double best = 1e30, x = 0.1;
    int round;
    for (round = 0; round < 20; round++) {
        struct timespec begun, ended;
        long k;
        timed_init(&state);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
        for (k = 0; k < N_STEPS; k++) {
            x = x * 3.7 * (1.0 - x); /* an input that no compiler foresees */
            STEP
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
        {
            const double ns = 1e9 * (double)(ended.tv_sec - begun.tv_sec)
                + (double)(ended.tv_nsec - begun.tv_nsec);
            if (ns < best)
                best = ns;
        }
    }
    printf("%.3f\\n", best / N_STEPS);
    return 0;
}
"""


def compare(many: list[Drawn], flags: tuple[str, ...]) -> tuple[float, int]:
    """The largest relative error of all models, and how many are the same to the last bit."""
    worst, n_exact = 0.0, 0
    for first in range(0, len(many), AT_A_TIME):
        part = many[first : first + AT_A_TIME]
        trials = [
            Trial(d.model.c(f"model_{i}"), d.rows, d.model.max_lag) for i, d in enumerate(part)
        ]
        for drawn, found in zip(part, run_trials(trials, flags), strict=True):
            reference = expected(drawn)
            error = np.abs(found[:, 0] - reference).max() / np.abs(reference).max()
            worst, n_exact = max(worst, float(error)), n_exact + (error == 0.0)
    return worst, n_exact


def time_c(code: CCode, n_inputs: int, n_steps: int, is_many: bool = False) -> float:
    """Nanoseconds per step of exported C with -O2, the best of 20 runs."""
    given = ", 0.05 * (x - 0.5)" * n_inputs
    step = f"sum += timed_step(&state{given});"
    if is_many:
        step = f"{{ timed_output now; timed_step(&state{given}, &now); sum += now.mean; }}"
    driver = TIMER.replace("STEP\n", f"{step}\n").replace("N_STEPS", f"{n_steps}")
    with workplace({"timed.c": code.source, "timed.h": code.header, "main.c": driver}) as folder:
        flags = ("-std=gnu99", *EXACT)
        program = compile_program(folder, ["main.c", "timed.c"], "main", flags)
        return float(run_program([program], folder, "the timer"))


def time_kernel(model: Model, n: int) -> float:
    """Nanoseconds per step of the compiled recursion, laid out beforehand."""
    u = 0.05 * np.random.default_rng(0).uniform(-0.5, 0.5, (n, len(model.names.inputs)))
    seed = np.zeros(model.max_lag)
    laid_out = lay_out_free_run(model.structure, model.theta, [u], [seed], None)
    program, data, room = laid_out
    times = []
    for _ in range(20):
        begun = time.process_time()
        run_recursion(program, data, FREE_RUN, room)
        times.append(time.process_time() - begun)
    return 1e9 * min(times) / n


def time_python(model: Model, n: int) -> float:
    """Nanoseconds per step of the function that `Model.python` writes."""
    space: dict[str, object] = {}
    exec(model.python(), space)
    u = 0.05 * np.random.default_rng(0).uniform(-0.5, 0.5, (n, len(model.names.inputs)))
    times = []
    for _ in range(3):
        begun = time.process_time()
        space["simulate"](*u.T.tolist())  # type: ignore[operator]
        times.append(time.process_time() - begun)
    return 1e9 * min(times) / n


def silverbox_ensemble(n: int) -> Ensemble:
    """The Silverbox equation with other coefficients in each draw, and in some without a term."""
    model, rng = Model.parse(datasets.SILVERBOX_EQUATION), np.random.default_rng(0)
    models = []
    for i in range(n):
        theta = tuple(t * float(rng.normal(1.0, 0.001)) for t in model.theta)
        models.append(replace(model, theta=theta))
        if i % 5 == 0:  # several structures, as a posterior has
            terms = model.structure.terms[:-1]
            shorter = replace(model.structure, terms=terms)
            models[-1] = replace(model, structure=shorter, theta=theta[:-1])
    # Noise larger than what the models differ by, as it mostly is.
    return Ensemble(tuple(models), (0.05,) * n, BANDS, "")


def stack_of(code: CCode) -> int:
    """The bytes of stack that gcc says the deepest call of a step has; 0 where it cannot."""
    with workplace({"timed.c": code.source, "timed.h": code.header}) as folder:
        flags = ("-std=c99", *EXACT, "-fstack-usage", "-fno-inline", "-c")
        compile_program(folder, ["timed.c"], "timed.o", flags)
        text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.su"))
    used = {name: int(size) for name, size in re.findall(r":(\w+)\t(\d+)\t", text)}
    inner = max(used.get("timed_evaluate", 0), used.get("timed_summarise", 0))
    return used.get("timed_step", 0) + inner


def main() -> None:
    """Compare and measure, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-models", type=int, default=300)
    parser.add_argument("--n-samples", type=int, default=100_000)
    arguments = parser.parse_args()
    many, n_lost = draw_many(arguments.n_models, arguments.n_samples, seed=0)
    size = f"{len(many)} models over {arguments.n_samples:,} samples"
    print(f"{size}; {n_lost} more were drawn that ran away\n")
    for name, flags in (("strict", (*STRICT, *EXACT)), ("sanitized", SANITIZED)):
        worst, n_exact = compare(many, flags)
        print(
            f"{name:12}largest relative difference {worst:.1e}; {n_exact} the same to the last bit"
        )
        if not worst <= BOUND:
            raise SystemExit(f"{name}: {worst:.1e} is more than {BOUND:.0e}")
    print(f"\n{'ns per step':34}{'C':>10}{'kernel':>10}{'Python':>10}{'state, bytes':>16}")
    silverbox = Model.parse(datasets.SILVERBOX_EQUATION)
    for name, model in (
        ("Silverbox, 20 terms of degree 3", silverbox),
        ("one term and its past", Model.parse("y(k) = 0.5*u(k-1) + 0.5*y(k-1)")),
    ):
        code = model.c("timed")
        c, kernel, python = (
            time_c(code, 1, 100_000),
            time_kernel(model, 100_000),
            time_python(model, 20_000),
        )
        print(f"{name:34}{c:10.1f}{kernel:10.1f}{python:10.0f}{code.n_state_bytes:16,}")
    code = c_ensemble(silverbox_ensemble(50), "timed")
    nanoseconds = time_c(code, 1, 2_000, is_many=True)
    print(f"\n50 Silverbox models with bands: {nanoseconds:,.0f} ns per step,")
    print(f"{code.n_state_bytes:,} bytes of state, {stack_of(code):,} of stack (gcc -fstack-usage;")
    print(f"{code.n_stack_bytes:,} by the header), {len(code.source):,} characters of source")


if __name__ == "__main__":
    main()
