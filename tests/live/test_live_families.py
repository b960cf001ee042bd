"""Live bandits with rewards as they come: a price for each arm, an unknown spread, a range."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.families.kernels import estimate_variance

PRICES = [0.1, 0.2, 0.3]  # sums of which are rounded


def shop(**options: Any) -> am.Bandit:
    return am.Bandit(am.KLUCB(), am.Unimodal(3), am.Bernoulli(scale=PRICES), **options)


def test_sums_of_prices_are_rounded_and_still_means() -> None:
    """All who come buy: the mean of three tenths is a little more than a tenth."""
    assert sum([0.1] * 3) / 3 > 0.1 == PRICES[0]
    bandit = shop(history=[(k, PRICES[k]) for k in range(3) for _ in range(3)])
    assert bandit.means[0] == 0.1
    assert bandit.explain().means == pytest.approx(PRICES)
    assert bandit.ask(exclude=[2]) in (0, 1)
    assert bandit.probabilities(exclude=[2]).values.sum() == 1.0
    sums = {"counts": [3, 3, 3], "sums": [3 * 0.1, 3 * 0.2, 3 * 0.3]}
    assert shop(history=sums).means == pytest.approx(PRICES)


@pytest.mark.parametrize(
    ("past", "complaint"),
    [
        ([(0, 0.1), (1, 0.1)], r"0.1 can't come from Bernoulli\(scale=0.2\): .* lie in {0, 0.2}"),
        ({"counts": [2, 1, 0], "sums": [0.3, 0, 0]}, r"the past means\[0\] = 0.15 is not a mean"),
        (
            {"counts": [2, 2, 0], "sums": [0, 0.3, 0]},
            "has 0.3, which is no sum of rewards of",
        ),
    ],
)
def test_past_sales_that_can_not_be(past: Any, complaint: str) -> None:
    with pytest.raises(am.ArmatureError, match=complaint):
        shop(history=past)


@pytest.mark.parametrize(
    ("family", "new", "expected"),
    [
        (am.Bernoulli(scale=PRICES), {"scale": 0.25}, am.Bernoulli(scale=[0.1, 0.2, 0.25, 0.3])),
        (am.Gaussian(sigma=[1, 2, 3]), {"sigma": 2.5}, am.Gaussian(sigma=[1, 2, 2.5, 3])),
        (am.Gaussian(sigma=None), {}, am.Gaussian(sigma=None)),
        (am.Bounded(0.0, 2.0), {}, am.Bounded(0.0, 2.0)),
        (am.Bernoulli(scale=2.0), {}, am.Bernoulli(scale=2.0)),
    ],
)
def test_arms_with_parameters_of_their_own(family, new, expected) -> None:
    bandit = am.Bandit(am.Challenger(), am.Unimodal(3), family, labels=list("abd"))
    bandit.tell(list("abd"), [0.0, 0.0, 0.0])
    before = bandit.to_json()
    for name in new:
        with pytest.raises(am.ArmatureError, match=f"needs {name}: say {name}="):
            bandit.add_arm("c", after="b")
        with pytest.raises(am.ArmatureError, match="must be a positive finite number"):
            bandit.add_arm("c", after="b", **{name: -1.0})
    assert bandit.to_json() == before
    bandit.add_arm("c", after="b", **new)
    assert bandit.family == expected
    assert am.Bandit.from_json(bandit.to_json()).family == expected
    assert bandit.ask() == "c"
    bandit.retire_arm("c")
    assert bandit.family == family
    assert bandit.pulls.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("family", "about"),
    [
        (am.Bounded(-1.0, 3.0), 2.0),
        (am.Bernoulli(scale=5.0), 5.0),
        (am.Gaussian(sigma=[1.0, 2.0, 0.5]), 0.0),
        (am.Gaussian(sigma=None), 0.0),
    ],
)
def test_costs_of_all_kinds(family: am.Family, about: float) -> None:
    costs = am.Bandit(am.Challenger(), am.Unimodal(3), family, seed=2, goal="min")
    rewards = am.Bandit(am.Challenger(), am.Unimodal(3), family, seed=2)
    rng = np.random.default_rng(0)
    for _ in range(80):
        arm = costs.ask()
        assert rewards.ask() == arm
        one = family.for_arm(arm)
        if one.estimated:
            cost = rng.normal([1.0, 0.2, 2.0][arm], 0.4)
        else:
            cost = one.sample([1.0, 0.2, 2.0][arm], rng)
        costs.tell(arm, cost)
        rewards.tell(arm, about - cost)
    assert costs.explain().leader == 1
    assert costs.means == pytest.approx(about - rewards.means)


def test_costs_at_many_scales_are_refused() -> None:
    with pytest.raises(am.ArmatureError, match='goal="min" does not go with Bernoulli'):
        shop(goal="min")


def unknown(**options: Any) -> am.Bandit:
    return am.Bandit(am.UCB(), am.Unconstrained(2), am.Gaussian(sigma=None), **options)


def test_a_history_for_an_unknown_spread_has_squares() -> None:
    rng = np.random.default_rng(0)
    rewards = [rng.normal(mean, 3.0, 40) for mean in (50.0, 52.0)]
    pairs = [(arm, r) for arm in range(2) for r in rewards[arm]]
    past = {
        "counts": [40, 40],
        "sums": [r.sum() for r in rewards],
        "squares": [(r * r).sum() for r in rewards],
    }
    one, other = unknown(history=pairs), unknown(history=past)
    assert one.explain().sigma == pytest.approx(other.explain().sigma, rel=1e-9)
    assert other.explain().sigma == pytest.approx(3.0, rel=0.3)
    with pytest.raises(am.ArmatureError, match="history needs 'squares'"):
        unknown(history={"counts": [40, 40], "sums": past["sums"]})
    unknown(history={"counts": [1, 1], "sums": [0.0, 1.0]})  # of single rewards there are none


def test_outstanding_rewards_say_nothing_about_the_spread() -> None:
    """The estimate rests on rewards that came; and so do the bounds where arms are excluded."""
    bandit = unknown()
    bandit.tell([0, 1] * 3, [1.0, 4.0, 2.0, 6.0, 3.0, 5.0])
    before = bandit.explain().sigma
    bandit.ask(500)
    assert bandit.explain().sigma == before
    content = json.loads(bandit.to_json())
    history = [np.array(content[name]) for name in ("pulls", "sums", "squares")]
    variance = estimate_variance(history[0], history[1] / history[0], history[2])
    assert before == pytest.approx(math.sqrt(variance))
    assert history[2].tolist() == [2.0, 2.0]


def test_exclusions_with_an_unknown_spread() -> None:
    """The rule's bounds with the estimate: the arm that is clearly worse is not pulled."""
    rng = np.random.default_rng(1)
    bandit = am.Bandit(am.SPk(), am.Unconstrained(4), am.Gaussian(sigma=None))
    for _ in range(600):
        arm = bandit.ask(exclude=[0])
        bandit.tell(arm, rng.normal([9.0, 30.0, 20.0, 10.0][arm], 7.0))
    assert bandit.pulls[0] == 0
    assert bandit.pulls[1] > 550
