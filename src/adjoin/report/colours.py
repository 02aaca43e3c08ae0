"""The colours of pictures and pages, light and dark.

Pictures are drawn in the light ones; the SVG writer puts the variables of the page in their place.
"""

INK, MUTED, FAINT, PAPER = "#333333", "#6b7280", "#b8bec6", "#ffffff"
# After Okabe and Ito, distinguishable with any colour vision, darkened to be read as text on white.
COLOURS = ("#0072b2", "#d55e00", "#00805e", "#a6508a", "#8a6d00", "#2c6e91", "#b03a2e", "#5b4ba2")
BLUE, ORANGE = COLOURS[:2]

_NAMED = {"ink": INK, "muted": MUTED, "faint": FAINT, "paper": PAPER}
_LIGHT = _NAMED | {f"colour-{i}": colour for i, colour in enumerate(COLOURS, start=1)}
CSS_VARIABLES = {colour: f"--{name}" for name, colour in _LIGHT.items()}
"""The variable of the page that stands for each colour."""

# The same hues, lightened until each has a contrast of at least 4.5 with the dark paper.
_DARK = (
    *("#e3e6ea", "#9aa3af", "#545c68", "#16191d"),
    *("#56b4e9", "#f0904a", "#3fbf97", "#d68fbf", "#d3b13c", "#7fb8d6", "#ec8277", "#a99bea"),
)
THEMES = {
    "light": {variable: colour for colour, variable in CSS_VARIABLES.items()},
    "dark": dict(zip(CSS_VARIABLES.values(), _DARK, strict=True)),
}
"""What a page may set the variables to."""
