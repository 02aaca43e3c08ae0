"""`Grammar`: what a user holds, a tree-adjoining grammar with the meaning of its words.

Receives the formalism (``tag.py``), the ready trees (``library.py``) and the text format; hands the
compiled alphabet to the samplers and trees to people.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Self

from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.files import write_whole
from adjoin.grammar.alphabet import Alphabet, compile_alphabet
from adjoin.grammar.derivation import Derivation, DerivedTree, derive
from adjoin.grammar.library import KEITH, Functions, polynomial_tag, with_initial_tree
from adjoin.grammar.parser import read_equation
from adjoin.grammar.spelling import reduce_product, reduce_structure
from adjoin.grammar.tag import TAG
from adjoin.grammar.terms import Structure
from adjoin.grammar.textformat import (
    DEFAULT_MAX_DEGREE,
    DEFAULT_MAX_LAG,
    SPELLINGS,
    GrammarEntries,
    read_grammar,
    write_grammar,
)
from adjoin.grammar.translate import derivation_of
from adjoin.grammar.yields import NOISE, read_structure


@dataclass(frozen=True, repr=False)
class Grammar:
    """A tree-adjoining grammar and, for dynamics, its signals and bounds.

    Parameters
    ----------
    tag : TAG
        The formal grammar ``<N, T, S, I, A>``.
    names : SignalNames or None
        Which words are inputs, output and noise; None for a grammar that is not about dynamics.
    max_lag, max_degree : int
        Bounds on the delay of an atom and on the number of factors in a term.
    name : str
        What to call it.

    Examples
    --------
    >>> grammar = Grammar.narx(max_lag=2, max_degree=2)
    >>> grammar.derive("u(k-1)*y(k-1)").sentence
    'θ × q⁻¹ u × q⁻¹ y + ε'
    """

    tag: TAG
    names: SignalNames | None = None
    max_lag: int = DEFAULT_MAX_LAG
    max_degree: int = DEFAULT_MAX_DEGREE
    name: str = "grammar"

    def __post_init__(self) -> None:
        for bound, smallest in (("max_lag", 0), ("max_degree", 1)):
            value = getattr(self, bound)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < smallest:
                raise AdjoinError(
                    f"{bound} must be a whole number of at least {smallest}, not {value!r}"
                )
        if self.names is not None:
            self._check_words(self.names)

    def _check_words(self, names: SignalNames) -> None:
        for label in (*self.tag.nonterminals, *self.tag.terminals):
            if label in SPELLINGS and label not in names.ordered:
                raise AdjoinError(
                    f"'{label}' is how the text format spells {SPELLINGS[label]}; use the symbol"
                    " itself, or another label"
                )
        words = {word for tree in self.tag.auxiliary.values() for word in tree.words}
        if self.max_lag == 0 and words & {names.output, NOISE}:
            raise AdjoinError("past outputs or noise need a max_lag of at least 1, not 0")

    def __repr__(self) -> str:
        about = f"start {self.tag.start}"
        if self.names is not None:
            inputs = ", ".join(self.names.inputs) or "none"
            about = (
                f"inputs {inputs}; output {self.names.output};"
                f" max_lag={self.max_lag}, max_degree={self.max_degree}"
            )
        return f"Grammar('{self.name}': {len(self.tag.trees)} trees; {about})"

    @classmethod
    def narx(
        cls,
        inputs: str | Iterable[str] = ("u",),
        output: str = "y",
        functions: Functions = (),
        constant: bool = True,
        noise: bool = False,
        max_lag: int = DEFAULT_MAX_LAG,
        max_degree: int = DEFAULT_MAX_DEGREE,
    ) -> Self:
        """Polynomial NARX models; NARMAX with ``noise=True``.

        `functions` are for all signals, ``"abs, pos[0.25]"``, or for each, ``{"u": "pos[0.25]"}``.
        With ``constant=False``, one input and no functions it is the grammar G_N of the paper.
        """
        names = SignalNames.declare(inputs, output)
        signals = names.ordered if noise else (*names.inputs, names.output)
        tag = polynomial_tag(names, signals=signals, functions=functions, constant=constant)
        return cls(tag, names, max_lag, max_degree, "narmax" if noise else "narx")

    @classmethod
    def narmax(
        cls,
        inputs: str | Iterable[str] = ("u",),
        output: str = "y",
        functions: Functions = (),
        max_lag: int = DEFAULT_MAX_LAG,
        max_degree: int = DEFAULT_MAX_DEGREE,
        *,
        constant: bool = True,
    ) -> Self:
        """Polynomial NARMAX models: NARX with past noise ``e(k-1)``, ``e(k-2)``, … as well."""
        return cls.narx(inputs, output, functions, constant, True, max_lag, max_degree)

    @classmethod
    def arx(
        cls,
        inputs: str | Iterable[str] = ("u",),
        output: str = "y",
        functions: Functions = (),
        max_lag: int = DEFAULT_MAX_LAG,
        *,
        constant: bool = True,
    ) -> Self:
        """Linear models in past inputs and outputs; with functions, of those as well."""
        names = SignalNames.declare(inputs, output)
        signals = (*names.inputs, names.output)
        tag = polynomial_tag(
            names, signals=signals, functions=functions, products=False, constant=constant
        )
        return cls(tag, names, max_lag, 1, "arx")

    @classmethod
    def fir(
        cls,
        inputs: str | Iterable[str] = ("u",),
        output: str = "y",
        functions: Functions = (),
        max_lag: int = DEFAULT_MAX_LAG,
        *,
        constant: bool = True,
    ) -> Self:
        """Finite impulse responses: linear models in the inputs alone."""
        names = SignalNames.declare(inputs, output)
        tag = polynomial_tag(
            names, signals=names.inputs, functions=functions, products=False, constant=constant
        )
        return cls(tag, names, max_lag, 1, "fir")

    @classmethod
    def volterra(
        cls,
        inputs: str | Iterable[str] = ("u",),
        output: str = "y",
        functions: Functions = (),
        max_lag: int = DEFAULT_MAX_LAG,
        max_degree: int = DEFAULT_MAX_DEGREE,
        *,
        constant: bool = True,
    ) -> Self:
        """Truncated Volterra series: polynomials in the inputs alone."""
        names = SignalNames.declare(inputs, output)
        tag = polynomial_tag(names, signals=names.inputs, functions=functions, constant=constant)
        return cls(tag, names, max_lag, max_degree, "volterra")

    @classmethod
    def smallest(cls, structure: Structure) -> Self:
        """The smallest polynomial grammar that derives a structure."""
        names = structure.names
        has_noise = structure.has_noise
        signals = names.ordered if has_noise else (*names.inputs, names.output)
        return cls(
            polynomial_tag(
                names,
                signals=signals,
                functions=structure.functions,
                constant=() in structure.terms,
            ),
            names,
            max(structure.max_lag, 1),
            max(structure.max_degree, 1),
            "narmax" if has_noise else "narx",
        )

    @classmethod
    def keith(cls) -> Self:
        """The linguistic example of the paper: "Naturally, Keith likes cats"."""
        return cls.from_text(KEITH)

    @classmethod
    def from_text(cls, text: str, source: str = "grammar") -> Self:
        """Read the text format of ``docs/grammar.md``."""
        return cls(*read_grammar(text, source))

    def to_text(self) -> str:
        """Write the text format; `from_text` reads it back to an equal grammar."""
        return write_grammar(
            GrammarEntries(self.tag, self.names, self.max_lag, self.max_degree, self.name)
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a grammar file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise AdjoinError(f"cannot read the grammar '{path}': {error.strerror}") from None
        except ValueError as error:  # not UTF-8, or a path no system takes
            raise AdjoinError(f"'{path}' is not a UTF-8 text file: {error}") from None
        return cls.from_text(text, source=Path(path).name)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a grammar file, whole or not at all."""
        write_whole(path, self.to_text())

    @property
    def signals(self) -> SignalNames:
        """The declared signals; `AdjoinError` for a grammar that is not about dynamics."""
        if self.names is None:
            raise AdjoinError(
                f"the grammar '{self.name}' declares no output, so it has no equations;"
                " add the lines 'inputs u' and 'output y'"
            )
        return self.names

    @cached_property
    def alphabet(self) -> Alphabet:
        """The compiled grammar; `AdjoinError` with the reason if the samplers cannot use it."""
        return compile_alphabet(self.tag, self.signals, self.max_lag, self.max_degree)

    def derivation(self, structure: Structure | str) -> Derivation:
        """The canonical derivation of a structure, or of the structure a text describes."""
        if isinstance(structure, str):
            read = read_equation(structure, self.signals, is_respelled=False)
            structure = self._respelled(read.structure)
        return derivation_of(structure, self.alphabet)

    def derive(self, what: Derivation | Structure | str) -> DerivedTree:
        """The derived tree of a derivation, of a structure, or of a structure's text."""
        return derive(self.tag, what if isinstance(what, Derivation) else self.derivation(what))

    def structure(self, derived: DerivedTree) -> Structure:
        """The structure that a derived tree yields, its terms in their one spelling."""
        return self._respelled(read_structure(derived.words, self.signals))

    def _respelled(self, structure: Structure) -> Structure:
        """Its terms in their one spelling, where this grammar derives that."""
        known = {*self.alphabet.atoms, *(atom for term in self.alphabet.fixed for atom in term)}
        terms = []
        for term in structure:
            reduced = reduce_product(term)
            terms.append(reduced if known.issuperset(reduced) else term)
        return Structure(tuple(terms), structure.names)

    def with_initial(self, structure: Structure | str) -> Self:
        """The same grammar with fixed terms in its initial tree (a grey box).

        Every derivable structure then contains the fixed terms; their nodes are closed to
        adjunction, so no tree can edit them. Terms that are fixed already stay.

        Parameters
        ----------
        structure : Structure or str
            For instance ``"u(k)*abs(u(k)) + udot(k)"``. Its lags, degrees and functions need not be
            within the grammar's own.
        """
        fixed, names = self.alphabet.fixed, self.signals
        if isinstance(structure, str):
            structure = Structure.parse(structure, names)
        structure = reduce_structure(structure)
        together = Structure((*fixed.terms, *structure.terms), names)
        smallest = Grammar.smallest(together)
        tag = with_initial_tree(self.tag, smallest.derive(together).tree, smallest.tag)
        return type(self)(tag, names, self.max_lag, self.max_degree, self.name)


READY: dict[str, Callable[..., Grammar]] = {
    "narx": Grammar.narx,
    "narmax": Grammar.narmax,
    "arx": Grammar.arx,
    "fir": Grammar.fir,
    "volterra": Grammar.volterra,
    "keith": Grammar.keith,
}
