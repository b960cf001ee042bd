"""TopTwo: the leader against its nearest alternative, each by the information that it gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import divergence, of_arm, weighted_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import Belief, CompiledPolicy, History
from armature.policies.records import least_pulled
from armature.structures import Structure
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.model import (
    Model,
    challenger_costs,
    is_joint,
    nearest_alternative,
    nearest_challenger,
    projection,
)
from armature.words import Arm, Sentence

PATIENCE = 1.0


class TopTwoState(NamedTuple):
    """The pulls that the leaders are owed; room for vectors."""

    owed: Floats  # (1,): their shares so far less their pulls, over the rounds that are shared out
    projected: Floats
    lam: Floats
    costs: Floats


@kernel
def overdue(
    state: TopTwoState, model: Model, history: History, j: int, misfit: float, G: float
) -> int:
    """The arm that has waited longest against leader j, or j; G is the least that any costs.

    Arms of which G is enough to see that they are not due are not asked for.
    """
    N = history.pulls
    least = math.log(N[j]) - PATIENCE if N[j] > 0.0 else -math.inf
    asked = False
    chosen = j  # invariant: of the arms before i, the first with the least wait, `least`
    for i in range(N.size):
        since = math.log(max(N[i], 1.0))
        if i == j or G + since >= least:
            continue
        if is_joint(model):
            if not asked:
                challenger_costs(model, history.means, N, j, misfit, state.costs, state.lam)
                asked = True
            cost = state.costs[i]
        else:
            cost = nearest_challenger(model, history.means, N, j, i, state.lam)
        wait = max(cost - misfit, 0.0) + since
        if wait < least:
            least = wait
            chosen = i
    return chosen


@kernel
def share_of(state: TopTwoState, model: Model, N: Floats, j: int) -> float:
    """The leader's part of the information against lam; below 0 where there is none to share."""
    total = 0.0
    own = 0.0
    for k in range(N.size):  # total: over the arms before k; own: j's part of it
        part = weighted_divergence(of_arm(model.family, k), N[k], state.projected[k], state.lam[k])
        total += part
        if k == j:
            own = part
    return own / total if 0.0 < total < math.inf else -1.0


@kernel
def most_telling(state: TopTwoState, model: Model, j: int) -> int:
    """Of the arms other than j, the one whose pull tells most against lam."""
    chosen = -1  # invariant: of the arms before k, the first that tells most, `most`
    most = -1.0
    for k in range(state.lam.size):
        if k != j:
            told = divergence(of_arm(model.family, k), state.projected[k], state.lam[k])
            if told > most:
                most = told
                chosen = k
    return chosen


@kernel
def choose(state: TopTwoState, model: Model, history: History, stream: Stream) -> int:
    """The arm that is overdue; else the leader if it is owed a pull; else what tells most."""
    N = history.pulls
    misfit = projection(model, history.means, N, state.projected)
    if misfit == math.inf:
        return least_pulled(history)
    j = leader_of(model.family, state.projected, history.means, history.pulls)
    cost = nearest_alternative(model, history.means, N, j, state.lam)
    if cost == math.inf:
        return least_pulled(history)
    share = share_of(state, model, N, j)
    rival = most_telling(state, model, j)
    waiting = overdue(state, model, history, j, misfit, max(cost - misfit, 0.0))
    if waiting != j:
        return waiting
    if share < 0.0 or rival < 0:
        return least_pulled(history)
    state.owed[0] += share
    if state.owed[0] >= 0.5:
        state.owed[0] -= 1.0
        return j
    return rival


@dataclass(frozen=True)
class TopTwo(CompiledPolicy):
    """The leader and what tells it best from its nearest challenger in M, by their information.

    Pull each arm once. Then let pr be the projection of the means onto M, j its best arm (the
    leader), and lam the mean vector of M with another best arm that is nearest to the means, for
    the weights N. A pull of arm k tells d(pr_k, lam_k) against lam, and N_k d(pr_k, lam_k) has been
    told by it. The leader gets as many of the rounds as is its part of what all arms have told; in
    the others, the arm is pulled that tells most. Without structure lam moves two arms alone, the
    leader and its challenger, and these are pulled by their parts of the information. This balance,
    and not a share of 1/2 for the leader, is what the optimal shares have.

    That would stay with a leader that is no good where the alternatives to it say nothing of the
    arm that is (one good arm of many, `Sparse`). So before all this, let it cost G_i more than pr
    that arm i beats j: where G_i + ln N_i + 1 < ln N_j for an arm i, pull the one with the least
    G_i + ln N_i. Evidence against all arms ends this. Where two arms lead, or no other can be
    best, pull the arm with the fewest pulls.

    It has no parameters.

    Guarantee
    ---------
    None is proved here for structures. Without, choosing by the information in this way is
    asymptotically optimal for Gaussian rewards (You, Qin, Wang and Yang, 2023, for a random choice
    with these probabilities). One projection and one nearest alternative a round; and the costs of
    arms that may be overdue, as long as there are some.

    >>> import armature as am
    >>> bandit = am.Bandit(am.TopTwo(), am.Unconstrained(3))
    >>> bandit.tell([0, 1, 2], [0.0, 1.0, 3.0])
    >>> [bandit.ask() for _ in range(2)]  # arm 1 is nearer to the leader than arm 0
    [2, 1]

    Limits
    ------
    Made to find the best arm, at any regret. With a structure no guarantee is proved.

    References
    ----------
    You, Qin, Wang and Yang (2023), "Information-Directed Selection for Top-Two Algorithms".
    Honda and Takemura (2015), "Non-asymptotic Analysis of a New Bandit Algorithm for Semi-bounded
    Rewards", for when an arm is overdue.
    """

    weighs_by_pulls: ClassVar[bool] = False
    identifies: ClassVar[bool] = True
    oracles: ClassVar = ("project", "nearest", "challenger_min", "challenger_costs")
    saved: ClassVar = ("owed",)
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> TopTwoState:
        K = structure.n_arms
        return TopTwoState(
            owed=np.zeros(1), projected=np.zeros(K), lam=np.zeros(K), costs=np.zeros(K)
        )

    def explain(self, belief: Belief) -> Sentence:
        return Sentence(
            "{policy} pulls what separates {leader}, the leader, from its nearest challenger; the "
            "evidence for the leader is {evidence:.2f}.",
            policy=self.name,
            leader=Arm(belief.leader),
            evidence=belief.evidence,
        )
