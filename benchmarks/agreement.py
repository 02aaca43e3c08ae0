"""Whether the chains of runs with ``samples="auto"`` agree, and runs with different seeds.

Measured records as in ``real.py``: every one is fitted with several seeds at default settings, with
``samples="auto"``, and the Silverbox by the paper's split. Per seed: CPU seconds, what ended the
run, how many stages there were, how far the chains of the one reported agree, and the log posterior
of the best structure that any chain found. NMSE % of free runs: of the equation of the chain that
`Posterior.select_chain` takes by the validation part, and of means over 200 draws of all chains
alike (*pooled*) and by the weights of `Posterior.stack_chains` (*stacked*); of the Silverbox, whose
test is the full arrow, RMSE in mV. Below them, how far the
seeds are apart: the log posterior in nats, and every figure as largest over smallest.

``--json FILE`` appends a line for each finished fit and skips those that the file has. To decide
something, use ``--no-test``, which does not open the test file.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from identifier_options import add_identifier_options, cpu_seconds, identifier_settings, said
from real import FIT_SHARE, N_SEED, SETS, cell, nmse, read, read_lines, score_model, warm_up

from adjoin import Dataset, Identifier, Posterior, datasets

N_DRAWS = 200
FIGURES = ("selected", "pooled", "stacked")
Parts = tuple[Dataset, Dataset, dict[str, Dataset]]


def parts(name: str, has_test: bool) -> Parts:
    """What is fitted, what selects and weighs, and what judges."""
    if name == "silverbox":
        benchmark = datasets.silverbox(split="paper")
        assert benchmark.validation is not None
        judges = {"validation": benchmark.validation}
        if has_test:
            judges["test"] = benchmark.test
        return benchmark.train, benchmark.validation, judges
    fitted, validation = read(name, "train").split(FIT_SHARE)
    judges = {"validation": validation}
    if has_test:
        judges["test"] = read(name, "test")
    return fitted, validation, judges


def free_runs(every: Posterior, validation: Dataset, data: Dataset) -> dict[str, float | None]:
    """NMSE % of the selected equation and of the averages."""
    seeds = [record[:N_SEED] for record in data.outputs]
    found = {"selected": score_model(every.select_chain(validation).map_model, data)}
    for name, posterior in (("pooled", every), ("stacked", every.stack_chains(validation))):
        drawn = posterior.simulate(data.inputs, seeds, draws=N_DRAWS, n_jobs=1)
        found[name] = nmse(data, drawn.mean)
    return found


def fit(name: str, seed: int, settings: dict[str, Any], has_test: bool) -> dict[str, Any]:
    """One fit: a line of the file."""
    fitted, validation, judges = parts(name, has_test)
    identifier = Identifier(samples="auto", seed=seed, progress=False, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = cpu_seconds()
        every = identifier.set_params(**settings).fit(fitted).posterior_
        seconds = cpu_seconds() - begin
        stages = every.settings.stages
        return {
            "set": name,
            "seed": seed,
            "cpu_s": seconds,
            "ended_by": every.settings.ended_by,
            "stages": list(stages),
            "log_posterior": max(max(stage["log_posterior"]) for stage in stages),
            "n_terms": len(every.map_model.structure),
            "sd": {part: float(judge.outputs[0][N_SEED:].std()) for part, judge in judges.items()},
            **{part: free_runs(every, validation, judge) for part, judge in judges.items()},
        }


def row(line: dict[str, Any]) -> str:
    """One line of the file as a line of the table."""
    last = [stage for stage in line["stages"] if not stage["is_control"]][-1]
    text = (
        f"{line['set']:16}{line['seed']:4}{line['cpu_s']:7.0f}  {line['ended_by']:12}"
        f"{len(line['stages']):3}{last['rhat'] or math.nan:8.3f}{last['mass']:6.2f}"
        f"{last['inclusion']:6.2f}{line['n_terms']:5}{line['log_posterior']:11.1f} |"
    )
    for part in ("validation", "test"):
        if part in line:
            text += "".join(f"{figure(line, part, name):>10}" for name in FIGURES) + " |"
    return text


def figure(line: dict[str, Any], part: str, name: str) -> str:
    """NMSE %; of the Silverbox RMSE in mV, as everybody has it."""
    value = line[part][name]
    if line["set"] == "silverbox" and value is not None:
        value = 1e3 * line["sd"][part] * math.sqrt(value / 100.0)
    return cell(value)


def spread(lines: Sequence[dict[str, Any]]) -> str:
    """How far the seeds of one set are apart."""
    values = [line["log_posterior"] for line in lines]
    n_agree = sum(line["ended_by"] == "agreement" for line in lines)
    text = f"{lines[0]['set']:16}{n_agree} of {len(lines)} agree; best {max(values):.1f}, seeds "
    text += f"{max(values) - min(values):.1f} nats apart;"
    for part in ("validation", "test"):
        for name in FIGURES if part in lines[0] else ():
            found = [line[part][name] for line in lines]
            is_number = all(value is not None and math.isfinite(value) for value in found)
            ratio = f"{max(found) / min(found):.2f}" if is_number else "–"
            text += f" {part} {name} ×{ratio}"
    return text


HEAD = (
    f"{'set':16}{'seed':>4}{'CPU s':>7}  {'ended by':12}{'st.':>3}{'R-hat':>8}{'mass':>6}"
    f"{'incl.':>6}{'n':>5}{'log post.':>11} |" + "".join(f"{name:>10}" for name in FIGURES) + " |"
)


def main() -> None:
    """Fit what was asked for, print a line for each, and how far seeds are apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="SET", action="append", choices=[*SETS, "silverbox"])
    parser.add_argument("--seed", type=int, action="append", help="default 0, 1, 2")
    parser.add_argument("--json", metavar="FILE", help="append a line per fit; skip what is there")
    parser.add_argument("--no-test", action="store_true", help="leave the test files alone")
    add_identifier_options(parser)
    options = parser.parse_args()
    settings, lines = identifier_settings(options), []
    known = {}
    for line in read_lines(options.json) if options.json else ():
        known[line["set"], line["seed"], line["said"]] = line
    warm_up(["prediction"])
    print(f"samples='auto', {said(options)}; free runs: validation, then test\n{HEAD}", flush=True)
    for name in options.only or [*SETS, "silverbox"]:
        group = []
        for seed in options.seed or (0, 1, 2):
            line = known.get((name, seed, said(options)))
            if line is None:
                line = fit(name, seed, settings, not options.no_test) | {"said": said(options)}
                if options.json:
                    with Path(options.json).open("a") as file:
                        file.write(json.dumps(line) + "\n")
            group.append(line)
            print(row(line), flush=True)
        lines.append(group)
    print(*map(spread, lines), sep="\n")


if __name__ == "__main__":
    main()
