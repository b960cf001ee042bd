"""Replaying policies on logs: against asking and telling by hand, and against new simulations."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_logs import rows

import armature as am
from armature.assess.log import read_log
from armature.assess.resampling import mean_interval, weigh
from armature.rounds.rewards import QUEUES, REJECTION, SHADOW, LoggedRewards, make_log
from armature.rounds.run import play_log
from studies.assessment import replays as study

STRUCTURE, FAMILY = am.Unimodal(3), am.Gaussian(1.0)


class Careful(am.PythonPolicy):
    """In plain Python: the arm with the best mean, less what was learned of it by itself."""

    def choose(self, state: Any, problem: Any, history: Any, rng: Any) -> int:
        width = float(problem.family.sub_gaussian_variance)
        own = [state.get(str(k), 0.0) for k in range(3)]
        return int(np.argmax(history.means - own + width * rng.random(3)))

    def update(self, state: Any, problem: Any, history: Any, arm: int, reward: float) -> None:
        state[str(arm)] = 0.5 * state.get(str(arm), 0.0) + 0.01 * reward


POLICIES = [am.UCB(), am.Challenger(), am.ThompsonSampling(), am.SPk(), Careful()]


def log_of(frame: pd.DataFrame, kind: int) -> LoggedRewards:
    log = read_log(frame, STRUCTURE)
    assert log.rewards is not None
    assert log.places is not None
    order = np.argsort(log.places, kind="stable")
    starts = np.concatenate([[0], np.cumsum(log.counts)]).astype(np.int64)
    rewards = log.rewards[order] if kind == QUEUES else log.rewards
    accepted = np.random.default_rng(1).integers(0, 2, len(frame))
    return make_log(kind, rewards, log.places, starts, accepted)


@pytest.mark.checks("replay", by="`ask` and `tell`, choice by choice")
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("kind", [QUEUES, REJECTION, SHADOW])
def test_the_compiled_loop_against_ask_and_tell(kind: int, policy: am.Policy) -> None:
    """The same choices and rewards as a bandit's that is asked and told row by row."""
    frame = rows(400, seed=2)
    for family in (FAMILY, am.Gaussian(None)):
        log = log_of(frame, kind)
        played = play_log(policy, STRUCTURE, family, log, 150, 5, 0)
        queues = {k: list(frame.reward[frame.arm == k]) for k in range(3)}
        bandit = am.Bandit(policy, STRUCTURE, family, seed=5)
        row, choices, gains = 0, [], []
        while len(choices) < 150:
            if kind != QUEUES and row >= len(frame):
                break
            arm = bandit.ask()
            if kind == QUEUES:
                if not queues[arm]:
                    break
                shown, reward = arm, queues[arm].pop(0)
            elif kind == SHADOW:
                shown, reward = int(frame.arm[row]), float(frame.reward[row])
                row += 1
                bandit.cancel(arm)
            else:
                while row < len(frame) and (frame.arm[row] != arm or not log.accepted[row]):
                    row += 1
                if row >= len(frame):
                    break
                shown, reward = arm, float(frame.reward[row])
                row += 1
            bandit.tell(shown, reward)
            choices.append(arm)
            gains.append(reward)
        assert played.choices.tolist() == choices
        assert played.gains.tolist() == gains


def test_a_policy_in_plain_python() -> None:
    class Turns(am.PythonPolicy):
        """Every arm in turns."""

        def choose(self, state: Any, problem: Any, history: Any, rng: Any) -> int:
            return int(history.clock[0]) % 3

    frame = rows(90)
    found = am.replay(frame, Turns(), STRUCTURE, FAMILY, repetitions=2)
    least = frame.groupby("arm").size()
    assert found["Turns"].rounds == min(3 * int(n) + k for k, n in least.items())
    assert found["Turns"].exhausted is not None


def test_queues_say_how_far_they_got() -> None:
    frame = rows(300, seed=3)
    found = am.replay(frame, [am.UCB(), am.KLUCB()], STRUCTURE, FAMILY, repetitions=3)
    for one in found.policies:
        assert one.exhausted == 2  # the best arm
        assert one.shares[2] * one.rounds == (frame.arm == 2).sum()
        assert one.low <= one.value <= one.high
        assert one.compared == min(p.rounds for p in found.policies)
        assert f"{one.policy} played {one.rounds:,} rounds, then chose arm 2:" in str(found)
    assert "assumes that rewards do not drift" in str(found)
    assert found.logged == pytest.approx(frame.reward.mean())
    short = am.replay(frame, am.UCB(), STRUCTURE, FAMILY, horizon=20, repetitions=3)["UCB"]
    assert (short.rounds, short.exhausted) == (20, None)
    assert json.loads(found.to_json())["policies"][0]["policy"] == "UCB"
    again = am.replay(frame, [am.UCB(), am.KLUCB()], STRUCTURE, FAMILY, repetitions=3)
    assert again.to_json() == found.to_json()
    with pytest.raises(am.ArmatureError, match="did you mean 'UCB'"):
        found["UCb"]


def test_a_log_that_drifts_is_pointed_out() -> None:
    frame = rows(600, seed=3)
    frame.loc[300:, "reward"] += 3.0
    assert "Rewards changed during the log" in str(
        am.replay(frame, am.UCB(), STRUCTURE, FAMILY, repetitions=2, horizon=10)
    )


def test_refusals() -> None:
    frame = rows(300)
    bare = frame.drop(columns="probability")
    for method in ("rejection", "ips"):
        with pytest.raises(am.ArmatureError, match=r"has no probabilities .* uniform=True"):
            am.replay(bare, am.UCB(), STRUCTURE, FAMILY, method=method)  # type: ignore[arg-type]
    skewed = pd.concat([bare, bare[bare.arm == 1], bare[bare.arm == 1]])
    with pytest.raises(am.ArmatureError, match="declared uniform, but 1 was shown"):
        am.replay(skewed, am.UCB(), STRUCTURE, FAMILY, method="ips", uniform=True)
    certain = frame.copy()
    certain["probability"] = 1.0
    with pytest.raises(am.ArmatureError, match="every arm was shown with probability 1"):
        am.replay(certain, am.UCB(), STRUCTURE, FAMILY, method="rejection")
    certain["probability"] = frame.probability
    certain.loc[7, "probability"] = math.nan
    with pytest.raises(am.ArmatureError, match="row 7: the probability is not known"):
        am.replay(certain, am.UCB(), STRUCTURE, FAMILY, method="ips")
    with pytest.raises(am.ArmatureError, match="has only sums"):
        am.replay({"counts": [9] * 3, "sums": [1, 2, 3]}, am.UCB(), STRUCTURE, FAMILY)
    with pytest.raises(am.ArmatureError, match="method must be"):
        am.replay(frame, am.UCB(), STRUCTURE, FAMILY, method="dice")  # type: ignore[arg-type]
    with pytest.raises(am.ArmatureError, match="no policies to replay"):
        am.replay(frame, [], STRUCTURE, FAMILY)
    with pytest.raises(am.ArmatureError, match="repetitions must be"):
        am.replay(frame, am.UCB(), STRUCTURE, FAMILY, repetitions=0)
    am.replay(bare, am.UCB(), STRUCTURE, FAMILY, method="ips", uniform=True)


@pytest.mark.checks("replay", by="a case by hand")
def test_weights_by_hand() -> None:
    matches = np.array([1.0, 0.0, 1.0, 1.0])
    shown = np.array([0.5, 0.1, 0.25, 0.5])
    rewards = np.array([1.0, 9.0, 2.0, 4.0])
    found = weigh(matches, shown, rewards, 0.05, 0)
    assert found.ips == pytest.approx((2.0 + 8.0 + 8.0) / 4.0)
    assert found.snips == pytest.approx(18.0 / 8.0)
    assert found.effective == pytest.approx(64.0 / (4.0 + 16.0 + 4.0))
    assert (found.largest, found.matched) == (4.0, 3)
    assert found.ips_low < found.ips < found.ips_high
    nothing = weigh(np.zeros(4), shown, rewards, 0.05, 0)
    assert (nothing.ips, nothing.effective, nothing.largest) == (0.0, 0.0, 0.0)
    assert math.isnan(nothing.snips)


def test_bootstrap_intervals_are_as_wide_as_they_should_be() -> None:
    values = np.random.default_rng(0).normal(5.0, 2.0, 5000)
    low, high = mean_interval(values, 0.05, 1)
    assert (high - low) / 2.0 == pytest.approx(1.96 * 2.0 / math.sqrt(5000), rel=0.12)
    assert (low + high) / 2.0 == pytest.approx(values.mean(), abs=0.01)


@pytest.mark.checks("replay", by="unbiased, with the stated coverage")
def test_estimates_with_probabilities_are_unbiased() -> None:
    """Fewer logs than in docs/studies/logs.md. SNIPS is biased a little, by construction.

    An unbiased estimate is off by 4 standard errors with probability 1e-4.
    """
    for policy in ("UCB", "ThompsonSampling"):
        ips, snips = study.weighted(policy, 300, 100, seed=2)
        assert abs(ips.z) < 4.0
        assert abs(snips.error) < 0.02
        least = stats.binom.ppf(1e-4, 100, 0.93)  # a percentile interval of few rows
        assert ips.covered >= least / 100
        assert snips.covered >= least / 100
        rejected = study.rejected(policy, 1500, 60, 100, seed=2)
        assert abs(rejected.z) < 4.0
        assert rejected.covered >= least / 100


@pytest.mark.checks("replay", by="planted errors")
def test_a_wrong_probability_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these checks are worth: with probabilities that are wrong, they fail."""
    wrong = 1.25 * study.SHOWN

    def draw_log(rows: int, rng: np.random.Generator) -> Any:
        arms = rng.choice(4, rows, p=study.SHOWN).astype(np.int64)
        return arms, wrong[arms], (rng.random(rows) < study.MEANS[arms]).astype(float)

    monkeypatch.setattr(study, "draw_log", draw_log)
    assert abs(study.weighted("UCB", 300, 60, seed=2)[0].z) > 4.0


@pytest.mark.checks("replay", by="new runs")
def test_queues_are_like_new_runs() -> None:
    """Kolmogorov and Smirnov's test: a p-value below 1e-4 has that probability."""
    for policy in ("UCB", "ThompsonSampling"):
        found = study.queued(policy, 600, 60, 150, seed=4)
        assert found.p_value > 1e-4


def test_every_policy_that_is_used_in_the_report_can_be_replayed() -> None:
    frame = rows(200, seed=6)
    policies = [am.Guarded(am.Challenger()), am.ProjectedThompson(), am.KLUCB()]
    for method in ("queues", "rejection", "ips"):
        found = am.replay(frame, policies, STRUCTURE, FAMILY, method=method, repetitions=2)  # type: ignore[arg-type]
        assert len(found.policies) == 3
        assert all(one.low <= one.high for one in found.policies)
