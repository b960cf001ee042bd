"""KL-LUCB, without structure: the leader and its most promising rival, in turns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature import CompiledPolicy, Family, History, Structure, kernel
from armature.families.kernels import of_arm, upper
from armature.kernels.arrays import Ints
from armature.kernels.streams import Stream
from armature.policies.records import argmax
from armature.structures.oracles.model import Model


class LUCBState(NamedTuple):
    """The rival that is due, or -1; how wide intervals are."""

    due: Ints  # (1,)
    delta: float


@kernel
def choose(state: LUCBState, model: Model, history: History, stream: Stream) -> int:
    """The leader; in the next round, of the others the one with the highest upper bound."""
    if state.due[0] >= 0:
        rival = state.due[0]
        state.due[0] = -1
        return int(rival)
    N = history.pulls
    t = float(history.clock[0])
    level = math.log(N.size * (1.0 + math.log(t)) / state.delta)
    leader = argmax(history.means)
    most = -math.inf
    for k in range(N.size):
        if k != leader:
            bound = upper(of_arm(model.family, k), history.means[k], level / N[k])
            if bound > most:
                most = bound
                state.due[0] = k
    return leader


@dataclass(frozen=True)
class LUCB(CompiledPolicy):
    """Kaufmann and Kalyanakrishnan (2013), with intervals N d(mean, .) <= ln(K (1 + ln t) / delta).

    It stops by the same likelihood ratio as the others, which is no later than where its own
    intervals part.
    """

    delta: float = 0.05

    saved: ClassVar = ("due",)
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> LUCBState:
        return LUCBState(due=np.full(1, -1, dtype=np.int64), delta=self.delta)
