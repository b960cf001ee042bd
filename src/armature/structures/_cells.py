"""The simplest cells: one for each challenger, numbered by it."""

from __future__ import annotations

from armature._compile import kernel
from armature.arrays import Ints
from armature.structures.records import Problem


@kernel
def every_other(problem: Problem, first: int, out: Ints) -> int:
    """All arms but `first`."""
    n = 0
    for k in range(problem.mu.size):
        if k != first:
            out[n] = k
            n += 1
    return n
