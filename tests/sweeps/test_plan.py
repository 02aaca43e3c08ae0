"""A plan that means nothing is refused before anything runs, with the place and the remedy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.sweeps.plans import QUICK, make_plan, write_rig

from adjoin import AdjoinError, sweep
from adjoin.sweeps.example import EXAMPLE
from adjoin.sweeps.jobs import make_jobs
from adjoin.sweeps.plan import read_plan


def refused(folder: Path, plan: Any) -> str:
    with pytest.raises(AdjoinError) as error:
        sweep(plan, folder / "out")
    assert not (folder / "out").exists()
    return str(error.value)


def test_lists_of_a_setting_are_multiplied_and_every_job_has_a_readable_name(
    tmp_path: Path,
) -> None:
    settings = {"a": {**QUICK, "max_lag": [1, 2], "center": [True, False]}, "b": {"max-lag": 1}}
    jobs = make_jobs(read_plan(make_plan(tmp_path, settings=settings, seeds=[0, 5])))
    names = [job.name for job in jobs]
    assert len(set(names)) == 2 * 2 * 2 + 2
    assert names[0] == "rig-a-max_lag=1-center=true-seed=0"
    assert names[-1] == "rig-b-seed=5"
    assert jobs[0].options == {**QUICK, "max_lag": 1, "center": True}


def test_what_no_file_can_be_called_has_a_name_all_the_same(tmp_path: Path) -> None:
    terms = ["u(k)*abs(u(k))", "u(k)*abs(u(k-1))"]
    settings = {"grey box/ü": {**QUICK, "initial": terms}}
    names = [job.name for job in make_jobs(read_plan(make_plan(tmp_path, settings=settings)))]
    assert len(set(names)) == 2
    assert all(set("/()* ").isdisjoint(name) and name.isascii() for name in names)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"setings": {}}, "the plan: there is no 'setings' here; do you mean 'settings'?"),
        ({"seeds": [1, 1]}, "seeds must be different whole numbers"),
        ({"settings": {"a": {"max_lags": 3}}}, "[settings.a]: there is no 'max_lags' here; do you"),
        ({"settings": {"a": {"seed": 3}}}, "seeds are at the top of the plan"),
        ({"settings": {"a": {"command": "fitt"}}}, "command must be 'fit' or 'discover'"),
        ({"settings": {"a": {"max_lag": []}}}, "must be different values, at least one"),
        ({"settings": {"a": {"max_lag": "3"}}}, "[settings.a] on 'rig': "),
        ({"settings": {"a": {"max_lag": 500}}}, "[settings.a] on 'rig': "),
        ({"settings": {"a": {"thin": 0}}}, "thin must be a whole number from 1 on"),
        ({"settings": {"a": {"tolerance": 1.0}}}, "[settings.a] on 'rig': ladder is for"),
        (
            {"settings": {"a": {"command": "discover", "effort": "much"}}},
            "effort='much' is unknown",
        ),
        ({"settings": {"a": {"command": "discover", "thin": 3}}}, "there is no 'thin' here"),
        ({"settings": {"a": {}, "A": {}}}, "would be the same folder"),
        ({"data": {}}, "there is no data set: a plan has at least one table [data.name]"),
    ],
)
def test_what_means_nothing_is_named_with_its_place(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in refused(tmp_path, make_plan(tmp_path, **change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"file": "none.csv"}, "[data.rig]: file: "),
        ({"output": "z"}, "[data.rig]: file: "),
        ({"test": "none.csv"}, "none.csv: the file does not exist"),
        ({"validation": "none.csv"}, "[data.rig]: validation: "),
        ({"validation": 1.5}, "validation is a share between 0 and 1"),
        ({"decimate": "2"}, "decimate cannot be '2'"),
        ({"imputs": "u"}, "do you mean 'inputs'?"),
    ],
)
def test_data_that_cannot_be_read_are_named_with_their_place(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    plan = make_plan(tmp_path)
    plan["data"]["rig"] |= change
    assert words in refused(tmp_path, plan)


def test_a_discovery_holds_out_a_share_and_no_file(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, settings={"a": {"command": "discover", "effort": "quick"}})
    plan["data"]["rig"]["validation"] = str(write_rig(tmp_path, "more.csv", 2))
    assert "a discovery holds out a share of its data" in refused(tmp_path, plan)


def test_the_example_is_a_plan_whose_files_are_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    plan = read_plan(path)
    assert plan.sources[0].files == (str((tmp_path / "rig.csv").resolve()),)
    assert len(make_jobs(plan)) == 6
    assert tomllib.loads(EXAMPLE)["seeds"] == list(plan.seeds)
    path.write_text("seeds = [", encoding="utf-8")
    assert "is no TOML" in refused(tmp_path, path)
