"""The mean vectors of M in which a given arm is best, as linear constraints."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from armature._compile import kernel
from armature.families.kernels import weighted_divergence
from armature.structures import (
    Categorised,
    CompiledStructure,
    Linear,
    PolyhedralStructure,
    Simplex,
    Sparse,
    Structure,
    Unconstrained,
    Unimodal,
)
from armature.structures._convex import scratch_size
from armature.structures._quadratic import Rows, state_size
from armature.structures._records import Floats, Ints
from armature.structures.model import Model

ORDERED, CONVEX, SPARSE, PLAIN = range(4)


class BestArmRows(NamedTuple):
    """For each arm the constraints that it is best, one after the other, and room to solve."""

    kind: int
    first_row: Ints  # (K + 1,): where each arm's rows start in `right`
    start: Ints  # of each row in `indices`, with one more entry for each arm
    indices: Ints
    values: Floats
    right: Floats
    equalities: int
    basis: Floats  # (K, r) for linear structures, else empty
    real: Floats
    integer: Ints
    scratch: Floats


@kernel
def rows_of(rows: BestArmRows, j: int) -> Rows:
    """The constraints of arm j."""
    a = rows.first_row[j]
    b = rows.first_row[j + 1]
    return Rows(
        rows.start[a + j : b + j + 1], rows.indices, rows.values, rows.right[a:b], rows.equalities
    )


@kernel
def sparse_cost_at(model: Model, mu: Floats, w: Floats, j: int, y: float, gain: Floats) -> float:
    """The cost if arm j is at y >= level and best: the others' best support below y."""
    level = model.shape.real[0]
    total = weighted_divergence(model.family, w[j], mu[j], y)
    for i in range(mu.size):
        gain[i] = 0.0
        if i != j:
            flat = weighted_divergence(model.family, w[i], mu[i], level)
            total += flat
            lifted = min(max(mu[i], level), y)
            gain[i] = flat - weighted_divergence(model.family, w[i], mu[i], lifted)
    for _ in range(model.shape.integer[0] - 1):
        best = 0
        for i in range(mu.size):
            if gain[i] > gain[best]:
                best = i
        total -= gain[best]
        gain[best] = -1.0 if gain[best] > 0.0 else 0.0  # taken
    return total


@kernel
def sparse_pooled(model: Model, mu: Floats, w: Floats, j: int, y: float, gain: Floats) -> float:
    """The best value of arm j for the support that is best at y."""
    level = model.shape.real[0]
    sparse_cost_at(model, mu, w, j, y, gain)  # marks the support in `gain`
    weight = w[j]
    total = w[j] * mu[j]
    # The members above the pooled value join it, from the highest on.
    while True:
        value = max(level, total / weight) if weight > 0.0 else y
        highest = -1
        for i in range(mu.size):
            if gain[i] == -1.0 and mu[i] > value and (highest < 0 or mu[i] > mu[highest]):
                highest = i
        if highest < 0:
            return value
        gain[highest] = 0.0
        weight += w[highest]
        total += w[highest] * mu[highest]


@kernel
def sparse_descent(
    model: Model, mu: Floats, w: Floats, j: int, start: float, room: Floats
) -> float:
    """From a guess of the top value, support and value improve each other; the cost in the end."""
    y = max(start, model.shape.real[0])
    cost = math.inf
    for _ in range(50):
        now = sparse_cost_at(model, mu, w, j, y, room)
        if not now < cost:
            break
        cost = now
        y = sparse_pooled(model, mu, w, j, y, room)
    return cost


@kernel
def sparse_best_cost(model: Model, mu: Floats, w: Floats, j: int, room: Floats) -> float:
    """The least cost of arm j's being best in the sparse structure.

    Not convex: descents start at every mean, and where j would be pooled with one or two others.
    """
    K = mu.size
    gain = room[:K]
    best = math.inf
    for i in range(K):
        best = min(best, sparse_descent(model, mu, w, j, mu[i], gain))
        for k in range(i, K):
            weight = w[j] + (w[i] if i != j else 0.0) + (w[k] if k != i and k != j else 0.0)
            total = w[j] * mu[j] + (w[i] * mu[i] if i != j else 0.0)
            total += w[k] * mu[k] if k != i and k != j else 0.0
            if weight > 0.0:
                best = min(best, sparse_descent(model, mu, w, j, total / weight, gain))
    return best


def make_rows(structure: Structure) -> BestArmRows:
    """The constraints of every arm, for any structure."""
    K = structure.n_arms
    kind, basis = CONVEX, np.zeros((0, 0))
    if not isinstance(structure, CompiledStructure):
        kind = PLAIN
    elif isinstance(structure, Sparse):
        kind = SPARSE
    elif structure.order_only:
        kind = ORDERED
    if isinstance(structure, Linear):
        basis = np.ascontiguousarray(structure.basis)
    first_row, equalities = [0], 0
    start: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    rights: list[float] = []
    for j in range(K if kind in (ORDERED, CONVEX) else 0):
        matrix, right, equalities = _best_arm_constraints(structure, j)
        norms = np.linalg.norm(matrix, axis=1)
        norms[norms == 0.0] = 1.0
        row, column = np.nonzero(matrix)
        start += (len(indices) + np.searchsorted(row, np.arange(len(matrix) + 1))).tolist()
        indices += column.tolist()
        values += (matrix[row, column] / norms[row]).tolist()
        rights += (right / norms).tolist()
        first_row.append(len(rights))
    n = basis.shape[1] if basis.size else K
    n_real, n_integer = state_size.py_func(n, K, len(rights))
    return BestArmRows(
        kind,
        np.array(first_row if len(first_row) > 1 else [0] * (K + 1), dtype=np.int64),
        np.array(start, dtype=np.int64),
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
        np.array(rights, dtype=np.float64),
        equalities,
        basis,
        np.zeros(max(n_real, K)),
        np.zeros(n_integer, dtype=np.int64),
        np.zeros(2 * K + scratch_size.py_func(n, K)),
    )


def _best_arm_constraints(structure: Structure, j: int) -> tuple[Floats, Floats, int]:
    """(matrix, right, equalities) with matrix @ lam >= right, the first rows with equality."""
    K = structure.n_arms
    unit = np.eye(K)
    best = [unit[j] - unit[i] for i in range(K) if i != j]
    equal: list[Floats] = []
    right: list[float] = []
    match structure:
        case Unimodal():
            best = [unit[i + 1] - unit[i] for i in range(j)]
            best += [unit[i] - unit[i + 1] for i in range(j, K - 1)]
        case Categorised():
            own = [i for i in range(K) if structure.categories[i] == structure.categories[j]]
            best = [unit[j] - unit[i] for i in own if i != j]
            best += [unit[i] - unit[k] for i in own for k in range(K) if k not in own]
        case Simplex():
            equal, right = [np.ones(K)], [1.0]
            best += list(unit)
        case PolyhedralStructure():
            A, b, C, d = structure.constraints
            equal, right = list(C), d.tolist()
            best = [*best, *(-A)]
            rest = [0.0] * (K - 1) + (-b).tolist()
            return np.array([*equal, *best]), np.array(right + rest), len(equal)
        case Unconstrained() | Linear():
            pass
        case _:
            raise NotImplementedError(structure)
    return np.array([*equal, *best]), np.array(right + [0.0] * len(best)), len(equal)
