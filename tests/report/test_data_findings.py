"""Every finding has a small picture, and pages show them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.data.every_finding import NAMES, every_check
from tests.data.planted import PLANTED, clean

from adjoin import Dataset, check_data
from adjoin.data.checking.finding import Evidence, Finding
from adjoin.report.data_findings import data_findings, make_check_page
from adjoin.report.plots_check import PICTURES, plot_finding
from adjoin.report.style import NARROW
from adjoin.report.templates import templates


def test_every_finding_has_a_picture() -> None:
    drawn = {}
    for check in every_check():
        for finding in check.findings:
            if finding.name in drawn:
                continue
            figure = plot_finding(check.data, finding, NARROW)
            assert figure is not None, finding
            assert finding.evidence is not None
            drawn[finding.name] = finding.evidence.picture
            for ax in figure.axes:
                assert ax.has_data(), finding
    assert drawn.keys() == NAMES
    assert set(drawn.values()) == set(PICTURES)


def _evidence(fault: str) -> tuple[Dataset, Evidence]:
    check = check_data(PLANTED[fault]("arx", 0))
    found = next(finding for finding in check.findings if finding.name == fault)
    assert found.evidence is not None
    return check.data, found.evidence


def test_evidence_is_where_the_fault_was_planted() -> None:
    data, spikes = _evidence("outliers")
    far = np.flatnonzero(np.abs(data.y) > 8.0 * np.median(np.abs(data.y)))
    assert {start for start, _ in spikes.stretches} <= set(far.tolist())
    data, stuck = _evidence("stuck")
    ((start, stop),) = stuck.stretches
    assert stop - start == 60
    assert np.ptp(data.y[start:stop]) == 0.0
    data, clipped = _evidence("saturation")
    assert clipped.value in (data.y.max(), data.y.min())
    assert all(np.all(data.y[a:b] == clipped.value) for a, b in clipped.stretches)
    _, late = _evidence("delay")
    assert late.value == 16.0
    data, far_off = _evidence("offset")
    assert far_off.value == pytest.approx(data.y.mean())


def test_findings_as_rows_and_as_a_page() -> None:
    u, y, _ = clean("arx", 0)
    data = Dataset.from_arrays(u, y + 100.0, label="<rig>")
    rows = data_findings(data)
    assert rows[0].keys() >= {"name", "level", "words", "remedy", "picture"}
    assert (rows[0]["name"], rows[0]["level"]) == ("offset", "caution")
    for row in rows:
        assert row["picture"].count("<svg") == 2  # for wide and for narrow screens
    page = make_check_page(check_data(data), spell=str.upper)
    assert "1 finding to look at" in page
    assert "&lt;rig&gt;" in page
    assert "<rig>" not in page
    assert rows[0]["remedy"].upper() in page
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|http-equiv', "", page)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        ElementTree.fromstring(svg)


def test_the_partial_shows_what_a_report_gives_it() -> None:
    row = {"name": "a-b", "level": "poor", "level_words": "Problem", "words": "<w>", "remedy": "r"}
    part = templates().get_template("data_findings.html.jinja")
    shown = part.render(findings=[{**row, "picture": ""}])
    assert "a b" in shown
    assert "&lt;w&gt;" in shown
    assert "What to do: R." in shown


def test_no_picture_without_evidence() -> None:
    data = Dataset.from_arrays(*clean("arx", 0)[:2])
    assert plot_finding(data, Finding("offset", "poor", "words")) is None
    other = Finding("offset", "poor", "words", evidence=Evidence("series", ("other",)))
    assert plot_finding(data, other) is None
