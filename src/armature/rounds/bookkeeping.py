"""What is kept of rewards: the one place where a reward is counted."""

from __future__ import annotations

from armature.families import FamilyRecord
from armature.kernels.kernel import inlined
from armature.policies.records import History


@inlined
def count_reward(history: History, family: FamilyRecord, arm: int, reward: float) -> None:
    """Count one reward of an arm.

    Invariant: sums[k] / pulls[k] is the mean of arm k, but for rounding, which is kept inside of
    the family's domain; squares[k] is the sum of (reward - mean)^2 (Welford's update).
    """
    before = history.means[arm]
    history.pulls[arm] += 1.0
    history.sums[arm] += reward
    mean = history.sums[arm] / history.pulls[arm]
    low, high = family.low, family.high
    if not family.alike:
        low, high = family.arms[arm, 1], family.arms[arm, 2]
    mean = min(max(mean, low), high)
    history.means[arm] = mean
    history.squares[arm] += (reward - before) * (reward - mean)
    history.clock[0] += 1
