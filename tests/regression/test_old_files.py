"""Runs that earlier versions saved load, and say what they said then.

``files`` has runs by the last adjoin that wrote each schema, and beside each what version 0.1 made
of it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import adjoin
from adjoin.inference.objective import ABC, PREDICTION, Objective

FILES = Path(__file__).parent / "files"
RUNS = {
    "schema_1_prediction": PREDICTION,
    "schema_2_prediction": PREDICTION,
    "schema_2_abc": ABC,
}


@pytest.mark.parametrize(("name", "objective"), RUNS.items())
def test_a_file_of_an_earlier_version_says_what_it_said(name: str, objective: Objective) -> None:
    posterior = adjoin.load(FILES / f"{name}.nc")
    facts = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    assert posterior.objective == objective
    assert posterior.settings["objective"] == objective.name
    assert posterior.structures["structure"].iloc[0] == facts["structure"]
    assert posterior.structures["mass"].iloc[0] == facts["mass"]
    expected = adjoin.Model.parse(facts["equation"])
    np.testing.assert_allclose(posterior.map_model.theta, expected.theta, rtol=1e-9)
    np.testing.assert_allclose(posterior.terms["mean"], facts["terms"], rtol=1e-12)
    assert posterior.noise["mean"] == pytest.approx(facts["noise"], rel=1e-12)
    assert posterior.log_posterior.sum() == pytest.approx(facts["log_posterior"], rel=1e-12)
    record = posterior.data.records[0]
    run = posterior.simulate([record.inputs[:20]], [record.output[:2]], draws=5)
    np.testing.assert_allclose(run.mean[0], facts["simulated"], rtol=1e-9)
    assert posterior.settings.runaway == 10.0
    outputs = np.concatenate(posterior.data.outputs)
    middle, half = (outputs.max() + outputs.min()) / 2.0, np.ptp(outputs) / 2.0
    limits = middle - 10.0 * half, middle + 10.0 * half
    assert posterior.map_model.limits == pytest.approx(limits)
    assert posterior.diagnostics["verdict"]["level"] in ("good", "caution", "poor")


@pytest.mark.parametrize("name", RUNS)
def test_saved_again_it_is_the_same_run(name: str, tmp_path: Path) -> None:
    posterior = adjoin.load(FILES / f"{name}.nc")
    posterior.save(tmp_path / "again.nc")
    again = adjoin.load(tmp_path / "again.nc")
    assert again.settings == posterior.settings
    assert again.structures.equals(posterior.structures)
    assert again.terms.equals(posterior.terms)
