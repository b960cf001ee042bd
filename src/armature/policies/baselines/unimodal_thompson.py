"""Unimodal Thompson sampling (Paladino, Trovò, Restelli and Gatti, 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import draw_means
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import argmax
from armature.structures import Structure, Unimodal
from armature.structures.oracles.model import Model


class UnimodalThompsonState(NamedTuple):
    """The number of rounds in which each arm was the leader, and room for a sample."""

    led: Floats
    sample: Floats


@kernel
def choose(state: UnimodalThompsonState, model: Model, history: History, stream: Stream) -> int:
    """The leader in its turn; else the best of a sample, among it and its neighbours."""
    K = history.pulls.size
    leader = argmax(history.means)
    first = max(leader - 1, 0)
    last = min(leader + 1, K - 1)
    rounds = state.led[leader]
    state.led[leader] = rounds + 1.0
    if rounds % (last - first + 1.0) == 0.0:
        return leader
    draw_means(model.family, history.pulls, history.sums, history.means, stream, state.sample)
    chosen = first  # invariant: of the arms before k, the first with the highest draw
    for k in range(first + 1, last + 1):
        if state.sample[k] > state.sample[chosen]:
            chosen = k
    return chosen


@dataclass(frozen=True)
class UnimodalThompson(CompiledPolicy):
    """Thompson sampling on the neighbourhood of the leader: for one peak.

    In a unimodal problem every arm but the best has a better neighbour. The leader is the arm with
    the highest mean. The first time that an arm leads, and then every time that it has led as often
    as it and its neighbours are many, it is pulled; else, of the leader and its neighbours, the
    one with the highest sample from its posterior.

    It has no parameters.

    Guarantee
    ---------
    Asymptotically optimal where neighbours differ (the authors' theorem, for Bernoulli rewards). On
    a plateau none of the neighbours is better, and it can stall with linear regret. O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.UnimodalThompson(), am.Unimodal(4))
    >>> bandit.tell([0, 1, 2, 3], [0.0, 100.0, 50.0, 99.0])
    >>> bandit.ask()  # at these means, chance has no say
    1

    Limits
    ------
    It can stall on a plateau, where no neighbour is better. Compared with its twin for Gaussian
    rewards only.

    References
    ----------
    Paladino, Trovò, Restelli and Gatti (2017), "Unimodal Thompson Sampling for Graph-Structured
    Arms".
    """

    structures: ClassVar = (Unimodal,)
    saved: ClassVar = ("led",)
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> UnimodalThompsonState:
        K = structure.n_arms
        return UnimodalThompsonState(led=np.zeros(K), sample=np.zeros(K))
