"""Least squares: weighted, with all ties lam_k = lam_j from one factorisation; and with a ridge.

With sqrt(w) basis = Q [R S; 0 0] P (Householder reflections, the largest remaining column first),
the fit and the ties are triangular solves. Columns that nothing remains of (S) are directions that
the weights don't see.

Ridge regression of rewards on features has a Cholesky factor instead, of the ridge plus the Gram
matrix, and from it upper confidence bounds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

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
    for i in range(start, target.size):  # total: over the entries before i
        total += vector[i] * target[i]
    total /= half
    for i in range(start, target.size):
        target[i] -= total * vector[i]


@kernel
def back_substitute(columns: Floats, rank: int, x: Floats) -> None:
    """x[:rank] = R^-1 x[:rank]."""
    for a in range(rank - 1, -1, -1):  # x: solved for the entries after a
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
    for a in range(basis.shape[1]):  # z: solved for the entries before a
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
    for i in range(lam.size):  # lam: set for the arms before i
        total = 0.0
        for c in range(theta.size):
            total += basis[i, order[c]] * theta[c]
        lam[i] = total


class Ridge(NamedTuple):
    """The features of K arms, d of each, and room for least squares."""

    features: Floats  # (K, d)
    gram: Floats  # (d, d): ridge + sum N x x', then its Cholesky factor
    theta: Floats  # (d,)
    half: Floats  # (d,)


@kernel
def ridge_of(real: Floats, features: Floats, K: int, d: int) -> Ridge:
    """A record in scratch space: d d + 2 d floats."""
    return Ridge(
        features,
        real[: d * d].reshape(d, d),
        real[d * d : d * d + d],
        real[d * d + d : d * d + 2 * d],
    )


def make_ridge(features: Floats) -> Ridge:
    """A record with room of its own."""
    K, d = features.shape
    return ridge_of.py_func(np.zeros(d * d + 2 * d), np.array(features, order="C"), K, d)


@kernel
def factor(gram: Floats) -> None:
    """The Cholesky factor, in place, in the lower triangle."""
    d = gram.shape[0]
    for a in range(d):  # the rows of the factor before a are done
        for b in range(a + 1):
            total = gram[a, b]
            for c in range(b):
                total -= gram[a, c] * gram[b, c]
            gram[a, b] = math.sqrt(total) if a == b else total / gram[b, b]


@kernel
def solve_lower(gram: Floats, x: Floats) -> None:
    """x = L^-1 x."""
    for a in range(x.size):  # x: solved for the entries before a
        total = x[a]
        for b in range(a):
            total -= gram[a, b] * x[b]
        x[a] = total / gram[a, a]


@kernel
def fit_ridge(room: Ridge, means: Floats, pulls: Floats, ridge: float) -> None:
    """`gram` = L with L L' = ridge + sum N x x', `theta` = L^-1 sum N mean x."""
    X = room.features
    K, d = X.shape
    for a in range(d):
        room.theta[a] = 0.0
        for b in range(d):
            room.gram[a, b] = ridge if a == b else 0.0
    for k in range(K):  # gram, theta: ridge and the arms before k
        for a in range(d):
            room.theta[a] += pulls[k] * means[k] * X[k, a]
            for b in range(a + 1):
                room.gram[a, b] += pulls[k] * X[k, a] * X[k, b]
    factor(room.gram)
    solve_lower(room.gram, room.theta)


@kernel
def estimate(room: Ridge, k: int) -> tuple[float, float]:
    """After `fit_ridge`: x'theta of an arm, and |x| in the norm of the inverse Gram matrix."""
    for a in range(room.half.size):
        room.half[a] = room.features[k, a]
    solve_lower(room.gram, room.half)
    mean = 0.0
    square = 0.0
    for a in range(room.half.size):  # mean, square: over the entries before a
        mean += room.half[a] * room.theta[a]
        square += room.half[a] * room.half[a]
    return mean, math.sqrt(square)


@kernel
def write_ridge_bounds(
    room: Ridge, means: Floats, pulls: Floats, ridge: float, width: float, out: Floats
) -> None:
    """out = x'theta + width |x|."""
    fit_ridge(room, means, pulls, ridge)
    for k in range(out.size):
        mean, norm = estimate(room, k)
        out[k] = mean + width * norm
