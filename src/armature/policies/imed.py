"""IMED (Honda and Takemura, 2015)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature._compile import Kernel, inlined, kernel
from armature.arrays import Floats
from armature.families import Family, FamilyRecord
from armature.families.kernels import divergence, of_arm
from armature.policies._policy import CompiledPolicy
from armature.policies._search import (
    COUNT,
    LOOKS,
    MANY,
    REACH,
    ROUNDING,
    SPAN,
    Search,
    adapt,
    is_faithful,
    is_spent,
    make_search,
    note_change,
    settle,
)
from armature.policies._tournament import build, make_tournament, next_at_least, set_value, top
from armature.policies.records import History, argmax
from armature.streams import Stream
from armature.structures import Structure
from armature.structures.model import Model

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

    means: Floats  # a tournament
    search: Search


@inlined
def index_of(family: FamilyRecord, history: History, k: int, top_mean: float) -> float:
    """N d(mean, best mean) + ln N."""
    N = history.pulls[k]
    return float(N * divergence(of_arm(family, k), history.means[k], top_mean) + math.log(N))


@kernel
def bound_at(family: FamilyRecord, history: History, k: int, reach: float) -> float:
    """Minus an arm's index, at least, as long as the best mean is not below `reach`."""
    if history.means[k] >= reach:
        return -math.log(history.pulls[k])
    index = index_of(family, history, k, reach)
    if index == math.inf:
        return -math.inf
    return -index + ROUNDING * (index + 1.0)


@kernel
def make_bounds(state: ManyState, family: FamilyRecord, history: History) -> None:
    """Make all bounds, at a mean so far below the best one."""
    search = state.search
    half = search.bounds.size // 2
    for k in range(history.pulls.size):
        state.means[half + k] = history.means[k]
    build(state.means)
    reach = state.means[1] - search.term[SPAN]
    search.term[REACH] = reach
    for k in range(history.pulls.size):
        search.bounds[half + k] = bound_at(family, history, k, reach)
    build(search.bounds)


@kernel
def prepare(state: ManyState, family: FamilyRecord, history: History) -> None:
    """Make the bounds right: of the arms that have changed, if they hold else."""
    search = state.search
    K = history.pulls.size
    if not is_faithful(search, history) or family.estimated:
        make_bounds(state, family, history)
        settle(search, history)
        return
    for i in range(search.notes[COUNT]):
        k = search.changed[i]
        set_value(state.means, k, history.means[k])
        set_value(search.bounds, k, bound_at(family, history, k, search.term[REACH]))
    if state.means[1] < search.term[REACH] or is_spent(search, K):
        adapt(search, K)
        make_bounds(state, family, history)
    settle(search, history)


@kernel
def choose_of_many(state: ManyState, model: Model, history: History, stream: Stream) -> int:
    """The same arm as from a look at all of them."""
    prepare(state, model.family, history)
    tree = state.search.bounds
    best = top(state.means)
    highest = history.means[best]
    least = math.log(history.pulls[best])
    guess = top(tree)
    attained = min(least, index_of(model.family, history, guess, highest))
    chosen = best
    k = next_at_least(tree, 0, -attained)
    while k >= 0:
        index = index_of(model.family, history, k, highest)
        if k != best and index < least:
            least = index
            chosen = k
        state.search.term[LOOKS] += 1.0
        k = next_at_least(tree, k + 1, -attained)
    return chosen


@kernel
def note_reward(state: ManyState, model: Model, history: History, arm: int, reward: float) -> None:
    """Note which arm has changed."""
    note_change(state.search, history, arm)


@dataclass(frozen=True)
class IMED(CompiledPolicy):
    """The arm with the least N d(mean, best mean) + ln N: no structure is used.

    An arm is pulled when the evidence against it is less than what its age allows: a rule without
    confidence bounds and without chance.

    It has no parameters.

    Guarantee
    ---------
    Asymptotically optimal without structure (the authors' theorem, for rewards that are bounded
    above, such as Bernoulli ones). O(K) a round; with many arms it
    looks at few of them (`docs/scale.md`).

    >>> import armature as am
    >>> bandit = am.Bandit(am.IMED(), am.Unconstrained(2))
    >>> bandit.tell([0, 1, 1], [0.0, 1.0, 1.0])
    >>> bandit.ask()  # 1/2 + ln 1 for arm 0, 0 + ln 2 for arm 1
    0

    References
    ----------
    Honda and Takemura (2015), "Non-asymptotic Analysis of a New Bandit Algorithm for Semi-bounded
    Rewards".
    """

    ignores_numbering: ClassVar[bool] = True
    reads_history: ClassVar[bool] = True
    choose: ClassVar = choose

    def kernels(
        self, structure: Structure, family: Family
    ) -> tuple[Kernel[..., int], Kernel[..., None] | None]:
        many = structure.n_arms >= MANY
        return (choose_of_many, note_reward) if many else (self.choose, self.update)

    def init(self, structure: Structure, family: Family) -> IMEDState | ManyState:
        K = structure.n_arms
        if K >= MANY:
            return ManyState(make_tournament(K), make_search(K, START))
        return IMEDState(0.0)
