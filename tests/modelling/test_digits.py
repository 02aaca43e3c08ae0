"""What is printed of a fitted model, read back, runs as the model does."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.exchange.runs import rich
from tests.strategies import structures
from tests.systems import by_hand, quick, simulated

import adjoin
from adjoin import AdjoinError, Dataset, Grammar, Model, Posterior, datasets
from adjoin.data.names import SignalNames
from adjoin.data.scaling import Scaling
from adjoin.inference.rows import Rows
from adjoin.modelling.digits import Digits, FittedTo
from adjoin.modelling.mathml import equation_mathml, offsets_mathml
from adjoin.report.findings import describe, print_findings
from adjoin.report.page import make_page
from adjoin.report.summary import describe_equation
from adjoin.results.assessment import assess

DRIVE = "u(k-1) + y(k-1) + y(k-2)"


def drive(n: int = 3000, encoder: float = 1e-6) -> Dataset:
    """A mass with viscous friction, pushed in steps and sampled at 1 kHz: both poles near 1."""
    rng = np.random.default_rng(0)
    step, decay = 1e-3, math.exp(-2e-3)
    force = np.repeat(rng.standard_normal(n // 50 + 1), 50)[:n]
    truth = Model.parse(f"y(k) = {step**2!r}*u(k-1) + {1 + decay!r}*y(k-1) - {decay!r}*y(k-2)")
    return Dataset.from_arrays(force, truth.simulate(force) + encoder * rng.standard_normal(n))


def of_drive(data: Dataset) -> Model:
    """The true structure, by least squares."""
    return Rows.unscaled(data, 2).white_box(adjoin.Structure.parse(DRIVE, data.names))


def fitted(model: Model, u: object, y: object, n_seed: int | None = None) -> Model:
    """The model as if these data had given it."""
    data = Dataset.from_arrays(u, y, model.names)
    return replace(model, fitted_to=FittedTo(data, model.max_lag if n_seed is None else n_seed))


def change(model: Model, printed: Model, is_free: bool = True) -> float:
    """How far the run of what was printed is from the model's, in standard deviations of noise."""
    data, n_seed = model.fitted_to.data, model.fitted_to.n_seed
    runs = [
        m.free_response(data.inputs, [y[:n_seed] for y in data.outputs])
        if is_free
        else m.predicted_response(data.inputs, data.outputs)
        for m in (model, printed)
    ]
    mine, other = (np.concatenate([s[n_seed:] for s in run.series]) for run in runs)
    return float(np.sqrt(np.mean((other - mine) ** 2))) / model.noise_sd


def read_back(model: Model, offsets: dict[str, float] | None = None) -> Model:
    return Model.parse(model.equation, model.names.inputs, offsets=offsets or model.offsets)


def as_printed(model: Model) -> Model:
    """From what `print` shows, offsets included."""
    equation, _, rest = str(model).partition("    (")
    offsets = {name: float(o) for name, o in re.findall(r"(\w+) from (-?[\d.e+-]+)", rest)}
    return Model.parse(equation, model.names.inputs, offsets=offsets)


def test_the_academic_case_keeps_four_digits() -> None:
    model = adjoin.Identifier(samples=3000, chains=1, seed=0).fit(datasets.academic(0).train).model_
    assert str(model) == "y(k) = 0.5004*u(k-1) - 0.3008*u(k-5)^3 + 0.3006*y(k-1)"
    assert model.digits == Digits(4)
    assert change(model, as_printed(model)) < 0.01


def test_an_oversampled_drive_gets_the_digits_it_needs() -> None:
    data = drive()
    model = of_drive(data)
    y, run = data.y, model.simulate(data.u, data.y[:2])
    error = np.sqrt(np.mean((run - y) ** 2))
    with_5, with_8 = (
        np.sqrt(np.mean((Model.parse(model.format(d)).simulate(data.u, y[:2]) - run) ** 2))
        for d in (5, 8)
    )
    assert with_5 > 1000 * error
    assert with_8 > 100 * model.noise_sd
    assert 10 <= model.digits.coefficients <= 14
    assert change(model, read_back(model)) <= 0.01
    fewer = Model.parse(model.format(model.digits.coefficients - 1))
    assert change(model, fewer) > 0.01
    assert model.digits.remark == ""


def test_more_digits_are_not_always_better_so_each_number_is_tried() -> None:
    """Rounded to 5 digits both poles stay inside the unit circle, to 6 one does not."""
    data = drive(25_000)
    theta = (1.0086900941944e-06, 1.9977055835282, -0.99770557212639)
    model = replace(of_drive(data), theta=theta)
    stable, unstable = (Model.parse(model.format(d)).simulate(data.u, data.y[:2]) for d in (5, 6))
    assert np.abs(stable).max() < 10.0 < 1e6 < np.abs(unstable).max()
    assert change(model, read_back(model)) <= 0.01


def large_offset() -> Model:
    rng = np.random.default_rng(1)
    offsets = {"u": -12_345.678912, "y": 1e6 + 1 / 3}
    model = Model.parse("y(k) = 0.512345678*u(k) + 0.912345678*y(k-1)", None, None, 0.01, offsets)
    u = offsets["u"] + rng.standard_normal(2000)
    return fitted(model, u, model.simulate(u) + 0.01 * rng.standard_normal(2000))


def test_offsets_have_digits_of_their_own() -> None:
    model = large_offset()
    assert model.digits.coefficients <= 6 < 9 <= model.digits.offsets
    assert change(model, read_back(model)) <= 0.01  # with the offsets of the model
    printed = as_printed(model)
    assert printed.offsets != model.offsets
    assert change(model, printed) <= 0.01
    short = {name: float(f"{value:.5g}") for name, value in model.offsets.items()}
    assert change(model, read_back(model, short)) > 1.0


def test_written_out_in_raw_signals_it_needs_more() -> None:
    model = large_offset()
    raw = model.expand()
    assert raw.digits.coefficients > model.digits.coefficients
    assert change(raw, read_back(raw)) <= 0.01


def test_a_run_that_is_lost_is_replaced_by_one_step() -> None:
    model = Model.parse("y(k) = 0.512345678*u(k-1) + 2.512345678*y(k-1)", noise_sd=0.1)
    u = np.random.default_rng(2).standard_normal(1000)
    unstable = fitted(model, u, np.random.default_rng(3).standard_normal(1000))
    assert None not in unstable.free_response(*_free(unstable)).diverged
    assert 4 <= unstable.digits.coefficients <= 6
    assert unstable.digits.remark == ""
    assert change(unstable, read_back(unstable), is_free=False) <= 0.01


def _free(model: Model) -> tuple[object, object]:
    data = model.fitted_to.data
    return data.inputs, [y[: model.fitted_to.n_seed] for y in data.outputs]


def chaotic() -> Model:
    """Of which no rounding survives; its coefficients are no short decimals."""
    r = 3.7 + 1e-3 * math.pi
    model = Model(adjoin.Structure.parse("y(k-1) + y(k-1)^2", SignalNames((), "y")), (r, -r), 0.01)
    return fitted(model, None, model.simulate(3000, [0.3]))


def test_what_needs_all_digits_says_so() -> None:
    model = chaotic()
    assert model.digits[:2] == (None, None)
    assert model.equation == model.format(None)
    assert change(model, read_back(model)) == 0.0
    assert str(model) == (
        f"{model.format(None)}    (needs all digits: with 15, its free run on the training data"
        " changes by more than 1 % of the noise)"
    )
    assert change(model, Model.parse(model.format(15), ())) > 0.01


def test_without_noise_the_output_sets_the_scale() -> None:
    u, y = simulated(n=200)
    given = Model.parse("y(k) = 0.5123456789123*u(k-1) + 0.6123456789123*y(k-1)")
    for noise_sd in (None, 0.0):
        model = fitted(replace(given, noise_sd=noise_sd), u, y)
        by_scale = replace(model, noise_sd=1e-4 * float(np.std(y[1:])))
        assert model.digits == by_scale.digits
        assert 6 <= model.digits.coefficients <= 8


def test_a_model_without_any_finite_run_has_all_digits() -> None:
    model = fitted(Model.parse("y(k) = 1.23456789e120*u(k)"), *simulated(n=20))
    assert "none of its runs" in model.digits.remark
    assert model.equation == "y(k) = 1.23456789e+120*u(k)"


def test_the_largest_number_is_not_rounded_up() -> None:
    largest = 1.7976931348623157e308
    u, y = 1e-300 * np.ones(20), np.arange(20.0)
    model = fitted(Model.parse(f"y(k) = {largest!r}*u(k)", noise_sd=1e12), u, y)
    assert read_back(model).theta[0] < math.inf


def test_a_typed_model_prints_what_reads_back_exactly() -> None:
    model = Model.parse("y(k) = 0.123456789012*u(k)", offsets={"u": 293.1234567})
    assert model.digits == Digits()
    assert str(model) == "y(k) = 0.123456789012*u(k)    (deviations: u from 293.1234567)"
    assert "0.123456789012" in model.latex()
    assert "293.1234567" in model.latex()
    assert model.format(3) == "y(k) = 0.123*u(k)"
    assert "0.12346" in model.latex(5)
    read = describe_equation("y(k) = 0.123456789012*u(k) + 2")
    assert read["latex"] == r"y_{k} = 2 + 0.123456789012\,u_{k}"


@pytest.mark.parametrize("digits", [0, 2.5, "all", True])
def test_digits_that_mean_nothing_are_refused(digits: object) -> None:
    model = Model.parse("y(k) = u(k)")
    for call in (model.format, model.latex):
        with pytest.raises(AdjoinError, match="digits must be at least 1"):
            call(digits)


def test_what_it_was_fitted_to_does_not_make_a_model_another() -> None:
    model = large_offset()
    typed = Model.parse(model.format(None), model.names.inputs, None, 0.01, model.offsets)
    assert model == typed
    assert len({model, typed}) == 1


@given(
    structures(SignalNames(("u", "v"), "y"), noise=False, max_terms=5),
    st.integers(0, 1000),
    st.sampled_from([1e-6, 1e-3, 0.1, 10.0]),
    st.booleans(),
)
def test_whatever_is_printed_reads_back_within_a_hundredth_of_the_noise(
    structure, seed: int, noise_sd: float, is_centred: bool
) -> None:
    rng = np.random.default_rng(seed)
    u = [rng.standard_normal((n, 2)) for n in (60, 50)]
    y = [rng.standard_normal(n) for n in (60, 50)]
    theta = rng.standard_normal(len(structure)) * 10.0 ** rng.integers(-4, 2, len(structure))
    offsets = {"u": 300.0 * rng.standard_normal(), "y": 1e5 * rng.standard_normal()}
    model = Model(structure, tuple(theta), noise_sd, offsets if is_centred else {})
    if is_centred:
        u = [record + np.array([offsets["u"], 0.0]) for record in u]
        y = [record + offsets["y"] for record in y]
    model = fitted(model, u, y, n_seed=7)
    is_free = not any(np.isnan(s).any() for s in model.free_response(*_free(model)).series)
    if "none of its runs" in model.digits.remark:
        assert read_back(model).theta == model.theta
        return
    assert change(model, read_back(model), is_free) <= 0.01
    assert change(model, as_printed(model), is_free) <= 0.01


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    """A centred posterior of the drive, whose signals are far from zero."""
    data = drive(2000)
    y = data.y / np.std(data.y) + 1e3
    scaling = Scaling.from_dataset(Dataset.from_arrays(data.u, y), center=True, scale=False)
    draws = [(DRIVE, [1e-5, 1.99, -0.99], 1e-8), ("y(k-1)", [0.999], 1e-8)]
    grammar = Grammar.narx(("u",), max_lag=2)
    timing = {"compile_s": 0.0, "sampling_s": 0.0, "total_s": 0.0}
    data = Dataset.from_arrays(data.u, y)
    return by_hand(data, [draws], grammar, scaling=scaling, timing=timing)


def test_every_model_of_a_posterior_knows_its_digits(posterior: Posterior, tmp_path: Path) -> None:
    drawn = posterior.draw_models(3)
    assert {m.fitted_to.data for m in drawn} == {posterior.data}
    for model in (posterior.map_model, posterior.model(1), *drawn):
        if not model.digits.remark:
            assert model.digits.coefficients < 16
        is_free = not np.isnan(model.free_response(*_free(model)).series[0]).any()
        assert change(model, read_back(model), is_free) <= 0.01
        assert change(model, as_printed(model), is_free) <= 0.01
    posterior.save(tmp_path / "run.nc")
    assert str(adjoin.load(tmp_path / "run.nc").map_model) == str(posterior.map_model)


def test_all_that_people_read_has_the_same_digits(posterior: Posterior) -> None:
    model = posterior.map_model
    assert model.digits.coefficients > 6
    assert set(model.printed_offsets) == {"u", "y"}
    assert model.printed_offsets["y"] != f"{model.offsets['y']:.5g}"
    numbers = [f"{abs(value):.{model.digits.coefficients}g}" for value in model.theta]
    screen = io.StringIO()
    assessment = assess(posterior, draws=20)
    print_findings(Console(file=screen, width=500), assessment)
    assert f"  {model.equation}\n" in screen.getvalue()
    facts = json.loads(json.dumps(describe(assessment)))
    assert facts["equation"] == model.equation == facts["structures"][0]["equation"]
    page = "".join(equation_mathml(model))
    latex, table = model.latex(), posterior.latex()
    offsets = "".join(offsets_mathml(model))
    for number in numbers:
        mantissa = number.partition("e")[0]
        assert f"<mn>{mantissa}</mn>" in page
        assert mantissa in latex
    for name, offset in model.printed_offsets.items():
        digits = offset.removeprefix("-").partition("e")[0]
        assert f"{name} from {offset}" in screen.getvalue()
        assert f"<mn>{digits}</mn>" in offsets
        assert digits in latex
        assert digits in table


def test_a_page_and_a_terminal_say_that_all_digits_are_needed(posterior: Posterior) -> None:
    remark = chaotic().digits.remark
    needy = replace(posterior)
    needy.__dict__["map_model"] = _needy(posterior.map_model, remark)
    assessment = assess(needy, draws=20)
    screen = io.StringIO()
    print_findings(Console(file=screen, width=500), assessment)
    assert f"  {remark}\n" in screen.getvalue()
    assert f"It {remark}." in make_page(assessment)


def _needy(model: Model, remark: str) -> Model:
    model = replace(model)
    model.__dict__["digits"] = Digits(remark=remark)
    return model


def test_the_white_box_is_printed_alike() -> None:
    posterior = rich()
    known = posterior.white_box
    assert known.fitted_to.data is posterior.data
    assert change(known, as_printed(known)) <= 0.01
    screen = io.StringIO()
    print_findings(Console(file=screen, width=500), assess(posterior, draws=20))
    assert f"white box  {known.equation}  (fixed terms alone)" in screen.getvalue()


def test_files_have_all_digits(tmp_path: Path) -> None:
    model = quick().fit(*simulated()).model_
    assert model.equation != model.format(None)
    model.save(tmp_path / "model.json")
    assert Model.read(tmp_path / "model.json").theta == model.theta
    source = model.python()
    assert model.format(None) in " ".join(source.split())
    assert all(repr(abs(value)) in source for value in model.theta)
