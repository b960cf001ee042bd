"""Any linear inequalities and equations between the means."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_n_arms, checked_order
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Polyhedral(Structure):
    """The means satisfy A @ means <= b and, if given, C @ means = d.

    Any linear knowledge about the means that has no name of its own here. An arm that is nowhere
    better than another (as in a known order of two arms) is no challenger to it.

    Parameters
    ----------
    A : array_like of shape (m, n_arms)
        A row for each inequality, a column for each arm, of which there are at least 2.
    b : array_like of shape (m,)
        The right sides of the inequalities.
    C : array_like of shape (p, n_arms), optional
        A row for each equation.
    d : array_like of shape (p,), optional
        The right sides of the equations; with C or not at all. An empty polyhedron is refused.

    Guarantee
    ---------
    Each answer of the quadratic programs behind it is checked by its multipliers, to 1e-10 of its
    cost or to rounding. Compared in tests with a convex solver.
    Exponential rewards are refused unless each row orders two arms or bounds one.

    >>> from armature.families import Gaussian
    >>> close = Polyhedral([[1.0, -1.0], [-1.0, 1.0]], [0.5, 0.5])
    >>> close.project([1.0, 0.0], [1.0, 1.0], Gaussian()).means
    array([0.75, 0.25])

    Limits
    ------
    Dense quadratic programs, for tens of arms, unless rows make a chain (`solved_by`). Exponential
    rewards only if each row orders two arms or bounds one.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    A: Floats
    b: Floats
    C: Floats
    d: Floats
    n_arms: int

    convex = True

    @classmethod
    def examples(cls) -> tuple[Polyhedral, ...]:
        band = [[1.0, -1.0, 0.0, 0.5], [-1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, -1.0]]
        rising = [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
        return (
            cls(band, [0.2, 0.3, 0.8]),
            cls(rising, [0.0, 0.0]),
            cls(band, [0.4, 0.3, 0.9], [[1.0, 1.0, 1.0, 1.0]], [2.0]),
        )

    def __init__(
        self,
        A: npt.ArrayLike,
        b: npt.ArrayLike,
        C: npt.ArrayLike | None = None,
        d: npt.ArrayLike | None = None,
    ) -> None:
        piece = Piece(A, b, C, d)
        object.__setattr__(self, "n_arms", checked_n_arms(piece.n_arms))
        for name in ("A", "b", "C", "d"):
            object.__setattr__(self, name, getattr(piece, name))
        if piece.is_empty:
            raise ArmatureError(
                "the polyhedron is empty: no mean vector satisfies A @ means <= b"
                + (" and C @ means = d." if len(piece.C) else ".")
            )

    @functools.cached_property
    def _piece(self) -> Piece:
        return Piece(self.A, self.b, self.C, self.d)

    def pieces(self) -> Iterable[Piece]:
        return (self._piece,)

    def relabelled(self, order: Sequence[int]) -> Polyhedral:
        permutation = checked_order(order, self.n_arms)
        return Polyhedral(self.A[:, permutation], self.b, self.C[:, permutation], self.d)

    def mirrored(self, about: float) -> Polyhedral:
        total, fixed = self.A.sum(axis=1), self.C.sum(axis=1)
        return Polyhedral(-self.A, self.b - about * total, -self.C, self.d - about * fixed)
