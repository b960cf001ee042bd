"""The highest of many values, of which few change: a tree in which each node has the higher one.

The i-th of n values is at place size // 2 + i of the tree; a node at place p has the higher one of
places 2 p and 2 p + 1.
"""

from __future__ import annotations

import math

import numpy as np

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel


def make_tournament(n: int) -> Floats:
    """A tree over n values, all of them minus infinity."""
    leaves = 1
    while leaves < n:
        leaves *= 2
    return np.full(2 * leaves, -math.inf)


@kernel
def set_value(tree: Floats, i: int, value: float) -> None:
    """Change the i-th value."""
    node = tree.size // 2 + i
    tree[node] = value
    node //= 2
    while node >= 1:
        higher = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == higher:
            return
        tree[node] = higher
        node //= 2


@kernel
def build(tree: Floats, n: int) -> None:
    """Make all nodes right, after the first n values were written to their places."""
    first = tree.size // 2
    last = first + n - 1
    while first > 1:
        first //= 2
        last //= 2
        for node in range(first, last + 1):
            tree[node] = max(tree[2 * node], tree[2 * node + 1])


@kernel
def top(tree: Floats) -> int:
    """Which value is the highest; the first of them."""
    node = 1
    half = tree.size // 2
    while node < half:
        node = 2 * node if tree[2 * node] >= tree[2 * node + 1] else 2 * node + 1
    return node - half


@kernel
def next_at_least(tree: Floats, first: int, level: float) -> int:
    """The first value from the place `first` on that is at least a level; -1: there is none."""
    half = tree.size // 2
    if first >= half:
        return -1
    node = half + first
    while tree[node] < level:
        while node % 2 == 1:  # a right child: what is right of it is right of its parent
            node //= 2
            if node == 0:
                return -1
        node += 1
    while node < half:
        node = 2 * node if tree[2 * node] >= level else 2 * node + 1
    return node - half
