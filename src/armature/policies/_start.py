"""Which arms have to be pulled before all means can be told."""

from __future__ import annotations

import numpy as np

from armature.arrays import Floats, Ints
from armature.errors import ArmatureError
from armature.structures import Structure

SINGULAR = 1e-9  # relative to the largest singular value
ROUNDING = 1e-9  # rows that differ by less are of the same size


def spanning_arms(structure: Structure) -> Ints:
    """The fewest arms whose means determine all others; all arms where M does not tie them.

    A convex M lies in a flat { lam : C lam = d } of some dimension. So many arms determine all
    means where their rows of a basis of the flat's directions are independent. They are found one
    by one, the next being the one whose row those before it leave most of (of several the first).
    """
    K = structure.n_arms
    left = _directions(structure)
    if left.shape[1] in (0, K):
        return np.arange(K, dtype=np.int64)
    chosen = []
    for _ in range(left.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        k = int(np.argmax(sizes >= (1.0 - ROUNDING) * sizes.max()))
        chosen.append(k)
        unit = left[k] / sizes[k]
        left = left - np.outer(left @ unit, unit)
    return np.array(sorted(chosen), dtype=np.int64)


def _directions(structure: Structure) -> Floats:
    """An orthonormal basis of the directions in which a convex M extends, in columns."""
    K = structure.n_arms
    if structure.is_convex:
        try:
            (piece,) = structure.pieces()
        except ArmatureError:  # in plain Python, without pieces
            return np.eye(K)
        C = np.asarray(piece.C, dtype=float).reshape(-1, K)
        if len(C):
            import scipy.linalg  # when it is needed: importing the package is quick

            return np.asarray(scipy.linalg.null_space(C, rcond=SINGULAR))
    return np.eye(K)
