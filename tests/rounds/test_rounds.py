"""The round of play: what it counts, how it ends, and that it is the same live."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armature as am
from armature.policies.policy import make_history
from armature.policies.records import count_reward
from armature.rounds.play import NO_CHECKPOINTS, PLAYED, RAN_OUT, STOPPED, make_record
from armature.rounds.rewards import (
    QUEUES,
    SHADOW,
    make_log,
    make_rewards,
    next_reward,
)
from armature.rounds.run import Run, make_run, make_sampling_run, play_log
from armature.rounds.runner import make_runner
from armature.rounds.stopping import PRACTICAL, make_outcome

NONE = np.empty(0, dtype=np.int64)
EASY = am.Instance(am.Unconstrained(3), [0.0, 4.0, 1.0])


def test_what_is_counted_of_a_reward(rng: np.random.Generator) -> None:
    rewards, arms = rng.normal(3.0, 2.0, 200), rng.integers(0, 3, 200)
    history, family = make_history(3), am.Gaussian().record_for(3)
    for arm, reward in zip(arms, rewards, strict=True):
        count_reward(history, family, int(arm), float(reward))
    for k in range(3):
        own = rewards[arms == k]
        assert history.pulls[k] == own.size
        assert history.sums[k] == pytest.approx(own.sum(), rel=1e-12)
        assert history.means[k] == history.sums[k] / own.size
        assert history.squares[k] == pytest.approx(((own - own.mean()) ** 2).sum(), rel=1e-9)
    assert history.clock.tolist() == [200, 0]


@pytest.mark.parametrize("family", [am.Bounded(0.0, 0.7), am.Bernoulli(scale=[0.7, 1.3])], ids=str)
def test_a_mean_stays_in_the_domain_whatever_rounding_does(family: am.Family) -> None:
    """Many rewards of 0.7 have a sum that is rounded to more than 0.7 each."""
    history, record = make_history(2), family.record_for(2)
    over = 0
    for _ in range(1000):
        count_reward(history, record, 0, 0.7)
        over += history.sums[0] / history.pulls[0] > 0.7
        assert history.means[0] <= 0.7
    assert over > 0
    count_reward(history, record, 1, family.for_arm(1).domain.high)
    assert history.means[1] == family.for_arm(1).domain.high


def test_how_rounds_end() -> None:
    outcome = make_outcome([0.1], 3, PRACTICAL)
    run = make_sampling_run(am.UCB(), EASY, 0, 0, outcome)
    assert run.advance(3) == PLAYED
    assert run.advance(10_000) == STOPPED
    assert run.history.clock[0] == outcome.rounds[0] < 10_000
    rewards, starts = np.ones(6), np.array([0, 2, 4, 6])
    runner = make_runner(am.UniformSampling(), EASY.structure, EASY.family, 0)
    log = make_log(QUEUES, rewards, NONE, starts, NONE)
    record = make_record(NO_CHECKPOINTS, 3, 10)
    logged = Run(runner, EASY.family.record_for(3), record, log=log)
    assert logged.advance(5) == PLAYED
    assert logged.advance(5) == RAN_OUT
    assert record.choices[:6].tolist() == [0, 1, 2, 0, 1, 2]
    assert log.place[1] == 0


@pytest.mark.parametrize("choice", [3, -1, True, "a", 1.0, None])
def test_a_choice_that_is_no_arm_ends_a_run(choice: Any) -> None:
    class Astray(am.PythonPolicy):
        starts_with_each_arm = False

        def choose(self, state: Any, problem: Any, history: Any, rng: Any) -> Any:
            return choice if history.clock[0] == 4 else 0

    run = make_run(Astray(), EASY, 0, 0, np.array([100]))
    with pytest.raises(am.ArmatureError, match="whole numbers from 0 to 2"):
        run.advance(10)
    assert run.history.clock[0] == 4


@pytest.mark.parametrize("policy", [am.UCB(), am.SPk()], ids=lambda p: p.name)
def test_a_run_goes_on_where_a_bandit_was(policy: am.Policy) -> None:
    """Ask and tell for a while, then let the loop play: the same rounds as by the loop alone."""
    alone = make_run(policy, EASY, 7, 0, np.array([60]))
    alone.advance(60)
    runner, family = make_runner(policy, EASY.structure, EASY.family, 7), EASY.family.record_for(3)
    drawn = make_rewards(EASY.means, 7, 0)
    for _ in range(25):
        arm = runner.next(runner.history)
        runner.take_in(arm, next_reward(family, drawn, arm))
    record = make_record(np.array([60]), 3)
    Run(runner, family, record, gaps=EASY.gaps, drawn=drawn).advance(35)
    assert np.array_equal(record.pulls, alone.record.pulls)
    for name in ("sums", "means", "squares", "clock"):
        assert np.array_equal(getattr(runner.history, name), getattr(alone.history, name))


def test_each_arm_comes_first_also_where_the_log_shows_others() -> None:
    """A policy in the shadow of a log is asked once all arms have a reward, whoever showed them."""
    shown = np.array([2, 2, 0, 1, 1, 1])
    log = make_log(SHADOW, np.arange(6.0), shown, np.zeros(4, dtype=np.int64), NONE)
    played = play_log(am.KLUCB(), EASY.structure, EASY.family, log, 6, 0, 0)
    assert played.choices[:4].tolist() == [0, 0, 0, 1]
    assert played.gains.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
