"""The contract of a case: a fourth one is a module and a line, and nothing else knows of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.systems import LINEAR, simulated

from adjoin import AdjoinError, Dataset, Model
from adjoin.cases import estimate
from adjoin.cases.case import Case, case_of, find_case
from adjoin.cases.outcome import Study
from adjoin.cases.outputs import study_files, study_page, write_files
from adjoin.cases.plain_values import describe
from adjoin.cases.registry import CASES
from adjoin.cases.setups import OSA, Plan, Size, Variant
from adjoin.cases.study import run_study
from adjoin.cases.tables import sheets
from adjoin.cases.words import command_of, findings, warnings_of
from adjoin.cli.case import case as case_command
from adjoin.datasets import Benchmark
from adjoin.report.case_parts import Finding

SOURCE = Path(__file__).parents[2] / "src" / "adjoin" / "cases"
KNOWN = tuple(CASES)
MODULES = {p.stem for p in SOURCE.glob("*.py")} - {"registry", "__init__"}
MACHINERY = sorted(name for name in MODULES if not name.startswith(KNOWN))


class Decay(Case):
    """A system of one pole, with white noise."""

    def make_benchmark(self, plan: Plan) -> Benchmark:
        data = Dataset.from_arrays(*simulated(LINEAR, n=400, seed=plan.seed), label="decay")
        train, rest = data.split(200)
        validation, test = rest.split(100)
        return Benchmark(
            name="decay",
            protocol="200 samples train, 100 validate, 100 test",
            train=train,
            validation=validation,
            tests={"test": test},
            n_seed=5,
            offsets={},
            truth=Model.parse(LINEAR),
        )

    def findings(self, study: Study) -> Iterator[Finding]:
        yield Finding("good", f"{len(study.usable())} setups were run")


CASE = Decay(
    name="decay",
    title="Case study 4: decay",
    variants=(Variant("OSA, few samples", OSA, (0.1, 0.1, 0.1)),),
    sizes={OSA: Size(samples=400, max_lag=5)},
)


@pytest.fixture(autouse=True)
def fourth_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line of the registry."""
    monkeypatch.setitem(CASES, CASE.name, __name__)


PLAN = ("decay", (OSA, "abc"), (5.0,))


@cache
def decay_study() -> Study:
    return run_study(Plan(*PLAN, chains=2, n_jobs=1))


def test_a_fourth_case_is_found_by_its_name_and_runs() -> None:
    plan = Plan(*PLAN, chains=2, n_jobs=1)
    assert case_of(plan) is CASE
    assert list(estimate.estimate(plan, 1.0)) == [OSA]  # the objective that it has
    study = decay_study()
    assert study.is_complete
    assert not study.failed
    assert [row.setup.label for row in study.rows] == ["OSA, few samples, λ_t = 5"]
    assert study.rows[0].n_chains == 2


def test_a_fourth_case_has_its_tables_without_columns_for_figures_nobody_printed() -> None:
    errors, facts, parameters = sheets(decay_study())
    heads = [(column.group, column.title) for column in errors.columns[2:]]
    assert heads == [(chains, kind) for chains in ("selected", "pooled") for kind in ("MAP", "FWD")]
    assert facts.title == "Truth, size, bands and time"
    assert "paper" not in [column.title for column in facts.columns]
    assert parameters.rows[-1][0] == "σ"
    for sheet in (errors, facts, parameters):
        assert {len(row) for row in sheet.rows} == {len(sheet.columns)}


def test_a_fourth_case_has_its_page_words_and_files(tmp_path: Path) -> None:
    study = decay_study()
    page = study_page(study)
    assert page.title == "Case study 4: decay"
    assert [section.name for section in page.sections] == ["scores", "predictions", "parameters"]
    assert [finding.short for finding in findings(study)] == ["1 setups were run"]
    assert warnings_of(study) == []
    assert command_of(study.plan).startswith("adjoin case decay --objective prediction,abc")
    write_files(tmp_path / "out", study_files(study, "out"))
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"scores.csv", "parameters.csv", "index.md", "index.html", "case.json"} <= written
    assert not {"official.csv", "literature.csv", "intervals.png"} & written
    assert "Case study 4: decay" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "# Case study 4: decay" in (tmp_path / "out" / "index.md").read_text(encoding="utf-8")


def test_a_fourth_case_has_its_records() -> None:
    study = decay_study()
    facts = json.loads(json.dumps(describe(study), allow_nan=False))
    assert facts["case"] == "decay"
    assert (facts["official"], facts["literature"], facts["white_box"]) == ([], [], None)
    (record,) = csv.DictReader(io.StringIO(study_files(study)["scores.csv"]))
    assert float(record["selected_map_nmse_percent"]) == study.rows[0].score().nmse
    assert record["paper_selected_map_nmse_percent"] == ""


def test_a_fourth_case_runs_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case_command(
        "decay", "prediction", "5", chains=1, quick=True, out=tmp_path / "out", as_json=True
    )
    assert json.loads(capsys.readouterr().out)["case"] == "decay"
    assert (tmp_path / "out" / "index.html").is_file()


def test_a_case_that_simulates_refuses_data_before_anything_runs() -> None:
    for name in ("academic", "decay"):
        plan = Plan(name, data=Path("x.csv"))
        for start in (case_of(plan).benchmark, run_study):
            with pytest.raises(AdjoinError, match=f"the {name} case simulates its data"):
                start(plan)


def test_cases_are_registered_by_the_names_they_have() -> None:
    for name in CASES:
        assert find_case(name).name == name
    with pytest.raises(AdjoinError, match="there is no case 'tower'"):
        find_case("tower")


def test_a_case_without_data_of_its_own_is_none() -> None:
    with pytest.raises(TypeError, match="make_benchmark"):
        Case("empty", "Empty", (), {})


@pytest.mark.parametrize("module", MACHINERY)
def test_the_machinery_names_no_case(module: str) -> None:
    source = (SOURCE / f"{module}.py").read_text(encoding="utf-8").lower()
    # The speed of a machine is that of an equation, whichever case is estimated.
    source = source.replace("silverbox_equation", "")
    assert [name for name in KNOWN if name in source] == []
