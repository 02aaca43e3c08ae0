r"""A ladder of likelihood powers: the same state judged at two of them, and exchanges by that.

With the coefficients integrated out, a state x = (T, σ², σ_θ²) at power w has

.. math::
    \log Z_w(x) = \log \int N(θ; 0, σ_θ² I)\, p(y|θ, σ²)^w dθ
        = -\tfrac{wn}{2} \log σ² - \tfrac{w}{2σ²} ‖y‖² + \log \frac{p(y|T,σ²)}{p(y|∅,σ²)}

up to what is the same for all states. Neighbours c and c + 1 exchange their states with probability

.. math:: \min(1,\; e^{\log Z_c(x') + \log Z_{c+1}(x) - \log Z_c(x) - \log Z_{c+1}(x')})

as the prior is the same on all rungs and the proposal its own reverse. Even and odd pairs take
turns, so that states travel along the ladder rather than to and fro.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.edits import exchange_terms
from adjoin.kernels.evidence import evaluate_present, gather_fit, is_sharp
from adjoin.kernels.layouts import Regression
from adjoin.kernels.rungs import first_of_pairs, rung
from adjoin.kernels.state import Chain, Rules, Target
from adjoin.kernels.tables import ProductTable, Work


class PowerLadder(NamedTuple):
    """The rungs of one chain, coldest first.

    ``state`` : as `Chain`, every array with the rung as its first axis. ``power`` : (n_rungs,) w.
    ``reference`` : (n_rungs,) the noise variance that informed moves are laid out at; ``penalty`` :
    (n_rungs,) what the coefficients' prior has of their exponent, times that.
    ``swap`` : (n_rungs, 2) exchanges with the next rung, tried and made.
    ``is_from_hot`` : (n_rungs,) 1 where the state was at the hottest rung since it was at the
    coldest. ``n_trips`` : (1,) how many came back from there.
    ``interval`` : samples of each rung between two exchanges. ``n_settling`` : how many samples of
    a rung its reference follows; they count for nothing.
    """

    state: Chain
    power: Float1D
    reference: Float1D
    penalty: Float1D
    swap: Int2D
    is_from_hot: Int1D
    n_trips: Int1D
    interval: int
    n_settling: int


@kernel()
def at_power(rules: Rules, power: float) -> Rules:
    """The same rules at another power.

    Mutates: nothing. Allocates: nothing.
    """
    target = rules.target
    return Rules(
        rules.prior,
        rules.moves,
        Target(
            target.noise_shape,
            target.noise_scale,
            power,
            target.coefficient_shape,
            target.coefficient_scale,
            target.thin,
        ),
    )


@kernel()
def log_tempered(
    chain: Chain, power: float, data: Regression, table: ProductTable, work: Work
) -> float:
    """Log Z of a state whose fit is in `work.current`; NaN if it cannot be factorised.

    Mutates: table, work. Allocates: nothing.
    """
    noise, norm = chain.noise[0], data.target_norm
    found = evaluate_present(chain, power, data, table, work)
    if not is_sharp(noise, power, norm):  # where it is, this is in already
        found -= 0.5 * power * norm * norm / noise
    return found - 0.5 * power * data.n_rows * math.log(noise)


@kernel()
def log_gain(
    chain: Chain, here: float, there: float, data: Regression, table: ProductTable, work: Work
) -> float:
    """What a state gains by going from one power to another; -inf if it cannot be there.

    Mutates: table, work. Allocates: nothing.
    """
    gather_fit(chain, data, table, work)
    gain = log_tempered(chain, there, data, table, work)
    gain -= log_tempered(chain, here, data, table, work)
    return gain if not math.isnan(gain) else -math.inf


@kernel()
def count_trips(is_from_hot: Int1D, n_trips: Int1D) -> None:
    """Note who is at the hottest rung, and count who came back to the coldest.

    Mutates: is_from_hot, n_trips. Allocates: nothing.
    """
    n_rungs = is_from_hot.shape[0]
    is_from_hot[n_rungs - 1] = 1
    if n_rungs > 1 and is_from_hot[0] == 1:
        n_trips[0] += 1
        is_from_hot[0] = 0


@kernel()
def exchange_powers(
    rng: np.random.Generator,
    ladder: PowerLadder,
    data: Regression,
    table: ProductTable,
    work: Work,
) -> None:
    """Let every second pair of neighbours exchange their states; count who came back.

    Mutates: rng (one uniform per pair), ladder, table, work. Allocates: nothing.
    """
    state, n_rungs = ladder.state, ladder.power.shape[0]
    for c in range(first_of_pairs(state.n_drawn[0, 0], ladder.interval), n_rungs - 1, 2):
        cold, hot, log_uniform = rung(state, c), rung(state, c + 1), math.log(1.0 - rng.random())
        low, high = ladder.power[c + 1], ladder.power[c]
        log_ratio = log_gain(cold, high, low, data, table, work)
        log_ratio += log_gain(hot, low, high, data, table, work)
        ladder.swap[c, 0] += 1
        if log_uniform < log_ratio:
            ladder.swap[c, 1] += 1
            exchange_terms(cold, hot)
            cold.noise[0], hot.noise[0] = hot.noise[0], cold.noise[0]
            cold.coefficient[0], hot.coefficient[0] = hot.coefficient[0], cold.coefficient[0]
            been = ladder.is_from_hot
            been[c], been[c + 1] = been[c + 1], been[c]
    count_trips(ladder.is_from_hot, ladder.n_trips)
