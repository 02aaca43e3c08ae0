"""What ``--check`` finds: code that is right, code that is not, and what cannot be run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.export.test_c_ensemble import posterior_of

from adjoin import Model
from adjoin.export import check
from adjoin.export.c_code import c_code
from adjoin.export.check import check_c, check_fmu, check_matlab, check_python
from adjoin.export.compiling import find_compiler
from adjoin.export.fmu import write_fmu
from adjoin.results.ensembles import draw_ensemble

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
MODEL = Model.parse("y(k) = 0.5*u(k-1) + 0.25*tanh(y(k-1))")
OTHER = Model.parse("y(k) = 0.5*u(k-1) + 0.25000001*tanh(y(k-1))")


@needs_compiler
def test_code_of_another_model_is_found_out(tmp_path: Path) -> None:
    right, wrong = check_c(MODEL, c_code(MODEL)), check_c(MODEL, c_code(OTHER))
    assert (right.is_good, wrong.is_good) == (True, False)
    assert right.error < 1e-13 < 1e-9 < wrong.error
    assert "the model brings no data" in right.words
    assert check_python(MODEL, MODEL.python()).is_good
    assert not check_python(MODEL, OTHER.python()).is_good
    for fmi in (2, 3):
        write_fmu(MODEL, tmp_path / "right.fmu", fmi, 0.1)
        write_fmu(OTHER, tmp_path / "wrong.fmu", fmi, 0.1)
        assert check_fmu(MODEL, tmp_path / "right.fmu", fmi).is_good
        assert not check_fmu(MODEL, tmp_path / "wrong.fmu", fmi).is_good


@needs_compiler
def test_a_run_that_only_one_of_them_loses_is_found_out() -> None:
    limited = Model(MODEL.structure, MODEL.theta, limits=(-0.5, 0.5))
    found = check_c(limited, c_code(MODEL))
    assert found.error == np.inf
    assert not found.is_good
    assert check_c(limited, c_code(limited)).is_good


@needs_compiler
def test_a_run_is_checked_on_its_training_record(tmp_path: Path) -> None:
    posterior, data = posterior_of(30, 0.2)
    model, ensemble = posterior.map_model, draw_ensemble(posterior, 10)
    found = check_c(model, model.c())
    assert found.is_good
    assert found.words == f"training record, {data.n_samples:,} samples"
    write_fmu(ensemble, tmp_path / "many.fmu")
    assert check_c(ensemble, posterior.c(10)).is_good
    assert check_fmu(ensemble, tmp_path / "many.fmu", 3).is_good


def test_what_cannot_be_run_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(check, "find_compiler", lambda: None)
    monkeypatch.setattr(check.shutil, "which", lambda name: None)
    write_fmu(MODEL, tmp_path / "model.fmu", 3, 0.1)
    for found in (
        check_c(MODEL, c_code(MODEL)),
        check_fmu(MODEL, tmp_path / "model.fmu", 3),
        check_matlab(MODEL, MODEL.matlab(), "model"),
    ):
        assert found.is_good is None
        assert found.error is None
        assert found.words.startswith("not run: there is no ")
