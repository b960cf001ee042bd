"""Sums of past rewards for a test for changes: before some moments, few and well spread.

A *split* is a number of decisions, and what came of those before it: how many rewards of each arm,
and their sum. With what there is now, that gives the rewards since. Decisions are counted and not
rewards, so that a late reward goes where it was decided. A split is made every `BLOCK` decisions.
One that is a multiple of 2^v blocks, and of no higher power, is kept until it is `OCTAVE` 2^v
blocks old: so the splits around any age are no further apart than an eighth of it, and of t
decisions there are O(log t).

A *reference* is what was known when the decisions were a power of 2 blocks: it does not change any
more. What a split makes of the past, it says given the reference at a quarter to a half of its age.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel

BLOCK = 16  # decisions between two splits
OCTAVE = 16  # how old a split gets, in units of its own spacing
SLOTS = 192  # splits: more than there are after 10^10 decisions
REFERENCES = 40
COUNTS, SUMS = 0, 1


class Splits(NamedTuple):
    """Counts and sums of each arm: now, before each split, and at each reference."""

    now: Floats  # (2, K)
    before: Floats  # (SLOTS, 2, K)
    at: Ints  # (SLOTS,): how many decisions are before the split; 0: the slot is free
    reference: Floats  # (REFERENCES, 2, K); the first is what was there at the start
    shares: Floats  # (REFERENCES, K): how likely a change shows at each arm, judged by then
    clock: Ints  # [decisions, references]


def make_splits(n_arms: int) -> Splits:
    """Before the first decision."""
    splits = Splits(
        now=np.zeros((2, n_arms)),
        before=np.zeros((SLOTS, 2, n_arms)),
        at=np.zeros(SLOTS, dtype=np.int64),
        reference=np.zeros((REFERENCES, 2, n_arms)),
        shares=np.zeros((REFERENCES, n_arms)),
        clock=np.zeros(2, dtype=np.int64),
    )
    begin.py_func(splits)
    return splits


def copied_splits(splits: Splits) -> Splits:
    """The same, which what happens from now on does not change."""
    return Splits._make(part.copy() for part in splits)


@kernel
def begin(splits: Splits) -> None:
    """Begin anew with what there is now: it is no longer asked when it came."""
    for slot in range(SLOTS):
        splits.at[slot] = 0
    splits.clock[0] = 0
    splits.clock[1] = 0
    add_reference(splits)


@kernel
def add_reference(splits: Splits) -> None:
    """Note what is known: half of the shares are those of the pulls since the last time."""
    m = splits.clock[1]
    if m == REFERENCES:
        return
    K = splits.now.shape[1]
    total = 0.0
    for k in range(K):  # total: of the rewards of the arms before k since then
        total += splits.now[COUNTS, k]
        if m > 0:
            total -= splits.reference[m - 1, COUNTS, k]
    for k in range(K):
        since = splits.now[COUNTS, k]
        if m > 0:
            since -= splits.reference[m - 1, COUNTS, k]
        splits.shares[m, k] = 0.5 * (since / total if total > 0.0 else 1.0 / K) + 0.5 / K
        splits.reference[m, COUNTS, k] = splits.now[COUNTS, k]
        splits.reference[m, SUMS, k] = splits.now[SUMS, k]
    splits.clock[1] = m + 1


@inlined
def reference_of(splits: Splits, at: int) -> int:
    """The reference that goes with a split."""
    m = 0  # invariant: reference m is at most a half of the split, BLOCK 2^(m - 1) decisions
    while m + 1 < splits.clock[1] and (BLOCK << (m + 1)) <= at:
        m += 1
    return m


@kernel
def count(splits: Splits, arm: int, reward: float, decision: int) -> None:
    """A reward came in, of the decision with this number (from 0)."""
    splits.now[COUNTS, arm] += 1.0
    splits.now[SUMS, arm] += reward
    if decision >= splits.clock[0] - splits.clock[0] % BLOCK:
        return  # after the last split
    for slot in range(SLOTS):
        if splits.at[slot] > decision:
            splits.before[slot, COUNTS, arm] += 1.0
            splits.before[slot, SUMS, arm] += reward


@kernel
def decide(splits: Splits) -> bool:
    """A decision was made; whether it filled a block.

    Invariant: of the splits up to now, those are kept that are not too old for their spacing.
    """
    splits.clock[0] += 1
    if splits.clock[0] % BLOCK != 0:
        return False
    b = splits.clock[0] // BLOCK
    if b & (b - 1) == 0:
        add_reference(splits)
    free = -1
    for slot in range(SLOTS):  # free: a slot before this one that is, if there is any
        own = splits.at[slot] // BLOCK
        if own > 0 and b - own > OCTAVE * (own & -own):
            splits.at[slot] = 0
        if splits.at[slot] == 0:
            free = slot
    if free >= 0:
        splits.at[free] = splits.clock[0]
        for k in range(splits.now.shape[1]):
            splits.before[free, COUNTS, k] = splits.now[COUNTS, k]
            splits.before[free, SUMS, k] = splits.now[SUMS, k]
    return True
