"""Every block of code in the documentation is run, and prints what it says it prints."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.command import run

import adjoin
from adjoin import Grammar
from adjoin.export.compiling import compile_program, find_compiler, run_program
from adjoin.sweeps.example import EXAMPLE

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEWCOMERS = ("README.md", "docs/tutorial.md", "docs/discover.md", "docs/export.md", "docs/sweep.md")
"""Pages that begin in the folder that `adjoin demo` leaves behind."""
WRITTEN = ("--out", "--report", "--model", "--python", "--latex")
SHORTER = {
    "case": ("--quick", "--objective", "osa", "--lambda-t", "5", "--chains", "1"),
    "discover": ("--effort", "quick", "--max-lag", "2"),
    "fit": ("--samples", "3000"),
}
"""What is added to commands that take minutes and show no output: of an option the last counts."""


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


class Block(NamedTuple):
    language: str
    text: str
    line: int


def _blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], match[2], text[: match.start()].count("\n") + 1)
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_has_a_language_that_is_checked(page: Path) -> None:
    known = {"python", "console", "tag", "text", "toml", "c"}
    assert [block.line for block in _blocks(page) if block.language not in known] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_python_blocks(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    if _name(page) in NEWCOMERS:
        shutil.copytree(request.getfixturevalue("demo_folder"), tmp_path, dirs_exist_ok=True)
    shared: dict[str, object] = {"__name__": "__main__"}
    for block in _blocks(page):
        if block.language != "python":
            continue
        if ">>>" in block.text:
            name = f"{page.name}, line {block.line}"
            test = doctest.DocTestParser().get_doctest(block.text, shared, name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=OPTIONS)
            assert runner.run(test, clear_globs=False).failed == 0
            shared.update(test.globs)
        else:
            exec(compile(block.text, f"{page.name}:{block.line}", "exec"), shared)


def _commands() -> list[tuple[str, str, str]]:
    found = []
    for page in PAGES:
        for block in _blocks(page):
            if block.language == "console":
                for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                    command, _, output = part.partition("\n")
                    found.append((_name(page), command, output))
        text = page.read_text(encoding="utf-8")
        found += [(_name(page), c, "") for c in re.findall(r"^\| `(adjoin [^`…]*)` \|", text, re.M)]
    # A case takes a minute; of commands that run the same one, that with the most options is run.
    cases: dict[str, int] = {}
    for _, command, _ in found:
        case = _case(command)
        cases[case] = max(len(command), cases.get(case, 0))
    return [one for one in found if not _case(one[1]) or len(one[1]) == cases[_case(one[1])]]


def _case(command: str) -> str:
    words = command.split()
    return words[2] if words[:2] == ["adjoin", "case"] else ""


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the commands in the documentation are about."""
    folder = tmp_path_factory.mktemp("workshop")
    Grammar.narx().write(folder / "my.tag")
    parts = adjoin.datasets.academic(seed=0)
    for name, part in (("rig", parts.train), ("test", parts.test), ("new", parts.validation)):
        rows = np.column_stack([np.arange(len(part)) / 100, part.u, part.y])
        header = "time,force,velocity"
        np.savetxt(folder / f"{name}.csv", rows, delimiter=",", header=header, comments="")
    rig = adjoin.read_data(folder / "rig.csv", inputs="force", output="velocity")
    posterior = adjoin.Identifier(samples=3000, seed=0).fit(rig).posterior_
    posterior.save(folder / "rig.nc")
    posterior.map_model.save(folder / "rig.json")
    shutil.copy(folder / "rig.nc", folder / "other.nc")
    return folder


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `adjoin demo` leaves behind, and a second run beside it."""
    folder = tmp_path_factory.mktemp("demo")
    done = run("demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    shutil.copy(folder / "rig.nc", folder / "linear.nc")
    (folder / "plan.toml").write_text(EXAMPLE, encoding="utf-8")
    Grammar.narx().write(folder / "my.tag")
    return folder


@pytest.mark.parametrize(("page", "command", "output"), _commands())
def test_commands(
    page: str,
    command: str,
    output: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    program, *arguments = shlex.split(command)
    if program == "make":
        # The tests run inside one of these; that the others exist is what can go wrong here.
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in arguments:
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), f"make {target}"
        return
    assert program == "adjoin", page
    if arguments[0] == "demo":  # it takes half a minute, and the others begin with what it leaves
        assert (request.getfixturevalue("demo_folder") / "rig.html").exists()
        return
    folder = request.getfixturevalue("demo_folder" if page in NEWCOMERS else "workshop")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for option, value in pairwise(arguments):  # a reader has not written it before
        if option in WRITTEN:
            (tmp_path / value).unlink(missing_ok=True)
    if arguments[0] == "case" or (page in NEWCOMERS and not output):
        arguments += SHORTER.get(arguments[0], ())
    if "silverbox" in arguments:
        arguments += ["--data", str(request.getfixturevalue("silverbox_folder"))]
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if output:
        assert doctest.OutputChecker().check_output(output, done.stdout, OPTIONS), done.stdout


@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
def test_c_blocks(tmp_path: Path, demo_folder: Path) -> None:
    """A program in C is compiled with the model of the demonstration, and runs."""
    programs = [block for page in PAGES for block in _blocks(page) if block.language == "c"]
    assert programs
    adjoin.load(demo_folder / "rig.nc").selected.map_model.c("rig").save(tmp_path / "rig.c")
    for block in programs:
        (tmp_path / "main.c").write_text(block.text, encoding="utf-8")
        compile_program(tmp_path, ["main.c", "rig.c"], "main")
        printed = run_program([tmp_path / "main"], tmp_path, "the program")
        assert re.fullmatch(r"displacement -?\d.*\n", printed)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_grammar_blocks(page: Path) -> None:
    for block in _blocks(page):
        if block.language == "tag":
            grammar = Grammar.from_text(block.text)
            assert grammar.alphabet.n_terms > 0
            assert Grammar.from_text(grammar.to_text()) == grammar


def test_the_plan_that_is_shown_is_the_one_that_is_run() -> None:
    (plan,) = [block for page in PAGES for block in _blocks(page) if block.language == "toml"]
    assert plan.text == EXAMPLE


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.tag")), ids=lambda f: f.name)
def test_example_grammars(file: Path) -> None:
    assert Grammar.from_text(Grammar.read(file).to_text()) == Grammar.read(file)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def _modules() -> list[str]:
    names = [m.name for m in pkgutil.walk_packages(adjoin.__path__, "adjoin.")]
    return [name for name in names if not name.endswith("__main__")]  # which would run


@pytest.mark.parametrize("name", _modules())
def test_docstring_examples(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=OPTIONS).failed == 0


def test_the_architecture_has_every_stage_and_no_module_is_long() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "adjoin"
    for stage in package.iterdir():
        if stage.suffix in ("", ".py") and not stage.stem.startswith("__"):
            assert f"`{stage.stem}`" in page, stage.name
    for file in package.rglob("*.py"):
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 500, file.name
