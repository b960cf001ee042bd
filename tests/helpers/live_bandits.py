"""What tests of live bandits share: a problem for each policy, a coin, and what a refusal is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import armature as am

PROBLEMS = (
    am.Instance(am.Unimodal(5), [0.0, 1.0, 3.0, 2.0, 0.5]),
    am.Instance(am.Categorised("aabbb"), [3.0, 2.0, 1.0, 0.0, 0.5]),
    am.Instance(am.Linear([[3.0, 0.0], [2.0, 1.0], [0.0, 2.0], [1.0, 1.0]]), [3.0, 2.0, 0.0, 1.0]),
    am.Instance(am.Sparse(5, 2, 0.0), [3.0, 2.0, 0.0, 0.0, 0.0]),
    am.Instance(am.Finite([[3.0, 2.0, 1.0], [0.0, 1.0, 2.0], [1.0, 3.0, 0.0]]), [3.0, 2.0, 1.0]),
)


def problem_for(policy: am.Policy) -> am.Instance:
    """One that the policy is for; the second best arm is better than the third by 1."""
    return next(i for i in PROBLEMS if policy.supports(i.structure, i.family))


def refused(bandit: am.Bandit, complaint: str, call: Callable[[], Any]) -> None:
    """It says so, and nothing has changed."""
    before = bandit.to_json()
    with pytest.raises(am.ArmatureError, match=complaint):
        call()
    assert bandit.to_json() == before


class Coin(am.PythonPolicy):
    """In plain Python: counts its asks, and throws a coin."""

    def init(self, structure, family):
        return {"asked": 0}

    def choose(self, state, problem, history, rng):
        state["asked"] += 1
        return int(rng.random() < 0.7)
