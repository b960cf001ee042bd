"""A bandit that starts from what is known already."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from live_bandits import Coin, refused

import armature as am

PAST = [("b", 1.0), ("a", 0.0), ("c", 2.5), ("b", 3.0), ("b", -1.0), ("c", 2.0)]


@pytest.mark.parametrize("goal", ["max", "min"])
@pytest.mark.parametrize("policy", [am.SPk(), am.Challenger(), am.OSSB(horizon=99), Coin()])
def test_a_table_of_the_past_is_as_if_told(policy: am.Policy, goal: str) -> None:
    labels = list("abc")
    told = am.Bandit(policy, am.Unimodal(3), labels=labels, goal=goal)
    for arm, reward in PAST:
        told.tell(arm, reward)
    frame = pd.DataFrame(PAST, columns=["arm", "reward"])
    for table in (PAST, tuple(map(list, PAST)), frame, iter(PAST)):
        bandit = am.Bandit(policy, am.Unimodal(3), labels=labels, goal=goal, history=table)
        assert bandit.to_json() == told.to_json()
        assert bandit.ask(9) == am.Bandit.from_json(told.to_json(), policy=policy).ask(9)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_sums_of_the_past_say_the_same(goal: str) -> None:
    rewards = {"a": [0.5], "b": [1.0, 3.0, -1.0], "c": [2.5, 2.0], "d": []}
    pairs = [(arm, r) for arm, rs in rewards.items() for r in rs]
    told = am.Bandit(am.KLUCB(), am.Unimodal(4), labels=list("abcd"), goal=goal, history=pairs)
    by_name = {
        "counts": {arm: len(rs) for arm, rs in rewards.items()},
        "sums": {arm: sum(rs) for arm, rs in rewards.items()},
        "squares": {arm: sum(r * r for r in rs) for arm, rs in rewards.items() if rs},
    }
    in_order = {key: [column.get(a, 0) for a in "abcd"] for key, column in by_name.items()}
    for past in (by_name, in_order):
        bandit = am.Bandit(am.KLUCB(), am.Unimodal(4), labels=list("abcd"), goal=goal, history=past)
        assert bandit.pulls.tolist() == [1, 3, 2, 0]
        assert bandit.means[:3] == pytest.approx([0.5, 1.0, 2.25])
        mine, others = (json.loads(b.to_json()) for b in (bandit, told))
        assert mine["squares"] == pytest.approx(others["squares"])
        assert mine["squares"] == pytest.approx([0.0, 8.0, 0.125, 0.0])
        assert mine["clock"] == others["clock"] == [6, 0]
        assert bandit.ask(9) == am.Bandit.from_json(told.to_json()).ask(9)


class Learner(am.PythonPolicy):
    """It keeps what it was told."""

    def init(self, structure, family):
        return {"told": []}

    def choose(self, state, problem, history, rng):
        return 0

    def update(self, state, problem, history, arm, reward):
        state["told"].append([arm, reward])


def test_a_policy_that_learns_by_itself_wants_every_reward() -> None:
    bandit = am.Bandit(Learner(), am.Unconstrained(2), history=[(0, 1.0), (1, 2.0)])
    assert json.loads(bandit.to_json())["state"]["told"] == [[0, 1.0], [1, 2.0]]
    with pytest.raises(am.ArmatureError, match="Learner takes in every reward by itself"):
        am.Bandit(Learner(), am.Unconstrained(2), history={"counts": [1, 1], "sums": [1, 2]})
    refused(bandit, "Learner takes in every reward by itself", lambda: bandit.add_arm())


@pytest.mark.parametrize(
    ("history", "complaint"),
    [
        ([("a", 1.0), ("z", 2.0)], "there is no arm 'z'"),
        ([("a", 1.0), ("b", 0.5)], "the reward 0.5 can't come from Bernoulli"),
        ([("a", 1.0, 3)], "is not a pair"),
        (["ab"], "is not a pair"),
        (7, "history must be pairs of arm and reward"),
        ("abc", "history must be pairs of arm and reward"),
        (pd.DataFrame({"arm": ["a"], "revenue": [1.0]}), "no column 'reward'.* has 'arm', 'rev"),
        ({"counts": [1, 2]}, "history needs 'sums'"),
        ({"counts": [1, 2], "sums": [1, 1], "means": [1, 1]}, "history has no entry 'means'"),
        ({"counts": [1], "sums": [1]}, "must be 2 numbers, one for each arm"),
        ({"counts": [1, -2], "sums": [1, 1]}, "must be whole numbers, 0 or more"),
        ({"counts": [1, 1.5], "sums": [1, 1]}, "must be whole numbers, 0 or more"),
        ({"counts": [1, 1], "sums": [1, math.nan]}, "must be finite"),
        ({"counts": [1, 1], "sums": [1, "x"]}, "must be numbers"),
        ({"counts": [1, 0], "sums": [1, 1]}, "a sum for arm 'b', but no rewards"),
        ({"counts": [1, 2], "sums": [1, 3]}, r"the past means\[1\] = 1.5 is not a mean of"),
        ({"counts": [1, 2], "sums": [1, 1.5]}, "no sum of rewards of Bernoulli"),
        ({"counts": {"q": 1}, "sums": {}}, "there is no arm 'q'"),
        ({"counts": [1, 2], "sums": [1, 2], "squares": [1, 1.5]}, "of arm 'b' is 1.5, but 2 rew"),
    ],
)
def test_a_past_that_can_not_be(history: Any, complaint: str) -> None:
    with pytest.raises(am.ArmatureError, match=complaint):
        am.Bandit(am.KLUCB(), am.Unimodal(2), am.Bernoulli(), labels=["a", "b"], history=history)


@pytest.mark.parametrize("family", [am.Bernoulli(scale=[12.99, 0.1, 0.7]), am.Bounded(0.0, 12.99)])
def test_a_mean_stays_in_the_domain_after_rounding(family: am.Family) -> None:
    """12.99 three times and 0.1 three times add up to more than three times that."""
    bandit = am.Bandit(am.Challenger(), am.Unimodal(3), family)
    top = [family.for_arm(k).domain.high for k in range(3)]
    for _ in range(20):
        bandit.tell([0, 1, 2], top)
    assert (bandit.means <= top).all()
    assert bandit.means == pytest.approx(top)
    assert np.isfinite(bandit.explain().low).all()
    again = am.Bandit(
        am.Challenger(),
        am.Unimodal(3),
        family,
        history={"counts": [20] * 3, "sums": bandit._decisions.history.sums},
    )
    assert again.means.tolist() == bandit.means.tolist()
    assert am.Bandit.from_json(bandit.to_json()).means.tolist() == bandit.means.tolist()
