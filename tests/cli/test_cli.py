"""The command line, as a user and as a script meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import run

from adjoin import Grammar, __version__

EQUATION = "y(k) = 0.3*y(k-1) + 0.5*u(k-1) - 0.3*u(k-5)^3"


def run_json(*arguments: str) -> dict:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_version() -> None:
    assert run("--version").stdout == f"adjoin {__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("demo",),
        ("compare",),
        ("simulate",),
        ("grammar",),
        *(("grammar", c) for c in ("show", "check", "draw", "parse")),
    ],
)
def test_every_command_has_help_with_an_example(command: tuple[str, ...]) -> None:
    done = run(*command, "--help")
    assert done.returncode == 0
    if command and command != ("grammar",):
        assert "Example:" in done.stdout
        assert "--json" in done.stdout


def test_show_is_json_for_scripts() -> None:
    result = run_json("grammar", "show", "narx", "--inputs", "u,udot", "--functions", "abs")
    assert result["start"] == "expr0"
    assert result["samplers"]["usable"] is True
    assert {atom["signal"] for atom in result["samplers"]["alphabet"]} == {"u", "udot", "y"}
    keith = run_json("grammar", "show", "keith")
    assert keith["samplers"] == {"usable": False, "reason": keith["samplers"]["reason"]}


def test_show_text_is_a_grammar_file(tmp_path: Path) -> None:
    file = tmp_path / "narx.tag"
    file.write_text(run("grammar", "show", "narmax", "--text").stdout, encoding="utf-8")
    assert Grammar.read(file) == Grammar.narmax()
    done = run("grammar", "check", str(file))
    assert done.returncode == 0
    assert "the samplers can use it" in done.stdout


def test_parse() -> None:
    result = run_json("grammar", "parse", EQUATION)
    assert result["equation"] == "y(k) = 0.5*u(k-1) - 0.3*u(k-5)^3 + 0.3*y(k-1)"
    assert result["structure"] == "u(k-1) + u(k-5)^3 + y(k-1)"
    assert [term["coefficient"] for term in result["terms"]] == [0.5, -0.3, 0.3]
    assert result["trees"]["yield"].startswith("θ × q⁻¹ u + θ × ")
    shown = run("grammar", "parse", EQUATION).stdout
    assert "└─ α2 at root" in shown


def test_parse_keeps_named_coefficients() -> None:
    result = run_json("grammar", "parse", "y(k) = a*u(k-1) + 0.5*y(k-1)")
    assert result["equation"] == "y(k) = a*u(k-1) + 0.5*y(k-1)"
    assert [term["coefficient"] for term in result["terms"]] == [None, 0.5]


def test_parse_of_a_constant() -> None:
    """All that can be typed has a tree in its smallest grammar, a constant too."""
    result = run_json("grammar", "parse", "y(k) = 3 + u(k)")
    assert result["equation"] == "y(k) = 3.0 + u(k)"
    assert result["trees"]["yield"] == "θ + θ × u + ε"


def test_a_file_keeps_its_words_and_takes_bounds(tmp_path: Path) -> None:
    file = tmp_path / "mine.tag"
    Grammar.narx().write(file)
    shown = run_json("grammar", "show", str(file), "--max-lag", "3")
    assert {atom["max_lag"] for atom in shown["samplers"]["alphabet"]} == {3}
    assert run("grammar", "show", str(file), "--inputs", "v").returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_terminal_will_do(encoding: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "adjoin.cli", "grammar", "show"]
    for option in ([], ["--json"], ["--text"], ["--trees"]):
        done = subprocess.run(
            [*command, *option], capture_output=True, check=False, env=environment, timeout=300
        )
        assert done.returncode == 0, done.stderr
        if option == ["--text"]:
            assert Grammar.from_text(done.stdout.decode("utf-8")) == Grammar.narx()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_full_disk_is_one_line_and_status_1(option: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "adjoin.cli", "grammar", "show", *option],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
            timeout=300,
        )
    assert done.returncode == 1
    assert done.stderr == "error: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_an_interrupt_ends_with_status_1_and_a_word() -> None:
    program = (
        "import os, signal, sys; from adjoin import cli; from adjoin.cases import demonstration;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # the background ignores it
        "demonstration.texts = lambda: os.kill(os.getpid(), signal.SIGINT);"
        "sys.argv = ['adjoin', 'demo']; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, text=True, timeout=300
    )
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("stopped")
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_read_enough_is_no_failure() -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "adjoin.cli", "grammar", "show", "--trees"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert program.stdout is not None
    program.stdout.close()
    assert program.wait(timeout=300) == 0
    assert program.stderr is not None
    assert program.stderr.read() == b""
    program.stderr.close()


def test_parse_with_declared_inputs() -> None:
    result = run_json("grammar", "parse", "y(k) = b(k) + a(k)", "--inputs", "a,b")
    assert result["structure"] == "a(k) + b(k)"


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_draw(tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"trees.{ending}"
    done = run("grammar", "draw", "--equation", EQUATION, "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("grammar", "parse", "y(k) = u(k+1)"), "in the future"),
        (("grammar", "show", "nonsense"), "neither a file nor a ready grammar"),
        (("grammar", "show", "--functions", "log"), "unknown function 'log'"),
        (("grammar", "show", "--inputs", "u,u"), "called 'u'"),
        (("grammar", "check", "missing.tag"), "cannot read the grammar"),
        (("grammar", "draw", "--out", "trees.bmp"), "must end in one of"),
        (("grammar", "draw", "--equation", "y(k) = u(k-99)"), "lags from 0 to 10"),
        (("grammar", "draw", "keith", "--equation", "y(k) = u(k)"), "declares no output"),
        (("grammar", "show", "--max-lag", "-3"), "max-lag"),
        (("grammar", "show", "--max-lag", "0"), "max_lag of at least 1"),
        (("grammar", "show", "keith", "--inputs", "a"), "--inputs is for the ready"),
        (("grammar", "show", "arx", "--max-degree", "3"), "no meaning for arx"),
        (("grammar", "show", "--json", "--text"), "exclude each other"),
        (("grammar", "check", "narx"), "is a ready grammar"),
        (("grammar", "draw", "--out", "nowhere/trees.svg"), "no folder 'nowhere'"),
        (("grammar", "parse", "y(k) = 1e400*u(k)"), "too large"),
        (("grammar", "unknown"), "unknown"),
        (("nonsense",), "nonsense"),
    ],
)
def test_bad_usage_ends_with_status_2_and_a_reason(tmp_path, arguments, message: str) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
