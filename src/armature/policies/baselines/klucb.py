"""KL-UCB (Garivier and Cappé, 2011; Cappé et al., 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature.families import Family, FamilyRecord
from armature.families.kernels import divergence, of_arm, upper
from armature.kernels.checks import check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import argmax, least_divergence
from armature.structures import Structure
from armature.structures.oracles.model import Model


class KLUCBState(NamedTuple):
    """Nothing but an option."""

    c: float


@kernel
def kl_level(t: float, c: float) -> float:
    """ln t + c ln ln t, without the second where it is negative."""
    log = math.log(t)
    return log + c * math.log(log) if log > 1.0 else log


@kernel
def beats(family: FamilyRecord, mean: float, pulls: float, level: float, bar: float) -> bool:
    """True if sup { q : N d(mean, q) <= level } is above a bar, without computing it."""
    if mean > bar:
        return True
    if pulls * least_divergence(family, mean, bar) >= level:
        return False
    return pulls * divergence(family, mean, bar) < level


@kernel
def choose(state: KLUCBState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the highest bound; bounds that can't be it are not computed.

    Invariant: `highest` is the highest bound of the arms before k and of the one with the best
    mean, and `best` is the arm that has it.
    """
    N = history.pulls
    mu = history.means
    level = kl_level(history.clock[0] + 1.0, state.c)
    best = argmax(mu)
    highest = upper(of_arm(model.family, best), mu[best], level / N[best])
    for k in range(N.size):
        own = of_arm(model.family, k)
        if k != best and beats(own, mu[k], N[k], level, highest):
            bound = upper(own, mu[k], level / N[k])
            if bound > highest:
                highest = bound
                best = k
    return best


@dataclass(frozen=True)
class KLUCB(CompiledPolicy):
    """The arm with the highest q such that N d(mean, q) <= ln t + c ln ln t: no structure is used.

    UCB with the family's own divergence: next to the ends of the domain its bounds are much
    tighter.

    Parameters
    ----------
    c : float
        The weight of the lower-order term, at least 0. The default, 0, is what its authors
        recommend; their proof asks for 3.

    Guarantee
    ---------
    With c = 3, asymptotically optimal without structure, with a bound at every horizon (the
    authors' theorems, for bounded rewards and one-parameter exponential families). O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.KLUCB(), am.Unconstrained(2), am.Bernoulli())
    >>> bandit.tell([0, 0, 1], [1.0, 0.0, 0.0])
    >>> bandit.ask()
    0

    Limits
    ------
    It uses no structure.

    References
    ----------
    Garivier and Cappé (2011), "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond".
    Cappé, Garivier, Maillard, Munos and Stoltz (2013), "Kullback-Leibler Upper Confidence Bounds
    for Optimal Sequential Allocation".
    Paper: Section 3, UCB.
    """

    c: float = 0.0

    ignores_numbering: ClassVar[bool] = True
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "c")

    def init(self, structure: Structure, family: Family) -> KLUCBState:
        return KLUCBState(self.c)
