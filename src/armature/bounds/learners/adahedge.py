"""AdaHedge (de Rooij, van Erven, Grünwald and Koolen, 2014): experts without tuning.

The learning rate is ln(n) over the mixability gap so far: the sum of how much more the weighted
average loss was than the loss that mixing would have had. Losses may be negative and of any size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.kernel import kernel

Floats = npt.NDArray[np.float64]


class AdaHedgeState(NamedTuple):
    """What the next round needs: each expert's total loss, and the mixability gap (one entry)."""

    losses: Floats
    gap: Floats


@kernel
def adahedge_weights(state: AdaHedgeState, w: Floats) -> None:
    """w = the weights of the experts for this round; uniform on the leaders while the gap is 0.

    Paper: Algorithm 1, lines 1 to 3.
    """
    n = w.size
    least = math.inf
    for i in range(n):
        least = min(least, state.losses[i])
    total = 0.0
    for i in range(n):
        behind = state.losses[i] - least
        if state.gap[0] > 0.0:
            w[i] = math.exp(-math.log(n) * behind / state.gap[0])
        else:
            w[i] = 1.0 if behind == 0.0 else 0.0
        total += w[i]
    for i in range(n):
        w[i] /= total


@kernel
def adahedge_update(state: AdaHedgeState, w: Floats, loss: Floats) -> None:
    """Take in the losses of the round in which the experts had the weights w."""
    n = w.size
    average = 0.0
    least = math.inf  # among the experts with weight
    leader = math.inf
    following = math.inf
    for i in range(n):
        average += w[i] * loss[i]
        if w[i] > 0.0:
            least = min(least, loss[i])
        leader = min(leader, state.losses[i])
        following = min(following, state.losses[i] + loss[i])
    if state.gap[0] > 0.0:
        eta = math.log(n) / state.gap[0]
        total = 0.0
        for i in range(n):
            if w[i] > 0.0:
                total += w[i] * math.exp(-eta * (loss[i] - least))
        mixed = least - math.log(total) / eta
    else:
        mixed = following - leader
    if n > 1:
        state.gap[0] += max(0.0, average - mixed)
    for i in range(n):
        state.losses[i] += loss[i]


class AdaHedge:
    """AdaHedge over n experts.

    After T rounds with losses in a range of size S, the regret against the best expert is at most
    2 sqrt(V ln n) + S (4/3 ln n + 2), where V sums the variances of the losses under the weights
    and is at most T S^2 / 4 (de Rooij et al., 2014).

    >>> learner = AdaHedge(2)
    >>> learner.weights().tolist()
    [0.5, 0.5]
    >>> learner.update([1.0, 0.0])
    >>> learner.weights().round(3).tolist()
    [0.2, 0.8]

    References: De Rooij, van Erven, Grünwald and Koolen (2014), "Follow the Leader if You Can,
    Hedge if You Must".

    Limits: The bound is checked with the largest possible variance, not with the sharper one.

    Paper: Section 2.3.1, λ-learner.
    """

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ArmatureError(f"n = {n}: a learner needs at least one expert.")
        self.state = AdaHedgeState(np.zeros(n), np.zeros(1))

    def weights(self) -> Floats:
        """The weights of the experts for the coming round."""
        w = np.empty(self.state.losses.size)
        adahedge_weights(self.state, w)
        return w

    def update(self, losses: npt.ArrayLike) -> None:
        """Take in one loss for each expert."""
        loss = np.array(losses, dtype=np.float64)
        if loss.shape != self.state.losses.shape or not np.isfinite(loss).all():
            raise ArmatureError(
                f"losses must be {self.state.losses.size} finite numbers; got {losses!r}."
            )
        adahedge_update(self.state, self.weights(), loss)
