"""The recorded samples of all chains, end to end, as the posterior works with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.blocks import pieces
from adjoin.growing import Growing, Room
from adjoin.inference.prior import Prior
from adjoin.inference.traces import IN_MEMORY, ChainTrace

_ENDS = (0.025, 0.975)
_AS_THEY_ARE = ("noise", "coefficient", "log_lik", "log_prior")
_SERIES: Mapping[str, type] = {
    **dict.fromkeys(("chain", "structure", "term", "offset"), np.int64),
    **dict.fromkeys(("theta", "noise_sd", *_AS_THEY_ARE), np.float64),
}
"""What `Draws` has of all chains end to end, and of what type."""


@dataclass(frozen=True)
class Draws:
    """The recorded samples after burn-in of all chains, one after another, in the user's units.

    ``chain``, ``structure`` : (n_draws,) number of the chain and of the structure.
    ``theta``, ``term`` : coefficients of all draws end to end, and the number of each one's term.
    ``offset`` : (n_draws + 1,) the coefficients of draw i are ``theta[offset[i] : offset[i + 1]]``.
    ``noise_sd`` : (n_draws,) standard deviation of the noise.
    ``noise``, ``coefficient`` : (n_draws,) variances σ² and σ_θ² in model units.
    ``log_lik``, ``log_prior`` : (n_draws,) of the draw, and of its structure, in model units.
    ``rho`` : (n_draws, order) coefficients of autoregressive noise; order 0 where it is white.
    """

    chain: Int1D
    structure: Int1D
    theta: Float1D
    term: Int1D
    offset: Int1D
    noise_sd: Float1D
    noise: Float1D
    coefficient: Float1D
    log_lik: Float1D
    log_prior: Float1D
    rho: Float2D

    def __len__(self) -> int:
        return len(self.structure)

    @property
    def size(self) -> Int1D:
        """(n_draws,) number of terms."""
        return np.diff(self.offset)

    @property
    def owner(self) -> Int1D:
        """The number of the draw that each coefficient belongs to."""
        return np.repeat(np.arange(len(self)), self.size)

    @property
    def ends(self) -> Int2D:
        """(n_chains, n) the last n draws of every chain, n those of the shortest.

        Chains differ in length only where a run was interrupted.
        """
        of_chain = [np.flatnonzero(self.chain == number) for number in np.unique(self.chain)]
        shortest = min(map(len, of_chain))
        return np.array([places[len(places) - shortest :] for places in of_chain])


def gather_draws(
    traces: Mapping[int, ChainTrace],
    firsts: Sequence[int],
    numbers: Sequence[Int1D],
    terms: Sequence[Int1D],
    factor: Float1D,
    noise_factor: float,
) -> Draws:
    """Join the traces of all chains, some draws at a time: very long ones lie in files.

    Parameters
    ----------
    traces : mapping of int to ChainTrace
        By the number of the chain.
    firsts : sequence of int
        The first draw of each that counts.
    numbers : sequence of arrays
        What each trace's structures are numbered here.
    terms : sequence of arrays
        The numbers of the terms of each structure.
    factor : (n_terms,) float64
        What turns each term's coefficient into the user's units.
    noise_factor : float
        The same of the noise.
    """
    room = Room(IN_MEMORY)
    found = {name: Growing(kind, room) for name, kind in _SERIES.items()}
    found["offset"].append(np.zeros(1, dtype=np.int64))
    rho, n_entries = [], 0
    for (chain, trace), first, number in zip(traces.items(), firsts, numbers, strict=True):
        n_draws = len(trace.structure)
        rho.append((np.empty((n_draws, 0)) if trace.rho is None else trace.rho)[first:])
        for begin, end in pieces(first, n_draws):
            structure = number[trace.structure[begin:end]]
            term = np.concatenate([np.empty(0), *(terms[s] for s in structure)]).astype(np.int64)
            offset = trace.offset[begin : end + 1]
            found["chain"].append(np.full(len(structure), chain))
            found["structure"].append(structure)
            found["term"].append(term)
            found["theta"].append(trace.theta[offset[0] : offset[-1]] * factor[term])
            found["noise_sd"].append(np.sqrt(trace.noise[begin:end]) * noise_factor)
            for name in _AS_THEY_ARE:
                found[name].append(getattr(trace, name)[begin:end])
            found["offset"].append(offset[1:] - offset[0] + n_entries)
            n_entries += int(offset[-1] - offset[0])
    joined = {name: series.whole for name, series in found.items()}
    return Draws(**joined, rho=np.concatenate(rho))


def averages(values: Float1D, weight: Float1D | None = None) -> tuple[float, float, float, float]:
    """Mean, standard deviation, and the quantiles 0.025 and 0.975; by weight where there is one.

    Weighted quantiles are values themselves, the first below which there is enough weight.
    """
    if weight is None:
        low, high = np.quantile(values, _ENDS)
        return float(values.mean()), float(values.std()), float(low), float(high)
    mean = float(np.average(values, weights=weight))
    sd = float(np.sqrt(np.average((values - mean) ** 2, weights=weight)))
    low, high = np.quantile(values, _ENDS, weights=weight, method="inverted_cdf")
    return mean, sd, float(low), float(high)


def log_density(
    draws: Draws,
    theta: Float1D,
    prior: Prior,
    power: float,
    noise_scale: float,
    has_noise: bool = True,
    n_kept: int = 0,
) -> Float1D:
    r"""Log posterior density of each draw, up to a constant.

    .. math::
        w \log p(y \mid T, θ, σ²) + \log p(T) + \log p(θ \mid σ_θ²) + \log p(σ²) + \log p(σ_θ²)

    the last where σ_θ² is drawn too. `theta` are the coefficients of all draws in model units,
    `power` is w, and `noise_scale` the noise prior's β. Without `has_noise` σ² is not drawn, and
    its prior is left out; so is that of the `n_kept` coefficients of each draw that were fitted
    before, which are zero in `theta`.
    """
    squares = np.bincount(draws.owner, weights=theta**2, minlength=len(draws))
    spread = draws.coefficient
    total: Float1D = power * draws.log_lik + draws.log_prior
    n_drawn = draws.size - n_kept
    total -= 0.5 * (n_drawn * np.log(2.0 * np.pi * spread) + squares / spread)
    if has_noise:
        total += _log_inverse_gamma(draws.noise, prior.noise_shape, noise_scale)
    if prior.coefficient_shape is not None and prior.coefficient_scale is not None:
        total += _log_inverse_gamma(spread, prior.coefficient_shape, prior.coefficient_scale)
    return total


def _log_inverse_gamma(value: Float1D, shape: float, scale: float) -> Float1D:
    r"""Log density of IG(α, β) up to its constant: :math:`-(α + 1) \log x - β/x`."""
    density: Float1D = -(shape + 1.0) * np.log(value) - scale / value
    return density
