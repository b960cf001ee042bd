"""Rewards as they come: lost ones, exclusions, floors, costs, probabilities, ids, a history."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import armature as am
from armature.descriptions import POLICIES
from armature.online.choosing import Chooser
from armature.online.tickets import REMEMBERED

PROBLEMS = (
    am.Instance(am.Unimodal(5), [0.0, 1.0, 3.0, 2.0, 0.5]),
    am.Instance(am.Categorised("aabbb"), [3.0, 2.0, 1.0, 0.0, 0.5]),
    am.Instance(am.Linear([[3.0, 0.0], [2.0, 1.0], [0.0, 2.0], [1.0, 1.0]]), [3.0, 2.0, 0.0, 1.0]),
    am.Instance(am.Sparse(5, 2, 0.0), [3.0, 2.0, 0.0, 0.0, 0.0]),
)


def problem_for(policy: am.Policy) -> am.Instance:
    """One that the policy is for; the second best arm is better than the third by 1."""
    return next(i for i in PROBLEMS if policy.supports(i.structure, i.family))


def refused(bandit: am.Bandit, complaint: str, call: Callable[[], Any]) -> None:
    before = bandit.to_json()
    with pytest.raises(am.ArmatureError, match=complaint):
        call()
    assert bandit.to_json() == before


# Rewards that never come.


def test_a_cancelled_pull_is_as_if_it_had_not_been_asked() -> None:
    bandit, other = (am.Bandit(am.UCB(), am.Unconstrained(3)) for _ in range(2))
    arms = bandit.ask(5)
    assert arms[:3] == [0, 1, 2]
    for arm in arms:
        bandit.cancel(arm)
    assert bandit.pending.tolist() == [0, 0, 0]
    assert bandit.to_json() == other.to_json()
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


# Exclusions.


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

    But for `TopTwo`, which goes on looking for the best arm, at whatever regret.
    """
    regret = regret_without_the_best(kind(), problem_for(kind()), 1600)
    assert kind is am.TopTwo or regret[-1] - regret[800] < 0.25 * regret[800]
    assert regret[-1] < 40.0  # of the 1,600 that an arm worse by 1 would cost


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


# Probabilities.


def test_probabilities_are_those_of_the_decisions() -> None:
    """Two Gaussian posteriors: the first is higher with probability Phi(gap / spread)."""
    bandit = am.Bandit(am.ThompsonSampling(), am.Unconstrained(2), am.Gaussian(2.0), floor=0.05)
    bandit.tell([0, 0, 0, 1, 1], [1.0, 2.0, 3.0, 0.5, 0.7])
    w = stats.norm.cdf((2.0 - 0.6) / (2.0 * math.sqrt(1 / 3 + 1 / 2)))
    expected = 0.05 + 0.9 * np.array([w, 1.0 - w])
    before = bandit.to_json()
    found = bandit.probabilities(draws=4000)
    assert bandit.to_json() == before
    assert found.values.sum() == pytest.approx(1.0)
    errors = 0.9 * math.sqrt(w * (1.0 - w) / 4000)
    assert found.standard_errors == pytest.approx([errors, errors], rel=0.05)
    assert np.abs(found.values - expected).max() < 3.0 * errors
    again = bandit.probabilities(draws=4000)
    assert (again.values == found.values).all()
    asked = np.bincount([ask_once(bandit) for _ in range(2000)], minlength=2)
    assert stats.chisquare(asked, 2000 * expected).pvalue > 0.001


def ask_once(bandit: am.Bandit, **options: Any) -> Any:
    arm = bandit.ask(**options)
    bandit.cancel(arm)
    return arm


def test_errors_of_probabilities_are_honest() -> None:
    """Over many bandits, the estimate is within two standard errors about as often as it says."""
    within, rare = [], []
    for seed in range(60):
        bandit = am.Bandit(am.ThompsonSampling(), am.Unconstrained(2), seed=seed)
        bandit.tell([0, 1], [0.6, 0.0])
        w = stats.norm.cdf(0.6 / math.sqrt(2.0))
        found = bandit.probabilities(draws=100)
        within.append(abs(found.values[0] - w) < 2.0 * found.standard_errors[0])
        bandit.tell([0] * 9, [3.0] * 9)  # the other is drawn about once in 200 times
        rare.append(bandit.probabilities(draws=20).standard_errors.min())
    assert 0.85 <= np.mean(within) <= 1.0
    assert min(rare) > 0.0


def test_probabilities_without_chance_are_exact() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(3), labels=list("xyz"), floor=0.1)
    bandit.tell(list("xyz"), [0.0, 0.0, 9.0])
    found = bandit.probabilities()
    assert found.values == pytest.approx([0.1, 0.1, 0.8])
    assert not found.standard_errors.any()
    found = bandit.probabilities(exclude=["z"])
    assert found.values == pytest.approx([0.9, 0.1, 0.0])
    assert not found.standard_errors.any()
    for draws in (0, -1, 1.5, "many"):
        refused(bandit, "draws must be a whole number", lambda d=draws: bandit.probabilities(d))


class Coin(am.PythonPolicy):
    """In plain Python: counts its asks, and throws a coin."""

    def init(self, structure, family):
        return {"asked": 0}

    def choose(self, state, problem, history, rng):
        state["asked"] += 1
        return int(rng.random() < 0.7)


def test_probabilities_of_a_policy_in_plain_python() -> None:
    bandit = am.Bandit(Coin(), am.Unconstrained(2), seed=1)
    bandit.tell([0, 1], [0.0, 0.0])
    before = bandit.to_json()
    found = bandit.probabilities(draws=2000)
    assert bandit.to_json() == before
    assert abs(found.values[1] - 0.7) < 3.0 * found.standard_errors[1]
    copy = am.Bandit.from_json(before, policy=Coin())
    assert copy.ask(30) == bandit.ask(30)


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


# A start from history.

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
