"""The online bandit: as its user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.experiments.spec import load_instance
from armature.rounds.rewards import make_rewards, next_reward
from armature.storage.registry import POLICIES

PRICES = ["9.99", "12.99", "14.99"]


def told(bandit: am.Bandit, rounds: int, seed: int = 0) -> am.Bandit:
    """The same bandit after some rounds of Gaussian rewards of means 0, 1/2, 1, ..."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        arm = bandit.ask()
        bandit.tell(arm, 0.5 * arm + rng.normal())
    return bandit


def test_labels() -> None:
    bandit = am.Bandit(am.UCB(), am.Unimodal(3), labels=PRICES)
    assert [bandit.ask() for _ in PRICES] == PRICES
    bandit.tell("12.99", 1.0)
    assert bandit.pulls.tolist() == [0, 1, 0]
    assert bandit.pending.tolist() == [1, 0, 1]
    with pytest.raises(am.ArmatureError, match=r"no arm '13\.99': the arms are '9\.99', '12\.99'"):
        bandit.tell("13.99", 1.0)
    with pytest.raises(am.ArmatureError, match="there is no arm 1: the arms are"):
        bandit.tell(1, 1.0)
    with pytest.raises(am.ArmatureError, match="2 labels for 3 arms"):
        am.Bandit(am.UCB(), am.Unimodal(3), labels=["a", "b"])
    with pytest.raises(am.ArmatureError, match="'a' is there twice"):
        am.Bandit(am.UCB(), am.Unimodal(3), labels=["a", "b", "a"])


@pytest.mark.parametrize(
    ("family", "arm", "reward", "complaint"),
    [
        (am.Gaussian(), 3, 1.0, "there is no arm 3: arms are whole numbers from 0 to 2"),
        (am.Gaussian(), -1, 1.0, "there is no arm -1"),
        (am.Gaussian(), 1.0, 1.0, "there is no arm 1.0"),
        (am.Gaussian(), 1, float("nan"), "a reward must be finite"),
        (am.Gaussian(), 1, float("inf"), "a reward must be finite"),
        (am.Gaussian(), 1, "much", "a reward is a number; got 'much'"),
        (am.Bernoulli(), 1, 0.5, "the reward 0.5 can't come from Bernoulli"),
        (am.Poisson(), 1, -1.0, "the reward -1 can't come from Poisson"),
        (am.Exponential(), 1, -0.1, "can't come from Exponential"),
        (am.Gaussian(), [0, 1], [1.0], "one reward for each arm"),
        (am.Gaussian(), [0, 7], [1.0, 2.0], "there is no arm 7"),
        (am.Gaussian(), [0, 1], [1.0, float("nan")], "must be finite"),
    ],
)
def test_what_is_refused_changes_nothing(family, arm, reward, complaint) -> None:
    bandit = am.Bandit(am.IMED(), am.Unconstrained(3), family)
    bandit.ask()
    before = bandit.to_json()
    with pytest.raises(am.ArmatureError, match=complaint):
        bandit.tell(arm, reward)
    assert bandit.to_json() == before


def test_a_batch_spreads_over_the_arms() -> None:
    """Twelve asks at once, of two arms that look alike: not twelve times the same one."""
    bandit = am.Bandit(am.UCB(), am.Unconstrained(3))
    for arm, reward in ((0, 0.0), (1, 1.0), (2, 0.99)):
        bandit.tell(arm, reward)
    batch = bandit.ask(12)
    assert np.bincount(batch, minlength=3).max() <= 6
    assert bandit.pending.sum() == 12
    # As if each outstanding reward were its arm's mean so far: worked out by hand.
    means, pulls, expected = np.array([0.0, 1.0, 0.99]), np.ones(3), []
    for t in range(4, 16):
        arm = int(np.argmax(means + np.sqrt(2.0 * np.log(t) / pulls)))
        expected.append(arm)
        pulls[arm] += 1
    assert batch == expected


@pytest.mark.parametrize("policy", [am.UCB(), am.Challenger()], ids=lambda policy: policy.name)
def test_what_is_outstanding_is_the_same_after_a_restart(policy: am.Policy) -> None:
    """What is kept from one ask to the next is what a bandit that begins with it works out."""
    rng = np.random.default_rng(8)
    bandit = am.Bandit(policy, am.Unimodal(3))
    for _ in range(60):
        fresh = am.Bandit.from_json(bandit.to_json())
        n = int(rng.integers(1, 5))
        assert bandit.ask(n) == fresh.ask(n)
        assert bandit.to_json() == fresh.to_json()
        for arm in np.flatnonzero(bandit.pending):
            if rng.random() < 0.4:
                bandit.tell(int(arm), float(rng.normal()))
            elif rng.random() < 0.2:
                bandit.cancel(int(arm))


@pytest.mark.parametrize("kind", [am.OSUB, am.UnimodalThompson, am.Challenger])
def test_before_any_reward_arms_take_turns(kind: type[am.Policy]) -> None:
    bandit = am.Bandit(kind(), am.Unimodal(5), am.Bernoulli())
    assert bandit.ask(12) == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert bandit.ask(3, exclude=[2]) == [3, 4, 0]
    assert bandit.ask_with_probability() == (2, 1.0)
    bandit.tell(0, 1.0)
    bandit.tell(4, 0.0)
    assert set(bandit.ask(5)) != set(range(5))  # now it is up to the policy


def test_rewards_in_any_order_come_to_the_same() -> None:
    one, other = (am.Bandit(am.KLUCB(), am.Unconstrained(4)) for _ in range(2))
    arms = one.ask(4)
    assert other.ask(4) == arms
    one.tell(arms, [0.5, 0.25, 2.0, 1.0])
    for arm, reward in ((3, 1.0), (0, 0.5), (2, 2.0), (1, 0.25)):
        other.tell(arm, reward)
    assert one.to_json() == other.to_json()
    assert one.ask(5) == other.ask(5)


@pytest.mark.checks("policies", by="the same decisions live and simulated")
@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.__name__)
def test_online_and_simulated_decisions_are_the_same(kind: type[am.Policy]) -> None:
    """For every policy: the regret and the pulls at every checkpoint of 500 rounds."""
    panels = ("unimodal-1", "categorised-2", "linear", "sparse-2", "scenarios")
    policy = kind()
    instance = next(
        instance
        for instance in map(load_instance, panels)
        if policy.supports(instance.structure, instance.family)
    )
    results = am.simulate(instance, [policy], horizon=500, repetitions=1, seed=7)
    bandit = am.Bandit(policy, instance.structure, instance.family, seed=7, horizon=500)
    rewards = make_rewards(instance.means, 7, 0)
    regret, seen = 0.0, {}
    for t in range(1, 501):
        arm = bandit.ask()
        bandit.tell(arm, next_reward(instance.family.record_for(instance.n_arms), rewards, arm))
        regret += instance.gaps[arm]
        seen[t] = (regret, bandit.pulls.tolist())
    for at, t in enumerate(results.checkpoints):
        assert seen[t][0] == results.regret(policy.name)[0, at]
        assert seen[t][1] == results.pulls(policy.name)[0, at].tolist()


class Careful(am.PythonPolicy):
    """In plain Python: the best mean, or now and then any arm."""

    def init(self, structure, family):
        return {"asked": 0}

    def choose(self, state, problem, history, rng):
        state["asked"] += 1
        if rng.random() < 0.3:
            return int(rng.integers(problem.structure.n_arms))
        return int(np.argmax(history.means))

    def update(self, state, problem, history, arm, reward):
        state["last"] = reward


def test_a_policy_in_plain_python_is_saved_too() -> None:
    bandit = told(am.Bandit(Careful(), am.Unconstrained(3), seed=4), 30)
    copy = am.Bandit.from_json(bandit.to_json(), policy=Careful())
    assert told(copy, 30, seed=1).to_json() == told(bandit, 30, seed=1).to_json()
    assert json.loads(bandit.to_json())["state"]["asked"] == 57


def test_a_policy_that_chooses_no_arm_is_caught() -> None:
    class Wild(am.PythonPolicy):
        def choose(self, state, problem, history, rng):
            return 3

    bandit = told(am.Bandit(Wild(), am.Unconstrained(3)), 3)
    with pytest.raises(am.ArmatureError, match="Wild chose 3, where arms are whole numbers"):
        bandit.ask()


def test_saved_files(tmp_path: Path) -> None:
    structure = am.Linear([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    bandit = told(am.Bandit(am.SPk(test="raw"), structure, am.Gaussian(2.0), labels=PRICES), 0)
    for price in PRICES:
        bandit.tell(price, 1.5)
    bandit.save(tmp_path / "state.json")
    copy = am.Bandit.load(tmp_path / "state.json")
    assert (copy.policy, copy.structure, copy.family) == (
        bandit.policy, bandit.structure, bandit.family
    )  # fmt: skip
    assert copy.ask(20) == bandit.ask(20)
    assert os.listdir(tmp_path) == ["state.json"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: c.update(version=3), "saved in version 3 of the format; this release"),
        (lambda c: c.update(format="jam"), "not a saved bandit"),
        (lambda c: c["sums"].__setitem__(0, 99.0), "changed or cut off"),
        (lambda c: c.pop("checksum"), "changed or cut off"),
    ],
)
def test_tampered_files_are_refused(change, complaint) -> None:
    content = json.loads(told(am.Bandit(am.UCB(), am.Unconstrained(3)), 5).to_json())
    change(content)
    with pytest.raises(am.ArmatureError, match=complaint):
        am.Bandit.from_json(json.dumps(content))
    with pytest.raises(am.ArmatureError, match="nor JSON at all"):
        am.Bandit.from_json("{")


SAVER = """
import sys, armature as am
bandit = am.Bandit(am.UCB(), am.Unconstrained(200))
bandit.tell(list(range(200)), [0.5] * 200)
bandit.save(sys.argv[1])
print("ready", flush=True)
while True:
    bandit.tell(bandit.ask(), 1.0)
    bandit.save(sys.argv[1])
"""


def test_a_killed_process_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    rng = np.random.default_rng(0)
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(float(rng.uniform(0.01, 0.2)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert am.Bandit.load(path).pulls.sum() >= 200


def test_explanations() -> None:
    bandit = am.Bandit(am.SPk(), am.Unimodal(3), labels=PRICES)
    assert "is pulled once first; still to come: 9.99, 12.99 and 14.99" in str(bandit.explain())
    for price, reward in zip(PRICES, (0.0, 1.0, 0.5), strict=True):
        bandit.tell(price, reward)
    why = bandit.explain()
    # The nearest alternative pools the two best arms: (1 - 0.5)^2 / 4.
    assert why.evidence == pytest.approx(0.0625)
    assert why.leader == "12.99"
    assert why.misfit == 0.0
    assert why.high[0] == pytest.approx(np.sqrt(2.0 * np.log(4.0)))
    assert "SPk explores: the evidence that 12.99 is best, 0.06, does not exceed" in str(why)
    assert "agree with the structure exactly" in str(why)
    for _ in range(200):
        bandit.tell(PRICES, [0.0, 2.0, 0.5])
    assert "SPk exploits 12.99" in bandit.explain().summary
    bandit.tell(["9.99"] * 500, [1.5] * 500)
    bandit.tell(["12.99"] * 500, [-1.5] * 500)
    assert "away from the structure; the largest change" in str(bandit.explain())
    ossb = am.Bandit(am.OSSB(epsilon=0.1), am.Unimodal(3))
    ossb.tell([0, 1, 2], [0.0, 1.0, 0.5])
    # (1 - 0.5)^2 / 2 of the second best arm, for arm 1 is taken to be known: below ln 4.
    assert "OSSB(epsilon=0.1) explores" in ossb.explain().summary
    assert "by 0.12 only, where 1.39 is enough" in ossb.explain().summary
    ossb.tell([0, 2] * 100, [0.0, 0.5] * 100)
    assert "OSSB(epsilon=0.1) exploits arm 1" in ossb.explain().summary
    assert "arm 1 looks best" in told(am.Bandit(am.UCB(), am.Unimodal(2)), 60).explain().summary


class Shade:
    """A label that is printed as another one is."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __str__(self) -> str:
        return "grey"


MIXED: list[tuple[Any, Any, Any]] = [
    ("1", "2", 1),
    (1, 2.5, "1.0"),
    (("S", 1), ("M", 2), "S"),
    ("None", "all", None),
    (1, 0, True),
    (2, 3, True),
]


@pytest.mark.parametrize("labels", MIXED, ids=str)
def test_labels_are_of_one_type(labels: tuple[Any, Any, Any]) -> None:
    """In the beginning, and when an arm is added; arms that were retired have theirs still."""
    with pytest.raises(am.ArmatureError, match=r"types|twice"):
        am.Bandit(am.UCB(), am.Unconstrained(3), labels=labels)
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), labels=labels[:2])
    with pytest.raises(am.ArmatureError, match=r"types|there already|needs"):
        bandit.add_arm(labels[2])
    assert bandit.arms == list(labels[:2])


def test_labels_differ_when_they_are_printed() -> None:
    with pytest.raises(am.ArmatureError, match="printed as 'grey'"):
        am.Bandit(am.UCB(), am.Unconstrained(2), labels=[Shade(1), Shade(2)])
