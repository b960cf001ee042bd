"""Neighbours are alike: means change no faster than a known rate along a line."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_n_arms, checked_positions, checked_scale
from armature.kernels.kernel import kernel
from armature.structures.oracles.records import Oracle, Shape, Work
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The lowest cone of all; shape.real = [constant, positions]."""
    constant = shape.real[0]
    positions = shape.real[1:]
    possible = 1.0
    for k in range(high.size):
        out[k] = high[k]
        for i in range(high.size):  # out[k]: the lowest of the cones before i
            out[k] = min(out[k], high[i] + constant * abs(positions[i] - positions[k]))
        if low[k] > out[k]:
            possible = 0.0
    return possible


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Lipschitz(Structure):
    """|means[i] - means[k]| <= constant * |positions[i] - positions[k]| for all arms i, k.

    Arms that lie close together are alike, and what one says bounds its neighbours.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.
    constant : float
        How fast the means may change: positive. A large one says nothing.
    positions : array_like of shape (n_arms,), optional
        Where the arms lie: 0, 1, 2, ... unless given. In any order, but no two at the same place.

    Guarantee
    ---------
    It is a chain: each answer is checked by its multipliers, to 1e-10 of its cost or to rounding,
    and what fails the check is solved by dense programs. Compared in tests with a convex solver.
    Exponential rewards are refused.

    >>> from armature.families import Gaussian
    >>> smooth = Lipschitz(4, constant=0.5)
    >>> smooth.contains([0.0, 0.4, 0.9, 0.5]), smooth.contains([0.0, 0.6, 0.9, 0.5])
    (True, False)
    >>> smooth.nearest_alternative([0.0, 0.4, 0.9, 0.5], [1.0] * 4, 2, Gaussian()).means
    array([0. , 0.4, 0.7, 0.7])

    Limits
    ------
    For a thousand arms. Not for exponential rewards.

    References
    ----------
    Magureanu, Combes and Proutiere (2014), "Lipschitz Bandits: Regret Lower Bound and Optimal
    Algorithms".
    Paper: Appendix F, Lipschitz; Appendix G.2, Lipschitz.
    """

    n_arms: int
    constant: float
    positions: Floats

    arm_facts, arm_fields = ("position",), ("positions",)
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[Lipschitz, ...]:
        return cls(2, 0.3), cls(5, 0.2), cls(5, 0.9, [0.3, 0.0, 1.0, 0.4, 0.7])

    def __init__(
        self, n_arms: int, constant: float, positions: npt.ArrayLike | None = None
    ) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(n_arms))
        object.__setattr__(self, "constant", checked_scale(constant, "constant"))
        object.__setattr__(self, "positions", checked_positions(positions, self.n_arms))

    oracle: ClassVar[Oracle] = Oracle(highest=highest)

    def pieces(self) -> Iterable[Piece]:
        K = self.n_arms
        order = np.argsort(self.positions)
        # Neighbours are enough: along a line the others follow.
        rises = np.zeros((K - 1, K))
        rises[np.arange(K - 1), order[1:]] = 1.0
        rises[np.arange(K - 1), order[:-1]] = -1.0
        reach = self.constant * np.diff(self.positions[order])
        yield Piece(np.vstack([rises, -rises]), np.concatenate([reach, reach]))

    @functools.cached_property
    def shape(self) -> Shape:
        return Shape(np.array([self.constant, *self.positions]), np.empty(0, dtype=np.int64))

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
