"""KL-UCB that begins anew, and pulls every arm from time to time so that changes are seen."""

from __future__ import annotations

import math

from armature.families.kernels import inside, of_arm, upper
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.policies.policy import History
from armature.structures.oracles.model import Model


@kernel
def explored(history: History, share: float) -> int:
    """The arm that is due by turns, which are `share` of the rounds; -1: none is."""
    K = history.pulls.size
    if share <= 0.0:
        return -1
    turn = history.clock[0] % max(int(K / min(share, 1.0)), K + 1)
    return turn - 1 if 1 <= turn <= K else -1


@kernel
def best_bound(model: Model, pulls: Floats, sums: Floats, rounds: Floats) -> int:
    """The arm with the highest q such that N d(mean, q) <= ln(rounds since it began anew)."""
    best = 0
    highest = -math.inf  # invariant: `best` is the first of the arms before k with this bound
    for k in range(pulls.size):
        bound = math.inf
        if pulls[k] > 0.0:
            mean = inside(model.family, k, sums[k] / pulls[k])
            bound = upper(of_arm(model.family, k), mean, math.log(max(rounds[k], 1.0)) / pulls[k])
        if bound > highest:
            highest = bound
            best = k
    return best
