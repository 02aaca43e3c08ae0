"""Plans and setups: what is asked for is what is run, and what means nothing is refused."""

from __future__ import annotations

import pytest

from adjoin import AdjoinError, Prior
from adjoin.cases.case import find_case
from adjoin.cases.registry import CASES
from adjoin.cases.setups import Plan
from adjoin.inference.arguments import check_arguments
from adjoin.inference.engines import find_engine


def test_a_setup_hands_every_setting_to_the_identifier() -> None:
    for case in CASES:
        for setup in find_case(case).setups(Plan(case)):
            identifier = setup.identifier("u(k)", 3, 7, n_jobs=1)
            engine = find_engine(identifier.objective)
            check_arguments(identifier.get_params(), identifier._parameters(), engine)
            for name in ("objective", "max_lag", "samples", "prior", "expected_terms"):
                assert getattr(identifier, name) == getattr(setup, name)
            assert (identifier.chains, identifier.seed, identifier.n_jobs) == (3, 7, 1)
            if setup.objective == "abc":
                assert identifier.rule == setup.rule
            else:
                assert identifier.likelihood_power == setup.likelihood_power
            if setup.objective == "simulation":
                assert identifier.noise == setup.noise
            if isinstance(setup.prior, Prior):  # it does not read expected_terms
                assert setup.prior.expected_terms == setup.expected_terms


def test_chains_and_term_rates_are_the_user_s_where_given() -> None:
    plan = Plan("academic", ("prediction",), (2.0, 7.5), chains=3, is_quick=True)
    case = find_case("academic")
    assert plan.n_chains == 3
    assert {s.expected_terms for s in case.setups(plan)} == {2.0, 7.5}
    assert "2 chains" not in " ".join(case.shortened(plan))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"case": "tower"}, "there is no case 'tower'"),
        ({"objectives": ("mpo",)}, "there is no objective 'mpo'"),
        ({"objectives": ("prediction", "osa")}, "every objective once"),
        ({"term_rates": ()}, "every λ_t once"),
        ({"term_rates": (0.0,)}, "λ_t must be a number from 0.001 to 100"),
        ({"term_rates": (5e-324,)}, "λ_t must be a number from 0.001 to 100"),
        ({"term_rates": (1e9,)}, "λ_t must be a number from 0.001 to 100"),
        ({"term_rates": (float("nan"),)}, "λ_t must be a number from 0.001 to 100"),
        ({"curve": -1}, "curve must be a whole number"),
        ({"chains": 0}, "chains must be a whole number"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_a_plan_that_means_nothing_is_refused(changes: dict, complaint: str) -> None:
    with pytest.raises(AdjoinError, match=complaint):
        Plan(**{"case": "academic", **changes})


def test_no_two_setups_are_called_the_same() -> None:
    for case in CASES:
        labels = [setup.label for setup in find_case(case).all_setups(Plan(case))]
        assert len(set(labels)) == len(labels)
