"""One simulated repetition of a policy: compiled where it is made of kernels, else in Python."""

from __future__ import annotations

import numpy as np

from armature.kernels.arrays import Ints
from armature.policies import CompiledPolicy, Policy
from armature.policies.records import History
from armature.rounds.play import Record, Run, make_record, note
from armature.rounds.rewards import make_rewards, next_reward
from armature.rounds.runner import make_decisions
from armature.structures.instance import Instance

CHECKPOINTS = 200


def checkpoints_up_to(horizon: int) -> Ints:
    """Rounds from 1 to the horizon, spaced logarithmically."""
    return np.unique(np.geomspace(1, horizon, CHECKPOINTS).round().astype(np.int64))


class PythonRun:
    """One repetition of a policy in plain Python, on the same rewards."""

    def __init__(
        self, policy: Policy, instance: Instance, seed: int, repetition: int, checkpoints: Ints
    ) -> None:
        self._decisions = make_decisions(
            policy, instance.structure, instance.family, seed, repetition
        )
        self._family, self._gaps = instance.family.record_for(instance.n_arms), instance.gaps
        self._rewards = make_rewards(instance.means, seed, repetition)
        self.record: Record = make_record(checkpoints, instance.n_arms)

    def advance(self, rounds: int) -> None:
        """Play some more rounds."""
        history: History = self._decisions.history
        for _ in range(rounds):
            arm = self._decisions.next(history)
            self._decisions.take_in(arm, next_reward(self._family, self._rewards, arm))
            self.record.total[0] += self._gaps[arm]
            if history.clock[0] == self.record.checkpoints[self.record.progress[0]]:
                note(history, self.record)


def make_run(
    policy: Policy, instance: Instance, seed: int, repetition: int, checkpoints: Ints
) -> Run | PythonRun:
    """A repetition, before its first round."""
    policy.check(instance.structure, instance.family)
    if isinstance(policy, CompiledPolicy):
        return Run(policy, instance, seed, repetition, checkpoints)
    return PythonRun(policy, instance, seed, repetition, checkpoints)
