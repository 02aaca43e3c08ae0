"""The values of a case for programs: records for CSV files and the JSON object.

Receives a `Study`; gives lists of plain values, None where there is no number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from adjoin.cases.case import case_of
from adjoin.cases.described import describe_study
from adjoin.cases.outcome import Row, Study
from adjoin.cases.scoring import PREDICTORS
from adjoin.cases.setups import ABC, SIMULATION
from adjoin.cases.tables import reached
from adjoin.inference.prior import Prior
from adjoin.version import __version__


def score_records(study: Study, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """A record per setup and test set, all values plain."""
    case = case_of(study.plan)
    records = []
    for row in rows:
        benchmark = study.official if row.setup.is_official else study.benchmark
        assert benchmark is not None
        theirs = case.printed(row.setup)
        for i, test in enumerate(benchmark.tests):
            record = {**_describe_setup(row), "protocol": benchmark.protocol, "test": test}
            for name in PREDICTORS:
                score = (row.scores or {}).get(test, {}).get(name)
                record[f"{name}_nmse_percent"] = score.nmse if score else None
                record[f"{name}_rmse"] = score.rmse if score else None
                record[f"paper_{name}_nmse_percent"] = getattr(theirs, name) if i == 0 else None
            ahead = row.one_step if i == 0 else None
            record |= {
                "selected_map_one_step_nmse_percent": ahead.nmse if ahead else None,
                "paper_rmse_mv": theirs.rmse_mv if i == 0 else None,
                "validation_rmse": row.validation,
                "n_terms_median": row.n_terms,
                "paper_n_terms_median": theirs.n_terms,
                "n_recovered": row.n_recovered,
                "paper_n_recovered_of_4": theirs.n_recovered,
                "truth_mass": row.mass,
                "paper_truth_mass": theirs.mass,
                "coverage_95": row.coverage if i == 0 else None,
                "coverage_3_sigma": row.coverage_3_sigma if i == 0 else None,
                "diverged_draws": row.diverged if i == 0 else None,
                "pooled_diverged_draws": row.pooled_diverged if i == 0 else None,
                "seconds_per_chain": row.seconds,
                "paper_hours_per_chain": theirs.hours,
                "equation": row.equation,
                "error": row.error,
            }
            records.append({name: _plain(value) for name, value in record.items()})
    return records


def _describe_setup(row: Row) -> dict[str, Any]:
    setup = row.setup
    prior = setup.prior
    return {
        "method": setup.method,
        "objective": setup.objective,
        "expected_terms": setup.expected_terms,
        "prior": f"Prior({prior.changes})" if isinstance(prior, Prior) else prior,
        "rule": setup.rule if setup.objective == ABC else None,
        "likelihood_power": row.power if setup.objective != ABC else None,
        "noise": setup.noise if setup.objective == SIMULATION else None,
        "initial_mode": setup.initial_mode,
        "samples": setup.samples,
        "n_train": setup.n_train,
        "chains": row.n_chains or None,
        "selected_chain": row.selected_chain if row.n_chains else None,
    }


def parameter_records(study: Study) -> list[dict[str, Any]]:
    """A record per setup and coefficient."""
    printed = case_of(study.plan).parameters
    records = []
    for row in study.all_rows:
        setup = row.setup
        for parameter in row.parameters:
            theirs = printed.get((setup.objective, setup.expected_terms, parameter.term))
            record = {
                "method": setup.method,
                "objective": setup.objective,
                "expected_terms": setup.expected_terms,
                "protocol": "official" if setup.is_official else "paper",
                "term": parameter.term,
                "mean": parameter.mean,
                "sd": parameter.sd,
                "q025": parameter.low,
                "q975": parameter.high,
                "truth": parameter.truth,
                "holds_truth": parameter.is_inside,
                "paper_mean": theirs.mean if theirs else None,
                "paper_q025": theirs.low if theirs else None,
                "paper_q975": theirs.high if theirs else None,
            }
            records.append({name: _plain(value) for name, value in record.items()})
    return records


def literature_records(study: Study) -> list[dict[str, Any]]:
    """A record per published result, ours among them."""
    unit = case_of(study.plan).measure.key
    return [
        {
            "method": result.method,
            "whose": "ours" if is_ours else "theirs",
            "data": data,
            unit: _plain(result.value),
        }
        for is_ours, data, result in reached(study)
    ]


def curve_records(study: Study) -> list[dict[str, Any]]:
    """A record per data set, number of training samples and method of the learning curve."""
    curve = case_of(study.plan).curve(study.plan)
    names = {setup.number: setup.method for setup in curve.setups} if curve is not None else {}
    return [
        {
            "seed": point.seed,
            "n_train": point.n_train,
            "method": names.get(point.number, "white box, least squares"),
            "free_run_nmse_percent": point.free_run,
            "one_step_nmse_percent": point.one_step,
        }
        for point in study.curve
    ]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe(study: Study) -> dict[str, Any]:
    """The JSON object of ``adjoin case``."""
    plan, best, case = study.plan, study.best(), case_of(study.plan)
    white = None
    if study.white_box is not None:
        model, score = study.white_box
        white = {"equation": model.format(None), "nmse_percent": score.nmse, "rmse": score.rmse}
        white["paper_nmse_percent"] = case.white_box_nmse
    return {
        "case": plan.case,
        "data": study.benchmark.train.label,
        "protocol": study.benchmark.protocol,
        "scores": score_records(study, study.rows),
        "official": score_records(study, study.official_rows),
        "parameters": parameter_records(study),
        "literature": literature_records(study),
        "learning_curve": curve_records(study),
        "white_box": white,
        "best_by_validation": None if best is None else best.setup.label,
        "failed": {row.setup.label: row.error for row in study.failed},
        "notes": {row.setup.label: list(row.notes) for row in study.all_rows if row.notes},
        "settings": {
            "objectives": list(plan.objectives),
            "expected_terms": list(plan.term_rates),
            "chains": plan.n_chains,
            "seed": plan.seed,
            "is_quick": plan.is_quick,
            "shortened": list(case.shortened(plan)),
            "curve": len(case.curve_seeds(plan)),
            "data": None if plan.data is None else str(plan.data),
        },
        "description": describe_study(plan, study.benchmark),
        "timing": {"total_s": study.seconds},
        "is_complete": study.is_complete,
        "version": __version__,
    }
