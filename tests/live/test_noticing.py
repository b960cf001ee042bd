"""What a bandit notices when its rewards change: live, late, saved, with arms that come and go."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import armature as am
from armature.storage.files import checksum

LABELS = ["low", "middle", "high"]


def fed(bandit: am.Bandit, means: dict[str, float], rounds: int, seed: int) -> am.Bandit:
    """The bandit, with so many rewards more."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        arm = bandit.ask()
        bandit.tell(arm, float(rng.random() < means[arm]))
    return bandit


def shop(**options) -> am.Bandit:
    return am.Bandit(am.Challenger(), am.Unimodal(3), am.Bernoulli(), labels=LABELS, **options)


BEFORE = {"low": 0.2, "middle": 0.8, "high": 0.4}
AFTER = {"low": 0.1, "middle": 0.3, "high": 0.7}


def test_a_change_is_noticed_and_said():
    bandit = fed(shop(), BEFORE, 600, seed=1)
    assert bandit.change() is None
    assert bandit.verdict(delta=0.2).sure
    assert bandit.verdict().change is None
    fed(bandit, AFTER, 100, seed=2)
    change = bandit.change()
    assert change is not None
    assert abs(change.since - 600) <= 32
    assert change.arms[0] == "middle"
    assert change.evidence >= change.threshold == pytest.approx(math.log(100.0))
    assert change.before[1] == pytest.approx(0.8, abs=0.05)
    assert change.after[1] == pytest.approx(0.3, abs=0.15)
    said = f"middle earned {change.before[1]:.3g} until about decision {change.since}"
    assert said in str(change)
    assert said in str(bandit.explain())
    verdict = bandit.verdict(delta=0.2)
    assert not verdict.sure
    assert verdict.least_delta == 1.0
    assert "not sure: the rewards changed" in str(verdict)
    assert json.loads(verdict.to_json())["change"]["since"] == change.since
    assert bandit.change(false_alarms=math.exp(-change.evidence - 1.0)) is None


def test_a_change_is_not_called_a_wrong_structure():
    structure = am.Monotone(2)
    bandit = am.Bandit(am.UCB(), structure, am.Gaussian(), labels=["a", "b"])
    rng = np.random.default_rng(4)
    bandit.tell(["a", "b"] * 100, (rng.normal(size=200) + [0.0, 3.0] * 100).tolist())
    bandit.tell(["a"] * 100, (rng.normal(size=100) + 8.0).tolist())
    bandit.tell(["b"] * 20, (rng.normal(size=20) + 9.0).tolist())
    # all together, a has a mean of 4 and b of 4; with more of a it is above
    bandit.tell(["a"] * 900, (rng.normal(size=900) + 8.0).tolist())
    whole = am.bounds.evidence.evidence(
        structure, am.Gaussian(), bandit.pulls.astype(float), bandit.means * bandit.pulls
    )
    assert whole.refuted
    assert not bandit.evidence().refuted
    assert bandit.evidence().part in ("before", "since")
    assert "do not refute" in str(bandit.evidence())
    wrong = am.Bandit(am.UCB(), structure, am.Gaussian(), labels=["a", "b"])
    wrong.tell(["a", "b"] * 300, (rng.normal(size=600) + [3.0, 0.0] * 300).tolist())
    assert wrong.change() is None  # and a wrong structure is not called a change
    assert wrong.evidence().refuted
    wrong.tell(["a", "b"] * 300, (rng.normal(size=600) + [9.0, 0.0] * 300).tolist())
    assert wrong.change() is not None
    assert wrong.evidence().refuted
    assert "refute the structure as well" in str(wrong.evidence())


@pytest.mark.parametrize("cut", [3, 333, 640, 655, 699])
def test_saved_in_the_middle_it_notices_the_same(cut):
    whole, half = fed(shop(), BEFORE, 600, seed=1), fed(shop(), BEFORE, min(cut, 600), seed=1)
    decisions = whole._outstanding.noticing
    fed(whole, AFTER, 100, seed=2)
    if cut < 600:
        again = am.Bandit.from_json(half.to_json())
        rng = np.random.default_rng(1)
        rng.random(cut)
        for _ in range(600 - cut):
            arm = again.ask()
            again.tell(arm, float(rng.random() < BEFORE[arm]))
        fed(again, AFTER, 100, seed=2)
    else:
        rng = np.random.default_rng(2)
        for _ in range(cut - 600):
            arm = half.ask()
            half.tell(arm, float(rng.random() < AFTER[arm]))
        again = am.Bandit.from_json(half.to_json())
        for _ in range(700 - cut):
            arm = again.ask()
            again.tell(arm, float(rng.random() < AFTER[arm]))
    assert again.to_json() == whole.to_json()
    assert str(again.change()) == str(whole.change())
    assert decisions.found is not None


def test_a_bandit_that_was_saved_before_there_was_a_test_loads():
    content = json.loads(fed(shop(), BEFORE, 100, seed=1).to_json())
    del content["noticing"], content["checksum"]
    content["checksum"] = checksum(content)
    again = am.Bandit.from_json(json.dumps(content))
    assert again.change() is None
    fed(again, BEFORE, 400, seed=3)
    assert again.change() is None
    fed(again, AFTER, 100, seed=2)
    assert again.change() is not None  # the test began when it was loaded
    assert abs(again.change().since - 400) <= 32


@pytest.mark.parametrize("ids", [True, False])
def test_late_rewards_count_where_they_were_decided(ids):
    """With decisions that have ids, any order of the rewards gives the same sums; without, of the
    rewards of an arm the oldest come first."""
    rng = np.random.default_rng(7)
    prompt, late = shop(), shop()
    waiting = []
    for _ in range(200):
        arm = LABELS[int(rng.integers(3))]
        reward = float(rng.random() < 0.5)
        prompt.expect(arm)
        prompt.tell(arm, reward)
        if ids:
            late.asked(arm, ids=True)
        else:
            late.expect(arm)
        waiting.append((len(waiting), arm, reward))
    if ids:
        rng.shuffle(waiting)
    for id, arm, reward in waiting:
        if ids:
            late.tell_by_id(int(id), float(reward))
        else:
            late.tell(arm, reward)
    one, two = prompt._outstanding.noticing, late._outstanding.noticing
    assert (one.splits.at == two.splits.at).all()
    assert (one.splits.before == two.splits.before).all()
    assert (one.splits.now == two.splits.now).all()
    assert not two.awaited.waiting
    assert not two.awaited.open


def test_cancelled_rewards_are_not_waited_for():
    bandit = shop()
    arm = bandit.ask()
    bandit.cancel(arm)
    decision = bandit.ask(ids=True)
    bandit.cancel_by_id(decision.id)
    noticing = bandit._outstanding.noticing
    assert not noticing.awaited.waiting
    assert not noticing.awaited.open
    assert noticing.splits.clock[0] == 2
    bandit.tell("low", 1.0)  # which nobody asked for
    assert noticing.splits.clock[0] == 3


def test_what_is_taken_back_was_not_decided():
    class Fails(am.PythonPolicy):
        def choose(self, state, problem, history, rng):
            if history.clock[0] > 20:
                raise RuntimeError("no")
            return 0

    bandit = am.Bandit(Fails(), am.Unimodal(3))
    bandit.tell([0, 1, 2], [0.0, 0.0, 0.0])
    before = bandit.to_json()
    with pytest.raises(RuntimeError):
        bandit.ask(40)
    assert bandit.to_json() == before


def test_arms_that_come_and_go():
    bandit = fed(shop(), BEFORE, 600, seed=1)
    bandit.add_arm("top", after="high")
    fed(bandit, {**BEFORE, "top": 0.1}, 60, seed=3)
    bandit.retire_arm("low")
    copy = am.Bandit.from_json(bandit.to_json())
    for one in (bandit, copy):
        fed(one, {**AFTER, "top": 0.1}, 120, seed=2)
    assert bandit.change().arms[0] == "middle"
    assert abs(bandit.change().since - 660) <= 48
    assert str(copy.change()) == str(bandit.change())
    assert len(bandit.change().before) == 3


def test_costs_and_history():
    rng = np.random.default_rng(3)
    past = [("a", float(x)) for x in rng.normal(5.0, 1.0, 200)]
    bandit = am.Bandit(am.Challenger(), am.Unimodal(2), labels=["a", "b"], goal="min", history=past)
    summed = am.Bandit(
        am.Challenger(), am.Unimodal(2), labels=["a", "b"], goal="min",
        history={"counts": {"a": 200}, "sums": {"a": sum(x for _, x in past)}},
    )  # fmt: skip
    for one in (bandit, summed):
        one.tell(["a"] * 32, rng.normal(5.0, 1.0, 32).tolist())
        assert one.change() is None
        one.tell(["a"] * 64, rng.normal(7.0, 1.0, 64).tolist())
        change = one.change()
        assert change.before[0] == pytest.approx(5.0, abs=0.3)
        assert change.after[0] == pytest.approx(7.0, abs=0.3)
        assert math.isnan(change.before[1])
        assert "a cost 5" in str(change) or "a cost 4.9" in str(change)
    assert abs(bandit.change().since - 232) <= 16


def test_without_evidence_there_is_no_test():
    bandit = am.Bandit(am.Challenger(), am.Unimodal(2), am.Gaussian(sigma=None))
    for _ in range(3):
        bandit.tell([0, 1] * 30, [0.0, 1.0] * 30)
        bandit.tell([0, 1] * 30, [9.0, 1.5] * 30)
    assert bandit.change() is None
    assert am.Bandit.from_json(bandit.to_json()).change() is None
    with pytest.raises(am.ArmatureError, match="probability"):
        shop().change(false_alarms=2.0)
