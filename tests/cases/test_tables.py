"""Tables: the paper's figures stand beside ours, and rows are as long as their heads."""

from __future__ import annotations

from tests.cases.studies import academic_study

from adjoin.cases.tables import sheets


def test_the_paper_s_figures_stand_beside_ours() -> None:
    scores, facts, parameters = sheets(academic_study())
    heads = [(column.group, column.title) for column in scores.columns]
    assert heads[2:4] == [("selected", "MAP"), ("selected", "paper")]
    assert [row[3] for row in scores.rows] == ["1.154", "1.154"]
    assert [column.is_theirs for column in scores.columns] == [False] * 2 + [False, True] * 4
    assert facts.rows[0][2:6] == ["2/2", "4/4", f"{academic_study().rows[0].mass:.3f}", "0.987"]
    assert parameters.rows[0][-2:] == ["0.5024", "[+0.4847, +0.5196]"]
    assert all(
        len(row) == len(sheet.columns) for sheet in sheets(academic_study()) for row in sheet.rows
    )
