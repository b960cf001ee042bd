"""M-UCB: optimism inside the structure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import lower, of_arm, upper
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import argmax
from armature.structures import Structure
from armature.structures.oracles.model import Model, has_optimism, highest_means, optimistic_means


class StructuredUCBState(NamedTuple):
    """Room for the box and the bounds."""

    low: Floats
    high: Floats
    bounds: Floats


@kernel
def choose(state: StructuredUCBState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the highest bound; without regard to M where that leaves nothing."""
    level = math.log(history.clock[0] + 1.0)
    if has_optimism(model) and model.family.proxy < math.inf:
        if optimistic_means(model, history.means, history.pulls, level, state.bounds):
            return argmax(state.bounds)
    for k in range(history.pulls.size):
        own = of_arm(model.family, k)
        state.low[k] = lower(own, history.means[k], level / history.pulls[k])
        state.high[k] = upper(own, history.means[k], level / history.pulls[k])
    if highest_means(model, state.low, state.high, state.bounds):
        return argmax(state.bounds)
    return argmax(state.high)


@dataclass(frozen=True)
class StructuredUCB(CompiledPolicy):
    """The arm with the highest mean that some vector of M has inside all intervals N d <= ln t.

    Optimism inside the structure; the paper calls it M-UCB. A structure can know better what is
    plausible than a box of intervals: on a linear one this is `LinUCB`, where rewards are
    sub-Gaussian.

    It has no parameters.

    Guarantee
    ---------
    None is proved here. Optimism can't be asymptotically optimal in general: on linear structures
    it can lose more than the lower bound by any factor (Lattimore and Szepesvári). Closed forms for
    most structures; a linear program for each piece, arm and round where there is none.

    >>> import armature as am
    >>> bandit = am.Bandit(am.StructuredUCB(), am.Unimodal(3))
    >>> bandit.tell([0, 1, 2], [0.0, 1.0, 3.0])
    >>> bandit.ask()
    2

    Limits
    ------
    Not for structures in plain Python without pieces. On linear structures it is `LinUCB` where
    rewards are sub-Gaussian, and a linear program for each arm elsewhere.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    Lattimore and Szepesvári (2017), "The End of Optimism? An Asymptotic Analysis of Finite-Armed
    Linear Bandits".
    Paper: Section 3, M-UCB.
    """

    oracles: ClassVar = ("highest", "optimistic")
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> StructuredUCBState:
        K = structure.n_arms
        return StructuredUCBState(low=np.zeros(K), high=np.zeros(K), bounds=np.zeros(K))
