"""Grammars and equations: which models can be written down, and how they are spelled.

``tag`` and ``derivation`` are the tree-adjoining formalism alone. ``terms`` and ``equation`` are
polynomial models as values and as text, and ``functions`` what their atoms stand in. ``yields``
reads the one as the other; ``alphabet`` compiles a grammar for the samplers, ``translate`` goes
from a structure to its trees. ``library`` and ``textformat`` make grammars, and ``render`` prints
trees. Look inside to add a kind of tree.
"""

from __future__ import annotations

from adjoin.grammar.alphabet import Alphabet as Alphabet
from adjoin.grammar.derivation import Derivation as Derivation
from adjoin.grammar.derivation import DerivedTree as DerivedTree
from adjoin.grammar.derivation import Step as Step
from adjoin.grammar.grammar import READY as READY
from adjoin.grammar.grammar import Grammar as Grammar
from adjoin.grammar.tag import TAG as TAG
from adjoin.grammar.tag import Tree as Tree
from adjoin.grammar.terms import Atom as Atom
from adjoin.grammar.terms import Structure as Structure
from adjoin.grammar.terms import Term as Term
