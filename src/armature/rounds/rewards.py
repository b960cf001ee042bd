"""Rewards: where they come from, and how they are counted.

*Simulated* rewards depend on nothing but (seed, repetition, arm, how often the arm was pulled). So
all policies of an experiment see the same rewards, in any order and on any number of threads.

*Rewards from a log* come in one of three ways:

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

from armature.families import FamilyRecord
from armature.families.kernels import draw, of_arm
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import REWARDS, Source, fill_units, key_of

BLOCK = 64  # rewards of an arm that are drawn at once: a power of 2


class SimulatedRewards(NamedTuple):
    """The rewards of one repetition, a block of each arm at a time."""

    means: Floats
    block: Floats  # (K, BLOCK)
    drawn: Ints  # (K,): how many rewards of each arm have been handed out
    key: Ints  # [key, key, repetition]
    path: Floats  # (P, K): means that change, and from which round on; none where they do not
    starts: Ints  # (P,)
    piece: Ints  # [how many of these pieces have begun]
    stale: Ints  # (K,): 1 where the block was drawn with another mean


def make_rewards(
    means: Floats,
    seed: int,
    repetition: int,
    path: Floats | None = None,
    starts: Ints | None = None,
) -> SimulatedRewards:
    """The rewards of a repetition, from the first on; of means that change, with their path."""
    K = means.size
    return SimulatedRewards(
        means.copy(),
        np.zeros((K, BLOCK)),
        np.zeros(K, dtype=np.int64),
        np.array([*key_of(seed), repetition], dtype=np.int64),
        np.empty((0, K)) if path is None else path.copy(),
        np.empty(0, dtype=np.int64) if starts is None else starts.copy(),
        np.zeros(1, dtype=np.int64),
        np.zeros(K, dtype=np.int64),
    )


@functools.cache
def no_rewards() -> SimulatedRewards:
    """Empty rewards, where rewards come from elsewhere."""
    return make_rewards(np.empty(0), 0, 0)


@kernel
def draw_block(family: FamilyRecord, rewards: SimulatedRewards, arm: int, first: int) -> None:
    """The arm's rewards number first, ..., first + BLOCK - 1."""
    key = rewards.key
    out = rewards.block[arm]
    fill_units(first // 2, arm, key[2], REWARDS, key[0], key[1], out)
    draw(of_arm(family, arm), rewards.means[arm], out, Source(first, arm, key[2], key[0], key[1]))


@kernel
def turn(rewards: SimulatedRewards, gaps: Floats, t: int) -> None:
    """Bring means and gaps to those of round t.

    Invariant: of the pieces of the path, `piece` begin in a round before this one.
    """
    begun = rewards.piece[0]
    while begun < rewards.starts.size and rewards.starts[begun] <= t:
        begun += 1
    if begun == rewards.piece[0]:
        return
    rewards.piece[0] = begun
    best = -np.inf
    for k in range(gaps.size):  # best: of the means before k
        mean = rewards.path[begun - 1, k]
        if mean != rewards.means[k]:
            rewards.means[k] = mean
            rewards.stale[k] = 1
        best = max(best, mean)
    for k in range(gaps.size):
        gaps[k] = best - rewards.means[k]


@inlined
def next_reward(family: FamilyRecord, rewards: SimulatedRewards, arm: int) -> float:
    """The reward of one more pull of an arm."""
    i = rewards.drawn[arm]
    rewards.drawn[arm] = i + 1
    if i & (BLOCK - 1) == 0 or rewards.stale[arm] != 0:
        draw_block(family, rewards, arm, i - (i & (BLOCK - 1)))
        rewards.stale[arm] = 0
    return float(rewards.block[arm, i & (BLOCK - 1)])


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
    """An empty log, where rewards are simulated."""
    none: Ints = np.empty(0, dtype=np.int64)
    return make_log(SIMULATED, np.empty(0), none, np.zeros(1, dtype=np.int64), none)


@kernel
def row_for(log: LoggedRewards, arm: int) -> int:
    """The row with the reward of a chosen arm; -1: the log ends, or has no more of that arm.

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
