"""Where chains of free runs began, and whether that still shows."""

from __future__ import annotations

import numpy as np
import pytest

import adjoin
from adjoin import Identifier
from adjoin.inference.engines.simulation import start_of
from adjoin.inference.start_findings import STARTS, find_stragglers, on_starts, start_name
from adjoin.inference.traces import ChainTrace
from adjoin.levels import CAUTION, GOOD


def _trace(level: float, spread: float = 1.0) -> ChainTrace:
    """A chain whose log likelihood is about this."""
    values = level + spread * np.tile([-1.0, 1.0], 20)
    empty = np.zeros(40)
    return ChainTrace(
        structures=[()],
        structure=np.zeros(40, dtype=np.int64),
        theta=np.empty(0),
        offset=np.zeros(41, dtype=np.int64),
        noise=empty + 1.0,
        coefficient=empty + 1.0,
        log_lik=values,
        log_prior=empty,
        move=np.zeros((9, 3), dtype=np.int64),
        trouble=np.zeros(3, dtype=np.int64),
        n_samples=40,
    )


def test_chains_take_turns_by_their_number() -> None:
    children = np.random.SeedSequence(5).spawn(4)
    assert [start_of(child) for child in children] == [*STARTS, STARTS[0]]
    assert start_of(7) == start_name(0)


@pytest.mark.parametrize(("behind", "is_lost"), [(5.0, False), (35.0, False), (37.0, True)])
def test_a_chain_far_behind_is_a_straggler(behind: float, is_lost: bool) -> None:
    """30 nats and three times the spread of both chains, 1 each."""
    found = find_stragglers({0: _trace(100.0), 3: _trace(100.0 - behind)})
    assert list(found) == ([3] if is_lost else [])
    assert all("began with free-run selection" in reason for reason in found.values())


def test_whether_starts_have_met_is_said() -> None:
    chains = [
        {"chain": i, "start": start_name(i), "log_posterior": value, "spread": 1.0}
        for i, value in enumerate((50.0, 49.0, 51.0))
    ]
    assert [level for level, _, _ in on_starts(chains)] == [GOOD]
    chains[2]["log_posterior"] = 40.0
    [(level, reason, advice)] = on_starts(chains)
    assert level == CAUTION
    assert "began with nothing is 10 nats behind" in reason
    assert advice
    assert on_starts(chains[:1]) == []


def test_a_chain_that_is_left_out_is_named_in_the_verdict_and_the_file(tmp_path) -> None:
    """A chain of one sample that begins with nothing cannot have got anywhere."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal(300)
    y = adjoin.Model.parse("y(k) = 0.5*u(k-1)^3 + 0.9*y(k-1)").simulate(u)
    y = y + 0.01 * rng.standard_normal(300)
    settings = {"objective": "simulation", "max_lag": 2, "max_degree": 3, "center": False}
    fitted = Identifier(**settings, samples=3, burn_in=0.0, thin=1, chains=3, seed=0)
    with pytest.warns(UserWarning, match="chain 2 is left out: it began with nothing"):
        posterior = fitted.fit(u, y).posterior_
    assert posterior.chain_numbers == (0, 1)
    posterior.save(tmp_path / "run.nc")
    for found in (posterior, adjoin.load(tmp_path / "run.nc")):
        reasons = found.diagnostics["verdict"]["reasons"]
        assert any("chain 2 is left out" in reason for reason in reasons)
