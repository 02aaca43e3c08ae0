"""Piecewise shapes: saturation and dead zone found as hinges, by all engines, in any unit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import run
from tests.exchange.runs import assert_made_of_the_same, load
from tests.systems import BEHIND, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Identifier, Model, Posterior
from adjoin.modelling.mathml import equation_mathml
from adjoin.report.page import make_page
from adjoin.report.plots_structure import lag_probabilities
from adjoin.results.assessment import assess
from adjoin.scores import rmse

LEVELS = 0.25 * np.arange(-12, 13)  # each as often as the others: the upper quartile is 1.5
SYSTEMS = {
    "saturation": "y(k) = 0.5*u(k-1) - 0.5*pos(u(k-1) - 1.5) + 0.7*y(k-1)",
    "dead zone": "y(k) = pos(u(k-1) - 1.5) + 0.7*y(k-1)",
}
NOISE = 0.02
FREE_RUN: dict[str, Any] = {"objective": "abc", "samples": 3000}
ENGINES: dict[str, dict[str, Any]] = {"prediction": {"samples": 6000}, "abc": FREE_RUN}


def staircase(seed: int, n: int = 400) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.tile(LEVELS, n // len(LEVELS)))


def rig(equation: str, seed: int, is_fed_back: bool) -> tuple[np.ndarray, np.ndarray]:
    """A staircase of levels, and the output with noise in the system or on the sensor."""
    u = staircase(seed)
    noise = NOISE * np.random.default_rng(seed + 100).standard_normal(len(u))
    model = Model.parse(equation)
    return u, model.simulate(u, noise=noise) if is_fed_back else model.simulate(u) + noise


def plain_shape(name: str, u: np.ndarray) -> np.ndarray:
    """The system as one would program it, without hinges."""
    y = np.zeros(len(u))
    for k in range(1, len(u)):
        drive = 0.5 * min(u[k - 1], 1.5) if name == "saturation" else max(u[k - 1] - 1.5, 0.0)
        y[k] = drive + 0.7 * y[k - 1]
    return y


@pytest.mark.parametrize("name", SYSTEMS)
def test_hinges_say_what_the_shapes_are(name: str) -> None:
    u = staircase(3)
    np.testing.assert_allclose(Model.parse(SYSTEMS[name]).simulate(u), plain_shape(name, u))


@pytest.mark.filterwarnings(BEHIND)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_shape_is_found_and_polynomials_are_clearly_worse(name: str, engine: str) -> None:
    """The noise of 0.02 is all that is left in the free run of another record; a polynomial of
    degree 4 leaves its own error too, which is more than twice that."""
    is_fed_back = engine == "prediction"
    u, y = rig(SYSTEMS[name], 0, is_fed_back)
    new_u, new_y = rig(SYSTEMS[name], 1, is_fed_back)
    settings = {"max_lag": 2, "chains": 2, "seed": 0, **ENGINES[engine]}
    left = {}
    for functions in ("", "hinge"):
        found = Identifier(functions=functions, **settings).fit(u, y)
        # Of the system itself, so that no noise of the new record is in it.
        truth = Model.parse(SYSTEMS[name]).simulate(new_u)
        left[functions] = rmse(truth, found.simulate(new_u, truth[:2]))
    assert found.posterior_.structure() == Model.parse(SYSTEMS[name]).structure
    for term, value in Model.parse(SYSTEMS[name]).coefficients.items():
        assert found.model_.coefficients[term] == pytest.approx(value, abs=0.02)
    # Coefficients of 400 samples: the system's own error is some 0.02 * sqrt(3 / 400) = 0.002.
    assert left["hinge"] < 0.01
    assert left[""] > 0.03
    assert found.score(new_u, new_y) > 94.0


def test_an_overflow_of_the_output_is_found_where_its_knot_is_given() -> None:
    """Fed back, so that free runs and their slopes go through the bend."""
    truth = Model.parse("y(k) = 0.4*u(k-1) + 0.9*y(k-1) - 0.6*pos(y(k-1) - 1)")
    rng = np.random.default_rng(5)
    u = rng.standard_normal(300)
    y = truth.simulate(u) + 0.02 * rng.standard_normal(300)
    grammar = Grammar.narx(functions={"y": "pos[1]"}, max_lag=2, max_degree=2)
    found = Identifier("abc", grammar, max_lag=2, max_degree=2, samples=2000, chains=1, seed=0)
    assert found.fit(u, y).posterior_.structure() == truth.structure
    np.testing.assert_allclose(found.model_.theta, truth.theta, atol=0.02)


class TestUnits:
    """Knots are in the signals' units; the posterior does not depend on these."""

    equation = "y(k) = 0.5*u(k-1) - 0.4*pos(u(k-1) - 0.5) + 0.3*y(k-1)"

    def test_knots_from_data_scale_with_the_data(self) -> None:
        u, y = simulated(self.equation, noise=0.1)
        a, b = 1e-3, 1e4
        settings: dict[str, Any] = {"functions": "hinge", "samples": 3000}
        one, two = quick(**settings).fit(u, y), quick(**settings).fit(a * u, b * y)
        left, right = one.posterior_, two.posterior_
        np.testing.assert_array_equal(left.draws.structure, right.draws.structure)
        for mine, other in zip(left.encoding.atoms, right.encoding.atoms, strict=True):
            assert mine[:2] == other[:2]
            factor = a if mine.signal == "u" else b
            mine_text, other_text = (f.partition("[")[2][:-1] for f in (mine[2], other[2]))
            knots = [float(text or 0.0) for text in (mine_text, other_text)]
            assert knots[1] == pytest.approx(factor * knots[0], rel=1e-12)
        assert any(atom.function for term in left.structure() for atom in term)
        np.testing.assert_allclose(right.draws.noise_sd, b * left.draws.noise_sd, rtol=1e-6)
        assert two.score(a * u, b * y) == pytest.approx(one.score(u, y), rel=1e-9)

    @pytest.mark.parametrize("objective", ["prediction", "abc"])
    def test_powers_of_two_do_not_even_round(self, objective: str) -> None:
        u, y = simulated(self.equation, noise=0.1, n=150)
        a, b = 2.0**-10, 2.0**13
        settings: dict[str, Any] = {"samples": 1000, "objective": objective, "chains": 1}
        one = quick(functions={"u": "pos[0.5]", "y": "pos[-0.25]"}, **settings).fit(u, y)
        words = {"u": f"pos[{a * 0.5!r}]", "y": f"pos[{b * -0.25!r}]"}
        two = quick(functions=words, **settings).fit(a * u, b * y)
        left, right = one.posterior_.draws, two.posterior_.draws
        np.testing.assert_array_equal(left.structure, right.structure)
        np.testing.assert_array_equal(b * left.noise_sd, right.noise_sd)
        np.testing.assert_array_equal(b * one.simulate(u, y[:2]), two.simulate(a * u, b * y[:2]))

    def test_centred_signals_have_knots_in_deviations(self) -> None:
        u, y = simulated(self.equation, noise=0.1)
        settings: dict[str, Any] = {"functions": "hinge", "samples": 100, "knots": 1}
        raw = quick(**settings).fit(u + 50.0, y)
        assert not raw.model_.offsets
        assert _knots(raw) == pytest.approx({"u": 50.0 + np.median(u), "y": np.median(y)}, abs=0.02)
        centred = quick(center=True, **settings).fit(u + 50.0, y)
        deviations = {"u": np.median(u) - u.mean(), "y": np.median(y) - y.mean()}
        assert _knots(centred) == pytest.approx(deviations, abs=0.02)

    def test_a_centred_model_expands_to_raw_signals(self) -> None:
        text = "y(k) = 0.5*pos(u(k-1) - 0.5)^2*y(k-1) + 0.2*pos(y(k-1) + 1)"
        model = Model.parse(text, offsets={"u": 20.0, "y": 3.0})
        raw = model.expand()
        assert str(raw.structure) == "1 + pos(u(k-1) - 20.5)^2 + pos(u(k-1) - 20.5)^2*y(k-1)" + (
            " + pos(y(k-1) - 2)"
        )
        u = 20.0 + np.random.default_rng(0).standard_normal(50)
        np.testing.assert_allclose(raw.simulate(u, [3.0]), model.simulate(u, [3.0]), rtol=1e-12)


def _knots(found: Identifier) -> dict[str, float]:
    words = {c.signal: c.function for c in found.grammar_.alphabet.choices if c.function}
    return {signal: float(word[4:-1]) for signal, word in words.items()}


def test_the_default_class_has_no_hinges() -> None:
    found = quick(samples=50).fit(*simulated())
    assert {choice.function for choice in found.grammar_.alphabet.choices} == {""}


def test_how_many_knots_is_a_setting_and_words_may_be_mixed() -> None:
    u, y = simulated()
    found = quick(functions="abs, hinge", knots=2, samples=50).fit(u, y)
    functions = [c.function for c in found.grammar_.alphabet.choices if c.signal == "u"]
    lower, upper = np.quantile(u, [1 / 3, 2 / 3])
    assert functions[:2] == ["", "abs"]
    knots = [float(word[4:-1]) for word in functions[2:]]
    assert knots == pytest.approx([lower, upper], abs=0.03)
    assert "functions='abs, hinge'" in found.posterior_.settings["call"]
    assert "knots=2" in found.posterior_.settings["call"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"functions": "hinge", "knots": 0}, "knots must be"),
        ({"functions": "hinge", "knots": 2.5}, "knots must be"),
        ({"knots": 5}, r"knots=5 are of hinges; add functions='hinge'"),
        ({"functions": "abs", "knots": 5}, r"knots=5 are of hinges"),
        ({"grammar": Grammar.narx(max_lag=2, max_degree=2), "knots": 5}, "set their knots there"),
        ({"grammar": Grammar.narx(), "functions": "hinge"}, "has its own functions"),
        ({"functions": "hing"}, "unknown function 'hing'"),
        ({"functions": {"w": "hinge"}}, "functions for 'w'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(AdjoinError, match=reason):
        quick(**settings).fit(*simulated(n=50))


@pytest.fixture(scope="module")
def bent() -> Posterior:
    u, y = rig(SYSTEMS["saturation"], 0, True)
    return quick(functions="hinge", samples=3000).fit(u, y).posterior_


def test_a_fixed_term_may_be_a_hinge() -> None:
    u, y = rig(SYSTEMS["saturation"], 0, True)
    found = quick(initial="pos(u(k-1) - 1.5)").fit(u, y)
    assert "pos(u(k-1) - 1.5)" in found.model_.coefficients
    assert found.model_.coefficients["pos(u(k-1) - 1.5)"] == pytest.approx(-0.5, abs=0.02)


@pytest.mark.parametrize("objective", ["prediction", "abc"])
def test_a_saved_run_comes_back(objective: str, tmp_path: Path) -> None:
    u, y = simulated(TestUnits.equation, n=80)
    settings: dict[str, Any] = {"samples": 200, "objective": objective}
    found = quick(functions="hinge, abs", **settings).fit(u, y).posterior_
    found.save(tmp_path / "run.nc")
    again = load(tmp_path / "run.nc")
    assert_made_of_the_same(again, found)
    assert again.map_model.equation == found.map_model.equation
    assert again.settings["functions"] == found.settings["functions"]


def test_models_come_back_from_their_files_and_run_as_code(bent: Posterior, tmp_path: Path) -> None:
    model = bent.map_model
    model.save(tmp_path / "model.json")
    assert Model.read(tmp_path / "model.json") == model
    namespace: dict[str, Any] = {}
    exec(model.python(), namespace)
    u = staircase(9)
    assert namespace["simulate"](u.tolist()) == model.simulate(u).tolist()


def test_the_page_shows_hinges(bent: Posterior) -> None:
    page = make_page(assess(bent, draws=20))
    assert "<mi>max</mi>" in page
    assert "pos(u(k-1) - 1.5)" in page
    (piece,) = (p for p in equation_mathml(bent.map_model) if "max" in p)
    assert '<mo>−</mo><mn>1.5</mn><mo separator="true">,</mo><mn>0</mn>' in piece
    assert list(lag_probabilities(bent))[:4] == ["u", "pos(u + 1.5)", "pos(u)", "pos(u - 1.5)"]
    assert lag_probabilities(bent)["pos(u - 1.5)"][1] > 0.9


def test_the_command_line_takes_hinges(tmp_path: Path) -> None:
    u, y = rig(SYSTEMS["dead zone"], 0, True)
    data = tmp_path / "rig.csv"
    np.savetxt(data, np.column_stack([u, y]), delimiter=",", header="u,y", comments="")
    quick_options = ("--samples", "3000", "--chains", "1", "--seed", "0", "--max-lag", "2")
    hinges = ("--functions", "hinge", "--knots", "3", "--max-degree", "2", "--json")
    done = run("fit", str(data), *quick_options, *hinges)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["structures"][0]["structure"] == ["pos(u(k-1) - 1.5)", "y(k-1)"]
    assert "pos[1.5]" in facts["settings"]["functions"]
    shown = run("grammar", "show", "narx", "--functions", "pos[0.25], abs")
    assert shown.returncode == 0, shown.stderr
    assert "pos(u(k) - 0.25)" in shown.stdout
    refused = run("grammar", "show", "narx", "--functions", "hinge")
    assert refused.returncode == 2
    assert "come from data" in refused.stderr


def test_binary_inputs_have_no_hinges_and_it_is_said() -> None:
    rng = np.random.default_rng(0)
    u = rng.integers(0, 2, 200).astype(float)
    y = Model.parse("y(k) = u(k-1) + 0.5*y(k-1)").simulate(u) + 0.1 * rng.standard_normal(200)
    with pytest.warns(UserWarning, match="no hinges of u"):
        found = quick(functions="hinge", samples=100).fit(Dataset.from_arrays(u, y))
    assert {c.signal for c in found.grammar_.alphabet.choices if c.function} == {"y"}
