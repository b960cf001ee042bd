"""Rewards that depend on nothing but (seed, repetition, arm, how often the arm was pulled).

So all policies of an experiment see the same rewards, in any order and on any number of threads.
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


def make_rewards(means: Floats, seed: int, repetition: int) -> SimulatedRewards:
    """The rewards of a repetition, from the first on."""
    K = means.size
    return SimulatedRewards(
        means.copy(),
        np.zeros((K, BLOCK)),
        np.zeros(K, dtype=np.int64),
        np.array([*key_of(seed), repetition], dtype=np.int64),
    )


@functools.cache
def no_rewards() -> SimulatedRewards:
    """What stands for them where rewards come from elsewhere."""
    return make_rewards(np.empty(0), 0, 0)


@kernel
def draw_block(family: FamilyRecord, rewards: SimulatedRewards, arm: int, first: int) -> None:
    """The arm's rewards number first, ..., first + BLOCK - 1."""
    key = rewards.key
    out = rewards.block[arm]
    fill_units(first // 2, arm, key[2], REWARDS, key[0], key[1], out)
    draw(of_arm(family, arm), rewards.means[arm], out, Source(first, arm, key[2], key[0], key[1]))


@inlined
def next_reward(family: FamilyRecord, rewards: SimulatedRewards, arm: int) -> float:
    """The reward of one more pull of an arm."""
    i = rewards.drawn[arm]
    rewards.drawn[arm] = i + 1
    if i & (BLOCK - 1) == 0:
        draw_block(family, rewards, arm, i)
    return float(rewards.block[arm, i & (BLOCK - 1)])
