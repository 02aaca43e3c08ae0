"""What each case runs: the paper's settings, what a quick run leaves out, and the time it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjoin import AdjoinError, Prior
from adjoin.cases import estimate
from adjoin.cases.setups import CASES, Plan


def test_the_academic_case_has_the_paper_s_settings_for_every_term_rate() -> None:
    setups = Plan("academic").setups
    assert len(setups) == 4 * 3
    assert {s.max_lag for s in setups} == {10}
    assert {(s.objective, s.samples) for s in setups} == {("osa", 30_000), ("abc", 60_000)}
    for objective in ("osa", "abc"):
        own = [s for s in setups if s.objective == objective and s.prior == "paper"]
        assert [s.expected_terms for s in own] == [1.0, 5.0, 20.0]
        assert {s.rule for s in own} == {"paper" if objective == "abc" else "default"}


def test_the_silverbox_has_powers_side_by_side_and_the_official_split_apart() -> None:
    plan = Plan("silverbox", term_rates=(5.0,))
    assert {(s.objective, s.samples) for s in plan.setups} == {("osa", 10_000), ("abc", 20_000)}
    assert {s.max_lag for s in plan.setups} == {50}
    default = [s for s in plan.setups if s.objective == "osa" and s.prior == "default"]
    assert [s.likelihood_power for s in default] == [1.0, "auto"]
    priors = [s.prior for s in plan.setups if isinstance(s.prior, Prior)]
    assert priors == [Prior(expected_terms=5.0, noise_scale=1e-2, units="raw")]
    assert {s.objective for s in plan.official_setups} == {"osa"}
    assert not set(plan.official_setups) & set(plan.setups)


def test_the_waves_have_three_methods_for_each_objective() -> None:
    setups = Plan("waves", term_rates=(20.0,)).setups
    assert [(s.number, s.objective) for s in setups] == [
        (n, objective) for n in (1, 2, 3) for objective in ("osa", "abc")
    ]
    assert [s.initial_mode for s in setups[::2]] == [None, "residual", "joint"]
    black, _, grey = (s.identifier("u(k)", 2, 0) for s in setups[::2])
    assert black.initial is None
    assert (grey.initial, grey.initial_mode) == ("u(k)", "joint")


def test_a_setup_hands_every_setting_to_the_identifier() -> None:
    for case in CASES:
        for setup in Plan(case).setups:
            identifier = setup.identifier("u(k)", 3, 7, n_jobs=1)
            identifier._check()  # refuses what contradicts itself
            for name in ("objective", "max_lag", "samples", "prior", "expected_terms"):
                assert getattr(identifier, name) == getattr(setup, name)
            assert (identifier.chains, identifier.seed, identifier.n_jobs) == (3, 7, 1)
            if setup.objective == "abc":
                assert identifier.rule == setup.rule
            else:
                assert identifier.likelihood_power == setup.likelihood_power
            if isinstance(setup.prior, Prior):  # it does not read expected_terms
                assert setup.prior.expected_terms == setup.expected_terms


@pytest.mark.parametrize("case", CASES)
def test_a_quick_run_is_cheaper_and_says_what_it_leaves_out(case: str) -> None:
    full, quick = Plan(case), Plan(case, is_quick=True)
    assert not full.shortened
    assert "2 chains (the paper: 4)" in quick.shortened
    expected = [sum(estimate.estimate(plan, 1.0).values()) for plan in (full, quick)]
    assert expected[1] < expected[0]
    assert expected[1] < 180.0  # a few minutes at most, one core or more
    for setup in quick.setups:
        if setup.n_train is not None:
            assert any(f"first {setup.n_train:,} training samples" in s for s in quick.shortened)


def test_chains_and_term_rates_are_the_user_s_where_given() -> None:
    plan = Plan("academic", ("osa",), (2.0, 7.5), chains=3, is_quick=True)
    assert plan.n_chains == 3
    assert {s.expected_terms for s in plan.setups} == {2.0, 7.5}
    assert "2 chains" not in " ".join(plan.shortened)


def test_the_estimate_grows_with_chains_and_shrinks_with_cores() -> None:
    plan = Plan("academic", ("abc",), n_jobs=1)
    one_core = estimate.estimate(plan, 1.0)["abc"]
    two_cores = estimate.estimate(replace(plan, n_jobs=2), 1.0)["abc"]
    assert two_cores < one_core < estimate.estimate(replace(plan, chains=8), 1.0)["abc"]
    assert estimate.estimate(plan, 2.0)["abc"] == pytest.approx(2.0 * one_core)
    assert 0.02 < estimate.machine_factor() < 50.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "about a second"),
        (4.4, "about 4 s"),
        (12.0, "about 10 s"),
        (47.0, "about 50 s"),
        (150.0, "about 2 min"),
        (9000.0, "about 2.5 h"),
    ],
)
def test_durations_are_round(seconds: float, words: str) -> None:
    assert estimate.about(seconds) == words


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"case": "tower"}, "there is no case 'tower'"),
        ({"objectives": ("mpo",)}, "there is no objective 'mpo'"),
        ({"objectives": ("osa", "osa")}, "every objective once"),
        ({"term_rates": ()}, "every λ_t once"),
        ({"term_rates": (0.0,)}, "λ_t must be a number from 0.001 to 100"),
        ({"term_rates": (5e-324,)}, "λ_t must be a number from 0.001 to 100"),
        ({"term_rates": (1e9,)}, "λ_t must be a number from 0.001 to 100"),
        ({"term_rates": (float("nan"),)}, "λ_t must be a number from 0.001 to 100"),
        ({"chains": 0}, "chains must be a whole number"),
        ({"seed": -1}, "seed must be"),
        ({"data": "x.csv"}, "simulates its data"),
    ],
)
def test_a_plan_that_means_nothing_is_refused(changes: dict, complaint: str) -> None:
    with pytest.raises(AdjoinError, match=complaint):
        Plan(**{"case": "academic", **changes})


def test_a_quick_run_leaves_out_no_term_rate_that_was_asked_for() -> None:
    assert {s.expected_terms for s in Plan("silverbox", ("abc",), is_quick=True).setups} == {20.0}
    asked = Plan("silverbox", ("abc",), (1.0, 5.0), is_quick=True)
    assert {s.expected_terms for s in asked.setups} == {1.0, 5.0}
    assert not any("λ_t" in said for said in asked.shortened)


def test_no_two_setups_are_called_the_same() -> None:
    for case in CASES:
        plan = Plan(case)
        labels = [setup.label for setup in plan.setups + plan.official_setups]
        assert len(set(labels)) == len(labels)
