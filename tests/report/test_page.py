"""The report page: one file, no network, everything escaped, and it says what was found."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.report.drawn import compared, tried_row
from tests.report.pages import KINDS, UGLY, page, run
from tests.systems import by_hand, quick, simulated

from adjoin import Dataset, Grammar, Model, Posterior, check_data, load
from adjoin.data.readers import read_data
from adjoin.inference.moves import Moves
from adjoin.report.page import make_page
from adjoin.report.page_facts import facts_of, lags_of, questions_of, tried_of
from adjoin.results.assessment import Assessment, assess

VOID = {"meta", "br", "img", "hr", "input", "link", "mspace", "wbr"}


class Reader(HTMLParser):
    """Collects text and attributes, and checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.text = self.prose = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.ids += [given["id"]] if given.get("id") else []
        self.links += [given["href"]] if given.get("href") else []
        assert not [name for name in given if name.startswith("on")], "an event handler"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "svg", "pre", "code"} & set(self.open):
            self.prose += data
        if not {"style", "svg"} & set(self.open):
            self.text += data


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_gives_a_sound_page(kind: str) -> None:
    text = page(kind)
    found = Reader(text)
    assert len(found.ids) == len(set(found.ids))
    assert all(link.startswith("#") and link[1:] in found.ids for link in found.links)
    assert not {"script", "iframe", "object", "embed", "link", "img", "base", "form"} & found.tags
    assert not {"nan", "inf", "None", "True", "False"} & set(re.split(r"\W+", found.prose))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_fetched(kind: str) -> None:
    text = page(kind).replace('xmlns="http://www.w3.org/2000/svg"', "")
    visible = text.replace("https:", "http:") if kind != "rich" else text
    assert "http:" not in visible
    assert "@import" not in text
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", text))
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text


def test_what_users_call_things_stays_text() -> None:
    text = page("rich")
    assert "<script" not in text
    found = Reader(text)
    assert UGLY in found.text  # as the title, and unchanged
    assert "{{ 7*7 }}" in found.text
    named = make_page(assess(run("empty"), draws=5), title=UGLY, source='"><script>x</script>.nc')
    assert "<script" not in named
    assert UGLY in Reader(named).text


def test_the_page_says_what_was_found() -> None:
    posterior = run("validated")
    assessed = assess(posterior, draws=30)
    text = " ".join(Reader(page("validated")).text.split())
    assert "a rig" in text
    assert f"{100 * assessed.posterior.structures['mass'][0]:.1f} %" in text
    assert (
        f"chain {assessed.posterior.chain_numbers[0]}, which the validation data selected" in text
    )
    for reason in posterior.diagnostics["verdict"]["reasons"]:
        assert reason in text
    for test in assessed.residual_tests:
        assert test.name in text
    for part in assessed.parts:
        for row in part.comparison:
            assert f"{row.errors.rmse:.4g}" in text
        assert f"{100 * part.scores.coverage:.1f} %" in text
    assert assessed.verdict.summary[1:] in text
    for step in assessed.verdict.next:
        assert step[1:] in text
    assert "all chains, weighted, by these very data" in text
    for number, weight in posterior.stacked.weights_.items():
        assert f"chain {number} {100 * weight:.1f} %" in text
    assert "one every 0.01 s" in text
    assert "adjoin.load('run.nc')" in text


def test_a_free_run_page_shows_its_ladder_and_what_its_noise_is() -> None:
    text = " ".join(Reader(page("free run")).text.split())
    posterior = run("free run")
    first = posterior.diagnostics["ladder"][0]
    assert "The tolerance ladder" in text
    assert f"its coldest tolerance at {first['reason']}." in text
    shares = [first["acceptance"][0], first["guided_acceptance"][0], min(first["swap_rate"][:2])]
    numbers = [first["tolerance"][0], first["stages"][-1]["smallest_distance"]]
    row = ["0", *(f"{x:.4g}" for x in numbers), *(f"{100 * share:.1f} %" for share in shares)]
    assert "".join(f"<td>{cell}</td>" for cell in row) in page("free run")
    assert "implied by the tolerance; no posterior" in text
    assert "95 % in [" not in text
    assert "free-run residuals on the fitted data" in text
    assert "noise (implied)" in text
    assert "ladder.rungs" in text
    for name in ("distance", "annealing", "rungs"):
        assert f'id="{name}-wide-' in page("free run")
    assert 'id="noise_sd-wide-' not in page("free run")


def test_a_one_step_page_has_no_ladder() -> None:
    text = " ".join(Reader(page("lone")).text.split())
    assert "ladder" not in text
    assert "one-step residuals" in text
    assert 'id="noise_sd-wide-' in page("lone")
    assert 'id="distance-wide-' not in page("lone")


def test_a_distance_of_one_s_own_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "adjoin.report.page_pictures.draw_both", lambda *_: ""
    )  # pictures take long
    text = " ".join(Reader(make_page(assess(run("own distance"), draws=5))).text.split())
    assert "those of adjoin.distances.Spectrum(bands=20)" in text
    assert "error of each draw's free run, 95 % in [" in text
    assert "guided accepted" not in text
    assert "noise (mean)" in text


def test_what_diverges_is_said() -> None:
    text = " ".join(Reader(page("diverging")).text.split())
    assert "No: most draws run away" in text
    assert "all 30 draws ran away, so that there is neither mean nor band" in text


def test_the_same_run_gives_the_same_page() -> None:
    assert make_page(assess(run("lone"), draws=30)) == page("lone")


def test_the_lines_that_reproduce_a_run_do() -> None:
    import adjoin

    posterior = run("rich")
    call = posterior.settings["call"]
    again = eval(f"adjoin.Identifier({call})", {"adjoin": adjoin, "run": posterior})
    assert again.fit(posterior.data).posterior_.terms.equals(posterior.terms)


def test_what_forbids_a_run_and_how_its_power_came_about_are_on_the_page() -> None:
    u, _ = simulated(n=300)
    posterior = quick(samples=400, likelihood_power="auto").fit(u, 3.0 * u).posterior_
    found = Reader(make_page(assess(posterior, draws=20)))
    assert "The output 'y' is a copy of the input 'u'; the simulation" in found.prose
    assert "'y' is 'u', up to a factor and an offset, in all samples" in found.prose
    assert f"counts to the power 1: {posterior.settings.power_note}." in found.prose


def _order(text: str, *ids: str) -> list[int]:
    return [text.index(f'id="{name}"') for name in ids]


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_comes_first_and_the_sampler_last(kind: str) -> None:
    text = page(kind)
    answers = ("trust", "data", "unique", "coefficients", "residuals", "chains")
    places = _order(text, *answers, "assumed", "settings", "again", "appendix")
    assert places == sorted(places)
    first, rest = text[: places[0]], text[places[-1] :]
    for part in ('class="equation', 'class="verdict"', 'id="look-wide-', "What to do next"):
        assert part in first
    main = text[: places[-1]]
    for part in ('id="n_terms-wide-', ">bulk ESS<", "Acceptance by move"):
        assert part not in main
        assert part in rest
    for level in re.findall(r'<span class="mark (\w+)">', text):
        assert level in ("good", "caution", "poor")
    marks = re.findall(r'<span class="mark (\w+)">([^<]*)</span>', text)
    assert {*marks} <= {("good", "Good"), ("caution", "With care"), ("poor", "Problem")}
    is_noticed = len(check_data(run(kind).data).findings) > 0
    assert len(re.findall(r'class="ask"', first)) == 4 + is_noticed


def test_no_share_of_draws_stands_beside_chains_that_disagree() -> None:
    terms = ["u(k)", "u(k-1)"]
    data = Dataset.from_arrays(*simulated(n=300))
    grammar = Grammar.narx(max_lag=2, max_degree=2)
    apart = by_hand(data, [[(term, [0.5], 1.0)] * 40 for term in terms], grammar)
    found = assess(apart, draws=5)
    assert found.diagnostics["verdict"]["agreement"] == "poor"
    assert "This structure" not in [fact["name"] for fact in facts_of(found)]
    assert not any("%" in fact["value"] for fact in facts_of(found)[1:])
    posterior = run("lone")
    sure = assess(posterior, draws=30)
    assert is_level_shown(sure) == ("This structure" in [f["name"] for f in facts_of(sure)])
    assert "have this structure" not in page("validated")


def is_level_shown(found: Assessment[Posterior]) -> bool:
    levels = found.diagnostics["verdict"]["agreement"], found.verdict.level
    return "poor" not in levels


def test_fixed_terms_have_no_empty_panels() -> None:
    u, y = simulated(n=300)
    fixed = {"initial": "u(k-1) + y(k-1)", "moves": Moves.fixed()}
    text = make_page(assess(quick(**fixed).fit(u, y).posterior_, draws=20))
    for name in ("structures", "inclusion", "lags", "size", "trees"):
        assert f'id="{name}-' not in text
    assert ">inclusion<" not in text
    assert "Before the data, about" not in text
    for name in ("coefficients", "look", "whole-0"):
        assert f'id="{name}-wide-' in text
    before = Reader(text).prose.partition("All settings")[0]
    assert "record" not in before


def test_what_is_open_has_its_panels() -> None:
    text = page("validated")
    for name in ("structures", "inclusion", "lags", "size"):
        assert f'id="{name}-wide-' in text


def test_what_was_tried_is_told() -> None:
    rows = [tried_row("simulation", 9, 2.0, is_checked=True, best=True)]
    rows += [tried_row("simulation", 5, 2.02, is_checked=True, chosen=True)]
    rows += [
        tried_row("prediction", n, None if n == 12 else float(n), words=f"prediction, lag {n}")
        for n in range(3, 15)
    ]
    told = tried_of(compared(*rows, beyond={"u": 1.31}))
    assert told["summary"] == (
        "40 models of 13 classes were compared by their simulations of held-out data; 3 of them"
        " ran away."
    )
    text = " ".join(told["sentences"])
    assert "part 1 of 2 of every record; part 2 of 2 of every record" in text
    assert "2.00 ± 0.20 % of the variance with 9 terms" in text
    assert "misses 2.02 ± 0.20 % of the variance with 5 terms" in text
    assert "3.4 % of the output's standard deviation from the median of the best 2" in text
    assert "u (1.3 times)" in text
    assert told["asked"] == [("effort", "quick"), ("functions", "–"), ("max lag", "–")]
    assert [r["error"] for r in told["rows"]].count("runs away (2 parts)") == 1


def test_a_discovery_has_a_section_of_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [tried_row("simulation", 5, 2.0, chosen=True)]
    rows += [tried_row("prediction", n, float(n)) for n in range(3, 20)]
    found = assess(run("lone"), draws=30)
    monkeypatch.setattr(type(found), "discovered", compared(*rows), raising=False)
    text = make_page(found)
    assert Reader(text).ids.count("tried") == 1
    assert 'id="tried-wide-' in text
    assert "6 more classes" in text
    assert text.index('id="tried"') < text.index('id="trust"')
    assert text.count('<tr class="chosen">') == 1
    monkeypatch.setattr(type(found), "discovered", None)
    assert 'id="tried"' not in page("lone")


def test_findings_in_the_data_are_a_question_of_their_own() -> None:
    found = assess(run("lone"), draws=30)
    seen = [{"level": "poor"}, {"level": "caution"}, {"level": "good"}]
    asked = questions_of(found, seen)[-1]
    assert (asked["id"], asked["level"], asked["words"]) == (
        "data",
        "poor",
        "2 findings to look at",
    )
    assert questions_of(found, seen[2:])[-1]["level"] == "good"
    assert len(questions_of(found, ())) == 4


def test_gaps_of_the_file_are_findings_of_a_saved_run_too(tmp_path: Path) -> None:
    u, y = simulated(n=300)
    seconds = 0.1 * np.arange(300.0)
    seconds[120:] += 7.0
    columns = np.column_stack([seconds, u, y])
    np.savetxt(tmp_path / "gap.csv", columns, delimiter=",", header="time,u,y", comments="")
    data = read_data(tmp_path / "gap.csv", output="y")
    quick().fit(data).posterior_.save(tmp_path / "run.nc")
    again = load(tmp_path / "run.nc")
    assert again.data.timing == data.timing
    text = make_page(assess(again, draws=30))
    assert "There is 1 gap in the time column" in text
    assert "gaps between them were not looked for" not in text
    assert "gaps between them were not looked for" in page("lone")  # arrays have no times


def test_the_first_number_is_that_of_the_verdict_and_the_fit_index_has_its_formula() -> None:
    found = assess(run("validated"), draws=30)
    errors, (fact, fit, *_) = found.parts[-1].scores.free_run, facts_of(found)
    assert fact["value"] == f"{100.0 - errors.nmse:.1f} %"
    assert fact["note"].startswith("of the variance of the validation data; RMSE ")
    assert (fit["name"], fit["value"]) == ("Fit index", f"{errors.fit:.1f}")
    assert "100 (1 − RMSE/sd)" in fit["note"]
    assert facts_of(assess(run("diverging"), draws=30))[0]["value"] == "nothing"


def test_long_names_are_text_that_breaks() -> None:
    names = ("hydraulic_valve_command_current_of_the_left_cylinder", "piston_displacement")
    u, y = simulated(n=300)
    data = Dataset.from_arrays(u, y, names=names)
    data = replace(data, units=("mA", "mm"))
    text = page_of(data)
    assert '<div class="equation words">' in text
    assert "hydraulic_<wbr>valve_" in text
    found = Reader(text)
    assert f"{names[0]}(k-1)" in found.text
    assert "RMSE in mm" in found.text
    assert "<td>mA</td>" in text.replace(' class="word"', "")


def page_of(data: Dataset) -> str:
    return make_page(assess(quick(samples=400).fit(data).posterior_, draws=10))


def test_the_lags_of_the_equation_are_named() -> None:
    text = "y(k) = 0.5*u(k-3) + 0.1*u(k)^2*w(k-1) - 0.2*y(k-1)*y(k-2)*y(k-3)*u(k-4)"
    assert lags_of(Model.parse(text, inputs="u, w")) == "y 1 to 3; u 0, 3, 4; w 1"
    assert lags_of(Model.parse("y(k) = 2", inputs="u")) == ""
    found = assess(run("lone"), draws=30)
    section = make_page(found).split('id="coefficients"')[1]
    assert f"Lags of the equation, in samples: {lags_of(found.model)}." in section


def test_the_first_picture_is_of_a_typical_record() -> None:
    """Not of the first one, nor of the one where the simulation is worst."""
    u, y = simulated(n=500)
    noise = np.random.default_rng(1).standard_normal(500)
    sizes = np.repeat([1.0, 0.4, 0.0, 0.2, 0.1], 100)
    parts = zip(np.split(u, 5), np.split(y + sizes * noise, 5), strict=True)
    data = Dataset.join([Dataset.from_arrays(*part) for part in parts])
    found = assess(quick().fit(u, y).posterior_, data, draws=30)
    part = found.parts[-1]
    errors = [
        float(np.mean((record - run)[part.n_seed :] ** 2))
        for record, run in zip(data.outputs, part.model_run, strict=True)
    ]
    assert sorted(errors)[2] == errors[part.typical_record] < max(errors)
    assert part.typical_record > 0
    assert f"record {part.typical_record}, whose error is the middle one of 5" in make_page(found)
    elsewhere = replace(found, parts=(replace(part, numbers=(7,) * 5),))
    assert "record 7, whose error" in make_page(elsewhere)


def test_a_failed_test_shows_what_it_fails_by() -> None:
    found = assess(run("lone"), draws=30)
    text = make_page(found)
    for test in found.residual_tests:
        cells = f"({test.most_outside})</td><td>"
        assert f"{test.n_outside} of {len(test.lag)} {cells}" in text
        assert f"{abs(test.z).max():.2f} ({test.limit:.2f})</td>" in text
    failed = [test for test in found.residual_tests if not test.is_passed]
    rows = text.split('id="residuals"')[1].split("</table>")[0]
    assert rows.count('<td class="caution">') >= 2 * len(failed)  # the result, and its reason
