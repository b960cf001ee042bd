"""Windows, discounts and tests for changes: decision by decision, from lists of rewards."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armature as am

FIRST, LATER = [0.1, 0.3, 0.9, 0.2, 0.1], [0.8, 0.6, 0.5, 0.2, 0.1]
K, T = 5, 400


def klucb(family: am.Family, pulls, sums, levels) -> int:
    """The first arm with the highest bound; one without rewards has none."""
    bounds = [
        math.inf if n == 0 else float(family.for_arm(k).upper(s / n, level / n))
        for k, (n, s, level) in enumerate(zip(pulls, sums, levels, strict=True))
    ]
    return int(np.argmax(bounds))


def sums_of(rewards) -> tuple[np.ndarray, np.ndarray]:
    pulls, sums = np.zeros(K), np.zeros(K)
    for arm, value, weight in rewards:
        pulls[arm] += weight
        sums[arm] += weight * value
    return pulls, sums


def in_window(window):
    def choose(rewards, family):
        pulls, sums = sums_of([(a, x, 1.0) for a, x in rewards[-window:]])
        if (pulls == 0).any():
            return int(np.argmin(pulls))
        return klucb(family, pulls, sums, [math.log(pulls.sum() + 1.0)] * K)

    return choose


def discounted(half_life):
    def choose(rewards, family):
        if len({arm for arm, _ in rewards}) < K:
            return len(rewards)
        ages = range(len(rewards) - 1, -1, -1)
        old = [2.0 ** (-age / half_life) for age in ages]
        pulls, sums = sums_of([(a, x, w) for (a, x), w in zip(rewards, old, strict=True)])
        return klucb(family, pulls, sums, [math.log(int(pulls.sum()) + 1.0)] * K)

    return choose


def best_mean(rewards):
    pulls, sums = sums_of([(a, x, 1.0) for a, x in rewards])
    means = [s / n if n else -math.inf for n, s in zip(pulls, sums, strict=True)]
    return int(np.argmax(means)), pulls, sums


def sw_osub(window, gamma):
    def choose(rewards, family):
        t = len(rewards)
        if t < K:
            return t
        leader, pulls, sums = best_mean(rewards[-window:])
        if t % (gamma + 1) == 0:
            return leader
        led = sum(
            best_mean(rewards[max(0, s - window) : s])[0] == leader
            for s in range(max(1, t - window), t)
        )
        near = [k for k in (leader - 1, leader, leader + 1) if 0 <= k < K]
        bounds = {
            k: family.upper(sums[k] / pulls[k], math.log(led + 1.0) / pulls[k])
            if pulls[k]
            else math.inf
            for k in near
        }
        order = sorted(near, key=lambda k: k != leader)  # of several the leader, then the first
        return max(order, key=lambda k: bounds[k])

    return choose


def turns(t, share):
    turn = t % max(int(K / share), K + 1)
    return turn - 1 if 1 <= turn <= K else None


def glr(local, share, delta):
    def choose(rewards, family):
        start, episode = np.zeros(K, dtype=int), 1
        for t in range(1, len(rewards) + 1):
            arm = rewards[t - 1][0]
            if (t - start[arm]) % 10 != 1:
                continue
            own = [x for a, x in rewards[start[arm] : t] if a == arm]
            n, mean = len(own), sum(own) / len(own)
            for s in range(1, n, 5):
                one, two = sum(own[:s]) / s, sum(own[s:]) / (n - s)
                ratio = s * family.divergence(one, mean) + (n - s) * family.divergence(two, mean)
                if ratio > math.log(n**1.5 / delta):
                    episode += 1
                    start[arm if local else slice(None)] = t
                    break
        due = turns(len(rewards), min(share * math.sqrt(episode), 1.0))
        if len(rewards) < K:
            return len(rewards)
        if due is not None:
            return due
        kept = [(a, x, 1.0) for t, (a, x) in enumerate(rewards) if t >= start[a]]
        levels = [math.log(max(len(rewards) - one, 1)) for one in start]
        return klucb(family, *sums_of(kept), levels)

    return choose


def monitored(window, share):
    def choose(rewards, family):
        start = 0
        for t in range(1, len(rewards) + 1):
            arm = rewards[t - 1][0]
            own = [x for a, x in rewards[start:t] if a == arm][-window:]
            older, newer = sum(own[: window // 2]), sum(own[window // 2 :])
            bar = math.sqrt(2.0 * 0.25 * window * math.log(2.0 * K * T * T))
            if len(own) == window and abs(older - newer) > bar:
                start = t
        due = turns(len(rewards), share)
        if len(rewards) < K:
            return len(rewards)
        if due is not None:
            return due
        kept = [(a, x, 1.0) for a, x in rewards[start:]]
        return klucb(family, *sums_of(kept), [math.log(max(len(rewards) - start, 1))] * K)

    return choose


CASES = [
    (am.SlidingWindow(am.KLUCB(), 60), in_window(60), 250),
    (am.SlidingWindow(am.KLUCB(), 7), in_window(7), 100),
    (am.Forgetting(am.KLUCB(), 40.0), discounted(40.0), 250),
    (am.SWOSUB(window=50), sw_osub(50, 2), 160),
    (am.SWOSUB(window=9, gamma=1), sw_osub(9, 1), 100),
    (am.GLRKLUCB(share=0.1, delta=0.1), glr(False, 0.1, 0.1), 300),
    (am.GLRKLUCB(local=True, share=0.1, delta=0.1), glr(True, 0.1, 0.1), 300),
    (am.MonitoredUCB(window=40, share=0.1), monitored(40, 0.1), 300),
]


@pytest.mark.checks("SlidingWindow", by="a slow twin, decision by decision")
@pytest.mark.checks("Forgetting", by="a slow twin, decision by decision")
@pytest.mark.checks("SWOSUB", by="a slow twin, decision by decision")
@pytest.mark.checks("GLRKLUCB", by="a slow twin, decision by decision")
@pytest.mark.checks("MonitoredUCB", by="a slow twin, decision by decision")
@pytest.mark.parametrize(("policy", "twin", "rounds"), CASES, ids=lambda x: getattr(x, "name", ""))
def test_decision_by_decision(policy, twin, rounds):
    family, rng = am.Bernoulli(), np.random.default_rng(3)
    bandit = am.Bandit(policy, am.Unimodal(K), family, horizon=T)
    rewards: list[tuple[int, float]] = []
    jump = rounds // 2 if rounds < 300 else 120
    for t in range(rounds):
        arm = bandit.ask()
        assert arm == twin(rewards, family), t
        value = float(rng.random() < (FIRST if t < jump else [0.9, 0.1, 0.05, 0.0, 0.0])[arm])
        rewards.append((arm, value))
        bandit.tell(arm, value)
        if t % 50 == 25:
            bandit = am.Bandit.from_json(bandit.to_json())
    state = bandit._decisions.state
    if isinstance(policy, am.GLRKLUCB):
        assert state.episode[0] > 1.0  # there was a restart
    if isinstance(policy, am.MonitoredUCB):
        assert state.since[0] < rounds


def test_what_is_refused():
    with pytest.raises(am.ArmatureError, match=r"Challenger keeps numbers .*looked"):
        am.Bandit(am.SlidingWindow(am.Challenger()), am.Unimodal(3))
    with pytest.raises(am.ArmatureError, match="window must be"):
        am.SlidingWindow(window=1)
    with pytest.raises(am.ArmatureError, match="SWOSUB is for Unimodal"):
        am.Bandit(am.SWOSUB(), am.Unconstrained(3))
    with pytest.raises(am.ArmatureError, match="needs to know the number of rounds"):
        am.Bandit(am.GLRKLUCB(), am.Unconstrained(3))
    with pytest.raises(am.ArmatureError, match="by itself"):
        am.Forgetting(am.SlidingWindow())
    past = {"counts": [1, 1, 1], "sums": [0, 0, 0]}
    with pytest.raises(am.ArmatureError, match="one by one"):
        am.Bandit(am.SlidingWindow(), am.Unconstrained(3), history=past)
