"""The terms of a posterior as a table in LaTeX, for papers.

Receives a `Collection`; gives text for the packages `amsmath` and `booktabs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adjoin.checks import require_count
from adjoin.grammar import Atom, Structure
from adjoin.grammar.equation import term_latex, tidy_exponent
from adjoin.results.collection import Collection
from adjoin.text import UNKNOWN, summed_up

_COLUMNS = ("term", "inclusion", "mean", "sd", r"2.5\,\%", r"97.5\,\%")
_ESCAPED = {character: "\\" + character for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def latex_table(posterior: Collection, most: int = 20, label: str = "tab:terms") -> str:
    r"""Print the terms by inclusion probability, and the noise, as a LaTeX table.

    Parameters
    ----------
    posterior : Posterior
        What to print; coefficients are summarised over the draws that have the term.
    most : int
        How many terms to show; the last row counts the others.
    label : str
        What ``\ref`` calls the table.

    Returns
    -------
    str
        A ``table`` that needs ``\usepackage{amsmath, booktabs}``.
    """
    require_count("most", most)
    table = posterior.terms
    rows = [_term_row(posterior, row) for row in table.head(int(most)).to_dict("records")]
    if n_more := len(table) - len(rows):
        largest = table["inclusion"].iloc[len(rows)]
        rows.append([f"{n_more} more", rf"$\leq {largest:.3f}$", "", "", "", ""])
    body = [r"\toprule", _line(_COLUMNS), r"\midrule", *map(_line, rows)]
    body += [r"\midrule", _line(_noise_row(posterior)), r"\bottomrule"]
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_caption(posterior)}}}",
        rf"  \label{{{label}}}",
        r"  \begin{tabular}{lrrrrr}",
        *(f"    {line}" for line in body),
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _term_row(posterior: Collection, row: Mapping[Any, Any]) -> list[str]:
    (term,) = Structure.parse(row["term"], posterior.encoding.names)
    spelled = term_latex(term, _moved(posterior))
    numbers = [row[name] for name in ("mean", "sd", "q025", "q975")]
    return [f"${spelled}$", f"${row['inclusion']:.3f}$", *_numbers(numbers)]


def _noise_row(posterior: Collection) -> list[str]:
    if posterior.power == 0.0:  # what is there is the prior's
        return [r"noise $\sigma$", "", *["--"] * 4]
    noise = posterior.noise
    return [r"noise $\sigma$", "", *_numbers(noise.to_list())]


def _numbers(values: list[float]) -> list[str]:
    """In math mode, which knows a minus from a hyphen."""
    texts = summed_up(*values)
    return ["--" if text == UNKNOWN else f"${tidy_exponent(text)}$" for text in texts]


def _moved(posterior: Collection) -> dict[str, float]:
    """Offsets by name, of the signals that have one."""
    return {name: offset for name, offset in posterior.scaling.offsets.items() if offset}


def _caption(posterior: Collection) -> str:
    label = posterior.data.label
    of_data = f" of {_escaped(label)}" if label else ""
    output = _symbol(posterior, posterior.data.names.output)
    n_chains = f"{posterior.n_chains} chain{'s' * (posterior.n_chains > 1)}"
    said = (
        f"Terms of the equation for {output}{of_data}: probability of inclusion, and mean, standard"
        r" deviation and central 95\,\% interval of the coefficient where the term is in;"
        f" {len(posterior)} draws of {n_chains}."
    )
    if _moved(posterior):
        stated = ", ".join(
            f"{_symbol(posterior, name)} from ${tidy_exponent(text)}$"
            for name, text in posterior.map_model.printed_offsets.items()
        )
        said += f" Deviations: {stated}."
    return said


def _symbol(posterior: Collection, name: str) -> str:
    """A signal now, in math mode."""
    return f"${term_latex((Atom(name, 0),), _moved(posterior))}$"


def _escaped(text: str) -> str:
    """Text that may hold any character, for LaTeX to print as it is."""
    plain = " ".join(text.split())
    return "".join(_ESCAPED.get(character, character) for character in plain)
