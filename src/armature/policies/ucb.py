"""UCB (Auer, Cesa-Bianchi and Fischer, 2002)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature._compile import kernel
from armature.families import Bernoulli, Family, Gaussian
from armature.families.kernels import GAUSSIAN
from armature.policies._policy import CompiledPolicy
from armature.policies._records import History
from armature.streams import Stream
from armature.structures import Structure
from armature.structures.model import Model


class UCBState(NamedTuple):
    """Nothing but an option."""

    width: float


@kernel
def choose(state: UCBState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the highest upper confidence bound."""
    variance = model.family.variance if model.family.code == GAUSSIAN else 0.25
    radius = state.width * math.sqrt(2.0 * variance * math.log(history.clock[0] + 1.0))
    best = 0
    highest = -math.inf
    for k in range(history.pulls.size):
        bound = history.means[k] + radius / math.sqrt(history.pulls[k])
        if bound > highest:
            highest = bound
            best = k
    return best


@dataclass(frozen=True)
class UCB(CompiledPolicy):
    """The arm with the highest mean + width * sigma sqrt(2 ln t / N): no structure is used.

    For Gaussian rewards, and for Bernoulli ones with sigma = 1/2 (Hoeffding's inequality).
    For the others, `KLUCB` is what this is for Gaussian rewards.
    """

    width: float = 1.0

    families: ClassVar = (Gaussian, Bernoulli)
    ignores_numbering: ClassVar[bool] = True
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> UCBState:
        return UCBState(self.width)
