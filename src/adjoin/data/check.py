"""Whether data are fit to be learned from: all checks, and their result.

Receives a path or a `Dataset`; gives a `DataCheck` for people, tables and JSON. The checks are in
``checking``, one kind of fault each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from adjoin.data.checking.excitation import find_excitation
from adjoin.data.checking.finding import Finding
from adjoin.data.checking.relations import find_relations
from adjoin.data.checking.sampling import find_sampling
from adjoin.data.checking.signals import find_in_signals
from adjoin.data.checking.timing import find_missing, find_size, find_timing
from adjoin.data.dataset import Dataset
from adjoin.data.missing import Missing
from adjoin.data.readers import read_damaged
from adjoin.errors import AdjoinError
from adjoin.levels import CAUTION, GOOD, POOR, worst

if TYPE_CHECKING:
    from pandas import DataFrame

_RANK = {POOR: 0, CAUTION: 1, GOOD: 2}


@dataclass(frozen=True, eq=False, repr=False)
class DataCheck:
    """What was noticed about data, worst first.

    Parameters
    ----------
    data : Dataset
        What was looked at.
    findings : tuple of Finding
        Each with `name`, `level` (good, caution or poor), `words` and `remedy`.
    """

    data: Dataset
    findings: tuple[Finding, ...]

    @property
    def level(self) -> str:
        """The worst level of all findings."""
        return worst(finding.level for finding in self.findings)

    @property
    def table(self) -> DataFrame:
        """One row per finding."""
        import pandas

        columns = ["level", "name", "words", "remedy"]
        return pandas.DataFrame([finding.plain for finding in self.findings], columns=columns)

    @property
    def plain(self) -> dict[str, Any]:
        """For JSON."""
        data = self.data
        return {
            "level": self.level,
            "findings": [finding.plain for finding in self.findings],
            "data": {
                "label": data.label,
                "n_records": data.n_records,
                "n_samples": data.n_samples,
                "inputs": list(data.names.inputs),
                "output": data.names.output,
                "units": list(data.units),
                "sampling_time": data.sampling_time,
                "prepared": list(data.prepared),
            },
        }

    def __repr__(self) -> str:
        lines = [f"{self.data!r}: {self.level}"]
        for finding in self.findings:
            lines.append(f"  {finding.level:8}{finding.name}: {finding.words}")
            lines += [f"          → {finding.remedy}"] if finding.remedy else []
        return "\n".join(lines)


def check_data(
    data: Dataset | str | os.PathLike[str],
    inputs: str | Iterable[str] | None = None,
    output: str | None = None,
    *,
    sampling_time: float | None = None,
    decimal: str | None = None,
    fill: int | None = None,
) -> DataCheck:
    """Look for what makes measured data hard to learn from, before a fit.

    Gaps and irregular sampling, missing values, too few samples, stuck or clipped or quantised
    sensors, offsets, drift, spikes, inputs that excite little or are one, too fast or too slow
    sampling, delays, feedback, swapped columns, an output among the inputs.

    Parameters
    ----------
    data : Dataset or path
    inputs, output, sampling_time, decimal, fill
        Of a path, as for `read_data`. Missing values are found rather than refused, and those up to
        5 in a row, or `fill`, are filled in for the other checks.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> u = rng.normal(size=500)
    >>> y = 20.0 + np.convolve(u, [0.0, 0.0, 1.0, 0.5])[:500] + 0.05 * rng.normal(size=500)
    >>> found = check_data(Dataset.from_arrays(u, y))
    >>> found.level
    'caution'
    >>> [finding.name for finding in found.findings]
    ['offset', 'excitation', 'delay', 'sampling']
    """
    if not isinstance(data, Dataset):
        return check_files(
            [data], inputs, output, sampling_time=sampling_time, decimal=decimal, fill=fill
        )
    if any(value is not None for value in (inputs, output, sampling_time, decimal, fill)):
        raise AdjoinError(
            "inputs, output and the other arguments are for a file; a Dataset has its own."
        )
    return _check(data, Missing())


def check_files(
    files: Sequence[str | os.PathLike[str]],
    inputs: str | Iterable[str] | None = None,
    output: str | None = None,
    *,
    sampling_time: float | None = None,
    decimal: str | None = None,
    fill: int | None = None,
    prepare: Callable[[Dataset], Dataset] = lambda data: data,
) -> DataCheck:
    """Check the records of several files together, after `prepare`; else as `check_data`."""
    read = [read_damaged(file, inputs, output, sampling_time, decimal, fill) for file in files]
    data = prepare(Dataset.join([part for part, _ in read]))
    found = reduce(Missing.joined, [missing for _, missing in read])
    return _check(data, found, fill)


def _check(data: Dataset, missing: Missing, fill: int | None = None) -> DataCheck:
    findings = [
        *find_missing(missing, fill),
        *find_timing(data),
        *find_size(data),
        *find_in_signals(data),
    ]
    if data.timing is None or not data.timing.is_irregular:  # else a lag is no time
        findings += [*find_excitation(data), *find_relations(data), *find_sampling(data)]
    return DataCheck(data, tuple(sorted(findings, key=lambda finding: _RANK[finding.level])))
