"""The means are one of finitely many rows: what each row costs, and the least of those that count.

A row's cost is a sum over the arms. The sums are kept in a tree over the arms: node 1 is the whole,
node i is the sum of nodes 2 i and 2 i + 1, and node K + k is what arm k costs in each row. After a
new reward of one arm, its node and those above it are computed again, ln K sums in place of K.
Every node is the same function of means and weights whatever was asked before, so that what was
asked before changes no digit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families.kernels import of_arm, unit_gaussian, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import fill
from armature.structures.oracles.records import Oracle, OracleProblem, Shape, Work

# Stands for an infinite divergence, so that of rows that are all ruled out the one is nearest
# against which the least weight speaks. What costs that much is given as infinite.
RULED_OUT = 1e200
INFINITE = 1e100


class RowTable(NamedTuple):
    """The rows as kernels see them: N rows for K arms, arm by arm."""

    entry: Floats  # (K N,): of arm k in row r at k N + r
    top: Floats  # (N,): the highest mean of each row
    n: int


class RowSums(NamedTuple):
    """The cost of each row, and the means and weights for which it was computed."""

    mu: Floats  # (K,)
    w: Floats  # (K,): 0 where nothing was, and then the arm's node is 0
    node: Floats  # (2 K N,): of row r at i N + r
    stale: Ints  # (2 K,): 1 at nodes that have to be computed again


@kernel
def rows_of(shape: Shape, K: int) -> RowTable:
    """shape.real = [entries, highest means], shape.integer = [how many rows]."""
    n = shape.integer[0]
    return RowTable(shape.real[: K * n], shape.real[K * n : (K + 1) * n], n)


@kernel
def sums_of(work: Work, K: int, n: int) -> RowSums:
    """The scratch space for K arms and n rows."""
    real = work.real
    return RowSums(
        real[:K], real[K : 2 * K], real[2 * K : 2 * K + 2 * K * n], work.integer[: 2 * K]
    )


@kernel
def update(problem: OracleProblem, rows: RowTable, sums: RowSums) -> None:
    """Bring the sums up to date. Gaussian ones are for variance 1."""
    K = problem.mu.size
    n = rows.n
    family = unit_gaussian(problem.family) if problem.family.gaussian else problem.family
    # Nodes are right for the kept means and weights, but for those that are stale.
    for k in range(K):
        if problem.mu[k] == sums.mu[k] and problem.w[k] == sums.w[k]:
            continue
        mu = problem.mu[k]
        w = problem.w[k]
        sums.mu[k] = mu
        sums.w[k] = w
        own = of_arm(family, k)
        entry = rows.entry[k * n : (k + 1) * n]
        leaf = sums.node[(K + k) * n : (K + k + 1) * n]
        for r in range(n):
            leaf[r] = min(weighted_divergence(own, w, mu, entry[r]), RULED_OUT * w)
        above = (K + k) // 2
        while above > 0 and sums.stale[above] == 0:
            sums.stale[above] = 1
            above //= 2
    for i in range(K - 1, 0, -1):  # the nodes after i are right
        if sums.stale[i] == 1:
            sums.stale[i] = 0
            add_children(sums.node, i, n)


@kernel
def add_children(node: Floats, i: int, n: int) -> None:
    """Node i is the sum of nodes 2 i and 2 i + 1."""
    whole = node[i * n : (i + 1) * n]
    one = node[2 * i * n : (2 * i + 1) * n]
    other = node[(2 * i + 1) * n : (2 * i + 2) * n]
    for r in range(n):
        whole[r] = one[r] + other[r]


@inlined
def priced(problem: OracleProblem, total: float) -> float:
    """A row's cost from its sum."""
    if total >= INFINITE:
        return math.inf
    return total / problem.family.parameter if problem.family.gaussian else total


@inlined
def is_best(rows: RowTable, r: int, k: int) -> bool:
    """True if no arm of a row is better than arm k."""
    return bool(rows.entry[k * rows.n + r] >= rows.top[r])


@kernel
def write_row(problem: OracleProblem, rows: RowTable, r: int, total: float, lam: Floats) -> float:
    """lam = row r; its cost. Where there is no such row, nan and infinite."""
    if r < 0:
        fill(lam, math.nan)
        return math.inf
    for k in range(lam.size):
        lam[k] = rows.entry[k * rows.n + r]
    return priced(problem, total)


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The nearest row; of several the first."""
    rows = rows_of(problem.shape, lam.size)
    sums = sums_of(problem.work, lam.size, rows.n)
    update(problem, rows, sums)
    nearest_row = 0  # of the rows before r
    for r in range(1, rows.n):
        if sums.node[rows.n + r] < sums.node[rows.n + nearest_row]:
            nearest_row = r
    return write_row(problem, rows, nearest_row, sums.node[rows.n + nearest_row], lam)


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Among the rows in which k is at least as good as j, and some arm better than j."""
    rows = rows_of(problem.shape, lam.size)
    sums = sums_of(problem.work, lam.size, rows.n)
    update(problem, rows, sums)
    j = rows.entry[first * rows.n : (first + 1) * rows.n]
    k = rows.entry[second * rows.n : (second + 1) * rows.n]
    least = math.inf
    found = -1  # of the rows before r, at `least`
    for r in range(rows.n):
        if k[r] >= j[r] and j[r] < rows.top[r] and sums.node[rows.n + r] < least:
            least = sums.node[rows.n + r]
            found = r
    return write_row(problem, rows, found, least, lam)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Among the rows in which some arm is better than j."""
    rows = rows_of(problem.shape, lam.size)
    sums = sums_of(problem.work, lam.size, rows.n)
    update(problem, rows, sums)
    j = rows.entry[first * rows.n : (first + 1) * rows.n]
    least = math.inf
    found = -1  # of the rows before r, at `least`
    for r in range(rows.n):
        if j[r] < rows.top[r] and sums.node[rows.n + r] < least:
            least = sums.node[rows.n + r]
            found = r
    return write_row(problem, rows, found, least, lam)


@kernel
def cells(problem: OracleProblem, first: int, out: Ints) -> int:
    """Cell r: row r, if some arm of it is better than j."""
    rows = rows_of(problem.shape, problem.mu.size)
    n = 0
    for r in range(rows.n):  # out[:n]: those before r
        if not is_best(rows, r, first):
            out[n] = r
            n += 1
    return n


@kernel
def cell_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """One row."""
    rows = rows_of(problem.shape, lam.size)
    sums = sums_of(problem.work, lam.size, rows.n)
    update(problem, rows, sums)
    return write_row(problem, rows, second, sums.node[rows.n + second], lam)


@kernel
def least_with_best(problem: OracleProblem, arm: int, worse: int, lam: Floats) -> float:
    """Among the rows in which an arm is best, and another (-1: none) is not."""
    rows = rows_of(problem.shape, lam.size)
    sums = sums_of(problem.work, lam.size, rows.n)
    update(problem, rows, sums)
    least = math.inf
    found = -1  # of the rows before r, at `least`
    for r in range(rows.n):
        if is_best(rows, r, arm) and not (worse >= 0 and is_best(rows, r, worse)):
            if sums.node[rows.n + r] < least:
                least = sums.node[rows.n + r]
                found = r
    return write_row(problem, rows, found, least, lam)


@kernel
def challenger_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Among the rows in which k is best, and j is not."""
    return least_with_best(problem, second, first, lam)


@kernel
def best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Among the rows in which j is best."""
    return least_with_best(problem, first, -1, lam)


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """One pass over the rows: each counts for its best arms."""
    K = costs.size
    rows = rows_of(problem.shape, K)
    sums = sums_of(problem.work, K, rows.n)
    update(problem, rows, sums)
    fill(costs, math.inf)
    base = math.inf
    # base and costs are the least sums of the rows before r, of all and by best arm.
    for r in range(rows.n):
        total = sums.node[rows.n + r]
        base = min(base, total)
        if not is_best(rows, r, first):
            for k in range(K):
                if total < costs[k] and is_best(rows, r, k):
                    costs[k] = total
    costs[first] = base
    for k in range(K):
        costs[k] = priced(problem, costs[k])
    return float(costs[first])


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The highest entries of the rows in the box."""
    K = low.size
    rows = rows_of(shape, K)
    fill(out, -math.inf)
    possible = 0.0
    for r in range(rows.n):  # out: over the rows before r
        inside = True
        for k in range(K):
            value = rows.entry[k * rows.n + r]
            inside = inside and low[k] <= value <= high[k]
        if inside:
            possible = 1.0
            for k in range(K):
                out[k] = max(out[k], rows.entry[k * rows.n + r])
    return possible


ROWS = Oracle(
    project=project,
    alt_min=alt_min,
    nearest=nearest,
    cells=cells,
    cell_min=cell_min,
    challenger_min=challenger_min,
    challenger_costs=challenger_costs,
    best_min=best_min,
    highest=highest,
)
