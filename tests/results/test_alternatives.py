"""Terms that stand in for each other, and what the chains have settled, in words."""

from __future__ import annotations

import time

import numpy as np
from tests.results.runs import GRAMMAR, HELD_OUT, TEST, TRAIN, TRUE
from tests.results.runs import made as of_chains
from tests.systems import by_hand

from adjoin import Grammar, Posterior
from adjoin.results.agreement import find_agreement
from adjoin.results.assessment import assess

A, B, C, D = "u(k)", "u(k-1)", "u(k-2)", "y(k-1)"


def made(*chains: list[list[str]]) -> Posterior:
    """A posterior of these structures, each a list of terms."""
    draws = [[(" + ".join(own) or "0", [0.1] * len(own), 1.0) for own in c] for c in chains]
    return by_hand(TRAIN, draws, GRAMMAR)


def test_one_of_two_is_always_in() -> None:
    posterior = made([[A, D]] * 31 + [[B, D]] * 19)
    (group,) = posterior.alternatives
    assert (group.terms, group.shares, group.number) == ((A, B), (0.62, 0.38), 1)
    assert group.words == "one of u(k), u(k-1) is always in (62 %, 38 %)"
    assert posterior.diagnostics["alternatives"] == [group.plain]
    assert posterior.diagnostics["verdict"]["settled"] == [group.words]


def test_one_of_four_and_one_draw_in_a_hundred_without() -> None:
    draws = [[A]] * 40 + [[B]] * 30 + [[C]] * 20 + [[D]] * 9 + [[]]
    (group,) = made(draws).alternatives
    assert group.terms == (A, B, C, D)
    assert group.number == 1


def test_two_of_three_are_always_in() -> None:
    (group,) = made([[A, B], [A, C], [B, C]] * 10).alternatives
    assert (group.terms, group.number) == ((A, B, C), 2)
    assert group.words.startswith("two of u(k), u(k-1), u(k-2) are always in (67 %")


def test_terms_that_come_and_go_on_their_own_are_no_alternatives() -> None:
    both = [[A, B]] * 25 + [[A]] * 25 + [[B]] * 25 + [[]] * 25
    assert made(both).alternatives == ()
    nearly = [[A]] * 96 + [[A, B]] * 2 + [[B]] * 0 + [[]] * 2  # 98 % and 2 %, side by side
    assert made(nearly).alternatives == ()
    assert made([[A]] * 10).alternatives == ()
    assert made([[A]] * 8 + [[B]] * 1 + [[]] * 3).alternatives == ()  # too often neither


def test_chains_that_each_have_their_own_share_the_rest() -> None:
    posterior = made([[A, D]] * 20, [[B, D]] * 20, [[A, D]] * 20)
    assert posterior.shared_terms == (D,)
    found = posterior.diagnostics
    assert found["shared_terms"] == [D]
    assert found["verdict"]["settled"] == [
        "all 3 chains share y(k-1)",
        "one of u(k), u(k-1) is always in (67 %, 33 %); which of them differs by chain",
    ]
    apart = made([[A]] * 9 + [[]], [[B]] * 9 + [[]])
    assert apart.diagnostics["verdict"]["settled"] == [
        "no term is in nearly all draws of both chains"
    ]


def test_hundreds_of_terms_take_no_time_and_the_order_of_draws_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    texts = [f"u(k-{i})*y(k-{j})" for i in range(1, 16) for j in range(1, 16)]
    draws = []
    for _ in range(2000):
        own = [t for t in texts[2:] if rng.random() < 0.1] + [texts[int(rng.random() < 0.4)]]
        draws.append((" + ".join(own), [0.1] * len(own), 1.0))
    grammar = Grammar.narx(max_lag=15, max_degree=2)
    posterior = by_hand(TRAIN, [draws], grammar)
    assert len(posterior.structures) > 1900
    begin = time.perf_counter()
    (group,) = posterior.alternatives
    assert time.perf_counter() - begin < 5.0
    assert set(group.terms) == set(texts[:2])
    assert by_hand(TRAIN, [draws[::-1]], grammar).alternatives == posterior.alternatives


def test_free_runs_that_agree_are_said_to() -> None:
    wide = ("u(k-1) + u(k-2) + y(k-1)", [0.5, 0.0, 0.6], 0.01)
    posterior = of_chains([[TRUE] * 40, [wide] * 40], held_out=HELD_OUT)
    found = assess(posterior, TEST, draws=20)
    agreement = found.agreement
    assert agreement is not None
    first, second = (posterior.chain(i).free_run(HELD_OUT)[0][2:] for i in (0, 1))
    apart = np.sqrt(np.mean((first - second) ** 2))
    assert agreement.of_output == apart / np.std(HELD_OUT.y[2:])
    assert agreement.of_noise is not None
    assert agreement.is_alike
    assert found.verdict.settled[-1] == (
        f"the chains' structures differ, but their free runs agree to {agreement.size}:"
        " predictions can be used, the equation is not unique"
    )
    assert "of the output's standard deviation" in agreement.size


def test_free_runs_that_differ_are_said_to_and_lost_ones_say_nothing() -> None:
    other = ("u(k-2)", [0.3], 0.1)
    found = assess(of_chains([[TRUE] * 8, [other] * 8]), draws=20)
    assert found.agreement is not None
    assert not found.agreement.is_alike
    assert found.verdict.settled[-1].endswith("not even predictions are settled")
    assert find_agreement(of_chains([[TRUE] * 8])) is None
    same = assess(of_chains([[TRUE] * 8] * 2), draws=20)
    assert not any("free runs" in sentence for sentence in same.verdict.settled)
