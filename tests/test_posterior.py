"""`Posterior`: every number against brute force or by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import inf, sqrt

import numpy as np
import pandas as pd
import pytest
from tests.systems import by_hand, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Identifier, Posterior, Structure
from adjoin.data.names import SignalNames
from adjoin.data.scaling import Scaling
from adjoin.grammar.equation import term_text

GRAMMAR = Grammar.narx(max_lag=2, max_degree=3)
EQUATION = "y(k) = 0.5*u(k-1) + 0.3*u(k-1)*y(k-1) - 0.2*y(k-2)"
U, Y = simulated(EQUATION, n=150, noise=0.5)
DATA = Dataset.from_arrays(U, Y)
Z = 4.5  # two-sided; false alarm 7e-6 a comparison

TWO_CHAINS = [
    [
        ("y(k-1)", [9.0], 9.0),
        ("u(k) + y(k-1)", [1.0, 2.0], 1.0),
        ("u(k) + y(k-1)", [3.0, 2.5], 4.0),
        ("0", [], 9.0),
    ],
    [("u(k) + y(k-1)", [5.0, 3.0], 1.0), ("u(k)", [7.0], 1.0)],
]


@pytest.fixture(scope="module")
def fitted() -> Identifier:
    """Noisy data in odd units with offsets, and chains that disagree a little."""
    model = quick(samples=3000, chains=3, thin=3, burn_in=0.3, max_degree=3)
    return model.fit(100.0 * U + 7000.0, 0.01 * Y - 3.0)


@pytest.fixture(scope="module")
def posterior(fitted: Identifier) -> Posterior:
    return fitted.posterior_


@pytest.fixture
def small() -> Posterior:
    return by_hand(DATA, TWO_CHAINS, GRAMMAR)


def recorded(posterior: Posterior) -> list[tuple[int, Structure, np.ndarray, float]]:
    """Every draw after burn-in, straight from the traces: chain, structure, raw θ and σ."""
    found, scaling = [], posterior.scaling
    names = posterior.encoding.names
    for number, trace in enumerate(posterior.traces):
        n = len(trace.structure)
        for i in range(int(posterior.burn_in * n), n):
            structure = posterior.encoding.structure(trace.structures[trace.structure[i]])
            theta = trace.theta[trace.offset[i] : trace.offset[i + 1]].copy()
            for j, term in enumerate(structure):
                theta[j] *= scaling.scale[-1]
                for atom in term:
                    theta[j] /= scaling.scale[names.position(atom.signal)]
            found.append((number, structure, theta, sqrt(trace.noise[i]) * scaling.scale[-1]))
    return found


# Structures, terms, noise


def test_masses_are_counts(posterior: Posterior) -> None:
    draws = recorded(posterior)
    counts = Counter(str(structure) for _, structure, _, _ in draws)
    per_chain = Counter((chain, str(structure)) for chain, structure, _, _ in draws)
    frame = posterior.structures
    assert len(frame) == len(counts) > 5
    assert frame["mass"].sum() == pytest.approx(1.0)
    assert frame["mass"].is_monotonic_decreasing
    for row in frame.to_dict("records"):
        assert row["mass"] == pytest.approx(counts[row["structure"]] / len(draws))
        n_terms = 0 if row["structure"] == "0" else row["structure"].count(" + ") + 1
        assert row["n_terms"] == n_terms
        for chain in range(3):
            share = per_chain[chain, row["structure"]] / (len(draws) / 3)
            assert row[f"chain_{chain}"] == pytest.approx(share)
    assert [str(posterior.structure(i)) for i in range(3)] == list(frame["structure"][:3])


def test_terms_are_summed_up_where_they_are_in(posterior: Posterior) -> None:
    values = defaultdict(list)
    draws = recorded(posterior)
    for _, structure, theta, _ in draws:
        for term, value in zip(structure, theta, strict=True):
            values[term_text(term)].append(value)
    frame = posterior.terms.set_index("term")
    assert set(frame.index) == set(values)
    assert frame["inclusion"].is_monotonic_decreasing
    for term, row in frame.iterrows():
        assert row["inclusion"] == pytest.approx(len(values[term]) / len(draws))
        assert row["mean"] == pytest.approx(np.mean(values[term]))
        assert row["sd"] == pytest.approx(np.std(values[term]), abs=1e-12)
        expected = np.quantile(values[term], [0.025, 0.975])
        assert row[["q025", "q975"]].tolist() == pytest.approx(expected.tolist())


def test_noise_is_in_the_users_units(posterior: Posterior) -> None:
    sd = [noise for *_, noise in recorded(posterior)]
    low, high = np.quantile(sd, [0.025, 0.975])
    expected = {"mean": np.mean(sd), "sd": np.std(sd), "q025": low, "q975": high}
    assert posterior.noise.to_dict() == pytest.approx(expected)
    assert abs(posterior.noise["mean"] - 0.005) < Z * posterior.noise["sd"]


def test_coefficients_of_one_structure(posterior: Posterior) -> None:
    best = posterior.structure(0)
    theta = np.array([t for _, structure, t, _ in recorded(posterior) if structure == best])
    by_rank = posterior.coefficients(0)
    assert list(by_rank["term"]) == [term_text(term) for term in best]
    np.testing.assert_allclose(by_rank["mean"], theta.mean(axis=0))
    np.testing.assert_allclose(by_rank["sd"], theta.std(axis=0))
    np.testing.assert_allclose(by_rank["q025"], np.quantile(theta, 0.025, axis=0))
    for same in (str(best), best, np.int64(0), f"y(k) = {best}"):
        assert posterior.coefficients(same).equals(by_rank)


def test_small_numbers_by_hand(small: Posterior) -> None:
    assert len(small) == 6
    frame = small.structures.set_index("structure")
    assert frame.loc["u(k) + y(k-1)"].tolist() == [0.5, 0.5, 0.5, 2]
    assert frame.loc["0"].tolist() == pytest.approx([1 / 6, 1 / 4, 0, 0])
    assert frame.loc["u(k)"].tolist() == pytest.approx([1 / 6, 0, 1 / 2, 1])
    terms = small.terms.set_index("term")
    assert list(terms.index) == ["u(k)", "y(k-1)"]  # equal inclusion: canonical order
    assert terms["inclusion"].tolist() == pytest.approx([4 / 6, 4 / 6])
    assert terms["mean"].tolist() == pytest.approx([16 / 4, 16.5 / 4])
    assert small.coefficients("y(k-1) + u(k)")["mean"].tolist() == pytest.approx([3.0, 2.5])
    assert small.noise["mean"] == pytest.approx((3 + 1 + 2 + 3 + 1 + 1) / 6)
    assert small.diagnostics["chains_agree_on_mode"] is True
    assert small.diagnostics["chains"][0]["mode_mass"] == 0.5


def test_burn_in_is_left_out() -> None:
    late = by_hand(DATA, TWO_CHAINS, GRAMMAR, burn_in=0.5)
    assert late.structures.set_index("structure")["mass"].to_dict() == pytest.approx(
        {"u(k) + y(k-1)": 1 / 3, "0": 1 / 3, "u(k)": 1 / 3}
    )
    assert len(late.chain(0)) == 2
    for gone in ("y(k-1)", Structure.parse("y(k-1)", DATA.names)):
        for method in (late.coefficients, late.model):
            with pytest.raises(AdjoinError, match=r"no draw has the structure 'y\(k-1\)'"):
                method(gone)
    assert len(by_hand(DATA, TWO_CHAINS, GRAMMAR, burn_in=0.999)) == 2


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (4, "no structure 4; there are 4, from 0 on"),
        (-1, "no structure -1"),
        (1.5, "1.5"),
        (None, "None"),
        ("u(k-1)", r"no draw has the structure 'u\(k-1\)'; see .structures"),
        ("u(k-9)", "no draw has the structure"),
        ("u(k)^9", "no draw has the structure"),
        ("abs(u(k))", "no draw has the structure"),
        ("w(k)", "no signal is called 'w'"),
        ("u(k) +", "cannot read"),
    ],
)
def test_unknown_structures_are_refused(small: Posterior, which, message: str) -> None:
    for method in (small.coefficients, small.model):
        with pytest.raises(AdjoinError, match=message):
            method(which)


@pytest.mark.parametrize("rank", [4, -1, 10**6])
def test_there_is_no_structure_beyond_the_last(small: Posterior, rank: int) -> None:
    with pytest.raises(AdjoinError, match=f"no structure {rank}; there are 4"):
        small.structure(rank)


def test_a_structure_is_known_whatever_the_order_of_its_signals() -> None:
    data = Dataset.from_arrays(np.column_stack([U, U**2]), Y, ("u", "v", "y"))
    records = [("u(k) + v(k)*y(k-1)", [1.0, 2.0], 1.0)]
    two = by_hand(data, [records], Grammar.narx(("u", "v"), max_lag=1, max_degree=2))
    other = Structure.parse("v(k)*y(k-1) + u(k)", SignalNames(("v", "u")))
    assert two.coefficients(other)["mean"].tolist() == [1.0, 2.0]


def test_the_empty_structure() -> None:
    empty = by_hand(DATA, [[("0", [], 4.0)] * 3], GRAMMAR)
    assert empty.structures.to_dict("records") == [
        {"structure": "0", "n_terms": 0, "mass": 1.0, "chain_0": 1.0}
    ]
    for frame in (empty.terms, empty.coefficients(), empty.coefficients("0")):
        assert len(frame) == 0
        assert "mean" in frame
    assert empty.map_model.structure == Structure((), DATA.names)
    assert empty.map_model.noise_sd == 2.0
    prediction = empty.simulate(U, Y[:2], draws=50)
    assert prediction.mean[:2].tolist() == Y[:2].tolist()
    assert prediction.diverged == 0.0
    assert "best with mass 1.000: 0" in repr(empty)
    assert empty.validation_errors(U, Y) == {0: pytest.approx(sqrt(np.mean(Y[2:] ** 2)))}


def test_a_chain_without_records_is_refused() -> None:
    with pytest.raises(AdjoinError, match="a chain has no recorded sample"):
        by_hand(DATA, [TWO_CHAINS[0], []], GRAMMAR)


# Models


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_model_has_the_mode_of_its_coefficients(posterior: Posterior, rank: int) -> None:
    """The ridge solution, written out, in scaled units and back."""
    structure, scaling = posterior.structure(rank), posterior.scaling
    (record,) = scaling.apply(posterior.data).records
    series = {"u": record.inputs[:, 0], "y": record.output}
    n, lag = len(record), posterior.max_lag
    columns = np.column_stack(
        [
            np.prod([series[a.signal][lag - a.lag : n - a.lag] for a in term], axis=0)
            for term in structure
        ]
    )
    draws = [(t.structures[s], v) for t in posterior.traces for s, v in late(t, posterior.burn_in)]
    keys = tuple(map(posterior.encoding.key, structure))
    noise = np.mean([v for found, v in draws if found == keys])
    ridge = columns.T @ columns + noise * np.eye(len(structure))
    theta = np.linalg.solve(ridge, columns.T @ series["y"][lag:])
    model = posterior.model(rank)
    scale = dict(zip("uy", scaling.scale, strict=True))
    for term, value, found in zip(structure, theta, model.theta, strict=True):
        factor = scale["y"] / np.prod([scale[atom.signal] for atom in term])
        assert found == pytest.approx(value * factor, rel=1e-9)
    assert model.noise_sd == pytest.approx(sqrt(noise) * scale["y"])
    assert model.offsets == pytest.approx(scaling.offsets)


def late(trace, burn_in: float):
    first = int(burn_in * len(trace.structure))
    return zip(trace.structure[first:], trace.noise[first:], strict=True)


def test_the_mode_lies_within_monte_carlo_error_of_the_mean(posterior: Posterior) -> None:
    frame = posterior.coefficients(0)
    n = posterior.structures["mass"][0] * len(posterior)
    # Coefficients are drawn afresh for every sample, so their draws are all but independent.
    z = (frame["mean"] - list(posterior.map_model.theta)) / (frame["sd"] / sqrt(n))
    assert z.abs().max() < Z


def test_coefficients_belong_to_their_terms_in_every_chain() -> None:
    """Chains hold their terms in the order in which they came; all have found the same four."""
    u, y = simulated("y(k) = 0.4*u(k) + 0.5*u(k-1) + 0.3*u(k-1)*y(k-1) - 0.2*y(k-2)", noise=0.2)
    posterior = quick(chains=8).fit(u, y).posterior_
    assert len(posterior.structure()) == 4
    for number in range(8):
        chain = posterior.chain(number)
        frame = chain.coefficients(posterior.structure())
        n = chain.structures.set_index("structure")["mass"][str(posterior.structure())] * len(chain)
        z = (frame["mean"] - list(posterior.map_model.theta)) / (frame["sd"] / sqrt(n))
        assert z.abs().max() < Z + 0.5  # 32 comparisons: false alarm 2e-5


def test_the_mode_weighs_the_data_by_the_power_of_the_likelihood() -> None:
    posterior = by_hand(DATA, [[("u(k)", [1.0], 50.0)]], GRAMMAR, power=0.25)
    square, product = U[2:] @ U[2:], U[2:] @ Y[2:]
    assert posterior.map_model.theta == pytest.approx((product / (square + 50.0 / 0.25),))


def test_the_mode_of_delayed_functions_in_several_records() -> None:
    parts = [slice(0, 60), slice(60, 150)]
    data = Dataset.from_arrays([U[part] for part in parts], [Y[part] for part in parts])
    grammar = Grammar.narx(functions="abs, sqrtabs", max_lag=3, max_degree=2)
    chain = [("abs(u(k-1)) + u(k)*sqrt(abs(y(k-2)))", [1.0, 2.0], 0.1)]
    posterior = by_hand(data, [chain], grammar)
    rows = [
        (abs(U[k - 1]), U[k] * sqrt(abs(Y[k - 2])), Y[k])
        for part in parts
        for k in range(part.start + 3, part.stop)
    ]
    columns, output = np.array(rows)[:, :2], np.array(rows)[:, 2]
    names = [term_text(term) for term in posterior.structure()]
    order = [["abs(u(k-1))", "u(k)*sqrt(abs(y(k-2)))"].index(name) for name in names]
    theta = np.linalg.solve(columns.T @ columns + 0.1 * np.eye(2), columns.T @ output)
    np.testing.assert_allclose(posterior.map_model.theta, theta[order], rtol=1e-9)


def test_the_map_model_is_the_most_frequent_structure(posterior: Posterior) -> None:
    counts = Counter(str(structure) for _, structure, _, _ in recorded(posterior))
    assert str(posterior.map_model.structure) == counts.most_common(1)[0][0]
    assert posterior.map_model == posterior.model(0)


def test_drawn_models_are_recorded_draws(posterior: Posterior) -> None:
    models = posterior.draw_models(40, seed=3)
    assert models == posterior.draw_models(40, seed=3) != posterior.draw_models(40, seed=4)
    known = {(str(s), tuple(np.round(t, 12)), round(e, 12)) for _, s, t, e in recorded(posterior)}
    for model in models:
        theta = tuple(np.round(model.theta, 12))
        assert (str(model.structure), theta, round(model.noise_sd, 12)) in known
        assert model.offsets == pytest.approx(posterior.scaling.offsets)


def test_models_are_drawn_as_often_as_they_weigh(small: Posterior) -> None:
    n = 6000
    counts = Counter(str(model.structure) for model in small.draw_models(n, seed=0))
    for text, mass in zip(small.structures["structure"], small.structures["mass"], strict=True):
        assert abs(counts[text] / n - mass) < Z * sqrt(mass * (1 - mass) / n)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.draw_models(0), "n must be a whole number from 1 on, not 0"),
        (lambda p: p.draw_models(2.0), "n must be"),
        (lambda p: p.draw_models(1, seed=-1), "seed must be a whole number from 0 on, or None"),
        (lambda p: p.chain(5), r"no chain 5; there are \[0, 1\]"),
        (lambda p: p.select_chain(U), "pass u and y, or a Dataset"),
        (lambda p: p.select_chain(U, Y[:-1]), "differ in length"),
    ],
)
def test_wrong_calls_say_what_to_do(small: Posterior, call, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        call(small)


def test_residuals_leave_out_the_seeding_samples(fitted: Identifier) -> None:
    (residual,) = fitted.posterior_.residuals()
    (record,) = fitted.posterior_.data.records
    predicted = fitted.model_.predict(record.inputs, record.output)
    np.testing.assert_array_equal(residual, (record.output - predicted)[2:])


# Chains


def test_one_chain_alone(posterior: Posterior) -> None:
    one = posterior.chain(1)
    assert (one.n_chains, one.chain_numbers) == (1, (1,))
    assert len(one) == len(posterior) / 3
    expected = posterior.structures.set_index("structure")["chain_1"]
    found = one.structures.set_index("structure")["mass"]
    assert found.to_dict() == pytest.approx(expected[expected > 0].to_dict())
    assert list(one.structures.columns[1:2]) == ["chain_1"]
    assert one.chain(1).structures.equals(one.structures)
    with pytest.raises(AdjoinError, match=r"no chain 0; there are \[1\]"):
        one.chain(0)


def test_the_selected_chain_has_the_smallest_validation_error() -> None:
    u, y = simulated(EQUATION, n=600, noise=0.1)
    train, validation = Dataset.from_arrays(u, y).split(0.5)
    posterior = quick(samples=80, thin=1, chains=8).fit(train).posterior_
    errors = {}
    for chain in range(8):
        model = posterior.chain(chain).map_model
        run = model.simulate(validation.u, validation.y[:2])
        errors[chain] = sqrt(np.mean((run - validation.y)[2:] ** 2))
    assert len(set(errors.values())) > 3
    assert posterior.validation_errors(validation.u, validation.y) == pytest.approx(errors)
    (selected,) = posterior.select_chain(validation).chain_numbers
    equal = [chain for chain, error in errors.items() if error <= 1.001 * min(errors.values())]
    assert 1 < len(equal) < 8
    masses = {chain: posterior.chain(chain).structures["mass"][0] for chain in equal}
    assert selected == max(masses, key=masses.__getitem__)


def test_a_chain_that_diverges_has_infinite_error() -> None:
    u, y = simulated("y(k) = 0.1*u(k) + 0.4*y(k-1) + 0.3*y(k-1)^3", noise=0.0)
    data = Dataset.from_arrays(u, y)
    chains = [
        [("u(k) + y(k-1) + y(k-1)^3", [0.1, 0.4, 0.3], 1e-6)],
        [("u(k) + y(k-1)", [0.1, 0.4], 1e-4)],
    ]
    posterior = by_hand(data, chains, GRAMMAR)
    errors = posterior.validation_errors(u, np.append([4.0, 4.0], y[2:]))
    assert errors[0] == inf
    assert 0 < errors[1] < inf
    assert posterior.select_chain(u, np.append([4.0, 4.0], y[2:])).chain_numbers == (1,)
    assert posterior.select_chain(u, y).chain_numbers == (0,)


def test_several_records_are_validated_together(small: Posterior) -> None:
    model = small.map_model
    parts = [slice(0, 60), slice(60, 150)]
    runs = [model.simulate(U[part], Y[part][:2]) for part in parts]
    squares = [(run - Y[part])[2:] ** 2 for run, part in zip(runs, parts, strict=True)]
    expected = sqrt(np.concatenate(squares).mean())
    one = by_hand(DATA, [[*TWO_CHAINS[0], *TWO_CHAINS[1]]], GRAMMAR)
    found = one.validation_errors([U[part] for part in parts], [Y[part] for part in parts])
    assert one.map_model == model
    assert found == {0: pytest.approx(expected)}


def test_diagnostics_count_what_the_chains_did(posterior: Posterior) -> None:
    facts = posterior.diagnostics
    assert [chain["n_samples"] for chain in facts["chains"]] == [3000] * 3
    assert facts["acceptance"]["stay"] == 1.0
    tried = sum(int(trace.move[:, 0].sum()) for trace in posterior.traces)
    assert tried == 9000
    for chain, summary in enumerate(facts["chains"]):
        best = posterior.chain(chain).structures.iloc[0]
        assert (summary["mode"], summary["mode_mass"]) == (best["structure"], best["mass"])


def test_frames_are_left_as_pandas_makes_them(posterior: Posterior) -> None:
    assert list(posterior.structures.columns[:2]) == ["mass", "chain_0"]
    assert list(posterior.structures.columns[-2:]) == ["n_terms", "structure"]
    columns = ["term", "inclusion", "mean", "sd", "q025", "q975", "frequency"]
    assert list(posterior.terms.columns) == columns
    assert list(posterior.coefficients().columns) == ["term", "mean", "sd", "q025", "q975"]
    assert list(posterior.noise.index) == ["mean", "sd", "q025", "q975"]
    assert isinstance(posterior.terms.index, pd.RangeIndex)


def test_functions_that_do_not_scale_come_back_as_they_are() -> None:
    data = Dataset.from_arrays(U, Y)
    grammar = Grammar.narx(functions="sin", max_lag=1, max_degree=1)
    moved = Scaling(data.names, np.array([0.5, 0.0]), np.ones(2))
    chain = [("sin(u(k))", [2.0], 1.0)] * 2
    posterior = by_hand(data, [chain], grammar, scaling=moved)
    assert posterior.terms["mean"].tolist() == [2.0]
    assert posterior.map_model.offsets == {"u": 0.5}


def test_the_inclusion_of_terms_is_that_of_the_draws_by_simulation_too() -> None:
    """Informed moves propose terms there without working out how probable each is."""
    posterior = quick(objective="simulation", samples=300).fit(*simulated(n=200)).posterior_
    terms = posterior.terms
    # Over chains and over all draws: sums of the same in two orders.
    assert terms["inclusion"].tolist() == pytest.approx(terms["frequency"].tolist(), rel=1e-14)
    assert terms["inclusion"].iloc[0] > 0.9
