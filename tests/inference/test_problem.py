"""The data as the samplers see them: what cannot be told apart on them."""

from __future__ import annotations

import numpy as np

from adjoin import Dataset, Grammar, Identifier
from adjoin.inference.problem import Problem

RNG = np.random.default_rng(4)
POSITIVE = 1.0 + RNG.random(200)


def test_functions_that_do_nothing_on_these_data_are_pointed_out() -> None:
    grammar = Grammar.narx(("u", "v"), functions="abs, sign, sin", max_lag=2, max_degree=2)
    inputs = np.column_stack([POSITIVE, RNG.standard_normal(200)])
    data = Dataset.from_arrays(inputs, -POSITIVE, names=("u", "v", "y"))
    assert Problem(data, grammar.alphabet).alike == (
        "abs(u(k)) is always u(k)",
        "sign(u(k)) is always 1",
        "abs(y(k-1)) is always -y(k-1)",
        "sign(y(k-1)) is always -1",
    )


def test_the_verdict_says_so() -> None:
    y = 0.5 * POSITIVE + 0.01 * RNG.standard_normal(200)
    settings = {"samples": 500, "chains": 2, "seed": 0, "max_lag": 1, "progress": False}
    found = Identifier(functions="abs", **settings).fit(POSITIVE, y).posterior_.diagnostics
    assert "abs(u(k)) is always u(k)" in found["functions_without_effect"]
    assert any("cannot be told apart" in reason for reason in found["verdict"]["reasons"])
    assert "leave such a function out" in found["verdict"]["advice"]
    plain = Identifier(**settings).fit(POSITIVE, y).posterior_.diagnostics
    assert plain["functions_without_effect"] == []
