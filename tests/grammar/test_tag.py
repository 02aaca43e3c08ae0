"""The formalism: trees, the two operations and all their checks, whole-grammar validation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive import tag as naive
from tests.strategies import derivations, grammars

from adjoin import AdjoinError, Grammar
from adjoin.grammar import TAG, Derivation, Tree
from adjoin.grammar.derivation import derive
from adjoin.grammar.tag import Node, adjoin, substitute

HOST = Tree.parse("S(NP↓ VP(V(likes) NP↓))")
NATURALLY = Tree.parse("S(ADV(naturally) S*)")


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    labels = st.text(min_size=1, max_size=4).filter(lambda s: '"' not in s and s == s.strip())
    nodes = [Node(draw(labels), 0)]
    for _ in range(draw(st.integers(0, 12))):
        depth = draw(st.integers(1, nodes[-1].depth + 1))
        nodes.append(Node(draw(labels), depth, draw(st.sampled_from(["", "*", "↓", "!"]))))
    return Tree(tuple(nodes))


@given(trees())
def test_bracket_notation_reads_back(tree: Tree) -> None:
    assert Tree.parse(str(tree)) == tree


@given(trees())
def test_addresses_lead_to_their_nodes(tree: Tree) -> None:
    assert [tree.index(address) for address in tree.addresses] == list(range(len(tree)))
    assert tuple(tree.address(index) for index in range(len(tree))) == tree.addresses
    for index in range(len(tree)):
        for number, child in enumerate(tree.children(index), start=1):
            assert tree.addresses[child] == (*tree.addresses[index], number)


@pytest.mark.parametrize(
    "text", ["", "S(", "S)", "S()", "S(a))", "(a)", "S(a) T(b)", 'S("a)', "S=a"]
)
def test_malformed_brackets_are_refused(text: str) -> None:
    with pytest.raises(AdjoinError):
        Tree.parse(text)


def test_a_lone_star_is_a_label_and_quotes_protect_marks() -> None:
    assert Tree.parse("op(*)").words == ("*",)
    assert Tree.parse('S("a b*" c)').words == ("a b*", "c")
    assert Tree.parse("NP@") == Tree.parse("NP↓")
    for label in ("a@", "a*", "a!", "a↓"):
        assert str(Tree((Node(label, 0),))) == f'"{label}"'


def test_substitution_fills_a_site() -> None:
    filled = substitute(HOST, (1,), Tree.parse("NP(Keith)"))
    assert str(filled) == "S(NP(Keith) VP(V(likes) NP↓))"


def test_adjunction_hangs_the_subtree_at_the_foot() -> None:
    assert str(adjoin(HOST, (), NATURALLY)) == "S(ADV(naturally) S(NP↓ VP(V(likes) NP↓)))"
    inner = Tree.parse("VP(VP* AGAIN(again))")
    assert str(adjoin(HOST, (2,), inner)) == "S(NP↓ VP(VP(V(likes) NP↓) AGAIN(again)))"


@pytest.mark.parametrize(
    ("operation", "address", "guest", "reason"),
    [
        (substitute, (2,), "VP(runs)", "not a substitution site"),
        (substitute, (1,), "VP(runs)", "does not match"),
        (substitute, (1,), "NP(D(the) NP*)", "has a foot"),
        (substitute, (9,), "NP(Keith)", "no node 9"),
        (adjoin, (), "S(Keith)", "no foot"),
        (adjoin, (2,), "S(ADV(naturally) S*)", "does not match"),
        (adjoin, (1,), "NP(D(the) NP*)", "substitution site"),
        (adjoin, (2, 1, 1), "likes(x likes*)", "a leaf"),
    ],
)
def test_operations_check_label_foot_and_place(operation, address, guest, reason) -> None:
    with pytest.raises(AdjoinError, match=reason):
        operation(HOST, address, Tree.parse(guest))


def test_nothing_adjoins_at_feet_and_sealed_nodes() -> None:
    with pytest.raises(AdjoinError, match="foot node"):
        adjoin(NATURALLY, (2,), NATURALLY)
    with pytest.raises(AdjoinError, match="closed to adjunction"):
        adjoin(Tree.parse("S!(x)"), (), NATURALLY)


def _tag(nonterminals: str, terminals: str, start: str, **trees: str) -> TAG:
    parsed = {name: Tree.parse(tree) for name, tree in trees.items()}
    return TAG(tuple(nonterminals.split()), tuple(terminals.split()), start, parsed)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("S a", "a", "S", "S(a)"), "'a' cannot be both"),
        (("S", "a", "T", "S(a)"), "start symbol 'T'"),
        (("S", "a a", "S", "S(a)"), "more than once"),
        (("S", "a", "S", "S(b)"), "tree 'one', node 1 'b': the label is neither"),
        (("S X", "a", "S", "S(X)"), "node 1 'X': a nonterminal leaf"),
        (("S", "a b", "S", "S(a(b))"), "node 1 'a': a terminal cannot have children"),
        (("S", "a", "S", "S(a*)"), "a terminal cannot be marked"),
        (("S X", "a", "S", "S(X*(a))"), "cannot have children"),
        (("S X", "a", "S", "S(X↓(a))"), "cannot have children"),
        (("S X", "a", "S", "S(a X*)"), "the foot must carry the root's label"),
        (("S", "a", "S", "S(a S* S*)"), "node 3 'S': a second foot"),
        (("S X", "a", "S", "X(a)"), "no initial tree has the start symbol"),
        (("S X", "a", "S", "S(a X↓)"), "node 2 'X': no initial tree with this root"),
        (("S", "a", "S", "S(a S*)"), "no initial tree has the start symbol"),
        (("S", "a", "S", "S"), "at least one child"),
    ],
)
def test_validation_names_tree_and_node(arguments, problem: str) -> None:
    nonterminals, terminals, start, tree = arguments
    with pytest.raises(AdjoinError, match="(?s)not a tree-adjoining grammar.*" + problem):
        _tag(nonterminals, terminals, start, one=tree)


def test_validation_finds_trees_that_no_derivation_uses() -> None:
    with pytest.raises(AdjoinError, match="tree 'lost' is never used: it can adjoin at"):
        _tag("S X", "a b", "S", one="S(a)", lost="X(b X*)")
    with pytest.raises(AdjoinError, match="tree 'lost' is never used: it can be substituted"):
        _tag("S X", "a b", "S", one="S(a)", lost="X(b)")
    with pytest.raises(AdjoinError, match="'lost' is never used"):
        _tag("S X", "a b", "S", one="S(X!(a))", lost="X(b X*)")


def test_validation_finds_sites_that_only_lead_in_circles() -> None:
    with pytest.raises(AdjoinError, match="site stays open"):
        _tag("S X", "a", "S", one="S(X↓)", loop="X(a X↓)")


def test_all_problems_are_listed_at_once() -> None:
    with pytest.raises(AdjoinError) as caught:
        _tag("S", "a", "S", one="S(b)", two="S(c)")
    assert "tree 'one'" in str(caught.value)
    assert "tree 'two'" in str(caught.value)


def test_naturally_keith_likes_cats() -> None:
    grammar = Grammar.keith()
    steps = (("η1", -1, ()), ("α1", 0, ()), ("η2", 0, (1,)), ("η4", 0, (2, 1)), ("η3", 0, (2, 2)))
    derived = grammar.derive(Derivation(steps))
    assert derived.sentence == "Naturally, Keith likes cats"
    assert str(derived.tree) == ("S(adv(Naturally,) S(sub(Keith) VP(V(likes) sub(cats))))")


def test_every_node_knows_the_step_it_came_from() -> None:
    grammar = Grammar.keith()
    derivation = Derivation(
        (("η1", -1, ()), ("η2", 0, (1,)), ("η4", 0, (2, 1)), ("η3", 0, (2, 2)), ("α1", 0, ()))
    )
    derived = grammar.derive(derivation)
    came_from = {
        node.label: derivation.steps[step].tree
        for node, step in zip(derived.tree.nodes, derived.origin, strict=True)
        if node.label in derived.words
    }
    assert came_from == {"Naturally,": "α1", "Keith": "η2", "likes": "η4", "cats": "η3"}


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((), "empty derivation"),
        ((("α1", -1, ()),), "begins with an initial tree"),
        ((("η2", -1, ()),), "begins with an initial tree"),
        ((("η9", -1, ()),), "no tree 'η9'"),
        ((("η1", -1, ()), ("η2", 0, (1,))), "open substitution site"),
        ((("η1", -1, ()), ("η2", 0, (2,))), r"step 1 \('η2'\) does not fit: only auxiliary"),
        ((("η1", -1, ()), ("η2", 0, (5,))), "no node 5"),
        ((("η1", -1, ()), ("α1", 0, ()), ("α1", 0, ())), "already hosts a tree"),
        ((("η1", -1, ()), ("α1", 0, ()), ("α1", 1, (2,))), "foot node"),
    ],
)
def test_derivations_are_checked_step_by_step(steps, reason: str) -> None:
    with pytest.raises(AdjoinError, match=reason):
        derive(Grammar.keith().tag, Derivation(steps))


@pytest.mark.parametrize(
    "steps",
    [
        (("a", 0, ()),),
        (("a", -1, ()), ("b", -2, ())),
        (("a", -1, ()), ("b", -7, ())),
        (("a", -1, ()), ("b", 1, ())),
        (("a", -1, ()), ("b", -1, ())),
    ],
)
def test_a_derivation_needs_parents_before_children(steps) -> None:
    with pytest.raises(AdjoinError, match="parent"):
        Derivation(steps)


def test_a_grammar_stays_what_was_checked() -> None:
    trees = {"one": Tree.parse("S(a)")}
    tag = TAG(["S"], ["a"], "S", trees)
    trees["two"] = Tree.parse("nonsense")
    assert list(tag.trees) == ["one"]
    assert hash(tag) == hash(TAG(("S",), ("a",), "S", tag.trees))


@pytest.mark.parametrize("label", ['say "a"', "two\nlines"])
def test_labels_that_no_file_can_hold_are_refused(label: str) -> None:
    tree = Tree((Node("S", 0), Node(label, 1)))
    with pytest.raises(AdjoinError, match="contains a quote or a control character"):
        TAG(("S",), (label,), "S", {"one": tree})


def test_equal_derivations_compare_equal_in_any_order() -> None:
    one = Derivation((("η1", -1, ()), ("η2", 0, (1,)), ("η3", 0, (2, 2)), ("α1", 0, ())))
    two = Derivation((("η1", -1, ()), ("α1", 0, ()), ("η3", 0, (2, 2)), ("η2", 0, (1,))))
    assert one == two
    assert hash(one) == hash(two)


@given(st.data())
def test_adjunction_never_breaks_the_grammar(data: st.DataObject) -> None:
    """Any derivation gives a complete tree over the grammar's symbols, as the definition does."""
    grammar = data.draw(st.one_of(grammars(), st.just(Grammar.keith())))
    tag = grammar.tag
    derivation = data.draw(derivations(tag))
    derived = derive(tag, derivation)
    assert derived.tree == naive.derive(tag, derivation)
    assert derived.tree.root.label == tag.start
    for index, node in enumerate(derived.tree.nodes):
        assert node.mark == ""
        assert node.label in (tag.terminals if derived.tree.is_leaf(index) else tag.nonterminals)
    # Every step brings in its own nodes but the foot (the host's node) and a filled site (the
    # guest's root); the host's node is split in two by an adjunction.
    elementary = [tag.tree(step.tree) for step in derivation.steps]
    for number, tree in enumerate(elementary):
        n_sites = sum(node.mark == "↓" for node in tree.nodes)
        assert derived.origin.count(number) == len(tree) - n_sites - tree.is_auxiliary


def test_a_very_long_derivation_is_no_problem() -> None:
    steps = [("η1", -1, ())] + [("α1", i, ()) for i in range(3000)]
    tree = derive(Grammar.narx().tag, Derivation(tuple(steps))).tree
    assert tree.words.count("u") == 3000
    assert tree == Tree(tree.nodes)
