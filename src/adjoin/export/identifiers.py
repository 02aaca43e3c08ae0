"""Names and texts of a user in generated code: no keyword, no clash, nothing that ends a comment.

Receives names of signals and free texts such as units; gives identifiers that are unique in one
generated file, and comments in ASCII.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable

from adjoin.data.names import legal_name
from adjoin.errors import AdjoinError

WIDTH = 96  # of a line of generated code

# C99, C11 and C23, C++, and what compilers and math.h have besides.
_C = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while alignas alignof bool constexpr false nullptr
    static_assert thread_local true typeof typeof_unqual and and_eq asm bitand bitor catch
    class compl concept consteval constinit const_cast co_await co_return co_yield decltype
    delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq
    operator or or_eq private protected public reinterpret_cast requires static_cast template
    this throw try typeid typename using virtual wchar_t xor xor_eq far near huge pascal cdecl
    interrupt unix linux main complex imaginary fabs sin cos tanh exp sqrt fabsf sinf cosf
    tanhf expf sqrtf isnan errno
"""
C_WORDS = frozenset(_C.split())

# MATLAB and Octave: keywords, and the functions that generated code calls.
_MATLAB = """
    break case catch classdef continue else elseif end for function global if otherwise parfor
    persistent return spmd switch try while arguments enumeration events methods properties do
    until unwind_protect unwind_protect_cleanup end_try_catch end_unwind_protect endif endfor
    endwhile endfunction endswitch endparfor endclassdef endenumeration endevents endmethods
    endproperties abs sin cos tanh sign exp sqrt max nan inf zeros ones numel size isempty
    error nargin repmat isfinite any all double pi i j eps ans true false
"""
MATLAB_WORDS = frozenset(_MATLAB.split())
_LONGEST = {"matlab": 63}  # characters of a name that count


class Identifiers:
    """The identifiers of one generated file, each given once.

    Parameters
    ----------
    words : collection of str
        What the language has other uses for.
    taken : iterable of str
        What the file itself needs.
    longest : int
        Characters that count.
    """

    def __init__(self, words: Iterable[str], taken: Iterable[str] = (), longest: int = 200) -> None:
        self._taken = {*words, *taken}
        self._longest = longest

    @classmethod
    def of_c(cls, taken: Iterable[str] = ()) -> Identifiers:
        """Those of a C file."""
        return cls(C_WORDS, taken)

    @classmethod
    def of_matlab(cls, taken: Iterable[str] = ()) -> Identifiers:
        """Those of a MATLAB file."""
        return cls(MATLAB_WORDS, taken, _LONGEST["matlab"])

    def claim(self, wanted: str) -> str:
        """The identifier nearest to what is wanted, and no one else's.

        No name begins with an underscore, which belongs to the compiler, and none is of capitals
        alone, as macros are; a single letter may be.
        """
        name = legal_name(wanted)
        name = f"v{name}" if name.startswith("_") else name
        name = name[: self._longest]
        if name in self._taken or (len(name) > 1 and name.upper() == name):
            name = self._numbered(name)
        self._taken.add(name)
        return name

    def claim_family(self, prefixes: Iterable[str], wanted: str) -> str:
        """The ending nearest to what is wanted with which every prefix makes a free name."""
        ending = wanted.strip("_") or "signal"
        number, found = 1, ending
        while any(prefix + found in self._taken for prefix in prefixes):
            number += 1
            found = f"{ending}_{number}"
        self._taken.update(prefix + found for prefix in prefixes)
        return found

    def _numbered(self, name: str) -> str:
        """The first of ``name_``, ``name_2``, ``name_3``, … that nobody has."""
        number, found = 1, ""
        while not found or found in self._taken:
            ending = "_" if number == 1 else f"_{number}"
            found = name[: self._longest - len(ending)] + ending
            number += 1
        return found


def require_identifier(name: str, words: Iterable[str], what: str) -> str:
    """The name if generated code can be called so; else an `AdjoinError`."""
    is_plain = name.isascii() and name.isidentifier() and not name.startswith("_")
    if not is_plain or name in words or len(name) > 40:
        raise AdjoinError(
            f"{what} cannot be called {name!r}; use at most 40 letters, digits and _, a letter"
            " first, and no word of the language"
        )
    return name


_SPELLED = {"°": "deg", "µ": "u", "μ": "u", "Ω": "Ohm", "·": "*", "×": "x", "²": "^2", "³": "^3"}
_SPELLED |= {"⁻": "^-", "¹": "1", "–": "-", "—": "-", "−": "-", "…": "..."}


def plain_text(text: str) -> str:
    """A text in printable ASCII on one line, for comments."""
    spelled = "".join(_SPELLED.get(character, character) for character in text)
    ascii_text = unicodedata.normalize("NFKD", spelled).encode("ascii", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in ascii_text).split())


def comment_text(text: str) -> str:
    """A text that cannot end, begin or continue a comment of C or MATLAB, nor be a trigraph."""
    plain = plain_text(text).replace("\\", "/")
    for mark in ("*/", "/*", "//", "??", "%{", "%}", "#{", "#}", "..."):
        while mark in plain:
            plain = plain.replace(mark, " ".join(mark))
    return plain


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A text in lines; a word that is too long has a line of its own."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
