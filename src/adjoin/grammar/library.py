"""Ready grammars: the trees of polynomial models of dynamical systems, and the linguistic example.

Receives signal names and what may occur; gives a `TAG`. All of them are one construction with
different elementary trees: the grammar G_N of the paper is the case of one input, products and no
functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adjoin.data.names import SignalNames, split_names
from adjoin.errors import AdjoinError
from adjoin.grammar.functions import function_name
from adjoin.grammar.tag import SEALED, TAG, Node, Tree
from adjoin.grammar.yields import DELAY, NOISE, PARAMETER, PLUS, TIMES

Functions = str | Iterable[str] | Mapping[str, str | Iterable[str]]
"""Functions of all signals, or of each by its name."""

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
    functions: Functions = (),
    products: bool = True,
    constant: bool = True,
) -> TAG:
    """The grammar of polynomials in lagged signals.

    ``η1`` yields the bare noise. For every atom choice there is a tree that adds a term starting
    with it and, if `products`, one that multiplies a term by it; then one adds a delay, and the
    last one, if `constant`, adds a parameter alone. The first delay of the output and of the noise
    is inside their trees, so no derivable tree has ``y(k)`` on the right.

    Parameters
    ----------
    names : SignalNames
        The declared signals.
    signals : iterable of str
        Those that may occur on the right-hand side.
    functions : str, iterable of str, or mapping of signal to those
        Functions that an input or output may stand in; in a mapping, each its own. With products,
        ``sign`` and ``sqrtabs`` bring ``abs`` along, which they make: x·sign(x) is abs(x).
    products : bool
        Whether terms may have more than one factor.
    constant : bool
        Whether there may be a constant.
    """
    signals = list(signals)
    if not signals:
        raise AdjoinError("a grammar needs at least one signal on the right-hand side")
    heard = [signal for signal in signals if signal != names.noise]
    words_of = {
        signal: list(dict.fromkeys(map(function_name, words)))
        for signal, words in functions_by_signal(functions, heard).items()
    }
    for words in words_of.values():
        if products and {"sign", "sqrtabs"}.intersection(words) and "abs" not in words:
            words.append("abs")
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
            atoms.extend(f"{operator}({function}) {plain}" for function in words_of[signal])
    trees = [
        f"{sum_}({parameter}({PARAMETER}) {operator}({TIMES}) {product}({atom})"
        f" {operator}({PLUS}) {sum_}*)"
        for atom in atoms
    ]
    if products:
        trees += [f"{product}({atom} {operator}({TIMES}) {product}*)" for atom in atoms]
    trees.append(f"{lagged}({operator}({DELAY}) {lagged}*)")
    if constant:
        trees.append(f"{sum_}({parameter}({PARAMETER}) {operator}({PLUS}) {sum_}*)")
    named = {"η1": Tree.parse(f"{sum_}({NOISE})")}
    named.update({f"α{i}": Tree.parse(tree) for i, tree in enumerate(trees, start=1)})
    used = dict.fromkeys(word for words in words_of.values() for word in words)
    return TAG(
        (sum_, product, lagged, operator, parameter),
        (*heard, NOISE, PLUS, PARAMETER, TIMES, DELAY, *used),
        sum_,
        named,
    )


def functions_by_signal(functions: Functions, signals: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The functions of each signal as they are named, given for all of them or for each."""
    if not isinstance(functions, Mapping):
        return dict.fromkeys(signals, split_names(functions))
    for name in functions:
        if name not in signals:
            raise AdjoinError(
                f"there are functions for '{name}', but the signals are {', '.join(signals)}"
            )
    return {signal: split_names(functions.get(signal, ())) for signal in signals}


def with_initial_tree(tag: TAG, tree: Tree, source: TAG) -> TAG:
    """The grammar `tag` with its one initial tree replaced by a complete `tree` of `source`.

    The tree's sums take the label of `tag`'s start symbol, and labels that are words in `tag` give
    way. Every inner node but the root is closed to adjunction, so models only grow around it.
    """
    words = {*tag.terminals, *source.terminals}
    label = {name: name + "'" * (name in words) for name in source.nonterminals}
    label[source.start] = tag.start
    sealed = Tree(
        tuple(
            Node(label.get(n.label, n.label), n.depth, SEALED if i and not tree.is_leaf(i) else "")
            for i, n in enumerate(tree.nodes)
        )
    )
    (name,) = tag.initial
    return TAG(
        tuple(dict.fromkeys((*tag.nonterminals, *label.values()))),
        tuple(dict.fromkeys((*tag.terminals, *source.terminals))),
        tag.start,
        {name: sealed, **tag.auxiliary},
    )
