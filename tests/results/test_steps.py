"""What to do next: each situation's step, and that its command is one that can be run."""

from __future__ import annotations

import ast
import inspect
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.results.runs import HELD_OUT, POOR, TEST, TRAIN, TRUE, made
from tests.systems import by_hand, quick, simulated
from typer.main import get_command

import adjoin
from adjoin import Dataset, Grammar, Identifier
from adjoin.cli.app import app
from adjoin.cli.spelling import spell_for_fit
from adjoin.results.assessment import assess
from adjoin.results.command import CHECK, DISCOVER, FIT, Origin, origin_of
from adjoin.results.leftover import Leftover
from adjoin.results.seen import Seen, look
from adjoin.results.steps import MOST, SITUATIONS, next_steps

TYPED = {
    "inputs": "u, force",
    "output": "speed",
    "validation": 0.3,
    "max_lag": 3,
    "detrend": True,
    "decimate": 2,
    "center": False,
    "samples": "auto",
    "initial": "u(k)*abs(u(k)) + 1",
    "seed": 1,
}
AT_TERMINAL = Origin(FIT, ("my rig.csv", "other.csv"), TYPED, True)
LINE = (
    "adjoin fit 'my rig.csv' other.csv --inputs 'u, force' --output speed --validation 0.3"
    " --max-lag {} --detrend --decimate 2 --no-center --samples auto"
    " --initial 'u(k)*abs(u(k)) + 1' --seed 1"
)
IN_PYTHON = Origin(FIT, (), {"max_lag": "3", "prior": "'paper'"}, True)
UNSPLIT = Origin(FIT, (), {"prior": "adjoin.Prior(lag_decay=0.5, constant_odds=0.0)"})
DISCOVERED = Origin(DISCOVER, ("rig.csv",), {"output": "speed", "max_lag": 3, "decimate": 2})
DISCOVERED_IN_PYTHON = Origin(DISCOVER, (), {"max_lag": "3"})
ORIGINS = (AT_TERMINAL, IN_PYTHON, UNSPLIT, DISCOVERED, DISCOVERED_IN_PYTHON)

LATE, NEAR = Leftover("u", 1, 17, 0.5, 9.0), Leftover("u", 2, 3, 0.5, 9.0)
BAD = {"missed": 40.0, "one_step": 1.0}
SEEN: dict[str, tuple[dict[str, Any], str, dict[str, Any], str]] = {
    "copies": (
        {"copies": ("v",), "inputs": ("u", "v")},
        "leave 'v' out",
        {"inputs": "u"},
        FIT,
    ),
    "swapped": ({"is_swapped": True}, "swap the columns", {"inputs": "y", "output": "u"}, FIT),
    "short": ({"is_short": True}, "look less far back, or measure", {"max_lag": 2}, FIT),
    "noise": ({"is_noise": True, "missed": 100.0}, "check the columns, or", {}, CHECK),
    "offset": (
        BAD | {"has_constant": False, "offset": "y"},
        "allow a constant: the mean of y is far from zero",
        {"constant": None, "prior": None},
        FIT,
    ),
    "far": ({"left": LATE, "far": 21}, "look further back: what is left", {"max_lag": 21}, FIT),
    "missed": (
        {"is_missed": True, "missed": 100.0, "one_step": 100.0},
        "let the search go on",
        {"samples": "auto", "search": None, "rungs": None},
        FIT,
    ),
    "bends": (
        BAD | {"bent": "u", "max_degree": 1},
        "allow shapes that bend, as dead zones and saturation do: what is left follows u only",
        {"functions": "hinge"},
        FIT,
    ),
    "linear": (BAD | {"max_degree": 1}, "allow products of signals", {"max_degree": 3}, FIT),
    "oversampled": (BAD | {"decimate": 5}, "keep fewer samples", {"decimate": 5}, FIT),
    "simulation": (BAD, "judge models by their simulation", {"objective": "simulation"}, FIT),
    "left": ({"left": NEAR, "max_degree": 2}, "allow products", {"max_degree": 3}, FIT),
    "coloured": (
        {"is_one_step": False, "is_white": True, "is_coloured": True},
        "let the noise have a memory",
        {"noise": "ar"},
        FIT,
    ),
    "bad": ({"missed": 40.0, "one_step": 30.0}, "compare many models", {}, DISCOVER),
    "untried": ({"is_tried": False}, "hold data out", {"validation": 0.3}, FIT),
    "beyond": (
        {"beyond": ("u goes 1.5 times as far as in what was fitted",)},
        "measure with inputs as far as it is to be run on (u goes 1.5 times",
        {},
        "",
    ),
    "chains": ({"chains_differ": True}, "compare models, for chains differ", {}, DISCOVER),
    "unsettled": (
        {"chains_differ": True, "is_discovered": True, "is_sampled": True, "effort": "quick"},
        "let the chains run longer",
        {"effort": "thorough"},
        DISCOVER,
    ),
    "switched": (
        {"switched": ("u",)},
        "measure with more levels of u, if the model is to be run between",
        {},
        "",
    ),
}
"""For every situation what is seen, how the words begin, what changes, and by which command."""


def test_every_situation_is_here_in_the_order_of_their_urgency() -> None:
    assert [situation.name for situation in SITUATIONS] == list(SEEN)


@pytest.mark.parametrize("name", SEEN)
def test_a_situation_asks_for_its_step_first(name: str) -> None:
    facts, words, changes, command = SEEN[name]
    found = Seen(**facts)
    met = [situation for situation in SITUATIONS if situation.is_met(found)]
    assert met[0].name == name
    step = met[0].step(found)
    assert step.words.startswith(words)
    assert (dict(step.changes), step.command) == (changes, command)
    assert next_steps(found, AT_TERMINAL)[0].startswith(step.words)


def test_a_run_of_which_all_is_well_asks_for_nothing() -> None:
    assert not any(situation.is_met(Seen()) for situation in SITUATIONS)
    well = Seen(missed=3.9, one_step=1.0)
    assert next_steps(well, AT_TERMINAL) == ()
    assert next_steps(Seen(is_short=True, max_lag=2), AT_TERMINAL) == (
        "measure longer records: there are too few samples to tell",
    )
    assert next_steps(Seen(missed=None, one_step=None, is_still=True), AT_TERMINAL) == ()
    for facts in ({"missed": 4.1}, {"missed": None}, {"lost": 0.06}, {"missed": 11.0}):
        assert next_steps(Seen(**facts), AT_TERMINAL)


def test_a_step_keeps_all_options_of_the_run_but_one() -> None:
    (step,) = next_steps(Seen(far=21), AT_TERMINAL)
    assert step.endswith(": " + LINE.format(21))
    assert spell_for_fit(step) == step  # nothing in it is spelled once more


def test_a_step_at_the_terminal_takes_what_does_not_go_together_away() -> None:
    found = next_steps(Seen(**BAD), Origin(FIT, ("rig.csv",), {"samples": "auto", "rungs": 3}))
    assert found[0].endswith(": adjoin fit rig.csv --objective simulation")
    (kept, _) = next_steps(Seen(**BAD), Origin(FIT, ("rig.csv",), {"samples": "900"}))
    assert kept.endswith(": adjoin fit rig.csv --samples 900 --objective simulation")
    offset = Seen(**SEEN["offset"][0])
    found = next_steps(offset, Origin(FIT, ("rig.csv",), {"constant": False, "prior": "paper"}))
    assert found[0].endswith(": adjoin fit rig.csv")


def test_decimating_again_multiplies() -> None:
    found = Seen(**SEEN["oversampled"][0])
    assert "--decimate 10 " in next_steps(found, AT_TERMINAL)[0]
    assert next_steps(found, DISCOVERED)[0].endswith(
        "adjoin discover rig.csv --output speed --max-lag 3 --decimate 10 --out discovered.nc"
    )


def test_other_commands_keep_what_the_data_are_read_by() -> None:
    found = next_steps(Seen(missed=40.0, one_step=30.0), AT_TERMINAL)[0]
    assert found.endswith(
        ": adjoin discover 'my rig.csv' other.csv --inputs 'u, force' --output speed --detrend"
        " --decimate 2 --initial 'u(k)*abs(u(k)) + 1' --out discovered.nc"
    )
    found = next_steps(Seen(is_noise=True), AT_TERMINAL)[0]
    assert found.endswith("--inputs 'u, force' --output speed --detrend --decimate 2")


@pytest.mark.parametrize(
    ("name", "origin", "call"),
    [
        (
            "simulation",
            IN_PYTHON,
            "adjoin.Identifier(max_lag=3, prior='paper', objective='simulation')"
            ".fit(train, held_out=validation)",
        ),
        ("offset", IN_PYTHON, "adjoin.Identifier(max_lag=3).fit(train, held_out=validation)"),
        ("offset", UNSPLIT, "adjoin.Identifier(prior=adjoin.Prior(lag_decay=0.5)).fit(data)"),
        (
            "oversampled",
            IN_PYTHON,
            "adjoin.Identifier(max_lag=3, prior='paper')"
            ".fit(train.decimate(5), held_out=validation.decimate(5))",
        ),
        (
            "untried",
            Origin(),
            "train, validation = data.split(0.7);"
            " adjoin.Identifier().fit(train, held_out=validation)",
        ),
        ("bad", IN_PYTHON, "adjoin.discover(data)"),
        ("noise", IN_PYTHON, "adjoin.check_data(train)"),
        ("far", DISCOVERED_IN_PYTHON, "adjoin.discover(data, max_lag=21)"),
    ],
)
def test_what_came_from_arrays_goes_on_in_python(name: str, origin: Origin, call: str) -> None:
    step = next_steps(Seen(**SEEN[name][0]), origin)[0]
    assert step.partition(": " + call)[1:] == (": " + call, "")
    assert spell_for_fit(step) == step


def every_step() -> Iterator[tuple[str, str]]:
    for origin in ORIGINS:
        for name, (facts, *_) in SEEN.items():
            for step in next_steps(Seen(**facts), origin):
                yield name, step


def test_every_command_is_one_that_the_command_line_takes() -> None:
    commands = [step.partition(": adjoin ")[2] for _, step in every_step() if ": adjoin " in step]
    assert len(commands) > 20
    root: Any = get_command(app)
    for line in commands:
        name, *words = shlex.split(line)
        root.commands[name].make_context(name, words)  # raises where an option is unknown
    assert {shlex.split(line)[0] for line in commands} == {FIT, DISCOVER, CHECK}


def test_every_call_is_one_that_python_takes() -> None:
    n_calls = 0
    known = {
        "Identifier": Identifier,
        "discover": adjoin.discover,
        "check_data": adjoin.check_data,
        "fit": Identifier.fit,
        "decimate": Dataset.decimate,
        "split": Dataset.split,
        "Prior": adjoin.Prior,
    }
    for _, step in every_step():
        if ": adjoin " in step or "adjoin." not in step:
            continue
        source = step[step.rindex(": ") + 2 :]
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call):
                assert isinstance(node.func, ast.Attribute)
                name, n_calls = node.func.attr, n_calls + 1
                own = [None] if name in ("fit", "decimate", "split") else []
                keywords = {str(one.arg): None for one in node.keywords}
                inspect.signature(known[name]).bind(*own, *node.args, **keywords)
    assert n_calls > 20


def test_a_comparison_is_not_told_what_it_has_no_option_for() -> None:
    """It looks at simulations anyway, holds out by itself, and is no other comparison."""
    for name in ("simulation", "coloured", "bad", "untried", "chains"):
        found = next_steps(Seen(**SEEN[name][0], is_discovered=True), DISCOVERED)
        assert found == ()


def test_chains_of_a_discovery_that_differ_run_longer_until_that_is_all_there_is() -> None:
    """Of fixed terms chains cannot differ in the equation."""
    found = next_steps(Seen(**SEEN["unsettled"][0]), DISCOVERED)
    assert found[0].endswith(
        ": adjoin discover rig.csv --output speed --max-lag 3 --decimate 2 --effort thorough"
        " --out discovered.nc"
    )
    (said,) = next_steps(Seen(**SEEN["unsettled"][0] | {"effort": "thorough"}), DISCOVERED)
    assert "adjoin" not in said
    assert "not on single terms" in said
    assert next_steps(Seen(**SEEN["unsettled"][0] | {"is_sampled": False}), DISCOVERED) == ()


def test_an_input_of_two_values_asks_for_more_where_terms_may_bend() -> None:
    u, _ = simulated(n=450)
    data = Dataset.from_arrays(np.sign(u), simulated(n=450)[1])
    found = assess(made([[TRUE] * 4], data))
    assert found.seen.switched == ("u",)
    assert next_steps(Seen(switched=("u",), max_degree=1), AT_TERMINAL) == ()


def test_a_grammar_of_one_s_own_is_not_changed_by_options() -> None:
    origin = Origin(FIT, ("rig.csv",), {"grammar": "my.tag"})
    assert next_steps(Seen(far=21), origin) == ()
    assert next_steps(Seen(**BAD), origin)[0].endswith("--grammar my.tag --objective simulation")


def test_there_are_three_steps_at_most_and_none_twice() -> None:
    everything: dict[str, Any] = {}
    for facts, *_ in SEEN.values():
        everything |= facts
    assert len(next_steps(Seen(**everything), AT_TERMINAL)) == MOST == 3
    steps = next_steps(Seen(missed=40.0, one_step=30.0, chains_differ=True), AT_TERMINAL)
    assert len(steps) == 1  # both would compare


def test_a_run_knows_how_it_was_called() -> None:
    posterior = quick(functions="abs", center=False).fit(*simulated()).posterior_
    origin = origin_of(posterior)
    assert (origin.command, origin.files, origin.is_split) == (FIT, (), False)
    assert origin.options == {
        "max_lag": "2",
        "max_degree": "2",
        "samples": "2000",
        "chains": "2",
        "seed": "0",
        "center": "False",
        "functions": "'abs'",
    }
    typed = posterior.with_source(["rig.csv"], None, {"max_lag": 2})
    assert origin_of(typed) == Origin(FIT, ("rig.csv",), {"max_lag": 2})
    unknown = posterior.with_source(["rig.csv"])  # as of a run of an earlier version
    assert origin_of(unknown) == origin
    assert "seed" not in origin_of(quick(seed=None).fit(*simulated()).posterior_).options


def test_what_was_seen_of_a_run_is_what_is_there() -> None:
    def seen_of(posterior: Any, test: Dataset | None = None) -> Seen:
        found = assess(posterior, test, draws=20)
        return look(
            found.parts,
            found.posterior,
            found.all_chains,
            found.residual_tests,
            found.diagnostics["verdict"],
        )

    found = seen_of(made([[TRUE] * 4], held_out=HELD_OUT))
    assert found.missed is not None
    assert found.missed < 10.0
    assert (found.is_tried, found.is_one_step, found.has_constant) == (True, True, True)
    assert (found.max_lag, found.copies, found.left, found.is_noise) == (2, (), None, False)
    far = Dataset.from_arrays(3.0 * TEST.u, 3.0 * TEST.y)
    assert seen_of(made([[TRUE] * 4]), far).beyond[0].startswith("u goes")
    assert not seen_of(made([[TRUE] * 4])).is_tried
    assert seen_of(made([[TRUE] * 4], TRAIN[:21])).is_short
    assert seen_of(made([[TRUE] * 4, [POOR] * 4])).chains_differ
    shifted = Dataset.from_arrays(TRAIN.u, TRAIN.y + 5.0)
    assert seen_of(made([[TRUE] * 4], shifted)).offset == "y"


def test_a_dead_time_beyond_the_window_asks_for_its_lag() -> None:
    rng = np.random.default_rng(0)
    u = rng.standard_normal(600)
    y = 0.8 * np.append(np.zeros(20), u[:-20]) + 0.08 * rng.standard_normal(600)
    chains = [[("y(k-1)", [0.1], 1.0 + 0.1 * rng.random()) for _ in range(100)]] * 2
    posterior = by_hand(Dataset.from_arrays(u, y), chains, Grammar.narx(max_lag=2, max_degree=1))
    steps = assess(posterior, draws=20).verdict.next
    assert "look further back: y begins to follow an input later than 2 samples" in steps[0]
    assert "max_lag=25" in steps[0]


def test_a_dead_zone_asks_for_shapes_that_bend_and_a_square_for_products() -> None:
    rng = np.random.default_rng(0)
    u = rng.standard_normal(1500)
    for shape, is_bent in ((np.maximum(u - 0.8, 0.0), True), (u**2, False), (u, False)):
        y = np.append(0.0, shape[:-1]) + 0.02 * rng.standard_normal(1500)
        posterior = quick(max_degree=1).fit(u, y).posterior_
        found = assess(posterior, draws=20)
        tests, chains = found.residual_tests, found.diagnostics["verdict"]
        seen = look(found.parts, posterior, posterior, tests, chains)
        assert seen.bent == ("u" if is_bent else "")
        if is_bent:
            assert "functions='hinge'" in found.verdict.next[0]
