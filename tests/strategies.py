"""Random grammars, derivations and structures for property tests."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.naive import simulate

from adjoin.data.names import SignalNames
from adjoin.grammar import Atom, Derivation, Grammar, Step, Structure
from adjoin.grammar.functions import hinge_word
from adjoin.grammar.spelling import reduce_product
from adjoin.grammar.tag import TAG

FUNCTIONS = tuple(name for name in simulate.FUNCTIONS if name != "pos")
KNOTS = st.sampled_from([0.0, 0.25, -0.25, 2.0, -1e-7, 1e16]) | st.floats(-2.0, 2.0)
WORDS = st.sampled_from(FUNCTIONS) | KNOTS.map(hinge_word)


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    """Any ready dynamical grammar, with one to three inputs and some functions."""
    inputs = draw(st.sampled_from([("u",), ("u", "udot"), ("op", "par", "v1")]))
    functions = draw(
        st.sampled_from(
            [
                (),
                ("abs",),
                ("sqrtabs", "sin"),
                ("pos[0.25]", "pos[-1e-07]", "abs"),
                {inputs[-1]: ("pos[0]", "pos[2]", "tanh")},
            ]
        )
    )
    make = draw(
        st.sampled_from([Grammar.narx, Grammar.narmax, Grammar.arx, Grammar.fir, Grammar.volterra])
    )
    options = {} if make in (Grammar.arx, Grammar.fir) else {"max_degree": 30}
    return make(inputs=inputs, functions=functions, max_lag=30, **options)


@st.composite
def derivations(draw: st.DrawFn, tag: TAG, max_steps: int = 24) -> Derivation:
    """A random derivation: sites are filled, then auxiliary trees adjoined wherever they fit."""
    initial = [name for name, tree in tag.initial.items() if tree.root.label == tag.start]
    steps = [Step(draw(st.sampled_from(initial)), -1, ())]
    hosts: list[tuple[int, tuple[int, ...], str]] = []

    def open_up(number: int) -> None:
        tree = tag.tree(steps[number].tree)
        for index, node in enumerate(tree.nodes):
            address = tree.addresses[index]
            if node.mark == "↓":
                fitting = [n for n, t in tag.initial.items() if t.root.label == node.label]
                steps.append(Step(draw(st.sampled_from(fitting)), number, address))
                open_up(len(steps) - 1)
            elif tree.admits_adjunction(index) and any(
                t.root.label == node.label for t in tag.auxiliary.values()
            ):
                hosts.append((number, address, node.label))

    open_up(0)
    for _ in range(draw(st.integers(0, max_steps))):
        if not hosts:
            break
        number, address, label = hosts.pop(draw(st.integers(0, len(hosts) - 1)))
        fitting = [n for n, t in tag.auxiliary.items() if t.root.label == label]
        steps.append(Step(draw(st.sampled_from(fitting)), number, address))
        open_up(len(steps) - 1)
    return Derivation(tuple(steps))


@st.composite
def atoms(draw: st.DrawFn, names: SignalNames, max_lag: int = 6, noise: bool = True) -> Atom:
    """A legal atom over some signals."""
    signals = names.ordered if noise else names.ordered[:-1]
    signal = draw(st.sampled_from(signals))
    smallest = 0 if signal in names.inputs else 1
    function = "" if signal == names.noise else draw(WORDS)
    return Atom(signal, draw(st.integers(smallest, max_lag)), function)


@st.composite
def structures(
    draw: st.DrawFn, names: SignalNames | None = None, noise: bool = True, max_terms: int = 8
) -> Structure:
    """A random structure, possibly empty, with terms of degree up to 5 in their one spelling."""
    names = names or draw(
        st.sampled_from([SignalNames(), SignalNames(("u", "udot"), "F"), SignalNames((), "y")])
    )
    terms = draw(
        st.lists(
            st.lists(atoms(names, noise=noise), min_size=1, max_size=5).map(reduce_product),
            max_size=max_terms,
        )
    )
    return Structure(tuple(terms), names)
