"""How much scratch space a structure needs: measured on the kernel that lays it out.

A structure names its scratch space in one place, a record of arrays and a kernel that cuts them out
of a `Work`. The same kernel, run on rulers instead of arrays, says how much there must be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armature.kernels.kernel import interpreted
from armature.structures.oracles.records import Work


class Ruler:
    """Stands for an array without end, and remembers how far anyone has reached into it."""

    def __init__(self, start: int = 0, reach: list[int] | None = None) -> None:
        self.start, self.reach = start, [0] if reach is None else reach

    def __getitem__(self, part: slice) -> Ruler:
        start = self.start + int(part.start or 0)
        if part.stop is not None:
            self.reach[0] = max(self.reach[0], self.start + int(part.stop))
        return Ruler(start, self.reach)

    def reshape(self, *shape: int) -> Ruler:
        return self


def measure(lay_out: Callable[..., Any], *sizes: int) -> tuple[int, int]:
    """How many floats and integers the record takes that lay_out(work, *sizes) makes."""
    real, integer = Ruler(), Ruler()
    with interpreted():
        lay_out(Work(real, integer), *sizes)  # type: ignore[arg-type]
    return real.reach[0], integer.reach[0]


def largest_of(*sizes: tuple[int, int]) -> tuple[int, int]:
    """Room enough for each of several, of which one is in use at a time."""
    return max(real for real, _ in sizes), max(integer for _, integer in sizes)
