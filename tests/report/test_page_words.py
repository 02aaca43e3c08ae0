"""Answers in one word first, commands set apart, and names that can break."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import numpy as np
import pytest

from adjoin import Dataset, Model
from adjoin.report.page_facts import shown_equation
from adjoin.report.page_words import breakable, n_on_first_screen, with_code, without_level


@pytest.mark.parametrize(
    ("level", "short", "words"),
    [
        ("caution", "With care: its bands are too wide", "Its bands are too wide"),
        ("caution", "With care", ""),
        ("good", "Yes", "Yes"),
        ("poor", "No: most draws run away", "No: most draws run away"),
        ("poor", "With care: it misses a part", "With care: it misses a part"),
    ],
)
def test_what_the_badge_says_is_not_said_again(level: str, short: str, words: str) -> None:
    assert without_level(level, short) == words


@pytest.mark.parametrize(
    ("step", "commands"),
    [
        ("judge models by their free run (objective='simulation')", ["objective='simulation'"]),
        (
            "hold data out (held_out=dataset), or test (test=data)",
            ["held_out=dataset", "test=data"],
        ),
        ("look at the data first: adjoin check", ["adjoin check"]),
        (
            "simulate: adjoin fit 'a b.csv' --inputs u,v --initial '1 + u(k); v(k)'",
            ["adjoin fit 'a b.csv' --inputs u,v --initial '1 + u(k); v(k)'"],
        ),
        ("run `adjoin report rig.nc` again", ["adjoin report rig.nc"]),
        ("use --center --max-lag 3, not more", ["--center --max-lag 3"]),
        ("samples='auto' or Prior(lag_uniform=0.5)", ["samples='auto'", "Prior(lag_uniform=0.5)"]),
        ("adjoin.discover(data, effort='thorough')", ["adjoin.discover(data, effort='thorough')"]),
        ("draw more samples; lower max_lag", []),
    ],
)
def test_commands_are_code(step: str, commands: list[str]) -> None:
    text = with_code(step)
    assert re.findall("<code>(.*?)</code>", html.unescape(str(text))) == commands
    plain = text.striptags()
    assert plain.lower() == " ".join(step.replace("`", "").split()).lower()
    assert plain[0].isupper() or commands


def test_advice_with_markup_stays_text() -> None:
    assert with_code("<b>x</b> & `<i>`") == "&lt;b&gt;x&lt;/b&gt; &amp; <code>&lt;i&gt;</code>"


def test_lines_break_between_the_words_of_names_and_not_in_a_lag() -> None:
    assert breakable("left_arm(k-1)*x_2(k)") == (
        'left_<wbr>arm<span class="lag">(k-1)*</span><wbr>x_<wbr>2(k)'
    )
    sentence = breakable("one of u(k-1), y(k-2)^2 is always in")
    assert "(k-2)^2</span><wbr> is always" in sentence
    assert breakable("<a_b>") == "&lt;a_<wbr>b&gt;"
    assert breakable("a_b(k-1)").striptags() == "a_b(k-1)"


def test_a_long_equation_is_folded_after_some_terms_and_never_for_one() -> None:
    assert n_on_first_screen(["y(k-1)"] * 8) == 8
    assert 0 < n_on_first_screen(["some_long_name(k-1)*other(k-2)"] * 60) < 20
    assert n_on_first_screen(["a" * 1000, "b", "c", "d"]) == 1
    assert n_on_first_screen(["a" * 400, "b" * 400]) == 2
    assert n_on_first_screen(["a" * 45] * 60) == 6  # each has a line for itself


@pytest.mark.parametrize("length", [10, 24])
def test_of_a_long_equation_the_terms_that_move_it_most_come_first(length: int) -> None:
    """As formulas and, where names are long, as text; with the sign that each place asks for."""
    names = tuple(f"{'signal_of_a_sensor_no_'[-length:]}{i}" for i in range(3))
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(
        rng.standard_normal((200, 2)) + 50.0, rng.standard_normal(200), names
    )
    pairs = [
        (f"{a}(k-{i})", f"{b}(k-{j})") for a, b in pairwise(names) for i in (1, 2) for j in (3, 4)
    ]
    small = [f"0.001*{one}*{other}" for one, other in pairs]
    slow = [f"0.01*{names[2]}(k-{lag})" for lag in range(1, 9)]
    equation = " + ".join(["1000", f"0.5*{names[0]}(k-1)", *small, *slow]) + f" - 3*{names[1]}(k-9)"
    model = Model.parse(f"{names[2]}(k) = {equation}", names[:2])
    shown = shown_equation(model, data)
    assert shown.n_more > 1
    assert len(shown.first) + shown.n_more == len(shown.pieces)
    first = ["".join(re.sub("<[^>]*>", "", piece).split()) for piece in shown.first]
    assert shown.is_text == (length > 20)
    assert first[0].endswith("=")
    assert first[1].startswith("−3")
    assert names[1] in first[1]
    assert first[2].startswith("+0.5")
    assert not any("1000" in piece for piece in first)  # a constant moves nothing
    assert shown_equation(model).n_more == 0
