"""OSSB (Combes, Magureanu and Proutiere, 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.bounds.allocation import UNCERTIFIED, Solution, Task, allocate_again
from armature.bounds.tableau import Tableau, make_tableau
from armature.families import Family
from armature.families.kernels import divergence, of_arm
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_horizon, check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.kernels.vectors import largest
from armature.policies.policy import Belief, CompiledPolicy, History, Policy
from armature.policies.records import least_pulled, mark_exploration
from armature.structures import Structure
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.model import Model, nearest_alternative, projection
from armature.words import Arm, Sentence

FREE = 1e9  # the best arm's weight, per heaviest other
ACCURACY = 1e-4
STEPS = 300


class OSSBState(NamedTuple):
    """The exploration rounds so far, and the last allocation, from which the next one starts."""

    explored: Floats  # (1,)
    allocation: Floats  # c: pulls per ln T
    projected: Floats
    gaps: Floats
    w: Floats
    lam: Floats
    bounds: Floats
    tableau: Tableau
    epsilon: float
    gamma: float


@kernel
def information(state: OSSBState, model: Model, history: History, best: int) -> float:
    """The least divergence of the projected means from alternatives that keep the best mean.

    The pulls are enough in the sense of the lower bound where this is at least ln T; infinite where
    there is no such alternative.
    """
    mu = state.projected
    heaviest = largest(history.pulls)
    for k in range(mu.size):
        state.w[k] = history.pulls[k]
    state.w[best] = FREE * heaviest
    cost = nearest_alternative(model, mu, state.w, best, state.lam)
    moved = state.w[best] * divergence(of_arm(model.family, best), mu[best], state.lam[best])
    return math.inf if moved > 0.5 * cost > 0.0 else cost


class Enough(NamedTuple):
    """Whether the pulls are enough: they are where `separation` is at least `bar`."""

    best: int
    separation: float
    bar: float


@kernel
def weigh_pulls(state: OSSBState, model: Model, history: History) -> Enough:
    """How well the pulls separate the best arm of the projection from alternatives, and how well is
    enough.
    """
    projection(model, history.means, history.pulls, state.projected)
    best = leader_of(model.family, state.projected, history.means, history.pulls)
    bar = (1.0 + state.gamma) * math.log(1.0 + history.clock[0])
    return Enough(best, information(state, model, history, best), bar)


@kernel
def choose(state: OSSBState, model: Model, history: History, stream: Stream) -> int:
    """Exploit if the pulls are enough for the estimated means; else follow their allocation."""
    N = history.pulls
    K = N.size
    enough = weigh_pulls(state, model, history)
    best = enough.best
    if enough.separation >= enough.bar:
        return best
    mark_exploration(history)
    state.explored[0] += 1.0
    least = least_pulled(history)
    if N[least] <= state.epsilon * state.explored[0]:
        return least
    tied = False
    rounding = 1e-9 * largest(state.projected)
    for k in range(K):
        state.gaps[k] = state.projected[best] - state.projected[k]
        tied = tied or (k != best and state.gaps[k] <= rounding)
    if tied:
        return least  # no allocation tells equal arms apart
    task = Task(state.projected, state.gaps, best, ACCURACY, STEPS)
    solution = Solution(state.allocation, state.bounds, state.tableau)
    outcome = allocate_again(model, task, solution)
    if outcome == UNCERTIFIED and state.bounds[1] == math.inf:
        return least
    chosen = -1  # invariant: of the arms before k with a share, the first with the least N / c
    for k in range(K):
        c = state.allocation[k]
        if c > 0.0 and (chosen < 0 or N[k] * state.allocation[chosen] < N[chosen] * c):
            chosen = k
    return chosen if chosen >= 0 else best


@dataclass(frozen=True)
class OSSB(CompiledPolicy):
    """Solve the lower bound for the estimated means, and pull what its allocation lacks.

    c is the lower bound's allocation, in pulls per ln T, for the projected means. If the pulls are
    enough for (1 + gamma) ln(1 + t) by that bound, the best arm. Else the round is one of
    exploration: the least pulled arm if it has at most epsilon times as many pulls as there were
    such rounds, otherwise the arm with the least N / c.

    Parameters
    ----------
    epsilon : float, optional
        How much exploration is forced; 0.02 / sqrt(ln horizon) unless given, as in the paper. The
        authors ask for less than 1 / K. Five times as much mends many of the runs that are misled
        by their first estimates, and costs more than it mends on other problems of ten arms.
    gamma : float
        How much more than the bound asks for is enough; 0, the least, does best. The authors'
        theorem has gamma > 0, their experiments and the paper 0.
    horizon : int, optional
        The number of rounds, for epsilon; a simulation tells it.

    Guarantee
    ---------
    Asymptotically within a factor 1 + gamma of the bound, as epsilon goes to 0 (the authors'
    theorem). Known weaknesses: the first estimates are trusted, so that the initial regret is
    high; the leader itself is not sampled while exploring, so that one that is underestimated stays
    so; and where the bound is 0 (sparse with one good arm) it follows the leader, with linear
    regret. The allocation is solved anew, to 1e-4, in each round of exploration that is not forced.

    >>> import armature as am
    >>> bandit = am.Bandit(am.OSSB(horizon=1000), am.Unconstrained(2))
    >>> for _ in range(100):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, [2.0, 0.0][arm])
    >>> bandit.pulls.tolist()  # 2 N >= ln(101): three pulls of arm 1 are enough
    [97, 3]

    Limits
    ------
    High regret in the first rounds. An underestimated leader is not sampled while the policy
    explores. Where V = 0 it follows the leader, with linear regret. It needs the horizon or
    `epsilon`. Of several optimal allocations it takes one, which depends on how arms are numbered:
    with two levels and four arms its regret at T = 3,000 is 47 +- 2 with the best arm first and
    65 +- 4 with it last (1,100 runs each).

    References
    ----------
    Combes, Magureanu and Proutiere (2017), "Minimal Exploration in Structured Stochastic Bandits".
    Paper: Section 3, OSSB; Appendix G.1, OSSB.
    """

    epsilon: float | None = None
    gamma: float = 0.0
    horizon: int | None = None

    weighs_by_pulls: ClassVar[bool] = False
    needs_horizon: ClassVar[bool] = True
    tells_exploration_apart: ClassVar[bool] = True
    keeps_pairs: ClassVar[bool] = True
    oracles: ClassVar = ("project", "challenger_min", "nearest")
    saved: ClassVar = ("explored", "allocation")
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "epsilon", high=1.0, optional=True)
        check_number(self, "gamma")
        check_horizon(self)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(horizon=1000), cls(epsilon=0.1, gamma=0.2)

    def with_horizon(self, horizon: int | None) -> Policy:
        return self if self.epsilon is not None else super().with_horizon(horizon)

    def explain(self, belief: Belief) -> Sentence:
        enough = weigh_pulls(belief.state, belief.known, belief.history)
        said = {
            "policy": self.name,
            "best": Arm(enough.best),
            "separation": enough.separation,
            "bar": enough.bar,
        }
        if enough.separation >= enough.bar:
            return Sentence(
                "{policy} exploits {best}: if the estimates are right, the pulls separate it from "
                "all alternatives by {separation:.2f}, where {bar:.2f} is enough.",
                **said,
            )
        return Sentence(
            "{policy} explores: if the estimates are right, the pulls separate {best} from all "
            "alternatives by {separation:.2f} only, where {bar:.2f} is enough.",
            **said,
        )

    def init(self, structure: Structure, family: Family) -> OSSBState:
        K = structure.n_arms
        epsilon = self.epsilon
        if epsilon is None:
            epsilon = 0.02 / math.sqrt(math.log(max(self.horizon or 3, 3)))
        return OSSBState(
            explored=np.zeros(1),
            allocation=np.zeros(K),
            projected=np.zeros(K),
            gaps=np.zeros(K),
            w=np.zeros(K),
            lam=np.zeros(K),
            bounds=np.zeros(2),
            tableau=make_tableau(K),
            epsilon=float(epsilon),
            gamma=float(self.gamma),
        )
