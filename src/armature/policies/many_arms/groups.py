"""Arms that were pulled equally often, in groups, of which only the one with the best mean counts.

Of two arms with the same number of pulls (and the same noise), every index prefers the one with the
higher mean. So of all arms with n rewards only one has to be compared with others: the one with the
highest mean, and of several the first. With rewards of few values, where thousands of arms have the
same record, this is what makes them one.

A group is a skew heap (Sleator and Tarjan, 1986): a binary tree in which no arm is better than its
parent; entering and leaving cost about ln K, amortised. A *place* is a group, or an arm alone: one
that has no rewards, or more than there are groups, or noise of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel

GROUPS = 1024  # the most pulls that have a group
NOBODY = -1


class Groups(NamedTuple):
    """Heaps over the arms: who is below whom."""

    root: Ints  # (GROUPS,): the best arm of each group, or nobody
    left: Ints  # (K,)
    right: Ints  # (K,)
    above: Ints  # (K,)
    value: Floats  # (K,): the mean by which an arm was put into its place
    place: Ints  # (K,): where each arm is; nowhere at first
    used: Ints  # [one past the last group that was ever used; how many arms are alone]


def make_groups(n_arms: int) -> Groups:
    """Nobody is anywhere."""
    return Groups(
        root=np.full(GROUPS, NOBODY),
        left=np.full(n_arms, NOBODY),
        right=np.full(n_arms, NOBODY),
        above=np.full(n_arms, NOBODY),
        value=np.zeros(n_arms),
        place=np.full(n_arms, NOBODY),
        used=np.zeros(2, dtype=np.int64),
    )


@inlined
def is_before(groups: Groups, a: int, b: int) -> bool:
    """Whether arm a is the better one of two: by its mean, then by its number."""
    x = groups.value[a]
    y = groups.value[b]
    return bool(x > y or (x == y and a < b))


@kernel
def merged(groups: Groups, a: int, b: int) -> int:
    """One heap of two; the arm on top of it."""
    if a == NOBODY:
        return b
    if b == NOBODY:
        return a
    first = NOBODY
    last = NOBODY
    while a != NOBODY and b != NOBODY:
        if is_before(groups, b, a):
            a, b = b, a
        if last == NOBODY:
            first = a
        else:
            groups.left[last] = a
        groups.above[a] = last
        following = groups.right[a]
        groups.right[a] = groups.left[a]
        last = a
        a = following
    rest = b if a == NOBODY else a
    groups.left[last] = rest
    groups.above[rest] = last
    return first


@inlined
def place_for(pulls: float, k: int, alike: bool) -> int:
    """Where an arm with so many pulls belongs."""
    return int(pulls) - 1 if alike and 1.0 <= pulls <= GROUPS else GROUPS + k


@kernel
def enter(groups: Groups, k: int, pulls: float, mean: float, alike: bool) -> int:
    """Put an arm that is nowhere into its place, which is returned."""
    place = place_for(pulls, k, alike)
    groups.place[k] = place
    groups.value[k] = mean
    if place >= GROUPS:
        groups.used[1] += 1
        return place
    groups.left[k] = NOBODY
    groups.right[k] = NOBODY
    groups.above[k] = NOBODY
    groups.root[place] = merged(groups, groups.root[place], k)
    groups.used[0] = max(groups.used[0], place + 1)
    return place


@kernel
def leave(groups: Groups, k: int) -> int:
    """Take an arm out of its place, which is returned."""
    place = groups.place[k]
    groups.place[k] = NOBODY
    if place >= GROUPS:
        groups.used[1] -= 1
        return int(place)
    above = groups.above[k]
    rest = merged(groups, groups.left[k], groups.right[k])
    if rest != NOBODY:
        groups.above[rest] = above
    if above == NOBODY:
        groups.root[place] = rest
    elif groups.left[above] == k:
        groups.left[above] = rest
    else:
        groups.right[above] = rest
    return int(place)


@kernel
def enter_all(groups: Groups, pulls: Floats, means: Floats, alike: bool) -> None:
    """Begin anew, with all arms."""
    for n in range(groups.used[0]):
        groups.root[n] = NOBODY
    groups.used[0] = 0
    groups.used[1] = 0
    for k in range(pulls.size):
        enter(groups, k, pulls[k], means[k], alike)


@inlined
def best_at(groups: Groups, place: int) -> int:
    """The best arm at a place; nobody where it is empty."""
    if place < GROUPS:
        return int(groups.root[place])
    return place - GROUPS if groups.place[place - GROUPS] == place else NOBODY
