"""The three answers: what each says, and why."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.results.runs import HELD_OUT, POOR, TEST, TRAIN, TRUE, made

from adjoin import Dataset
from adjoin.inference.objective import ABC, PREDICTION, Objective
from adjoin.results.answers import Answer, answer_exhausted, answer_trusted
from adjoin.results.assessment import assess
from adjoin.results.residual_tests import ResidualTest, residual_tests
from adjoin.results.scoring import Errors, Part, Scores


def mixed(draws: list) -> list:
    """In random order, as a chain that mixes has them."""
    return [draws[i] for i in np.random.default_rng(0).permutation(len(draws))]


@pytest.mark.parametrize(
    ("n_best", "n_other", "level", "short", "reason"),
    [
        (20, 0, "good", "As good as unique", "100.0 % of the draws have its structure"),
        (18, 2, "good", "As good as unique", "90.0 % of the draws have its structure; 1 other has"),
        (17, 3, "caution", "Probably, but not surely", "85.0 % of the draws have its structure; 1"),
        (10, 9, "caution", "Probably, but not surely", "52.6 % of the draws have its structure"),
    ],
)
def test_a_structure_is_as_unique_as_its_mass(
    n_best: int, n_other: int, level: str, short: str, reason: str
) -> None:
    answer = assess(made([mixed([TRUE] * n_best + [POOR] * n_other)]), draws=5).unique
    assert (answer.level, answer.short) == (level, short)
    assert reason in answer.reasons[0]
    assert n_other or answer.reasons[0].endswith("structure")


def test_open_terms_are_counted() -> None:
    others = [("u(k-1)", [0.5], 0.1), ("y(k-1)", [0.6], 0.1), ("u(k)", [0.1], 0.1)]
    answer = assess(made([mixed([TRUE] * 40 + 20 * others)]), draws=5).unique
    assert answer.short == "No: the data leave the structure open"
    assert answer.reasons[0] == ("40.0 % of the draws have its structure; 3 others have the rest")
    assert answer.reasons[1] == "0 terms certain (in at least 99 % of the draws), 3 open"
    rare = ("u(k-1) + y(k-1) + u(k)", [0.1, 0.5, 0.6], 0.01)
    answer = assess(made([mixed([TRUE] * 96 + [rare] * 4)]), draws=5).unique
    assert answer.reasons[1].startswith("2 terms certain")
    assert ", 0 open" in answer.reasons[1]


def test_a_term_is_certain_only_if_every_chain_has_it() -> None:
    other = ("u(k-1) + y(k-2)", [0.5, 0.3], 0.02)
    found = assess(made([[TRUE] * 20, [other] * 20], held_out=HELD_OUT), draws=5)
    assert found.is_selected
    answer = found.unique
    assert (answer.level, answer.short) == ("poor", "Cannot be said: the chains did not converge")
    assert answer.reasons == (
        "0 % to 100 % of the draws, chain by chain, have its structure",
        "1 term certain (in at least 99 % of the draws of every chain), 1 open",
    )


def predicted(
    name: str = "test",
    fit: float | None = 90.0,
    coverage: float = 0.95,
    diverged: float = 0.0,
    error: float | None = 0.1,
) -> Answer:
    """The answer where one part has these figures."""
    share = None if fit is None else (100.0 - fit) ** 2 / 100.0
    part = Part(name, TEST, SimpleNamespace(), SimpleNamespace(max_lag=2, white_box=None))
    scores = Scores(Errors(error, share, fit), Errors(0.1, 1.0, 90.0), diverged, coverage)
    part.__dict__.update(scores=scores, prediction=SimpleNamespace(n_draws=200))
    return answer_trusted([part], TEST)


@pytest.mark.parametrize(
    ("figures", "level", "short"),
    [
        ({}, "good", "Yes"),
        ({"name": "validation"}, "good", "Yes"),
        ({"name": "train"}, "caution", "Perhaps: it was not tried on other data"),
        ({"coverage": 0.90}, "good", "Yes"),
        ({"coverage": 0.99}, "good", "Yes"),
        ({"coverage": 0.89}, "caution", "With care: its bands are too narrow"),
        ({"coverage": 0.995}, "caution", "With care: its bands are too wide"),
        ({"fit": 69.0}, "good", "Yes"),
        ({"fit": 68.0}, "caution", "With care: it misses a part"),
        ({"fit": 30.0}, "caution", "With care: it misses a part"),
        ({"fit": 29.0}, "poor", "No: it misses more than it explains"),
        ({"fit": -1.0}, "poor", "No: it is worse than the mean"),
        ({"diverged": 0.05}, "caution", "With care: some draws run away"),
        ({"diverged": 0.06}, "poor", "No: many draws run away"),
        ({"error": None, "fit": None}, "poor", "No: it runs away"),
        ({"fit": None}, "caution", "Cannot be told: the output stands still"),
        # the worst counts, whatever else there is
        ({"fit": 20.0, "diverged": 0.01}, "poor", "No: it misses more than it explains"),
        ({"fit": 20.0, "coverage": 0.5}, "poor", "No: it misses more than it explains"),
        ({"diverged": 0.5, "coverage": 0.5}, "poor", "No: many draws run away"),
        ({"diverged": 0.51, "fit": 20.0}, "poor", "No: most draws run away"),
        ({"diverged": 0.01, "coverage": 0.5}, "caution", "With care: some draws run away"),
        (
            {"name": "train", "coverage": 0.5},
            "caution",
            "Perhaps: it was not tried on other data",
        ),
    ],
)
def test_a_free_run_is_trusted_as_far_as_it_was_tried(
    figures: dict, level: str, short: str
) -> None:
    answer = predicted(**figures)
    assert (answer.level, answer.short) == (level, short)


def test_the_reasons_for_trust_are_its_figures() -> None:
    assert predicted().reasons == (
        "its error is 1 % of the variance of the test data (fit index 90.0 %)",
        "the 95 % band holds 95.0 % of the measured samples",
        "no draw ran away",
    )
    assert predicted(coverage=0.8, diverged=0.015).reasons[1:] == (
        "the 95 % band holds 80.0 % of the measured samples: too narrow; go by its error there, and"
        " not by the band",
        "1.5 % of 200 draws ran away; mean and bands are of the others",
    )
    assert (
        predicted(coverage=1.0)
        .reasons[1]
        .endswith(
            "100.0 % of the measured samples: too wide; go by its error there, and not by the band"
        )
    )
    assert predicted(fit=None).reasons[0] == (
        "the output of the test data is constant, so there is nothing to explain"
    )
    assert "of the data that were fitted (fit" in predicted("train").reasons[0]


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        ({}, "holds on the test data"),
        ({"name": "rig.csv"}, "holds on rig.csv"),
        ({"name": "train"}, "may hold: it was not tried on other data"),
        ({"coverage": 0.5}, "is to be used with care: its bands are too narrow"),
        ({"fit": 20.0}, "cannot be trusted: it misses more than it explains"),
        ({"error": None}, "cannot be trusted: it runs away"),
        ({"fit": None}, "cannot be judged: the output stands still"),
    ],
)
def test_a_simulation_is_said_in_a_sentence(figures: dict, sentence: str) -> None:
    assert predicted(**figures).sentence == f"the simulation {sentence}"


def test_a_part_on_which_it_fails_is_named() -> None:
    """A test set that begins near rest says nothing of a record that the model cannot follow."""
    bad = Dataset.from_arrays(HELD_OUT.u, HELD_OUT.y + np.linspace(0.0, 5.0, 100))
    found = assess(made([[TRUE] * 4], held_out=bad), TEST, draws=20)
    assert found.trusted.short == "With care: it fails on the validation data"
    assert "but on the validation data it misses" in found.trusted.reasons[1]


def test_inputs_beyond_the_fitted_range_are_named() -> None:
    far = Dataset.from_arrays(3.0 * TEST.u, 3.0 * TEST.y)
    reasons = assess(made([[TRUE] * 4]), far, draws=20).trusted.reasons
    assert any(re.match(r"there u goes \d.\d times as far", reason) for reason in reasons)
    assert not any("goes" in reason for reason in predicted().reasons)


def test_few_samples_are_not_judged() -> None:
    few = assess(made([[TRUE] * 4], TRAIN[:30]), TEST[:20], draws=20)
    assert "too" not in few.trusted.reasons[-2]
    assert few.exhausted.short == "Cannot be told: too few samples"


def test_bands_of_the_true_model_hold_and_those_of_too_small_noise_do_not() -> None:
    assert assess(made([[TRUE] * 4]), TEST).trusted.short == "Yes"
    timid = assess(made([[(*TRUE[:2], 0.0001)] * 4]), TEST).trusted
    assert timid.short == "With care: its bands are too narrow"
    bold = assess(made([[(*TRUE[:2], 1.0)] * 4]), TEST).trusted
    assert bold.short == "With care: its bands are too wide"


def left(residual: np.ndarray, u: np.ndarray, objective: Objective = PREDICTION) -> Answer:
    tests = residual_tests([residual], [np.zeros(len(u))], {"u": [u]})
    return answer_exhausted(tests, objective)


def test_white_residuals_leave_nothing() -> None:
    u, error = np.random.default_rng(0).standard_normal((2, 1000))
    assert left(error, u) == Answer(
        "good",
        "Nothing that the tests see",
        ("all 7 correlation tests pass: what is left looks like white noise",),
    )


def test_what_the_input_explains_asks_for_a_richer_model() -> None:
    u, error = np.random.default_rng(0).standard_normal((2, 1000))
    answer = left(error - np.roll(u, 3), u)
    assert (answer.level, answer.short) == ("caution", "Yes")
    assert answer.reasons[0].startswith("2 of 7 correlation tests fail; the largest correlation is")
    assert "correlation is -0.69" in answer.reasons[0]
    assert answer.reasons[0].endswith("of residual with input at lag 3")
    assert answer.reasons[1].startswith("a larger max_lag or max_degree")


def test_coloured_noise_asks_for_wider_intervals() -> None:
    u, error = np.random.default_rng(1).standard_normal((2, 1000))
    answer = left(error + 0.5 * np.roll(error, 1), u)
    assert "of residual with itself at lag 1" in answer.reasons[0]
    assert "likelihood_power='auto' widens them" in answer.reasons[1]


def test_coloured_residuals_of_a_free_run_ask_for_a_wider_tolerance() -> None:
    u, error = np.random.default_rng(1).standard_normal((2, 1000))
    answer = left(error + 0.5 * np.roll(error, 1), u, ABC)
    assert answer.short == "Yes"
    assert "measurement noise is coloured" in answer.reasons[1]
    assert "misses slow dynamics" in answer.reasons[1]
    assert "ladder={'tolerance': …}" in answer.reasons[1]
    assert "likelihood_power" not in answer.reasons[1]


def test_a_small_correlation_of_much_data_is_slight() -> None:
    u, error = np.random.default_rng(2).standard_normal((2, 20_000))
    answer = left(error + 0.05 * np.roll(u, 2), u)
    assert answer.short == "Slightly"
    assert "is +0.05, of residual with input at lag 2" in answer.reasons[0]


def test_the_largest_correlation_named_is_one_that_failed() -> None:
    """Lag 1 correlates more, but by chance, for its error is large."""
    test = ResidualTest(
        "x", "$x$", np.array([1, 2]), np.array([0.4, -0.2]), np.array([1.0, -9.0]), 100, 2, 1
    )
    answer = answer_exhausted([test], PREDICTION)
    assert "is -0.20, of x at lag 2" in answer.reasons[0]
    assert answer.reasons[-1].startswith("1 larger correlation is not more than chance brings")
    alone = replace(test, correlation=np.array([0.1, -0.2]))
    assert len(answer_exhausted([alone], PREDICTION).reasons) == len(answer.reasons) - 1
