"""With which probability an arm is chosen, exact or estimated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from live_bandits import Coin, refused
from scipy import stats

import armature as am


def test_probabilities_are_those_of_the_decisions() -> None:
    """Two Gaussian posteriors: the first is higher with probability Phi(gap / spread)."""
    bandit = am.Bandit(am.ThompsonSampling(), am.Unconstrained(2), am.Gaussian(2.0), floor=0.05)
    bandit.tell([0, 0, 0, 1, 1], [1.0, 2.0, 3.0, 0.5, 0.7])
    w = stats.norm.cdf((2.0 - 0.6) / (2.0 * math.sqrt(1 / 3 + 1 / 2)))
    expected = 0.05 + 0.9 * np.array([w, 1.0 - w])
    before = bandit.to_json()
    found = bandit.probabilities(draws=4000)
    assert bandit.to_json() == before
    assert found.values.sum() == pytest.approx(1.0)
    errors = 0.9 * math.sqrt(w * (1.0 - w) / 4000)
    assert found.standard_errors == pytest.approx([errors, errors], rel=0.05)
    assert np.abs(found.values - expected).max() < 3.0 * errors
    again = bandit.probabilities(draws=4000)
    assert (again.values == found.values).all()
    asked = np.bincount([ask_once(bandit) for _ in range(2000)], minlength=2)
    assert stats.chisquare(asked, 2000 * expected).pvalue > 0.001


def ask_once(bandit: am.Bandit, **options: Any) -> Any:
    arm = bandit.ask(**options)
    bandit.cancel(arm)
    return arm


def test_errors_of_probabilities_are_honest() -> None:
    """Over many bandits, the estimate is within two standard errors about as often as it says."""
    within, rare = [], []
    for seed in range(60):
        bandit = am.Bandit(am.ThompsonSampling(), am.Unconstrained(2), seed=seed)
        bandit.tell([0, 1], [0.6, 0.0])
        w = stats.norm.cdf(0.6 / math.sqrt(2.0))
        found = bandit.probabilities(draws=100)
        within.append(abs(found.values[0] - w) < 2.0 * found.standard_errors[0])
        bandit.tell([0] * 9, [3.0] * 9)  # the other is drawn about once in 200 times
        rare.append(bandit.probabilities(draws=20).standard_errors.min())
    assert 0.85 <= np.mean(within) <= 1.0
    assert min(rare) > 0.0


def test_probabilities_without_chance_are_exact() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(3), labels=list("xyz"), floor=0.1)
    bandit.tell(list("xyz"), [0.0, 0.0, 9.0])
    found = bandit.probabilities()
    assert found.values == pytest.approx([0.1, 0.1, 0.8])
    assert not found.standard_errors.any()
    found = bandit.probabilities(exclude=["z"])
    assert found.values == pytest.approx([0.9, 0.1, 0.0])
    assert not found.standard_errors.any()
    for draws in (0, -1, 1.5, "many"):
        refused(bandit, "draws must be a whole number", lambda d=draws: bandit.probabilities(d))


def test_probabilities_of_a_policy_in_plain_python() -> None:
    bandit = am.Bandit(Coin(), am.Unconstrained(2), seed=1)
    bandit.tell([0, 1], [0.0, 0.0])
    before = bandit.to_json()
    found = bandit.probabilities(draws=2000)
    assert bandit.to_json() == before
    assert abs(found.values[1] - 0.7) < 3.0 * found.standard_errors[1]
    copy = am.Bandit.from_json(before, policy=Coin())
    assert copy.ask(30) == bandit.ask(30)
