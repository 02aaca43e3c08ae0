"""Data sets, their parts and tables, and the scaling: what a user or a kernel sees of them."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoin.data.dataset import Dataset
from adjoin.data.gate import as_inputs, as_series
from adjoin.data.names import SignalNames, legal_name, split_names
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError

exact = settings(derandomize=True, deadline=None, max_examples=60)
TWO = SignalNames(("u", "udot"), "F")


def numbered(*lengths: int, n_inputs: int = 1) -> Dataset:
    """Records whose every sample is a different number."""
    values = np.arange(sum(lengths) * (n_inputs + 1), dtype=float).reshape(-1, n_inputs + 1)
    parts = np.split(values, np.cumsum(lengths)[:-1])
    return Dataset.from_arrays([p[:, :-1] for p in parts], [p[:, -1] for p in parts], label="n")


# --- names ---------------------------------------------------------------------------------------


def test_names_are_ordered_inputs_output_noise() -> None:
    names = SignalNames(["u", "udot"], "F", "w")
    assert names.inputs == ("u", "udot")
    assert names.ordered == ("u", "udot", "F", "w")
    assert [names.position(name) for name in names.ordered] == [0, 1, 2, 3]
    assert SignalNames("udot").inputs == ("udot",)
    assert SignalNames("u, udot").inputs == ("u", "udot")
    assert SignalNames(()).ordered == ("y", "e")
    assert names == SignalNames(("u", "udot"), "F", "w")
    assert hash(names) == hash(SignalNames(("u", "udot"), "F", "w"))


def test_names_are_split_at_commas_or_taken_one_by_one() -> None:
    assert split_names(" u, udot,,") == ("u", "udot")
    assert split_names("") == split_names([]) == ()
    assert split_names(name for name in ("a, b", "c")) == ("a, b", "c")
    assert split_names(pd.DataFrame({"a": [1], "b": [2]}).columns) == ("a", "b")


def test_declared_noise_gives_way_to_signals() -> None:
    assert SignalNames.declare("u, udot", "F") == SignalNames(("u", "udot"), "F", "e")
    assert SignalNames.declare(()).ordered == ("y", "e")
    assert SignalNames.declare(["e"]).noise == SignalNames.declare("u", "e").noise == "e_noise"
    assert SignalNames.declare("e, e_noise").noise == "e_noise_noise"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("u", "u"),
        ("_u1", "_u1"),
        ("Force (N)", "Force_N"),
        ("Größe", "Groe"),
        ("2nd", "_2nd"),
        ("k", "k_"),
        ("sin", "sin_"),
        ("°", "signal"),
        ("", "signal"),
        ("u\n", "u"),
        ("θ (rad)", "theta_rad"),
        ("ω1", "omega1"),
        ("\u00b5_r", "mu_r"),  # the micro sign
        ("\u03bc_r", "mu_r"),  # the letter
        ("ΔP", "DeltaP"),
        ("ή", "eta"),
    ],
)
def test_legal_spelling(text: str, name: str) -> None:
    assert legal_name(text) == name
    assert legal_name(name) == name


# --- building a data set -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("u", "inputs", "shape"),
    [
        ([1, 2, 3], ("u",), (3,)),
        ((1.5, 2, 3), ("u",), (3,)),
        (np.float32([1, 2, 3]), ("u",), (3,)),
        (np.array([True, False, True]), ("u",), (3,)),
        (np.ma.array([1, 2, 3], mask=False), ("u",), (3,)),
        (np.ones((3, 1)), ("u",), (3,)),
        (np.asfortranarray(np.ones((3, 2))), ("u1", "u2"), (3, 2)),
        (pd.Series([1, 2, 3], name="wind"), ("wind",), (3,)),
        (pd.Series([1, 2, 3], dtype="Int64"), ("u",), (3,)),
        (pd.Series([1, 2, 3], dtype="Float32", name="v"), ("v",), (3,)),
        (pd.Series([True, False, True], dtype="boolean"), ("u",), (3,)),
        (pd.Series([0.5, True, Fraction(1, 4)], dtype=object), ("u",), (3,)),
        ([2**70, -1, Decimal("0.1")], ("u",), (3,)),
        (pd.Series([1, 2, 3], name="e"), ("e",), (3,)),
        (pd.DataFrame({"u": [1, 2, 3], "udot": [1.0, 2, 3]}), ("u", "udot"), (3, 2)),
        (pd.DataFrame(np.ones((3, 2))), ("u1", "u2"), (3, 2)),
        (None, (), (3, 0)),
    ],
)
def test_inputs_of_every_kind(u: object, inputs: tuple[str, ...], shape: tuple[int, ...]) -> None:
    dataset = Dataset.from_arrays(u, [4, 5, 6])
    record = dataset.records[0]
    assert dataset.names == SignalNames.declare(inputs, "y")
    assert dataset.u.shape == shape
    assert record.inputs.dtype == record.output.dtype == np.float64
    assert record.inputs.flags.c_contiguous
    if u is not None:
        np.testing.assert_array_equal(record.inputs.ravel(), np.asarray(u, float).ravel())


@pytest.mark.parametrize(
    ("y", "name"),
    [
        ([1, 2], "y"),
        (np.array([[1], [2]]), "y"),
        (pd.Series([1, 2], name="F"), "F"),
        (pd.DataFrame({"F": [1, 2]}), "F"),
    ],
)
def test_outputs_of_every_kind(y: object, name: str) -> None:
    dataset = Dataset.from_arrays([0, 1], y)
    assert dataset.names.output == name
    assert dataset.y.tolist() == [1.0, 2.0]


def test_given_names_rename_by_position_and_match_equal_columns_by_name() -> None:
    array = np.arange(6.0).reshape(3, 2)
    renamed = pd.DataFrame(array, columns=["V1", "V2"])
    swapped = pd.DataFrame(array[:, ::-1], columns=["udot", "u"])
    for u in (array, renamed, swapped):
        dataset = Dataset.from_arrays(u, pd.Series([1, 2, 3], name="other"), TWO)
        assert dataset.names == TWO
        np.testing.assert_array_equal(dataset.u, array)


def test_names_may_be_a_sequence_of_inputs_then_the_output() -> None:
    for names in (["e", "udot", "F"], ("e", "udot", "F"), "e, udot, F"):
        dataset = Dataset.from_arrays(np.ones((3, 2)), [1, 2, 3], names)
        assert dataset.names.ordered == ("e", "udot", "F", "e_noise")
    assert Dataset.from_arrays(None, [1, 2], ["x"]).names.ordered == ("x", "e")


def test_lists_of_series_are_records() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    for u, y in [
        ([frame[:2], frame[2:]], ([1, 2], [3])),
        ([[[1, 4], [2, 5]], [[3, 6]]], [np.array([1, 2]), [3]]),
    ]:
        dataset = Dataset.from_arrays(u, y)
        assert (dataset.n_records, dataset.n_samples, len(dataset)) == (2, 3, 3)
        assert [part.tolist() for part in dataset.u] == [[[1, 4], [2, 5]], [[3, 6]]]
        assert [part.tolist() for part in dataset.y] == [[1, 2], [3]]
    assert Dataset.from_arrays([frame], [[1, 2, 3]]).n_records == 1


def test_data_are_copied_and_read_only() -> None:
    u, y = np.ones(4), np.ones(4)
    dataset = Dataset.from_arrays(u, y)
    u[0] = y[0] = 9.0
    assert dataset.u[0] == dataset.y[0] == 1.0
    for array in (dataset.u, dataset.y, dataset.records[0].inputs, dataset[1:].y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0
    assert pickle.loads(pickle.dumps(dataset)).y.tolist() == dataset.y.tolist()


def test_repr_is_informative() -> None:
    dataset = Dataset.from_arrays([1, 2], [3, 4], SignalNames("u", "F"), 0.01, "tower")
    text = repr(dataset)
    assert all(part in text for part in ("tower", "1 record,", "2 samples", "(u)", "F", "0.01 s"))
    assert "none" in repr(Dataset.from_arrays(None, [1.0]))


# --- slices and splits ---------------------------------------------------------------------------


def test_slices_count_samples() -> None:
    dataset = numbered(10)
    assert dataset[2:5].y.tolist() == dataset.y[2:5].tolist()
    assert dataset[-3:].u.tolist() == dataset.u[-3:].tolist()
    assert dataset[2:5:1].label == "n"


def test_split_by_fractions_and_by_counts() -> None:
    dataset = numbered(10)
    assert [len(part) for part in dataset.split(0.8)] == [8, 2]
    assert [len(part) for part in dataset.split(0.7, 0.2, 0.1)] == [7, 2, 1]
    assert [len(part) for part in dataset.split(np.float64(0.25), 0.25)] == [2, 3, 5]
    assert [len(part) for part in dataset.split(4, np.int64(6))] == [4, 6]
    assert [len(part) for part in dataset.split(4, 3)] == [4, 3, 3]
    assert [len(part) for part in numbered(10, 20).split(0.5)[1].records] == [5, 10]
    assert [len(part) for part in numbered(10, 20).split(4)[1].records] == [6, 16]


@exact
@given(
    lengths=st.lists(st.integers(40, 90), min_size=1, max_size=3),
    weights=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    rest=st.integers(0, 3),
    is_count=st.booleans(),
)
def test_split_parts_concatenate_back(
    lengths: list[int], weights: list[int], rest: int, is_count: bool
) -> None:
    if rest == 0 and len(weights) == 1:
        rest = 1  # a single part cannot be the whole
    total = sum(weights) + rest
    dataset = numbered(*lengths, n_inputs=2)
    parts = dataset.split(*(weights if is_count else [weight / total for weight in weights]))
    assert len(parts) == len(weights) + (is_count or rest > 0)
    for r, record in enumerate(dataset.records):
        pieces = [part.records[r] for part in parts]
        np.testing.assert_array_equal(np.concatenate([p.output for p in pieces]), record.output)
        np.testing.assert_array_equal(np.concatenate([p.inputs for p in pieces]), record.inputs)
    assert all(part.names == dataset.names and part.label == "n" for part in parts)


# --- lag tables ----------------------------------------------------------------------------------


@exact
@given(
    max_lag=st.integers(0, 6),
    extra=st.lists(st.integers(2, 9), min_size=1, max_size=4),
    n_inputs=st.integers(0, 3),
)
def test_lagged_values_never_cross_records(max_lag: int, extra: list[int], n_inputs: int) -> None:
    dataset = numbered(*(max_lag + n for n in extra), n_inputs=n_inputs)
    table = dataset.lag_table(max_lag)
    assert table.value.shape == (n_inputs + 1, dataset.n_samples)
    assert table.value.flags.c_contiguous
    assert table.value.flags.writeable
    assert table.start.dtype == table.first.dtype == np.int64
    for r, record in enumerate(dataset.records):
        own = set(record.inputs.ravel()) | set(record.output)
        for column in range(table.first[r], table.start[r + 1]):
            window = table.value[:, column - max_lag : column + 1]
            assert set(window.ravel()) <= own
        assert table.first[r] - table.start[r] == max_lag
        whole = table.value[:, table.start[r] : table.start[r + 1]]
        np.testing.assert_array_equal(whole, np.vstack([record.inputs.T, record.output]))


def test_lag_table_is_fresh_each_time() -> None:
    dataset = numbered(5)
    dataset.lag_table(1).value[:] = 0.0
    assert dataset.lag_table(1).value[0, 1] == dataset.u[1] != 0.0


# --- scaling -------------------------------------------------------------------------------------


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_scaling_takes_moments_over_all_records(center: bool, scale: bool) -> None:
    dataset = numbered(30, 50, n_inputs=2)
    scaling = Scaling.from_dataset(dataset, center, scale)
    scaled = scaling.apply(dataset).lag_table(0).value
    raw = dataset.lag_table(0).value
    mean = 0.0 if center else raw.mean(axis=1) / scaling.scale
    np.testing.assert_allclose(scaled.mean(axis=1), mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=1), 1.0 if scale else raw.std(axis=1), rtol=1e-12)
    back = scaled * scaling.scale[:, None] + scaling.offset[:, None]
    np.testing.assert_allclose(back, raw, rtol=1e-14, atol=1e-14 * raw.max())


def test_scaling_by_powers_of_two_is_exact_both_ways() -> None:
    dataset = numbered(8, n_inputs=2)
    scaling = Scaling(dataset.names, np.array([3.0, -1.0, 7.0]), np.array([4.0, 0.25, 8.0]))
    scaled = scaling.apply(dataset)
    assert (scaled.u * scaling.scale[:2] + scaling.offset[:2] == dataset.u).all()
    assert (scaled.y * scaling.noise_factor + scaling.offsets["y"] == dataset.y).all()
    assert scaling.offsets == {"u1": 3.0, "u2": -1.0, "y": 7.0}
    assert scaling.coefficient_factor({}) == scaling.noise_factor == 8.0
    assert scaling.coefficient_factor({"u1": 2, "u2": 1, "y": 1}) == 8.0 / (16 * 0.25 * 8)
    assert scaling.coefficient_factor({"u1": 0.5, "e": 1}) == 0.5


def test_coefficients_return_to_the_users_units() -> None:
    rng = np.random.default_rng(1)
    u, past = rng.normal(0, 300.0, 50), rng.normal(0, 0.02, 50)
    dataset = Dataset.from_arrays(u, past)
    scaling = Scaling.from_dataset(dataset, center=False, scale=True)
    scaled = scaling.apply(dataset)
    factor = scaling.coefficient_factor({"u": 2, "y": 1})
    in_scaled_units = 0.7 * scaled.u**2 * scaled.y * scaling.noise_factor
    np.testing.assert_allclose(0.7 * factor * u**2 * past, in_scaled_units, rtol=1e-12)


def test_identity_changes_nothing_and_constants_keep_their_scale() -> None:
    dataset = Dataset.from_arrays(np.full(1000, 0.1), np.arange(1000.0))
    same = Scaling.identity(dataset.names).apply(dataset)
    assert (same.u == dataset.u).all()
    assert (same.y == dataset.y).all()
    assert Scaling.from_dataset(dataset, center=True, scale=True).scale[0] == 1.0
    tiny = Dataset.from_arrays([0, 1e-25, 0], [1, 2, 3])
    assert np.isfinite(Scaling.from_dataset(tiny, center=True, scale=True).apply(tiny).u).all()


# --- data for a fitted model ---------------------------------------------------------------------


def test_frames_are_matched_to_the_model_by_name() -> None:
    frame = pd.DataFrame({"time": [0, 1], "udot": [3, 4], "u": [1, 2]})
    (matrix,), several = as_inputs(frame, TWO)
    assert matrix.tolist() == [[1, 3], [2, 4]]
    assert matrix.flags.c_contiguous
    assert matrix.flags.writeable
    assert not several
    matrices, several = as_inputs([frame, frame[:1]], TWO)
    assert [len(matrix) for matrix in matrices] == [2, 1]
    assert several


def test_arrays_are_matched_to_the_model_by_position() -> None:
    for u in (np.ones((2, 2)), pd.DataFrame(np.ones((2, 2)))):
        assert as_inputs(u, TWO)[0][0].shape == (2, 2)
    assert as_inputs(pd.Series([1, 2], name="other"), SignalNames())[0][0].shape == (2, 1)
    assert as_inputs([np.ones(3)], SignalNames())[1]


def test_models_without_inputs_take_the_number_of_samples() -> None:
    names = SignalNames(())
    for u in (5, np.int64(5), np.ones((5, 0))):
        (matrix,), several = as_inputs(u, names)
        assert matrix.shape == (5, 0)
        assert not several
    assert len(as_inputs([np.ones((5, 0)), np.ones((3, 0))], names)[0]) == 2


def test_series_of_a_model() -> None:
    assert as_series([1, 2], "y")[0][0].tolist() == [1.0, 2.0]
    assert not as_series(np.ones((4, 1)), "y")[1]
    series, several = as_series([[1, 2], [3]], "y")
    assert [part.tolist() for part in series] == [[1, 2], [3]]
    assert several


def test_data_sets_for_a_model() -> None:
    values = np.arange(6.0).reshape(3, 2)
    dataset = Dataset.from_arrays(values, [1, 2, 3], ["udot", "u", "y"])
    (matrix,), several = as_inputs(dataset, TWO)
    assert matrix.tolist() == values[:, ::-1].tolist()
    assert not several
    assert as_inputs(dataset, SignalNames("u"))[0][0].tolist() == values[:, 1:].tolist()
    (series,), several = as_series(dataset, "F")
    assert not series.flags.writeable  # the data set's own
    assert series.tolist() == [1, 2, 3]
    assert not several
    both = numbered(4, 5)
    matrices, several = as_inputs(both, both.names)
    assert several
    assert as_series(both, "y")[1]
    for matrix, record in zip(matrices, both.records, strict=True):
        np.testing.assert_array_equal(matrix, record.inputs)
    assert as_inputs(Dataset.from_arrays(None, [1, 2]), SignalNames(()))[0][0].shape == (2, 0)


def test_columns_of_a_frame_are_respelled_where_their_names_are_not_legal() -> None:
    frame = pd.DataFrame({"Force (N)": [1.0, 2.0, 4.0], "Disp (mm)": [0.0, 1.0, 2.0]})
    data = Dataset.from_arrays(frame[["Force (N)"]], frame["Disp (mm)"])
    assert data.names.ordered[:-1] == ("Force_N", "Disp_mm")
    (matrix,), _ = as_inputs(frame, data.names)  # found again by the text in the frame
    assert matrix[:, 0].tolist() == [1.0, 2.0, 4.0]
    (matrix,), _ = as_inputs(frame.rename(columns={"Force (N)": "Force_N"}), data.names)
    assert matrix[:, 0].tolist() == [1.0, 2.0, 4.0]
    twice = pd.DataFrame({"F (N)": [1.0, 2.0], "F [N]": [3.0, 4.0]})
    with pytest.raises(AdjoinError, match="2 signals are called 'F_N'"):
        Dataset.from_arrays(twice, [1.0, 2.0])
