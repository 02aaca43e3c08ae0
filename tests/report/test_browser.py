"""The page in a real browser: it renders without an error, at two widths, light and dark."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.report.pages import page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=5000"),
)

# Told to the frame around it, because a window is never as narrow as a phone.
PROBE = """<script>
addEventListener("load", () => {
  const shown = [...document.querySelectorAll("svg")].filter(s => s.getBoundingClientRect().width);
  const text = [...document.querySelectorAll("svg text")]
    .filter(t => t.getBoundingClientRect().width)
    .map(t => parseFloat(getComputedStyle(t).fontSize)
      * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width);
  const math = [...document.querySelectorAll(".equation math")];
  parent.postMessage({
    width: innerWidth,
    wide: document.documentElement.scrollWidth,
    sticking: [...document.querySelectorAll("main *")].filter(e =>
      !e.closest(".scroll, pre, svg") && e.getBoundingClientRect().right > innerWidth + 1).length,
    pictures: shown.length,
    // Subscripts of subscripts and the addresses in a tree are small; nearly all else is not.
    small: text.sort((a, b) => a - b)[Math.floor(text.length / 20)],
    math: math.length,
    mathHeight: Math.min(...math.map(m => m.getBoundingClientRect().height)),
    paper: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.querySelector("svg")).fill,
    height: document.documentElement.scrollHeight,
    terms: document.querySelectorAll(".terms tbody tr").length,
    errors: (e => e.scrollWidth - e.parentElement.clientWidth)(
      document.querySelector(".group").closest("table")),
    code: Math.max(...[...document.querySelectorAll("pre")].map(
      e => e.scrollWidth - e.clientWidth)),
    overflow: Math.max(...[...document.querySelectorAll(".terms")].map(
      t => t.getBoundingClientRect().right - t.parentElement.getBoundingClientRect().right)),
    first: Math.max(...[...document.querySelectorAll(".look svg, .aside .steps, .aside .done")]
      .map(e => e.getBoundingClientRect().bottom)),
  }, "*");
});
</script></body>"""
FRAME = """<!doctype html><html><body style="margin:0"><iframe src="page.html"
style="width:{width}px;height:{height}px;border:0"></iframe><pre id="found"></pre><script>
addEventListener("message", event => {{
  document.getElementById("found").textContent = JSON.stringify(event.data); }});
</script></body></html>"""


def browse(folder: Path, text: str, width: int, *extra: str) -> tuple[dict[str, Any], list[str]]:
    """What the probe found in the page, and what the browser complained of."""
    probed = re.sub("<meta http-equiv[^>]*>", "", text).replace("</body>", PROBE)
    assert probed.count(PROBE) == 1
    (folder / "page.html").write_text(probed, encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width=width, height=2000), encoding="utf-8")
    done = _chromium(folder, f"--window-size={max(width, 500)},2000", "--dump-dom", *extra, frame)
    found = re.search('<pre id="found">(.*?)</pre>', done.stdout)
    assert found, done.stderr
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(found[1])), complaints


def _chromium(folder: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    *flags, address = options
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        *flags,
        f"file://{address}",
    ]
    return subprocess.run(
        list(map(str, command)), capture_output=True, check=True, text=True, timeout=120
    )


@pytest.mark.parametrize("kind", ["validated", "rich", "free run"])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_renders(kind: str, width: int, tmp_path: Path) -> None:
    found, complaints = browse(tmp_path, page(kind), width)
    assert complaints == []
    assert found["width"] == width
    assert found["wide"] <= width
    assert found["sticking"] == 0
    assert found["pictures"] >= 12
    assert found["small"] > 8.0  # pixels: letters in pictures can be read
    assert found["math"] >= 2
    assert found["mathHeight"] > 10


def test_light_and_dark_follow_the_reader(tmp_path: Path) -> None:
    light, _ = browse(tmp_path, page("validated"), 800)
    dark, complaints = browse(
        tmp_path, page("validated"), 800, "--blink-settings=preferredColorScheme=0"
    )
    assert complaints == []
    for name in ("paper", "ink"):
        assert light[name] != dark[name]

    def brightness(colour: str) -> float:
        return sum(map(float, re.findall(r"[\d.]+", colour)[:3]))

    assert brightness(light["paper"]) > brightness(light["ink"]) + 300
    assert brightness(dark["paper"]) < brightness(dark["ink"]) - 300


def test_the_page_s_own_policy_lets_it_render(tmp_path: Path) -> None:
    """As it is written, with its content policy: nothing is blocked, and a picture comes out."""
    file = tmp_path / "page.html"
    file.write_text(page("validated"), encoding="utf-8")
    picture = tmp_path / "page.png"
    done = _chromium(tmp_path, "--window-size=1000,1400", f"--screenshot={picture}", file)
    assert "CONSOLE" not in done.stderr
    from matplotlib.image import imread

    pixels = imread(picture)
    assert pixels.shape[:2] == (1400, 1000)
    assert pixels[..., :3].std() > 0.02  # not blank


def test_sixty_long_terms_do_not_scroll_sideways(tmp_path: Path) -> None:
    """Neither the page on a phone nor the table of coefficients on a screen."""
    text = page("long names")
    assert text.count("hydraulic_<wbr>valve") > 60
    for width in (390, 1200):
        found, complaints = browse(tmp_path, text, width)
        assert complaints == []
        assert found["wide"] <= width
        assert found["sticking"] == 0
        assert found["terms"] > 60
        assert found["overflow"] <= 0


def test_the_first_screen_holds_the_answer(tmp_path: Path) -> None:
    """Equation, verdict, picture and next steps, on 1,200 by 800 pixels."""
    for kind in ("validated", "long names"):
        found, _ = browse(tmp_path, page(kind), 1200)
        assert found["first"] < 800, kind


def test_errors_and_the_lines_to_reproduce_a_run_are_in_view_on_a_phone(tmp_path: Path) -> None:
    for kind in ("validated", "long names"):
        found, _ = browse(tmp_path, page(kind), 390)
        assert found["errors"] <= 0, kind
        assert found["code"] <= 0, kind
