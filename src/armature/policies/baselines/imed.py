"""IMED (Honda and Takemura, 2015)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature.families import Family
from armature.families.kernels import divergence, of_arm
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import argmax, least_divergence
from armature.structures import Structure
from armature.structures.oracles.model import Model


class IMEDState(NamedTuple):
    """Nothing (Numba has no empty records)."""

    nothing: float


@kernel
def least_index(model: Model, history: History) -> int:
    """argmin of N d(mean, best mean) + ln N.

    Invariant: `least` is the least index of the arms before k and of the best one, and `chosen` the
    first arm that has it.
    """
    N = history.pulls
    mu = history.means
    best = argmax(mu)
    chosen = best
    least = math.log(N[best])
    for k in range(N.size):
        own = of_arm(model.family, k)
        if k != best and N[k] * least_divergence(own, mu[k], mu[best]) < least:
            index = N[k] * divergence(own, mu[k], mu[best])
            if index < least:
                index += math.log(N[k])
                if index < least:
                    least = index
                    chosen = k
    return chosen


@kernel
def choose(state: IMEDState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the least index."""
    return least_index(model, history)


@dataclass(frozen=True)
class IMED(CompiledPolicy):
    """The arm with the least N d(mean, best mean) + ln N: no structure is used.

    An arm is pulled when the evidence against it is less than what its age allows: a rule without
    confidence bounds and without chance.

    It has no parameters.

    Guarantee
    ---------
    Asymptotically optimal without structure (the authors' theorem, for rewards that are bounded
    above, such as Bernoulli ones). O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.IMED(), am.Unconstrained(2))
    >>> bandit.tell([0, 1, 1], [0.0, 1.0, 1.0])
    >>> bandit.ask()  # 1/2 + ln 1 for arm 0, 0 + ln 2 for arm 1
    0

    Limits
    ------
    It uses no structure.

    References
    ----------
    Honda and Takemura (2015), "Non-asymptotic Analysis of a New Bandit Algorithm for Semi-bounded
    Rewards".
    """

    ignores_numbering: ClassVar[bool] = True
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> IMEDState:
        return IMEDState(0.0)
