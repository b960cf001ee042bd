"""C-tracking: pull one arm at a time so that the pulls follow given proportions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.kernel import kernel

Floats = npt.NDArray[np.float64]


@kernel
def track(ahead: Floats, w: Floats) -> int:
    """The arm to pull for proportions w; `ahead` is N - W, pulls less proportions, over all rounds.

    W += w; pull the arm that is furthest behind, argmin N - W; N counts it.

    Paper: Section 2.3.2, tracking.
    """
    pulled = 0
    for k in range(w.size):
        ahead[k] -= w[k]
        if ahead[k] < ahead[pulled]:
            pulled = k
    ahead[pulled] += 1.0
    return pulled


class Tracker:
    """C-tracking of proportions w_1, w_2, ... on K arms.

    At every step and for every arm, -(1/2 + 1/3 + ... + 1/K) <= N - W <= 1, where W is the sum of
    the proportions so far and N counts the pulls.

    >>> tracker = Tracker(3)
    >>> arms = [tracker.pull([0.5, 0.3, 0.2]) for _ in range(100)]
    >>> arms[:3], tracker.pulls.tolist()
    ([0, 1, 2], [50.0, 30.0, 20.0])

    References: Degenne, Shao and Koolen (2020); Garivier and Kaufmann (2016).

    Paper: Definition 1.
    """

    def __init__(self, n_arms: int) -> None:
        self.pulls = np.zeros(n_arms)
        self.ahead = np.zeros(n_arms)

    def pull(self, proportions: npt.ArrayLike) -> int:
        """The arm to pull, given this round's proportions (non-negative, adding up to 1)."""
        w = np.array(proportions, dtype=np.float64)
        if w.shape != self.pulls.shape or not ((w >= 0.0).all() and abs(w.sum() - 1.0) < 1e-9):
            raise ArmatureError(
                f"proportions must be {self.pulls.size} non-negative numbers that add up to 1; "
                f"got {proportions!r}."
            )
        arm = track(self.ahead, w)
        self.pulls[arm] += 1.0
        return arm
