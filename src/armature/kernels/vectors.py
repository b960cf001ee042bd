"""Copying and filling, as loops: array assignment takes Numba seconds to compile."""

from __future__ import annotations

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel


@kernel
def copy(source: Floats, target: Floats) -> None:
    """target = source."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def fill(target: Floats, value: float) -> None:
    """target = value, everywhere."""
    for i in range(target.size):
        target[i] = value


@kernel
def diagonal(target: Floats, value: float) -> None:
    """target = value times the identity."""
    n = target.shape[0]
    for a in range(n):
        for b in range(n):
            target[a, b] = value if a == b else 0.0


@kernel
def largest(values: Floats) -> float:
    """The largest absolute value."""
    size = 0.0
    for i in range(values.size):
        size = max(size, abs(values[i]))
    return size
