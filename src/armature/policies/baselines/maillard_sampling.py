"""Maillard sampling (Maillard, 2013), or MED: each arm by how little speaks against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import divergence, of_arm
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import argmax, draw_index
from armature.structures import Structure
from armature.structures.oracles.model import Model


class MaillardState(NamedTuple):
    """Room for the weight of each arm."""

    weights: Floats


@kernel
def weigh(weights: Floats, model: Model, history: History) -> float:
    """weights = exp(-N d(mean, best mean)) of each arm; their sum."""
    mu = history.means
    best = mu[argmax(mu)]
    total = 0.0  # invariant: of the weights before k
    for k in range(mu.size):
        cost = 0.0
        if mu[k] < best:
            cost = history.pulls[k] * divergence(of_arm(model.family, k), mu[k], best)
        weights[k] = math.exp(-cost)
        total += weights[k]
    return total


@kernel
def choose(state: MaillardState, model: Model, history: History, stream: Stream) -> int:
    """Draw an arm with probability proportional to its weight."""
    total = weigh(state.weights, model, history)
    drawn = draw_index(state.weights, total, stream)
    return drawn if drawn >= 0 else argmax(history.means)


@kernel
def probabilities(state: MaillardState, model: Model, history: History, out: Floats) -> bool:
    """out = with which probability `choose` would pull each arm."""
    total = weigh(out, model, history)
    for k in range(out.size):
        out[k] /= total
    return True


@dataclass(frozen=True)
class MaillardSampling(CompiledPolicy):
    """Draw an arm with probability proportional to exp(-N d(mean, best mean)).

    No structure is used. What `IMED` does without chance. Every arm keeps a positive probability,
    which is known: its log can be used to judge other policies (`evaluate`). Also called MED,
    minimum empirical divergence.

    It has no parameters.

    Guarantee
    ---------
    Asymptotically optimal without structure: for Gaussian rewards by the theorem of Bian and Jun,
    for Bernoulli ones by that of Qin, Jun and Zhang. O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.MaillardSampling(), am.Unconstrained(2))
    >>> bandit.tell([0, 1], [0.0, 1.0])
    >>> bandit.probabilities().values.round(3)  # 1 to exp(-1/2)
    array([0.378, 0.622])

    Limits
    ------
    It uses no structure. The variant MS+, which weighs the leader by more, is not here.

    References
    ----------
    Honda and Takemura (2011), "An Asymptotically Optimal Policy for Finite Support Models in the
    Multiarmed Bandit Problem". Maillard (2013), "Apprentissage séquentiel: Bandits, statistique et
    renforcement". Bian and Jun (2022), "Maillard Sampling: Boltzmann Exploration Done Optimally".
    Qin, Jun and Zhang (2023), "Kullback-Leibler Maillard Sampling for Multi-armed Bandits with
    Bounded Rewards".
    """

    choose: ClassVar = choose
    probabilities: ClassVar = probabilities

    def init(self, structure: Structure, family: Family) -> MaillardState:
        return MaillardState(np.zeros(structure.n_arms))
