"""Answers in one word first, commands set apart, and names that can break."""

from __future__ import annotations

import html
import re

import pytest

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
