"""Compilation: a grammar's elementary trees, read as the alphabet the samplers work on.

Receives a `TAG` with signal names and bounds; gives an `Alphabet`: every atom that can start or
extend a term, with its lags and its weight, and which elementary tree at which node brings it in.
Nothing is assumed about the names of trees or nonterminals; a grammar of another shape is refused
with the reason.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb

from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.grammar.functions import is_function
from adjoin.grammar.spelling import Clashes, find_clashes, reduced_products
from adjoin.grammar.tag import FOOT, SITE, TAG, Address, Tree, node_text
from adjoin.grammar.terms import Atom, Structure, atom_key, make_term
from adjoin.grammar.yields import DELAY, PARAMETER, PLUS, TIMES, read_atom, read_structure
from adjoin.text import brief


@dataclass(frozen=True)
class Use:
    """How one elementary tree brings an atom in.

    Parameters
    ----------
    tree : str
        Name of the elementary tree.
    product_site : Address or None
        Its node where the next factor adjoins (the root, for a factor tree).
    delay_site : Address or None
        Its node where a delay adjoins.
    delay_tree : str or None
        The auxiliary tree that adjoins there.
    """

    tree: str
    product_site: Address | None
    delay_site: Address | None
    delay_tree: str | None


@dataclass(frozen=True)
class Choice:
    """A signal, plain or in a function, that the grammar lets one choose as an atom.

    The atom's lag runs from `min_lag` (the delays inside its elementary tree) to `max_lag`;
    `weight` is the probability 1/V of this choice among the grammar's V choices.
    """

    signal: str
    function: str
    min_lag: int
    max_lag: int
    weight: float
    term: Use
    factor: Use | None

    @property
    def n_lags(self) -> int:
        """How many lags the atom may have."""
        return self.max_lag - self.min_lag + 1


@dataclass(frozen=True)
class Alphabet:
    """What a dynamical grammar can say, in the form the samplers use.

    Parameters
    ----------
    names : SignalNames
        The declared signals.
    choices : tuple of Choice
        In canonical order of their atoms.
    max_degree : int
        Largest number of factors in a term; 1 for a grammar without factor trees.
    initial : str
        Name of the initial tree.
    fixed : Structure
        The terms of the initial tree, which every structure contains (empty for ``y(k) = e(k)``).
    constant : str or None
        The tree that adds a parameter alone, where there is one.
    """

    names: SignalNames
    choices: tuple[Choice, ...]
    max_degree: int
    initial: str
    fixed: Structure
    constant: str | None = None

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Every atom, in canonical order."""
        every = (
            Atom(c.signal, lag, c.function)
            for c in self.choices
            for lag in range(c.min_lag, c.max_lag + 1)
        )
        return tuple(sorted(every, key=lambda atom: atom_key(atom, self.names)))

    @property
    def max_lag(self) -> int:
        """The largest lag any structure of the grammar can have."""
        return max([self.fixed.max_lag, *(choice.max_lag for choice in self.choices)])

    @property
    def has_noise(self) -> bool:
        """Whether structures may have past noise."""
        return self.fixed.has_noise or any(c.signal == self.names.noise for c in self.choices)

    @property
    def without_noise(self) -> Alphabet:
        """The same without past noise, but for what is fixed."""
        kept = tuple(c for c in self.choices if c.signal != self.names.noise)
        return replace(self, choices=kept)

    @property
    def n_terms(self) -> int:
        r"""Number of distinct terms, products in their one spelling only.

        :math:`\binom{M+d}{d} - 1` for M atoms that all go together and degree up to d; and the
        constant, where there is one.
        """
        n_free = len(self.atoms) - sum(map(len, self.moments))
        count = [comb(n_free + d - 1, d) if d else 1 for d in range(self.max_degree + 1)]
        for together in self.moments:
            sizes = [0] * len(count)
            for product in reduced_products(together, self.clashes, self.max_degree):
                sizes[len(product)] += 1
            count = [sum(sizes[i] * count[d - i] for i in range(d + 1)) for d in range(len(count))]
        return sum(count[1:]) + (self.constant is not None)

    @cached_property
    def clashes(self) -> Clashes:
        """Which atoms never stand together; see `spelling`."""
        return find_clashes(self.atoms)

    @cached_property
    def moments(self) -> tuple[tuple[Atom, ...], ...]:
        """The atoms that clash with some, those of one lagged signal together."""
        found: dict[tuple[str, int], list[Atom]] = {}
        for atom in self.clashes:
            found.setdefault((atom.signal, atom.lag), []).append(atom)
        return tuple(map(tuple, found.values()))

    def choice(self, atom: Atom) -> Choice:
        """The choice an atom belongs to; `AdjoinError` if the grammar does not derive the atom."""
        for choice in self.choices:
            if (choice.signal, choice.function) == (atom.signal, atom.function):
                if choice.min_lag <= atom.lag <= choice.max_lag:
                    return choice
                raise AdjoinError(
                    f"'{atom.signal}' has lags from {choice.min_lag} to {choice.max_lag}, not"
                    f" {atom.lag}; the largest is set by max_lag"
                )
        inside = f" inside {atom.function}(...)" if atom.function else ""
        remedy = f"; add the function {atom.function}" if atom.function else ""
        if atom.signal == self.names.noise:
            remedy = "; use a NARMAX grammar"
        raise AdjoinError(f"there is no tree for '{atom.signal}'{inside}{remedy}")


def compile_alphabet(tag: TAG, names: SignalNames, max_lag: int, max_degree: int) -> Alphabet:
    """Read the alphabet off the elementary trees of a grammar.

    The samplers work on sums of terms, each a parameter times a free product of atoms. So the trees
    must be: one initial tree that yields ``ε`` (or fixed terms plus ``ε``); term trees
    ``θ × atom + foot`` at the start symbol; factor trees ``atom × foot`` for the same atoms, or
    none; delay trees ``q⁻¹ foot``; and at most one constant tree ``θ + foot``.

    Raises
    ------
    AdjoinError
        With the tree, the node and the reason, if the grammar has another shape.
    """
    return _Compiler(tag, names, max_lag, max_degree).compile()


class _Compiler:
    """Sorts the elementary trees by what they yield, then checks where each may adjoin."""

    def __init__(self, tag: TAG, names: SignalNames, max_lag: int, max_degree: int) -> None:
        self.tag, self.names = tag, names
        self.max_lag, self.max_degree = max_lag, max_degree
        self.term_atom: dict[str, list[str]] = {}
        self.factor_atom: dict[str, list[str]] = {}
        self.delay_tree: dict[str, str] = {}
        self.constant: str | None = None
        self.product_label: str | None = None

    def compile(self) -> Alphabet:
        for label in self.tag.nonterminals:
            if is_function(label):
                raise AdjoinError(
                    f"the samplers cannot use this grammar: '{label}' is a nonterminal, so no yield"
                    f" contains it; write the function as a word, as in op({label}) expr2(u)"
                )
        for name, tree in self.tag.trees.items():
            if any(node.mark == SITE for node in tree.nodes):
                raise self._refusal(name, "it has a substitution site; write each atom out in full")
        for name, tree in self.tag.auxiliary.items():
            self._sort(name, tree)
        if not self.term_atom:
            raise AdjoinError(
                "the samplers cannot use this grammar: no tree adds a term"
                f" '{PARAMETER} {TIMES} atom {PLUS} {self.tag.start}*' at '{self.tag.start}'"
            )
        self._check_labels()
        initial, fixed = self._initial()
        for name in (*self.delay_tree.values(), *([self.constant] if self.constant else [])):
            self._check_sites(name, allowed={0})
        terms = self._uses(self.term_atom, is_factor=False)
        factors = self._uses(self.factor_atom, is_factor=True)
        if factors:
            self._check_same(terms, factors)
        choices = [
            Choice(atom.signal, atom.function, atom.lag, last, 1.0 / len(terms), use, factor)
            for atom, use in terms.items()
            for last in [self.max_lag if use.delay_tree else atom.lag]
            for factor in [factors.get(atom)]
        ]
        for choice in choices:
            if choice.min_lag > self.max_lag:
                raise self._refusal(
                    choice.term.tree, f"its {choice.min_lag} delays exceed max_lag {self.max_lag}"
                )
        ordered = sorted(choices, key=lambda c: atom_key(Atom(c.signal, 0, c.function), self.names))
        degree = self.max_degree if factors else 1
        return Alphabet(self.names, tuple(ordered), degree, initial, fixed, self.constant)

    def _refusal(self, name: str, reason: str, index: int | None = None) -> AdjoinError:
        tree = self.tag.trees[name]
        node = ""
        if index is not None:
            node = f", {node_text(tree, index)}"
        return AdjoinError(f"the samplers cannot use tree '{name}'{node}: {reason}")

    def _sort(self, name: str, tree: Tree) -> None:
        """Recognise a term, factor or delay tree by its yield, with the foot as a word."""
        words = [FOOT if node.mark == FOOT else node.label for node in tree.frontier]
        label = tree.root.label
        if not tree.admits_adjunction(0):
            raise self._refusal(name, "its root is closed, so no second one can join it", 0)
        if words == [DELAY, FOOT]:
            if label in self.delay_tree:
                raise self._refusal(name, f"'{self.delay_tree[label]}' adds the same delay already")
            self.delay_tree[label] = name
        elif (atom := _other_part(words, PLUS, [FOOT])) is not None:
            if label != self.tag.start:
                raise self._refusal(name, f"it adds a term, but not at '{self.tag.start}'")
            if atom == [PARAMETER]:
                if self.constant is not None:
                    raise self._refusal(name, f"'{self.constant}' adds a constant already")
                self.constant = name
                return
            bare = _other_part(atom, TIMES, [PARAMETER])
            if bare is None or TIMES in bare:
                raise self._refusal(
                    name,
                    f"a term tree yields one {PARAMETER} times one atom, not '{_say(atom)}'",
                )
            self.term_atom[name] = bare
        elif (atom := _other_part(words, TIMES, [FOOT])) is not None:
            if PARAMETER in atom or TIMES in atom:
                raise self._refusal(name, f"a factor tree yields one atom, not '{_say(atom)}'")
            if self.product_label not in (None, label):
                raise self._refusal(
                    name, f"factors adjoin at '{self.product_label}', not also at '{label}'"
                )
            self.product_label = label
            self.factor_atom[name] = atom
        else:
            raise self._refusal(
                name, f"its yield '{_say(words)}' is no term, no factor and no delay"
            )

    def _check_labels(self) -> None:
        labels = [self.tag.start, *self.delay_tree]
        if self.product_label is not None:
            labels.append(self.product_label)
        for label in labels:
            if labels.count(label) > 1:
                raise AdjoinError(
                    f"the samplers cannot use this grammar: '{label}' takes trees of two kinds"
                    " (terms, factors, delays); give each kind a nonterminal of its own"
                )

    def _initial(self) -> tuple[str, Structure]:
        if len(self.tag.initial) != 1:
            raise AdjoinError(
                "the samplers cannot use this grammar: it has"
                f" {len(self.tag.initial)} initial trees ({', '.join(self.tag.initial)}), not one"
            )
        ((name, tree),) = self.tag.initial.items()
        self._check_sites(name, allowed={0})
        try:
            return name, read_structure(tree.words, self.names)
        except AdjoinError as error:
            raise self._refusal(name, str(error)) from None

    def _check_sites(self, name: str, allowed: set[int]) -> None:
        """Refuse a tree in which something could adjoin at a node not `allowed`."""
        tree = self.tag.trees[name]
        live = {self.tag.start, self.product_label, *self.delay_tree}
        for index, node in enumerate(tree.nodes):
            if node.label in live and tree.admits_adjunction(index) and index not in allowed:
                raise self._refusal(
                    name, "a tree could adjoin here that changes more than one atom or term", index
                )

    def _uses(self, atoms: dict[str, list[str]], is_factor: bool) -> dict[Atom, Use]:
        found: dict[Atom, Use] = {}
        for name, words in atoms.items():
            try:
                atom = read_atom(words, self.names)
                if atom.signal == self.names.noise:
                    make_term([atom], self.names)
            except AdjoinError as error:
                raise self._refusal(name, str(error)) from None
            if atom.lag == 0 and atom.signal not in self.names.inputs:
                raise self._refusal(
                    name, f"'{atom.signal}' would stand undelayed on the right; add {DELAY}"
                )
            for other, use in found.items():
                if (other.signal, other.function) == (atom.signal, atom.function):
                    raise self._refusal(name, f"it brings in the same atom as '{use.tree}'")
            found[atom] = self._use(name, words, is_factor)
        return found

    def _use(self, name: str, words: Sequence[str], is_factor: bool) -> Use:
        """Find the nodes of a tree where the next factor and a delay adjoin."""
        tree = self.tag.trees[name]
        lagged = [word for word in words if word == DELAY] + [words[-1]]
        product = () if is_factor else self._site(tree, {self.product_label}, list(words))
        delay = self._site(tree, set(self.delay_tree), lagged)
        if self.product_label is not None and product is None:
            raise self._refusal(
                name, f"no node '{self.product_label}' spans its atom, so no factor can join it"
            )
        sites = [site for site in ((), product, delay) if site is not None]
        self._check_sites(name, allowed=set(map(tree.index, sites)))
        if delay is None:
            return Use(name, product, None, None)
        if product is not None and delay[: len(product)] != product:
            raise self._refusal(
                name, "a delay here would fall on another factor too", tree.index(delay)
            )
        return Use(name, product, delay, self.delay_tree[tree.label_at(delay)])

    def _site(self, tree: Tree, labels: Set[str | None], words: list[str]) -> Address | None:
        """The first node with one of the labels that may be adjoined at and spans the words."""
        leaves = [i for i in range(len(tree)) if tree.is_leaf(i)]
        for index, node in enumerate(tree.nodes):
            if node.label in labels and tree.admits_adjunction(index):
                first, stop = bisect_left(leaves, index), bisect_left(leaves, tree.end(index))
                spanned = leaves[first : min(stop, first + len(words) + 1)]
                if [tree.nodes[i].label for i in spanned] == words:
                    return tree.address(index)
        return None

    def _check_same(self, terms: dict[Atom, Use], factors: dict[Atom, Use]) -> None:
        """Terms are free products only if whatever starts a term may also extend one."""
        for here, there, reason in (
            (terms, factors, "can start a term but not extend one"),
            (factors, terms, "can extend a term but not start one"),
        ):
            for atom, use in here.items():
                if atom not in there:
                    raise self._refusal(use.tree, f"its atom {reason} (with the same delay)")
                if (use.delay_tree is None) != (there[atom].delay_tree is None):
                    raise self._refusal(use.tree, "its atom can be delayed in one place only")


def _other_part(words: Sequence[str], separator: str, part: list[str]) -> list[str] | None:
    """Strip ``part separator`` or ``separator part`` off the ends of `words`; None if not there."""
    for stripped, border in ((words[2:], list(words[:2])), (words[:-2], list(words[:-3:-1]))):
        if border == [*part, separator] and stripped:
            return list(stripped)
    return None


def _say(words: Sequence[str]) -> str:
    return brief(" ".join(words))
