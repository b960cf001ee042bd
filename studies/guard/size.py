"""How much of everything the study runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Horizons, repetitions and numbers of problems."""

    horizon: int
    wrong: int  # repetitions of each problem whose structure is wrong
    panels: int  # repetitions of each panel
    per_group: int  # instances of each group whose structure is true
    repetitions: int  # of each of them
    drawn: int  # repetitions of each drawn problem; an eighth of them where it is true
    again: int  # repetitions of what came out worst, with new rewards
    every: int  # n: only each nth problem


FULL = Size(10_000, 100, 100, 4, 25, 100, 500, 1)
SHORT = Size(10_000, 40, 40, 1, 10, 40, 500, 1)
QUICK = Size(150, 2, 2, 1, 2, 8, 2, 9)
