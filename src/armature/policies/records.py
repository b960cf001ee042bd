"""Small kernels that policies share."""

from __future__ import annotations

from armature.families import FamilyRecord
from armature.families.kernels import inside
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream, next_unit
from armature.policies.policy import History

SHORT = 0.5 - 1e-9  # of (x - y)^2 / variance: a half, less what rounding may make of it


@kernel
def argmax(values: Floats) -> int:
    """The first of the largest."""
    best = 0  # invariant: the first of the largest before k
    for k in range(1, values.size):
        if values[k] > values[best]:
            best = k
    return best


@kernel
def least_pulled(history: History) -> int:
    """The first of the arms with the fewest pulls."""
    least = 0  # invariant: the first of the arms before k with the fewest pulls
    for k in range(1, history.pulls.size):
        if history.pulls[k] < history.pulls[least]:
            least = k
    return least


@kernel
def draw_index(weights: Floats, total: float, stream: Stream) -> int:
    """An index, drawn by weights that add up to `total`; -1 where rounding leaves none.

    Invariant: `target` is the number that was drawn, less the weights before i; it is not negative.
    """
    target = next_unit(stream) * total
    for i in range(weights.size):
        target -= weights[i]
        if target < 0.0:
            return i
    return -1


@kernel
def mark_exploration(history: History) -> None:
    """This round is exploration (counted by policies that tell the two apart)."""
    history.clock[1] += 1


@inlined
def least_divergence(family: FamilyRecord, x: float, y: float) -> float:
    """At most d(x, y), by two multiplications: rewards are sub-Gaussian with variance `proxy`.

    (For Bernoulli rewards, Pinsker's inequality; 0 where there is no such variance.) What is too
    far by this bound is too far: so a loop over many arms takes few logarithms.
    """
    gap = x - y
    return SHORT * gap * gap / family.proxy


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


@kernel
def copy_but_last(
    own: History, family: FamilyRecord, history: History, arm: int, reward: float
) -> None:
    """own = the history without its last reward, as far as sums say it."""
    for k in range(own.pulls.size):
        own.pulls[k] = history.pulls[k]
        own.sums[k] = history.sums[k]
        if k == arm:
            own.pulls[k] -= 1.0
            own.sums[k] -= reward
        if own.pulls[k] > 0.0:
            own.means[k] = inside(family, k, own.sums[k] / own.pulls[k])
    own.clock[0] = history.clock[0] - 1
