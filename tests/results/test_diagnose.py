"""Diagnostics: numbers are ArviZ's, and the verdict says what the chains did."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from arviz_stats.base import array_stats
from tests.report.drawn import compared, tried_row
from tests.systems import Drawn, by_hand, quick, simulated

from adjoin import Dataset, Grammar, Posterior, Structure
from adjoin.exchange.arviz_data import import_arviz
from adjoin.inference.moves import Moves
from adjoin.report.page_facts import questions_of
from adjoin.results.assessment import assess
from adjoin.results.diagnose import diagnose

GRAMMAR = Grammar.narx(max_lag=2, max_degree=2)
DATA = Dataset.from_arrays(*simulated(n=60))
SMALL = "u(k-1) + y(k-1)"
LARGE = "u(k-1) + y(k-1) + y(k-2)"
OTHER = "u(k) + u(k-1)^2"


def chain(texts: list[str], n: int, seed: int, level: float = 1.0) -> list[Drawn]:
    """Independent draws of these structures, with noise variances around a level."""
    rng = np.random.default_rng(seed)
    chosen = [texts[i] for i in rng.integers(len(texts), size=n)]
    size = {text: len(Structure.parse(text, DATA.names)) for text in texts}
    return [(t, rng.standard_normal(size[t]), level * rng.gamma(50.0) / 50.0) for t in chosen]


def made(texts: list[list[str]], n: int = 400, **changed) -> Posterior:
    """A posterior of one chain per list of structures."""
    chains = [chain(own, n, seed) for seed, own in enumerate(texts)]
    return by_hand(DATA, chains, GRAMMAR, **changed)


def verdict(posterior: Posterior) -> dict:
    """The verdict of diagnostics that JSON can hold."""
    facts = posterior.diagnostics
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert len(facts["verdict"]["reasons"]) == len(set(facts["verdict"]["reasons"])) > 0
    return facts["verdict"]


def rows(posterior: Posterior) -> dict[str, dict]:
    return {row["quantity"]: row for row in posterior.diagnostics["convergence"]}


# Numbers


def test_convergence_is_that_of_arviz() -> None:
    posterior = quick(samples=3000, chains=3, max_degree=3).fit(*simulated(n=80, noise=0.5))
    posterior = posterior.posterior_
    draws = posterior.draws

    def series(values: np.ndarray) -> np.ndarray:
        return np.array([values[draws.chain == i] for i in range(3)], dtype=float)

    best = posterior.structures["structure"][0]
    is_best = [str(model.structure) == best for model in posterior._models(range(len(draws)))]
    expected = {
        "number of terms": series(np.diff(draws.offset)),
        "log posterior": series(posterior.log_posterior),
        "noise standard deviation": series(draws.noise_sd),
        "best structure is there": series(np.array(is_best)),
    }
    terms = posterior.terms.set_index("term")["inclusion"]
    for term in terms[(terms >= 0.05) & (terms < 1.0)].index:
        expected[f"{term} is in"] = series(posterior.includes(term))
    found = rows(posterior)
    assert len(expected) > 5
    assert set(found) == set(expected)
    for name, values in expected.items():
        row = found[name]
        assert row["rhat"] == pytest.approx(array_stats.rhat(values, method="rank"), rel=1e-12)
        assert row["ess_bulk"] == pytest.approx(array_stats.ess(values, method="bulk"), rel=1e-12)
        tail = array_stats.ess(values, method="tail", prob=(0.05, 0.95))
        assert row["ess_tail"] == pytest.approx(tail, rel=1e-12)


def test_convergence_is_that_of_the_arviz_package() -> None:
    arviz = import_arviz()
    posterior = made([[SMALL, LARGE]] * 3)
    values = np.array([posterior.draws.noise_sd[posterior.draws.chain == i] for i in range(3)])
    row = rows(posterior)["noise standard deviation"]
    assert row["rhat"] == pytest.approx(float(arviz.rhat(values)))
    assert row["ess_bulk"] == pytest.approx(float(arviz.ess(values)))
    tail = arviz.ess(values, method="tail", prob=(0.05, 0.95))
    assert row["ess_tail"] == pytest.approx(float(tail))


def test_chains_of_unequal_length_are_compared_by_their_last_draws() -> None:
    chains = [chain([SMALL, LARGE], n, seed) for seed, n in enumerate((300, 120))]
    posterior = by_hand(DATA, chains, GRAMMAR)
    np.testing.assert_array_equal(posterior.draws.ends, [np.arange(180, 300), np.arange(300, 420)])
    same_end = by_hand(DATA, [chains[0][180:], chains[1]], GRAMMAR)
    assert rows(posterior)["noise standard deviation"] == rows(same_end)["noise standard deviation"]


def test_what_never_varies_has_no_convergence() -> None:
    found = rows(made([[SMALL]] * 2))
    nothing = {"rhat": None, "ess_bulk": None, "ess_tail": None}
    for kind, name in (("size", "number of terms"), ("structure", "best structure is there")):
        assert found[name] == {"quantity": name, "kind": kind, **nothing}
    assert found["noise standard deviation"]["rhat"] is not None
    assert "coefficient standard deviation" not in found
    assert not any(
        row["kind"] == "term" for row in found.values()
    )  # always in: nothing to converge


def test_the_spread_of_coefficients_is_a_quantity_where_it_is_drawn() -> None:
    posterior = made([[SMALL]] * 2)
    rng = np.random.default_rng(0)
    traces = tuple(t._replace(coefficient=rng.gamma(9.0, size=400)) for t in posterior.traces)
    found = rows(replace(posterior, traces=traces))
    values = np.sqrt([trace.coefficient for trace in traces])
    expected = array_stats.ess(values)
    assert found["coefficient standard deviation"]["ess_bulk"] == pytest.approx(expected)


def test_rare_terms_are_left_out_and_the_least_settled_come_first() -> None:
    often = [SMALL] * 7 + [LARGE] * 12 + ["u(k-1) + y(k-1) + y(k-2)^2"]  # 35 %, 60 %, 5 %
    posterior = made([often] * 2, n=4000)
    inclusion = posterior.terms.set_index("term")["inclusion"]
    names = [name for name, row in rows(posterior).items() if row["kind"] == "term"]
    expected = [f"{t} is in" for t in inclusion.index if 0.05 <= inclusion[t] < 1.0]
    assert sorted(names) == sorted(expected)
    assert names[0] == "y(k-2) is in"


def test_at_most_thirty_terms_are_followed() -> None:
    texts = [f"u(k-{i})*y(k-{j})" for i, j in product(range(1, 7), repeat=2)]
    grammar = Grammar.narx(max_lag=6, max_degree=2)
    rng = np.random.default_rng(0)
    chains = []
    for _ in range(2):
        chosen = [[t for t in texts if rng.random() < 0.5] for _ in range(50)]
        chains.append([(" + ".join(own), np.ones(len(own)), rng.gamma(9.0)) for own in chosen])
    found = rows(by_hand(DATA, chains, grammar))
    assert sum(row["kind"] == "term" for row in found.values()) == 30


def test_what_each_chain_did_is_counted() -> None:
    posterior = made([[SMALL], [LARGE]], n=50)
    move = np.zeros((9, 3), dtype=np.int64)
    move[0] = 100, 100, 100  # to stay is always accepted, and says nothing
    move[1], move[2] = (40, 30, 10), (10, 8, 4)
    trouble = np.array([2, 1, 5])
    traces = (posterior.traces[0]._replace(move=move, trouble=trouble), posterior.traces[1])
    facts = replace(posterior, traces=traces).diagnostics
    first, second = facts["chains"]
    assert first["acceptance"] == 14 / 50
    assert second["acceptance"] == 0.0
    assert list(facts["acceptance"].values())[:3] == [1.0, 0.25, 0.4]
    assert list(facts["acceptance"].values())[3:] == [None] * 6
    assert (first["chain"], first["mode"], first["mode_mass"]) == (0, SMALL, 1.0)
    assert (second["chain"], second["mode"], second["n_terms_median"]) == (1, LARGE, 3.0)
    assert second["noise_mean"] == pytest.approx(np.sqrt(posterior.traces[1].noise).mean())
    assert facts["chains_agree_on_mode"] is False
    assert facts["singular_proposals"] == 2
    assert facts["singular_noise_draws"] == 1
    assert facts["proposals_beyond_largest_structure"] == 5


# Verdicts


def test_chains_that_agree_are_good() -> None:
    found = verdict(made([[SMALL, SMALL, LARGE]] * 4))
    assert found["level"] == "good"
    assert found["summary"] == "the chains agree; masses and intervals can be relied on"
    assert found["reasons"][0].startswith("all 4 chains agree on the structure, with mass 0.6")
    assert " to 0.6" in found["reasons"][0]
    assert found["reasons"][1].startswith("R-hat is at most 1.0")
    assert found["reasons"][2].startswith("the smallest effective sample size is 1,")
    assert found["advice"] == []


def test_two_chains_are_both_and_equal_masses_one_number() -> None:
    found = verdict(made([[SMALL]] * 2))
    assert found["reasons"][0] == "both chains agree on the structure, with mass 1.00"


def test_chains_stuck_at_different_structures_are_poor() -> None:
    found = verdict(made([[SMALL], [SMALL], [LARGE], [SMALL]]))
    assert found["level"] == "poor"
    assert found["summary"].startswith("the chains have not converged")
    assert found["reasons"][0] == (
        f"the chains disagree on the structure: 3 of 4 have '{SMALL}'; chain 2 adds y(k-2)"
    )
    assert "for 4 of 5 quantities, worst over 100 for" in found["reasons"][1]
    assert found["advice"] == [
        "draw more samples; lower max_lag or max_degree, or let validation data choose a chain"
    ]


def test_a_reason_says_what_each_chain_adds_and_lacks() -> None:
    found = verdict(made([[LARGE], [LARGE], ["0"], [OTHER]]))
    assert found["reasons"][0] == (
        f"the chains disagree on the structure: 2 of 4 have '{LARGE}'; chain 2 lacks u(k-1),"
        " y(k-1), y(k-2); chain 3 adds u(k), u(k-1)^2 and lacks u(k-1), y(k-1), y(k-2)"
    )
    found = verdict(made([["0"], ["0"], [SMALL]]))
    assert found["reasons"][0].endswith("2 of 3 have '0'; chain 2 adds u(k-1), y(k-1)")


def test_chains_that_each_have_their_own_structure_are_poor() -> None:
    posterior = made([[SMALL], [LARGE], [OTHER]])
    found = verdict(replace(posterior, chain_numbers=(1, 4, 6)))
    assert found["level"] == "poor"
    assert found["reasons"][0] == (
        "the chains disagree on the structure: each has its own; against chain 1, chain 4 adds"
        " y(k-2); chain 6 adds u(k), u(k-1)^2 and lacks u(k-1), y(k-1)"
    )


def test_long_structures_and_many_chains_are_shortened() -> None:
    big = "u(k) + u(k)^2 + u(k-1) + u(k-2) + y(k-1) + y(k-2)"
    found = verdict(made([[big], [big], ["u(k)"], ["u(k)^2"], ["u(k-1)"], ["y(k-1)"]]))
    reason = found["reasons"][0]
    assert "'u(k) + u(k)^2 + u(k-1) + u(k-2) + … (6 terms)'" in reason
    assert "chain 2 lacks 5 terms; chain 3 lacks 5 terms; chain 4 lacks 5 terms" in reason
    assert "chain 5" not in reason


def test_one_chain_has_nothing_to_be_compared_with() -> None:
    found = verdict(made([[SMALL, SMALL, LARGE]]))
    assert found["level"] == "caution"
    assert found["reasons"][0].startswith("there is one chain only, and nothing to compare it with")
    assert "(its best structure has mass 0.6" in found["reasons"][0]
    assert found["advice"] == ["run several chains"]


def test_chains_that_visit_alike_but_rank_differently_leave_it_open() -> None:
    """Two structures of equal mass: which is ahead in a chain is a coin's throw."""
    posterior = made([[SMALL, LARGE]] * 6, n=150)
    assert not posterior.diagnostics["chains_agree_on_mode"]
    assert 1.0 < rows(posterior)["best structure is there"]["rhat"] < 1.01
    found = verdict(posterior)
    assert found["level"] == "caution"
    assert found["reasons"][0].endswith("but all visit them alike: the data leave it open")
    assert found["advice"] == []


def test_chains_that_differ_a_little_are_judged_by_how_many_agree() -> None:
    """Three draws of five, or two of five, of one structure: R-hat is neither near 1 nor far."""
    ahead, behind = [SMALL] * 3 + [LARGE] * 2, [SMALL] * 2 + [LARGE] * 3
    for texts, level in (([ahead, behind], "poor"), ([ahead, ahead, behind], "caution")):
        posterior = made(texts, n=1000)
        assert 1.01 < rows(posterior)["best structure is there"]["rhat"] < 1.1
        found = verdict(posterior)
        assert found["level"] == level
        assert found["reasons"][0].startswith("the chains disagree on the structure")


def test_many_structures_of_small_mass_are_said_to_be_so() -> None:
    terms = ["u(k)", "u(k)^2", "u(k-1)", "u(k-2)", "y(k-1)", "y(k-2)"]
    subsets = [
        " + ".join(t for t, is_in in zip(terms, row, strict=True) if is_in) or "0"
        for row in product([0, 1], repeat=6)
    ]
    found = verdict(made([subsets] * 4))
    assert found["level"] == "caution"
    assert found["reasons"][0].startswith(
        "no structure stands out: the most frequent of 64 has mass 0.02"
    )
    assert found["reasons"][0].endswith("terms and predictions say more than one equation does")


def test_few_effective_samples_ask_for_so_many_times_more() -> None:
    """Fifty draws in blocks of ten alike: some five of them count, of four hundred."""
    chains = []
    for seed in range(4):
        blocks = chain([SMALL], 40, seed)
        chains.append([record for record in blocks for _ in range(10)])
    posterior = by_hand(DATA, chains, GRAMMAR)
    found = verdict(posterior)
    worst = min(row["ess_bulk"] for row in rows(posterior).values() if row["ess_bulk"])
    assert 10 < worst < 400
    assert found["level"] != "good"
    times = -(-400 // worst)
    assert found["advice"] == [f"draw more samples, about {times:.0f} times as many"]
    assert any(
        f"effective sample size is {worst:,.0f}, of" in r and "400 are wanted" in r
        for r in found["reasons"]
    )


def test_chains_at_different_levels_have_not_forgotten_where_they_began() -> None:
    chains = [chain([SMALL], 400, seed, level) for seed, level in enumerate((1.0, 1.0, 1.5))]
    found = verdict(by_hand(DATA, chains, GRAMMAR))
    assert found["level"] == "poor"
    assert any("'noise standard deviation': the chains have not" in r for r in found["reasons"])
    near = [chain([SMALL], 4000, seed, level) for seed, level in enumerate((1.0, 1.06))]
    slightly = verdict(by_hand(DATA, near, GRAMMAR))
    assert slightly["level"] == "caution"
    assert "R-hat is above 1.01 for" in slightly["reasons"][1]


def test_too_few_draws_cannot_tell() -> None:
    for n in (1, 3):
        found = verdict(made([[SMALL]] * 4, n=n))
        assert found["level"] == "caution"
        assert "the draws are too few or too alike to tell" in found["reasons"][1]
        assert found["advice"] == ["draw more samples"]
    assert verdict(made([[SMALL]], n=1))["level"] == "caution"


def test_a_likelihood_that_is_off_gives_no_answer() -> None:
    found = verdict(made([[SMALL]] * 4, power=0.0))
    assert found["level"] == "caution"
    assert "the likelihood is off: this is the prior, not an answer" in found["reasons"]
    assert verdict(made([[SMALL]] * 4, power=0.1))["level"] == "good"


def test_a_run_that_was_stopped_says_so() -> None:
    found = verdict(made([[SMALL]] * 4, settings={"is_complete": False}))
    assert found["level"] == "caution"
    assert found["reasons"][-1] == "the run was stopped before its end"
    assert verdict(made([[SMALL]] * 4, settings={"is_complete": True}))["level"] == "good"


@pytest.mark.parametrize(
    ("trouble", "reason", "advice"),
    [
        ([17, 0, 0], "17 proposals and 0 draws of the noise were refused", "coefficient_sd"),
        ([0, 3, 0], "0 proposals and 3 draws of the noise were refused", "noise_scale"),
        ([0, 0, 1], "1 proposals were turned away at the largest structure", "fewer terms"),
    ],
)
def test_trouble_on_the_way_is_told(trouble: list[int], reason: str, advice: str) -> None:
    posterior = made([[SMALL]] * 4)
    traces = (posterior.traces[0]._replace(trouble=np.array(trouble)), *posterior.traces[1:])
    found = verdict(replace(posterior, traces=traces))
    assert found["level"] == "caution"
    assert found["reasons"][-1].startswith(reason)
    assert advice in found["advice"][-1]


def test_signals_that_repeat_each_other_are_named() -> None:
    rng = np.random.default_rng(0)
    u = np.repeat(rng.standard_normal((60, 1)), 2, axis=1)
    data = Dataset.from_arrays(u, rng.standard_normal(60), ("flow", "pump", "y"))
    grammar = Grammar.arx(inputs=("flow", "pump"), max_lag=1)
    posterior = by_hand(data, [[("flow(k)", [1.0], 1.0)] * 50] * 4, grammar)
    traces = (posterior.traces[0]._replace(trouble=np.array([9, 9, 0])), *posterior.traces[1:])
    found = verdict(replace(posterior, traces=traces))
    assert "leave out 'flow' or 'pump', which repeat each other" in found["advice"]


def test_a_proposal_refused_now_and_then_is_no_trouble() -> None:
    posterior = made([[SMALL]] * 4)  # 1600 samples: up to 16 may be refused, and 1 for its noise
    traces = (posterior.traces[0]._replace(trouble=np.array([10, 1, 0])), *posterior.traces[1:])
    assert verdict(replace(posterior, traces=traces))["level"] == "good"


def test_a_fit_has_a_verdict() -> None:
    model = quick(samples=20_000, chains=4).fit(*simulated(n=300))
    found = verdict(model.posterior_)
    assert found["level"] == "good"
    assert found["reasons"][0].startswith("all 4 chains agree on the structure")


def test_terms_that_were_given_are_no_agreement_of_the_chains() -> None:
    fixed = {"initial": "u(k-1) + y(k-1)", "moves": Moves.fixed()}
    posterior = quick(**fixed).fit(*simulated()).posterior_
    found = assess(posterior)
    verdict = found.diagnostics["verdict"]
    assert verdict["reasons"][0] == (
        "the terms were fixed: both chains can agree on coefficients and noise only"
    )
    assert verdict["agreement"] == "good"
    assert verdict["summary"] == (
        "the chains agree on the coefficients of the terms that were given; intervals can be relied"
        " on"
    )
    assert not any("share" in said for said in verdict["settled"])
    (chains,) = [row for row in questions_of(found, ()) if row["id"] == "chains"]
    assert chains["words"] == "Yes, on the coefficients: the terms were given"
    compared_one = replace(posterior, discovered=compared(tried_row("prediction", 2, 1.0)))
    reasons = diagnose(compared_one)["verdict"]["reasons"]
    assert reasons[0].startswith("the terms were given by the comparison: ")
