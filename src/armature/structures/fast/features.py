"""How the kernels of a linear structure read its arrays.

shape.real = an orthonormal basis of the features' column space, (K, r) by rows; then for each arm
the number of the first arm with the same features; then the features, (K, d) by rows.
shape.integer = [r, d]. In the basis the parameter is theta: lam = basis @ theta.
"""

from __future__ import annotations

from typing import NamedTuple

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.structures.oracles.records import Shape


class Frame(NamedTuple):
    """A record, as kernels can't return a bare array."""

    basis: Floats  # (K, r)


@kernel
def frame_of(shape: Shape, K: int) -> Frame:
    """The basis in a structure's arrays."""
    r = shape.integer[0]
    return Frame(shape.real[: K * r].reshape(K, r))


@kernel
def twins(shape: Shape, K: int, j: int, k: int) -> bool:
    """Whether j and k have the same features, so that neither is ever better."""
    at = K * shape.integer[0]
    return bool(shape.real[at + j] == shape.real[at + k])
