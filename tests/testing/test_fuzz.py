"""A short run of the fuzzers, and that they can find something."""

from __future__ import annotations

import fuzz
import numpy as np
import pytest

import armature as am
from armature.testing import fuzz_bandits

CASES = {fuzz.solver: 60, fuzz.oracles: 80, fuzz.derived: 16, fuzz.bounds: 32}


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
def test_nothing_is_found(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "PROBLEMS", 1)  # as many structures as there are cases
    assert fuzz.run(kind, CASES[kind], seed=1) == []


def test_every_kind_is_run() -> None:
    assert set(CASES) | {fuzz.bandits} == set(fuzz.SHARES)  # bandits have a test of their own
    assert sum(fuzz.SHARES.values()) == pytest.approx(1.0)


def test_a_wrong_oracle_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = am.Structure.nearest_alternative

    def wrong(self, means, weights, best, family) -> am.Fit:
        fit = right(self, means, weights, best, family)
        return am.Fit(fit.means, 1.01 * fit.cost)

    monkeypatch.setattr(am.Structure, "nearest_alternative", wrong)
    assert fuzz.run(fuzz.oracles, 40, seed=1) != []


def test_a_wrong_bandit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(am.Bandit, "ask", lambda self, n=None: np.nan)
    assert fuzz_bandits(3, seed=1) != []
