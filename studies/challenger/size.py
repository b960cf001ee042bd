"""How much of everything a study runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Horizons, repetitions and numbers of problems."""

    horizon: int
    panel_repetitions: int
    few_repetitions: int  # of what is slow
    per_group: int
    repetitions: int  # of each instance of a group
    per_deciding_group: int
    deciding_repetitions: int
    per_close_group: int  # of those that are in doubt
    close_repetitions: int
    long_horizon: int
    long_repetitions: int
    stuck_repetitions: int  # of each panel, to see whether any run is stuck
    generations: int  # of the search
    last_repetitions: int  # of what it ends with
    every: int  # n: only each nth problem


FULL = Size(10_000, 200, 50, 8, 25, 16, 50, 16, 50, 1_000_000, 20, 12_500, 6, 2000, 1)
SHORT = Size(10_000, 60, 10, 2, 10, 6, 15, 16, 50, 1_000_000, 20, 12_500, 2, 2000, 1)
QUICK = Size(150, 3, 2, 1, 2, 1, 2, 1, 2, 300, 2, 4, 1, 6, 5)
