"""With which probability an arm is chosen, exact or estimated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from live_bandits import Coin, refused
from scipy import stats

import armature as am
from armature.live.choosing import untouched


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


def test_probabilities_of_a_policy_in_plain_python() -> None:
    bandit = am.Bandit(Coin(), am.Unconstrained(2), seed=1)
    bandit.tell([0, 1], [0.0, 0.0])
    before = bandit.to_json()
    found = bandit.probabilities(draws=2000)
    assert bandit.to_json() == before
    assert abs(found.values[1] - 0.7) < 3.0 * found.standard_errors[1]
    copy = am.Bandit.from_json(before, policy=Coin())
    assert copy.ask(30) == bandit.ask(30)


CIRCLE = [[1.0, 0.0], [0.3, 0.95], [-0.8, 0.6], [-0.8, -0.6], [0.3, -0.95]]
DRAWN = {
    "tail": (am.Challenger(randomised=True), am.Categorised("aabbc")),
    "one peak": (am.Challenger(randomised=True), am.Unimodal(5)),
    "linear": (am.Challenger(randomised=True), am.Linear(CIRCLE)),
    "guarded": (am.Guarded(am.Challenger(randomised=True)), am.Unimodal(5)),
    "challenger": (am.Challenger(patience=0.0), am.Linear(CIRCLE)),
    "MINTS": (am.MINTS(), am.Unimodal(5)),
    "Maillard": (am.MaillardSampling(), am.Unconstrained(5)),
    "LinMED": (am.LinMED(), am.Linear(CIRCLE)),
    "IDS": (am.IDS(), am.Linear(CIRCLE)),
    "SOLID": (am.SOLID(), am.Linear(CIRCLE)),
}
MANY = 100_000


def told(policy: am.Policy, structure: am.Structure, floor: float = 0.0) -> am.Bandit:
    """A bandit about to draw between at least two arms."""
    bandit = am.Bandit(policy, structure, am.Gaussian(0.5), seed=4, floor=floor)
    rewards = np.random.default_rng(2)
    for _ in range(200):
        shares = bandit.probabilities(draws=1)
        if bandit.pulls.sum() > 9 and (shares.values > floor + 1e-3).sum() > 1:
            return bandit
        arm = bandit.ask()
        bandit.tell(arm, rewards.normal([0.2, 0.5, 0.3, 0.1, 0.0][arm], 0.5))
    raise AssertionError("it never draws")


@pytest.mark.checks(
    "Challenger",
    "Guarded",
    "MINTS",
    "MaillardSampling",
    "LinMED",
    "IDS",
    "SOLID",
    by="a hundred thousand draws",
)
@pytest.mark.parametrize("name", DRAWN)
def test_exact_probabilities_are_those_of_the_draws(name: str) -> None:
    bandit = told(*DRAWN[name])
    before = bandit.to_json()
    found = bandit.probabilities()
    assert not found.standard_errors.any()
    assert found.values.sum() == pytest.approx(1.0, abs=1e-12)
    chooser = bandit._chooser
    decisions, moment = chooser.decisions, chooser.decisions.moment()
    counts = np.zeros(5)
    for number in range(MANY):
        decisions.return_to(moment)
        decisions.use_numbers_of(number)
        counts[chooser.choose(untouched(bandit._seen()), None)] += 1.0
    decisions.return_to(moment)
    possible = found.values > 0.0
    assert not counts[~possible].any()
    assert stats.chisquare(counts[possible], MANY * found.values[possible]).pvalue > 1e-4
    assert bandit.to_json() == before


@pytest.mark.parametrize("name", DRAWN)
def test_a_decision_says_its_probability(name: str) -> None:
    for floor in (0.0, 0.05):
        bandit = told(*DRAWN[name], floor=floor)
        for exclude in ([], [1]):
            expected = bandit.probabilities(exclude=exclude)
            assert not expected.standard_errors.any()
            decision = bandit.ask(exclude=exclude, ids=True)
            assert decision.probability == pytest.approx(expected.values[decision.arm], abs=1e-12)
            bandit.cancel_by_id(decision.id)


def test_every_arm_that_is_possible_keeps_a_probability() -> None:
    bandit = told(*DRAWN["one peak"])
    bandit.tell([1] * 200, [0.5] * 200)
    found = bandit.probabilities().values
    assert (found > 0.0).all()
    assert found[1] > 0.5


def test_the_probability_of_thompson_sampling_is_not_known() -> None:
    bandit = am.Bandit(am.ThompsonSampling(), am.Unconstrained(3))
    bandit.tell([0, 1, 2], [0.0, 0.0, 0.0])
    assert bandit.ask(ids=True).probability is None
    assert bandit.probabilities().standard_errors.all()


def test_randomised_is_a_way_to_draw() -> None:
    with pytest.raises(am.ArmatureError, match="draws by itself"):
        am.Challenger(randomised=True, draw="tail")
    assert am.Challenger(randomised=True).name == "Challenger(randomised=True)"
