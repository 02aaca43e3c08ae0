"""Structure → derivation → derived tree, and back.

Receives a compiled grammar (`Alphabet`) and structures; gives canonical derivations. The way back
needs no search: a structure is what the derived tree yields (``yields.read_structure``).
"""

from __future__ import annotations

from adjoin.errors import AdjoinError
from adjoin.grammar.alphabet import Alphabet, Use
from adjoin.grammar.derivation import Derivation, Step
from adjoin.grammar.equation import term_text
from adjoin.grammar.tag import Address
from adjoin.grammar.terms import Atom, Structure, Term


def derivation_of(structure: Structure, alphabet: Alphabet) -> Derivation:
    """The canonical derivation of a structure.

    Terms are adjoined last to first, and so are the factors of a term; with the foot rightmost, as
    in the paper's grammar, the yield then reads in canonical order.

    Raises
    ------
    AdjoinError
        If the grammar does not derive the structure, naming the term and the reason.
    """
    if structure.names != alphabet.names:
        structure = Structure(structure.terms, alphabet.names)
    missing = [term for term in alphabet.fixed if term not in structure.terms]
    if missing:
        raise AdjoinError(
            f"the initial tree fixes the term {term_text(missing[0])}, which the structure lacks"
        )
    steps = [Step(alphabet.initial, -1, ())]
    last = 0
    for term in reversed([term for term in structure if term not in alphabet.fixed.terms]):
        try:
            last = _adjoin_term(steps, last, term, alphabet)
        except AdjoinError as error:
            which = f"the term {term_text(term)}" if term else "a constant"
            raise AdjoinError(f"the grammar does not derive {which}: {error}") from None
    return Derivation(tuple(steps))


def _adjoin_term(steps: list[Step], parent: int, term: Term, alphabet: Alphabet) -> int:
    """Append the steps of one term below step `parent`; return the number of its first step."""
    if not term:
        if alphabet.constant is None:
            raise AdjoinError("it has no tree for one; use constant=True")
        steps.append(Step(alphabet.constant, parent, ()))
        return len(steps) - 1
    if len(term) > alphabet.max_degree:
        raise AdjoinError(f"its degree {len(term)} exceeds max_degree {alphabet.max_degree}")
    *others, innermost = term
    first = len(steps)
    use = alphabet.choice(innermost).term
    _append(steps, Step(use.tree, parent, ()), use, innermost, alphabet)
    host, site = first, use.product_site
    for atom in reversed(others):
        factor = alphabet.choice(atom).factor
        assert factor is not None
        assert site is not None
        step = len(steps)
        _append(steps, Step(factor.tree, host, site), factor, atom, alphabet)
        host, site = step, factor.product_site
    return first


def _append(steps: list[Step], step: Step, use: Use, atom: Atom, alphabet: Alphabet) -> None:
    """Append one elementary tree and the chain of delays on its atom."""
    host = len(steps)
    steps.append(step)
    site: Address | None = use.delay_site
    for _ in range(atom.lag - alphabet.choice(atom).min_lag):
        assert use.delay_tree is not None
        assert site is not None
        steps.append(Step(use.delay_tree, host, site))
        host, site = len(steps) - 1, ()
