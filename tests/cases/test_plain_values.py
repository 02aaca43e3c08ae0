"""Records for programs are plain and complete."""

from __future__ import annotations

import json

from tests.cases.studies import academic_study

from adjoin.cases.plain_values import parameter_records, score_records


def test_records_are_plain_and_complete() -> None:
    records = score_records(academic_study(), academic_study().rows)
    assert len(records) == 2
    assert records[0]["selected_map_nmse_percent"] == academic_study().rows[0].score().nmse
    assert records[0]["paper_selected_map_nmse_percent"] == 1.154
    assert records[0]["paper_n_recovered_of_4"] == 4
    json.dumps([records, parameter_records(academic_study())], allow_nan=False)
    assert {record["holds_truth"] for record in parameter_records(academic_study())} <= {
        True,
        False,
        None,
    }
