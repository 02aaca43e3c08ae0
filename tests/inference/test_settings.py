"""Settings of a run: typed inside, plain outside, and nothing in a file that means nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adjoin import AdjoinError, Ladder, Prior
from adjoin.inference.engines import find_engine
from adjoin.inference.engines.abc import AbcSettings
from adjoin.inference.objective import ABC, PREDICTION
from adjoin.inference.settings import RunSettings, read_settings

ONE_STEP = RunSettings(
    inputs=("u", "v"), output="y", samples=10, seed=3, prior=Prior(lag_decay=0.5)
)
FREE_RUN = RunSettings(
    ABC.by("my_distance"),
    functions=("abs",),
    initial="u(k)",
    initial_mode="residual",
    own_settings=AbcSettings("paper", "my_distance", Ladder(rungs=3, tolerance=float("inf"))),
)
ODD: list[Any] = [None, True, -1, 5, 1.5, "x", "", [], [1], ["a"], {"a": 1}, {"rungs": "x"}, [[1]]]


def _read(plain: dict[str, Any]) -> RunSettings:
    engine = find_engine(plain["objective"])
    rest = {name: value for name, value in plain.items() if name != "objective"}
    return read_settings(rest, engine.read_objective(rest), engine.read_own_settings)


@pytest.mark.parametrize("settings", [ONE_STEP, FREE_RUN])
def test_settings_come_back_from_their_plain_values(settings: RunSettings) -> None:
    assert _read(json.loads(json.dumps(settings.plain, allow_nan=False))) == settings


def test_settings_are_a_mapping_of_plain_values() -> None:
    assert (ONE_STEP["objective"], ONE_STEP["seed"]) == (PREDICTION.name, 3)
    assert ONE_STEP["prior"]["lag_decay"] == 0.5
    assert FREE_RUN["ladder"]["tolerance"] == "inf"
    assert set(FREE_RUN) - set(ONE_STEP) == {"rule", "distance", "ladder"}
    assert dict(ONE_STEP) == ONE_STEP.plain


def test_what_is_missing_has_its_default() -> None:
    assert _read({"objective": "osa"}) == RunSettings()


@pytest.mark.parametrize("settings", [ONE_STEP, FREE_RUN])
def test_odd_values_are_refused_or_mean_what_they_say(settings: RunSettings) -> None:
    """Whatever a file holds, there is an error that a user understands, or the value itself."""
    n_refused = 0
    for name in {*settings.plain, "colour"} - {"objective"}:
        for value in ODD:
            try:
                found = _read({**settings.plain, name: value}).plain[name]
            except AdjoinError:
                n_refused += 1
            else:
                assert found == value, name
    assert n_refused > 150
