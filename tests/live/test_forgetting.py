"""Forgetting: weights against a sum over all rewards, late ones, by the clock, saved, refused."""

from __future__ import annotations

import datetime
import json
import math
import pickle

import numpy as np
import pytest

import armature as am
from armature.storage.files import checksum

MEANS = [0.1, 0.3, 0.9, 0.2, 0.1]


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def shop(policy=None, **options) -> am.Bandit:
    return am.Bandit(policy or am.Challenger(), am.Unimodal(5), am.Bernoulli(), **options)


def own(bandit: am.Bandit):
    return bandit._decisions.basis


def weighed(rewards, now: float, half_life: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts and sums: of each reward (arm, value, when) what is left."""
    pulls, sums = np.zeros(5), np.zeros(5)
    for arm, value, when in rewards:
        left = 2.0 ** (-(now - when) / half_life)
        pulls[arm] += left
        sums[arm] += left * value
    return pulls, sums


@pytest.mark.checks("Forgetting", by="none with an infinite half-life, bit for bit")
@pytest.mark.parametrize("policy", [am.Challenger(), am.KLUCB(), am.ThompsonSampling()], ids=str)
@pytest.mark.parametrize("forget", [math.inf, "1000000000s"])
def test_an_infinite_half_life_is_none(policy, forget):
    plain, ours = shop(policy), shop(policy, forget=forget, clock=lambda: 0.0)
    rng = np.random.default_rng(3)
    waiting: list[int] = []
    for t in range(250):
        n = 3 if t % 10 == 5 else 1
        arms = plain.ask(n)
        assert ours.ask(n) == arms
        waiting += arms
        while len(waiting) > t % 7:
            arm = waiting.pop(0)
            reward = float(rng.random() < MEANS[arm])
            plain.tell(arm, reward)
            ours.tell(arm, reward)
    for name in ("pulls", "sums", "means"):
        assert (getattr(own(ours), name) == getattr(plain._decisions.history, name)).all()


@pytest.mark.checks("Forgetting", by="a weighted sum over all rewards, late ones included")
@pytest.mark.parametrize("ids", [False, True])
def test_weights_are_those_of_when_it_was_decided(ids):
    bandit, rng = shop(forget=40), np.random.default_rng(4)
    waiting, rewards = [], []
    for t in range(400):
        asked = bandit.ask(ids=ids)
        waiting.append((asked, len(rewards)))
        while len(waiting) > (t // 50) * 3:
            at = int(rng.integers(len(waiting))) if ids else 0
            asked, decided = waiting.pop(at)
            arm = asked.arm if ids else asked
            value = float(rng.random() < MEANS[arm])
            if not ids:  # of an arm the oldest decision comes first
                at = next(i for i, (a, _) in enumerate([(asked, decided), *waiting]) if a == arm)
                assert at == 0
            bandit.tell_by_id(asked.id, value) if ids else bandit.tell(arm, value)
            rewards.append((arm, value, decided))
        if t % 90 == 60:
            bandit = am.Bandit.from_json(bandit.to_json())
    pulls, sums = weighed(rewards, len(rewards) - 1.0, 40.0)
    assert own(bandit).pulls == pytest.approx(pulls, rel=1e-9, abs=1e-8)
    assert own(bandit).sums == pytest.approx(sums, rel=1e-9, abs=1e-8)
    assert f"the last {pulls.sum():,.0f} rewards, by weight" in str(bandit.explain())
    assert bandit.pulls.sum() == len(rewards)


@pytest.mark.parametrize("forget", ["12h", datetime.timedelta(hours=12), "720min", "0.5d"])
def test_by_the_clock(forget):
    clock = Time()
    bandit, rng = shop(forget=forget, clock=clock), np.random.default_rng(5)
    rewards, late = [], []
    for t in range(200):
        clock.now += float(rng.exponential(3600.0))
        arm, decided = bandit.ask(), clock.now
        if t % 20 == 3 and not late:
            late.append((bandit.ask(ids=True), clock.now))
        clock.now += float(rng.exponential(600.0))
        if t % 20 == 15 and late:
            decision, when = late.pop()
            bandit.tell_by_id(decision.id, 1.0)
            rewards.append((decision.arm, 1.0, when))
        value = float(rng.random() < MEANS[arm])
        bandit.tell(arm, value)
        rewards.append((arm, value, decided))
        if t == 100:
            bandit = am.Bandit.from_json(bandit.to_json(), clock=clock)
    bandit.tell(2, 1.0)  # which nobody asked for: it is of now
    rewards.append((2, 1.0, clock.now))
    pulls, sums = weighed(rewards, clock.now, 12 * 3600.0)
    assert own(bandit).pulls == pytest.approx(pulls, rel=1e-9, abs=1e-8)
    assert own(bandit).sums == pytest.approx(sums, rel=1e-9, abs=1e-8)
    again = pickle.loads(pickle.dumps(bandit))
    assert again.to_json() == bandit.to_json()
    clock.now -= 5000.0  # a clock that was set back
    before = own(bandit).pulls.sum()
    bandit.ask()
    assert own(bandit).pulls.sum() == before
    clock.now += 5000.0 + 60 * 12 * 3600.0
    bandit.ask()
    assert not own(bandit).pulls.any()  # all is forgotten
    assert bandit.pulls.sum() == len(rewards)


def test_arms_come_and_go_with_their_weights():
    bandit, rng = shop(forget=30), np.random.default_rng(6)
    for _ in range(200):
        arm = bandit.ask()
        bandit.tell(arm, float(rng.random() < MEANS[arm]))
    before = own(bandit).pulls.copy()
    bandit.add_arm(after=2)
    assert own(bandit).pulls.tolist() == [*before[:3], 0.0, *before[3:]]
    bandit.retire_arm(0)
    assert own(bandit).pulls.tolist() == [*before[1:3], 0.0, *before[3:]]
    bandit.tell(bandit.ask(), 1.0)
    assert own(bandit).pulls.sum() == pytest.approx(before[1:].sum() * 2.0 ** (-1 / 30) + 1.0)


def test_it_follows_a_change_and_says_when_that_is_long_ago():
    bandit, rng = shop(forget=40), np.random.default_rng(7)
    for means in (MEANS, [0.1, 0.2, 0.3, 0.5, 0.9]):
        for _ in range(400):
            arm = bandit.ask()
            bandit.tell(arm, float(rng.random() < means[arm]))
    assert bandit.explain().leader == 4
    assert bandit.change() is None  # it is so long ago that nothing rests on it


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: shop(forget=0.5), "half_life must be a number of rewards"),
        (lambda: shop(forget="7 days"), 'such as "90min"'),
        (lambda: shop(forget="0d"), 'such as "90min"'),
        (lambda: shop(forget=True), "half_life"),
        (lambda: shop(am.Forgetting(), forget=5), "forgets already"),
        (lambda: shop(am.SPk(), forget=5), r"SPk keeps numbers .*losses"),
        (lambda: shop(am.Guarded(), forget=5), "Guarded keeps numbers"),
        (lambda: shop(am.Restarting(), forget=5), "Restarting"),
        (lambda: shop(forget="7d", clock=3), "clock must be a function"),
        (lambda: shop(forget="7d", clock=lambda: "now"), "clock must give a number"),
        (lambda: am.Restarting(am.Forgetting()), "forgets"),
        (lambda: am.Guarded(am.Forgetting()), "forgets"),
        (
            lambda: am.Bandit(am.Challenger(), am.Segments(["a", "b"], am.Unimodal(3)), forget=5),
            "forget does not go with segments",
        ),
    ],
)
def test_what_is_refused(make, said):
    with pytest.raises(am.ArmatureError, match=said):
        make()


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        ("state", "own_pulls", 1000.0), ("state", "counted", 0.5), ("state", "started", 7),
        ("forgetting", "now", "x"), ("forgetting", "seconds", -1.0), ("forgetting", "open", 3),
    ],
)  # fmt: skip
def test_a_saved_state_that_can_not_be_is_refused(where, name, value):
    bandit = shop(forget=40)
    bandit.tell(2, 1.0)
    content = json.loads(bandit.to_json())
    part = content[where]
    if where == "state":
        part[name][0] = value
    else:
        part[name] = value
    del content["checksum"]
    content["checksum"] = checksum(content)
    with pytest.raises(am.ArmatureError):
        am.Bandit.from_json(json.dumps(content))
