"""Finite in, finite out: live bandits on anything that is supported, and what is not is refused."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import armature as am
from armature.policies.baselines.catse import clipped_level
from armature.storage.registry import FAMILIES
from armature.testing import fuzz_bandits

CASES = 300  # of all policies, structures and families; `make fuzz` plays more


def test_live_bandits_survive_anything() -> None:
    assert fuzz_bandits(CASES, seed=0) == []


class Fails(am.PythonPolicy):
    """Breaks down once it has seen a reward that is not of ordinary size."""

    def choose(self, state, problem, history, rng):
        if np.abs(history.means).max() > 1e9:
            raise ZeroDivisionError
        return 0


class Forgets(am.PythonPolicy):
    """Keeps in itself what belongs into its state."""

    calls: ClassVar[list[int]] = []

    def choose(self, state, problem, history, rng):
        self.calls.append(1)
        return len(self.calls) % problem.structure.n_arms


class Mute(am.PythonPolicy):
    def choose(self, state, problem, history, rng):
        return 0

    def explain(self, belief):
        return f"{1 // int(belief.misfit > 1e9)}"


class Strays(am.PythonPolicy):
    def choose(self, state, problem, history, rng):
        return -1 if history.means.min() == history.means.max() else 0


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (Fails(), "ZeroDivisionError"),
        (Forgets(), "goes on differently"),
        (Mute(), "ZeroDivisionError"),
        (Strays(), "Strays chose -1"),
    ],
)
def test_the_fuzzer_finds_what_is_planted(policy: am.Policy, error: str) -> None:
    findings = fuzz_bandits(40, policies=[policy])
    assert any(error in finding.error for finding in findings)
    number = findings[0].number  # and the number is enough to see it again
    assert fuzz_bandits(1, first=number, policies=[policy])[0].case == findings[0].case


@pytest.mark.parametrize("reward", [1e31, -1e31, 1e100, 1e308])
def test_rewards_beyond_the_range_are_refused(reward: float) -> None:
    bandit = am.Bandit(am.SPLambda(), am.Unimodal(3))
    with pytest.raises(am.ArmatureError, match="is beyond what is supported, numbers between -1e"):
        bandit.tell(0, reward)
    assert bandit.pulls.sum() == 0


@pytest.mark.parametrize("sigma", [1e200, 1e31, 1e-31, 5e-324])
def test_scales_beyond_the_range_are_refused(sigma: float) -> None:
    with pytest.raises(am.ArmatureError, match="is beyond what is supported, from 1e-30 to 1e"):
        am.Gaussian(sigma)


@pytest.mark.parametrize(
    "policy", [am.UCB(), am.KLUCB(), am.IMED(), am.ThompsonSampling()], ids=lambda p: p.name
)
@pytest.mark.parametrize("power", [-95, 95])
def test_the_unit_does_not_matter(policy: am.Policy, power: int) -> None:
    """At either end of the range, the decisions of a power of two times the rewards."""
    unit, rewards = 2.0**power, np.random.default_rng(0).normal([0.0, 0.5, 1.0], 1.0, (60, 3))
    plain = am.Bandit(policy, am.Unconstrained(3))
    scaled = am.Bandit(policy, am.Unconstrained(3), am.Gaussian(unit))
    arms = []
    for row in rewards:
        arms.append(plain.ask())
        assert scaled.ask() == arms[-1]
        plain.tell(arms[-1], row[arms[-1]])
        scaled.tell(arms[-1], unit * row[arms[-1]])
    assert set(arms) == {0, 1, 2}


@pytest.mark.parametrize(
    "family", [f for cls in FAMILIES.values() for f in cls.examples()], ids=str
)
def test_whatever_a_family_accepts_can_be_explained(family: am.Family) -> None:
    ends = [family.support.low, family.support.high, 0.0, 1.0, 1e30, 1e-30, -1e30, 5e-324, 0.5, 7.0]
    accepted = 0
    for policy in (am.IMED(), am.SPk(), am.Challenger(), am.OSSB(epsilon=0.1)):
        for reward in ends:
            bandit = am.Bandit(policy, am.Unimodal(3), family)
            try:
                bandit.tell(1, reward)
            except am.ArmatureError:
                continue
            accepted += 1
            assert str(bandit.explain())
            bandit.tell([0, 1, 2], [reward] * 3)
            assert str(bandit.explain())
            assert bandit.ask() in range(3)
    assert accepted >= 8


def test_an_exponential_reward_of_nothing_is_refused() -> None:
    bandit = am.Bandit(am.IMED(), am.Unconstrained(2), am.Exponential())
    with pytest.raises(am.ArmatureError, match=r"the reward 0 can't .*Exponential"):
        bandit.tell(0, 0.0)
    with pytest.raises(am.ArmatureError, match="too small: it must be at least 1e-30"):
        bandit.tell(0, 1e-40)
    assert bandit.pulls.sum() == 0


class StrayState(NamedTuple):
    arm: int


@am.kernel
def stray(state, model, history, stream):
    return state.arm if history.clock[0] >= 5 else 0


class Stray(am.CompiledPolicy):
    """A compiled policy that goes astray in the sixth round."""

    arm: ClassVar[int] = -1
    choose: ClassVar = stray

    def init(self, structure, family):
        return StrayState(self.arm)


class StrayPython(am.PythonPolicy):
    arm: ClassVar[object] = -1

    def choose(self, state, problem, history, rng):
        return self.arm if history.clock[0] >= 5 else 0


@pytest.mark.parametrize(
    ("policy", "arm"),
    [(Stray, -1), (Stray, 3), (Stray, 2**40), (StrayPython, -1), (StrayPython, 3)]
    + [(StrayPython, arm) for arm in (None, 1.0, "a", True, np.float64(1.0), math.nan)],
)
def test_no_policy_hands_out_an_arm_that_is_not_there(policy, arm, monkeypatch) -> None:
    monkeypatch.setattr(policy, "arm", arm)
    complaint = r"chose .*, where arms are whole numbers from 0 to 2: its `choose` must return"
    bandit = am.Bandit(policy(), am.Unconstrained(3), labels=["a", "b", "c"])
    for label in "abcaa":
        bandit.tell(label, 1.0)
    before = bandit.to_json()
    with pytest.raises(am.ArmatureError, match=complaint):
        bandit.ask()
    with pytest.raises(am.ArmatureError, match=complaint):  # with pulls outstanding
        bandit.ask(2)
    assert bandit.to_json() == before
    instance = am.Instance(am.Unconstrained(3), [0.0, 0.5, 1.0])
    with pytest.raises(am.ArmatureError, match=complaint):
        am.simulate(instance, [policy()], horizon=20, repetitions=2)


def test_a_radius_that_is_lost_in_rounding() -> None:
    """Interpreted as compiled: no division by zero."""
    values = np.array([1.0, 1e30])
    assert clipped_level(values, 1e-30) == clipped_level.py_func(values, 1e-30) == 1e30


def test_catse_keeps_a_category_whatever_comes() -> None:
    """Means 0 and 1 in each category, with hardly any noise: every category beats every other."""
    bandit = am.Bandit(
        am.CATSE(delta=0.1), am.Categorised("aabb"), am.Gaussian(1e-3), labels=list("wxyz")
    )
    for _ in range(3):
        bandit.tell(list("wxyz"), [0.0, 1.0, 0.0, 1.1])
    arms = []
    for _ in range(40):
        arms.append(bandit.ask())
        bandit.tell(arms[-1], {"w": 0.0, "x": 1.0, "y": 0.0, "z": 1.1}[arms[-1]])
    assert set(arms) <= {"w", "x"} or set(arms) <= {"y", "z"}
    assert arms[-1] in ("x", "z")
