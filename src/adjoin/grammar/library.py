"""Ready grammars: the trees of polynomial models of dynamical systems, and the linguistic example.

Receives signal names and what may occur; gives a `TAG`. All of them are one construction with
different elementary trees: the grammar G_N of the paper is the case of one input, products and no
functions.
"""

from __future__ import annotations

from collections.abc import Iterable

from adjoin.errors import AdjoinError
from adjoin.grammar.tag import SEALED, TAG, Node, Tree
from adjoin.grammar.terms import function_name
from adjoin.grammar.yields import DELAY, NOISE, PARAMETER, PLUS, TIMES
from adjoin.signals import SignalNames

KEITH = """\
name         keith
start        S
nonterminals S VP V sub adv
terminals    Naturally, Keith likes cats

tree η1 = S(sub↓ VP(V↓ sub↓))
tree η2 = sub(Keith)
tree η3 = sub(cats)
tree η4 = V(likes)
tree α1 = S(adv(Naturally,) S*)
"""


def polynomial_tag(
    names: SignalNames,
    *,
    signals: Iterable[str],
    functions: Iterable[str] = (),
    products: bool = True,
) -> TAG:
    """The grammar of polynomials in lagged signals.

    ``η1`` yields the bare noise. For every atom choice there is a tree that adds a term starting
    with it and, if `products`, one that multiplies a term by it; the last tree adds a delay. The
    first delay of the output and of the noise is inside their trees, so no derivable tree has
    ``y(k)`` on the right.

    Parameters
    ----------
    names : SignalNames
        The declared signals.
    signals : iterable of str
        Those that may occur on the right-hand side.
    functions : iterable of str
        Functions that an input or output may stand in.
    products : bool
        Whether terms may have more than one factor.
    """
    signals = list(signals)
    if not signals:
        raise AdjoinError("a grammar needs at least one signal on the right-hand side")
    functions = list(dict.fromkeys(function_name(name) for name in functions))
    # A user's column may be called "op" or "par": nonterminals give way to signal names.
    taken = set(names.ordered)
    sum_, product, lagged, operator, parameter = (
        label + "'" * (label in taken) for label in ("expr0", "expr1", "expr2", "op", "par")
    )
    atoms = []
    for signal in signals:
        word = NOISE if signal == names.noise else signal
        delay = "" if signal in names.inputs else f"{operator}({DELAY}) "
        plain = f"{lagged}({delay}{word})"
        atoms.append(plain)
        if signal != names.noise:
            atoms.extend(f"{operator}({function}) {plain}" for function in functions)
    trees = [
        f"{sum_}({parameter}({PARAMETER}) {operator}({TIMES}) {product}({atom})"
        f" {operator}({PLUS}) {sum_}*)"
        for atom in atoms
    ]
    if products:
        trees += [f"{product}({atom} {operator}({TIMES}) {product}*)" for atom in atoms]
    trees.append(f"{lagged}({operator}({DELAY}) {lagged}*)")
    named = {"η1": Tree.parse(f"{sum_}({NOISE})")}
    named.update({f"α{i}": Tree.parse(tree) for i, tree in enumerate(trees, start=1)})
    words = [s for s in names.ordered if s in signals and s != names.noise]
    return TAG(
        (sum_, product, lagged, operator, parameter),
        (*words, NOISE, PLUS, PARAMETER, TIMES, DELAY, *functions),
        sum_,
        named,
    )


def seal(tree: Tree) -> Tree:
    """Close every inner node but the root to adjunction, so that a tree can only grow around it."""
    return Tree(
        tuple(
            Node(n.label, n.depth, SEALED if i and not tree.is_leaf(i) else n.mark)
            for i, n in enumerate(tree.nodes)
        )
    )


def with_initial_tree(tag: TAG, tree: Tree, terminals: Iterable[str]) -> TAG:
    """The same grammar with its one initial tree replaced by `tree`, which brings new symbols."""
    inner = dict.fromkeys(n.label for i, n in enumerate(tree.nodes) if not tree.is_leaf(i))
    (name,) = tag.initial
    return TAG(
        tuple(dict.fromkeys((*tag.nonterminals, *inner))),
        tuple(dict.fromkeys((*tag.terminals, *terminals))),
        tag.start,
        {name: tree, **tag.auxiliary},
    )
