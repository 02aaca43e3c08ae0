"""The rules of CONTRIBUTING that kernels keep, read off their sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjoin.kernels

FOLDER = Path(adjoin.kernels.__file__).parent
MODULES = {path.stem: ast.parse(path.read_text()) for path in sorted(FOLDER.glob("*.py"))}
LOOPS = {"prediction", "abc", "output_error"}
"""The modules with an engine's own loop."""
MOST_ARGUMENTS, MOST_FIELDS, MOST_KERNEL_LINES, MOST_MODULE_LINES = 8, 12, 60, 499


def _decorator(function: ast.FunctionDef) -> str:
    return ast.unparse(function.decorator_list[0]) if function.decorator_list else ""


def _kernels() -> Iterator[tuple[str, ast.FunctionDef]]:
    for module, tree in MODULES.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and _decorator(node).startswith("kernel("):
                yield f"{module}.{node.name}", node


def _tuples() -> Iterator[tuple[str, ast.ClassDef]]:
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield f"{module}.{node.name}", node


KERNELS, TUPLES = dict(_kernels()), dict(_tuples())


def _imported(tree: ast.Module) -> set[str]:
    """The kernel modules that a module imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        paths = [name.split(".") for name in names]
        found |= {path[2] for path in paths if path[:2] == ["adjoin", "kernels"] and path[2:]}
    return found


def test_there_is_something_to_check() -> None:
    assert len(KERNELS) > 80
    assert len(TUPLES) > 20
    assert set(MODULES) >= LOOPS


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_short_and_says_what_it_changes(name: str) -> None:
    kernel = KERNELS[name]
    assert len(kernel.decorator_list) == 1
    arguments = kernel.args
    assert not any((arguments.vararg, arguments.kwarg, arguments.kwonlyargs, arguments.defaults))
    assert len(arguments.posonlyargs + arguments.args) <= MOST_ARGUMENTS
    assert kernel.end_lineno - kernel.lineno < MOST_KERNEL_LINES
    inner = [node for node in ast.walk(kernel) if node is not kernel]
    assert not [node for node in inner if isinstance(node, (ast.FunctionDef, ast.Lambda))]
    assert not [node for node in inner if isinstance(node, ast.Raise)]
    text = ast.get_docstring(kernel)
    assert "Mutates: " in text
    assert "Allocates: nothing." in text


@pytest.mark.parametrize("name", TUPLES)
def test_a_tuple_is_short(name: str) -> None:
    kind = TUPLES[name]
    assert [ast.unparse(base) for base in kind.bases] == ["NamedTuple"]
    fields = [node for node in kind.body if isinstance(node, ast.AnnAssign)]
    assert 0 < len(fields) <= MOST_FIELDS


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_one_job(name: str) -> None:
    """Nothing is compiled but at module level, and no engine's loop is a part of another thing."""
    tree = MODULES[name]
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) <= MOST_MODULE_LINES
    assert ast.get_docstring(tree)
    assert not _imported(tree) & (LOOPS - {name})
    decorated = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    decorated = [node for node in decorated if node.decorator_list]
    assert {f"{name}.{node.name}" for node in decorated} <= set(KERNELS)


def test_relaxed_arithmetic_is_in_one_place() -> None:
    relaxed = [name for name, kernel in KERNELS.items() if "fastmath" in _decorator(kernel)]
    assert relaxed == ["products.dot"]


def test_every_kernel_that_python_calls_is_listed() -> None:
    from tests.every_kernel import KERNELS as listed

    entries = {name for name, kernel in KERNELS.items() if "entry=True" in _decorator(kernel)}
    assert {f"{k.__module__.rpartition('.')[2]}.{k.__name__}" for k in listed} == entries
