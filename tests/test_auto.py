"""Runs as long as they need: `samples="auto"` and `search`, as a user meets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoin
from adjoin.errors import AdjoinError
from adjoin.inference.search import Search
from adjoin.inference.stages import MOST_SAMPLES, Stage, plan_stages
from adjoin.results import stage_words, staged
from adjoin.results.stopping import Agreement, agreement

SEARCH = {"candidates": 40, "moves": 4, "interval": 10, "rungs": 3}


def _delayed(delay: int, seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    y = np.append(np.zeros(delay), 0.8 * u[: n - delay])
    return u, y + 0.08 * rng.standard_normal(n)


def _identifier(**more: Any) -> adjoin.Identifier:
    return adjoin.Identifier(**{"seed": 0, "progress": False, "n_jobs": 1} | more)


@pytest.fixture
def short_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages of some hundred samples, whose chains never agree."""

    def plan(max_samples: int) -> Iterator[Stage]:
        yield Stage(Search(candidates=20, interval=20, screenings=1), 300)
        yield Stage(Search(**SEARCH), 400)
        yield Stage(Search(**SEARCH), 400, is_joint=True)

    monkeypatch.setattr(staged, "plan_stages", plan)
    monkeypatch.setattr(staged, "agreement", lambda posterior: Agreement(2.0, 1.0, 0.5, 0.5))


def test_an_easy_problem_ends_in_its_first_stage() -> None:
    train, _, _ = adjoin.datasets.academic(seed=0)
    posterior = _identifier(samples="auto").fit(train).posterior_
    settings = posterior.settings
    assert (settings.is_auto, settings.ended_by, len(settings.stages)) == (True, "agreement", 1)
    assert settings.samples == settings.stages[0]["samples"] == posterior.traces[0].n_samples
    assert agreement(posterior).is_reached
    assert str(posterior.structure(0)) == "u(k-1) + u(k-5)^3 + y(k-1)"
    terms = posterior.terms
    assert np.abs(terms["inclusion"] - terms["frequency"]).max() < 0.05
    assert (terms["inclusion"] != terms["frequency"]).any()


@pytest.mark.parametrize("seed", range(3))
def test_dead_time_is_found_though_the_prior_hardly_proposes_it(seed: int) -> None:
    u, y = _delayed(20, seed)
    posterior = _identifier(samples="auto", max_lag=25, seed=seed).fit(u, y).posterior_
    assert str(posterior.structure(0)) == "u(k-20)"


def test_a_run_in_stages_is_a_function_of_its_seed(short_stages: None) -> None:
    u, y = _delayed(3, 0, 200)
    options = {"samples": "auto", "max_lag": 5, "max_degree": 2, "thin": 1, "chains": 2}
    runs = [_identifier(**options, n_jobs=n).fit(u, y).posterior_ for n in (1, 2)]
    assert runs[0].settings.stages == runs[1].settings.stages
    for one, other in zip(*(run.traces for run in runs), strict=True):
        assert one.theta.tolist() == other.theta.tolist()
        assert one.structures == other.structures


def test_the_last_stage_begins_with_what_was_found(short_stages: None, tmp_path: Any) -> None:
    u, y = _delayed(3, 1, 200)
    identifier = _identifier(samples="auto", max_lag=5, max_degree=2, thin=1, chains=2)
    posterior = identifier.fit(u, y).posterior_
    settings = posterior.settings
    assert [stage["is_joint"] for stage in settings.stages] == [False, False, True]
    assert settings.ended_by == "max_samples"
    found, n_chains = stage_words.found_alone(settings)
    assert 0 <= found <= n_chains == 2
    assert f"{found} of 2 of these" in stage_words.in_words(settings)
    assert len(posterior.diagnostics["search"]) == 2
    path = tmp_path / "run.nc"
    posterior.save(path)
    again = adjoin.load(path)
    assert again.settings == settings
    for one, other in zip(posterior.traces, again.traces, strict=True):
        for name, values in one.search._asdict().items():
            assert getattr(other.search, name).tolist() == values.tolist()


def test_a_time_limit_is_named(short_stages: None) -> None:
    u, y = _delayed(3, 2, 200)
    identifier = _identifier(samples="auto", max_lag=5, max_degree=2, thin=1, time_limit=1e-6)
    settings = identifier.fit(u, y).posterior_.settings
    assert (settings.ended_by, len(settings.stages)) == ("time_limit", 1)
    assert "time limit" in stage_words.in_words(settings)


def test_one_chain_agrees_with_nobody() -> None:
    u, y = _delayed(2, 6)
    posterior = _identifier(samples="auto", max_lag=4, max_degree=1, chains=1).fit(u, y).posterior_
    assert posterior.settings.ended_by == "agreement"
    assert "no other to compare it with" in stage_words.in_words(posterior.settings)
    assert posterior.diagnostics["verdict"]["level"] != "good"


def test_stages_stay_within_the_bound() -> None:
    for most in (100, 20_000, 50_000, MOST_SAMPLES, 1_000_000):
        stages = list(plan_stages(most))
        assert 0 < sum(stage.samples for stage in stages) <= most
        assert not stages[0].is_joint
    joint = [stage.is_joint for stage in plan_stages(MOST_SAMPLES)]
    assert joint == sorted(joint)
    assert joint.count(True) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": "enough"}, "whole number or 'auto'"),
        ({"samples": "auto", "objective": "abc"}, "objective='prediction'"),
        ({"samples": "auto", "search": {"rungs": 2}}, "leave search at None"),
        ({"max_samples": 1000}, "max_samples is for samples='auto'"),
        ({"time_limit": 3.0}, "time_limit is for samples='auto'"),
        ({"samples": "auto", "time_limit": -1.0}, "seconds above 0"),
        ({"search": {"rung": 2}}, "no setting 'rung'"),
        ({"search": {"rungs": 0}}, "rungs must be a whole number"),
        ({"search": 3}, "settings by name"),
        ({"search": {"rungs": 2}, "objective": "abc"}, "search is for objective='prediction'"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], words: str) -> None:
    u, y = _delayed(1, 0, 100)
    with pytest.raises(AdjoinError, match=words):
        _identifier(**options).fit(u, y)


def test_a_search_of_ones_own_is_saved_with_the_run(tmp_path: Any) -> None:
    u, y = _delayed(2, 3, 200)
    identifier = _identifier(samples=400, thin=1, chains=2, max_lag=4, search=SEARCH)
    posterior = identifier.fit(u, y).posterior_
    assert posterior.settings["search"]["rungs"] == 3
    assert "search={" in posterior.settings.call
    posterior.save(tmp_path / "run.nc")
    assert adjoin.load(tmp_path / "run.nc").settings == posterior.settings
    described = posterior.diagnostics["search"][0]
    assert len(described["power"]) == 3
    assert described["acceptance"]["sweep"] > 0.5


def test_the_page_tells_the_stages(short_stages: None, tmp_path: Any) -> None:
    u, y = _delayed(3, 4, 200)
    identifier = _identifier(samples="auto", max_lag=5, max_degree=2, thin=1, chains=2)
    posterior = identifier.fit(u, y).posterior_
    adjoin.write_report(posterior, tmp_path / "page.html", draws=20)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 stages, the last with 400 samples a chain" in page
    assert "what was found" in page


def test_advice_speaks_of_what_bounds_the_run(short_stages: None) -> None:
    u, y = _delayed(3, 5, 200)
    identifier = _identifier(samples="auto", max_lag=5, max_degree=2, thin=1, chains=2)
    advice = " ".join(identifier.fit(u, y).posterior_.diagnostics["verdict"]["advice"])
    assert "raise max_samples" in advice
    assert "draw more samples" not in advice
