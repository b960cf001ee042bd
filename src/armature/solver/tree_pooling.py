"""Pooling on a tree: fits in which the means do not rise away from a root, for all roots at once.

Each edge has two directions. Seen along u -> v, it leads into the branch of v without u; the fit to
that branch, with its means falling away from v, is made of blocks of arms that are pooled. All that
others need of it is its *top block*, the one of v: mean and weight; the edges at which that block
ends, each of which leads into another fit; and what the whole fit costs. A fit to v and the
branches around it then starts with v alone, and absorbs the highest of the top blocks around it
until none is higher. These become lower each time, and what is absorbed stays above the pooled
mean, so that in the fit with a root the mean of an arm is the least of the top blocks' means on the
way to it.

A fit to the branch of v needs those to the branches behind v: they come first in `order`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.solver.pooling import pooled_mean


class Tree(NamedTuple):
    """The edges of a tree over K arms in both directions, 2 K - 2 of them, by where they start."""

    start: Ints  # (K + 1,): of each arm's edges
    head: Ints  # where an edge leads
    back: Ints  # the same edge in the other direction
    order: Ints  # edges, those of a branch before the edge that leads into it


@kernel
def tree_of(integer: Ints, K: int) -> Tree:
    """A tree that is laid out as `Tree` says."""
    a = K + 1
    n = 2 * K - 2
    return Tree(
        integer[:a], integer[a : a + n], integer[a + n : a + 2 * n], integer[a + 2 * n : a + 3 * n]
    )


class Branches(NamedTuple):
    """The fits to all branches; the last place is for a fit to the whole tree."""

    mean: Floats  # (2 K - 1,): of the top block
    weight: Floats
    cost: Floats  # of the whole fit
    first: Ints  # (2 K - 1,): where its ends begin in `ends`
    n_ends: Ints  # and how many they are
    ends: Ints  # edges that lead out of top blocks
    waiting: Ints  # (K,): edges on the way through a tree


@kernel
def branches_of(real: Floats, integer: Ints, K: int) -> Branches:
    """Room for the fits: 6 K floats and 2 K (K + 3) integers."""
    n = 2 * K - 1
    return Branches(
        real[:n],
        real[n : 2 * n],
        real[2 * n : 3 * n],
        integer[:n],
        integer[n : 2 * n],
        integer[2 * n : 2 * n + n * K],
        integer[2 * n + n * K : 2 * n + n * K + K],
    )


@kernel
def fit_at(
    family: FamilyRecord, mu: Floats, w: Floats, tree: Tree, v: int, without: int, at: int,
    room: Branches,
) -> None:  # fmt: skip
    """Fit v and the branches around it, but for the one behind an edge; into place `at`."""
    first = room.first[at]
    n = 0
    mean = mu[v]
    weight = w[v]
    cost = 0.0
    for e in range(tree.start[v], tree.start[v + 1]):
        if e != without:
            room.ends[first + n] = e
            cost += room.cost[e]
            n += 1
    while True:  # the block has a mean and a weight, and ends at n edges; cost: of the whole fit
        highest = -math.inf
        place = 0
        for i in range(n):
            if room.mean[room.ends[first + i]] > highest:
                highest = room.mean[room.ends[first + i]]
                place = i
        if not highest > mean:
            break
        e = room.ends[first + place]
        n -= 1
        room.ends[first + place] = room.ends[first + n]
        for i in range(room.n_ends[e]):
            room.ends[first + n] = room.ends[room.first[e] + i]
            n += 1
        pooled = pooled_mean(weight, mean, room.weight[e], highest)
        cost += weighted_divergence(family, room.weight[e], highest, pooled)
        cost += weighted_divergence(family, weight, mean, pooled)
        mean = pooled
        weight += room.weight[e]
    room.mean[at] = mean
    room.weight[at] = weight
    room.cost[at] = cost
    room.n_ends[at] = n


@kernel
def fit_branches(family: FamilyRecord, mu: Floats, w: Floats, tree: Tree, room: Branches) -> None:
    """The fits to the branches behind all edges, in both directions."""
    free = 0
    for i in range(tree.order.size):  # those before i are there, with their ends before `free`
        e = tree.order[i]
        room.first[e] = free
        fit_at(family, mu, w, tree, tree.head[e], tree.back[e], e, room)
        free += room.n_ends[e]
    room.first[tree.order.size] = free


@kernel
def fit_root(
    family: FamilyRecord, mu: Floats, w: Floats, tree: Tree, root: int, room: Branches
) -> float:
    """The cost of the fit to the whole tree with a root, after `fit_branches`."""
    at = tree.order.size
    fit_at(family, mu, w, tree, root, -1, at, room)
    return float(room.cost[at])


@kernel
def write_branch(tree: Tree, edge: int, top: float, lam: Floats, room: Branches) -> None:
    """The fit behind an edge, where no mean is above `top`."""
    lam[tree.head[edge]] = min(room.mean[edge], top)
    room.waiting[0] = edge
    n = 1
    while n > 0:  # behind the edges that wait, the next arm has its mean, and no other
        n -= 1
        e = room.waiting[n]
        v = tree.head[e]
        for onward in range(tree.start[v], tree.start[v + 1]):
            if onward != tree.back[e]:
                lam[tree.head[onward]] = min(room.mean[onward], lam[v])
                room.waiting[n] = onward
                n += 1


@kernel
def write_root(tree: Tree, root: int, lam: Floats, room: Branches) -> None:
    """The fit with a root, after `fit_root`."""
    lam[root] = room.mean[tree.order.size]
    for e in range(tree.start[root], tree.start[root + 1]):
        write_branch(tree, e, lam[root], lam, room)
