"""Measured and simulated above what drove them, told apart by everybody, in time and units."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from tests.report.drawn import band_of, line_of, made_up

from adjoin import AdjoinError, Dataset
from adjoin.report.colours import BLUE, CSS_VARIABLES, INK, ORANGE, PAPER, THEMES
from adjoin.report.plots_free_run import plot_free_run

# Machado, Oliveira and Fernandes (2009), severity 1, of linear RGB.
SEEN = {
    "all colours": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(colour: str, seen: str) -> np.ndarray:
    """CIELAB of a colour as it is seen."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(SEEN[seen]) @ linear, 0.0, 1.0)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    t = np.array(to_xyz) @ linear / [0.9505, 1.0, 1.089]
    x, y, z = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("theme", THEMES)
def test_measured_simulated_and_inputs_are_told_apart_by_everybody(seen: str, theme: str) -> None:
    colours = {
        name: THEMES[theme][CSS_VARIABLES[colour]]
        for name, colour in {
            "measured": INK,
            "simulated": ORANGE,
            "input": BLUE,
            "paper": PAPER,
        }.items()
    }
    for one, other in combinations(colours, 2):
        apart = np.linalg.norm(lab(colours[one], seen) - lab(colours[other], seen))
        assert apart > 25.0, (one, other)


def driven(n_inputs: int = 2, n: int = 40) -> Dataset:
    names = tuple(f"signal_number_{i}" for i in range(n_inputs))
    u = np.arange(n * n_inputs, dtype=float).reshape(n, n_inputs) if n_inputs else None
    data = Dataset.from_arrays(
        u, np.linspace(-1.0, 1.0, n), names=(*names, "speed"), sampling_time=0.5
    )
    return replace(data, units=(*["V"] * n_inputs, "m/s"))


def test_inputs_stand_below_the_output_in_the_same_time_with_their_units() -> None:
    data, prediction = driven(), made_up()
    run = prediction.mean + 0.01
    figure = plot_free_run(prediction, data, simulation=run, first=10, last=30, has_error=True)
    output, error, *inputs = figure.axes
    assert np.array_equal(line_of(output, "measured")[:, 1], data.y[10:30])
    assert np.array_equal(line_of(output, "simulation")[:, 1], run[10:30])
    assert output.get_ylabel() == "speed (m/s)"
    assert np.allclose(line_of(error, "measured − simulation")[:, 1], (data.y - run)[10:30])
    for i, ax in enumerate(inputs):
        (line,) = ax.lines
        assert np.array_equal(line.get_ydata(), data.u[10:30, i])
        assert ax.get_title("left") == f"signal_number_{i} (V)"
    for ax in figure.axes:
        assert ax.get_xlim() == (5.0, 14.5)
        assert ax.get_xlabel() == ("time (s)" if ax is inputs[-1] else "")
    assert output.lines[0].get_color() == ORANGE  # the simulation
    assert line_of(output, "measured").shape == (20, 2)
    assert output.lines[1].get_color() == INK
    heights = band_of(error, "95 % of draws")[:, 1]
    assert heights.max() == pytest.approx(0.465)


def test_without_an_equation_of_its_own_the_mean_is_shown() -> None:
    prediction = made_up()
    output = plot_free_run(prediction, driven()).axes[0]
    assert np.array_equal(line_of(output, "mean of 9 draws")[:, 1], prediction.mean)


@pytest.mark.parametrize(("n_inputs", "n_panels", "said"), [(0, 1, ""), (4, 5, ""), (6, 5, "2 ")])
def test_at_most_four_inputs_have_panels(n_inputs: int, n_panels: int, said: str) -> None:
    figure = plot_free_run(made_up(), driven(n_inputs))
    assert len(figure.axes) == n_panels
    label = figure.axes[-1].get_xlabel()
    assert label == ("time (s)" + (f" ({said}more inputs not drawn)" if said else ""))


@pytest.mark.parametrize("width", [3.6, 6.3, 7.5])
def test_long_names_fit_and_keep_their_units(width: float) -> None:
    data = replace(driven(4), units=("mA", "bar", "rpm", "rad", "mm"))
    names = replace(
        data.names,
        inputs=tuple(f"hydraulic_valve_command_current_of_cylinder_{i}" for i in range(4)),
        output="cylinder_piston_displacement_measured",
    )
    figure = plot_free_run(made_up(), replace(data, names=names), width=width, has_error=True)
    for ax, unit in zip(figure.axes[2:], data.units, strict=False):
        assert ax.get_title("left").endswith(f" ({unit})")
    label = figure.axes[0].get_ylabel()
    assert "".join(label.split()) == "cylinder_piston_displacement_measured(mm)"
    assert "\n" in label
    figure.draw_without_rendering()
    box = figure.get_tightbbox()
    assert min(box.x0, box.y0) > -0.02
    assert box.x1 < width + 0.02
    assert box.y1 < figure.get_figheight() + 0.02


def test_an_input_at_rest_is_a_line_on_a_scale() -> None:
    data = Dataset.from_arrays(np.full(40, 3.0), np.linspace(0.0, 1.0, 40))
    low, high = plot_free_run(made_up(), data).axes[1].get_ylim()
    assert low < 3.0 < high


def test_a_record_that_is_not_there_is_refused() -> None:
    with pytest.raises(AdjoinError, match="no record 1; there are 1"):
        plot_free_run(made_up(), driven(), record=1)


def test_a_unit_that_ends_the_name_is_not_said_again_and_few_ticks_stand_beside_an_input() -> None:
    u, y = np.random.default_rng(0).standard_normal((2, 40))
    names = ("drive_V", "load_kW_m_2", "my_signal", "speed_m_s")
    inputs = np.column_stack([9.0 * u, u, u])
    data = Dataset.from_arrays(inputs, y, names=names)
    data = replace(data, units=("V", "kW/m^2", "%", "m/s"))
    response, *panels = plot_free_run(made_up(), data).axes
    assert [panel.get_title("left") for panel in panels] == [
        "drive_V",
        "load_kW_m_2",
        "my_signal (%)",
    ]
    assert response.get_ylabel() == "speed_m_s"
    for panel in panels:
        low, high = panel.get_ylim()
        assert 1 <= sum(low <= place <= high for place in panel.get_yticks()) <= 2
    told = replace(data, units=("mV", "kW", "", "m"))
    assert plot_free_run(made_up(), told).axes[1].get_title("left") == "drive_V (mV)"
