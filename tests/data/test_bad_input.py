"""Every mistake is refused with a message that says what, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adjoin.data.dataset import Dataset, Record
from adjoin.data.gate import as_inputs, as_series
from adjoin.data.names import SignalNames, split_names
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError

GOOD = np.arange(5.0)
TWO = SignalNames(("u", "udot"))


def message_of(action: Callable[[], Any]) -> str:
    with pytest.raises(AdjoinError) as caught:
        action()
    return str(caught.value)


def says(message: str, *words: str) -> None:
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"inputs": ["Force (N)"]}, ["'Force (N)'", "'Force_N'"]),
        ({"inputs": ["u", "2x"]}, ["'2x'", "'_2x'"]),
        ({"inputs": ["größe"]}, ["'größe'", "not legal"]),
        ({"output": "u\n"}, ["not legal", "'u'"]),
        ({"output": ""}, ["''"]),
        ({"output": "k"}, ["'k'", "reserved", "'k_'"]),
        ({"noise": "sqrtabs"}, ["reserved"]),
        ({"inputs": [3]}, ["3 is not a name"]),
        ({"inputs": 3}, ["3 is not a name"]),
        ({"output": 3}, ["3", "not legal"]),
        ({"inputs": ["a", "a"]}, ["2 signals", "'a'"]),
        ({"inputs": ["y"]}, ["2 signals", "'y'"]),
        ({"inputs": ["e"]}, ["'e'", "noise name", "noise='e_noise'"]),
        ({"output": "w", "noise": "w"}, ["'w'", "noise name"]),
    ],
)
def test_bad_names(fields: dict[str, Any], words: list[str]) -> None:
    says(message_of(lambda: SignalNames(**fields)), *words)


def test_names_are_texts() -> None:
    for names in (3, None, ["u", 3], [None], b"u"):
        says(message_of(lambda: split_names(names)), "not a name", "'u, udot'")  # noqa: B023


def test_sampling_time_and_label_are_what_they_are_called() -> None:
    for step in (True, "1", float("nan"), 0.0, -1.0, np.inf):
        says(message_of(lambda: Dataset.from_arrays(GOOD, GOOD, None, step)), "sampling time")  # noqa: B023
    says(
        message_of(lambda: Dataset.from_arrays(GOOD, GOOD, label=3)), "label must be a text, not 3"
    )


def test_unknown_name_lists_the_known() -> None:
    says(message_of(lambda: TWO.position("v")), "'v'", "u, udot, y, e")
    identity = Scaling.identity(TWO)
    says(message_of(lambda: identity.coefficient_factor({"v": 1})), "'v'", "u, udot")


FAULTS: list[tuple[Any, list[str]]] = [
    (GOOD + 0j, ["complex"]),
    (pd.Series(GOOD + 0j), ["complex"]),
    (["1", "2", "x", "4", "5"], ["not numbers", "'x'", "sample 2"]),
    ([1, None, 3, 4, 5], ["object", "'None'", "sample 1"]),
    (pd.Series([1, 2, np.nan, "n.a.", 5], dtype=object), ["texts", "'n.a.'", "sample 3"]),
    (pd.Series(list("abcde"), dtype="category"), ["texts", "'a'", "replace them"]),
    (list("12345"), ["texts", "'1'", "to_numeric"]),
    ([1, 2, 3, 4, 10**400], ["1 infinite", "sample 4"]),
    (pd.Series(pd.date_range("2020-01-01", periods=5)), ["datetime", "2020-01-01"]),
    (pd.Series(pd.to_timedelta(GOOD, unit="s")), ["timedelta"]),
    (np.array(["2020-01-01"] * 5, dtype="M8[D]"), ["datetime", "2020-01-01"]),
    (np.zeros(5, dtype=[("a", float)]), ["not numbers"]),
    (np.ma.array(GOOD, mask=[0, 1, 0, 0, 1]), ["2 masked values", "samples 1, 4"]),
    (pd.Series([1, 2, pd.NA, 4, 5], dtype="Int64"), ["1 NaN value,", "sample 2"]),
    ([0, np.nan, np.inf, np.nan, -np.inf], ["2 NaN values and 2 infinite", "samples 1, 2, 3, 4 ("]),
    ([1, 2, -9.9e37, 4, 5], ["is -9.9e+37 at sample 2", "at most 1e+25", "another unit", "fault"]),
    (9e-26 * (GOOD > 2), ["varies by 9e-26 only", "1e-25 or more", "another unit"]),
    (1e-170 * GOOD, ["varies by 4e-170 only", "another unit"]),
    (np.full(5, np.finfo(np.longdouble).max), ["sample"]),
]


@pytest.mark.parametrize(("series", "words"), FAULTS)
def test_bad_series_as_input_and_output(series: Any, words: list[str]) -> None:
    says(message_of(lambda: Dataset.from_arrays(series, GOOD)), "input 'u'", *words)
    says(message_of(lambda: Dataset.from_arrays(GOOD, series)), "output 'y'", *words)
    says(message_of(lambda: as_inputs(series, SignalNames())), "input 'u'", *words)
    says(message_of(lambda: as_series(series, "F")), "output 'F'", *words)


def test_bad_series_names_column_and_record_and_at_most_five_samples() -> None:
    good = pd.DataFrame({"u": np.zeros(9), "udot": np.zeros(9)})
    bad = good.assign(udot=[0, 1] + [np.nan] * 7)
    for action in (
        lambda: Dataset.from_arrays([good, bad], [np.zeros(9)] * 2),
        lambda: as_inputs([good, bad], TWO),
    ):
        words = ("input 'udot' in record 1", "7 NaN values", "samples 2, 3, 4, 5, 6 …")
        says(message_of(action), *words)
    texts = good.assign(udot=list("abcdefghi"))
    says(message_of(lambda: Dataset.from_arrays(texts, np.zeros(9))), "'udot'", "'a'")


@pytest.mark.parametrize(
    ("u", "y", "words"),
    [
        ([], [], ["empty"]),
        (None, [], ["output 'y'", "empty"]),
        (pd.Series([], dtype=object), pd.Series([], dtype=float), ["empty"]),
        (np.zeros((5, 1, 1)), GOOD, ["input", "3 dimensions"]),
        (GOOD, np.zeros((5, 1, 1)), ["output", "3 dimensions"]),
        (3.0, GOOD, ["input", "3.0"]),
        (GOOD, "y", ["output", "'y'"]),
        (GOOD, None, ["output", "None"]),
        ([1, [2, 3]], GOOD, ["input", "unequal"]),
        (GOOD[:4], GOOD, ["4 samples", "5", "one value per sample"]),
        (np.zeros((2, 5)), GOOD, ["2 samples", "5", "transpose"]),
        ([GOOD, GOOD], [GOOD, GOOD[:3]], ["record 1", "5 samples", "3"]),
        ([GOOD, GOOD], GOOD, ["2 records", "1", "column_stack"]),
        ([GOOD, 7.0], [GOOD, GOOD], ["record 1", "7.0"]),
        (GOOD, np.zeros((5, 3)), ["1 output", "3 columns"]),
        (GOOD, pd.DataFrame({"a": GOOD, "b": GOOD}), ["1 output", "2 columns"]),
        (pd.DataFrame(np.zeros((5, 2)), columns=["a", "a"]), GOOD, ["2 signals", "'a'"]),
        (pd.Series(GOOD, name="y"), GOOD, ["'y'"]),
        ({"u": GOOD}, GOOD, ["input", "dict", "pandas.DataFrame"]),
        (GOOD, [{"y": GOOD}], ["output", "dict", "pandas.DataFrame"]),
        (Dataset.from_arrays(GOOD, GOOD), GOOD, ["input", "data set", ".u"]),
    ],
)
def test_bad_shapes_and_names(u: Any, y: Any, words: list[str]) -> None:
    says(message_of(lambda: Dataset.from_arrays(u, y)), *words)


def test_frames_of_several_records_must_agree() -> None:
    a, b = pd.DataFrame({"a": GOOD, "b": GOOD}), pd.DataFrame({"b": GOOD, "a": GOOD})
    says(message_of(lambda: Dataset.from_arrays([a, b], [GOOD] * 2)), "record 1", "same order")
    wide = [np.zeros((5, 1)), np.zeros((5, 2))]
    says(message_of(lambda: Dataset.from_arrays(wide, [GOOD] * 2)), "record 1")
    outputs = [pd.Series(GOOD, name="a"), pd.Series(GOOD, name="b")]
    says(message_of(lambda: Dataset.from_arrays([GOOD] * 2, outputs)), "record 1", "'b'", "'a'")


@pytest.mark.parametrize("u", [GOOD, np.zeros((5, 3)), None])
def test_given_names_must_match_the_number_of_inputs(u: Any) -> None:
    n = {1: "1 column;", 2: "3 columns"}[np.ndim(u)] if u is not None else "0 columns"
    says(message_of(lambda: Dataset.from_arrays(u, GOOD, TWO)), "2 inputs (u, udot)", n)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), ["empty", "then the output"]),
        (3, ["3 is not a name"]),
        (["u", 3], ["3 is not a name"]),
        (["a", "b", "y"], ["2 inputs (a, b)", "1 column;"]),
        ("y", ["0 inputs", "1 column;"]),
    ],
)
def test_bad_names_of_a_data_set(names: Any, words: list[str]) -> None:
    says(message_of(lambda: Dataset.from_arrays(GOOD, GOOD, names)), *words)


@pytest.mark.parametrize(
    "fields",
    [
        (GOOD, GOOD),
        ((), SignalNames()),
        ((GOOD,), SignalNames()),
        ((Record(GOOD[:, None], GOOD),), "u,y"),
        ((Record(GOOD[:, None], GOOD),), TWO),
        ((Record(GOOD, GOOD),), SignalNames()),
    ],
)
def test_data_sets_of_wrong_types_point_to_from_arrays(fields: Any) -> None:
    says(message_of(lambda: Dataset(*fields)), "Dataset.from_arrays(u, y)")


@pytest.mark.parametrize("step", [0, -1.0, np.nan, np.inf, "0.1"])
def test_bad_sampling_time(step: Any) -> None:
    message = message_of(lambda: Dataset.from_arrays(GOOD, GOOD, sampling_time=step))
    says(message, "sampling time", "positive", repr(step))


@pytest.mark.parametrize(
    ("u", "names", "words"),
    [
        (np.zeros((5, 3)), TWO, ["the model has 2 inputs (u, udot), but the data have 3 columns"]),
        (GOOD, TWO, ["2 inputs", "1 column"]),
        ([np.zeros((5, 2)), GOOD], TWO, ["record 1", "1 column"]),
        (pd.DataFrame({"u": GOOD, "v": GOOD}), TWO, ["udot", "u, v"]),
        (pd.DataFrame(np.zeros((5, 3)), columns=["u", "u", "udot"]), TWO, ["u, u, udot"]),
        (None, TWO, ["None"]),
        (5, TWO, ["5"]),
        (None, SignalNames(()), ["number of samples", "None"]),
        (0, SignalNames(()), ["number of samples", "0"]),
        (True, SignalNames(()), ["number of samples"]),
        (GOOD, SignalNames(()), ["no inputs", "1 column;", "pass the number of samples"]),
        ([GOOD, GOOD], TWO, ["2 inputs", "list means several records", "numpy.column_stack"]),
        ([GOOD], TWO, ["list means several records"]),
        ({"u": GOOD, "udot": GOOD}, TWO, ["dict", "pandas.DataFrame"]),
        (GOOD[None], SignalNames(), ["1 input", "5 columns", "transpose"]),
        (np.zeros((2, 5)), TWO, ["2 inputs", "5 columns", "transpose"]),
        (Dataset.from_arrays(GOOD, GOOD), TWO, ["udot", "they have u"]),
        (Dataset.from_arrays(None, GOOD), SignalNames(), ["u", "they have none"]),
        ([Dataset.from_arrays(GOOD, GOOD)], SignalNames(), ["data set", ".u"]),
    ],
)
def test_bad_inputs_of_a_model(u: Any, names: SignalNames, words: list[str]) -> None:
    says(message_of(lambda: as_inputs(u, names)), *words)


def test_bad_outputs_of_a_model() -> None:
    says(message_of(lambda: as_series(GOOD[None], "y")), "1 output", "transpose")
    for bad, word in [([np.nan], "1 NaN"), (np.zeros((5, 2)), "2 columns"), (3, "is 3")]:
        message = message_of(lambda: as_series(bad, "y", "initial output y_init"))  # noqa: B023
        says(message, "initial output y_init", word)
    says(message_of(lambda: as_series(np.zeros((5, 2)), "y")), "1 output", "2 columns")
    says(message_of(lambda: as_series([GOOD, [np.nan]], "y")), "'y' in record 1", "sample 0")


@pytest.mark.parametrize(
    "part", [3, slice(0, 4, 2), slice(None, 0.5), slice(None, None, -1), slice(4, 2), slice(5, 9)]
)
def test_bad_slices(part: Any) -> None:
    says(message_of(lambda: Dataset.from_arrays(GOOD, GOOD)[part]), "sample")


def test_slice_of_several_records_points_to_split() -> None:
    dataset = Dataset.from_arrays([GOOD, GOOD], [GOOD, GOOD])
    says(message_of(lambda: dataset[:3]), "2 records", ".split", ".records")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((), ["fractions", "samples"]),
        ((0.5, 2), ["fractions"]),
        ((1.5,), ["(1.5,)"]),
        ((0.0, 0.5), ["fractions"]),
        ((-1,), ["fractions"]),
        ((True,), ["fractions"]),
        ((0.6, 0.6), ["at most 1"]),
        ((0.01,), ["from sample 0 up to 0", "empty"]),
        ((0.99,), ["from sample 5 up to 5", "empty"]),
        ((3, 3), ["3 up to 6", "5 samples"]),
    ],
)
def test_bad_splits(parts: tuple[float, ...], words: list[str]) -> None:
    says(message_of(lambda: Dataset.from_arrays(GOOD, GOOD).split(*parts)), *words)


def test_split_that_leaves_a_record_empty_names_it() -> None:
    dataset = Dataset.from_arrays([GOOD, GOOD[:3]], [GOOD, GOOD[:3]])
    says(message_of(lambda: dataset.split(3)), "record 1", "3 samples")


def test_records_shorter_than_the_window() -> None:
    dataset = Dataset.from_arrays([GOOD, GOOD[:4]], [GOOD, GOOD[:4]])
    dataset.require_window(2)
    for action in (lambda: dataset.require_window(3), lambda: dataset.lag_table(3)):
        says(message_of(action), "record 1", ": 4,", "max_lag=3", "at least 5")


def test_constant_signals_are_named() -> None:
    frame = pd.DataFrame({"a": [0.1] * 5, "b": GOOD})
    says(message_of(Dataset.from_arrays(frame, GOOD * 0 + 2).require_variation), "'a'", "'y'", "2")
    jump = Dataset.from_arrays([[1, 1], [2, 2]], [[1, 1], [2, 2]])
    jump.require_variation()


def test_scaling_of_other_signals_is_refused() -> None:
    dataset = Dataset.from_arrays(pd.Series(GOOD, name="v"), GOOD)
    says(message_of(lambda: Scaling.identity(SignalNames()).apply(dataset)), "'u'", "'v'")
