"""Which arms have to be pulled before all means can be told."""

from __future__ import annotations

import numpy as np

from armature.kernels.arrays import Ints
from armature.structures import Structure

ROUNDING = 1e-9  # rows that differ by less are of the same size


def spanning_arms(structure: Structure) -> Ints:
    """The fewest arms whose means determine all others; all arms where M does not tie them.

    A convex M lies in a flat { lam : C lam = d } of some dimension. So many arms determine all
    means where their rows of a basis of the flat's directions are independent. They are found one
    by one, the next being the one whose row those before it leave most of (of several the first).
    """
    K = structure.n_arms
    left = structure.directions
    if left is None or left.shape[1] in (0, K):
        return np.arange(K, dtype=np.int64)
    chosen = []
    for _ in range(left.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        k = int(np.argmax(sizes >= (1.0 - ROUNDING) * sizes.max()))
        chosen.append(k)
        unit = left[k] / sizes[k]
        left = left - np.outer(left @ unit, unit)
    return np.array(sorted(chosen), dtype=np.int64)
