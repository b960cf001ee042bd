"""Rewards that depend on nothing but (seed, repetition, arm, how often the arm was pulled).

So all policies of an experiment see the same rewards, in any order and on any number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from armature._compile import kernel
from armature.families import FamilyRecord
from armature.families.kernels import BERNOULLI, GAUSSIAN, POISSON
from armature.streams import REWARDS, fill_units, key_of, normal_quantile, two_units
from armature.structures._records import Floats, Ints

BLOCK = 64  # rewards of an arm that are drawn at once: a power of 2
LARGE_MEAN = 10.0  # from which on Poisson rewards are drawn by rejection


class Rewards(NamedTuple):
    """The rewards of one repetition, a block of each arm at a time."""

    means: Floats
    block: Floats  # (K, BLOCK)
    drawn: Ints  # (K,): how many rewards of each arm have been handed out
    key: Ints  # [key, key, repetition]


def make_rewards(means: Floats, seed: int, repetition: int) -> Rewards:
    """The rewards of a repetition, from the first on."""
    K = means.size
    return Rewards(
        means.copy(),
        np.zeros((K, BLOCK)),
        np.zeros(K, dtype=np.int64),
        np.array([*key_of(seed), repetition], dtype=np.int64),
    )


@kernel
def units_of(rewards: Rewards, arm: int, index: int, attempt: int) -> tuple[float, float]:
    """Two uniform numbers for one reward; further attempts have numbers of their own."""
    key = rewards.key
    purpose = REWARDS + (attempt << 8)
    return two_units(index, arm, key[2], purpose, key[0], key[1])


@kernel
def poisson_by_inversion(mean: float, u: float) -> float:
    """The smallest k whose distribution function exceeds u."""
    k = 0.0
    probability = math.exp(-mean)
    total = probability
    while u >= total and probability > 0.0:
        k += 1.0
        probability *= mean / k
        total += probability
    return k


@kernel
def poisson_by_rejection(rewards: Rewards, arm: int, index: int) -> float:
    """Transformed rejection with squeeze (Hörmann, 1993: PTRS), for means of at least 10."""
    mean = rewards.means[arm]
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    attempt = 0
    while True:
        u, v = units_of(rewards, arm, index, attempt)
        attempt += 1
        u -= 0.5
        v = 1.0 - v  # never 0
        us = 0.5 - abs(u)
        if us == 0.0:
            continue
        k = math.floor((2.0 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0.0 or (us < 0.013 and v > us):
            continue
        accept = math.log(v * inverse_alpha / (a / (us * us) + b))
        if accept <= k * math.log(mean) - mean - math.lgamma(k + 1.0):
            return float(k)


@kernel
def draw_block(family: FamilyRecord, rewards: Rewards, arm: int, first: int) -> None:
    """The arm's rewards number first, ..., first + BLOCK - 1."""
    key = rewards.key
    mean = rewards.means[arm]
    out = rewards.block[arm]
    if family.code == POISSON and mean >= LARGE_MEAN:
        for i in range(BLOCK):
            out[i] = poisson_by_rejection(rewards, arm, first + i)
        return
    fill_units(first // 2, arm, key[2], REWARDS, key[0], key[1], out)
    if family.code == GAUSSIAN:
        sigma = math.sqrt(family.variance)
        for i in range(BLOCK):
            out[i] = mean + sigma * normal_quantile(out[i])
    elif family.code == BERNOULLI:
        for i in range(BLOCK):
            out[i] = 1.0 if out[i] < mean else 0.0
    elif family.code == POISSON:
        for i in range(BLOCK):
            out[i] = poisson_by_inversion(mean, out[i])
    else:
        for i in range(BLOCK):
            out[i] = -mean * math.log(1.0 - out[i])


@kernel
def next_reward(family: FamilyRecord, rewards: Rewards, arm: int) -> float:
    """The reward of one more pull of an arm."""
    i = rewards.drawn[arm]
    rewards.drawn[arm] = i + 1
    if i & (BLOCK - 1) == 0:
        draw_block(family, rewards, arm, i)
    return float(rewards.block[arm, i & (BLOCK - 1)])
