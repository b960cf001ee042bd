"""Neighbours are alike: means change no faster than a known rate along a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.structures._checks import (
    checked_n_arms,
    checked_order,
    checked_positions,
    checked_positive,
)
from armature.structures._records import Floats
from armature.structures.polyhedral import PolyhedralStructure


@dataclass(frozen=True, init=False, eq=False)
class Lipschitz(PolyhedralStructure):
    """|means[i] - means[k]| <= constant * |positions[i] - positions[k]| for all arms i, k.

    By default the arms lie at 0, 1, 2, ...; positions may come in any order but must differ.

    >>> from armature.families import Gaussian
    >>> smooth = Lipschitz(4, constant=0.5)
    >>> smooth.contains([0.0, 0.4, 0.9, 0.5]), smooth.contains([0.0, 0.6, 0.9, 0.5])
    (True, False)
    >>> smooth.nearest_alternative([0.0, 0.4, 0.9, 0.5], [1.0] * 4, 2, Gaussian()).means
    array([0. , 0.4, 0.7, 0.7])
    """

    n_arms: int
    constant: float
    positions: Floats

    @classmethod
    def examples(cls) -> tuple[Lipschitz, ...]:
        return cls(2, 0.3), cls(5, 0.2), cls(5, 0.9, [0.3, 0.0, 1.0, 0.4, 0.7])

    def __init__(
        self, n_arms: int, constant: float, positions: npt.ArrayLike | None = None
    ) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(n_arms))
        object.__setattr__(self, "constant", checked_positive(constant, "constant"))
        object.__setattr__(self, "positions", checked_positions(positions, self.n_arms))

    @property
    def constraints(self) -> tuple[Floats, Floats, Floats, Floats]:
        K = self.n_arms
        order = np.argsort(self.positions)
        # Neighbours are enough: along a line the others follow.
        rises = np.zeros((K - 1, K))
        rises[np.arange(K - 1), order[1:]] = 1.0
        rises[np.arange(K - 1), order[:-1]] = -1.0
        reach = self.constant * np.diff(self.positions[order])
        nothing = np.empty((0, K)), np.empty(0)
        return np.vstack([rises, -rises]), np.concatenate([reach, reach]), *nothing

    def violation(self, means: Floats, tolerance: float) -> str | None:
        order = np.argsort(self.positions)
        steps = np.abs(np.diff(means[order]))
        reach = self.constant * np.diff(self.positions[order])
        worst = int((steps - reach).argmax())
        if steps[worst] <= reach[worst] + 2.0 * tolerance:
            return None
        i, k = order[worst], order[worst + 1]
        return (
            f"means[{i}] = {means[i]:g} and means[{k}] = {means[k]:g} differ by {steps[worst]:g}, "
            f"more than {reach[worst]:g}: not Lipschitz with constant {self.constant:g}"
        )

    def relabelled(self, order: Sequence[int]) -> Lipschitz:
        permutation = checked_order(order, self.n_arms)
        return Lipschitz(self.n_arms, self.constant, self.positions[permutation])
