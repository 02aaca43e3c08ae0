"""Data are checked: planted faults are named, clean data raise no alarm, and words make sense."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from benchmarks import check as check_rigs
from tests.data.every_finding import NAMES, every_check
from tests.data.planted import KINDS, PLANTED, clean
from typer.main import get_command

from adjoin import AdjoinError, DataCheck, Dataset, check_data, datasets, read_data
from adjoin.cli.app import app
from adjoin.cli.spelling import spell_for_discover, spell_for_fit
from adjoin.data import defects
from adjoin.data.check import check_files
from adjoin.data.checking.finding import Finding

N_SEEDS = 10
"""In 100 seeds, each of these faults was named every time; nine of ten are asked for."""


def alarms(data: Dataset) -> dict[str, Finding]:
    return {found.name: found for found in check_data(data).findings if found.level != "good"}


@pytest.mark.parametrize("kind", KINDS)
def test_clean_data_raise_no_alarm(kind: str) -> None:
    """In 100 seeds of each kind none does, where 5 % are allowed: one of 20 seeds."""
    found = [alarms(Dataset.from_arrays(*clean(kind, seed)[:2])) for seed in range(20)]
    assert sum(map(bool, found)) <= 1, found


@pytest.mark.parametrize("n", [300, 6000])
def test_clean_data_of_other_lengths_raise_no_alarm(n: int) -> None:
    found = [alarms(Dataset.from_arrays(*clean("arx", seed, n)[:2])) for seed in range(10)]
    assert sum(map(bool, found)) <= 1, found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["offset", "oversampling", "saturation", "swapped", "leak"])
def test_faults_are_named_in_nine_of_ten_seeds(fault: str, kind: str) -> None:
    named = [fault in alarms(PLANTED[fault](kind, seed)) for seed in range(N_SEEDS)]
    assert sum(named) >= 9


@pytest.mark.parametrize(
    "fault", ["drift", "quantised", "stuck", "feedback", "collinear", "delay", "outliers"]
)
def test_other_faults_are_named(fault: str) -> None:
    kinds = ("arx",) if fault in ("outliers", "feedback") else KINDS
    for kind in kinds:
        named = [fault in alarms(PLANTED[fault](kind, seed)) for seed in range(5)]
        assert sum(named) >= 4, kind


def test_remedies_remedy() -> None:
    """What is advised against oversampling, drift and a delay makes the finding go away."""
    for seed in range(3):
        fast = PLANTED["oversampling"]("duffing", seed)
        factor = int(alarms(fast)["oversampling"].remedy.split("(")[1].split(")")[0])
        assert 3 <= factor <= 6
        assert "oversampling" not in alarms(fast.decimate(factor))
        assert "drift" not in alarms(PLANTED["drift"]("arx", seed).detrend())
        assert alarms(PLANTED["delay"]("arx", seed))["delay"].remedy.startswith("max_lag=21")


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    def save(rows: object = slice(None), seed: int = 0, **columns: np.ndarray) -> Path:
        u, y, _ = clean("arx", seed)
        table = {"time": 0.01 * np.arange(len(u)), "u": u, "y": y, **columns}
        pd.DataFrame(table).iloc[rows].to_csv(tmp_path / "rig.csv", index=False)
        return tmp_path / "rig.csv"

    return save


def test_gaps_are_named(save: Callable[..., Path]) -> None:
    for seed in range(N_SEEDS):
        first, length = int(np.random.default_rng(seed).integers(100, 1300)), 1 + 3 * seed
        rows = np.delete(np.arange(1500), slice(first, first + length))
        found = check_data(save(rows, seed))
        (gap,) = (finding for finding in found.findings if finding.name == "gaps")
        assert gap.words.startswith("there is 1 gap in the time column")
        assert gap.remedy == (f"fill={length} interpolates it" if length <= 20 else "")
        assert found.data.n_records == 2
    named = [finding.name for finding in check_data(save()).findings if finding.level != "good"]
    assert named == []


def test_missing_values_are_found_and_not_refused(save: Callable[..., Path]) -> None:
    u = clean("arx", 0)[0].copy()
    u[[7, 100, 101]] = np.nan
    path = save(u=u)
    (found,) = (f for f in check_data(path).findings if f.name == "missing-values")
    assert found.words == "3 values are missing in u, up to 2 in a row."
    assert found.remedy == "fill=2 interpolates what is missing"
    assert read_data(path, fill=2).n_records == 1
    u[300:340] = np.nan
    found = check_data(save(u=u)).findings[0]
    assert (found.name, found.level) == ("missing-values", "poor")


def test_times_in_words(save: Callable[..., Path]) -> None:
    rng = np.random.default_rng(0)
    uneven = np.cumsum(rng.choice([0.1, 0.5, 1.0, 60.0], 1500, p=[0.3, 0.1, 0.5, 0.1]))
    worst = check_data(save(time=uneven)).findings[0]
    assert (worst.name, worst.level) == ("irregular-sampling", "poor")
    assert "steps run from 0.1 s to 60 s" in worst.words
    even = 0.01 * np.arange(1500)
    cases = {
        "jitter": even + 0.001 * rng.normal(size=1500),
        "repeated-times": np.where(np.arange(1500) == 700, even - 0.01, even),
        "time-unread": np.array(["soon"] * 1500),
    }
    for name, time in cases.items():
        assert name in [finding.name for finding in check_data(save(time=time)).findings], name
    back = [f.name for f in check_data(save(time=even % 5.0)).findings if f.level == "good"]
    assert "time-goes-back" in back


# --- single cases --------------------------------------------------------------------------------


def test_few_samples_and_short_records() -> None:
    u, y, _ = clean("arx", 0)
    assert alarms(Dataset.from_arrays(u[:40], y[:40]))["few-samples"].level == "poor"
    data = Dataset.from_arrays([u[:8], u[8:]], [y[:8], y[8:]])
    assert alarms(data)["short-records"].remedy.startswith("max_lag=6")
    for n in range(1, 8):  # nothing is too short to be looked at
        assert check_data(Dataset.from_arrays(u[:n], y[:n])).level == "poor"
    alone = Dataset.from_arrays([u[:1], u[1:2]], [y[:1], y[1:2]])
    assert check_data(alone).level == "poor"


def test_inputs_that_teach_little() -> None:
    rng = np.random.default_rng(0)
    time, noise = np.arange(1500), 0.01 * rng.normal(size=1500)
    sine = np.sin(0.3 * time)
    found = alarms(Dataset.from_arrays(sine, np.roll(sine, 3) + noise))
    assert found["excitation"].level == "poor"
    relay = np.sign(rng.normal(size=1500))
    assert "two-levels" in alarms(Dataset.from_arrays(relay, np.roll(relay, 1) + noise))
    u, y, _ = clean("arx", 0)
    both = np.column_stack([u, np.full(1500, 3.0)])
    assert alarms(Dataset.from_arrays(both, y))["constant"].level == "poor"
    level = [np.column_stack([part, np.full(750, i)]) for i, part in enumerate((u[:750], u[750:]))]
    assert "constant-in-records" in alarms(Dataset.from_arrays(level, [y[:750], y[750:]]))
    assert "constant" in alarms(Dataset.from_arrays(u, np.ones(1500)))


def test_unrelated_signals_and_outputs_without_inputs() -> None:
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=1500), rng.normal(size=1500))
    assert "unrelated" in alarms(data)
    even = Dataset.from_arrays(data.u, np.roll(data.u, 2) ** 2 + 0.1 * data.y)
    assert "unrelated" not in alarms(even)
    assert alarms(Dataset.from_arrays(None, clean("arx", 0)[1])) == {}


def test_sampling_that_is_too_slow() -> None:
    rng = np.random.default_rng(0)
    u, noise = rng.normal(size=(2, 1500))
    fast = np.cos(0.96 * np.pi * np.arange(1500)) + 0.1 * noise
    assert "undersampling" in alarms(Dataset.from_arrays(u, fast))
    alternating = [0.0]
    for value in u[:-1]:
        alternating.append(-0.5 * alternating[-1] + value)
    assert alarms(Dataset.from_arrays(u, np.array(alternating) + 0.1 * noise)) == {}


def test_a_check_for_people_tables_and_programs() -> None:
    u, y, _ = clean("arx", 0)
    found = check_data(Dataset.from_arrays(u, y + 100.0, label="rig"))
    assert isinstance(found, DataCheck)
    assert found.level == "caution"
    assert "caution offset: y has an offset" in str(found)
    assert found.table["name"].iloc[0] == "offset"
    assert found.table["level"].iloc[-1] == "good"
    plain = json.loads(json.dumps(found.plain, allow_nan=False))
    assert plain["findings"][0]["name"] == "offset"
    assert plain["data"]["label"] == "rig"
    with pytest.raises(AdjoinError, match="are for a file"):
        check_data(found.data, "u")


# --- simulated rigs ------------------------------------------------------------------------------


@pytest.mark.parametrize("rig", datasets.RIGS)
def test_clean_rigs_raise_no_alarm_but_what_is_true_of_them(rig: str) -> None:
    """In 50 seeds of each rig 0.5 % of records do, where 5 % are allowed; see the benchmark."""
    assert sum(bool(check_rigs.false_alarms(rig, seed)) for seed in range(4)) <= 1


@pytest.mark.parametrize("defect", check_rigs.DEFECTS)
def test_defects_of_rigs_are_named(defect: str) -> None:
    told = [check_rigs.is_named(defect, rig, seed) for rig in datasets.RIGS for seed in (100, 101)]
    asked = [hit for hit in told if hit is not None]
    assert len(asked) >= 16
    assert sum(asked) >= 0.9 * len(asked)


def test_swapped_columns_of_several_inputs_name_the_measured_one() -> None:
    found = alarms(defects.swapped(datasets.rig("damper", 0).train))["swapped"]
    assert found.remedy == "inputs='force' and output='coil_voltage'"


def test_quantised_outputs_are_no_commands() -> None:
    """A slow sensor with coarse steps rests too; commands jump."""
    u, y, _ = clean("arx", 0)
    slow = np.cumsum(y) / 50.0
    step = np.ptp(slow) / 60.0
    assert "swapped" not in alarms(Dataset.from_arrays(u, np.round(slow / step) * step))


def test_an_input_that_is_a_noisy_sine_is_not_swapped() -> None:
    rng = np.random.default_rng(0)
    time, (first, second) = np.arange(1500), rng.normal(size=(2, 1500))
    noisy = np.sin(0.2 * time) + 0.2 * first
    data = Dataset.from_arrays(noisy, np.sin(0.2 * time - 1.0) + 0.01 * second)
    assert "swapped" not in alarms(data)


def test_inputs_that_are_switched_off_have_no_offset() -> None:
    rng = np.random.default_rng(3)
    u = np.where(rng.random(1500) < 0.1, 0.0, 2.0 + 0.1 * rng.normal(size=1500))
    y = np.convolve(u - u.mean(), [0.0, 1.0, 0.5])[:1500] + 0.1 * rng.normal(size=1500)
    assert "offset" not in alarms(Dataset.from_arrays(u, y))
    assert "offset" in alarms(Dataset.from_arrays(u + 10.0, y))


def test_steps_between_chosen_levels_are_no_quantisation() -> None:
    rng = np.random.default_rng(0)
    u = np.repeat(rng.uniform(0.0, 500.0, 30), 50)
    y = np.convolve(u - 250.0, 0.1 * 0.9 ** np.arange(60))[:1500] + rng.normal(size=1500)
    assert "quantised" not in alarms(Dataset.from_arrays(u, y))


def test_hundreds_of_records_of_a_few_samples_are_looked_at() -> None:
    u, y, _ = clean("arx", 0)
    parts = np.split(np.arange(1500), np.cumsum(np.tile([3, 17, 1, 40], 24)))
    data = Dataset.from_arrays([u[i] for i in parts if len(i)], [y[i] for i in parts if len(i)])
    assert "short-records" in alarms(data)


def test_a_switched_output_is_not_taken_for_a_command() -> None:
    u, y, _ = clean("arx", 0)
    assert "swapped" not in alarms(Dataset.from_arrays(u, (y > 0).astype(float)))


def test_long_records_are_checked_in_two_seconds() -> None:
    u, y, _ = clean("arx", 0, 300_000)
    data = Dataset.from_arrays(u, y)
    begin = process_time()
    check_data(data)
    assert process_time() - begin < 2.0


def test_what_was_filled_in_is_not_to_be_filled_in_again(save: Callable[..., Path]) -> None:
    u = clean("arx", 0)[0].copy()
    u[[7, 100, 101]] = np.nan
    path = save(u=u)
    for fill, level in ((2, "good"), (3, "good"), (1, "caution")):
        (found,) = (f for f in check_files([path], fill=fill).findings if f.name.startswith("miss"))
        assert (found.level, bool(found.remedy)) == (level, level != "good")
    (found,) = (f for f in check_files([path], fill=2).findings if f.name.startswith("miss"))
    assert found.words == "3 values were missing in u, and were interpolated."


def test_missing_rows_of_several_files_are_counted_end_to_end(save: Callable[..., Path]) -> None:
    u = clean("arx", 0)[0].copy()
    u[[7, 100, 101]] = np.nan
    path = save(u=u)
    found = check_files([path, path]).findings[0]
    assert found.evidence is not None
    assert found.evidence.stretches == ((7, 8), (100, 102), (1507, 1508), (1600, 1602))
    assert found.evidence.value == 3000


def test_every_remedy_names_options_that_exist() -> None:
    """Spelled for the command line, every option parses; every method of Python is there."""
    root = get_command(app)
    seen = set()
    for check in every_check():
        for finding in check.findings:
            seen.add(finding.name)
            for method in re.findall(r"Dataset\.(\w+)", finding.remedy):
                assert hasattr(Dataset, method)
            spelled = spell_for_fit(finding.remedy)
            assert not re.search(r"\b[a-z_]+=", spelled.replace("sampling_time", "x")), spelled
            spelled = spell_for_discover(finding.remedy)  # as check, discover and its page have it
            for command, option, value in re.findall(
                r"(adjoin fit )?(--[a-z-]+)(?: ([\w.'…]+))?", spelled
            ):
                name = "fit" if command else "discover"
                assert _parses(root.commands[name], option, value), spelled
            spelled = spell_for_fit(finding.remedy)
            for option, value in re.findall(r"(--[a-z-]+)(?: ([\w.'…]+))?", spelled):
                assert any(_parses(root.commands[name], option, value) for name in COMMANDS), (
                    spelled
                )
    assert seen == NAMES


COMMANDS = ("fit", "discover", "check")
USAGE_ERROR = typer.BadParameter.__mro__[1]  # of any option


def _parses(command: Any, option: str, value: str) -> bool:
    """Whether a command takes an option, alone or with the value."""
    for more in ([option], [option, value]):
        try:
            command.make_context(command.name, [__file__, *more])
        except USAGE_ERROR:
            continue
        return True
    return False


def test_large_numbers_are_written_out(save: Callable[..., Path]) -> None:
    rng = np.random.default_rng(0)
    u = rng.normal(size=600)
    y = 4697.0 + 500.0 * np.convolve(u, [0.0, 1.0, 0.5])[:600]
    (found,) = (f for f in check_data(Dataset.from_arrays(u, y)).findings if f.name == "offset")
    assert "its mean, 4,680," in found.words
    time = np.arange(600.0)
    time[300:] += 1.8e5
    path = save(time=time, u=u, y=y)
    (gap,) = (f for f in check_data(path).findings if f.name == "gaps")
    assert "the longest of 180,000 s" in gap.words
