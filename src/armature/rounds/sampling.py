"""One policy on one instance until the best arm is known, in compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armature.families.estimation import estimate_variance
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.policies import CompiledPolicy, History, Policy
from armature.rounds.play import Run, Trial, play_estimating, play_round
from armature.rounds.rewards import make_rewards, next_reward
from armature.rounds.runner import make_decisions
from armature.rounds.stopping import Vectors, allowance_at, find, make_stopping_model, make_vectors
from armature.structures.instance import Instance
from armature.structures.oracles.model import Model, with_estimate

NEVER = np.array([2**62], dtype=np.int64)  # the one checkpoint of a run that records none


class Outcome(NamedTuple):
    """What is kept of a run: for each delta, in falling order, when it stopped and with what."""

    levels: Floats  # (D,): ln(1 / delta)
    rounds: Ints  # (D,): how many there were when it stopped
    arms: Ints  # (D,): the arm that was named
    statistics: Floats  # (D,)
    pulls: Floats  # (D, K)
    done: Ints  # [for how many deltas it has stopped]
    allowance: int  # which of the two


def make_outcome(deltas: Sequence[float], n_arms: int, allowance: int) -> Outcome:
    """Before the first round."""
    D = len(deltas)
    return Outcome(
        levels=np.log(1.0 / np.array(deltas)),
        rounds=np.zeros(D, dtype=np.int64),
        arms=np.zeros(D, dtype=np.int64),
        statistics=np.zeros(D),
        pulls=np.zeros((D, n_arms)),
        done=np.zeros(1, dtype=np.int64),
        allowance=allowance,
    )


@kernel
def write_outcome(history: History, arm: int, value: float, at: int, outcome: Outcome) -> None:
    """Note how things stand, for one delta."""
    outcome.rounds[at] = history.clock[0]
    outcome.arms[at] = arm
    outcome.statistics[at] = value
    for k in range(history.pulls.size):
        outcome.pulls[at, k] = history.pulls[k]


@kernel
def check(model: Model, history: History, vectors: Vectors, outcome: Outcome) -> bool:
    """Stop for all deltas whose threshold is exceeded; whether that is all of them.

    A threshold grows as delta falls: the deltas come in falling order. What all of them have in
    common, the allowance, is worked out where it may matter.
    """
    at = outcome.done[0]
    finding = find(model, history.pulls, history.means, vectors)
    left = finding.statistic
    if left > outcome.levels[at]:
        left -= allowance_at(
            outcome.allowance, model, history.pulls, history.sums, finding, vectors
        )
        while at < outcome.levels.size and left > outcome.levels[at]:
            write_outcome(history, finding.arm, finding.statistic, at, outcome)
            at += 1
    outcome.done[0] = at
    return bool(at == outcome.levels.size)


@kernel
def play_until_sure(
    update_address: int,
    rounds: int,
    trial: Trial,
    model: Model,
    vectors: Vectors,
    outcome: Outcome,
) -> int:
    """`play`, with a look at the statistic after every round; it ends when that is enough."""
    for _ in range(rounds):
        stray = play_round(update_address, trial)
        if stray != 0:
            return stray
        if check(model, trial.history, vectors, outcome):
            return 0
    return 0


@kernel
def play_until_sure_estimating(
    update_address: int,
    rounds: int,
    trial: Trial,
    reals: Floats,
    model: Model,
    vectors: Vectors,
    outcome: Outcome,
) -> int:
    """The same where the variance of rewards is not known: the statistic is told the estimate."""
    history = trial.history
    for _ in range(rounds):
        stray = play_estimating(update_address, 1, trial, reals)
        if stray != 0:
            return stray
        now = estimate_variance(history.pulls, history.means, history.squares)
        if check(with_estimate(model, now), history, vectors, outcome):
            return 0
    return 0


class SamplingRun(Run):
    """One repetition of a policy made of kernels, until the best arm is known."""

    def __init__(
        self,
        policy: CompiledPolicy,
        instance: Instance,
        seed: int,
        repetition: int,
        outcome: Outcome,
    ) -> None:
        super().__init__(policy, instance, seed, repetition, NEVER)
        family = instance.family.as_told
        self.outcome = outcome
        self.history = self._trial.history
        self._checking = (
            make_stopping_model(instance.structure, family, outcome.allowance),
            make_vectors(family, instance.n_arms),
            outcome,
        )

    def _play(self, rounds: int) -> int:
        begin = self._update, rounds, self._trial
        if self._estimates:
            return play_until_sure_estimating(*begin, self._reals, *self._checking)
        return play_until_sure(*begin, *self._checking)


class PythonSamplingRun:
    """One repetition of a policy in plain Python, on the same rewards."""

    def __init__(
        self, policy: Policy, instance: Instance, seed: int, repetition: int, outcome: Outcome
    ) -> None:
        structure, family = instance.structure, instance.family
        self._decisions = make_decisions(policy, structure, family, seed, repetition)
        self._family = family.record_for(instance.n_arms)
        self._rewards = make_rewards(instance.means, seed, repetition)
        self._model = make_stopping_model(structure, family.as_told, outcome.allowance)
        self._vectors = make_vectors(family.as_told, instance.n_arms)
        self.outcome, self.history = outcome, self._decisions.history

    def advance(self, rounds: int) -> None:
        """Play some more rounds, or fewer if that is enough."""
        for _ in range(rounds):
            arm = self._decisions.next(self.history)
            self._decisions.take_in(arm, next_reward(self._family, self._rewards, arm))
            model = self._model
            if model.family.estimated:
                model = with_estimate.py_func(model, self._decisions.estimated_variance())
            if check(model, self.history, self._vectors, self.outcome):
                return


def make_run(
    policy: Policy, instance: Instance, seed: int, repetition: int, outcome: Outcome
) -> SamplingRun | PythonSamplingRun:
    """A repetition, before its first round."""
    policy.check(instance.structure, instance.family)
    if isinstance(policy, CompiledPolicy):
        return SamplingRun(policy, instance, seed, repetition, outcome)
    return PythonSamplingRun(policy, instance, seed, repetition, outcome)
