r"""Distances on features of a series, for ``Identifier(objective="abc", distance=…)``.

A distance takes the simulated and the measured output of one record, in the user's units and
without the samples that seed the run, and gives a number that is 0 where they are alike. Any
function will do, plain Python or compiled; those here ignore what often cannot be matched point by
point, such as a drifting phase.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjoin.arrays import Float1D
from adjoin.checks import require_count


@dataclass(frozen=True)
class Spectrum:
    r"""How far two power spectra are apart, phases aside, in percent of a decade.

    .. math:: d = 100 \sqrt{\tfrac1B \sum_b (\log_{10} \hat P_b - \log_{10} P_b)²}

    with P_b the mean power in each of B bands of equal width, the mean of the series included in
    the first, and a millionth of the measured power added to both so that empty bands do not count.
    """

    bands: int = 20

    def __post_init__(self) -> None:
        require_count("bands", self.bands)

    def __call__(self, simulated: Float1D, measured: Float1D) -> float:
        """The distance of one record."""
        found, wanted = self._power(simulated), self._power(measured)
        least = 1e-6 * wanted.mean() or 1.0
        apart = np.log10(found + least) - np.log10(wanted + least)
        return float(100.0 * np.sqrt(np.mean(apart**2)))

    def _power(self, series: Float1D) -> Float1D:
        power = np.abs(np.fft.rfft(series)) ** 2
        edge = np.linspace(0, len(power), min(self.bands, len(power)) + 1).astype(int)
        mean: Float1D = np.add.reduceat(power, edge[:-1]) / np.diff(edge)
        return mean


@dataclass(frozen=True)
class Histogram:
    r"""How far two amplitude distributions are apart: the share of samples in other bins, percent.

    .. math:: d = 50 \sum_b |\hat p_b - p_b|

    with p_b the share of samples in each of B bins over the measured range, and one more on either
    side for what is beyond it.
    """

    bins: int = 30

    def __post_init__(self) -> None:
        require_count("bins", self.bins)

    def __call__(self, simulated: Float1D, measured: Float1D) -> float:
        """The distance of one record."""
        inner = np.linspace(measured.min(), measured.max(), self.bins + 1)
        edge = np.concatenate([[-np.inf], inner, [np.inf]])
        edge[-2] = np.nextafter(edge[-2], np.inf)  # the largest measured value is not beyond
        apart = self._share(simulated, edge) - self._share(measured, edge)
        return float(50.0 * np.abs(apart).sum())

    @staticmethod
    def _share(series: Float1D, edge: Float1D) -> Float1D:
        share: Float1D = np.histogram(series, edge)[0] / len(series)
        return share
