"""MINTS: arms with the probability of how well the data fit their being best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import draw_index
from armature.structures import Structure
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.model import Model, nearest_with_best, projection


class MINTSState(NamedTuple):
    """Room for the weight of each arm and for a mean vector."""

    weights: Floats
    lam: Floats
    convex: bool  # whether M is: then the projection's best arm is best at no further cost


class Weighed(NamedTuple):
    """The results of `weigh` besides the weights."""

    total: float
    leader: int


@kernel
def weigh(state: MINTSState, model: Model, history: History) -> Weighed:
    """state.weights = exp(-cost) of each arm."""
    mu = history.means
    w = history.pulls
    K = w.size
    base = projection(model, mu, w, state.lam)
    leader = leader_of(model.family, state.lam, mu, w)
    total = 0.0  # invariant: of the weights before j
    for j in range(K):
        cost = base
        if not (state.convex and j == leader):
            cost = nearest_with_best(model, mu, w, j, state.lam)
        state.weights[j] = math.exp(-max(0.0, cost - base))
        total += state.weights[j]
    return Weighed(total, leader)


@kernel
def choose(state: MINTSState, model: Model, history: History, stream: Stream) -> int:
    """Draw an arm with probability proportional to exp(-cost)."""
    found = weigh(state, model, history)
    drawn = draw_index(state.weights, found.total, stream)
    return drawn if drawn >= 0 else found.leader


@kernel
def probabilities(state: MINTSState, model: Model, history: History, out: Floats) -> bool:
    """out = with which probability `choose` would pull each arm."""
    found = weigh(state, model, history)
    for k in range(out.size):
        out[k] = state.weights[k] / found.total
    return True


@dataclass(frozen=True)
class MINTS(CompiledPolicy):
    """Draw arm j with probability proportional to exp(-C_j), the cost of its being best.

    C_j is the least sum_k N_k d(mean_k, lam_k) over the lam in M in which arm j is best: a profile
    likelihood in place of a posterior.

    (For a structure in plain Python, "best" reads "at least as good as the projection's best arm",
    which is what such a structure can be asked.)

    It has no parameters.

    Guarantee
    ---------
    Near-optimal regret at finite times under constraints on the means, and the lower bound's
    constant without a structure and for one peak (Wang 2026). What was measured here is in
    `docs/studies/challenger.md`. The costs are compared with convex
    programs in tests, for Gaussian and Bernoulli rewards. For most structures a round takes a
    convex program for each arm.

    >>> import armature as am
    >>> bandit = am.Bandit(am.MINTS(), am.Unconstrained(2))
    >>> bandit.tell([0, 1], [0.0, 100.0])
    >>> bandit.ask()  # at these means, chance has no say
    1

    Limits
    ------
    A convex program for each arm and
    round. Its costs were compared for Gaussian and Bernoulli rewards only. For a structure in plain
    Python it answers a slightly different question.

    References
    ----------
    Wang (2025), "A Minimalist Bayesian Framework for Stochastic Optimization", arXiv 2509.07030.
    Wang (2026), "MINTS: Minimalist Thompson Sampling", arXiv 2606.01655.
    """

    oracles: ClassVar = ("project", "best_min")
    choose: ClassVar = choose
    probabilities: ClassVar = probabilities

    def init(self, structure: Structure, family: Family) -> MINTSState:
        K = structure.n_arms
        return MINTSState(weights=np.zeros(K), lam=np.zeros(K), convex=structure.is_convex)
