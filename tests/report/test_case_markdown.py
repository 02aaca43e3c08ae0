"""The page of a case as Markdown: nothing is taken for a mark, and tables keep their columns."""

from __future__ import annotations

import re

from adjoin.report.case_markdown import make_case_markdown
from adjoin.report.case_parts import CasePage, Drawing, Finding, Section
from adjoin.report.sheet import Column, Sheet


def _page(sheet: Sheet) -> CasePage:
    return CasePage(
        title="A *case*",
        lead="lead",
        warnings=["take care"],
        cards=[],
        findings=[Finding("good", "y(k) = u(k)*y(k-1)*e(k)", "a_b_c"), Finding("poor", "bad")],
        sections=[
            Section("one", "One", ["words"], [sheet], [Drawing("bars", "Bars", lambda w: None)]),
        ],
        command="adjoin case academic",
    )


SHEET = Sheet(
    "Table",
    "what it is",
    [Column("term", is_text=True), Column("MAP", "ours"), Column("MAP", "paper", is_theirs=True)],
    [["u(k)*abs(u(k))", "1.0", "[2, 3]"], ["a|b", "–", "<b>"]],
)


def test_tables_keep_their_columns_and_say_whose_figures_they_hold() -> None:
    lines = make_case_markdown(_page(SHEET)).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "| term | ours: MAP | paper: MAP |"
    assert table[1] == "| --- | ---: | ---: |"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {4}
    assert table[2] == r"| u(k)\*abs(u(k)) | 1.0 | \[2, 3\] |"
    assert table[3] == r"| a\|b | – | \<b\> |"


def test_texts_are_shown_as_they_are() -> None:
    text = make_case_markdown(_page(SHEET))
    assert text.startswith("# A \\*case\\*\n\nlead\n\n> take care\n\n## In short\n\n")
    assert "- ✔ **y(k) = u(k)\\*y(k-1)\\*e(k)**<br>a\\_b\\_c\n- ✘ **bad**\n" in text
    assert "## One\n\nwords\n\n### Table\n\nwhat it is\n\n| term" in text
    assert "![Bars](bars.png)" in text
    assert text.endswith("```console\n$ adjoin case academic\n```\n")


def test_long_tables_are_folded_away() -> None:
    long = Sheet("Table", "", [Column("n")], [[str(i)] for i in range(50)])
    text = make_case_markdown(_page(long))
    assert "<details><summary>50 rows</summary>\n\n| n |\n| ---: |\n| 0 |" in text
    assert "| 49 |\n\n</details>" in text
