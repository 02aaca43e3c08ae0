"""Which columns of a file are meant by the names that a user gives.

Receives a `Table` from ``tables`` and names; hands the columns to ``readers``. An error says which
columns there are, and which may have been meant.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from adjoin.data.names import legal_name, split_names, split_unit
from adjoin.data.records import is_counter, is_record, is_time
from adjoin.data.tables import Column, Table
from adjoin.errors import AdjoinError

_UNIT = r"\s*[\[(].*"


def pick_output(table: Table, output: str | None) -> Column:
    """Return the output column; by default that called y."""
    if output is None and not table.find("y"):
        raise AdjoinError(f"no column is called 'y'; name the output. {listing(table)}")
    target = pick(table, "y" if output is None else output)
    if len(target) > 1:
        listed = ", ".join(repr(column.path) for column in target)
        raise AdjoinError(f"the output must be one column; choose among {listed}.")
    return target[0]


def pick_inputs(table: Table, inputs: str | Iterable[str] | None, target: Column) -> list[Column]:
    """Return the input columns; by default all numbers but the output and what is about rows."""
    if inputs is None:
        # columns beside the output; its neighbours in a matrix are further outputs
        others = [c for c in table.columns if c.owner == target.owner and c.group != target.group]
        is_about_rows = (is_time, is_counter, is_record)
        chosen = [c for c in others if c.has_numbers() and not any(is_(c) for is_ in is_about_rows)]
        if not chosen:
            raise AdjoinError(
                "no numeric input is left; name the inputs, or none by inputs=() for an autonomous"
                f" system. {listing(table)}"
            )
        uses = Counter(column.path for column in table.columns)
        for column in chosen:
            _require_one(column.path, uses[column.path])
        return chosen
    # a name with a comma in it is a name
    wanted = (inputs,) if isinstance(inputs, str) and table.find(inputs) else split_names(inputs)
    return [column for name in wanted for column in pick(table, name)]


def pick(table: Table, name: str) -> list[Column]:
    """Return the columns that a name stands for."""
    if not isinstance(name, str):
        raise AdjoinError(f"{name!r} is not the name of a column. {listing(table)}")
    columns = table.find(name)
    (path, times), *_ = Counter(column.path for column in columns).most_common(1) or [(name, 1)]
    _require_one(path, times)
    if columns:
        return columns
    for spelled in (legal_name, _without_unit):
        found = [column for column in table.columns if spelled(column.name) == name]
        if len(found) == 1:
            return found
    fields = [f"{column.path!r}" for column in table.columns if column.owner == name]
    if fields:
        raise AdjoinError(f"{name!r} is a struct; choose among its fields {', '.join(fields)}.")
    if name in table.others:
        raise AdjoinError(
            f"the variable {name!r} ({table.others[name]}) is no vector or matrix of numbers; save"
            " its series as variables of their own."
        )
    raise AdjoinError(f"no column is called {name!r}.{_suggestion(table, name)} {listing(table)}")


def _without_unit(name: str) -> str:
    return split_unit(name)[0]


def _require_one(path: str, times: int) -> None:
    """Refuse names that occur twice."""
    if times > 1:
        raise AdjoinError(f"{times} columns are called {path!r}; give each its own name.")


def require_once(chosen: Sequence[Column], target: Column) -> None:
    """Refuse columns that are chosen twice."""
    if target in chosen:
        raise AdjoinError(
            f"the column {target.path!r} is chosen as the output and as an input too; name another"
            " output, or leave it out of the inputs."
        )
    for column, times in Counter(column.path for column in chosen).items():
        if times > 1:
            raise AdjoinError(
                f"the column {column!r} is chosen as an input {times} times; name it once."
            )


def _suggestion(table: Table, name: str) -> str:
    """Find the column meant: in other letters, without its unit, or misspelled."""
    spellings: dict[str, str] = {}
    for text in table.names:
        for spelling in (text, re.sub(_UNIT, "", text), legal_name(text)):
            spellings.setdefault(spelling.casefold(), text)
    close = difflib.get_close_matches(name.casefold(), spellings, n=1)
    return f" Did you mean {spellings[close[0]]!r}?" if close else ""


def listing(table: Table) -> str:
    """Say in a sentence which columns there are."""
    names = [repr(name) for name in table.names]
    if not names and table.others:
        names = [f"{name!r} ({kind})" for name, kind in table.others.items()]
        return f"No variable is a vector or matrix of numbers: {', '.join(names[:30])}."
    return f"The columns are: {', '.join(names[:30])}{', …' if len(names) > 30 else ''}."
