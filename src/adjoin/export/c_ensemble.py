"""An ensemble of models as C99: every step gives mean, spread and bands of their runs.

Receives an `Ensemble`; gives `CCode`. What depends on inputs alone is worked out once for all
models, and each structure is written once, with a table of coefficients.
"""

from __future__ import annotations

from functools import cached_property

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
from adjoin.export.c_spelling import Spelling, value_at
from adjoin.export.card import Card
from adjoin.export.ensemble import Ensemble
from adjoin.export.histories import find_histories, value_text
from adjoin.export.identifiers import (
    C_WORDS,
    Identifiers,
    comment_text,
    require_identifier,
    wrapped,
)
from adjoin.grammar.equation import term_text
from adjoin.grammar.terms import Atom
from adjoin.modelling.simulation import Part, in_order

OWN = ("state", "output", "max_lag", "n_models", "n_bands", "init", "seed", "step", "evaluate")
_INSIDE = (
    "take_in",
    "push",
    "fill",
    "spread",
    "shift",
    "quantile",
    "summarise",
    "sign",
    "exp",
    "pos",
)

_MOST_SHOWN = 8  # structures in the header


def c_ensemble(
    ensemble: Ensemble, name: str = "model", single: bool = False, card: Card | None = None
) -> CCode:
    """Write models that run side by side as C99, as `c_code` does one.

    A run that is lost is left out from there on, and counted. All else is for `Ensemble` to say.

    Parameters
    ----------
    ensemble : Ensemble
        What to write.
    name, single, card
        As for `c_code`.
    """
    require_identifier(name, C_WORDS, "C code")
    card = card or Card.of(ensemble.models[0])
    return _Writer(ensemble, Spelling(name, single), card).code


class _Writer:
    """The parts of the text, which refer to each other by name."""

    def __init__(self, ensemble: Ensemble, spelling: Spelling, card: Card) -> None:
        self.ensemble, self.spelling, self.card = ensemble, spelling, card
        self.model = ensemble.models[0]
        self.name, self.real, self.n = spelling.name, spelling.real, len(ensemble.models)
        names = self.model.names
        own = {f"{self.name}_{word}" for word in (*OWN, *_INSIDE)}
        own |= {f"{self.name}_theta_{i}" for i in range(len(ensemble.groups))}
        used = ("state", "output", "run", "shared", "theta", "measured", "i", "j", "n", "at")
        identifiers = Identifiers.of_c({*used, *own})
        self.argument = {s: identifiers.claim(s) for s in (*names.inputs, names.output)}
        self.inputs = [self.argument[signal] for signal in names.inputs]
        self.parts = [self._parts(group[0]) for group in ensemble.groups]
        terms = [tuple([*p.known, *p.back]) for parts in self.parts for p in parts]
        self.history = find_histories(terms, names, identifiers)
        self.of_inputs = [h for h in self.history.values() if h.signal in names.inputs]
        self.of_output = [h for h in self.history.values() if h.signal == names.output]
        products = dict.fromkeys(tuple(p.known) for parts in self.parts for p in parts if p.known)
        self.shared = {atoms: place for place, atoms in enumerate(products)}
        atoms = dict.fromkeys(atom for parts in self.parts for p in parts for atom in p.back)
        self.back = {atom: self._claim_back(atom, identifiers) for atom in atoms}

    def _parts(self, number: int) -> list[Part]:
        """The terms of a model; those of past noise are zero in a run."""
        model = self.ensemble.models[number]
        parts = in_order(model.structure, model.theta, model.names.output)
        noise = model.names.noise
        return [part for part in parts if all(atom.signal != noise for atom in part.known)]

    def _claim_back(self, atom: Atom, identifiers: Identifiers) -> str:
        plain = self.history[atom.signal, atom.function].plain
        return identifiers.claim(f"past_{plain}_{atom.lag}")

    @cached_property
    def max_lag(self) -> int:
        """The largest of all models."""
        return max(model.max_lag for model in self.ensemble.models)

    @property
    def code(self) -> CCode:
        header = header_text(self.name, self._about(), self._declarations())
        output = self.model.names.output
        bands = [f"{output}_q{100 * q:g}".replace(".", "_") for q in self.ensemble.quantiles]
        outputs = (output, f"{output}_sd", f"{output}_model_sd", *bands, f"{output}_n_lost")
        return CCode(self.name, header, self._source(), self._n_bytes, self._n_stack_bytes, outputs)

    @property
    def _n_bytes(self) -> int:
        size = self.spelling.n_bytes
        found = 3 * self.n + sum(2 * size * (h.lag + 1) + 4 for h in self.of_inputs if h.lag)
        return found + sum(size * h.lag * self.n + 4 for h in self.of_output)

    @property
    def _n_stack_bytes(self) -> int:
        """Runs, the shared products and the sorted runs; evaluating is done before sorting."""
        n_numbers = 2 * self.n + len(self.shared) + len(self.history) + len(self.back) + 24
        return max(self.spelling.n_bytes, 8) * n_numbers

    def _about(self) -> list[str]:
        model, name, ensemble = self.model, self.name, self.ensemble
        output, n = model.names.output, self.n
        quantiles = ", ".join(f"{q:g}" for q in ensemble.quantiles)
        n_shared = sum(len(atoms) - 1 for atoms in self.shared)
        sizes = list(zip(ensemble.groups, self.parts, strict=True))
        n_sums = sum(len(g) * len(parts) for g, parts in sizes)
        n_products = n_shared + sum(
            len(g) * sum(bool(p.known) + len(p.back) for p in parts) for g, parts in sizes
        )
        lines = [f"{name}.h: {output}(k) by {n} models drawn from a posterior, found by adjoin"]
        lines += paragraphs(*self.card.facts(model, self.max_lag))
        lines += paragraphs(f"The models, drawn with seed {ensemble.seed}:")
        for group, parts in sizes[:_MOST_SHOWN]:
            text = f"{len(group)} of {_structure_text(parts)}"
            lines += wrapped(comment_text(text), 88, "    ")
        if len(sizes) > _MOST_SHOWN:
            lines.append(f"    and {len(sizes) - _MOST_SHOWN} structures more, in {name}.c")
        lines += paragraphs(
            f"A step gives the mean of the runs without noise (mean), their standard deviation"
            f" (model_sd: how far the models differ), that with noise (sd), and quantiles with"
            f" noise (band, at {quantiles}): a measured sample is between two of them as often"
            f" as these say. {ensemble.noise_words} Of each model it is the same at all times, so"
            " that bands do not shake; after a beginning from measured samples they are somewhat"
            " wide until noise has built up.",
            "A run that is lost is left out from there on and counted in n_lost, until the next"
            f" init. Without any run left all is NAN. {name}_init begins at rest; {name}_seed takes"
            f" in a measured sample: {self.max_lag} of them begin a run, or bring one back to what"
            " was measured.",
            f"A step has {n_products} multiplications and {n_sums} additions for the runs, and at"
            f" most {n * (n - 1) // 2} comparisons and moves to sort them, but about {n} where they"
            f" are in the order of the step before. A state has {self._n_bytes} bytes, and a step"
            f" needs about {self._n_stack_bytes} bytes of stack."
            f" Coefficients are {self._n_table_bytes} bytes of constants. Nothing is allocated or"
            " global: one state for each instance.",
            self.card.provenance,
        )
        given = ", ".join(["&state", *self.inputs])
        return [
            *lines,
            "",
            f"    {name}_state state;",
            f"    {name}_output now;",
            f"    {name}_init(&state);",
            f"    {name}_step({given}, &now);    once every sampling time",
        ]

    @property
    def _n_table_bytes(self) -> int:
        sizes = zip(self.ensemble.groups, self.parts, strict=True)
        return self.spelling.n_bytes * (2 * self.n + sum(len(g) * len(p) for g, p in sizes))

    def _declarations(self) -> str:
        name, real, n = self.name, self.real, self.n
        pasts = [f"    {real} past_{h.plain}[{h.lag}][{n}];" for h in self.of_output]
        pasts += [f"    unsigned at_{h.plain};" for h in self.of_output]
        numbers = f"{name}_max_lag = {self.max_lag}, {name}_n_models = {n}"
        given, measured = self._signatures()
        return "\n".join(
            [
                f"enum {{ {numbers}, {name}_n_bands = {len(self.ensemble.quantiles)} }};",
                "",
                "typedef struct {",
                *members(self.of_inputs, 1, real),
                *pasts,
                f"    unsigned short order[{n}];",
                f"    unsigned char is_lost[{n}];",
                f"}} {name}_state;",
                "",
                "typedef struct {",
                f"    {real} mean, sd, model_sd;",
                f"    {real} band[{len(self.ensemble.quantiles)}];",
                "    int n_lost;",
                f"}} {name}_output;",
                "",
                f"void {name}_init({name}_state *state);",
                f"void {name}_seed({measured});",
                f"void {name}_step({given}, {name}_output *output);",
                "",
            ]
        )

    def _signatures(self) -> tuple[str, str]:
        """What functions take without, and with, the measured output."""
        given = f"{self.name}_state *state{signature(self.inputs, self.real)}"
        return given, f"{given}{signature([self.argument[self.model.names.output]], self.real)}"

    def _source(self) -> str:
        made = paragraphs(self.card.provenance)
        words = {history.word for history in self.history.values()}
        has_past = any(history.lag for history in self.of_inputs)
        return "".join(
            [
                comment([f"{self.name}.c: the models that {self.name}.h is about.", *made]),
                f'#include "{self.name}.h"\n\n#include <math.h>\n',
                self.spelling.helpers(words),
                past_functions(self.spelling) if has_past else "",
                self._tables(),
                self._evaluate(),
                self._take_in(),
                self._summarise(),
                self._functions(),
            ]
        )

    def _tables(self) -> str:
        number, ensemble = self.spelling.number, self.ensemble
        order = [i for group in ensemble.groups for i in group]
        spread = [ensemble.spread[i] for i in order]
        shift = [ensemble.spread[i] * float(ensemble.score[i]) for i in order]
        text = ""
        for word, values in (("spread", spread), ("shift", shift)):
            text += f"\nstatic const {self.real} {self.name}_{word}[{self.n}] = {{\n"
            text += "".join(f"    {number(value)},\n" for value in values) + "};\n"
        quantiles = ", ".join(map(number, ensemble.quantiles))
        n_bands = len(ensemble.quantiles)
        text += f"\nstatic const {self.real} {self.name}_quantile[{n_bands}] = {{{quantiles}}};\n"
        for place, (group, parts) in enumerate(zip(ensemble.groups, self.parts, strict=True)):
            if parts:
                shape = f"[{len(group)}][{len(parts)}]"
                text += f"\nstatic const {self.real} {self.name}_theta_{place}{shape} = {{\n"
                for i in group:
                    row = ", ".join(number(part.theta) for part in self._parts(i))
                    text += f"    {{{row}}},\n"
                text += "};\n"
        return text

    def _evaluate(self) -> str:
        given, _ = self._signatures()
        has_past = any(history.lag for history in self.history.values())
        lines = [] if has_past else ["    (void)state;"]
        lines += heard(self.model, self.of_inputs, self.argument, self.spelling)
        if self.shared:
            lines.append(f"    {self.real} shared[{len(self.shared)}];")
        for atom, pointer in self.back.items():
            history = self.history[atom.signal, atom.function]
            at = f"(state->at_{history.plain} + {history.lag + 1 - atom.lag}u) % {history.lag}u"
            row = f"state->past_{history.plain}[{at}]"
            lines.append(f"    const {self.real} *const {pointer} = {row};")
        lines.append("    int i;")
        for atoms, place in self.shared.items():
            product = " * ".join(value_text(atom, self.history) for atom in atoms)
            lines.append(f"    shared[{place}] = {product};")
        first = 0
        for place, (group, parts) in enumerate(zip(self.ensemble.groups, self.parts, strict=True)):
            lines.append(f"    /* {comment_text(_structure_text(parts))} */")
            place_of = f"{first} + i" if first else "i"
            lines.append(f"    for (i = 0; i < {len(group)}; i++) {{")
            if parts:
                table = f"{self.name}_theta_{place}[i]"
                lines.append(f"        const {self.real} *const theta = {table};")
            lines.append(f"        {self.real} total = {self.spelling.number(0.0)};")
            for j, part in enumerate(parts):
                lines.append(f"        total += {self._product(j, part, place_of)};")
            lines.append(f"        run[{place_of}] = total;")
            lines.append("    }")
            first += len(group)
        head = f"\nstatic void {self.name}_evaluate({given}, {self.real} *run)\n{{\n"
        return head + "\n".join(lines) + "\n}\n"

    def _product(self, j: int, part: Part, place_of: str) -> str:
        factors = [f"theta[{j}]"]
        factors += [f"shared[{self.shared[tuple(part.known)]}]"] if part.known else []
        factors += [f"{self.back[atom]}[{place_of}]" for atom in part.back]
        return " * ".join(factors)

    def _take_in(self) -> str:
        """Put outputs, as deviations, into the pasts: of run i what `total[i * stride]` says."""
        if not self.of_output:
            return ""
        lines = ["    int i;"]
        for history in self.of_output:
            at = f"state->at_{history.plain}"
            lines.append(f"    {at} = ({at} + 1u) % {history.lag}u;")
        lines.append(f"    for (i = 0; i < {self.n}; i++) {{")
        lines.append(f"        const {self.real} value = total[i * stride];")
        for history in self.of_output:
            place = f"state->past_{history.plain}[state->at_{history.plain}][i]"
            lines.append(f"        {place} = {self.spelling.call(history.word, 'value')};")
        lines.append("    }")
        given = f"{self.name}_state *state, const {self.real} *total, int stride"
        return f"\nstatic void {self.name}_take_in({given})\n{{\n" + "\n".join(lines) + "\n}\n"

    def _summarise(self) -> str:
        name, real, s = self.name, self.real, self.spelling.suffix
        zero, one = self.spelling.number(0.0), self.spelling.number(1.0)
        offset = self.model.offsets.get(self.model.names.output, 0.0)
        infinity = "HUGE_VALF" if self.spelling.single else "HUGE_VAL"
        return f"""
/* Sorted by insertion in the order of the last step, which is nearly that of this one. */
static void {name}_summarise({name}_state *state, const {real} *run, {name}_output *output)
{{
    {real} sorted[{self.n}], mean = {zero}, square = {zero}, noise = {zero}, n_kept;
    int i, j, n = 0;
    for (i = 0; i < {self.n}; i++) {{
        const unsigned short own = state->order[i];
        const {real} value = state->is_lost[own] ? {infinity} : run[own] + {name}_shift[own];
        for (j = i; j > 0 && sorted[j - 1] > value; j--) {{
            sorted[j] = sorted[j - 1];
            state->order[j] = state->order[j - 1];
        }}
        sorted[j] = value;
        state->order[j] = own;
        if (!state->is_lost[i]) {{
            n++;
            mean += run[i];
            noise += {name}_spread[i] * {name}_spread[i];
        }}
    }}
    output->n_lost = {self.n} - n;
    n_kept = ({real})n;
    mean = n > 0 ? mean / n_kept : NAN;
    for (i = 0; i < {self.n}; i++)
        if (!state->is_lost[i])
            square += (run[i] - mean) * (run[i] - mean);
    output->mean = {shifted("mean", offset, self.spelling)};
    output->model_sd = n > 0 ? sqrt{s}(square / n_kept) : NAN;
    output->sd = n > 0 ? sqrt{s}((square + noise) / n_kept) : NAN;
    for (i = 0; i < {len(self.ensemble.quantiles)}; i++) {{
        {real} rank = {name}_quantile[i] * (n_kept + {one}) - {one};
        rank = rank < n_kept - {one} ? rank : n_kept - {one};
        rank = rank > {zero} ? rank : {zero};
        j = (int)rank;
        output->band[i] = n > 0 ? sorted[j] : NAN;
        if (j + 1 < n)
            output->band[i] += (rank - ({real})j) * (sorted[j + 1] - sorted[j]);
        output->band[i] = {shifted("output->band[i]", offset, self.spelling)};
    }}
}}
"""

    def _functions(self) -> str:
        name, real, spelling = self.name, self.real, self.spelling
        given, measured = self._signatures()
        passed = ", ".join(["state", *self.inputs])
        output = self.argument[self.model.names.output]
        offset = self.model.offsets.get(self.model.names.output, 0.0)
        lower, upper = (spelling.limit(bound) for bound in self.model.bounds)
        zero, n, n_fed = spelling.number(0.0), self.n, self.ensemble.n_fed
        learned = f"{name}_take_in(state, &measured, 0);" if self.of_output else "(void)measured;"
        kept = f"    {name}_take_in(state, run, 1);\n" if self.of_output else ""
        stays = f"(i < {n_fed} && state->is_lost[i]) || " if n_fed else ""
        begin = "\n".join([*filled(self.of_inputs, 1, spelling), *self._rest()])
        return f"""
void {name}_init({name}_state *state)
{{
    int i;
{begin}
    for (i = 0; i < {n}; i++) {{
        state->is_lost[i] = 0;
        state->order[i] = (unsigned short)i;
    }}
}}

void {name}_seed({measured})
{{
    const {real} measured = {shifted(output, -offset, spelling)};
    {real} run[{n}];
    {name}_evaluate({passed}, run);
    {learned}
}}

void {name}_step({given}, {name}_output *output)
{{
    {real} run[{n}];
    int i;
    {name}_evaluate({passed}, run);
    for (i = 0; i < {n}; i++) {{
        state->is_lost[i] = {stays}!(run[i] >= {lower} && run[i] <= {upper});
        if (state->is_lost[i])
            run[i] = {zero};
    }}
{kept}    {name}_summarise(state, run, output);
}}
"""

    def _rest(self) -> list[str]:
        lines: list[str] = []
        for history in self.of_output:
            lines += [f"    state->at_{history.plain} = 0u;"]
            lines += [f"    for (i = 0; i < {history.lag * self.n}; i++)"]
            at = f"state->past_{history.plain}[i / {self.n}][i % {self.n}]"
            lines += [f"        {at} = {self.spelling.number(value_at(history.word, 0.0))};"]
        return lines


def _structure_text(parts: list[Part]) -> str:
    """The terms of a structure, as they are added up."""
    return " + ".join(term_text(tuple([*part.known, *part.back])) for part in parts) or "0"
