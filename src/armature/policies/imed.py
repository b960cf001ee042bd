"""IMED (Honda and Takemura, 2015)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature._compile import kernel
from armature.families import Family
from armature.families.kernels import divergence
from armature.policies._policy import CompiledPolicy
from armature.policies.records import History, argmax
from armature.streams import Stream
from armature.structures import Structure
from armature.structures.model import Model


class IMEDState(NamedTuple):
    """Nothing (Numba has no empty records)."""

    nothing: float


@kernel
def choose(state: IMEDState, model: Model, history: History, stream: Stream) -> int:
    """argmin of N d(mean, best mean) + ln N."""
    N = history.pulls
    mu = history.means
    best = argmax(mu)
    chosen = best
    least = math.log(N[best])
    for k in range(N.size):
        if k != best:
            index = N[k] * divergence(model.family, mu[k], mu[best])
            if index < least:
                index += math.log(N[k])
                if index < least:
                    least = index
                    chosen = k
    return chosen


@dataclass(frozen=True)
class IMED(CompiledPolicy):
    """The arm with the least N d(mean, best mean) + ln N: asymptotically optimal, no structure."""

    ignores_numbering: ClassVar[bool] = True
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> IMEDState:
        return IMEDState(0.0)
