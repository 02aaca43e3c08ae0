"""The page and files of a study: whole, self-contained, and safe."""

from __future__ import annotations

from dataclasses import replace

from tests.cases.studies import ACADEMIC, academic_study

from adjoin.cases.outputs import study_files
from adjoin.cases.tables import sheets


def test_the_page_is_one_file_with_every_table_and_picture() -> None:
    files = study_files(academic_study(), "folder")
    assert list(files)[-1] == "index.html"  # whoever sees it finds the rest
    page = files["index.html"]
    assert page.count("<svg") == 2 * sum(name.endswith(".png") for name in files)
    assert all(content[:4] == b"\x89PNG" for name, content in files.items() if "png" in name)
    for sheet in sheets(academic_study()):
        assert sheet.title in page
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "--out folder" in page
    assert "prefers-color-scheme: dark" in page
    assert "official.csv" not in files


def test_names_from_outside_cannot_break_the_page() -> None:
    ugly = replace(academic_study(), plan=replace(ACADEMIC, data=None))
    rows = tuple(replace(row, error="<b>&\"'</b>") for row in academic_study().rows)
    page = study_files(replace(ugly, rows=rows), "<i>")["index.html"]
    assert "<b>&" not in page
    assert "<i>" not in page
