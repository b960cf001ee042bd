"""OSUB (Combes and Proutiere, 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import of_arm, upper
from armature.kernels.arrays import Floats
from armature.kernels.checks import MOST_COUNTED, check_number, check_whole
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.baselines.klucb import kl_level
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import argmax
from armature.structures import Structure, Unimodal
from armature.structures.oracles.model import Model


class OSUBState(NamedTuple):
    """The number of rounds in which each arm was the leader."""

    led: Floats
    period: float
    c: float


@kernel
def choose(state: OSUBState, model: Model, history: History, stream: Stream) -> int:
    """The leader now and then; else the best bound among it and its neighbours."""
    leader = argmax(history.means)
    rounds = state.led[leader]
    state.led[leader] = rounds + 1.0
    if rounds % state.period == 0.0:
        return leader
    level = kl_level(rounds + 1.0, state.c)
    chosen = leader  # invariant: of the arms so far, the first with the highest bound
    own = of_arm(model.family, leader)
    highest = upper(own, history.means[leader], level / history.pulls[leader])
    for k in (leader - 1, leader + 1):
        if 0 <= k < history.pulls.size:
            bound = upper(of_arm(model.family, k), history.means[k], level / history.pulls[k])
            if bound > highest:
                highest = bound
                chosen = k
    return chosen


@dataclass(frozen=True)
class OSUB(CompiledPolicy):
    """KL-UCB on the neighbourhood of the leader, with a clock for each leader: for one peak.

    In a unimodal problem every arm but the best has a better neighbour. The leader is the arm with
    the highest mean. Every (gamma + 1)-th time that an arm leads, it is pulled; else, of the leader
    and its neighbours, the one with the highest q such that N d(mean, q) <= ln l + c ln ln l, where
    l counts the leader's rounds.

    Parameters
    ----------
    gamma : int
        How many rounds are between those that are the leader's own; 2 on a line, the number of
        neighbours, as the authors have it. From 1 to 10 it makes little difference.
    c : float
        The weight of the lower-order term. The default, 0, is what everything else here has; the
        authors' proof has 3, `OSUB(c=3.0)`, which loses half as much again.

    Guarantee
    ---------
    Asymptotically optimal with c = 3 where neighbours differ (the authors' theorem). On a plateau
    none of the neighbours is better, and it can stall with linear regret. O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.OSUB(), am.Unimodal(5))
    >>> for _ in range(200):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, [0.0, 1.0, 2.0, 1.0, 0.0][arm])
    >>> bandit.pulls.tolist()  # arms 0 and 4 once, in the beginning
    [1, 7, 184, 7, 1]

    Limits
    ------
    It can stall on a plateau, where no neighbour is better.

    References
    ----------
    Combes and Proutiere (2014), "Unimodal Bandits: Regret Lower Bounds and Optimal Algorithms".
    Paper: Section 3, OSUB.
    """

    gamma: int = 2
    c: float = 0.0

    structures: ClassVar = (Unimodal,)
    saved: ClassVar = ("led",)
    ignores_numbering: ClassVar[bool] = True
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_whole(self, "gamma")
        check_number(self, "c")

    def init(self, structure: Structure, family: Family) -> OSUBState:
        return OSUBState(np.zeros(structure.n_arms), self.gamma + 1.0, self.c)

    def could_be(self, state: OSUBState) -> bool:
        return bool(((state.led >= 0.0) & (state.led <= MOST_COUNTED)).all())
