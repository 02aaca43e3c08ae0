"""`discover` finds what is there, says so where nothing is, and is a function of its seed."""

from __future__ import annotations

import numpy as np
import pytest

from adjoin import AdjoinError, Dataset, datasets, discover, forward_selection
from adjoin.discovery.discovery import Discovery
from adjoin.discovery.refit import refit
from adjoin.discovery.settings import Setting
from adjoin.discovery.words import describe_discovery
from adjoin.report.page import make_page
from adjoin.results.compared import time_taken
from adjoin.scores import nmse
from adjoin.threads import n_workers


@pytest.fixture(scope="module")
def data() -> Dataset:
    """A rig with an offset: y = 0.6 y(k-1) + 0.5 u(k-1) - 0.1 u(k-1)^2 + 2, and sensor noise."""
    rng = np.random.default_rng(5)
    u, y = rng.uniform(-2.0, 2.0, size=500), np.full(500, 4.6)
    for k in range(1, 500):
        y[k] = 0.6 * y[k - 1] + 0.5 * u[k - 1] - 0.1 * u[k - 1] ** 2 + 2.0
    return Dataset.from_arrays(u, y + 0.02 * rng.normal(size=500))


@pytest.fixture(scope="module")
def found(data: Dataset) -> Discovery:
    return discover(data, max_lag=3, max_degree=2, effort="quick", seed=0)


def test_the_equation_simulates_what_it_has_not_seen(found: Discovery) -> None:
    rng = np.random.default_rng(6)
    u, y = rng.uniform(-2.0, 2.0, size=300), np.full(300, 4.6)
    for k in range(1, 300):
        y[k] = 0.6 * y[k - 1] + 0.5 * u[k - 1] - 0.1 * u[k - 1] ** 2 + 2.0
    fresh = Dataset.from_arrays(u, y)
    assert nmse(y[20:], found.model.simulate(u, y[:5])[20:]) < 0.5
    assert nmse(y[20:], found.simulate(fresh)[20:]) < 0.5
    assert found.verdict.level == "good"
    assert found.chosen is not None
    assert found.chosen.is_checked


def test_the_answer_is_fitted_to_all_data(found: Discovery, data: Dataset) -> None:
    assert found.posterior.data.n_samples == data.n_samples
    assert found.posterior.held_out is None
    train, validation = found.assessment.parts
    assert train.posterior is found.posterior
    assert validation.posterior.held_out is validation.data
    assert validation.posterior.data.n_samples < data.n_samples
    assert found.posterior.structure(0) == found.model.structure


def test_a_posterior_that_does_as_well_as_the_best_path_is_the_answer(found: Discovery) -> None:
    assert found.chosen is not None
    assert found.chosen.setting.sampled
    assert not found.posterior.settings.keeps_terms
    inclusion = found.posterior.terms.set_index("term")["inclusion"]
    assert (inclusion[["u(k-1)", "u(k-1)^2", "y(k-1)", "1"]] > 0.9).all()
    assert found.verdict.on_model[0].startswith("simulations of held-out data miss")


def test_the_same_seed_gives_the_same_bits_whatever_the_workers(
    found: Discovery, data: Dataset
) -> None:
    again = discover(data, max_lag=3, max_degree=2, effort="quick", seed=0, n_jobs=1)
    assert again.equation == found.equation
    assert [one.nmse for one in again.candidates] == [one.nmse for one in found.candidates]
    assert np.array_equal(again.posterior.draws.theta, found.posterior.draws.theta)


def test_json_has_the_shape_of_a_fit_and_the_candidates(found: Discovery) -> None:
    facts = describe_discovery(found)
    assert set(facts["scores"]) == {"train", "validation"}
    assert sum(one["chosen"] for one in facts["candidates"]) == 1
    assert {"settings", "n_terms", "validation", "cpu_s", "chosen"} <= set(facts["candidates"][0])
    assert facts["verdict"]["level"] == "good"


def test_the_part_that_is_scored_again_is_called_what_it_is(found: Discovery) -> None:
    """Its error is that of one fold, and not that of the headline."""
    text = " ".join(found.verdict.on_model)
    part = found.assessment.parts[-1]
    kept = found.posterior.discovered
    assert kept is not None
    assert kept.tried_on in kept.folds
    assert part.words == f"one fold alone ({kept.tried_on})"
    assert f"of the variance of {part.words}" in text
    assert "validation data" not in text
    assert "validation data" not in make_page(found.assessment)
    held_out = next(fold.held_out for fold in found.folds if fold.words == kept.tried_on)
    assert part.data.n_samples == held_out.n_samples
    assert "of the 2 folds together" in make_page(found.assessment)


def test_seconds_add_up(found: Discovery) -> None:
    """On terminal, page and JSON alike; no class takes more of a core than there was time."""
    timing = describe_discovery(found)["timing"]
    assert {name: timing[name] for name in found.timing} == found.timing
    assert timing["scan_s"] + timing["settle_s"] == pytest.approx(timing["total_s"], abs=0.1)
    cores = n_workers(None, 10_000)
    cpu_s = {one.setting: one.cpu_s for one in found.candidates}
    assert 0.0 < sum(cpu_s.values()) < cores * timing["total_s"]
    sampled = [seconds for setting, seconds in cpu_s.items() if setting.sampled]
    assert min(sampled) > 0.01  # chains run in threads of their own, which count
    assert time_taken(found.timing) in make_page(found.assessment)


def test_pure_noise_gives_no_model() -> None:
    rng = np.random.default_rng(0)
    noise = Dataset.from_arrays(rng.normal(size=400), 3.0 + rng.normal(size=400))
    found = discover(noise, max_lag=3, max_degree=2, effort="quick")
    assert found.chosen is None
    assert found.verdict.level == "poor"
    assert found.verdict.summary.startswith("no model")
    assert str(found.model.structure) == "1"
    describe_discovery(found)


def test_known_terms_are_in_every_model(data: Dataset) -> None:
    found = discover(data, max_lag=2, max_degree=1, initial="u(k-1)^2", effort="quick")
    assert all("u(k-1)^2" in str(model.structure) for model in found.average.models)


@pytest.mark.parametrize("objective", ["simulation", "prediction"])
def test_terms_refitted_to_their_own_data_keep_their_coefficients(
    data: Dataset, objective: str
) -> None:
    model = forward_selection(data, objective=objective, max_lag=2, max_degree=2, max_terms=4)[-1]
    again = refit(model, data, Setting(objective, 2, 2, False, 4))
    assert again.structure == model.structure
    assert again.theta == pytest.approx(model.theta, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"effort": "much"}, "effort='much' is unknown"),
        ({"max_lag": 0}, "max_lag"),
        ({"validation": 2.0}, "between 0 and 1"),
    ],
)
def test_what_means_nothing_is_refused(data: Dataset, given: dict, words: str) -> None:
    with pytest.raises(AdjoinError, match=words):
        discover(data, **given)


def test_arrays_are_told_where_to_go() -> None:
    with pytest.raises(AdjoinError, match="needs a Dataset"):
        discover(np.ones(3))  # type: ignore[arg-type]


def test_a_rig_of_the_catalogue_is_discovered() -> None:
    rig = datasets.rig("linear", seed=0)
    found = discover(Dataset.join([rig.train, rig.validation]), effort="quick", max_degree=1)
    measured = rig.test.y
    assert nmse(measured[50:], found.simulate(rig.test)[50:]) < 10.0
