"""What every policy is told: the rewards so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel


class History(NamedTuple):
    """The rewards so far, in sums."""

    pulls: Floats  # N: how often each arm was pulled
    sums: Floats  # of each arm's rewards
    means: Floats  # mu_hat = sums / pulls; 0 for an arm without pulls
    squares: Floats  # of each arm's rewards about their mean, summed up
    clock: Ints  # [rounds so far, how many of them were exploration]


def make_history(n_arms: int) -> History:
    """Before the first round."""
    return History(
        pulls=np.zeros(n_arms),
        sums=np.zeros(n_arms),
        means=np.zeros(n_arms),
        squares=np.zeros(n_arms),
        clock=np.zeros(2, dtype=np.int64),
    )


@kernel
def argmax(values: Floats) -> int:
    """The first of the largest."""
    best = 0
    for k in range(1, values.size):
        if values[k] > values[best]:
            best = k
    return best


@kernel
def least_pulled(history: History) -> int:
    """The first of the arms with the fewest pulls."""
    least = 0
    for k in range(1, history.pulls.size):
        if history.pulls[k] < history.pulls[least]:
            least = k
    return least


@kernel
def mark_exploration(history: History) -> None:
    """This round is exploration (counted by policies that tell the two apart)."""
    history.clock[1] += 1
