"""The report page: one file, no network, everything escaped, and it says what was found."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from tests.report.pages import KINDS, UGLY, page, run
from tests.systems import quick, simulated

from adjoin.report.page import make_page
from adjoin.results.assessment import assess

VOID = {"meta", "br", "img", "hr", "input", "link", "mspace"}


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
        if not {"style", "svg", "pre"} & set(self.open):
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
        assert step in text
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
    monkeypatch.setattr("adjoin.report.page.draw_both", lambda *_: "")  # pictures take long
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
