"""Rewards as they come: lost ones, floors, costs, ids."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from live_bandits import problem_for, refused
from scipy import stats

import armature as am
from armature.live.outstanding import REMEMBERED
from armature.storage.registry import POLICIES

# Rewards that never come.


def test_a_cancelled_pull_is_as_if_it_had_not_been_asked() -> None:
    bandit, other = (am.Bandit(am.UCB(), am.Unconstrained(3)) for _ in range(2))
    arms = bandit.ask(5)
    assert arms[:3] == [0, 1, 2]
    for arm in arms:
        bandit.cancel(arm)
    assert bandit.pending.tolist() == [0, 0, 0]
    saved, fresh = json.loads(bandit.to_json()), json.loads(other.to_json())
    saved["noticing"]["decisions"] -= 5  # it only knows that there were so many
    assert {**saved, "checksum": None} == {**fresh, "checksum": None}
    assert bandit.ask(3) == [0, 1, 2]
    refused(bandit, "there is no arm 7", lambda: bandit.cancel(7))
    bandit.tell(1, 0.5)
    refused(bandit, "no reward of arm 1 is outstanding", lambda: bandit.cancel(1))


@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.__name__)
def test_all_first_pulls_may_be_lost(kind: type[am.Policy]) -> None:
    """Every arm asked once and cancelled: no policy is asked about arms without a reward."""
    policy = kind()
    instance = problem_for(policy)
    bandit = am.Bandit(policy, instance.structure, instance.family, horizon=500)
    K = instance.n_arms
    for _ in range(3):
        for arm in bandit.ask(2 * K):
            bandit.cancel(arm)
    bandit.tell(0, 1.0)
    for arm in bandit.ask(2 * K):
        bandit.tell(arm, float(instance.means[arm]))
    assert bandit.pulls.sum() == 2 * K + 1
    if policy.starts_with_each_arm:
        assert (bandit.pulls > 0).all()


# Floors.


def test_a_floor_is_additive() -> None:
    """p = f + (1 - n f) w, with w known: UCB on rewards that are all told."""
    f, n, rounds = 0.06, 4, 4000
    bandit = am.Bandit(am.UCB(), am.Unconstrained(4), floor=f)
    plain = am.Bandit(am.UCB(), am.Unconstrained(4))
    for one in (bandit, plain):
        one.tell([0, 1, 2, 3] * 100, [0.0, 1.0, 9.0, 2.0] * 100)
    leader = plain.ask()
    counts = np.zeros(4)
    for _ in range(rounds):
        arm = bandit.ask()
        counts[arm] += 1
        bandit.cancel(arm)
    expected = f + (1.0 - n * f) * (np.arange(4) == leader)
    assert stats.chisquare(counts, expected * rounds).pvalue > 0.001
    # Of the arms that are left, each gets the same share; the rest is the policy's.
    counts[:] = 0
    for _ in range(rounds):
        arm = bandit.ask(exclude=[0])
        counts[arm] += 1
        bandit.cancel(arm)
    expected = f + (1.0 - 3 * f) * (np.arange(1, 4) == leader)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:], expected * rounds).pvalue > 0.001


def test_a_floor_in_the_long_run() -> None:
    """Each arm's share is its floor at the least; and the policy still finds the best arm."""
    bandit = am.Bandit(am.Challenger(), am.Unimodal(5), seed=3, floor=0.02)
    rng = np.random.default_rng(0)
    for _ in range(5000):
        arm = bandit.ask()
        bandit.tell(arm, rng.normal([0.0, 1.0, 3.0, 1.0, 0.0][arm]))
    shares = bandit.pulls / 5000
    assert shares[0] == pytest.approx(0.02, abs=0.006)  # three standard deviations
    assert shares[4] == pytest.approx(0.02, abs=0.006)
    assert shares[2] > 0.9


def test_a_floor_changes_none_of_the_policys_random_numbers() -> None:
    bandit, plain = (
        am.Bandit(am.ThompsonSampling(), am.Unconstrained(3), seed=5, floor=floor)
        for floor in (0.1, 0.0)
    )
    for one in (bandit, plain):
        one.tell([0, 1, 2], [0.0, 0.1, 0.2])
    used = json.loads(bandit.to_json())["random"]
    bandit.set_floor(1.0 / 3.0)  # everything is shared out: the policy is never asked
    assert set(bandit.ask(50)) == {0, 1, 2}
    assert json.loads(bandit.to_json())["random"] == used
    for _ in range(50):
        bandit.cancel(int(np.argmax(bandit.pending)))
    bandit.set_floor(0.0)
    assert bandit.ask(20) == plain.ask(20)


@pytest.mark.parametrize("floor", [-0.1, 0.34, math.nan, "0.1", None, True, [0.1]])
def test_floors_that_can_not_be(floor: Any) -> None:
    complaint = "floor must be a share from 0 to 0.333333, for 3 arms"
    with pytest.raises(am.ArmatureError, match=complaint):
        am.Bandit(am.UCB(), am.Unconstrained(3), floor=floor)
    bandit = am.Bandit(am.UCB(), am.Unconstrained(3), floor=0.3)
    refused(bandit, complaint, lambda: bandit.set_floor(floor))
    refused(bandit, "from 0 to 0.25, for 4 arms; got 0.3", lambda: bandit.add_arm())


# Costs.


@pytest.mark.parametrize(
    "policy", [am.Challenger(), am.SPk(), am.ThompsonSampling(), am.KLUCB()], ids=lambda p: p.name
)
@pytest.mark.parametrize(("family", "about"), [(am.Gaussian(0.5), 0.0), (am.Bernoulli(), 1.0)])
def test_least_costs_are_most_rewards(policy, family, about) -> None:
    """A bandit for costs decides as one for `about` minus the costs, and speaks of costs."""
    costs = am.Bandit(policy, am.Unimodal(4), family, seed=2, goal="min")
    rewards = am.Bandit(policy, am.Unimodal(4), family, seed=2)
    rng = np.random.default_rng(0)
    for _ in range(150):
        arm = costs.ask()
        assert rewards.ask() == arm
        cost = family.sample([0.8, 0.3, 0.5, 0.9][arm], rng)
        costs.tell(arm, cost)
        rewards.tell(arm, about - cost)
    why, mirror = costs.explain(), rewards.explain()
    assert costs.goal == "min"
    assert costs.means == pytest.approx(about - rewards.means)
    assert why.means == pytest.approx(about - mirror.means)
    assert why.projected == pytest.approx(about - mirror.projected)
    assert why.low == pytest.approx(about - mirror.high)
    assert why.high == pytest.approx(about - mirror.low)
    assert (why.leader, why.evidence) == (mirror.leader, mirror.evidence)
    resumed = am.Bandit.from_json(costs.to_json())
    assert resumed.goal == "min"
    assert resumed.ask(10) == costs.ask(10) == rewards.ask(10)


def test_costs_that_can_not_be() -> None:
    for family in (am.Poisson(), am.Exponential()):
        with pytest.raises(am.ArmatureError, match='goal="min" does not go with'):
            am.Bandit(am.KLUCB(), am.Unconstrained(2), family, goal="min")
    with pytest.raises(am.ArmatureError, match='goal must be "max" or "min"; got \'less\''):
        am.Bandit(am.UCB(), am.Unconstrained(2), goal="less")
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), am.Bernoulli(), goal="min")
    refused(bandit, "the reward 2 can't come from", lambda: bandit.tell(0, 2))

    class Odd(am.Structure):
        n_arms = 2

        def pieces(self):
            yield am.Piece([[1.0, -1.0]], [0.5])

    with pytest.raises(am.ArmatureError, match="Odd can't be read as knowledge about costs"):
        am.Bandit(am.UCB(), Odd(), goal="min")


# Ids.


def test_a_reward_by_id_counts_once() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), labels=["a", "b"])
    first = bandit.ask(ids=True)
    second, third = bandit.ask(2, ids=True)
    assert [d.id for d in (first, second, third)] == [0, 1, 2]
    assert [d.arm for d in (first, second)] == ["a", "b"]
    assert bandit.pending.sum() == 3
    assert bandit.tell_by_id(second.id, 0.5) == "applied"
    state = bandit.to_json()
    assert bandit.tell_by_id(second.id, 0.5) == "duplicate"
    assert bandit.to_json() == state
    refused(bandit, "decision 1 has the reward 0.5 already", lambda: bandit.tell_by_id(1, 0.6))
    refused(bandit, "decision 1 has its reward", lambda: bandit.cancel_by_id(1))
    refused(bandit, "there is no decision 3: 3 were", lambda: bandit.tell_by_id(3, 0.6))
    refused(bandit, "is a whole number; got 'x'", lambda: bandit.tell_by_id("x", 0.6))
    refused(bandit, "must be finite", lambda: bandit.tell_by_id(0, math.nan))
    assert bandit.cancel_by_id(first.id) == "cancelled"
    assert bandit.cancel_by_id(first.id) == "duplicate"
    refused(bandit, "decision 0 was cancelled", lambda: bandit.tell_by_id(0, 0.6))
    assert bandit.pulls.tolist() == [0, 1]
    assert bandit.pending.sum() == 1
    resumed = am.Bandit.from_json(bandit.to_json())
    assert resumed.tell_by_id(second.id, 0.5) == "duplicate"
    assert resumed.tell_by_id(third.id, 0.25) == "applied"
    assert resumed.ask(ids=True).id == 3


def test_ids_and_arms_side_by_side() -> None:
    """What is told or cancelled by the arm is not what has an id."""
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    decision = bandit.ask(ids=True)
    refused(bandit, "outstanding without an id: use cancel_by_id", lambda: bandit.cancel(0))
    refused(bandit, r"has an id: say cancel_by_id\(0\)", lambda: bandit.cancel(decision))
    refused(bandit, r"has an id: say tell_by_id\(0, ...\)", lambda: bandit.tell(decision, 1.0))
    bandit.tell(0, 1.0)  # of an arm that nobody asked for without an id
    assert bandit.pending.tolist() == [1, 0]
    assert bandit.tell_by_id(decision.id, 3.0) == "applied"
    assert (bandit.pulls.tolist(), bandit.means[0]) == ([2, 0], 2.0)
    assert bandit.pending.tolist() == [0, 0]


def test_ids_are_not_remembered_for_ever() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    for _ in range(REMEMBERED + 5):
        bandit.tell_by_id(bandit.ask(ids=True).id, 1.0)
    assert bandit.tell_by_id(4, 1.0) == "settled"
    assert bandit.cancel_by_id(4) == "settled"
    assert bandit.tell_by_id(5, 1.0) == "duplicate"
    assert bandit.pulls.sum() == REMEMBERED + 5
    assert len(json.loads(bandit.to_json())["decisions"]["ended"]) == REMEMBERED


def test_probabilities_of_decisions_with_ids() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(4), floor=0.1)
    bandit.tell([0, 1, 2, 3] * 100, [0.0, 1.0, 9.0, 2.0] * 100)
    for _ in range(60):
        expected = bandit.probabilities(exclude=[3]).values
        decision = bandit.ask(exclude=[3], ids=True)
        assert decision.probability == expected[decision.arm]
        bandit.cancel_by_id(decision.id)
    plain = am.Bandit(am.UCB(), am.Unconstrained(2))
    assert plain.ask(ids=True).probability == 1.0
    chance = am.Bandit(am.ThompsonSampling(), am.Unconstrained(2))
    chance.tell([0, 1], [0.0, 0.0])
    assert chance.ask(ids=True).probability is None
