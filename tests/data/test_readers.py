"""Files and objects of other packages as data sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io

from adjoin.data.dataset import Dataset
from adjoin.data.names import SignalNames
from adjoin.data.readers import from_object, read_csv, read_data, read_experiment, read_mat
from adjoin.data.tables import Column, Table
from adjoin.errors import AdjoinError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a text (in an encoding), bytes, or MATLAB variables to a file."""

    def write(
        content: str | bytes | dict[str, Any], name: str = "data.csv", code: str = "utf-8"
    ) -> Path:
        path = tmp_path / name
        if isinstance(content, dict):
            scipy.io.savemat(path, content)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode(code))
        return path

    return write


def message_of(*arguments: Any) -> str:
    with pytest.raises(AdjoinError) as caught:
        read_data(*arguments)
    return str(caught.value)


def says(message: str, *words: str) -> None:
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"


# --- text tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "u,y\n0.5,1\n-1.5,2\n",
        "u,y\r\n0.5,1\r\n-1.5,2\r\n",
        "u,y\r0.5,1\r-1.5,2",
        "\ufeffu,y\n0.5,1\n-1.5,2\n",
        '"u","y",\n0.5,1,\n-1.5,2,\n',
        "u,y\n0.5,1,\n-1.5,2,\n",
        "u,y,\n0.5,1\n-1.5,2\n",
        "\n# made by hand; 3,5\n% 2020\n\nu, y\n0.5, 1\n\n-1.5, 2\n",
        "u;y\n0.5;1\n-1.5;2\n",
        "u;y\n0,5;1\n-1,5;2,0\n",
        'u;y;\n"0,5";1;\n"-1,5";2;\n',
        "date;u;y\n01.02.2020;0,5;1\n02.02.2020;-1,5;2\n",
        "u\ty\n0,5\t1\n-1,5e0\t2\n",
        "u y\n0.5 1\n-1.5 2\n",
        "  u    y\n  0,5   1,0\n -1,5   2,0  \n",
        ",u,y\n0,0.5,1\n1,-1.5,2\n",
        "Time (s),u,y,Index\n0,0.5,1,7\n1,-1.5,2,8\n",
        "TIME,u,comment,y\n0,0.5,good,1\n1,-1.5,bad,2\n",
        ",,\nu,y\n0.5,1\n-1.5,2\n",
        "u,y\n0.5,1\n-1.5,2\n,\n,,\n \n",
        "u,y,unused\n0.5,1,\n-1.5,2,\n",
        "sep=;\nu;y\n0,5;1\n-1,5;2\n",
        '"sep=|"\n\nu|y\n0.5|1\n-1.5|2\n',
        "t;u;y\ns;V;mm\n\n0;0,5;1\n1;-1,5;2\n",
        "u,y\nm/s,-\n0.5,1\n-1.5,2\n",
        "# made by hand\n# t u y\n0 0.5 1\n1 -1.5 2\n",
        "% u,y\n0.5,1\n-1.5,2\n",
        '#"u";"y"\n0,5;1\n-1,5;2\n',
        "# u y\n0,5 1\n-1,5 2e0\n",
    ],
)
def test_text_tables_of_every_dialect(write: Write, text: str) -> None:
    dataset = read_data(write(text))
    assert dataset.names.ordered == ("u", "y", "e")
    assert dataset.u.tolist() == [0.5, -1.5]
    assert dataset.y.tolist() == [1.0, 2.0]
    assert dataset.label == "data.csv"


@pytest.mark.parametrize("suffix", [".txt", ".tsv", ".dat", ".CSV"])
def test_suffixes_of_text_tables(write: Write, suffix: str) -> None:
    path = write("u,y\n1,2\n", "data" + suffix)
    assert read_data(str(path), sampling_time=0.1).sampling_time == 0.1


@pytest.mark.parametrize("code", ["utf-8", "latin-1", "utf-16"])
def test_header_is_chosen_by_its_text_and_respelled(write: Write, code: str) -> None:
    path = write("Temp (°C),Force (N),e\n1,2,3\n4,5,6\n", code=code)
    dataset = read_csv(path, ["Temp (°C)", "e"], "Force (N)")
    assert dataset.names.ordered == ("Temp_C", "e", "Force_N", "e_noise")
    assert dataset.u.tolist() == [[1, 3], [4, 6]]


def test_silverbox_file(write: Write) -> None:
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=(50, 2)), 7)
    text = '"V1","V2",\n' + "".join(f"{a},{b},\n" for a, b in values)
    for inputs in ("V1", ["V1"], None):
        dataset = read_csv(write(text), inputs, "V2", sampling_time=1 / 610.35)
        assert dataset.names.ordered == ("V1", "V2", "e")
        np.testing.assert_allclose(np.column_stack([dataset.u, dataset.y]), values, rtol=1e-15)


def test_a_column_is_also_found_by_its_signal_name(write: Write) -> None:
    path = write("Vel (m/s),y\n1,2\n3,4\n")
    assert read_csv(path, "Vel_m_s", "y").u.tolist() == [1.0, 3.0]


def test_a_lone_column_may_have_blanks_in_its_name(write: Write) -> None:
    path = write("Force (N)\n1.5\n2.5\n3.5\n")
    names = SignalNames(("Force_N",))
    inputs, output = read_experiment(path, names)
    assert inputs.tolist() == [[1.5], [2.5], [3.5]]
    assert output is None


def test_tables_without_header(write: Write) -> None:
    path = write("1,2,3,\n4,5,6,\n")
    dataset = read_csv(path, "c3, c1", "c2")
    assert dataset.u.tolist() == [[3, 1], [6, 4]]
    says(message_of(path), "'y'", "'c1', 'c2', 'c3'.")
    for comment in ("# u y", "# one two 3", "# one two three four", "#"):
        path = write(f"{comment}\n1 2 3\n4 5 6\n")
        says(message_of(path), "'c1', 'c2', 'c3'.")


def test_names_written_by_savetxt(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(9, 3))
    np.savetxt(tmp_path / "data.txt", values, header="t u y")
    dataset = read_data(tmp_path / "data.txt")
    np.testing.assert_allclose(np.column_stack([dataset.u, dataset.y]), values[:, 1:], rtol=1e-15)


TIMES = ["t", "t_s", "time_s", "Time_ms", "t [ms]", "Time (s)", "TIME", "sec", "seconds", "Zeit"]


@pytest.mark.parametrize("name", [*TIMES, "Date", "Timestamp", "index", "Zeit in s", "t, s"])
def test_columns_that_only_count_samples_are_no_default_inputs(write: Write, name: str) -> None:
    path = write(f'"{name}",u,y\n0,5,1\n1,7,2\n4,6,3\n')
    assert read_data(path, output="y").names.inputs == ("u",)
    assert len(read_data(path, [name, "u"]).names.inputs) == 2


def test_default_inputs_that_look_like_a_time_axis_are_refused(write: Write) -> None:
    axis = 1.7e9 + np.arange(50) / 128
    table = "".join(f"{a:.7f},{i % 7},{i % 5}\n" for i, a in enumerate(axis))
    path = write("clock,u,y\n" + table)
    says(message_of(path), "'clock'", "time axis", "name the inputs")
    assert read_data(path, "clock, u").names.inputs == ("clock", "u")
    for values in ((0, 1), (2, 1, 0), (0, 1, 2.1), (1, 1, 1)):  # short, falling, uneven, constant
        assert read_data(write("u,y\n" + "".join(f"{v},1\n" for v in values))).n_records == 1


@pytest.mark.parametrize(
    "units",
    ["N;m/s", "[N];[m/s]", "°C;%", "-;N", "N;-", "(1/s);(-)", "rad/s²;µm", "Newton;", ";K", "°;Ω"],
)
def test_a_line_of_units_is_skipped(write: Write, units: str) -> None:
    data = read_data(write(f"u;y\n{units}\n0.5;1\n-1.5;2\n"))
    assert data.u.tolist() == [0.5, -1.5]


@pytest.mark.parametrize(
    ("row", "cell"),
    [
        ("?;?", "'?'"),
        ("-;-", "'-'"),
        ("?;V", "'?'"),
        ("n/a;N/A", "'n/a'"),
        ("#N/A;#N/A", "'#N/A'"),
        ("None;null", "'None'"),
        ("missing;missing", "'missing'"),
        ("*;...", "'*'"),
        ("OVER;OVER", "'OVER'"),
        ("1 234.5;2 345.6", "'1 234.5'"),
        ("\u22120.5;\u22121.5", "'\u22120.5'"),
        ("1.5e\u22123;2.5e\u22123", "'1.5e\u22123'"),
    ],
)
def test_a_first_row_without_numbers_is_reported_and_not_taken_for_units(
    write: Write, row: str, cell: str
) -> None:
    path = write(f"u;y\n{row}\n0.5;1\n-1.5;2\n")
    says(message_of(path), f"line 2, column 'u': {cell} is not a number")


def test_wide_tables_are_read_in_their_width(write: Write) -> None:
    """Looking every column up among all of them took minutes for twenty thousand."""
    n = 5_000
    names = ",".join(f"c{i}" for i in range(n))
    path = write(f"{names}\n{','.join('1' for _ in range(n))}\n{','.join('2' for _ in range(n))}\n")
    finds = 0
    original = Table.find

    def find(self: Table, name: str) -> list[Column]:
        nonlocal finds
        finds += 1
        return original(self, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "find", find)
        assert len(read_data(path, output="c7").names.inputs) == n - 1
    assert finds < 10


def test_digits_of_other_scripts_are_not_read(write: Write) -> None:
    message = message_of(write("u,y\n1,2\n\u0663,4\n5,6\n"))
    says(message, "line 3, column 'u': '\u0663' is not a number; correct the file")


def test_a_first_row_with_missing_values_is_no_header(write: Write) -> None:
    for row in ("?,?", "0.5,?", "NA,0.5", "?,NaN"):
        path = write(f"{row}\n0.5,1\n-1.5,2\n", f"{row.count('?')}{len(row)}.csv")
        says(message_of(path, "c1", "c2"), "line 1, column 'c", "is not a number")
    named = write("# u y\n? 1\n0.5 1\n", "named.txt")
    says(message_of(named), "line 2, column 'u': '?' is not a number")
    assert read_data(write("Na,error\n0.5,1\n2,3\n"), "Na", "error").u.tolist() == [0.5, 2.0]


def test_marks_of_decimals(write: Write) -> None:
    mixed = "u;y;version\n0,5;1;1.2\n-1,5;2;1.3\n"
    says(message_of(write(mixed)), "'1.2'", "'0,5'", "decimal='.'", "decimal=','")
    assert read_data(write(mixed), "u", decimal=",").u.tolist() == [0.5, -1.5]
    quoted = write('u,y\n"0,5",1\n"-1,5",2\n')
    assert read_csv(quoted, decimal=",").u.tolist() == [0.5, -1.5]
    says(message_of(quoted), "'0,5' is not a number", "decimal=','")
    blank = write("0 0,5 1\n1 -1,5 2\n")
    assert read_csv(blank, "c2", "c3", decimal=",").u.tolist() == [0.5, -1.5]
    with pytest.raises(AdjoinError, match="decimal must be"):
        read_data(blank, decimal="")


def test_big_whole_numbers_and_truths_are_numbers(write: Write) -> None:
    path = write(f"u,v,y\n{10**25},True,1\n2,False,1\n")
    assert read_data(path).u.tolist() == [[1e25, 1], [2, 0]]
    assert read_data(write(f"u;y\n{10**25};0,5\n2;1\n")).u.tolist() == [1e25, 2]


def test_no_inputs_for_an_autonomous_system(write: Write) -> None:
    for inputs in ((), ""):
        assert read_csv(write("t,y\n0,1\n1,2\n"), inputs).names.inputs == ()


@pytest.mark.parametrize(
    ("text", "inputs", "output", "words"),
    [
        ("", None, None, ["empty"]),
        ("\n \n# only words\n", None, None, ["empty"]),
        ("u,y\n", None, None, ["no rows"]),
        ("u,y\n\n\n", None, None, ["no rows"]),
        (b"\x89PNG\r\n\x1a\n\x00\x00", None, None, ["binary"]),
        ("u,u,y\n1,2,3\n", None, None, ["2 columns", "'u'"]),
        ("u,u,v,y\n1,2,3,4\n", "u", None, ["2 columns", "'u'"]),
        ("u,y,y\n1,2,3\n", None, None, ["2 columns", "'y'"]),
        ("#\n\nu,y\n\n1,2\n3,4,5\n", None, None, ["irregular", "line 6 has 3", "2 columns;"]),
        ("u,y\n1,2,3\n4,5,6\n", None, None, ["2 columns", "3 values"]),
        ('u,y\n3,4\n1,"2\n3,4\n', None, None, ["irregular", "line 3", "quotation mark"]),
        ("u,y\n1,2\n,4\n5,\n", None, None, ["line 3, column 'u': the cell is empty;", "line 4"]),
        ("u,y\n1,2\n3\n", None, None, ["line 3 has 1 of 2 values;"]),
        ("u,v,y\n1,2,3\n4,5\n6,7,8\n", "u", None, ["line 3 has 2 of 3 values;"]),
        ("u,y\n,,\n1,2\n", None, None, ["line 2, column 'u': the cell is empty"]),
        ("u,y\nNA,NA\n1,2\n", None, None, ["line 2, column 'u': 'NA' is not a number"]),
        ("u,y\nV,V\nV,V\n1,2\n", None, None, ["line 2, column 'u': 'V' is not a number"]),
        ("u,y\n1,2\n3,2 mV\n", None, None, ["line 3, column 'y': '2 mV' is not a number;"]),
        ("u,y\n1,2\n1,2\ninf,2\n", None, None, ["input 'u'", "infinite"]),
        ("u;y\n1,000;2.5\n2,000;3.5\n", None, None, ["'1,000'", "'2.5'", "decimal="]),
        ('u,y\n"1,234.5",1\n', None, None, ["'1,234.5'", "thousands", "without"]),
        ("u;y\n1.234,5;1\n0,5;1\n", None, None, ["line 2", "'1.234,5'", "thousands", "without"]),
        ("u;y\n-1 234,5;1\n0,5;1\n", None, None, ["'-1 234,5'", "thousands", "without"]),
        ("u,y\n\u22121.5,1\n", None, None, ["'\u22121.5'", "Unicode minus", "'-'"]),
        ("u,F\n1,2\n", None, None, ["'y'", "output", "'u', 'F'"]),
        ("t,y,note\n1,2,a\n", None, None, ["input", "inputs=()", "'t', 'y', 'note'"]),
        ("Speed,y\n1,2\n", "speed", None, ["'speed'", "mean 'Speed'", "'Speed', 'y'"]),
        ("Vel (m/s),y\n1,2\n", "vel", None, ["'vel'", "mean 'Vel (m/s)'"]),
        ("u,y\n1,2\n", 3, None, ["3 is not a name"]),
        ("u,y\n1,2\n", None, ["y"], ["['y']", "'u', 'y'"]),
        ("u,udot,y\n1,2,3\n", ["u", "u_dot"], None, ["'u_dot'", "mean 'udot'"]),
        ("u,y\n1,2\n", "u", "position", ["'position'", "'u', 'y'"]),
        ("u,y\n1,2\n", "u,u", None, ["'u' is chosen as an input 2 times; name it once"]),
        ("u,y\n1,2\n", "u,y", None, ["'y' is chosen as the output and as an input too; name"]),
        ("F (N),F [N],y\n1,2,3\n", None, None, ["'F (N)' and 'F [N]'", "'F_N'", "rename"]),
        ('u,y\n"' + "1" * 200_000 + '"', None, None, ["line 2", "limit"]),
    ],
)
def test_bad_text_tables(
    write: Write, text: str, inputs: Any, output: Any, words: list[str]
) -> None:
    path = write(text)
    says(message_of(path, inputs, output), str(path), *words)


def test_bad_cells_are_found_in_the_lines_of_the_file(write: Write) -> None:
    rows = ["# a, b\n", "\n", "u,note,y\n", " \n", '1,"two\nlines",3\n', "\t\n", "OVER,,4\n"]
    message = message_of(write("".join(rows) + "5,,x\n,,7\n8\n" + "9,,OVER\n" * 6))
    says(message, "line 8, column 'u': 'OVER' is not", "line 9, column 'y': 'x' is not")
    says(message, "line 10, column 'u': the cell is empty (10 such cells in all)")
    assert "line 11" not in message
    late = "a b\n" + "1 2\n\n" * 4000 + "3\tbad\n1 1"
    says(message_of(write(late), "a", "b"), "line 8002, column 'b': 'bad' is not a number")


def test_only_chosen_columns_are_checked(write: Write) -> None:
    path = write("u,u,v,y,note,gap\n1,2,3,4,5,\n6,7,8,9,bad,1\n5,5,5,5\n")
    assert read_data(path, "v").u.tolist() == [3, 8, 5]
    says(message_of(path, "v, note"), "line 3, column 'note': 'bad'")
    says(message_of(path, "gap"), "line 2, column 'gap': the cell is empty; line 4 has 4 of 6")


def test_a_name_with_a_comma_is_a_name(write: Write) -> None:
    path = write('"Speed, m/s",u,y\n1,2,3\n')
    assert read_data(path, "Speed, m/s").names.inputs == ("Speed_m_s",)


def test_bad_paths(tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    says(message_of(tmp_path / "absent.xlsx"), "absent.xlsx", "does not exist")
    says(message_of(write("", "data.xlsx")), "'.xlsx'", "export the sheet as CSV")
    says(message_of(write("", "data.h5")), "'.h5'", ".csv", ".mat")
    says(message_of(tmp_path), "is a directory")
    says(message_of(3), "3 is not a path", "from_arrays")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write("u,y\n1,2\n", "home.csv")
    assert len(read_data("~/home.csv")) == 1
    for reader in (read_csv, read_mat):
        with pytest.raises(AdjoinError, match="is a directory"):
            reader(tmp_path)


# --- MATLAB files --------------------------------------------------------------------------------


def test_matlab_vectors_and_matrices(write: Write) -> None:
    u, y = np.array([[0, 1], [2, 5], [4, 3], [7, 6.0]]), np.arange(4)
    path = write({"u": u, "y": y, "t": y, "fs": 610.0, "note": "text"}, "data.mat")
    dataset = read_data(path)
    assert dataset.names.ordered == ("u1", "u2", "y", "e")
    np.testing.assert_array_equal(dataset.u, u)
    assert dataset.y.tolist() == [0, 1, 2, 3]
    assert read_mat(path, "u").names.inputs == ("u1", "u2")
    assert read_mat(path, "u2", "u1").y.tolist() == [0, 2, 4, 7]
    column = write({"u": y[:, None] > 1, "y": y[None].astype(np.int16)}, "column.mat")
    assert read_mat(column).u.tolist() == [0, 0, 1, 1]


def test_other_columns_of_an_output_matrix_are_no_inputs(write: Write) -> None:
    path = write({"u": [1, 0, 0, 1], "y": np.ones((4, 2))}, "data.mat")
    assert read_mat(path, output="y2").names.ordered == ("u", "y2", "e")
    says(message_of(path), "one column", "'y1', 'y2'")


MATLAB_73 = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n"


@pytest.mark.parametrize(
    ("content", "inputs", "words"),
    [
        (MATLAB_73, None, ["7.3", "-v7"]),
        (b"\x89HDF\r\n\x1a\n" + bytes(600), None, ["HDF5", "-v7"]),
        (b"", None, ["not a readable MATLAB file"]),
        (b"garbage" * 100, None, ["not a readable MATLAB file"]),
        (b"u,y\n1,2\n", None, ["not a readable MATLAB file"]),
        ({"u": np.arange(3) + 1j, "y": np.arange(3)}, None, ["input 'u'", "complex"]),
        ({"u": np.arange(4), "y": np.arange(3)}, None, ["'u' has 4 samples", "'y' has 3"]),
        ({"u": np.arange(3), "y": np.arange(3)}, None, ["'u'", "time axis"]),
        ({"u1": [1, 2], "u": np.ones((2, 2)), "y": [1, 2]}, None, ["2 columns", "'u1'"]),
        ({"u": [1, 2, np.nan], "y": np.arange(3)}, None, ["'u'", "NaN", "sample 2"]),
        ({"s": {"u": [1, 2]}, "u": [1, 2], "y": [1, 2]}, "s", ["'s'", "struct"]),
        ({"c": np.array([1, "a"], object), "u": [1, 2], "y": [1, 2]}, "c", ["'c'", "cell"]),
        ({"fs": 3.0, "u": [1, 2], "y": [1, 2]}, "fs", ["'fs'", "scalar"]),
        ({"fs": 3.0, "y": [1, 2]}, None, ["input", "are: 'y'."]),
        ({"x": [1, 2], "z": [1, 2]}, None, ["'y'", "'x', 'z'"]),
        ({"speed": [1, 2], "y": [1, 2]}, "sped", ["'sped'", "mean 'speed'"]),
    ],
)
def test_bad_matlab_files(write: Write, content: Any, inputs: Any, words: list[str]) -> None:
    path = write(content, "data.mat")
    says(message_of(path, inputs), str(path), *words)


V = np.array([1.0, 3.0, 2.0])
STRUCT = {"u": V, "y": -V, "t": V, "fs": 9.0, "more": {"w": 2 * V, "uu": np.column_stack([V, V])}}


@pytest.mark.parametrize(
    ("content", "inputs", "output", "names"),
    [
        ({"data": STRUCT}, None, None, ("u", "y", "e")),
        ({"data": STRUCT, "fs": 9.0, "text": "abc"}, None, None, ("u", "y", "e")),
        ({"data": STRUCT}, "data.u", "data.y", ("u", "y", "e")),
        ({"data": STRUCT}, "u, more.w", "y", ("u", "w", "y", "e")),
        ({"data": STRUCT}, "data.more.uu, u", "y", ("uu1", "uu2", "u", "y", "e")),
        ({"data": STRUCT}, None, "more.w", ("uu1", "uu2", "w", "e")),
        ({"a": STRUCT, "b": STRUCT}, None, "b.y", ("u", "y", "e")),
        ({"a": STRUCT, "b": STRUCT}, "a.u, b.u", "b.y", ("a_u", "b_u", "y", "e")),
        ({"a": STRUCT, "u": V, "y": V}, None, None, ("u", "y", "e")),
        ({"a": STRUCT, "u": V, "y": V}, "u, a.u", None, ("u", "a_u", "y", "e")),
    ],
)
def test_fields_of_structs(
    write: Write, content: Any, inputs: Any, output: Any, names: tuple[str, ...]
) -> None:
    dataset = read_mat(write(content, "data.mat"), inputs, output)
    assert dataset.names.ordered == names
    assert len(dataset) == 3


@pytest.mark.parametrize(
    ("content", "inputs", "words"),
    [
        ({"a": STRUCT, "b": STRUCT}, None, ["'y'", "'a.u', 'a.y'", "'b.more.uu2'"]),
        ({"data": STRUCT}, "v", ["'v'", "are: 'u', 'y', 't', 'more.w'"]),
        ({"data": STRUCT, "y": V}, "data", ["'data' is a struct", "'data.u', 'data.y'"]),
        ({"data": STRUCT}, "data.fs", ["'data.fs' (scalar)"]),
        ({"c": np.array([1, "a"], object), "fs": 1.0}, None, ["'y'", "'c' (cell), 'fs' (scalar)"]),
        ({"s": np.zeros(2, [("u", float)])}, None, ["'s' (struct array)"]),
    ],
)
def test_bad_fields_of_structs(write: Write, content: Any, inputs: Any, words: list[str]) -> None:
    says(message_of(write(content, "data.mat"), inputs), *words)


def test_structs_and_cells_do_not_disturb_unless_asked_for(write: Write) -> None:
    odd = {"s": {"u": [1, 2]}, "c": np.array([1, "a"], object), "cube": np.zeros((2, 2, 2))}
    path = write({**odd, "u": [1, 2], "y": [3, 4]}, "data.mat")
    assert read_mat(path).names.ordered == ("u", "y", "e")


# --- objects of other packages -------------------------------------------------------------------


def test_objects_with_u_and_y() -> None:
    one = SimpleNamespace(u=np.arange(3), y=np.arange(3), sampling_time=0.5, name="bench")
    dataset = from_object(one)
    assert (dataset.sampling_time, dataset.label, dataset.n_records) == (0.5, "bench", 1)
    two = from_object([one, SimpleNamespace(u=[1, 2], y=[3, 4], sampling_time=0.5, name="test")])
    assert (two.n_records, two.label) == (2, "bench, test")
    assert from_object(pd.DataFrame({"u": [1, 2], "y": [3, 4]})).y.tolist() == [3, 4]
    assert from_object(two) is two
    free = SimpleNamespace(u=None, y=[1, 2])
    assert from_object([free, free]).names.inputs == from_object(free).names.inputs == ()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.zeros(3), ["ndarray", "u and no y", "from_arrays"]),
        ([SimpleNamespace(u=[1], y=[1]), SimpleNamespace(u=[1])], ["record 1", "no attribute y"]),
        ([], ["no record"]),
        (
            [SimpleNamespace(u=[1], y=[1], sampling_time=t) for t in (1, 2)],
            ["sampling times [1, 2]"],
        ),
        (SimpleNamespace(u=[1, 2], y=[1]), ["2 samples"]),
    ],
)
def test_bad_objects(data: Any, words: list[str]) -> None:
    with pytest.raises(AdjoinError) as caught:
        from_object(data)
    says(str(caught.value), *words)


def test_data_sets_read_can_be_split(write: Write) -> None:
    dataset = read_data(write("u,y\n" + "1,2\n" * 10))
    assert isinstance(dataset, Dataset)
    assert [len(part) for part in dataset.split(0.8)] == [8, 2]


def test_a_column_is_found_without_its_unit_where_only_one_is_meant(tmp_path: Path) -> None:
    (tmp_path / "rig.csv").write_text("force [N],speed (m/s)\n1,2\n3,4\n5,7\n")
    data = read_data(tmp_path / "rig.csv", inputs="force", output="speed")
    assert data.units == ("N", "m/s")
    (tmp_path / "two.csv").write_text("force [N],force [kN],y\n1,2,3\n3,4,4\n5,7,1\n")
    with pytest.raises(AdjoinError, match="no column is called 'force'"):
        read_data(tmp_path / "two.csv", inputs="force", output="y")
