"""The tree of the package, its tests and its words are what they claim to be."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "adjoin"
SOURCES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted(p.name for p in PACKAGE.iterdir() if p.is_dir() and not p.name.startswith("_"))


def test_tests_mirror_the_tree() -> None:
    mirrored = {p.name for p in (ROOT / "tests").iterdir() if any(p.glob("test_*.py"))}
    assert set(FOLDERS) <= mirrored
    across = {"calibration", "contracts", "docs", "regression"}  # what no one folder is about
    assert mirrored - set(FOLDERS) == across


def test_there_are_at_most_ten_layers_and_every_folder_has_its_place() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [c for c in settings["tool"]["importlinter"]["contracts"] if "layers" in c]
    assert len(contract["layers"]) <= 10
    assert contract["exhaustive"] is True
    placed = {name.strip() for layer in contract["layers"] for name in re.split("[|:]", layer)}
    assert set(FOLDERS) <= placed
    assert not settings["tool"]["importlinter"]["exclude_type_checking_imports"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_says_what_it_is_for(folder: str) -> None:
    text = (PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")
    assert text.startswith('"""'), folder


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        ("is_free_run", "ask the objective what you need to know"),
        ("every which", "every n-th"),
        (r"isinstance\(\w*engine", "ask the contract of engines"),
    ],
)
def test_words_that_were_given_up_stay_so(word: str, instead: str) -> None:
    found = [p.name for p in SOURCES if re.search(word, p.read_text(encoding="utf-8"))]
    assert not found, instead


@pytest.mark.parametrize("page", sorted(PACKAGE.rglob("DECISIONS.md")), ids=lambda p: p.parent.name)
def test_decisions_name_modules_that_exist(page: Path) -> None:
    known = {p.stem for p in SOURCES} | {p.name for p in SOURCES}
    for name in re.findall(r"`(?:\w+/)*([a-z_]+\.py)`", page.read_text(encoding="utf-8")):
        assert name in known, name
