"""IMED-UB (Saber, Ménard and Maillard, 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature.families import Family
from armature.families.kernels import divergence, of_arm
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.structures import Structure, Unimodal
from armature.structures.oracles.model import Model


class IMEDUBState(NamedTuple):
    """Nothing (Numba has no empty records)."""

    nothing: float


@kernel
def choose(state: IMEDUBState, model: Model, history: History, stream: Stream) -> int:
    """argmin of N d(mean, best mean) + ln N over the leader and its neighbours."""
    N = history.pulls
    mu = history.means
    best = 0  # invariant: of the arms before k, the best, and of several the least pulled
    for k in range(1, N.size):
        if mu[k] > mu[best] or (mu[k] == mu[best] and N[k] < N[best]):
            best = k
    chosen = best  # invariant: of the arms so far, the first with the least index, `least`
    least = math.log(N[best])
    for k in (best - 1, best + 1):
        if 0 <= k < N.size:
            index = N[k] * divergence(of_arm(model.family, k), mu[k], mu[best]) + math.log(N[k])
            if index < least:
                least = index
                chosen = k
    return chosen


@dataclass(frozen=True)
class IMEDUB(CompiledPolicy):
    """IMED on the neighbourhood of the leader: for one peak.

    In a unimodal problem every arm but the best has a better neighbour. The leader is the arm with
    the highest mean (of several, the one that was pulled least). Of the leader and its neighbours,
    pull the one with the least N d(mean, the leader's mean) + ln N.

    It has no parameters.

    Guarantee
    ---------
    Asymptotically optimal where neighbours differ (the authors' theorem, for one-parameter
    families). On a plateau none of the neighbours is better, and it can stall with linear regret.
    O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.IMEDUB(), am.Unimodal(5))
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
    Saber, Ménard and Maillard (2021), "Indexed Minimum Empirical Divergence for Unimodal Bandits".
    """

    structures: ClassVar = (Unimodal,)
    ignores_numbering: ClassVar[bool] = True
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> IMEDUBState:
        return IMEDUBState(0.0)
