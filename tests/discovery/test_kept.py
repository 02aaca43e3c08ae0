"""What a discovery keeps: it is read again, damage is told, and other discoveries are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import killing

from adjoin import AdjoinError, Dataset, discover
from adjoin.discovery import scan
from adjoin.discovery.kept import Kept


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "found.checkpoint"
    killing.find(folder)
    return folder


def test_a_discovery_that_is_done_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path of models is grown again but those of the best, on all data."""
    whole = killing.find(None)

    def refuse(*_: Any) -> None:
        raise AssertionError("a path was grown again")

    monkeypatch.setattr(scan, "grow", refuse)
    again = killing.find(place)
    assert killing.digest_of_discovery(again) == killing.digest_of_discovery(whole)


def test_another_discovery_is_refused(place: Path) -> None:
    given: dict[str, Any] = {"max_lag": 2, "max_degree": 2, "effort": "quick"}
    with pytest.raises(AdjoinError, match="max_lag was 2 and is 3; seed was 0 and is 1"):
        discover(killing.data(), **given | {"max_lag": 3}, seed=1, checkpoint=place)
    data = killing.data()
    swapped = Dataset(data.records[::-1], data.names, data.sampling_time)
    with pytest.raises(AdjoinError, match=r"samples by record were \[90, 70\] and are \[70, 90\]"):
        discover(swapped, **given, checkpoint=place)


@pytest.mark.parametrize("kind", ["path-*", "posterior-*"])
def test_a_damaged_file_is_told_and_makes_no_other_answer(kind: str, place: Path) -> None:
    """A setting whose chains cannot be read is not one that has nothing to show."""
    file = min(place.glob(kind))
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    with pytest.raises(AdjoinError, match=f"{file.name}' is damaged"):
        killing.find(place)
    file.write_bytes(whole)


def test_without_a_checkpoint_nothing_is_kept() -> None:
    kept = Kept()
    assert kept.place("posterior", [], killing.data()) is None
    assert kept.errors("it", lambda: {3: np.zeros(5)})[0].keys() == {3}
