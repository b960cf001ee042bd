"""UCB (Auer, Cesa-Bianchi and Fischer, 2002)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import Kernel, inlined, kernel
from armature.arrays import Floats
from armature.families import Family, FamilyRecord
from armature.families.kernels import of_arm
from armature.policies._options import check_number
from armature.policies._policy import CompiledPolicy
from armature.policies._search import (
    COUNT,
    LOOKS,
    MANY,
    REACH,
    SPAN,
    Search,
    adapt,
    is_faithful,
    is_spent,
    make_search,
    note_change,
    settle,
)
from armature.policies._tournament import build, next_at_least, set_value, top
from armature.policies.records import History
from armature.streams import Stream
from armature.structures import Structure
from armature.structures.model import Model


class UCBState(NamedTuple):
    """An option, and 1 / sqrt(N) of each arm with the N that it was computed for.

    Where the arms' noise differs, the radius is that of the noisiest, and theirs a part of it.
    """

    width: float
    counted: Floats
    inverse_root: Floats


@inlined
def count_arm(family: FamilyRecord, pulls: Floats, k: int, inverse_root: Floats) -> None:
    """Take in how often an arm was pulled."""
    inverse_root[k] = 1.0 / math.sqrt(pulls[k])
    if not family.alike:
        inverse_root[k] *= math.sqrt(of_arm(family, k).proxy / family.proxy)


@inlined
def radius_of(width: float, family: FamilyRecord, history: History) -> float:
    """The radius of an arm with one pull."""
    return width * math.sqrt(2.0 * family.proxy * math.log(history.clock[0] + 1.0))


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
            count_arm(family, pulls, k, state.inverse_root)
    best = 0
    highest = -math.inf
    for k in range(pulls.size):
        bound = means[k] + radius * state.inverse_root[k]
        better = bound > highest
        highest = bound if better else highest
        best = k if better else best
    return best


class ManyState(NamedTuple):
    """The same for many arms, with a search that has the bounds at a later round's radius."""

    width: float
    inverse_root: Floats
    search: Search


@kernel
def make_bounds(state: ManyState, family: FamilyRecord, history: History, radius: float) -> None:
    """Make all bounds, with the radius that there will be so many rounds ahead."""
    log = math.log(history.clock[0] + 1.0)
    later = math.log(history.clock[0] + 1.0 + state.search.term[SPAN])
    reach = radius * math.sqrt(max(1.0, later / log)) if log > 0.0 else radius
    state.search.term[REACH] = reach
    tree = state.search.bounds
    half = tree.size // 2
    for k in range(history.pulls.size):
        count_arm(family, history.pulls, k, state.inverse_root)
        tree[half + k] = history.means[k] + reach * state.inverse_root[k]
    build(tree)


@kernel
def prepare(state: ManyState, family: FamilyRecord, history: History, radius: float) -> None:
    """Make the bounds right: of the arms that have changed, if they hold else."""
    search = state.search
    K = history.pulls.size
    if not is_faithful(search, history):
        make_bounds(state, family, history, radius)
    elif radius > search.term[REACH] or is_spent(search, K):
        adapt(search, K)
        make_bounds(state, family, history, radius)
    else:
        for i in range(search.notes[COUNT]):
            k = search.changed[i]
            count_arm(family, history.pulls, k, state.inverse_root)
            bound = history.means[k] + search.term[REACH] * state.inverse_root[k]
            set_value(search.bounds, k, bound)
    settle(search, history)


@kernel
def choose_of_many(state: ManyState, model: Model, history: History, stream: Stream) -> int:
    """The same arm as from a look at all of them."""
    radius = radius_of(state.width, model.family, history)
    prepare(state, model.family, history, radius)
    means = history.means
    tree = state.search.bounds
    guess = top(tree)
    level = means[guess] + radius * state.inverse_root[guess]
    best = guess
    highest = -math.inf
    k = next_at_least(tree, 0, level)
    while k >= 0:
        bound = means[k] + radius * state.inverse_root[k]
        if bound > highest:
            highest = bound
            best = k
        state.search.term[LOOKS] += 1.0
        k = next_at_least(tree, k + 1, level)
    return best


@kernel
def note_reward(state: ManyState, model: Model, history: History, arm: int, reward: float) -> None:
    """Note which arm has changed."""
    note_change(state.search, history, arm)


@dataclass(frozen=True)
class UCB(CompiledPolicy):
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

    References
    ----------
    Auer, Cesa-Bianchi and Fischer (2002), "Finite-time Analysis of the Multiarmed Bandit Problem".
    Katehakis and Robbins (1995), "Sequential Choice from Several Populations".
    """

    width: float = 1.0

    needs_sub_gaussian: ClassVar[bool] = True
    ignores_numbering: ClassVar[bool] = True
    reads_history: ClassVar[bool] = True
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "width")

    def kernels(
        self, structure: Structure, family: Family
    ) -> tuple[Kernel[..., int], Kernel[..., None] | None]:
        many = structure.n_arms >= MANY
        return (choose_of_many, note_reward) if many else (self.choose, self.update)

    def init(self, structure: Structure, family: Family) -> UCBState | ManyState:
        K = structure.n_arms
        if K >= MANY:
            return ManyState(self.width, np.zeros(K), make_search(K, math.sqrt(K)))
        return UCBState(self.width, np.zeros(K), np.zeros(K))
