"""Which candidate is best, and which simpler one is as good."""

from __future__ import annotations

import math

import numpy as np

from adjoin.discovery.discovery import best_by_setting
from adjoin.discovery.ranking import (
    Candidate,
    beats,
    best_few,
    choose,
    paired,
    rank,
    still_growing,
)
from adjoin.discovery.scan import Path
from adjoin.discovery.settings import LINEAR, Setting

SETTING = Setting("simulation", 2, 2, False, 20)
OTHER = Setting("prediction", 3, 2, False, 20)


def _candidate(n_terms: int, error: np.ndarray, setting: Setting = SETTING) -> Candidate:
    return Candidate.of(setting, n_terms, error, variance=1.0, cpu_s=0.0)


def test_the_simplest_within_the_uncertainty_is_chosen() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(0.9, 1.1, size=(4, 5))
    best = _candidate(12, base)
    flip = np.where(np.arange(20).reshape(4, 5) % 2, 0.05, -0.04)  # 0.005 worse, give or take 0.01
    alike = _candidate(5, base + flip)
    worse = _candidate(3, base * 1.5)
    ranked = sorted([best, alike, worse], key=lambda one: one.nmse)
    assert choose(ranked) is alike
    assert choose([best, worse]) is best


def test_pairing_takes_off_what_is_hard_for_both() -> None:
    hard = np.array([[1.0, 8.0, 3.0], [100.0, 500.0, 300.0]])
    gap, spread = paired(hard + np.array([[0.4], [30.0]]), hard)
    assert math.isclose(gap, 0.1)
    assert spread < 1e-12


def test_a_fold_that_is_hard_for_all_does_not_decide_alone() -> None:
    hard = np.array([1.0, 1.0, 1.0, 50.0])[:, None] * np.ones((4, 5))
    good = _candidate(5, hard * [[0.5], [0.5], [0.5], [1.1]])
    other = _candidate(5, hard)
    assert min([other, good], key=lambda one: (one.n_lost, one.nmse)) is good
    assert good.mean_nmse > other.mean_nmse
    assert math.isclose(other.nmse, 100.0 * 50.0**0.25)


def test_an_equation_that_misses_the_data_it_is_fitted_to_is_not_the_best() -> None:
    held_out = _candidate(5, np.full((4, 5), 0.1))
    assert math.isclose(held_out.with_error(held_out.error, 0.05, 5, 1.0).nmse, 10.0)
    assert held_out.with_error(held_out.error, 0.3, 5, 1.0).nmse == 30.0
    assert held_out.with_error(held_out.error, np.inf, 5, 1.0).nmse == np.inf


def test_runs_that_were_lost_come_last_and_are_never_chosen() -> None:
    lost = np.ones((2, 5))
    lost[0] = np.inf
    path = Path(SETTING, (2, 3), np.stack([lost * 1e-6, np.ones((2, 5))]), 0.0)
    ranked = rank([path], variance=1.0)
    assert [one.n_terms for one in ranked] == [3, 2]
    assert ranked[1].n_lost == 1
    assert choose(ranked).n_terms == 3
    assert best_few(ranked, 10) == ranked[:1]


def test_neighbours_in_one_path_do_not_crowd_out_the_others() -> None:
    many = [_candidate(n, np.full((2, 5), 1.0 + n / 100)) for n in range(2, 8)]
    other = _candidate(4, np.full((2, 5), 2.0), OTHER)
    kept = best_few([*many, other], 10)
    assert sum(one.setting == SETTING for one in kept) == 3
    assert other in kept


def test_only_what_is_surely_better_beats_the_mean() -> None:
    rng = np.random.default_rng(1)
    baseline = rng.uniform(0.5, 1.5, size=(4, 5))
    assert beats(_candidate(3, 0.5 * baseline), baseline)
    assert not beats(_candidate(3, baseline * rng.uniform(0.9, 1.1, size=(4, 5))), baseline)
    assert not beats(_candidate(3, np.full((4, 5), np.inf)), baseline)


def test_of_every_setting_the_best_is_shown_and_what_the_choice_was_between() -> None:
    error = np.full((2, 5), 1.0)
    first, best, chosen, last = (_candidate(n, error * n) for n in (2, 3, 4, 5))
    other = _candidate(4, error * 6, OTHER)
    ranked = [first, best, chosen, last, other]
    assert best_by_setting(ranked, None, None) == [first, other]
    assert best_by_setting(ranked, best, chosen) == [best, chosen, other]
    assert best_by_setting(ranked, other, other) == [first, other]


def test_paths_whose_best_model_is_nearly_the_largest_grow_on() -> None:
    error = np.ones((2, 5))
    third, linear = Setting("prediction", 5, 2, False, 20), Setting(LINEAR, 9, 1, False, 0)
    ranked = [
        _candidate(19, error * 0.4, linear),
        _candidate(19, error),  # of 20: it may be still to come
        _candidate(12, error * 1.1, OTHER),  # has been there
        _candidate(20, error * 1.2, OTHER),
        _candidate(20, error * 1.3, third),  # 1.3 times the best of the others
    ]
    assert still_growing(ranked, 5) == []
    assert still_growing(ranked[1:], 5) == [SETTING, third]
    assert still_growing(ranked[1:], 1) == [SETTING]
