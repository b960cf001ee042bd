"""Diminishing returns: the means are a concave function of the arms' positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armature.structures._records import Floats
from armature.structures._structure import checked_n_arms, checked_order, checked_positions
from armature.structures.polyhedral import PolyhedralStructure


@dataclass(frozen=True, eq=False)
class Concave(PolyhedralStructure):
    """Along the positions, each step up is at most as steep as the one before it.

    By default the arms lie at 0, 1, 2, ...; positions may come in any order but must differ. Two
    arms are always concave.

    >>> from armature.families import Gaussian
    >>> yields = Concave(4)
    >>> yields.contains([0.0, 0.6, 0.9, 0.5]), yields.contains([0.0, 0.1, 0.9, 0.5])
    (True, False)
    >>> yields.project([0.0, 0.0, 1.0, 0.0], [1.0] * 4, Gaussian()).means.round(3)
    array([-0.1,  0.3,  0.7,  0.1])
    """

    n_arms: int
    positions: Floats | None = None

    def __post_init__(self) -> None:
        n_arms = checked_n_arms(self.n_arms)
        object.__setattr__(self, "n_arms", n_arms)
        positions = checked_positions(self.positions, n_arms)
        positions.setflags(write=False)
        object.__setattr__(self, "positions", positions)

    @property
    def constraints(self) -> tuple[Floats, Floats, Floats, Floats]:
        assert self.positions is not None
        K = self.n_arms
        order = np.argsort(self.positions)
        gaps = np.diff(self.positions[order])
        # The middle of three neighbours is at least the line through the outer two.
        bends = np.zeros((K - 2, K))
        rows = np.arange(K - 2)
        bends[rows, order[:-2]] = gaps[1:] / (gaps[1:] + gaps[:-1])
        bends[rows, order[1:-1]] = -1.0
        bends[rows, order[2:]] = gaps[:-1] / (gaps[1:] + gaps[:-1])
        return bends, np.zeros(K - 2), np.empty((0, K)), np.empty(0)

    def violation(self, means: Floats, tolerance: float) -> str | None:
        if self.n_arms == 2:
            return None
        assert self.positions is not None
        below = self.constraints[0] @ means
        worst = int(below.argmax())
        if below[worst] <= 2.0 * tolerance:
            return None
        i = np.argsort(self.positions)[worst + 1]
        return (
            f"means[{i}] = {means[i]:g} lies {below[worst]:g} below the line through its two "
            "neighbours: not concave"
        )

    def relabelled(self, order: Sequence[int]) -> Concave:
        assert self.positions is not None
        permutation = checked_order(order, self.n_arms)
        return Concave(self.n_arms, self.positions[permutation])
