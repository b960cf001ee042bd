"""Room for the dense convex programs of `convex`."""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.vectors import fill


class ConvexScratch(NamedTuple):
    """Room for `minimise`."""

    g: Floats  # (K,)
    h: Floats  # (K,)
    trial: Floats  # (K,)
    low: Floats  # (K,)
    high: Floats  # (K,)
    y: Floats  # (n,)
    model: Floats  # (n, n)


@kernel
def scratch_size(n: int, K: int) -> int:
    """How many floats `minimise` takes besides its state."""
    return 5 * K + n + n * n


@kernel
def nearest_scratch_size(n: int, K: int) -> int:
    """How many floats `nearest_of` takes besides its states."""
    return 3 * K + (5 * K + n + n * n)


@kernel
def make_scratch(real: Floats, n: int, K: int) -> ConvexScratch:
    """Lay the room over scratch space."""
    return ConvexScratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        real[4 * K : 5 * K],
        real[5 * K : 5 * K + n],
        real[5 * K + n : 5 * K + n + n * n].reshape(n, n),
    )


@kernel
def fail(lam: Floats) -> float:
    """Nothing is feasible."""
    fill(lam, math.nan)
    return math.inf
