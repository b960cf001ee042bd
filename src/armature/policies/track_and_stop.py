"""Track-and-Stop: the optimal shares for the means so far, followed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.bounds.allocation import Solution, Task, allocate_again
from armature.bounds.learners import track
from armature.bounds.tableau import Tableau, make_tableau
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_number
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream
from armature.kernels.vectors import largest
from armature.policies.policy import Belief, CompiledPolicy, History
from armature.policies.records import least_pulled
from armature.structures import Structure
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.model import Model, projection
from armature.words import Arm, Sentence

ACCURACY = 1e-3
STEPS = 300
TIED = 1e-9  # means that differ by less, relative to the largest, are equal


class TrackAndStopState(NamedTuple):
    """The last allocation, from which the next one starts, and how far pulls are ahead of it."""

    ahead: Floats  # pulls less shares, over all rounds but the first K
    allocation: Floats  # samples of each arm per ln(1 / delta)
    shares: Floats  # the last ones that were found
    projected: Floats
    ones: Floats  # the price of a sample of each arm
    bounds: Floats
    tableau: Tableau
    forced: float


@kernel
def write_shares(state: TrackAndStopState, model: Model, history: History) -> bool:
    """shares = the optimal ones for the projected means; False where there are none."""
    projected = state.projected
    if projection(model, history.means, history.pulls, projected) == math.inf:
        return False
    best = leader_of(model.family, projected, history.means, history.pulls)
    rounding = TIED * largest(projected)
    for k in range(projected.size):
        if k != best and projected[best] - projected[k] <= rounding:
            return False  # no samples tell equal arms apart
    task = Task(projected, state.ones, best, ACCURACY, STEPS)
    solution = Solution(state.allocation, state.bounds, state.tableau)
    allocate_again(model, task, solution)
    total = 0.0
    for k in range(projected.size):
        total += state.allocation[k]
    if not 0.0 < state.bounds[1] < math.inf or not 0.0 < total < math.inf:
        return False
    for k in range(projected.size):
        state.shares[k] = state.allocation[k] / total
    return True


@inlined
def least_share(forced: float, t: float, K: int) -> float:
    """The least number of pulls of each arm after t rounds: an arm with fewer is pulled."""
    return forced * (math.sqrt(t) - 0.5 * K)


@kernel
def choose(state: TrackAndStopState, model: Model, history: History, stream: Stream) -> int:
    """The least pulled arm if it has too few pulls; else what is furthest behind its shares."""
    N = history.pulls
    K = N.size
    least = least_pulled(history)
    t = float(history.clock[0])
    if N[least] < least_share(state.forced, t, K):
        for k in range(K):
            state.ahead[k] -= state.shares[k]
        state.ahead[least] += 1.0
        return least
    if not write_shares(state, model, history):
        return least
    return track(state.ahead, state.shares)


@dataclass(frozen=True)
class TrackAndStop(CompiledPolicy):
    """Solve for the optimal shares at the means so far, and pull what is behind them.

    Pull each arm once. If an arm has less than sqrt(t) - K/2 pulls after t rounds, the one with
    the fewest. Else solve for the shares of `characteristic_time` at the projection of the means
    onto M, and pull by C-tracking: the arm whose pulls are furthest behind the sum of all shares
    so far. What is forced counts, so that it is made up for by the other rounds. Where two arms
    lead and no shares tell them apart, the arm with the fewest pulls.

    Parameters
    ----------
    forced : float
        The factor of sqrt(t) - K/2; 1 is the authors', with 0 nothing is forced.

    Guarantee
    ---------
    Asymptotically optimal without structure: the mean stopping time over ln(1 / delta) goes to T*
    (the authors' theorem, with shares that are solved for exactly). The shares are solved for in
    each round that is not forced, to 1e-3.

    >>> import armature as am
    >>> bandit = am.Bandit(am.TrackAndStop(), am.Unconstrained(2))
    >>> bandit.tell([0, 1], [0.0, 1.0])
    >>> [bandit.ask() for _ in range(4)]  # half and half
    [0, 1, 0, 1]

    Limits
    ------
    Made to find the best arm, at any regret. It solves an allocation in each round, to 1e-3.

    References
    ----------
    Garivier and Kaufmann (2016), "Optimal Best Arm Identification with Fixed Confidence".
    """

    forced: float = 1.0

    weighs_by_pulls: ClassVar[bool] = False
    identifies: ClassVar[bool] = True
    keeps_pairs: ClassVar[bool] = True
    oracles: ClassVar = ("project", "challenger_min", "nearest")
    saved: ClassVar = ("ahead", "allocation", "shares")
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "forced", high=1e3)

    def could_be(self, state: TrackAndStopState) -> bool:
        return bool(np.isfinite(state.allocation).all())

    def init(self, structure: Structure, family: Family) -> TrackAndStopState:
        K = structure.n_arms
        return TrackAndStopState(
            ahead=np.zeros(K),
            allocation=np.zeros(K),
            shares=np.full(K, 1.0 / K),
            projected=np.zeros(K),
            ones=np.ones(K),
            bounds=np.zeros(2),
            tableau=make_tableau(K),
            forced=float(self.forced),
        )

    def explain(self, belief: Belief) -> Sentence:
        bar = least_share.py_func(self.forced, belief.rounds, belief.pulls.size)
        if belief.pulls.min() < bar:
            return Sentence(
                "{policy} pulls the arm with the fewest pulls, as each gets at least {bar:.1f} by "
                "now; {leader} leads.",
                policy=self.name,
                bar=bar,
                leader=Arm(belief.leader),
            )
        return Sentence(
            "{policy} follows the shares that would separate {leader}, the leader, from all other "
            "arms fastest if the fitted means were right.",
            policy=self.name,
            leader=Arm(belief.leader),
        )
