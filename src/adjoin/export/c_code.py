"""One model as C99: a state, and functions that start it, seed it and take a step.

Receives a `Model`; gives `CCode`. Terms are written out in the order in which the kernel adds them
up, so that a compiler that keeps to the order has the same digits.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from adjoin.export.c_parts import (
    CCode,
    comment,
    filled,
    header_text,
    heard,
    members,
    paragraphs,
    past_functions,
    shifted,
    signature,
)
from adjoin.export.c_spelling import Spelling
from adjoin.export.card import Card
from adjoin.export.histories import History, find_histories, value_text
from adjoin.export.identifiers import (
    C_WORDS,
    WIDTH,
    Identifiers,
    comment_text,
    require_identifier,
    wrapped,
)
from adjoin.grammar.equation import term_text
from adjoin.modelling.simulation import Part, in_order

if TYPE_CHECKING:
    from adjoin.model import Model

OWN = ("state", "max_lag", "init", "seed", "step", "predict", "evaluate", "take_in", "push", "fill")
"""What is behind the name of a model in its code, beside functions of terms."""


def c_code(
    model: Model, name: str = "model", single: bool = False, card: Card | None = None
) -> CCode:
    r"""Write a model as C99 without allocation, globals, or libraries but math.h.

    .. math:: y(k) = o_y + \sum_j θ_j \prod_{a \in t_j} f_a(x_a(k - l_a) - o_a)

    Every step does the same work, whatever the values are.

    Parameters
    ----------
    model : Model
        What to write. Noise is zero in free runs; one step ahead, past noise is what was missed.
    name : str
        What types and functions begin with.
    single : bool
        Whether numbers are ``float`` instead of ``double``.
    card : Card, optional
        Units, sampling time and origin. Default: what the model knows of them.
    """
    require_identifier(name, C_WORDS, "C code")
    return _Writer(model, Spelling(name, single), card or Card.of(model)).code


class _Writer:
    """The parts of the text, which refer to each other by name."""

    def __init__(self, model: Model, spelling: Spelling, card: Card) -> None:
        self.model, self.spelling, self.card = model, spelling, card
        self.name, self.real = spelling.name, spelling.real
        names = model.names
        own = {f"{self.name}_{word}" for word in (*OWN, "sign", "exp", "pos")}
        identifiers = Identifiers.of_c({"state", "total", "measured", *own})
        self.argument = {s: identifiers.claim(s) for s in (*names.inputs, names.output)}
        self.history = find_histories(model.structure, names, identifiers)
        self.parts: list[Part] = in_order(model.structure, model.theta, names.output)
        self.inputs = [self.argument[signal] for signal in names.inputs]
        self.output = self.argument[names.output]

    def _of(self, *signals: str) -> list[History]:
        return [history for history in self.history.values() if history.signal in signals]

    @cached_property
    def of_inputs(self) -> list[History]:
        return self._of(*self.model.names.inputs)

    @cached_property
    def of_output(self) -> list[History]:
        return self._of(self.model.names.output)

    @cached_property
    def of_noise(self) -> list[History]:
        return self._of(self.model.names.noise)

    @property
    def code(self) -> CCode:
        header = header_text(self.name, self._about(), self._declarations())
        n_locals = len(self.history) + len(self.inputs) + 8
        outputs = (self.model.names.output,)
        return CCode(self.name, header, self._source(), self._n_bytes, 8 * n_locals, outputs)

    @property
    def _n_bytes(self) -> int:
        size = self.spelling.n_bytes
        found = 4 + sum(2 * size * (h.lag + 1) + 4 for h in self.of_inputs if h.lag)
        return found + sum(2 * size * h.lag + 4 for h in (*self.of_output, *self.of_noise))

    def _about(self) -> list[str]:
        model, name, output = self.model, self.name, self.model.names.output
        lines = [f"{name}.h: {output}(k), found by adjoin", ""]
        lines += wrapped(comment_text(model.format(None)), 88, "    ")
        lines += paragraphs(*self.card.facts(model, model.max_lag))
        renamed = [f"{old} is called {new}" for old, new in self.argument.items() if old != new]
        if renamed:
            lines += paragraphs(f"In this code {', '.join(renamed)}.")
        if model.noise_sd is not None:
            lines += paragraphs(f"Noise of standard deviation {model.noise_sd:.6g} is left out.")
        n_products = sum(map(len, model.structure))
        n_calls = sum(bool(history.word) for history in self.history.values())
        at_rest = "their offsets" if model.offsets else "zero"
        all_after = ", and so do all after it until the next init" if self.of_output else ""
        lines += paragraphs(
            f"{name}_init begins at rest, as if inputs and output had always been at {at_rest}. To"
            f" begin from measured samples, call {name}_seed with the first {model.max_lag} of them"
            f" or more after it. Then {name}_step gives the output at the sample of the inputs from"
            f" its own past outputs (a free run), and {name}_predict what it expects there before"
            " it takes in the measured output (one step ahead).",
            f"A step that is lost, or has an input that is no number, gives NAN{all_after}.",
            f"A step has {n_products} multiplications, {len(model.structure)} additions and"
            f" {n_calls} functions, whatever the values are; a state has {self._n_bytes} bytes."
            " Nothing is allocated or global: one state for each instance. Compiled with"
            " -ffp-contract=off and without -ffast-math it has the digits of adjoin.",
            self.card.provenance,
        )
        given = ", ".join(["&state", *self.inputs])
        return [
            *lines,
            "",
            f"    {name}_state state;",
            f"    {name}_init(&state);",
            f"    {name}_seed({given}, {self.output});     of every measured sample, if any",
            f"    {self.output} = {name}_step({given});    once every sampling time",
        ]

    def _declarations(self) -> str:
        name, real = self.name, self.real
        own = [*self.of_output, *self.of_noise]
        inside = [*members(self.of_inputs, 1, real), *members(own, 0, real)]
        given, measured = self._signatures()
        return "\n".join(
            [
                f"enum {{ {name}_max_lag = {self.model.max_lag} }};",
                "",
                "typedef struct {",
                *inside,
                "    int is_lost; /* whether the last step was */",
                f"}} {name}_state;",
                "",
                f"void {name}_init({name}_state *state);",
                f"void {name}_seed({measured});",
                f"{real} {name}_step({given});",
                f"{real} {name}_predict({measured});",
                "",
            ]
        )

    def _signatures(self) -> tuple[str, str]:
        """What functions take without, and with, the measured output."""
        given = f"{self.name}_state *state{signature(self.inputs, self.real)}"
        return given, f"{given}{signature([self.output], self.real)}"

    def _source(self) -> str:
        has_past = any(history.lag for history in self.history.values())
        words = {history.word for history in self.history.values()}
        made = paragraphs(self.card.provenance)
        return "".join(
            [
                comment([f"{self.name}.c: the equation that {self.name}.h is about.", *made]),
                f'#include "{self.name}.h"\n\n#include <math.h>\n',
                self.spelling.helpers(words),
                past_functions(self.spelling) if has_past else "",
                self._evaluate(),
                self._take_in(),
                self._init(),
                self._functions(),
            ]
        )

    def _evaluate(self) -> str:
        given, _ = self._signatures()
        is_used = any(history.lag for history in self.history.values())
        lines = [] if is_used else ["    (void)state;"]
        lines += heard(self.model, self.of_inputs, self.argument, self.spelling)
        for history in (*self.of_output, *self.of_noise):  # the newest sample is just before it
            place = f"state->past_{history.plain} + state->at_{history.plain}"
            lines.append(
                f"    const {self.real} *const past_{history.plain} = {place} + {history.lag + 1};"
            )
        lines.append(f"    {self.real} total = {self.spelling.number(0.0)};")
        for part in self.parts:
            atoms = [*part.known, *part.back]
            lines.append(f"    /* {comment_text(term_text(tuple(atoms)))} */")
            factors = [self.spelling.number(part.theta)]
            factors += [value_text(atom, self.history) for atom in atoms]
            lines += _statement(factors)
        lines.append("    return total;")
        head = f"\nstatic {self.real} {self.name}_evaluate({given})\n{{\n"
        return head + "\n".join(lines) + "\n}\n"

    def _take_in(self) -> str:
        """Put an output, as a deviation, and what was missed of it into the pasts."""
        if not (self.of_output or self.of_noise):
            return ""
        lines = []
        for source, histories in (("total", self.of_output), ("missed", self.of_noise)):
            lines += [] if histories else [f"    (void){source};"]
            for history in histories:
                value, plain = self.spelling.call(history.word, source), history.plain
                given = f"state->past_{plain}, &state->at_{plain}, {history.lag}u, {value}"
                lines.append(f"    (void){self.name}_push({given});")
        given = f"{self.name}_state *state, {self.real} total, {self.real} missed"
        return f"\nstatic void {self.name}_take_in({given})\n{{\n" + "\n".join(lines) + "\n}\n"

    def _init(self) -> str:
        lines = filled(self.of_inputs, 1, self.spelling)
        lines += filled([*self.of_output, *self.of_noise], 0, self.spelling)
        lines.append("    state->is_lost = 0;")
        head = f"\nvoid {self.name}_init({self.name}_state *state)\n{{\n"
        return head + "\n".join(lines) + "\n}\n"

    def _functions(self) -> str:
        name, real, spelling, model = self.name, self.real, self.spelling, self.model
        given, measured = self._signatures()
        passed = ", ".join(["state", *self.inputs])
        offset = model.offsets.get(model.names.output, 0.0)
        zero, fabs = spelling.number(0.0), f"fabs{spelling.suffix}"
        deviation = shifted(self.output, -offset, spelling)
        is_fed, has_noise = bool(self.of_output), bool(self.of_noise)
        taken, learned, missed = (
            f"{name}_take_in(state, {what});" if is_fed or has_noise else "(void)measured;"
            for what in (f"total, {zero}", f"measured, {zero}", "measured - total")
        )
        missed = missed.replace("state, measured - total", "state, measured, measured - total")
        kept = f"    {taken}\n" if is_fed or has_noise else ""
        # One step ahead nothing that was predicted is fed back, but for what was missed.
        lost = "state->is_lost = 1;" if has_noise else learned
        before = "state->is_lost || " if is_fed or has_noise else ""
        lower, upper = (spelling.limit(bound) for bound in model.bounds)
        inside = f"(total >= {lower} && total <= {upper})"
        if is_fed or not has_noise:
            before_step = "state->is_lost || " if is_fed else ""
            leave = f"    state->is_lost = {before_step}!{inside};\n    if (state->is_lost)\n"
            leave += "        return NAN;\n"
        else:  # an output that is not fed back is lost alone
            leave = (
                f"    if (state->is_lost || !{inside}) {{\n    {kept}        return NAN;\n    }}\n"
            )
        return f"""
void {name}_seed({measured})
{{
    const {real} measured = {deviation};
    (void){name}_evaluate({passed});
    {learned}
}}

{real} {name}_step({given})
{{
    const {real} total = {name}_evaluate({passed});
{leave}{kept}    return {shifted("total", offset, spelling)};
}}

{real} {name}_predict({measured})
{{
    const {real} measured = {deviation};
    const {real} total = {name}_evaluate({passed});
    if ({before}!({fabs}(total) <= {spelling.widest})) {{
        {lost}
        return NAN;
    }}
    {missed}
    return {shifted("total", offset, spelling)};
}}
"""


def _statement(factors: list[str]) -> list[str]:
    """Add a product to the total; broken into lines where it is long."""
    line = f"    total += {' * '.join(factors)};"
    if len(line) <= WIDTH:
        return [line]
    return ["    total +=", *(f"        {f} *" for f in factors[:-1]), f"        {factors[-1]};"]
