"""IMED (Honda and Takemura, 2015)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature.families import Family, FamilyRecord
from armature.families.kernels import divergence, of_arm
from armature.kernels.kernel import inlined, kernel
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
from armature.policies.records import History, argmax
from armature.structures import Structure
from armature.structures.oracles.model import Model

START = 0.01  # how far below the best mean bounds hold at first; adapted from there


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
            index = N[k] * divergence(of_arm(model.family, k), mu[k], mu[best])
            if index < least:
                index += math.log(N[k])
                if index < least:
                    least = index
                    chosen = k
    return chosen


class ManyState(NamedTuple):
    """For many arms: a search that has bounds of minus the index, at a mean below the best one."""

    search: Search


@inlined
def index_of(family: FamilyRecord, history: History, k: int, best_mean: float) -> float:
    """N d(mean, best mean) + ln N."""
    N = history.pulls[k]
    return float(N * divergence(of_arm(family, k), history.means[k], best_mean) + math.log(N))


@kernel
def bound_at(
    state: ManyState, family: FamilyRecord, history: History, k: int, reach: float
) -> float:
    """Minus an arm's index, at least, as long as the best mean is not below `reach`."""
    if history.means[k] >= reach:
        return -math.log(history.pulls[k])
    index = index_of(family, history, k, reach)
    return -math.inf if index == math.inf else -index + ROUNDING * (index + 1.0)


make_bounds, touch_bounds = bound_makers(bound_at)


@kernel
def prepare(state: ManyState, family: FamilyRecord, history: History) -> None:
    """Make the bounds right: where something has changed, if they hold else."""
    search = state.search
    take_in(search, history, family.alike)
    touch_bounds(state, family, history)
    best_mean = search.tops[1]
    if needs_bounds(search, best_mean < search.term[REACH]) or family.estimated:
        search.term[REACH] = best_mean - search.term[SPAN]
        make_bounds(state, family, history)
    settle(search, history)


@kernel
def choose_of_many(state: ManyState, model: Model, history: History, stream: Stream) -> int:
    """The same arm as from a look at all of them."""
    search = state.search
    prepare(state, model.family, history)
    leader = leading_arm(search)
    best_mean = history.means[leader]
    chosen = leader
    guess = best_at(search.groups, top(search.bounds))
    least = math.log(history.pulls[leader])
    attained = min(least, index_of(model.family, history, guess, best_mean))
    place = next_at_least(search.bounds, 0, -attained)
    while place >= 0:
        k = best_at(search.groups, place)
        if k != leader:
            index = index_of(model.family, history, k, best_mean)
            if index < least or (index == least and chosen != leader and k < chosen):
                least = index
                chosen = k
        search.term[LOOKS] += 1.0
        place = next_at_least(search.bounds, place + 1, -min(attained, least))
    return chosen


@dataclass(frozen=True)
class IMED(IndexPolicy):
    """The arm with the least N d(mean, best mean) + ln N: no structure is used.

    An arm is pulled when the evidence against it is less than what its age allows: a rule without
    confidence bounds and without chance.

    It has no parameters.

    Guarantee
    ---------
    Asymptotically optimal without structure (the authors' theorem, for rewards that are bounded
    above, such as Bernoulli ones). O(K) a round; with many arms it looks at few of
    them (`docs/scale.md`).

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

    choose: ClassVar = choose
    choose_of_many: ClassVar = choose_of_many

    def init(self, structure: Structure, family: Family) -> IMEDState | ManyState:
        if self.searches(structure):
            return ManyState(make_search(structure.n_arms, START))
        return IMEDState(0.0)
