"""TopTwo: the leader against its nearest alternative, each arm by the information that it gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.arrays import Floats
from armature.families import Family
from armature.families.kernels import of_arm, weighted_divergence
from armature.learners.tracking import track
from armature.policies._explanation import Belief
from armature.policies._policy import CompiledPolicy
from armature.policies.records import History, argmax, least_pulled
from armature.streams import Stream
from armature.structures import Structure
from armature.structures.model import Model, nearest_alternative, projection


class TopTwoState(NamedTuple):
    """How far the pulls are ahead of the proportions; room for vectors."""

    ahead: Floats  # pulls less proportions, over the rounds that are tracked
    projected: Floats
    lam: Floats
    h: Floats  # the proportions of this round


@kernel
def write_proportions(state: TopTwoState, model: Model, N: Floats) -> bool:
    """h_k in proportion to N_k d(pr_k, lam_k); False where these do not say anything."""
    total = 0.0
    for k in range(N.size):
        own = of_arm(model.family, k)
        state.h[k] = weighted_divergence(own, N[k], state.projected[k], state.lam[k])
        total += state.h[k]
    if not 0.0 < total < math.inf:
        return False
    for k in range(N.size):
        state.h[k] /= total
    return True


@kernel
def choose(state: TopTwoState, model: Model, history: History, stream: Stream) -> int:
    """What is furthest behind its share of the information against the nearest alternative."""
    N = history.pulls
    K = N.size
    least = least_pulled(history)
    misfit = projection(model, history.means, N, state.projected)
    if misfit == math.inf:
        return least
    j = argmax(state.projected)
    cost = nearest_alternative(model, state.projected, N, j, state.lam)
    few = (math.sqrt(float(history.clock[0])) - 0.5 * K) * math.exp(-cost)
    if N[least] < few or cost == math.inf or not write_proportions(state, model, N):
        return least
    return track(state.ahead, state.h)


@dataclass(frozen=True)
class TopTwo(CompiledPolicy):
    """The leader against its nearest challenger in M: the arms by what they tell the two apart.

    Pull each arm once. Then let pr be the projection of the means onto M, j its best arm (the
    leader), and lam the nearest mean vector of M with another best arm, for the weights N. An arm
    is due in proportion to h_k = N_k d(pr_k, lam_k), its part of the information that is there
    against lam, and the pulls follow these proportions by C-tracking. Where nothing is known
    against any arm (two lead, or no other can be best), the arm with the fewest pulls; and also
    where that has less than (sqrt(t) - K/2) exp(-G) pulls after t rounds, for the evidence
    G = sum_k N_k d(pr_k, lam_k). So a leader that is no good does not stay for long because the
    alternatives to it say nothing of the arm that is (one good arm of many, `Sparse`).

    Without structure, lam moves two arms alone: the leader and its challenger, of which each is
    pulled by its share of the information. This balance, and not a share of 1/2 for the leader, is
    what the optimal shares have: there w_k is the average of w_k d(mu_k, lam_k) / sum over the
    alternatives that bind.

    It has no parameters.

    Guarantee
    ---------
    None is proved here for structures. Without, choosing by the information in this way is
    asymptotically optimal for Gaussian rewards (You, Qin, Wang and Yang, 2023, for a random choice
    with these probabilities). One projection and one nearest alternative a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.TopTwo(), am.Unconstrained(3))
    >>> bandit.tell([0, 1, 2], [0.0, 1.0, 3.0])
    >>> [bandit.ask() for _ in range(2)]  # arm 1 is nearer to the leader than arm 0
    [1, 2]

    References
    ----------
    You, Qin, Wang and Yang (2023), "Information-Directed Selection for Top-Two Algorithms".
    """

    identifies: ClassVar[bool] = True
    oracles: ClassVar = ("project", "nearest")
    saved: ClassVar = ("ahead",)
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> TopTwoState:
        K = structure.n_arms
        return TopTwoState(ahead=np.zeros(K), projected=np.zeros(K), lam=np.zeros(K), h=np.zeros(K))

    def explain(self, belief: Belief) -> str:
        return (
            f"{self.name} pulls what tells arm {belief.leader}, the leader, from its nearest "
            f"challenger: the evidence for the leader is {belief.evidence:.2f}."
        )
