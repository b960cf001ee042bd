"""A structure from outside of the package: means rise by steps of a known size, or stay."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import armature as am


class Staircase(am.Structure):
    """The best arm is the last or the first: means rise, or fall, by at least `step` each time."""

    def __init__(self, n_arms: int, step: float = 0.0) -> None:
        self.n_arms, self.step = n_arms, step

    def pieces(self) -> Iterable[am.Piece]:
        up = -np.diff(np.eye(self.n_arms), axis=0)  # means[i] - means[i + 1] <= -step
        right = np.full(self.n_arms - 1, -self.step)
        yield am.Piece(up, right)
        yield am.Piece(-up, right)
