"""Model files: what is written reads back equal, and nothing else gets through."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import structures

from adjoin import AdjoinError, Model, Structure
from adjoin.data.names import SignalNames
from adjoin.modelling.origin import Origin

MODEL = Model.parse(
    "F(k) = 0.1*u(k-1) - 3e-07*abs(udot(k))*F(k-2)^3 + 0.25*e(k-1)",
    inputs="udot, u, spare",
    noise_sd=0.125,
    offsets={"u": 293.15, "F": -1.0},
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.json"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that every example of a property test writes anew."""
    return tmp_path_factory.mktemp("models") / "model.json"


def fields(**changed: Any) -> dict[str, Any]:
    """The fields of a small model file; `...` leaves one out."""
    whole = {
        "format": "adjoin model",
        "schema_version": 1,
        "equation": "y(k) = 0.5*u(k-1)",
        "inputs": ["u"],
        "output": "y",
        **changed,
    }
    return {name: value for name, value in whole.items() if value is not ...}


def test_a_model_reads_back_equal(path: Path) -> None:
    MODEL.save(path, sampling_time=0.01)
    back = Model.read(path)
    assert back == MODEL
    assert back.names == MODEL.names
    assert back.equation == MODEL.equation


@given(data=st.data())
def test_any_model_reads_back_to_the_last_bit(shared: Path, data: st.DataObject) -> None:
    structure = data.draw(structures())
    theta = data.draw(st.lists(FINITE, min_size=len(structure), max_size=len(structure)))
    noise_sd = data.draw(st.none() | FINITE.map(abs))
    known = [*structure.names.inputs, structure.names.output]
    model = Model(
        structure, theta, noise_sd, data.draw(st.dictionaries(st.sampled_from(known), FINITE))
    )
    model.save(shared)
    back = Model.read(shared)
    assert back == model
    assert np.array(back.theta).tobytes() == np.array(model.theta).tobytes()


def test_the_file_is_json_with_the_equation_as_its_one_truth(path: Path) -> None:
    MODEL.save(path, sampling_time=0.01)
    assert json.loads(path.read_text("utf-8")) == {
        "format": "adjoin model",
        "schema_version": 1,
        "equation": "F(k) = -3e-07*abs(udot(k))*F(k-2)^3 + 0.1*u(k-1) + 0.25*e(k-1)",
        "inputs": ["udot", "u", "spare"],
        "output": "F",
        "noise": "e",
        "noise_sd": 0.125,
        "offsets": {"u": 293.15, "F": -1.0},
        "sampling_time": 0.01,
    }


@pytest.mark.parametrize("seed", [0, None, 2**53 - 1])
def test_where_a_model_came_from_is_kept(path: Path, seed: int | None) -> None:
    origin = Origin("rig.nc", "coil */ \u2028 data.csv", seed, "0.1.0")
    model = replace(MODEL, origin=origin)
    model.save(path)
    assert json.loads(path.read_text("utf-8"))["schema_version"] == 3
    assert Model.read(path).origin == origin
    assert Model.read(path) == MODEL  # it says where from, not what it is
    assert replace(model, offsets={}).expand().origin == origin


def test_a_seed_that_json_cannot_hold_is_left_out(path: Path) -> None:
    replace(MODEL, origin=Origin("a", seed=2**60)).save(path)
    assert Model.read(path).origin == Origin("a")


@pytest.mark.parametrize(
    "names",
    [SignalNames(("u",), "y", "w"), SignalNames(("e",), "y", "xi"), SignalNames((), "e", "y")],
)
def test_the_noise_keeps_its_name(names: SignalNames, path: Path) -> None:
    model = Model(Structure.parse(f"{names.noise}(k-1) + {names.output}(k-2)", names), (0.5, 0.25))
    model.save(path)
    assert Model.read(path).names == names
    assert Model.read(path) == model


def test_a_minimal_file_and_one_with_a_byte_order_mark_will_do(path: Path) -> None:
    path.write_text(json.dumps(fields()), "utf-8-sig")
    assert Model.read(path) == Model.parse("y(k) = 0.5*u(k-1)")


def test_numpy_numbers_are_written(path: Path) -> None:
    model = Model(MODEL.structure, np.float32([1, 2, 3]), np.float32(0.1))  # type: ignore[arg-type]
    model.save(path, np.float32(0.5))  # type: ignore[arg-type]
    assert Model.read(path) == model


def test_a_model_beyond_the_bounds_of_typed_equations_is_not_written(path: Path) -> None:
    term = tuple(Structure.parse("u(k)").terms[0]) * 40
    model = Model(Structure((term,), SignalNames()), (1.0,))
    with pytest.raises(AdjoinError, match=r"cannot write .*model\.json'.*power"):
        model.save(path)
    assert not path.exists()


def test_a_folder_that_is_not_there_is_an_error(path: Path) -> None:
    with pytest.raises(AdjoinError, match="no folder"):
        MODEL.save(path / "below" / "model.json")
    with pytest.raises(AdjoinError, match=r"cannot read .*model\.json'"):
        Model.read(path)


@pytest.mark.parametrize("sampling_time", [0.0, -1.0, np.inf, np.nan])
def test_a_sampling_time_that_is_none_is_not_written(path: Path, sampling_time: float) -> None:
    with pytest.raises(AdjoinError, match="cannot write"):
        MODEL.save(path, sampling_time)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": "adjoin run"}, '"format": "adjoin model"'),
        ({"format": ...}, '"format": "adjoin model"'),
        ({"schema_version": 4}, "schema version 4, and this adjoin knows 3; update adjoin"),
        ({"schema_version": 1.5}, '"schema_version" must be from 1 to 3'),
        ({"schema_version": True}, '"schema_version" must be from 1 to 3'),
        ({"schema_version": "1"}, '"schema_version" must be from 1 to 3'),
        ({"schema_version": ...}, '"schema_version" must be from 1 to 3'),
        ({"equation": ...}, '"equation" is missing'),
        ({"inputs": ...}, '"inputs" is missing'),
        ({"ofsets": {"u": 1.0}}, "unknown field 'ofsets'"),
        ({"equation": 5}, '"equation" must be a text'),
        ({"equation": "y(k) = 0.5*u(k-"}, "cannot read the equation at column"),
        ({"equation": "y(k) = a*u(k-1)"}, "'a' has no value"),
        ({"equation": "y(k) = v(k-1)"}, "v"),
        ({"equation": "y(k) = \ud800"}, '"equation" must be a text'),
        ({"output": "z"}, "the equation is for 'y'"),
        ({"output": None}, '"output" must be a text'),
        ({"output": "a b"}, "not legal"),
        ({"inputs": "u"}, '"inputs" must be a list'),
        ({"inputs": ["u", 2]}, '"inputs" must be a list'),
        ({"inputs": ["u", "u"]}, "2 signals are called 'u'"),
        ({"noise": "u"}, "name of the noise"),
        ({"origin": "rig.nc"}, '"origin" must have'),
        ({"origin": {"rune": "rig.nc"}}, '"origin" must have'),
        ({"origin": {"run": 5}}, '"run" must be a text'),
        ({"origin": {"seed": 0.5}}, '"seed" must be a whole number'),
        ({"origin": {"seed": -1}}, '"seed" must be a whole number'),
        ({"noise": None}, '"noise" must be a text'),
        ({"noise_sd": "0.1"}, '"noise_sd" must be a finite number'),
        ({"noise_sd": True}, '"noise_sd" must be a finite number'),
        ({"noise_sd": -1.0}, "noise_sd must not be negative"),
        ({"noise_sd": 10**400}, '"noise_sd" must be a finite number'),
        ({"offsets": None}, '"offsets" must be numbers'),
        ({"offsets": {"\udc00": 1.0}}, '"offsets" must be numbers'),
        ({"offsets": {"u": None}}, "offset of 'u' must be a finite number"),
        ({"offsets": {"v": 1.0}}, "offset for 'v'"),
        ({"sampling_time": 0}, '"sampling_time" must be positive'),
        ({"sampling_time": [1]}, '"sampling_time" must be a finite number'),
    ],
)
def test_fields_that_are_wrong_are_named_with_the_file(
    changed: dict[str, Any], said: str, path: Path
) -> None:
    path.write_text(json.dumps(fields(**changed)), "utf-8")
    with pytest.raises(AdjoinError) as error:
        Model.read(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    str(error.value).encode("utf-8")  # can be printed


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"y(k) = u(k-1)", "not JSON: Expecting value in line 1, column 1"),
        (b"[1, 2]", "without"),
        (b"null", "without"),
        (b"\xff\xfe{", "not text in UTF-8 (byte 0)"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b'{"noise_sd": NaN}', "NaN is not a finite number"),
        (b'{"noise_sd": -Infinity}', "-Infinity is not a finite number"),
        (b'{"format": "adjoin model", "format": "adjoin model"}', "'format' is there twice"),
        (b"9" * 10_000, "without"),
    ],
)
def test_contents_that_are_no_model_file_are_refused(content: bytes, said: str, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(AdjoinError) as error:
        Model.read(path)
    assert said in str(error.value)


def test_whole_numbers_will_do_for_numbers(path: Path) -> None:
    path.write_text(json.dumps(fields(noise_sd=2, offsets={"u": -3}, sampling_time=1)), "utf-8")
    model = Model.read(path)
    assert (model.noise_sd, model.offsets) == (2.0, {"u": -3.0})


SCRAPS = [b'"', b"{", b"[", b"}", b",", b":", b"\\ud800", b"\xff", b"1e999", b"9" * 5000, b"NaN"]
SCRAPS += [b"null", b"true", b"-", b"(", b"^", b"\x00", b"k-99999", b"e(k)", b"0", b" ", b"\n"]


@given(data=st.data())
def test_a_damaged_file_is_an_error_or_a_model_that_can_be_written(
    shared: Path, data: st.DataObject
) -> None:
    MODEL.save(shared, 0.01)
    content = shared.read_bytes()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        stop = start + data.draw(st.integers(0, 12))
        scrap = data.draw(st.sampled_from(SCRAPS) | st.binary(max_size=4))
        content = content[:start] + scrap + content[stop:]
    shared.write_bytes(content)
    try:
        model = Model.read(shared)
    except AdjoinError as error:
        str(error).encode("utf-8")
    else:
        model.save(shared)
        assert Model.read(shared) == model


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    name=st.sampled_from([*fields(), "noise", "noise_sd", "offsets", "sampling_time"]),
    value=JSON_VALUES,
)
def test_a_field_of_any_value_is_an_error_or_a_model(shared: Path, name: str, value: Any) -> None:
    shared.write_text(json.dumps(fields(**{name: value})), "utf-8")
    try:
        model = Model.read(shared)
    except AdjoinError as error:
        str(error).encode("utf-8")
    else:
        assert model.equation.startswith("y(k) = ")
