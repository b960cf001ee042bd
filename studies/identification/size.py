"""How much of everything the study runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Repetitions and numbers of problems."""

    panels: int  # repetitions of each panel
    per_group: int  # random instances of each group
    repetitions: int  # of each of them
    errors: int  # repetitions from which errors are counted
    max_rounds: int


FULL = Size(400, 2, 50, 10_000, 1_000_000)
SHORT = Size(100, 1, 20, 2_000, 200_000)
QUICK = Size(2, 1, 2, 4, 300)
