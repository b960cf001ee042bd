"""Diminishing returns: the means are a concave function of the arms' positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_n_arms, checked_positions
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Concave(Structure):
    """Along the positions, each step up is at most as steep as the one before it.

    Diminishing returns: more effort helps, but ever less, and may do harm in the end. Two arms are
    always concave.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.
    positions : array_like of shape (n_arms,), optional
        Where the arms lie: 0, 1, 2, ... unless given. In any order, but no two at the same place.

    Guarantee
    ---------
    Each answer is checked by its multipliers, to 1e-10 of its cost or to rounding, and what fails
    the check is solved by dense programs. A projection takes a few passes along the line. Compared
    in tests with a convex solver. Exponential rewards are refused from three arms on.

    >>> from armature.families import Gaussian
    >>> yields = Concave(4)
    >>> yields.contains([0.0, 0.6, 0.9, 0.5]), yields.contains([0.0, 0.1, 0.9, 0.5])
    (True, False)
    >>> yields.project([0.0, 0.0, 1.0, 0.0], [1.0] * 4, Gaussian()).means.round(3)
    array([-0.167,  0.333,  0.833,  0.   ])

    Limits
    ------
    For hundreds of arms; but `MINTS`, `StructuredUCB` and combinations other than with a `Box` of
    the same bounds for all arms take dense programs, for tens. Not for exponential rewards.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    Paper: Appendix G.2, concave.
    """

    n_arms: int
    positions: Floats

    arm_facts, arm_fields = ("position",), ("positions",)
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[Concave, ...]:
        return cls(2), cls(5), cls(5, [0.3, 0.0, 1.0, 0.4, 0.7])

    def __init__(self, n_arms: int, positions: npt.ArrayLike | None = None) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(n_arms))
        object.__setattr__(self, "positions", checked_positions(positions, self.n_arms))

    def pieces(self) -> Iterable[Piece]:
        K = self.n_arms
        order = np.argsort(self.positions)
        gaps = np.diff(self.positions[order])
        # The middle of three neighbours is at least the line through the outer two.
        bends = np.zeros((K - 2, K))
        rows = np.arange(K - 2)
        bends[rows, order[:-2]] = gaps[1:] / (gaps[1:] + gaps[:-1])
        bends[rows, order[1:-1]] = -1.0
        bends[rows, order[2:]] = gaps[:-1] / (gaps[1:] + gaps[:-1])
        yield Piece(bends, np.zeros(K - 2))

    def violation(self, means: Floats, tolerance: float) -> str | None:
        if self.n_arms == 2:
            return None
        (piece,) = self.pieces()
        below = piece.A @ means
        worst = int(below.argmax())
        if below[worst] <= 2.0 * tolerance:
            return None
        i = np.argsort(self.positions)[worst + 1]
        return (
            f"means[{i}] = {means[i]:g} lies {below[worst]:g} below the line through its two "
            "neighbours: not concave"
        )
