"""Arms that must not be chosen now: what is, and what it costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from live_bandits import problem_for, refused

import armature as am
from armature.live.choosing import Chooser
from armature.storage.registry import POLICIES


def kl_choice(means, pulls, t, allowed, chosen):
    """The rule once more, for Gaussian rewards of standard deviation 1 that are all seen."""
    radius = np.sqrt(2.0 * np.log1p(t) / pulls)
    if chosen in allowed and means[chosen] + radius[chosen] >= max((means - radius)[allowed]):
        return chosen
    return max(allowed, key=lambda k: means[k] + radius[k])


class Anything(am.PythonPolicy):
    """Any arm."""

    def choose(self, state, problem, history, rng):
        return int(rng.integers(problem.structure.n_arms))


def test_the_rule_for_exclusions() -> None:
    rng = np.random.default_rng(0)
    overruled = 0
    for case in range(60):
        bandit = am.Bandit(Anything(), am.Unconstrained(5), seed=case)
        pulls = rng.integers(1, 60, 5)
        for arm in range(5):
            bandit.tell([arm] * int(pulls[arm]), rng.normal(0.5 * arm, 1.0, int(pulls[arm])))
        free = am.Bandit.from_json(bandit.to_json(), policy=Anything()).ask()
        excluded = rng.choice(5, int(rng.integers(1, 5)), replace=False).tolist()
        allowed = [k for k in range(5) if k not in excluded]
        expected = kl_choice(bandit.means, bandit.pulls, pulls.sum(), allowed, free)
        overruled += free in allowed and free != expected
        assert bandit.ask(exclude=excluded) == expected
    assert overruled > 0


def test_what_is_excluded_is_not_chosen() -> None:
    bandit = am.Bandit(am.SPk(), am.Unimodal(4), labels=list("abcd"), floor=0.2)
    rng = np.random.default_rng(0)
    for _ in range(200):
        excluded = rng.choice(list("abcd"), int(rng.integers(4)), replace=False)
        batch = bandit.ask(2, exclude=excluded)
        assert not set(batch) & set(excluded)
        bandit.tell(batch, rng.normal(size=2))
    assert bandit.ask(exclude={"a", "b", "c"}) == "d"
    refused(bandit, "all arms are excluded", lambda: bandit.ask(exclude=list("abcd")))
    refused(bandit, "all arms are excluded", lambda: bandit.probabilities(exclude=list("abcd")))
    refused(bandit, "there is no arm 'e'", lambda: bandit.ask(3, exclude=["a", "e"]))
    refused(bandit, "exclude must be a list of arms; got 'a'", lambda: bandit.ask(exclude="a"))
    refused(bandit, "exclude must be a list of arms; got 3", lambda: bandit.ask(exclude=3))


def test_an_arm_that_was_never_allowed_does_not_stop_the_others() -> None:
    """Excluded from the first ask on: the policy can't be asked, and the others are learned."""
    bandit = am.Bandit(am.SPk(), am.Unimodal(4))
    rng = np.random.default_rng(0)
    for _ in range(400):
        arm = bandit.ask(exclude=[1])
        bandit.tell(arm, rng.normal([0.0, 9.0, 2.0, 1.0][arm], 0.5))
    assert bandit.pulls[1] == 0
    assert bandit.pulls[2] > 370


def regret_without_the_best(policy: am.Policy, instance: am.Instance, rounds: int) -> np.ndarray:
    """Against the best allowed arm, where the best of all is excluded after its first pull."""
    best, means = instance.best_arm, instance.means
    gaps = np.delete(means, best).max() - means
    bandit = am.Bandit(policy, instance.structure, instance.family, horizon=rounds)
    rng = np.random.default_rng(1)
    lost = np.zeros(rounds)
    for t in range(rounds):
        arm = bandit.ask(exclude=[best] if t >= instance.n_arms else [])
        bandit.tell(arm, rng.normal(means[arm]))
        lost[t] = gaps[arm] if t >= instance.n_arms else 0.0
    return np.cumsum(lost)


@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.__name__)
def test_learning_goes_on_without_the_best_arm(kind: type[am.Policy]) -> None:
    """With the best arm excluded for good, the second half costs a fraction of the first.

    But for `TopTwo`, which goes on looking for the best arm, at whatever regret, and for policies
    that expect changes.
    """
    if kind in (am.Forgetting, am.SlidingWindow, am.SWOSUB, am.GLRKLUCB, am.MonitoredUCB):
        return
    regret = regret_without_the_best(kind(), problem_for(kind()), 1600)
    assert kind is am.TopTwo or regret[-1] - regret[800] < 0.25 * regret[800]
    assert regret[-1] < 0.03 * 1600  # of what an arm worse by 1 would cost


class Doubtful(am.PythonPolicy):
    """The best arm so far, or another with probability exp(-evidence against the nearest one)."""

    def choose(self, state, problem, history, rng):
        N, means = history.pulls, history.means
        leader = int(np.argmax(means))
        others = [k for k in range(N.size) if k != leader]
        evidence = min(
            N[leader] * N[k] / (N[leader] + N[k]) * (means[leader] - means[k]) ** 2 / 2.0
            for k in others
        )
        return int(rng.choice(others)) if rng.random() < math.exp(-evidence) else leader


def test_a_policy_alone_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the bounds have a say: without evidence about its leader, a policy explores for ever."""
    instance = am.Instance(am.Unconstrained(4), [2.5, 2.0, 1.0, 0.5])
    right = regret_without_the_best(Doubtful(), instance, 1600)

    def unruled(self, history, allowed):
        low, high = bounds(self, history, allowed)
        return np.full_like(low, -math.inf), high

    bounds = Chooser._bounds
    monkeypatch.setattr(Chooser, "_bounds", unruled)
    wrong = regret_without_the_best(Doubtful(), instance, 1600)
    assert right[-1] - right[800] < 10.0
    assert wrong[-1] - wrong[800] > 100.0
