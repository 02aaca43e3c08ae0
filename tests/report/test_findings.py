"""Tables of what was found: no number is cut, and digits agree with their uncertainty."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from tests.report.drawn import hand_made
from tests.report.pages import quick, run, simulated
from tests.schema import require_findings

from adjoin import Identifier, Posterior
from adjoin.inference.moves import Moves
from adjoin.report.findings import (
    centring_in_words,
    describe,
    fold,
    noise_in_words,
    print_findings,
    print_terms,
    rounded,
    structure_difference,
)
from adjoin.report.ladder_words import ladder_line
from adjoin.results.assessment import assess


def _printed(posterior: Posterior, width: int = 200) -> str:
    page = io.StringIO()
    console = Console(file=page, width=width, soft_wrap=True)
    print_findings(console, assess(posterior, draws=20))
    return page.getvalue()


@pytest.mark.parametrize(
    ("values", "spread", "texts"),
    [
        ([1.49931, 0.0004, 1.4985, 1.5], 0.0004, ["1.49931", "0.00040", "1.49850", "1.50000"]),
        ([-4.739e-5, 1.7e-6], 1.7e-6, ["-0.0000474", "0.0000017"]),
        ([-4.739e-9, 1.7e-10], 1.7e-10, ["-4.74e-09", "1.7e-10"]),
        ([12345.678, 12.0], 12.0, ["12346", "12"]),
        ([2.0, 0.0], 0.0, ["2", "0"]),
        ([0.0, 0.0], 0.0, ["0", "0"]),
    ],
)
def test_digits_follow_the_spread(values: list[float], spread: float, texts: list[str]) -> None:
    assert rounded(values, spread) == texts


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_no_number_is_cut_however_narrow_the_terminal(width: int) -> None:
    rng = np.random.default_rng(0)
    u, noise = rng.standard_normal((2, 300))
    y = 1e-5 * (np.roll(u, 1) + 0.1 * u**2 + 0.1 * noise)
    posterior = Identifier(samples=2000, chains=2, seed=0, max_lag=3).fit(u, y).posterior_
    text = _printed(posterior, width)
    assert "…" not in text
    for term in posterior.terms.head(2).itertuples():
        begins = [row for row in text.splitlines() if row.strip().startswith(f"{term.term} ")]
        (line,) = [row for row in begins if re.search(r" [01]\.\d{3} ", row)]  # no folded structure
        numbers = [float(word) for word in re.findall(r"-?\d[\d.]*(?:e-?\d+)?", line)[-4:]]
        assert numbers == pytest.approx([term.mean, term.sd, term.q025, term.q975], rel=0.06)


def test_a_free_run_names_its_ladder_and_no_interval_of_its_noise() -> None:
    posterior = run("free run")
    ladders = posterior.diagnostics["ladder"]
    lines = {line.split(" ", 1)[0]: line for line in _printed(posterior).splitlines() if line}
    sd = np.sqrt(ladders[0]["tolerance"][0] / 100.0 * np.var(posterior.data.y[2:]))
    expected = f"standard deviation {sd:.4g}, implied by the tolerance; no posterior"
    assert lines["noise"].split(None, 1)[1].rstrip() == expected
    assert lines["ladder"].split(None, 1)[1].rstrip() == ladder_line(ladders, "% of variance")
    assert "ladder" not in _printed(run("lone"))


def test_tolerances_that_differ_are_a_range() -> None:
    posterior = run("free run")
    first, second = posterior.traces
    apart = replace(posterior, traces=(first, second._replace(noise=4.0 * second.noise)))
    sd = float(posterior.noise["mean"])
    assert noise_in_words(apart) == (
        f"{1.5 * sd:.4g}",
        f"implied by the tolerances of the chains, {sd:.3g} to {2 * sd:.3g}; no posterior",
    )


def test_the_noise_of_a_distance_of_one_s_own_has_an_interval() -> None:
    posterior = run("own distance")
    value, note = noise_in_words(posterior)
    noise = posterior.noise
    mean, low, high = rounded([noise["mean"], noise["q025"], noise["q975"]], noise["sd"])
    assert low != high
    assert (value, note) == (mean, f"error of each draw's free run, 95 % in [{low}, {high}]")
    assert "(by adjoin.distances.Spectrum(bands=20)), 4 rungs" in _printed(posterior)


def test_noise_that_is_not_known_is_a_dash() -> None:
    assert noise_in_words(run("prior alone")) == ("–", "the likelihood is off")
    posterior = run("free run")
    endless = []
    for trace in posterior.traces:
        tolerance = np.full_like(trace.ladder.tolerance, np.inf)
        endless.append(trace._replace(ladder=trace.ladder._replace(tolerance=tolerance)))
    assert noise_in_words(replace(posterior, traces=tuple(endless))) == (
        "–",
        "the tolerance is infinite",
    )


@pytest.mark.parametrize(
    ("gain", "is_centred", "words"),
    [
        (None, False, ""),
        (
            -3.14,
            False,
            "raw signals explain the data better than deviations from their means, by 3.1",
        ),
        (
            250.4,
            True,
            "deviations from their means explain the data better than raw signals, by 250",
        ),
        (1.5, False, "by 1.5 nats in a short run, too little to change units for"),
    ],
)
def test_why_signals_are_centred_or_not(gain: float | None, is_centred: bool, words: str) -> None:
    settings = {"center": is_centred, "center_gain": gain}
    found = centring_in_words(hand_made([("u(k)", [1.0], 1.0)], settings=settings))
    assert words in found
    assert ("too little" in found) is ("too little" in words)
    assert bool(found) is bool(words)


@pytest.mark.parametrize("kind", ["free run", "own distance"])
def test_a_free_run_is_plain_json_even_with_an_endless_walk(kind: str) -> None:
    """A rung without coefficients accepts every step, and its width grows without end."""
    posterior = run(kind)
    width = np.array([0.1, 1.0, 2.0, np.inf])
    traces = [t._replace(ladder=t.ladder._replace(width=width)) for t in posterior.traces]
    facts = describe(assess(replace(posterior, traces=tuple(traces)), draws=20))
    found = json.loads(json.dumps(facts, allow_nan=False))
    assert found == facts
    assert found["diagnostics"]["ladder"][0]["width"] == [0.1, 1.0, 2.0, None]
    assert found["diagnostics"]["ladder"][0]["tolerance"] == pytest.approx(
        posterior.traces[0].ladder.tolerance[-1]
    )


@pytest.mark.parametrize("kind", ["validated", "rich", "lone", "empty", "diverging"])
def test_the_description_is_plain_values_of_the_assessment(kind: str) -> None:
    found = assess(run(kind), draws=20)
    facts = describe(found)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    require_findings(facts, {part.name for part in found.parts})
    for part in found.parts:
        assert facts["scores"][part.name] == part.scores.plain
        assert facts["comparison"][part.name] == [row.plain for row in part.comparison]
    assert [test["test"] for test in facts["residual_tests"]] == [
        test.name for test in found.residual_tests
    ]
    assert facts["answers"] == {
        "unique": found.unique.plain,
        "trusted": found.trusted.plain,
        "left_in_residuals": found.exhausted.plain,
    }
    assert facts["verdict"] == found.verdict.plain
    assert ("selected_chain" in facts["diagnostics"]) is found.is_selected


def test_the_terminal_says_the_same_numbers() -> None:
    found = assess(run("validated"), draws=20)
    page = io.StringIO()
    print_findings(Console(file=page, width=300, soft_wrap=True), found)
    lines = page.getvalue().splitlines()
    for part in found.parts:
        (line,) = [line for line in lines if line.startswith(f"{part.name} ")]
        errors = part.scores.free_run
        assert f"free run RMSE {errors.rmse:.4g} (NMSE {errors.nmse:.3g} % of the" in line
        assert f"one step ahead RMSE {part.scores.one_step.rmse:.4g}" in line
        assert f"{100 * part.scores.coverage:.1f} % in the 95 % band" in line
    (line,) = [line for line in lines if line.startswith("verdict ")]
    assert line.endswith(found.verdict.summary)
    for step in found.verdict.next:
        assert f"           → {step}" in lines


def test_long_names_fold_at_their_parts_and_nothing_is_lost() -> None:
    name = "hydraulic_valve_command(k-1)*left_arm(k)"
    assert fold(f"a + {name} + b", 18).split("\n") == [
        "a + hydraulic_",
        "valve_",
        "command(k-1)*left_",
        "arm(k) + b",
    ]
    assert fold("word another", 80) == "word another"
    assert fold("unbreakablelongname_x", 6).replace("\n", "") == "unbreakablelongname_x"


def test_long_names_are_whole_on_80_columns_and_numbers_too() -> None:
    posterior = run("long names")
    page = io.StringIO()
    print_terms(Console(file=page, width=80, soft_wrap=True), posterior)
    table = page.getvalue().strip("\n ")
    assert "…" not in table
    names, numbers = "", []
    for line in table.splitlines()[2:]:
        name, _, rest = line.strip().partition("  ")
        names += name
        numbers += [rest.split()] if rest.strip() else []
    frame = posterior.terms.head(40)
    assert names.startswith("".join(frame["term"]))
    assert all(len(row) == 5 for row in numbers[:40])
    assert [float(row[1]) for row in numbers[:40]] == pytest.approx(list(frame["mean"]), abs=0.06)
    assert all(len(line.rstrip()) <= 80 for line in table.splitlines())


def test_terms_that_were_given_show_no_inclusion() -> None:
    """A column of 1.000 would read as certainty, where nothing else was tried."""
    u, y = simulated(n=300)
    given = quick(initial="u(k-1) + y(k-1)", moves=Moves.fixed()).fit(u, y).posterior_
    page = io.StringIO()
    print_terms(Console(file=page, width=80), given)
    head, *_ = page.getvalue().strip().splitlines()
    assert head.split() == ["term", "mean", "sd", "2.5", "%", "97.5", "%"]
    assert "1.000" not in page.getvalue()


def test_structures_of_long_terms_are_told_by_what_differs() -> None:
    terms = [f"hydraulic_valve_command_current_of_cylinder_{i}(k-1)" for i in range(4)]
    assert structure_difference(terms, terms) == " + ".join(terms)
    assert structure_difference(terms[:3], terms) == f"the first without {terms[3]}"
    assert structure_difference(["u(k)", "y(k-1)"], ["u(k)"]) == "u(k) + y(k-1)"
