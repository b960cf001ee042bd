"""Weighted least squares for linear means, and all ties lam_k = lam_j from one factorisation.

With sqrt(w) basis = Q [R S; 0 0] P (Householder reflections, the largest remaining column first),
the fit and the ties are triangular solves. Columns that nothing remains of (S) are directions that
the weights don't see.
"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel

UNSEEN = 1e-9  # a remaining column smaller than this, relative to the largest


@kernel
def factorise(
    basis: Floats, mu: Floats, w: Floats, columns: Floats, right: Floats, order: Ints
) -> int:
    """columns[c, a] = entry (a, c) of [R S], right = Q' sqrt(w) mu; returns the rank."""
    K = mu.size
    r = int(basis.shape[1])
    for c in range(r):
        order[c] = c
    for i in range(K):
        root = math.sqrt(w[i])
        right[i] = root * mu[i]
        for c in range(r):
            columns[c, i] = root * basis[i, c]
    largest = 0.0
    for step in range(r):
        pivot = step
        greatest = -1.0
        for c in range(step, r):
            remaining = 0.0
            for i in range(step, K):
                remaining += columns[c, i] * columns[c, i]
            if remaining > greatest:
                greatest = remaining
                pivot = c
        length = math.sqrt(greatest)
        largest = max(largest, length)
        if length <= UNSEEN * largest:
            return step
        if pivot != step:
            order[pivot], order[step] = order[step], order[pivot]
            for i in range(K):
                columns[pivot, i], columns[step, i] = columns[step, i], columns[pivot, i]
        if columns[step, step] > 0.0:
            length = -length
        columns[step, step] -= length
        half = -length * columns[step, step]  # half of the reflection vector's squared norm
        for c in range(step + 1, r):
            reflect(columns[step], columns[c], step, half)
        reflect(columns[step], right, step, half)
        columns[step, step] = length
    return r


@kernel
def reflect(vector: Floats, target: Floats, start: int, half: float) -> None:
    """target -= vector (vector . target) / half, from entry `start` on."""
    total = 0.0
    for i in range(start, target.size):
        total += vector[i] * target[i]
    total /= half
    for i in range(start, target.size):
        target[i] -= total * vector[i]


@kernel
def back_substitute(columns: Floats, rank: int, x: Floats) -> None:
    """x[:rank] = R^-1 x[:rank]."""
    for a in range(rank - 1, -1, -1):
        total = x[a]
        for c in range(a + 1, rank):
            total -= columns[c, a] * x[c]
        x[a] = total / columns[a, a]


@kernel
def difference(
    basis: Floats, columns: Floats, order: Ints, rank: int, j: int, k: int, z: Floats
) -> float:
    """z = [R' ^-1 u; v - S' R'^-1 u] for the features [u; v] of k minus those of j.

    Returns the squared length of the second part: what the weights don't see of the difference.
    """
    unseen = 0.0
    length = 0.0
    for a in range(basis.shape[1]):
        total = basis[k, order[a]] - basis[j, order[a]]
        length += total * total
        for c in range(min(a, rank)):
            total -= columns[a, c] * z[c]
        if a < rank:
            z[a] = total / columns[a, a]
        else:
            z[a] = total
            unseen += total * total
    return unseen if unseen > 1e-18 * length else 0.0


@kernel
def write_tie(
    basis: Floats,
    columns: Floats,
    order: Ints,
    rank: int,
    j: int,
    k: int,
    gap: float,
    theta: Floats,
    z: Floats,
) -> None:
    """Move theta so that lam_k gains `gap` on lam_j, at the least cost.

    Paper: Appendix G.2, linear.
    """
    r = basis.shape[1]
    unseen = difference(basis, columns, order, rank, j, k, z)
    if unseen > 0.0:
        # Along [-R^-1 S v; v], which costs nothing.
        for a in range(rank):
            total = 0.0
            for c in range(rank, r):
                total -= columns[c, a] * z[c]
            z[a] = total
        back_substitute(columns, rank, z)
        for a in range(r):
            theta[a] += z[a] * (gap / unseen)
    else:
        seen = 0.0
        for a in range(rank):
            seen += z[a] * z[a]
        back_substitute(columns, rank, z)
        for a in range(rank):
            theta[a] += z[a] * (gap / seen)


@kernel
def write_means(basis: Floats, order: Ints, theta: Floats, lam: Floats) -> None:
    """lam = basis @ theta, with theta in the order of the factorisation."""
    for i in range(lam.size):
        total = 0.0
        for c in range(theta.size):
            total += basis[i, order[c]] * theta[c]
        lam[i] = total
