"""Rewards from a log.

Three ways to go over it:

* `QUEUES`: an arm's rewards are handed out in their order, until they run out.
* `REJECTION`: the policy's choice stands until the log shows that arm, and the row is accepted with
  probability (least probability in the log) / (its probability); rows in between are skipped.
* `SHADOW`: the policy's choice at each row is noted, and it then learns from the row, whatever the
  row's arm was.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel

SIMULATED, QUEUES, REJECTION, SHADOW = range(4)  # where rewards come from


class LoggedRewards(NamedTuple):
    """The rewards of a log, and how far they are used up.

    Queues: `rewards` are sorted by arm, those of arm k from `starts[k]` to before `starts[k + 1]`,
    and `taken` says how many are used up. Otherwise rewards are in the log's order, `rows` are
    their arms, and `accepted` whether a row is taken if its arm is chosen.
    """

    kind: int
    rewards: Floats
    rows: Ints
    starts: Ints  # (K + 1,)
    taken: Ints  # (K,)
    accepted: Ints  # (n,) of 0 and 1
    place: Ints  # [next row, an arm that ran out or -1]


def make_log(kind: int, rewards: Floats, rows: Ints, starts: Ints, accepted: Ints) -> LoggedRewards:
    """A log at its beginning."""
    return LoggedRewards(
        kind=kind,
        rewards=rewards,
        rows=rows,
        starts=starts,
        taken=np.zeros(starts.size - 1, dtype=np.int64),
        accepted=accepted,
        place=np.array([0, -1], dtype=np.int64),
    )


@functools.cache
def no_log() -> LoggedRewards:
    """What stands for it where rewards are simulated."""
    none: Ints = np.empty(0, dtype=np.int64)
    return make_log(SIMULATED, np.empty(0), none, np.zeros(1, dtype=np.int64), none)


@kernel
def row_for(log: LoggedRewards, arm: int) -> int:
    """Where the reward of a chosen arm is; -1: the log ends, or has no more of that arm.

    Invariant: what comes before `place[0]`, or within the first `taken[k]` of arm k, is used up.
    """
    place = log.place
    if log.kind == QUEUES:
        at = log.starts[arm] + log.taken[arm]
        if at >= log.starts[arm + 1]:
            place[1] = arm
            return -1
        log.taken[arm] += 1
        return int(at)
    for row in range(place[0], log.rewards.size):
        if log.kind == SHADOW or (log.rows[row] == arm and log.accepted[row] == 1):
            place[0] = row + 1
            return row
    place[0] = log.rewards.size
    return -1
