"""The nine moves by name, with the probability of each.

Receives the user's choice; hands the kernels their table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from adjoin.errors import AdjoinError
from adjoin.grammar.encoding import Encoding
from adjoin.kernels.state import ADD_LAG, N_MOVES, REMOVE_LAG, SWAP_INPUT, SWAP_OUTPUT, MoveTable

_PAIRS = (
    ("add_term", "remove_term"),
    ("add_factor", "remove_factor"),
    ("add_lag", "remove_lag"),
    ("swap_input", "swap_output"),
)


@dataclass(frozen=True)
class Moves:
    """How often each move is tried; constant in the state. Defaults: the paper's.

    A move and its inverse are both possible or both not. The probabilities add up to 1.
    """

    stay: float = 0.30
    add_term: float = 0.12
    remove_term: float = 0.12
    add_factor: float = 0.08
    remove_factor: float = 0.08
    add_lag: float = 0.08
    remove_lag: float = 0.08
    swap_input: float = 0.07
    swap_output: float = 0.07

    def __post_init__(self) -> None:
        for name, value in self.probabilities.items():
            if not (isinstance(value, int | float) and 0.0 <= value <= 1.0):
                raise AdjoinError(f"the probability of move '{name}' must be in [0, 1]: {value!r}")
        total = math.fsum(self.probabilities.values())
        if abs(total - 1.0) > 1e-9:
            raise AdjoinError(f"the probabilities of the moves add up to {total:g}, not to 1")
        for move, inverse in _PAIRS:
            if (getattr(self, move) == 0.0) != (getattr(self, inverse) == 0.0):
                raise AdjoinError(
                    f"'{move}' and '{inverse}' undo each other; give both a probability, or neither"
                )

    @classmethod
    def fixed(cls) -> Moves:
        """Those that keep the terms: only coefficients and noise of the fixed terms are drawn."""
        return cls(1.0, *(0.0 for _ in range(len(fields(cls)) - 1)))

    @property
    def keep_terms(self) -> bool:
        """Whether none of the nine changes the structure."""
        return self.stay == 1.0

    @classmethod
    def read(cls, given: Moves | Mapping[str, float] | None) -> Moves:
        """A user's choice: None (the defaults), or all probabilities by name."""
        if given is None:
            return cls()
        if isinstance(given, Moves):
            return given
        if not isinstance(given, Mapping):
            raise AdjoinError(f"moves must be probabilities by name, not {given!r}")
        known = [field.name for field in fields(cls)]
        if strangers := [name for name in given if name not in known]:
            raise AdjoinError(f"no move is called '{strangers[0]}'; there are {', '.join(known)}")
        return cls(**{name: given.get(name, 0.0) for name in known})

    @property
    def probabilities(self) -> dict[str, float]:
        """Probability by name, in the order of the kernels' codes."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def table(self, encoding: Encoding) -> MoveTable:
        """As the kernels take it."""
        probability = np.array(list(self.probabilities.values()))
        n_choices = np.zeros((N_MOVES, len(encoding.atoms)), dtype=np.int64)
        start = np.zeros_like(n_choices)
        choice: list[int] = []
        for move, table in (
            (ADD_LAG, encoding.older),
            (REMOVE_LAG, encoding.newer),
            (SWAP_INPUT, encoding.output),
            (SWAP_OUTPUT, encoding.inputs),
        ):
            for atom, others in table.items():
                n_choices[move, atom], start[move, atom] = len(others), len(choice)
                choice += others
        with np.errstate(divide="ignore"):
            log_probability = np.log(probability)
        return MoveTable(
            cumulative=np.cumsum(probability),
            log_probability=log_probability,
            n_choices=n_choices,
            choice_start=start,
            choice=np.array(choice, dtype=np.int64),
            n_fixed=len(encoding.alphabet.fixed),
        )
