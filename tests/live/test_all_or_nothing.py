"""What fails leaves nothing behind; copies are whole; an arm comes back as what it was."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
from live_bandits import Coin, refused

import armature as am

ERRORS = {error.__name__: error for error in (RuntimeError, KeyboardInterrupt, am.ArmatureError)}


@dataclasses.dataclass(frozen=True)
class Failing(am.PythonPolicy):
    """Takes turns, and fails at the third time that it is asked."""

    error: str = "RuntimeError"

    def init(self, structure, family):
        return {"asked": 0}

    def choose(self, state, problem, history, rng):
        state["asked"] += 1
        if state["asked"] % 3 == 0:
            raise ERRORS[self.error]("no more")
        return int(rng.integers(problem.structure.n_arms))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("ids", [False, True])
def test_a_list_of_arms_is_whole_or_not_asked_for(error: str, ids: bool) -> None:
    bandit = am.Bandit(Failing(error), am.Unconstrained(3), floor=0.1, labels=["a", "b", "c"])
    bandit.tell(["a", "b", "c"], [0.0, 1.0, 2.0])
    bandit.ask(ids=ids)
    before = bandit.to_json()
    for _ in range(2):
        with pytest.raises(ERRORS[error], match="no more"):
            bandit.ask(50, ids=ids)
        assert bandit.to_json() == before
    if ids:
        assert bandit.tell_by_id(0, 1.0) == "applied"
        with pytest.raises(am.ArmatureError, match="there is no decision 1: 1 were handed out"):
            bandit.tell_by_id(1, 1.0)


def test_lists_of_arms_have_an_end() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    for n in (10**7, 10**400):
        refused(bandit, "from 0 to 1,000,000", lambda n=n: bandit.ask(n))


@pytest.mark.parametrize("short", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("n", [2, 3, 7, 10, 49])
def test_the_largest_floor_in_a_short_precision(short: type[np.floating], n: int) -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(n), floor=short(1 / n))
    assert am.Bandit.from_json(bandit.to_json()).floor == bandit.floor <= 1 / n
    assert bandit.floor == pytest.approx(1 / n, rel=1e-3)
    bandit.set_floor(short(0.5 / n))
    assert am.Bandit.from_json(bandit.to_json()).floor == bandit.floor
    with pytest.raises(am.ArmatureError, match="floor must be a share"):
        bandit.set_floor(short(1.1 / n))


def test_numbers_in_a_short_precision_are_judged_in_full() -> None:
    """1e30 is more than 1e30 once it is a float32, and 1e-300 is 0."""
    for make in (
        lambda: am.Gaussian(np.float32(1e30)),
        lambda: am.Bounded(0.0, np.float32(1e30)),
        lambda: am.UCB(width=np.float32(1.0000001e9)),
    ):
        with pytest.raises(am.ArmatureError):
            make()
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    with pytest.raises(am.ArmatureError, match="delta must be a probability"):
        bandit.verdict(delta=np.float32(0.0))


@pytest.mark.parametrize("policy", [am.Challenger(), am.SPk(), am.OSSB(), Coin()])
def test_copies_go_on_alike_and_apart(policy: am.Policy) -> None:
    labels = [("a", 0), ("b", 1)]
    bandit = am.Bandit(policy, am.Unimodal(2), labels=labels, horizon=99, floor=0.2)
    bandit.tell(labels, [0.5, 1.0])
    decision = bandit.ask(ids=True)
    bandit.ask(3)
    before = bandit.to_json()
    copies = [pickle.loads(pickle.dumps(bandit)), copy.deepcopy(bandit), copy.copy(bandit)]
    following = [decision.arm for decision in bandit.ask(9, ids=True)]
    for again in copies:
        assert type(again) is am.Bandit
        assert again.to_json() == before
        assert [one.arm for one in again.ask(9, ids=True)] == following
        assert again.tell_by_id(decision.id, 0.25) == "applied"
    assert bandit.tell_by_id(decision.id, 0.75) == "applied"  # a decision of its own


PRICES = am.Bernoulli(scale=[5.0, 10.0, 20.0])


def with_a_retired_arm() -> am.Bandit:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(3), PRICES, labels=["low", "middle", "high"])
    bandit.tell(["low", "middle", "high"] * 2, [5.0, 10.0, 20.0, 0.0, 10.0, 0.0])
    bandit.retire_arm("middle")
    return bandit


@pytest.mark.parametrize("scale", [4.0, 9.99, 30.0])
@pytest.mark.parametrize("saved", [False, True])
def test_an_arm_with_rewards_comes_back_with_its_scale(scale: float, saved: bool) -> None:
    bandit = with_a_retired_arm()
    if saved:
        bandit = am.Bandit.from_json(bandit.to_json())
    complaint = "retired when its rewards were 0 or 10, and comes back with them: say scale=10.0"
    refused(bandit, complaint, lambda: bandit.add_arm("middle", scale=scale))
    bandit.add_arm("other", scale=scale)
    bandit.add_arm("middle", scale=10.0)
    assert bandit.means[bandit.arms.index("middle")] == 10.0


def test_outstanding_rewards_have_their_scale_too() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(3), PRICES)
    bandit.expect(2)
    bandit.retire_arm(2)
    refused(bandit, "scale=20.0", lambda: bandit.add_arm(2, scale=1.0))
    bandit.cancel(2)
    bandit.add_arm(2, scale=1.0)  # of which nothing is known


def test_other_facts_of_an_arm_may_change() -> None:
    bandit = am.Bandit(am.UCB(), am.Categorised("aabb"), am.Gaussian([1.0, 1.0, 2.0, 2.0]))
    bandit.tell([0, 1, 2, 3], [3.0, 1.0, 0.0, -2.0])
    bandit.retire_arm(3)
    bandit.add_arm(3, category="a", sigma=1.0)
    assert bandit.means.tolist() == [3.0, 1.0, 0.0, -2.0]


def test_a_retired_arm_of_a_release_before() -> None:
    """Its scale was not kept: it comes back as before."""
    from armature.live.checkpoint import _checksum

    content = json.loads(with_a_retired_arm().to_json())
    content["arms"]["retired"] = [row[:5] for row in content["arms"]["retired"]]
    content["checksum"] = _checksum(content)
    bandit = am.Bandit.from_json(json.dumps(content))
    bandit.add_arm("middle", scale=10.0)
    assert bandit.means[2] == 10.0
