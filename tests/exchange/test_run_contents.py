"""A file with a valid seal is still not believed: what it holds must be what a run can be.

Every file here is changed through h5py and sealed again, as someone could who writes such a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.exchange.runs import assert_made_of_the_same, assert_same, free_run, load, small
from tests.systems import quick, simulated

from adjoin import AdjoinError, Posterior
from adjoin.data.timing import Timing
from adjoin.exchange.run_file import SCHEMA, read_run, write_run
from adjoin.exchange.sealed import read_sealed, seal
from adjoin.kernels.state import PROPOSALS

Change = Callable[[h5py.File], None]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return content_of(small(), tmp_path_factory.mktemp("saved"))


@pytest.fixture(scope="module")
def free_run_content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return content_of(free_run(), tmp_path_factory.mktemp("saved"))


def content_of(run: Posterior, folder: Path) -> bytes:
    write_run(run, folder / "run.nc")
    return read_sealed(folder / "run.nc", SCHEMA)


def rewrite(content: bytes, change: Change, path: Path) -> None:
    buffer = BytesIO(content)
    with h5py.File(buffer, "r+") as file:
        change(file)
    path.write_bytes(seal(buffer.getvalue(), SCHEMA))


def replaced(place: str, values: Any, **settings: Any) -> Change:
    """Another variable in the place of one, or another attribute: ``group@attribute``."""

    def change(file: h5py.File) -> None:
        group, _, attribute = place.partition("@")
        if attribute:
            file[group].attrs[attribute] = values
        else:
            del file[place]
            file.create_dataset(place, data=values, **settings)

    return change


def deleted(place: str) -> Change:
    def change(file: h5py.File) -> None:
        group, _, attribute = place.partition("@")
        if attribute:
            del file[group].attrs[attribute]
        else:
            del file[place]

    return change


def of_variable(place: str, values: np.ndarray) -> Iterator[tuple[str, Change]]:
    """Changes of a variable that no reader should let pass."""
    yield "deleted", deleted(place)
    yield "short type", replaced(place, values.astype(values.dtype.str[1] + "4"))
    yield "wrong end first", replaced(place, values.astype(values.dtype.newbyteorder(">")))
    yield "other type", replaced(place, values.astype("i8" if values.dtype.kind == "f" else "f8"))
    yield "text", replaced(place, "text")
    yield "texts", replaced(place, ["text"] * len(values))
    yield "complex", replaced(place, values.astype(complex))
    yield "one axis more", replaced(place, values[..., None])
    yield "scalar", replaced(place, values.flat[0])
    yield "no values", replaced(place, h5py.Empty(values.dtype))
    yield "empty", replaced(place, values[:0])
    yield "cut", replaced(place, values[:-1])
    yield "longer", replaced(place, np.concatenate([values, values[:1]]))
    yield "reference", replaced(place, np.array([None] * 2, dtype=h5py.ref_dtype))
    yield "link to nowhere", lambda file: (deleted(place)(file), _link(file, place))
    yield "group", lambda file: (deleted(place)(file), file.create_group(place))
    yield (
        "never written",
        lambda file: (
            deleted(place)(file),
            file.create_dataset(place, (10**12, *values.shape[1:]), values.dtype, chunks=True),
        ),
    )
    is_whole = values.dtype.kind == "i"
    bad = [-1, 2**62, -(2**63)] if is_whole else [np.nan, np.inf, -np.inf]
    if place.endswith(("noise", "coefficient", "scale", "tolerance", "width")):
        bad += [0.0, -1.0]
    elif place.endswith(("distance", "floor")):
        bad += [-1.0]
    for value in bad:
        for i in (0, -1):
            changed = values.copy()
            changed.flat[i] = value
            yield f"{value} at {i}", replaced(place, changed)


def _link(file: h5py.File, place: str) -> None:
    file[place] = h5py.SoftLink("/nowhere")


def of_attribute(place: str, value: Any) -> Iterator[tuple[str, Change]]:
    """Changes of an attribute that no reader should let pass."""
    yield "deleted", deleted(place)
    yield "two", replaced(place, np.zeros(2))
    yield "no values", replaced(place, h5py.Empty("f8"))
    yield "texts", replaced(place, ["text", "text"])
    yield "bytes", replaced(place, np.bytes_(b"\xff"))
    yield "complex", replaced(place, 1j)
    if isinstance(value, str):
        yield "not UTF-8", replaced(place, np.array(b"\xff\xfe", dtype=h5py.string_dtype()))
        if not place.endswith(("label", "noise", "reason")):  # which may be another
            yield "empty", replaced(place, "")
            yield "half", replaced(place, value[: len(value) // 2])
            yield "twice", replaced(place, value * 2)
            yield "null", replaced(place, "null")
            yield "deep", replaced(place, "[" * 100_000)
    else:
        yield "text", replaced(place, "1")
        yield "scalar", replaced(place, np.asarray(value).flat[0])
        yield "short", replaced(place, np.asarray(value).astype("f4"))
        is_whole = np.asarray(value).dtype.kind == "i"
        for bad in [-1] if is_whole else [np.nan, np.inf, -1.0]:
            yield f"{bad}", replaced(place, np.full_like(value, bad))


def every_change(content: bytes, part: str) -> list[tuple[str, Change]]:
    """Changes of everything in a group and below."""
    found: list[tuple[str, Change]] = []

    def visit(place: str, item: Any) -> None:
        if not f"/{place}".startswith(part):
            return
        if place.startswith(("chain_2", "held_out")):  # laid out as chain_0 and data are
            found.append((f"{place} deleted", deleted(place)))
            return
        for name, value in item.attrs.items():
            where = f"{place}@{name}"
            if name.startswith("_") or name == "long_name":  # for other readers than ours
                found.append((f"{where} deleted", deleted(where)))
            elif not name.isupper():  # which are HDF5's own
                found.extend((f"{where} {what}", do) for what, do in of_attribute(where, value))
        if isinstance(item, h5py.Dataset) and not item.is_scale:
            found.extend((f"{place} {what}", do) for what, do in of_variable(place, item[()]))
        else:
            found.append((f"{place} deleted", deleted(place)))

    with h5py.File(BytesIO(content)) as file:
        visit("/", file)
        found = found[:-1]  # the root cannot be deleted
        file.visititems(visit)
    return found


@pytest.mark.parametrize(
    ("make", "part", "n_least"), [(small, "/", 400), (free_run, "/chain_0/ladder", 190)]
)
def test_every_change_is_an_error_or_changes_nothing(
    make: Callable[[], Posterior], part: str, n_least: int, tmp_path: Path
) -> None:
    path, expected, messages = tmp_path / "run.nc", make(), []
    content = content_of(expected, tmp_path)
    changes = every_change(content, part)
    for what, change in changes:
        rewrite(content, change, path)
        try:
            found = load(path)
        except AdjoinError as error:
            messages.append(f"{what}: {error}")
        else:
            assert_made_of_the_same(found, expected)
    assert [message for message in messages if f"'{path}'" not in message] == []
    assert len(changes) > n_least
    assert len(messages) > 0.8 * len(changes)  # the rest are of dimensions, titles and long names


KEYS = {"u(k)": 1, "abs(u(k))": 2, "u(k-1)": 3, "abs(u(k-1))": 4, "u(k-2)": 5, "abs(u(k-2))": 6}
KEYS |= {"u(k-3)": 7, "y(k-1)": 8, "abs(y(k-1))": 9, "y(k-2)": 10, "abs(y(k-2))": 11}
BASE = len(KEYS) + 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([7, 3, 7, 8], None),  # as it is: u(k-3), and u(k-1) + u(k-3) + y(k-1)
        ([7, 7, 3, 8], "not distinct and in order"),
        ([7, 3, 7, 7], "not distinct and in order"),
        ([3, 3, 7, 8], "without the fixed terms"),
        ([7, 3, 7, 3 * BASE + 1], "is no term of the grammar"),  # u(k-1)*u(k), not in order
        ([7, 3, 7, 8 * BASE], "is no term of the grammar"),  # a digit 0
        ([7, 3, 7, BASE**2], "is no term of the grammar"),  # of degree 3
        ([0, 3, 7, 8], "is no term of the grammar"),  # a constant
        ([7, 3, 7, 7 * BASE + 8], "is no term of the grammar"),  # u(k-3) is fixed, not derivable
        ([7, 3, 7, -8], "is no term of the grammar"),
    ],
)
def test_keys_that_no_chain_could_leave_are_refused(
    keys: list[int], message: str | None, content: bytes, tmp_path: Path
) -> None:
    rewrite(content, replaced("chain_0/key", np.array(keys)), tmp_path / "run.nc")
    if message is None:
        assert_same(load(tmp_path / "run.nc"), small())
    else:
        with pytest.raises(AdjoinError, match=message):
            read_run(tmp_path / "run.nc")


def test_a_structure_that_is_there_twice_is_refused(content: bytes, tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        replaced("chain_2/key", np.array([7, 8, 7, 8]))(file)

    rewrite(content, change, tmp_path / "run.nc")
    with pytest.raises(AdjoinError, match="chain_2/key has a structure twice"):
        read_run(tmp_path / "run.nc")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_lag      2", "max_lag      999999999", "max_lag=999999999"),
        ("max_degree   2", "max_degree   999999999", "max_degree beyond"),
        ("max_lag      2", "max_lag      1", "atoms are not those of the grammar"),
        ("output       y", "output       z", "grammar"),
        ("inputs       u", "inputs       u v", "must be those of the grammar"),
    ],
)
def test_another_grammar_is_refused_however_large(
    old: str, new: str, message: str, content: bytes, tmp_path: Path
) -> None:
    def change(file: h5py.File) -> None:
        text = file.attrs["grammar"]
        assert old in text
        file.attrs["grammar"] = text.replace(old, new)

    rewrite(content, change, tmp_path / "run.nc")
    with pytest.raises(AdjoinError, match=message):
        read_run(tmp_path / "run.nc")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("/@settings", '{"prior": {"lag_decay": 2}}', "lag_decay must be"),
        ("/@settings", '{"prior": {"colour": 2}}', "known hyperparameters"),
        ("/@settings", '{"prior": [1]}', "known hyperparameters"),
        ("/@settings", '{"a": NaN}', "settings is not JSON"),
        ("/@settings", "[1]", "settings must be a JSON object"),
        ("/@settings", '{"objective": "abc"}', "settings must have the objective"),
        ("/@schema_version", np.array([0]), "schema_version 1 to 5"),
        ("/@schema_version", np.array([6]), "schema_version 1 to 5"),
        ("/@timing", '{"total_s": "long"}', "timing must be numbers"),
        ("/@timing", '{"total_s": 1' + 400 * "0" + "}", "timing must be numbers"),
        ("/@burn_in", np.array([1.0]), "burn_in must be from 0 to below 1"),
        ("/@chains", np.array([0]), "chains must be the numbers"),
        ("/@chains", np.array([0, 1]), "chains must be the numbers"),
        ("/@has_held_out", np.array([0]), "whether there is a group held_out"),
        ("/@weights", np.array([[0.5, 0.5]]), "weights must be of shape"),
        ("/@weights", np.array([0.5, 0.25]), "weights must be one number from 0 to 1"),
        ("/@weights", np.array([np.nan, 1.0]), "weights must be one number from 0 to 1"),
        ("/@weights", np.array([-0.5, 1.5]), "weights must be one number from 0 to 1"),
        ("data@n_records", np.array([10**15]), "data/n_records must be the number"),
        ("chain_0@n_samples", np.array([1]), "2 draws of 1 samples"),
        ("chain_0@n_samples", np.array([-(2**63)]), "2 draws of -9223372036854775808 samples"),
        ("chain_0/structure", np.array([0, 2]), "chain_0/structure must be from 0 to below 2"),
        ("data/record_0", np.zeros(4), "data/record_0 must be a group"),
        ("data/record_0/y", np.zeros(4), "data/record_0/u must be of shape"),
    ],
)
def test_errors_name_the_place_and_say_what_is_wrong(
    place: str, value: Any, message: str, content: bytes, tmp_path: Path
) -> None:
    rewrite(content, replaced(place, value), tmp_path / "run.nc")
    with pytest.raises(AdjoinError, match=message):
        read_run(tmp_path / "run.nc")


def test_a_claim_of_terabytes_allocates_nothing(content: bytes, tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        for name in ("structure", "noise", "coefficient", "log_lik", "log_prior"):
            dtype = file["chain_0"][name].dtype
            del file["chain_0"][name]
            file["chain_0"].create_dataset(name, (10**13,), dtype, chunks=(1000,))

    rewrite(content, change, tmp_path / "run.nc")
    with pytest.raises(AdjoinError, match="chain_0/structure claims 10000000000000 values"):
        read_run(tmp_path / "run.nc")


def altered(place: str, index: Any, value: Any) -> Change:
    def change(file: h5py.File) -> None:
        values = file[place][()]
        values[index] = value
        replaced(place, values)(file)

    return change


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("ladder/distance", 0, 1e6, "distance must be from 0 to the tolerance"),
        ("ladder/distance", -1, -1e-9, "distance must be from 0 to the tolerance"),
        ("ladder/floor", 0, 1e6, "floor must be from 0 to the tolerance"),
        ("ladder/tolerance", 0, 0.0, "tolerance must be positive"),
        ("ladder/tolerance", (0, 1), 1e-9, "tolerance must ascend"),
        ("ladder/tolerance", 0, np.inf, "finite everywhere, or without limit everywhere"),
        ("ladder/width", 1, np.inf, "width must be positive and finite"),
        ("ladder/move", (1, 0), [3, 2, 3], "move must have counts, each a part"),
        ("ladder/move", (1, 0), 91, "move must have counts"),  # of 90 samples
        ("ladder/guided", 0, 91, "guided must have counts"),
        ("ladder/guided", 0, [1, 2], "guided must have counts"),
        ("ladder/swap", 0, 91, "swap must have counts"),
        ("ladder/swap", 0, [-1, -2], "swap must have counts"),
        ("ladder/saved", 3, -1, "saved must be from 0"),
        ("ladder/saved", 3, 2**60 + 1, "saved must be from 0"),
        ("trouble", 2, 10**9, "trouble must be from 0 to"),
        ("noise", 0, np.inf, "noise must be finite"),
    ],
)
def test_ladders_that_no_chain_could_leave_are_refused(
    name: str, index: Any, value: Any, message: str, free_run_content: bytes, tmp_path: Path
) -> None:
    change = altered(f"chain_0/{name}", index, value)
    rewrite(free_run_content, change, tmp_path / "run.nc")
    with pytest.raises(AdjoinError, match=f"chain_0/.*{message}"):
        read_run(tmp_path / "run.nc")


def timed(**changed: Any) -> str:
    timing = {"column": "time", "step": 0.5, "n_gaps": 1, "longest_gap": 2.0, "starts": [0.0]}
    return json.dumps({"prepared": [], "units": [], "timing": {**timing, **changed}})


def test_what_the_time_column_said_comes_back_and_may_be_missing(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "run.nc"
    rewrite(content, replaced("data@preparation", timed()), path)
    assert read_run(path).run.data.timing == Timing(
        "time", 0.5, n_gaps=1, longest_gap=2.0, starts=(0.0,)
    )
    for old in ('{"prepared": [], "units": []}', timed().replace('"timing"', '"tone"')):
        rewrite(content, replaced("data@preparation", old), path)
        assert read_run(path).run.data.timing is None
    rewrite(content, deleted("data@preparation"), path)
    assert read_run(path).run.data.timing is None


@pytest.mark.parametrize(
    "changed",
    [
        {"column": 3},
        {"step": 0.0},
        {"step": "0.5"},
        {"jitter": -0.1},
        {"n_gaps": 1.5},
        {"n_gaps": True},
        {"longest_gap": 1e300},
        {"is_irregular": 1},
        {"starts": "0"},
        {"starts": [None]},
        {"colour": "red"},
    ],
)
def test_a_time_column_that_none_could_be_is_refused(
    changed: dict[str, Any], content: bytes, tmp_path: Path
) -> None:
    rewrite(content, replaced("data@preparation", timed(**changed)), tmp_path / "run.nc")
    with pytest.raises(AdjoinError, match="data/preparation must have a timing as a time column"):
        read_run(tmp_path / "run.nc")


def test_counters_from_before_there_were_flips_are_read(tmp_path: Path) -> None:
    run = quick(samples=300, search={"candidates": 20, "interval": 5}).fit(*simulated()).posterior_
    content, place, counters = content_of(run, tmp_path), "chain_0/search/counter", []
    for n_rows in (5, 4, 3):
        values = run.traces[0].search.counter[:n_rows]
        rewrite(content, replaced(place, values), tmp_path / "run.nc")
        if n_rows == 3:
            with pytest.raises(AdjoinError, match="search/counter must have 5 rows, not 3"):
                read_run(tmp_path / "run.nc")
        else:
            counters.append(load(tmp_path / "run.nc").traces[0].search.counter.tolist())
    assert counters[0] == counters[1] == run.traces[0].search.counter.tolist()


def test_a_run_that_has_lost_its_ladders_is_refused(
    free_run_content: bytes, tmp_path: Path
) -> None:
    def change(file: h5py.File) -> None:
        for number in (0, 1):
            del file[f"chain_{number}/ladder"]

    rewrite(free_run_content, change, tmp_path / "run.nc")
    with pytest.raises(AdjoinError, match="must have the objective 'abc' only where all"):
        read_run(tmp_path / "run.nc")


def test_a_ladder_without_stages_is_refused(free_run_content: bytes, tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        for name in ("tolerance", "floor"):
            replaced(f"chain_0/ladder/{name}", file["chain_0/ladder"][name][:0])(file)

    rewrite(free_run_content, change, tmp_path / "run.nc")
    with pytest.raises(AdjoinError, match="ladder/tolerance must have a stage and a rung"):
        read_run(tmp_path / "run.nc")


def test_every_proposal_of_every_rung_may_be_in_trouble_and_rounding_is_forgiven(
    free_run_content: bytes, tmp_path: Path
) -> None:
    ladder = free_run().traces[0].ladder
    most, farthest = ladder.saved[PROPOSALS], ladder.tolerance[-1, 0] * (1.0 + 1e-12)
    assert most > free_run().traces[0].n_samples

    def change(file: h5py.File) -> None:
        altered("chain_0/trouble", 2, most)(file)
        altered("chain_0/ladder/distance", 0, farthest)(file)

    rewrite(free_run_content, change, tmp_path / "run.nc")
    found = read_run(tmp_path / "run.nc").traces[0]
    assert found.trouble[2] == most
    assert found.ladder.distance[0] == farthest
