"""FMUs: valid by the standard's schema, and simulated by fmpy they are the model."""

from __future__ import annotations

import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.export.models import Drawn, draw_many
from tests.export.test_c_code import STRICTER, TEXTS

from adjoin import AdjoinError, Dataset, Model, Structure
from adjoin.export import fmu
from adjoin.export.card import Card
from adjoin.export.check import response
from adjoin.export.compiling import find_compiler
from adjoin.export.ensemble import Ensemble
from adjoin.export.fmu import fmu_files, write_fmu
from adjoin.modelling.digits import FittedTo
from adjoin.results.prediction import BANDS

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of fmpy and what it imports
    pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler"),
]
STEP = 0.5
VERSIONS: tuple[Literal[2, 3], ...] = (2, 3)


@pytest.fixture(scope="module")
def fmpy() -> Any:
    return pytest.importorskip("fmpy", reason="fmpy is not installed: it is part of the dev extra")


def delayed(drawn: Drawn) -> Drawn:
    """The same with inputs that act a sample later at the earliest.

    fmpy reads outputs before it sets the inputs of the same time.
    """
    model = drawn.model
    theta = {
        tuple(atom._replace(lag=max(atom.lag, 1)) for atom in term): value
        for term, value in zip(model.structure, model.theta, strict=True)
    }
    structure = Structure(tuple(theta), model.names)
    value = {frozenset(term): value for term, value in theta.items()}
    found = replace(model, structure=structure, theta=tuple(value[frozenset(t)] for t in structure))
    return drawn._replace(model=found)


def from_rest(subject: Model | Ensemble, u: np.ndarray, start: float | None = None) -> np.ndarray:
    """What Python says where all has been at rest, but for the output."""
    models = subject.models if isinstance(subject, Ensemble) else (subject,)
    lag = max(model.max_lag for model in models)
    offset = models[0].offsets
    rest = [offset.get(name, 0.0) for name in models[0].names.inputs]
    padded = np.vstack([np.tile(rest, (lag, 1)).reshape(lag, len(rest)), u])
    before = offset.get(models[0].names.output, 0.0) if start is None else start
    return response(subject, padded, np.full(lag, before))[lag:]


def simulated(fmpy: Any, path: Path, names: tuple[str, ...], u: np.ndarray) -> Any:
    """What fmpy makes of an FMU: every output at the times of the samples."""
    times = STEP * np.arange(len(u))
    kinds = [("time", float), *((name, float) for name in names)]
    signals = np.array([tuple(row) for row in np.column_stack([times, u])], dtype=kinds)
    stop = float(times[-1])
    return fmpy.simulate_fmu(str(path), input=signals if names else None, stop_time=stop)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_fmpy_simulates_what_the_model_does(
    fmpy: Any, tmp_path: Path, fmi: Literal[2, 3], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fmpy.validation import validate_fmu

    # Without optimising, which takes most of the time and changes no digit.
    monkeypatch.setattr(fmu, "EXACT", ("-O0", "-ffp-contract=off"))
    many, _ = draw_many(20, 120, seed=11, max_lag=20)
    for drawn in map(delayed, many):
        model, path = drawn.model, tmp_path / "model.fmu"
        write_fmu(model, path, fmi, STEP, binary=True)
        assert validate_fmu(str(path)) == []
        found = simulated(fmpy, path, model.names.inputs, drawn.u)
        reference = from_rest(model, drawn.u)[:, 0]
        assert found["time"].tolist() == (STEP * np.arange(120)).tolist()
        error = np.abs(found["y"] - reference).max() / np.abs(reference).max()
        assert error < 1e-9, model


@pytest.mark.parametrize("fmi", VERSIONS)
def test_an_ensemble_has_its_bands_as_outputs(
    fmpy: Any, tmp_path: Path, fmi: Literal[2, 3]
) -> None:
    from fmpy.validation import validate_fmu

    models = tuple(Model.parse(f"y(k) = {a}*u(k-1) + 0.5*y(k-1)") for a in (0.4, 0.5, 0.7))
    ensemble = Ensemble(models, (0.1, 0.2, 0.3), BANDS, "")
    write_fmu(ensemble, tmp_path / "many.fmu", fmi, STEP, "many", binary=True)
    assert validate_fmu(str(tmp_path / "many.fmu")) == []
    u = np.random.default_rng(0).normal(size=(50, 1))
    found = simulated(fmpy, tmp_path / "many.fmu", ("u",), u)
    reference = from_rest(ensemble, u)
    names = ["y", "y_sd", "y_model_sd", "y_q2_5", "y_q16", "y_q50", "y_q84", "y_q97_5", "y_n_lost"]
    assert list(found.dtype.names) == ["time", *names]
    for column, name in zip(reference.T, names, strict=True):
        np.testing.assert_allclose(found[name], column, rtol=1e-9, atol=1e-12)


def open_slave(fmpy: Any, path: Path, fmi: int) -> Any:
    """An instance of an FMU, to be stepped by hand."""
    folder = fmpy.extract(str(path))
    description = fmpy.read_model_description(folder)
    return fmpy.instantiate_fmu(folder, description, fmi_type="CoSimulation")


@pytest.mark.parametrize("fmi", VERSIONS)
def test_outputs_are_of_the_inputs_as_they_are_set_and_states_can_be_saved(
    fmpy: Any, tmp_path: Path, fmi: Literal[2, 3]
) -> None:
    model = Model.parse("y(k) = 0.5*u(k) + 0.25*u(k-1) + 0.5*y(k-2)", offsets={"u": 1.0})
    model.fmu(tmp_path / "model.fmu", fmi, STEP, binary=True)
    slave = open_slave(fmpy, tmp_path / "model.fmu", fmi)
    put = slave.setReal if fmi == 2 else slave.setFloat64
    get = slave.getReal if fmi == 2 else slave.getFloat64
    u = np.random.default_rng(0).normal(size=(30, 1))

    def begin(start: float) -> None:
        if fmi == 2:
            slave.setupExperiment(startTime=0.0)
        slave.enterInitializationMode()
        put([2], [start])
        slave.exitInitializationMode()

    def run(samples: np.ndarray, first: int) -> list[float]:
        found = []
        for k, value in enumerate(samples[:, 0], first):
            put([0], [float(value)])
            found.append(get([1])[0])
            slave.doStep(k * STEP, STEP)
        return found

    begin(3.0)
    reference = from_rest(model, u, 3.0)[:, 0].tolist()
    assert run(u[:10], 0) == reference[:10]
    saved = slave.getFMUState()
    assert run(u[10:], 10) == reference[10:]
    packed = slave.serializeFMUState(saved)
    slave.setFMUState(slave.deserializeFMUState(packed))
    assert run(u[10:], 10) == reference[10:]
    slave.freeFMUState(saved)
    slave.reset()
    begin(-1.0)
    assert run(u, 0) == from_rest(model, u, -1.0)[:, 0].tolist()
    with pytest.raises(Exception, match="failed with status"):
        slave.doStep(0.0, 0.3 * STEP)
    with pytest.raises(Exception, match="failed with status"):
        put([2], [0.0])  # only before the start
    slave.terminate()
    slave.freeInstance()


@pytest.mark.parametrize("fmi", VERSIONS)
def test_the_sources_fit_the_headers_of_the_standard(
    fmpy: Any, tmp_path: Path, fmi: Literal[2, 3]
) -> None:
    model = Model.parse("y(k) = 0.5*u(k) + 0.5*y(k-2)")
    headers = Path(fmpy.__file__).parent / "c-code"
    for path, content in fmu_files(model, fmi, STEP).items():
        (tmp_path / Path(path).name).write_bytes(content)
    flags = [flag for flag in STRICTER if flag != "-Wshadow"]
    for extra in ([f"-isystem{headers}"], ["-DADJOIN_OWN_FMI"]):
        for source in ("model.c", f"adjoin_fmi{fmi}.c"):
            command = [*find_compiler(), *flags, *extra, "-c", source, "-o", "out.o"]
            subprocess.run(command, cwd=tmp_path, check=True)
    missing = tmp_path / "all.c"
    declared = (headers / f"fmi{fmi}Functions.h").read_text(encoding="utf-8")
    defined = (tmp_path / f"adjoin_fmi{fmi}.c").read_text(encoding="utf-8")
    assert "DoStep" in declared
    assert "DoStep" in defined
    assert not missing.exists()


@pytest.mark.slow
@pytest.mark.parametrize("fmi", VERSIONS)
def test_a_tool_compiles_the_sources(fmpy: Any, tmp_path: Path, fmi: Literal[2, 3]) -> None:
    from fmpy.build import build_platform_binary

    model = Model.parse("y(k) = 0.5*u(k-1) + 0.5*y(k-2)")
    model.fmu(tmp_path / "model.fmu", fmi, STEP)
    folder = fmpy.extract(str(tmp_path / "model.fmu"), str(tmp_path / "extracted"))
    build_platform_binary(folder)
    u = np.random.default_rng(0).normal(size=(50, 1))
    found = simulated(fmpy, Path(folder), ("u",), u)
    np.testing.assert_allclose(found["y"], from_rest(model, u)[:, 0], rtol=1e-12)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_the_same_model_makes_the_same_bytes(tmp_path: Path, fmi: Literal[2, 3]) -> None:
    for name in ("a", "b"):
        Model.parse("y(k) = 0.5*u(k)").fmu(tmp_path / f"{name}.fmu", fmi, STEP)
    Model.parse("y(k) = 0.25*u(k)").fmu(tmp_path / "c.fmu", fmi, STEP)
    first, second, other = ((tmp_path / f"{name}.fmu").read_bytes() for name in "abc")
    assert first == second
    with zipfile.ZipFile(tmp_path / "a.fmu") as archive:
        assert not [name for name in archive.namelist() if "binaries" in name]
    token = "guid" if fmi == 2 else "instantiationToken"
    texts = []
    for name in "ac":
        with zipfile.ZipFile(tmp_path / f"{name}.fmu") as archive:
            texts.append(archive.read("modelDescription.xml").decode().partition(f"{token}=")[2])
    assert first != other
    assert texts[0][:40] != texts[1][:40]


@pytest.mark.parametrize("fmi", VERSIONS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_users_text_is_nothing_but_text(
    fmpy: Any, tmp_path: Path, fmi: Literal[2, 3], text: str
) -> None:
    from fmpy.validation import validate_fmu

    model = Model.parse("y(k) = 0.5*int(k-1) + 0.2*y_start(k-1) + 0.1*time(k) + 0.1*y(k-1)")
    card = Card({"int": text, "y": text}, STEP, f"the run {text}")
    write_fmu(model, tmp_path / "model.fmu", fmi, name="rig", card=card)
    assert validate_fmu(str(tmp_path / "model.fmu")) == []
    description = fmpy.read_model_description(str(tmp_path / "model.fmu"))
    found = {variable.name: variable for variable in description.modelVariables}
    assert set(found) - {"time_"} == {"int", "y_start", "time", "y", "y_start_"}
    kept = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    assert found["int"].unit == kept
    assert found["y_start_"].causality == "parameter"
    plain = fmu_files(model, fmi, STEP, "rig")
    with zipfile.ZipFile(tmp_path / "model.fmu") as archive:
        same = [n for n in plain if n.startswith("sources/adjoin_fmi")]
        assert all(archive.read(name) == plain[name] for name in same)
        assert archive.read("sources/adjoin_wiring.h").isascii()


def test_units_and_the_sampling_time_are_those_of_the_data(fmpy: Any, tmp_path: Path) -> None:
    data = replace(
        Dataset.from_arrays(np.ones(9), np.arange(9.0), ["force", "speed"], 0.02),
        units=("N", "m/s"),
    )
    parsed = Model.parse("speed(k) = 0.5*force(k-3)", offsets={"speed": 7.0})
    model = replace(parsed, fitted_to=FittedTo(data, 3))
    model.fmu(tmp_path / "rig.fmu", name="rig")
    description = fmpy.read_model_description(str(tmp_path / "rig.fmu"))
    assert description.defaultExperiment.stepSize == "0.02"
    units = {v.name: (v.unit, v.start) for v in description.modelVariables}
    assert units["force"] == ("N", "0.0")
    assert units["speed_start"] == ("m/s", "7.0")


def test_what_an_fmu_cannot_be_is_refused(tmp_path: Path) -> None:
    model = Model.parse("y(k) = 0.5*u(k)")
    with pytest.raises(AdjoinError, match=r"does not know its sampling time.*\(step=0.01\)"):
        model.fmu(tmp_path / "model.fmu")
    with pytest.raises(AdjoinError, match="positive number of seconds"):
        model.fmu(tmp_path / "model.fmu", step=0.0)
    with pytest.raises(AdjoinError, match=r"let its name end in \.fmu"):
        model.fmu(tmp_path / "model.zip", step=1.0)
    with pytest.raises(AdjoinError, match="fmi must be 2 or 3"):
        model.fmu(tmp_path / "model.fmu", 1, 1.0)  # type: ignore[arg-type]
    with pytest.raises(AdjoinError, match="as files in it are"):
        model.fmu(tmp_path / "model.fmu", step=1.0, name="adjoin_fmi3")
    assert list(tmp_path.iterdir()) == []
