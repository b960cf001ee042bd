"""KL-UCB (Garivier and Cappé, 2011; Cappé et al., 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature.families import Family, FamilyRecord
from armature.families.kernels import divergence, of_arm, upper
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.many_arms.groups import best_at
from armature.policies.many_arms.search import (
    LOOKS,
    REACH,
    ROUNDING,
    SPAN,
    IndexPolicy,
    Search,
    bound_makers,
    leading_arm,
    make_search,
    needs_bounds,
    settle,
    take_in,
)
from armature.policies.many_arms.tournament import next_at_least, top
from armature.policies.options import check_number
from armature.policies.records import History, argmax
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
    """Whether sup { q : N d(mean, q) <= level } is above a bar, without computing it."""
    return mean > bar or pulls * divergence(family, mean, bar) < level


@kernel
def choose(state: KLUCBState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the highest bound; bounds that can't be it are not computed."""
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


class ManyState(NamedTuple):
    """An option; for many arms, a search that has the bounds at a later round's level."""

    c: float
    search: Search


@kernel
def bound_at(
    state: ManyState, family: FamilyRecord, history: History, k: int, level: float
) -> float:
    """An arm's upper confidence bound at a level, and a little more."""
    mean = history.means[k]
    bound = upper(of_arm(family, k), mean, level / history.pulls[k])
    return float(bound + ROUNDING * (abs(bound) + abs(mean)))


make_bounds, touch_bounds = bound_makers(bound_at)


@kernel
def prepare(state: ManyState, family: FamilyRecord, history: History, level: float) -> None:
    """Make the bounds right: where something has changed, if they hold else."""
    search = state.search
    take_in(search, history, family.alike)
    touch_bounds(state, family, history)
    if needs_bounds(search, level > search.term[REACH]) or family.estimated:
        later = kl_level(history.clock[0] + 1.0 + search.term[SPAN], state.c)
        search.term[REACH] = max(level, later)
        make_bounds(state, family, history)
    settle(search, history)


@kernel
def choose_of_many(state: ManyState, model: Model, history: History, stream: Stream) -> int:
    """The same arm as from a look at all of them."""
    N = history.pulls
    mu = history.means
    search = state.search
    level = kl_level(history.clock[0] + 1.0, state.c)
    prepare(state, model.family, history, level)
    leader = leading_arm(search)
    best = leader
    highest = upper(of_arm(model.family, best), mu[best], level / N[best])
    guess = best_at(search.groups, top(search.bounds))
    attained = upper(of_arm(model.family, guess), mu[guess], level / N[guess])
    place = next_at_least(search.bounds, 0, max(attained, highest))
    while place >= 0:
        k = best_at(search.groups, place)
        if k != leader:
            bound = upper(of_arm(model.family, k), mu[k], level / N[k])
            if bound > highest or (bound == highest and best != leader and k < best):
                highest = bound
                best = k
        search.term[LOOKS] += 1.0
        place = next_at_least(search.bounds, place + 1, max(attained, highest))
    return best


@dataclass(frozen=True)
class KLUCB(IndexPolicy):
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
    authors' theorems, for bounded rewards and one-parameter exponential families). O(K) a round;
    with many arms it looks at few of them (`docs/scale.md`).

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

    choose: ClassVar = choose
    choose_of_many: ClassVar = choose_of_many

    def __post_init__(self) -> None:
        check_number(self, "c")

    def init(self, structure: Structure, family: Family) -> KLUCBState | ManyState:
        K = structure.n_arms
        if self.searches(structure):
            return ManyState(self.c, make_search(K, math.sqrt(K)))
        return KLUCBState(self.c)
