"""The simplest cells: one for each challenger, numbered by it."""

from __future__ import annotations

from armature.kernels.arrays import Ints
from armature.kernels.kernel import kernel
from armature.structures.oracles.records import Problem


@kernel
def every_other(problem: Problem, first: int, out: Ints) -> int:
    """All arms but `first`."""
    n = 0
    for k in range(problem.mu.size):
        if k != first:
            out[n] = k
            n += 1
    return n
