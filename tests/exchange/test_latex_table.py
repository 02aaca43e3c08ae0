"""Tables in LaTeX: their structure, their numbers, and every cell set by a typesetter."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.systems import by_hand, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Posterior
from adjoin.data.scaling import Scaling
from adjoin.exchange.latex_table import latex_table
from adjoin.text import rounded


def posterior_of(names: tuple[str, str, str] = ("u", "v", "y"), label: str = "") -> Posterior:
    """Three draws of two structures, in centred and scaled units, with functions."""
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(
        rng.normal(3.0, 2.0, (20, 2)), rng.normal(-5.0, 1e-6, 20), names, label=label
    )
    u, v, y = names
    grammar = Grammar.narx((u, v), y, functions=("abs", "sqrtabs", "sign"), max_lag=2)
    large = f"{u}(k-1)*abs({u}(k-1))*{v}(k) + sqrt(abs({v}(k-2)))*sign({u}(k)) + {y}(k-1)"
    chain = [(large, [0.3, -2e-3, 0.5], 0.2), (large, [0.2, -1e-3, 0.7], 0.1)]
    scaling = Scaling.from_dataset(data, center=True, scale=True)
    return by_hand(data, [chain, [(f"{y}(k-1)", [0.6], 0.3)]], grammar, scaling=scaling)


def cells(table: str) -> list[list[str]]:
    """The rows of the table, cell by cell."""
    body = table.split(r"\begin{tabular}{lrrrrr}")[1].split(r"\end{tabular}", maxsplit=1)[0]
    lines = [line.strip() for line in body.splitlines() if line.strip().endswith(r"\\")]
    return [re.split(r"(?<!\\)&", line.removesuffix(r"\\")) for line in lines]


def require_well_formed(table: str) -> None:
    plain = re.sub(r"\\[{}&%$#_\\]", "", table)
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert plain.count("$") % 2 == 0
    assert not re.search(r"[#%~]", plain)
    opened = re.findall(r"\\begin{(\w+)}", table)
    assert opened == ["table", "tabular"]
    assert re.findall(r"\\end{(\w+)}", table) == opened[::-1]
    assert {len(row) for row in cells(table)} == {6}
    for name in ("toprule", "bottomrule", "centering", "caption", "label"):
        assert table.count(f"\\{name}") == 1


@pytest.mark.parametrize("names", [("u", "v", "y"), ("u_1", "v__dot", "T_in")])
@pytest.mark.parametrize("label", ["", r"50 % of A&B_#2 {x} \alpha ~ ^ $", "two\nlines"])
def test_the_table_is_well_formed_whatever_things_are_called(
    names: tuple[str, str, str], label: str
) -> None:
    require_well_formed(latex_table(posterior_of(names, label)))


def test_every_cell_can_be_typeset() -> None:
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("path")
    table = latex_table(posterior_of(("u_1", "v", "y")))
    for row in cells(table):
        for cell in row:
            parser.parse(cell.strip().replace(r"\,\%", ""))


def test_rows_are_the_terms_with_their_numbers_then_the_noise() -> None:
    posterior = posterior_of()
    rows = [[cell.strip() for cell in row] for row in cells(latex_table(posterior))]
    assert rows[0] == ["term", "inclusion", "mean", "sd", r"2.5\,\%", r"97.5\,\%"]
    assert [row[0] for row in rows[1:]] == [
        r"$\tilde{y}_{k-1}$",
        r"$\operatorname{sign}\left(\tilde{u}_{k}\right)\,\sqrt{\left|\tilde{v}_{k-2}\right|}$",
        r"$\tilde{u}_{k-1}\,\left|\tilde{u}_{k-1}\right|\,\tilde{v}_{k}$",
        r"noise $\sigma$",
    ]
    assert [row[1] for row in rows[1:]] == ["$1.000$", "$0.667$", "$0.667$", ""]
    first = posterior.terms.iloc[0]
    values = first[["mean", "sd", "q025", "q975"]].to_list()
    assert rows[1][2:] == [f"${text}$" for text in rounded(values, first["sd"])]
    assert rows[4][2:] == [
        r"$4.51\times 10^{-7}$",
        r"$9.8\times 10^{-8}$",
        r"$3.33\times 10^{-7}$",
        r"$5.60\times 10^{-7}$",
    ]


def test_the_caption_says_what_it_is_and_what_it_is_made_of() -> None:
    table = latex_table(posterior_of(label="run_7"), label="tab:run7")
    caption = re.search(r"\\caption{(.*)}\n", table)[1]
    assert r"for $\tilde{y}_{k}$ of run\_7" in caption
    assert "3 draws of 2 chains" in caption
    assert r"Deviations: $\tilde{u}_{k}$ from $" in caption
    assert r"\label{tab:run7}" in table


def test_a_long_table_counts_the_rest() -> None:
    table = latex_table(posterior_of(), most=1)
    require_well_formed(table)
    rows = [[cell.strip() for cell in row] for row in cells(table)]
    assert len(rows) == 4
    assert rows[2] == ["2 more", r"$\leq 0.667$", "", "", "", ""]


def test_a_run_without_data_has_no_noise_to_tell() -> None:
    posterior = quick(samples=200, likelihood_power=0.0).fit(*simulated(n=40)).posterior_
    table = latex_table(posterior)
    require_well_formed(table)
    assert [cell.strip() for cell in cells(table)[-1]] == [r"noise $\sigma$", "", *["--"] * 4]


def test_a_posterior_without_terms_has_its_noise_alone() -> None:
    data = Dataset.from_arrays(*simulated(n=20))
    table = latex_table(by_hand(data, [[("0", [], 1.0)]], Grammar.narx(("u",), max_lag=2)))
    require_well_formed(table)
    assert len(cells(table)) == 2


def test_a_table_of_no_rows_is_refused() -> None:
    with pytest.raises(AdjoinError, match="most must be a whole number"):
        latex_table(posterior_of(), most=0)
