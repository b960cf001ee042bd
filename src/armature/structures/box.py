"""Each mean lies between bounds."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_size, checked_n_arms
from armature.structures.piece import Piece
from armature.structures.structure import Structure

Bound = float | Sequence[float | None] | npt.NDArray[np.float64] | None


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Box(Structure):
    """Each mean lies between bounds: low <= means <= high.

    By itself it says little; it is there to be combined, as in `Unimodal(5) & Box(5, high=0.2)`.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.
    low : float or sequence of float, optional
        A number for all arms, or one for each; None, for all or for one, is no bound.
    high : float or sequence of float, optional
        Likewise. Not below `low`; where they are equal, the mean is known.

    Guarantee
    ---------
    It is a chain: each answer is checked by its multipliers, to 1e-10 of its cost or to rounding,
    and what fails the check is solved by dense programs. Compared in tests with a convex solver,
    for every reward family.

    >>> from armature.families import Gaussian
    >>> Box(3, low=0.0, high=[0.5, None, 1.0]).project([0.7, 1.2, -0.3], [1] * 3, Gaussian()).means
    array([0.5, 1.2, 0. ])

    Limits
    ------
    For a thousand arms.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    n_arms: int
    low: Floats
    high: Floats

    arm_facts = arm_fields = ("low", "high")

    @classmethod
    def examples(cls) -> tuple[Box, ...]:
        return cls(2, 0.2), cls(4, [0.1, 0.2, None, 0.4], 0.8), cls(3)

    def __init__(self, n_arms: int, low: Bound = None, high: Bound = None) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(n_arms))
        object.__setattr__(self, "low", _checked_bound(low, "low", -np.inf, self.n_arms))
        object.__setattr__(self, "high", _checked_bound(high, "high", np.inf, self.n_arms))
        crossed = np.flatnonzero(self.low > self.high)
        if crossed.size:
            i = int(crossed[0])
            raise ArmatureError(
                f"low[{i}] = {self.low[i]:g} is above high[{i}] = {self.high[i]:g}: "
                "no mean lies between them."
            )

    def pieces(self) -> Iterable[Piece]:
        return (self._piece,)

    @functools.cached_property
    def _piece(self) -> Piece:
        return Piece.of_box(self.low, self.high)

    def _checked_fact(self, name: str, value: Any) -> Any:
        return _checked_bound([value], name, -np.inf if name == "low" else np.inf, 1)[0]

    def mirrored(self, about: float) -> Box:
        return Box(self.n_arms, about - self.high, about - self.low)


def _checked_bound(bound: Bound, name: str, missing: float, n_arms: int) -> Floats:
    """One number for each arm, `missing` where there is no bound."""
    try:
        values = [bound] * n_arms if bound is None or np.ndim(bound) == 0 else list(bound)  # type: ignore[arg-type]
        vector = np.array([missing if v is None else float(v) for v in values])  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ArmatureError(
            f"{name} must be a number, None, or one of these for each arm; got {bound!r}."
        ) from None
    if vector.shape != (n_arms,):
        raise ArmatureError(f"{name} has {vector.size} entries for {n_arms} arms.")
    if np.isnan(vector).any() or (vector == -missing).any():
        raise ArmatureError(f"{name} = {bound!r}: bounds are finite numbers, or None for no bound.")
    check_size(vector[np.isfinite(vector)], name)
    vector.setflags(write=False)
    return vector
