"""Ridge regression of the rewards on features, and upper confidence bounds under it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.structures.oracles.records import Work


class Ridge(NamedTuple):
    """The features of K arms, d of each, and room for least squares."""

    features: Floats  # (K, d)
    gram: Floats  # (d, d): ridge + sum N x x', then its Cholesky factor
    theta: Floats  # (d,)
    half: Floats  # (d,)


@kernel
def ridge_of(work: Work, features: Floats, K: int, d: int) -> Ridge:
    """A record in scratch space."""
    real = work.real
    return Ridge(
        features,
        real[: d * d].reshape(d, d),
        real[d * d : d * d + d],
        real[d * d + d : d * d + 2 * d],
    )


def make_ridge(features: Floats) -> Ridge:
    """A record with room of its own."""
    K, d = features.shape
    work = Work(np.zeros(d * d + 2 * d), np.zeros(0, dtype=np.int64))
    return ridge_of.py_func(work, np.array(features, order="C"), K, d)


@kernel
def factor(gram: Floats) -> None:
    """The Cholesky factor, in place, in the lower triangle."""
    d = gram.shape[0]
    for a in range(d):
        for b in range(a + 1):
            total = gram[a, b]
            for c in range(b):
                total -= gram[a, c] * gram[b, c]
            gram[a, b] = math.sqrt(total) if a == b else total / gram[b, b]


@kernel
def solve_lower(gram: Floats, x: Floats) -> None:
    """x = L^-1 x."""
    for a in range(x.size):
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
    for k in range(K):
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
    for a in range(room.half.size):
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
