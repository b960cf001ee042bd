"""UCB (Auer, Cesa-Bianchi and Fischer, 2002)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family, FamilyRecord
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream
from armature.policies.many_arms.groups import best_at
from armature.policies.many_arms.search import (
    LOOKS,
    REACH,
    SPAN,
    IndexPolicy,
    Search,
    bound_makers,
    make_search,
    needs_bounds,
    settle,
    take_in,
)
from armature.policies.many_arms.tournament import next_at_least, top
from armature.policies.options import check_number
from armature.policies.records import History
from armature.structures import Structure
from armature.structures.oracles.model import Model


class UCBState(NamedTuple):
    """An option, and 1 / sqrt(N) of each arm with the N that it was computed for.

    Where the arms' noise differs, the radius is that of the noisiest, and theirs a part of it.
    """

    width: float
    counted: Floats
    inverse_root: Floats


@inlined
def radius_of(width: float, family: FamilyRecord, history: History) -> float:
    """The radius of an arm with one pull."""
    return width * math.sqrt(2.0 * family.proxy * math.log(history.clock[0] + 1.0))


@inlined
def inverse_root_of(family: FamilyRecord, pulls: float, k: int) -> float:
    """1 / sqrt(N), in units of the noisiest arm's."""
    inverse_root = 1.0 / math.sqrt(pulls)
    if not family.alike:
        inverse_root *= math.sqrt(of_arm(family, k).proxy / family.proxy)
    return inverse_root


@kernel
def choose(state: UCBState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the highest upper confidence bound."""
    family = model.family
    radius = radius_of(state.width, family, history)
    pulls = history.pulls
    means = history.means
    for k in range(pulls.size):
        if state.counted[k] != pulls[k]:
            state.counted[k] = pulls[k]
            state.inverse_root[k] = inverse_root_of(family, pulls[k], k)
    best = 0
    highest = -math.inf
    for k in range(pulls.size):
        bound = means[k] + radius * state.inverse_root[k]
        better = bound > highest
        highest = bound if better else highest
        best = k if better else best
    return best


class ManyState(NamedTuple):
    """An option; for many arms, a search that has the bounds at a later round's radius."""

    width: float
    search: Search


@kernel
def bound_at(
    state: ManyState, family: FamilyRecord, history: History, k: int, radius: float
) -> float:
    """An arm's upper confidence bound."""
    return float(history.means[k] + radius * inverse_root_of(family, history.pulls[k], k))


make_bounds, touch_bounds = bound_makers(bound_at)


@kernel
def prepare(state: ManyState, family: FamilyRecord, history: History, radius: float) -> None:
    """Make the bounds right: where something has changed, if they hold else."""
    search = state.search
    take_in(search, history, family.alike)
    touch_bounds(state, family, history)
    if needs_bounds(search, radius > search.term[REACH]):
        log = math.log(history.clock[0] + 1.0)
        later = math.log(history.clock[0] + 1.0 + search.term[SPAN])
        search.term[REACH] = radius * math.sqrt(max(1.0, later / log)) if log > 0.0 else radius
        make_bounds(state, family, history)
    settle(search, history)


@kernel
def choose_of_many(state: ManyState, model: Model, history: History, stream: Stream) -> int:
    """The same arm as from a look at all of them."""
    family = model.family
    search = state.search
    radius = radius_of(state.width, family, history)
    prepare(state, family, history, radius)
    best = best_at(search.groups, top(search.bounds))
    highest = bound_at(state, family, history, best, radius)
    place = next_at_least(search.bounds, 0, highest)
    while place >= 0:
        k = best_at(search.groups, place)
        bound = bound_at(state, family, history, k, radius)
        if bound > highest or (bound == highest and k < best):
            highest = bound
            best = k
        search.term[LOOKS] += 1.0
        place = next_at_least(search.bounds, place + 1, highest)
    return best


@dataclass(frozen=True)
class UCB(IndexPolicy):
    """The arm with the highest mean + width * sigma sqrt(2 ln t / N): no structure is used.

    An arm is worth a pull while it may be the best one. For Gaussian rewards, and for Bernoulli
    ones with sigma = 1/2 (Hoeffding's inequality). For the others, `KLUCB` is what this is for
    Gaussian rewards.

    Parameters
    ----------
    width : float
        The scale of the bounds, at least 0, where it follows the leader. The authors' UCB1, for
        rewards in [0, 1], is `UCB(width=2.0)` with Bernoulli rewards.

    Guarantee
    ---------
    For Gaussian rewards and width 1, asymptotically optimal without structure (Katehakis and
    Robbins). For UCB1 the authors bound the regret at every horizon, by 8 ln T / gap for each arm
    plus a constant. O(K) a round; with many arms it looks at few of them (`docs/scale.md`).

    >>> import armature as am
    >>> bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    >>> bandit.tell([0, 1], [1.0, 0.0])
    >>> bandit.ask()
    0

    Limits
    ------
    Sub-Gaussian rewards only (Gaussian, Bernoulli). It uses no structure.

    References
    ----------
    Auer, Cesa-Bianchi and Fischer (2002), "Finite-time Analysis of the Multiarmed Bandit Problem".
    Katehakis and Robbins (1995), "Sequential Choice from Several Populations".
    Paper: Section 3, UCB.
    """

    width: float = 1.0

    needs_sub_gaussian: ClassVar[bool] = True
    choose: ClassVar = choose
    choose_of_many: ClassVar = choose_of_many

    def __post_init__(self) -> None:
        check_number(self, "width")

    def init(self, structure: Structure, family: Family) -> UCBState | ManyState:
        K = structure.n_arms
        if self.searches(structure):
            return ManyState(self.width, make_search(K, math.sqrt(K)))
        return UCBState(self.width, np.zeros(K), np.zeros(K))
