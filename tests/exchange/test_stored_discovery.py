"""How the terms of a run were found is kept with it, and damage to that is said clearly."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.exchange.runs import assert_made_of_the_same, load, small

from adjoin import AdjoinError, Model, Posterior
from adjoin.exchange.run_file import SCHEMA, read_run
from adjoin.exchange.sealed import read_sealed, seal
from adjoin.results.assessment import assess
from adjoin.results.average import Average
from adjoin.results.discovered import Discovered, Trial


def row(words: str, nmse: float | None, chosen: bool = False) -> dict[str, Any]:
    return {
        "words": words,
        "settings": {"objective": "simulation", "max_lag": 2},
        "n_terms": 3,
        "validation": {"nmse": nmse, "sd": 0.25, "n_lost": 0 if nmse is not None else 1},
        "cpu_s": 1.5,
        "is_checked": True,
        "chosen": chosen,
    }


def discovered(**changed: Any) -> Posterior:
    """A run whose terms were found by a comparison of three candidates."""
    trial = small()
    model = trial.map_model
    found = Discovered(
        candidates=(
            row("simulation, lag 2", 1.5),
            row("prediction, lag 3", 1.52, chosen=True),
            row("prediction, lag 9", None),
        ),
        n_tried=17,
        n_lost=2,
        folds=("part 1 of 2 of every record", "part 2 of 2 of every record"),
        beyond={"u": 1.5},
        apart=0.031,
        settings={"effort": "quick", "max_lag": None},
        average=Average((model, Model.parse("y(k) = 0.5*u(k-1) + 0.1*y(k-1)"))),
        trial=Trial(trial.traces, trial.run, trial.chain_numbers),
        timing={"scan_s": 1.5, "settle_s": 2.0, "total_s": 3.5},
        tried_on="part 2 of 2 of every record",
        tried_records=(0, 2),
    )
    run = small()
    without = replace(run, run=replace(run.run, held_out=None))
    return replace(without, discovered=replace(found, **changed))


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    expected = discovered()
    expected.save(tmp_path / "run.nc")
    found = load(tmp_path / "run.nc")
    assert_made_of_the_same(found, expected)
    assert found.discovered is not None
    assert expected.discovered is not None
    assert found.discovered.plain == expected.discovered.plain
    for one, other in zip(
        found.discovered.average.models, expected.discovered.average.models, strict=True
    ):
        assert (one.structure, one.theta) == (other.structure, other.theta)
    assert_made_of_the_same(
        Posterior(*found.discovered.trial), Posterior(*expected.discovered.trial)
    )
    found.save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "run.nc").read_bytes()


def test_the_verdict_of_a_loaded_run_begins_with_the_comparison(tmp_path: Path) -> None:
    discovered().save(tmp_path / "run.nc")
    verdict = assess(load(tmp_path / "run.nc")).verdict
    assert verdict.summary.startswith("it simulates held-out data: 98.5 %")
    assert "as good as the best of 17 models" in verdict.on_model[0]
    assert "u (1.5 times)" in verdict.on_model[1]


def test_where_nothing_was_found_the_verdict_says_so() -> None:
    rows = (row("simulation, lag 2", 103.0), row("prediction, lag 3", None))
    found = assess(discovered(candidates=rows))
    assert found.verdict.summary == "no model: nothing was found"
    assert found.verdict.level == "poor"


def test_validation_is_what_the_trial_predicted() -> None:
    run = discovered()
    train, validation = assess(run).parts
    assert train.posterior is run
    assert run.discovered is not None
    assert validation.data is run.discovered.trial.run.held_out
    assert validation.posterior.traces is run.discovered.trial.traces


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"candidates": []}, "must have candidates"),
        ({"candidates": [{"words": "x"}]}, "must have candidates"),
        ({"n_tried": -1}, "how many models were tried"),
        ({"n_lost": "two"}, "how many models were tried"),
        ({"beyond": [1.0]}, "numbers for signals"),
        ({"apart": "far"}, "distance from the average"),
        ({"folds": [3]}, "held out in words"),
        ({"settings": None}, "must have settings"),
        ({"average": []}, "must have models to average"),
        ({"average": ["{}"]}, "must have models to average"),
        ({"more": 1}, "must be a JSON object of"),
    ],
)
def test_damage_is_said_with_its_place(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    discovered().save(path)
    content = BytesIO(read_sealed(path, SCHEMA))
    with h5py.File(content, "r+") as file:
        facts = json.loads(bytes(file["discovered/facts"][:]))
        damaged = json.dumps(facts | change).encode()
        del file["discovered/facts"]
        file["discovered/facts"] = np.frombuffer(damaged, dtype=np.uint8)
    path.write_bytes(seal(content.getvalue(), SCHEMA))
    with pytest.raises(AdjoinError, match=words):
        read_run(path)


def test_a_trial_must_have_held_something_out(tmp_path: Path) -> None:
    run = small()
    without = replace(run.run, held_out=None)
    with pytest.raises(AdjoinError, match="must have data that were held out"):
        discovered(trial=Trial(run.traces, without, run.chain_numbers)).save(tmp_path / "run.nc")
