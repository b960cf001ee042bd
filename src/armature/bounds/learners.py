"""Online learners for the two players of the game, and tracking: from proportions to pulls.

* AdaHedge (de Rooij, van Erven, Grünwald and Koolen, 2014) weighs experts without tuning. Its
  learning rate is ln(n) over the mixability gap so far: the sum of how much more the weighted
  average loss was than the loss that mixing would have had. Losses may be negative, of any size.
* Follow the leader plays, in each convex cell, the alternative that the pulls so far rule out
  least. On a convex cell and a strongly convex divergence its regret grows like ln t; AdaHedge over
  the cells makes one learner for the whole, non-convex set of alternatives (the paper's
  lambda-learner).
* C-tracking pulls one arm at a time so that the pulls follow given proportions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.structures import Structure
from armature.structures.oracles.model import MARKS, Model, make_model, nearest_in_cell

__all__ = ["AdaHedge", "FollowTheLeader", "Tracker"]


class AdaHedgeState(NamedTuple):
    """State for the next round: each expert's total loss, and the mixability gap (one entry)."""

    losses: Floats
    gap: Floats


@kernel
def adahedge_weights(state: AdaHedgeState, w: Floats) -> None:
    """w = the weights of the experts for this round; uniform on the leaders while the gap is 0.

    Paper: Algorithm 1, lines 1 to 3.
    """
    n = w.size
    least = math.inf
    for i in range(n):  # least: of the losses before i
        least = min(least, state.losses[i])
    total = 0.0
    for i in range(n):  # total: of the weights before i
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


@kernel
def follow_the_leaders(
    model: Model, mu: Floats, N: Floats, best: int, cells: Ints, leaders: Floats
) -> None:
    """leaders[c] = the point of cell cells[c] that minimises sum_k N_k d(mu_k, lam_k)."""
    for c in range(cells.size):
        nearest_in_cell(model, mu, N, best, cells[c], leaders[c])


class FollowTheLeader:
    """The leaders of all cells of `not best`, for means that are known.

    Cells that lie infinitely far from the means are left out.

    >>> from armature.families import Gaussian
    >>> from armature.structures import Unconstrained
    >>> learner = FollowTheLeader(Unconstrained(3), [1.0, 0.0, 0.5], 0, Gaussian())
    >>> learner.leaders([3.0, 1.0, 1.0])
    array([[0.75 , 0.75 , 0.5  ],
           [0.875, 0.   , 0.875]])

    References: Degenne, Shao and Koolen (2020).

    Paper: Section 2.3.1, λ-learner.
    """

    def __init__(
        self, structure: Structure, means: npt.ArrayLike, best: int, family: Family
    ) -> None:
        self.structure, self.family, self.best = structure, family, best
        ones = np.ones(structure.n_arms)
        self.means, _ = structure.checked_problem(means, ones, family)
        self.cells = tuple(
            cell
            for cell in structure.cells(best, self.means, ones, family)
            if structure.cell_min(self.means, ones, cell, family).cost < math.inf
        )
        if not self.cells:
            raise ArmatureError(
                f"no alternative at a finite distance has another best arm: {best}."
            )
        self.numbers = np.array([cell.number for cell in self.cells], dtype=np.int64)

    def model(self, oracles: Sequence[str] = ("cell_min",)) -> Model:
        """A model that knows what the cells depend on."""
        model = make_model(self.structure, self.family, oracles)
        marks = self.cells[0].marks
        model.table[MARKS : MARKS + len(marks)] = marks
        return model

    def leaders(self, pulls: npt.ArrayLike) -> Floats:
        """One mean vector for each cell, given the pulls so far."""
        _, N = self.structure.checked_problem(self.means, pulls, self.family)
        leaders = np.zeros((len(self.cells), self.structure.n_arms))
        follow_the_leaders(self.model(), self.means, N, self.best, self.numbers, leaders)
        return leaders


@kernel
def track(ahead: Floats, w: Floats) -> int:
    """The arm to pull for proportions w; `ahead` is N - W, pulls less proportions, over all rounds.

    W += w; pull the arm that is furthest behind, argmin N - W; N counts it.

    Paper: Section 2.3.2, tracking.
    """
    pulled = 0
    for k in range(w.size):  # `pulled` is furthest behind of those before k
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
