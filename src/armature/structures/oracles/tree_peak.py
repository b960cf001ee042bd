"""One peak on a tree: its kernels, from the fits to all branches (`solver.tree_pooling`)."""

from __future__ import annotations

import math

from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.solver.tree_pooling import (
    Branches,
    Tree,
    branches_of,
    fit_branches,
    fit_root,
    tree_of,
    write_branch,
    write_root,
)
from armature.structures.oracles.records import OracleProblem, Shape, Work


@kernel
def scratch_of(work: Work, K: int) -> Branches:
    """The scratch space for K arms."""
    return branches_of(work.real, work.integer, K)


@kernel
def fit_all(problem: OracleProblem, tree: Tree) -> Branches:
    """Fit all branches."""
    room = scratch_of(problem.work, problem.mu.size)
    fit_branches(problem.family, problem.mu, problem.w, tree, room)
    return room


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Cut an edge and ask nothing of the two arms where it was: one of them is the peak."""
    tree = tree_of(problem.shape.integer, lam.size)
    room = fit_all(problem, tree)
    best = 0
    least = math.inf
    for e in range(tree.head.size):  # best: the cheapest edge to cut before e
        cost = room.cost[e] + room.cost[tree.back[e]]
        if cost < least:
            least = cost
            best = e
    write_branch(tree, best, math.inf, lam, room)
    write_branch(tree, tree.back[best], math.inf, lam, room)
    return total_divergence(problem.family, problem.w, problem.mu, lam)


@kernel
def write_peak(problem: OracleProblem, peak: int, lam: Floats) -> float:
    """The best fit with the peak at an arm."""
    tree = tree_of(problem.shape.integer, lam.size)
    room = fit_all(problem, tree)
    fit_root(problem.family, problem.mu, problem.w, tree, peak, room)
    write_root(tree, peak, lam, room)
    return total_divergence(problem.family, problem.w, problem.mu, lam)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The best place of the peak that is not j."""
    tree = tree_of(problem.shape.integer, lam.size)
    room = fit_all(problem, tree)
    best = 0
    least = math.inf
    for p in range(lam.size):  # best: the cheapest peak before p
        if p != first:
            cost = fit_root(problem.family, problem.mu, problem.w, tree, p, room)
            if cost < least:
                least = cost
                best = p
    fit_root(problem.family, problem.mu, problem.w, tree, best, room)
    write_root(tree, best, lam, room)
    return total_divergence(problem.family, problem.w, problem.mu, lam)


@kernel
def cell_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The peak is at arm k."""
    return write_peak(problem, second, lam)


@kernel
def best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The best arm is the peak."""
    return write_peak(problem, first, lam)


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """A challenger beats j where the peak is at it."""
    tree = tree_of(problem.shape.integer, costs.size)
    room = fit_all(problem, tree)
    base = math.inf
    for p in range(costs.size):  # base: the least cost before p
        costs[p] = fit_root(problem.family, problem.mu, problem.w, tree, p, room)
        base = min(base, costs[p])
    costs[first] = base
    return base


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The upper end of each arm at which the peak can be."""
    K = low.size
    tree = tree_of(shape.integer, K)
    least = work.real[: tree.order.size]  # how high v has to be at the edge u -> v; inf: too high
    for i in range(tree.order.size):
        e = tree.order[i]
        least[e] = lowest_possible(tree, tree.head[e], tree.back[e], low, high, least)
    possible = 0.0
    for p in range(K):
        out[p] = -math.inf
        if lowest_possible(tree, p, -1, low, high, least) < math.inf:
            out[p] = high[p]
            possible = 1.0
    return possible


@kernel
def lowest_possible(
    tree: Tree, v: int, without: int, low: Floats, high: Floats, least: Floats
) -> float:
    """The least height of v for the branches around it, but for one; inf if it can't be so high."""
    bound = low[v]  # invariant: the least height for the branches before e
    for e in range(tree.start[v], tree.start[v + 1]):
        if e != without:
            bound = max(bound, least[e])
    return bound if bound <= high[v] else math.inf
