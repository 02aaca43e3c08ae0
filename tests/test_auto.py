"""Runs as long as they need: `samples="auto"` and `search`, as a user meets them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.engines import prediction_engine

import adjoin
from adjoin.errors import AdjoinError
from adjoin.inference.best import choose_leaders
from adjoin.inference.flips import differences
from adjoin.inference.search import Search
from adjoin.inference.stages import MOST_SAMPLES, Stage, plan_stages
from adjoin.kernels.state import FLIP
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
    assert f"{found} of 2 chains that began anywhere" in stage_words.in_words(settings)
    assert len(posterior.diagnostics["search"]) == 2
    path = tmp_path / "run.nc"
    posterior.save(path)
    again = adjoin.load(path)
    assert again.settings == settings
    for one, other in zip(posterior.traces, again.traces, strict=True):
        for name, values in one.search._asdict().items():
            assert getattr(other.search, name).tolist() == values.tolist()


JOINT = [{}, {"is_joint": True}, {"is_control": True}, {"is_joint": True}, {"is_control": True}]
"""Stages: one that begins anywhere, then joint ones with their controls."""


@pytest.mark.parametrize(
    ("agreed", "heights", "max_samples", "ended_by", "n_stages"),
    [
        ("1", "0", None, "agreement", 1),  # chains that began anywhere agree
        ("010", "000", None, "agreement", 3),  # nothing better was found by the control
        ("01010", "00999", None, "agreement", 5),  # something better was: on with it
        ("00010", "00009", None, "max_samples", 5),
        ("001", "000", None, "max_samples", 5),  # a control's own agreement says nothing
        ("00000", "09", None, "climbing", 2),
        ("00000", "09", 10**6, "max_samples", 5),  # whoever says how far to go is taken at his word
    ],
)
def test_what_ends_a_run(
    monkeypatch: pytest.MonkeyPatch,
    agreed: str,
    heights: str,
    max_samples: int | None,
    ended_by: str,
    n_stages: int,
) -> None:
    """By a script of who agrees, and of how good the best is: a digit for each stage."""
    search = Search(candidates=10, interval=20, screenings=1, flips=5)
    plan = [Stage(search, 100, **stage) for stage in JOINT]
    reached, values = iter(agreed.ljust(5, "0")), iter(heights.ljust(5, heights[-1]))
    value = [0.0]

    def agree(posterior: Any) -> Agreement:
        value[0] = 20.0 * float(next(values))
        return Agreement(1.0, 500.0, 0.0, 0.0 if next(reached) == "1" else 1.0)

    monkeypatch.setattr(staged, "plan_stages", lambda most: iter(plan))
    monkeypatch.setattr(staged, "agreement", agree)
    monkeypatch.setattr(staged, "best_structure", lambda engine, trace: (value[0], ()))
    u, y = _delayed(3, 5, 100)
    options = {"max_lag": 4, "max_degree": 1, "thin": 1, "chains": 2, "max_samples": max_samples}
    posterior = _identifier(samples="auto", **options).fit(u, y).posterior_
    settings = posterior.settings
    assert (settings.ended_by, len(settings.stages)) == (ended_by, n_stages)
    assert stage_words.reported_stage(settings)["is_control"] is False
    words = posterior.diagnostics["verdict"]
    assert any("max_lag" in piece for piece in words["advice"]) == (ended_by == "climbing")


def test_a_control_that_finds_something_else_is_heard() -> None:
    found = staged.Found(best={(1, 2, 3): 50.0}, visited={frozenset((1, 2, 3)), frozenset((4,))})
    assert not found._is_news([(49.0, (1, 2, 3)), (46.0, (7, 8, 9))])  # known; far, but no good
    assert not found._is_news([(49.0, (1, 2, 5))])  # one move leads there
    assert found._is_news([(48.0, (7, 8, 9))])  # as good, and nowhere near
    assert found._is_news([(53.5, (1, 2, 3, 4))])  # better


def test_what_is_known_is_flipped() -> None:
    """Two sets of terms stand in for each other exactly: chains of one step hardly get across."""
    rng = np.random.default_rng(0)
    u = rng.choice([0.0, 1.0], size=400)
    y = 0.7 * u + 0.1 * rng.standard_normal(400)
    data = adjoin.Dataset.from_arrays(u, y)
    grammar = adjoin.Grammar.volterra(max_lag=1, max_degree=3, constant=False)
    engine = prediction_engine(data, grammar.alphabet, thin=1)
    pairs = ["u(k) + u(k-1)", "u(k)^2 + u(k-1)^2", "u(k)^3 + u(k-1)^3"]
    known = tuple(
        tuple(engine.encoding.key(term) for term in adjoin.Structure.parse(text)) for text in pairs
    )
    searching = replace(engine, search=Search(flips=20, interval=10), known=known)
    chain = searching.start(0)
    chain.advance(2000)
    tried, possible, made = chain.finish().search.counter[FLIP].tolist()
    assert tried == 200 * 20
    assert 0 < made < possible < tried


def test_leaders_are_more_than_one_move_apart() -> None:
    found = [(3.0, (1, 2, 3)), (2.9, (1, 2, 4)), (2.8, (1, 2)), (5.0, (7, 8, 9)), (1.0, (1, 5, 6))]
    leaders = choose_leaders(found, 3)
    assert leaders == [(5.0, (7, 8, 9)), (3.0, (1, 2, 3)), (1.0, (1, 5, 6))]
    assert choose_leaders(found, 1) == leaders[:1]
    assert differences([keys for _, keys in found[:3]]) == []
    assert differences([(1, 2, 3), (1, 4), (1, 2, 3, 4)]) == [((2, 3), (4,)), ((), (2, 3))]


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
        followed = dict(pairwise(stages))
        assert all(followed[stage].is_control for stage in stages if stage.is_joint)
    assert sum(stage.is_joint for stage in plan_stages(MOST_SAMPLES)) == 3
    assert any(stage.search.rungs > 1 for stage in plan_stages(1_000_000))


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
    assert "3 stages, the one reported with 400 samples a chain" in page
    assert "what was found" in page


def test_advice_speaks_of_what_bounds_the_run(short_stages: None) -> None:
    u, y = _delayed(3, 5, 200)
    identifier = _identifier(samples="auto", max_lag=5, max_degree=2, thin=1, chains=2)
    advice = " ".join(identifier.fit(u, y).posterior_.diagnostics["verdict"]["advice"])
    assert "raise max_samples" in advice
    assert "draw more samples" not in advice
