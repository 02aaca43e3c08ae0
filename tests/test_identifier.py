"""`Identifier` as a user meets it: conventions, data of all shapes, seeds, Ctrl-C, the power."""

from __future__ import annotations

import _thread
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.validation import check_is_fitted
from tests.systems import LINEAR, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Identifier, Model, Prior, Structure
from adjoin.inference.runner import Snapshot, run_chains

TRUTH = Model.parse(LINEAR).structure
U, Y = simulated()
Z = 4.5  # two-sided; false alarm 7e-6 a comparison


def fitted_attributes(model: Identifier) -> list[str]:
    return [name for name in vars(model) if name.endswith("_")]


def same_draws(a: Identifier, b: Identifier) -> bool:
    """Whether two fits are equal to the last bit."""
    left, right = a.posterior_.draws, b.posterior_.draws
    fields = ("chain", "structure", "theta", "term", "noise_sd", "log_lik")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in fields)


# Conventions of scikit-learn


def test_parameters_are_kept_as_they_were_given() -> None:
    nonsense = {name: object() for name in Identifier().get_params()}
    model = Identifier(**nonsense)
    assert all(getattr(model, name) is value for name, value in nonsense.items())
    assert model.get_params() == model.get_params(deep=False) == nonsense
    assert not fitted_attributes(model)


def test_parameters_can_be_set_by_name() -> None:
    model = Identifier().set_params(max_lag=3, seed=5)
    assert (model.max_lag, model.seed, model.max_degree) == (3, 5, 4)
    assert repr(model) == "Identifier(max_lag=3, seed=5)"
    with pytest.raises(AdjoinError, match="no parameter 'maxlag'; there are objective, grammar"):
        model.set_params(maxlag=3)


def test_a_clone_has_the_parameters_and_learned_nothing() -> None:
    model = quick(prior=Prior(lag_decay=0.5), moves={"stay": 1.0}, functions=("abs",)).fit(U, Y)
    check_is_fitted(model)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not fitted_attributes(copy)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    with pytest.raises(AdjoinError, match="call fit"):
        copy.predict(U, Y)
    assert same_draws(copy.fit(U, Y), model)


def test_a_grammar_survives_cloning() -> None:
    model = quick(grammar=Grammar.arx(max_lag=2), max_degree=4)
    assert clone(model).fit(U, Y).model_ == model.fit(U, Y).model_


def test_a_failed_fit_leaves_no_trace() -> None:
    model = quick(moves={"jump": 1.0})
    with pytest.raises(AdjoinError, match="jump"):
        model.fit(U, Y)
    assert not fitted_attributes(model)
    model.set_params(moves=None).fit(U, Y)
    kept = {name: getattr(model, name) for name in fitted_attributes(model)}
    with pytest.raises(AdjoinError):
        model.fit(U * 2 + 1, Y[:-1])
    assert all(getattr(model, name) is value for name, value in kept.items())


def test_model_selection_of_scikit_learn() -> None:
    assert is_regressor(quick())
    folds = KFold(2)
    scores = cross_val_score(quick(samples=300), U, Y, cv=folds)
    assert scores.shape == (2,)
    search = GridSearchCV(quick(samples=300), {"expected_terms": [1.0, 5.0]}, cv=folds)
    search.fit(U, Y)
    assert search.best_params_["expected_terms"] in (1.0, 5.0)
    assert search.best_estimator_.posterior_.settings["prior"]["expected_terms"] in (1.0, 5.0)
    assert search.score(U, Y) > 70.0


# Data of all shapes


@pytest.mark.parametrize(
    ("u", "y"),
    [
        (U, Y),
        (U[:, None], Y[:, None]),
        (U.tolist(), Y.tolist()),
        (pd.Series(U), pd.Series(Y)),
        (pd.DataFrame({"u": U}), pd.Series(Y, name="y")),
        (Dataset.from_arrays(U, Y), None),
        ([U], [Y]),
    ],
    ids=["1-D", "2-D", "lists", "series", "frame", "dataset", "one record"],
)
def test_the_same_data_in_any_shape_give_the_same(u: Any, y: Any) -> None:
    model = quick(samples=500).fit(u, y)
    assert same_draws(model, quick(samples=500).fit(U, Y))
    assert model.n_features_in_ == 1
    assert model.score(u, y) == quick(samples=500).fit(U, Y).score(U, Y)
    predicted = model.predict(u, y)
    np.testing.assert_array_equal(np.ravel(predicted), model.model_.predict(U, Y))


def test_columns_name_the_signals() -> None:
    u, y = simulated("F(k) = 0.8*vel(k) + 0.5*acc(k-1)", n_inputs=2)
    frame = pd.DataFrame(u, columns=["vel", "acc"])
    model = quick().fit(frame, pd.Series(y, name="F"))
    assert str(model.posterior_.structure()) == "vel(k) + acc(k-1)"
    assert model.model_.names.output == "F"
    assert model.posterior_.settings["inputs"] == ["vel", "acc"]
    shuffled = frame[["acc", "vel"]].assign(time=0.0)
    assert model.score(shuffled, y) == model.score(frame, y)


def test_records_are_fitted_together_and_never_joined() -> None:
    parts = [slice(0, 150), slice(150, 230), slice(230, 400)]
    u, y = [U[part] for part in parts], [Y[part] for part in parts]
    model = quick().fit(u, y)
    assert model.posterior_.structure() == TRUTH
    assert [len(r) for r in model.posterior_.residuals()] == [148, 78, 168]
    assert [len(run) for run in model.predict(u, y)] == [150, 80, 170]
    assert [len(run) for run in model.simulate(u, [part[:2] for part in y])] == [150, 80, 170]
    assert model.score(u, y) > 70.0
    assert same_draws(model, quick().fit(u[::-1][::-1], tuple(y)))


def test_an_autonomous_system_needs_no_input() -> None:
    y = Model.parse("y(k) = 1.5*y(k-1) - 0.9*y(k-2)", inputs=()).simulate(
        300, noise=np.random.default_rng(1).standard_normal(300)
    )
    model = quick().fit(None, y)
    assert str(model.posterior_.structure()) == "y(k-1) + y(k-2)"
    assert model.n_features_in_ == 0
    np.testing.assert_array_equal(model.predict(None, y), model.predict(300, y))
    assert model.simulate(300, y[:2])[:2].tolist() == y[:2].tolist()
    assert np.isfinite(model.score(None, y))
    assert model.posterior_.select_chain(None, y).n_chains == 1
    several = quick().fit(None, [y[:150], y[150:]])
    assert [len(run) for run in several.predict(None, [y[:150], y[150:]])] == [150, 150]


# It finds the truth


@pytest.mark.parametrize(
    ("equation", "n_inputs", "settings"),
    [
        (LINEAR, 1, {}),
        ("y(k) = 0.7*u(k-2) - 0.4*u(k)*y(k-1)", 1, {}),
        ("y(k) = 0.5*u1(k) + 0.4*u1(k-1)*u2(k) - 0.3*y(k-1)", 2, {}),
        ("y(k) = u(k)*abs(u(k)) + 0.4*y(k-1)", 1, {"functions": "abs"}),
        ("y(k) = 0.8*sin(u(k-1)) + 0.4*y(k-2)", 1, {"functions": ["sin"]}),
    ],
    ids=["linear", "bilinear", "two inputs", "abs", "sin"],
)
def test_it_finds_the_equation_that_made_the_data(equation, n_inputs, settings) -> None:
    truth = Model.parse(equation, inputs=("u",) if n_inputs == 1 else ("u1", "u2"))
    u, y = simulated(equation, n=600, noise=0.05, n_inputs=n_inputs, seed=2)
    posterior = quick(samples=4000, chains=4, **settings).fit(u, y).posterior_
    assert posterior.structure() == truth.structure
    frame = posterior.coefficients()
    z = (frame["mean"] - list(truth.theta)) / frame["sd"]
    assert z.abs().max() < Z  # a Gaussian posterior around estimates with its own spread
    assert abs(posterior.noise["mean"] - 0.05) < Z * posterior.noise["sd"]


@pytest.mark.parametrize("scale", [None, True])
def test_fixed_terms_are_in_every_model_and_their_coefficients_learned(scale) -> None:
    """Their atoms, lags and degree may be outside the grammar."""
    equation = "y(k) = u(k)*abs(u(k)) + 0.5*u(k-4)^3 + 0.4*y(k-1)"
    u, y = simulated(equation, n=600, noise=0.05)
    model = quick(initial="u(k)*abs(u(k)) + u(k-4)^3", scale=scale).fit(u, y)
    posterior = model.posterior_
    assert posterior.structure() == Model.parse(equation).structure
    assert posterior.max_lag == 4
    inclusion = posterior.terms.set_index("term")["inclusion"]
    assert inclusion["u(k)*abs(u(k))"] == inclusion["u(k-4)^3"] == 1.0
    assert model.model_.coefficients["u(k-4)^3"] == pytest.approx(0.5, abs=0.01)
    assert posterior.settings["initial"] == "u(k)*abs(u(k)) + u(k-4)^3"
    assert model.grammar_.alphabet.fixed == Structure.parse(
        "u(k)*abs(u(k)) + u(k-4)^3", TRUTH.names
    )


def test_a_fixed_term_that_does_nothing_stays() -> None:
    posterior = quick(initial="u(k)").fit(U, Y).posterior_
    assert str(posterior.structure()) == "u(k) + u(k-1) + y(k-1)"
    assert posterior.structures["structure"].str.contains(r"u\(k\)").all()


# The result is a function of the seed


def test_the_result_does_not_depend_on_workers_or_memory() -> None:
    def fit(**changed: Any) -> Identifier:
        return quick(samples=6000, chains=4, max_lag=10, max_degree=4, **changed).fit(U, Y)

    alone = fit(n_jobs=1)
    for changed in ({"n_jobs": 4}, {"n_jobs": -1}, {"memory_mb": 1}, {"progress": print_nothing}):
        assert same_draws(fit(**changed), alone)
    assert not same_draws(fit(n_jobs=1, seed=1), alone)


def test_nor_do_candidates_of_informed_moves() -> None:
    """Room for the inner products of 90 terms, where there are 200 candidates."""
    settings = {"samples": 400, "chains": 1, "max_lag": 6, "likelihood_power": 0.02}
    few, much = (
        quick(**settings, search={"candidates": 200}, memory_mb=m).fit(U, Y) for m in (1, 64)
    )
    assert same_draws(few, much)


def print_nothing(snapshot: Snapshot) -> None:
    pass


def test_without_a_seed_the_one_that_was_used_is_reported() -> None:
    model = quick(samples=200, seed=None).fit(U, Y)
    other = quick(samples=200, seed=None).fit(U, Y)
    assert model.seed_ != other.seed_
    assert model.posterior_.settings["seed"] == model.seed_
    assert same_draws(quick(samples=200, seed=model.seed_).fit(U, Y), model)
    assert quick(samples=200, seed=np.int64(3)).fit(U, Y).seed_ == 3


def test_settings_are_plain_values() -> None:
    import json

    posterior = quick(samples=np.int64(200), thin=np.int64(2), grammar=None).fit(U, Y).posterior_
    settings = json.loads(json.dumps(dict(posterior.settings)))
    assert (settings["samples"], settings["thin"], settings["is_complete"]) == (200, 2, True)
    assert set(posterior.timing) == {"compile_s", "sampling_s", "total_s"}


# Odd but legal


def test_the_smallest_runs() -> None:
    for settings in ({"samples": 1, "thin": 1}, {"samples": 7, "thin": 7}, {"burn_in": 0.999}):
        posterior = quick(chains=1, **settings).fit(U, Y).posterior_
        assert len(posterior) >= 1
        assert posterior.structures["mass"].sum() == pytest.approx(1.0)
        assert isinstance(posterior.map_model, Model)
    assert len(quick(samples=7, thin=7).fit(U, Y).posterior_) == 2


def test_output_that_is_noise_gives_the_empty_equation() -> None:
    noise = np.random.default_rng(5).standard_normal(400)
    model = quick(expected_terms=0.01, center=False).fit(U, noise)
    assert str(model.model_) == "y(k) = 0"
    assert model.posterior_.structures["structure"][0] == "0"
    assert model.simulate(U, noise[:2])[2:].tolist() == [0.0] * 398
    assert model.model_.noise_sd == pytest.approx(noise.std(), rel=0.1)
    band = model.posterior_.simulate(U, noise[:2], draws=10)
    assert np.isfinite(band.sd).all()


def test_two_fitted_rows_are_enough_to_run() -> None:
    assert len(quick(samples=50).fit(U[:4], Y[:4]).posterior_) > 0


def test_noise_free_data() -> None:
    u, y = simulated(noise=0.0)
    model = quick().fit(u, y)
    assert model.posterior_.structure() == TRUTH
    assert model.score(u, y) > 99.9


# Ctrl-C, and errors while it runs


def test_interrupted_it_gives_what_there_is() -> None:
    seen: list[int] = []

    def watch(snapshot: Snapshot) -> None:
        if snapshot.n_samples > 10_000 and snapshot.chain not in seen:
            seen.append(snapshot.chain)
            if len(seen) == 2:
                _thread.interrupt_main()

    model = quick(samples=10**8, thin=1000, chains=4, n_jobs=2, progress=watch)
    with pytest.warns(UserWarning, match=r"interrupted: .* 2 of 4 chains and \d+ of 100000000"):
        model.fit(U, Y)
    assert not model.is_complete_
    posterior = model.posterior_
    assert posterior.chain_numbers == (0, 1)
    assert not posterior.settings["is_complete"]
    assert list(posterior.structures.columns[1:3]) == ["chain_0", "chain_1"]
    assert model.score(U, Y) > 50.0
    assert len(posterior.draw_models(3)) == 3
    assert posterior.simulate(U, Y[:2], draws=5).n_draws == 5


def test_interrupted_before_there_is_anything_it_stops() -> None:
    seen: list[Snapshot] = []

    def watch(snapshot: Snapshot) -> None:
        seen.append(snapshot)
        if len(seen) == 2:
            _thread.interrupt_main()

    model = quick(samples=10**8, thin=10**8, chains=1, progress=watch)
    with pytest.raises(KeyboardInterrupt):
        model.fit(U, Y)
    assert not fitted_attributes(model)


def test_interrupted_in_the_first_run_for_the_power_it_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(*arguments, **options):
        return run_chains(*arguments, **options)._replace(is_complete=False)

    monkeypatch.setattr("adjoin.results.pilot.run_chains", stopped)
    model = quick(chains=1, likelihood_power="auto")
    with pytest.raises(KeyboardInterrupt):
        model.fit(U, Y)
    assert not fitted_attributes(model)


def test_the_first_run_for_the_power_is_not_told_to_the_users_progress() -> None:
    seen: list[Snapshot] = []
    quick(samples=50, chains=1, likelihood_power="auto", progress=seen.append).fit(U, Y)
    assert [snapshot.n_samples for snapshot in seen] == [50]


def test_an_error_in_the_users_progress_comes_through() -> None:
    def watch(snapshot: Snapshot) -> None:
        raise RuntimeError("the disk is full")

    model = quick(samples=10**8, thin=1000, progress=watch)
    with pytest.raises(RuntimeError, match="the disk is full"):
        model.fit(U, Y)
    assert not fitted_attributes(model)


def test_progress_is_told_of_every_chain() -> None:
    seen: list[Snapshot] = []
    quick(samples=1000, chains=3, progress=seen.append).fit(U, Y)
    assert {s.chain for s in seen if s.n_samples == 1000} == {0, 1, 2}


def test_progress_is_silent_unless_asked(capfd) -> None:
    quick(samples=100).fit(U, Y)
    assert capfd.readouterr() == ("", "")
    quick(samples=100, progress=True, likelihood_power="auto").fit(U, Y)
    assert capfd.readouterr().out == ""


# The power of the likelihood
