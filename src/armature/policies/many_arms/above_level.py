"""Challenger where at most s of many arms are above a known level: a look at few of them.

The projection keeps the s arms with the largest gains N d(mean, level) where they are, and puts all
others on the level. So what a challenger k costs follows from itself, from the leader j, and from
few others. With w the least gain beside the leader's, and y the weighted mean of j and k, but at
least the level, it is

    G_k = N_j d(m_j, y) + N_k d(m_k, y)                                   where k is kept,
    G_k = the same + w - N_k d(m_k, level)                                else,

or, if that is less, what it costs that j leaves its place to the arm with the next largest gain,
which is the same for all k: then whoever was looked into least is due first. Of the arms that are
not kept, with equally many pulls, the one with the highest mean has the least G_k: so whoever is
due is found by a search (`search`), as without a structure. (Without one all arms are kept.)

The look at all arms adds up the costs of all of them, and so is off by rounding. Where what decides
is within that of a tie, it is what decides (`by_a_look_at_all`): decisions are the same. That is so
with Gaussian rewards alone; others have ties all the time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from armature.families import FamilyRecord
from armature.families.kernels import divergence, of_arm, variance, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream, next_unit
from armature.policies.challenger import (
    TINY,
    UNMOVED,
    ChallengerState,
    answer,
    next_to_begin,
    overdue,
    waited,
)
from armature.policies.many_arms.groups import GROUPS, NOBODY, best_at, enter, leave
from armature.policies.many_arms.search import (
    ANEW,
    COUNT,
    FAITHFUL,
    LOOKS,
    NOTED,
    REACH,
    ROUNDING,
    SPAN,
    Search,
    adapt,
    bound_makers,
    is_spent,
    make_search,
    settle,
)
from armature.policies.many_arms.tournament import (
    build,
    make_tournament,
    next_at_least,
    set_value,
    top,
)
from armature.policies.records import History, argmax, mark_exploration
from armature.structures.oracles.model import Model, pooled_mean, projection

START = 0.01  # how far below the leader's mean bounds hold at first; adapted from there
DOUBT = 1e-14  # of a sum over all arms, for each unit of it and of the root of their number
NOW, BEFORE = range(2)  # rows of `AboveState.first`


class AboveState(NamedTuple):
    """The state of the policy, and what is known of all arms."""

    plain: ChallengerState
    weight: Floats  # [the leader's pulls, of which bounds need at least so many]
    search: Search
    flat: Floats  # (K,): what each arm costs on the level
    gains: Floats  # a tournament
    rareness: Floats  # another one: minus how often each arm was looked into
    first: Ints  # (2, s + 1): the arms with the largest gains, or nobody; those before
    kept: Ints  # (K,): 1 for the first s of them
    total: Floats  # [what all arms cost on the level]
    level: float

    def __getattr__(self, name: str) -> Any:
        """What is not here is the policy's: so that its arrays are saved by their names."""
        return getattr(self.plain, name)


def make_state(plain: ChallengerState, n_arms: int, support: int, level: float) -> AboveState:
    """Before the first round."""
    return AboveState(
        plain=plain,
        weight=np.ones(1),
        search=make_search(n_arms, START),
        flat=np.zeros(n_arms),
        gains=make_tournament(n_arms),
        rareness=make_tournament(n_arms),
        first=np.full((2, support + 1), NOBODY),
        kept=np.zeros(n_arms, dtype=np.int64),
        total=np.zeros(1),
        level=float(level),
    )


@inlined
def pair_above(
    family: FamilyRecord, level: float, Nj: float, mj: float, N: float, m: float
) -> float:
    """What it costs that an arm is as good as the leader, both being kept."""
    if m >= mj:
        return 0.0
    y = max(pooled_mean(Nj, mj, N, m), level)
    return weighted_divergence(family, Nj, mj, y) + weighted_divergence(family, N, m, y)


@inlined
def looks_into(state: AboveState, history: History, i: int) -> float:
    """How often an arm was looked into."""
    return float(history.pulls[i] + state.plain.looked[i])


@kernel
def bound_at(
    state: AboveState, family: FamilyRecord, history: History, i: int, reach: float
) -> float:
    """Minus the wait of a challenger that is not kept, at least, but for what leaves its place.

    For leaders of such a mean and weight, or more.
    """
    if state.kept[i] == 1:
        return -math.inf
    N = history.pulls[i]
    level = state.level
    cost = pair_above(family, level, state.weight[0], max(reach, level), N, history.means[i])
    cost = (1.0 - ROUNDING) * cost - (1.0 + ROUNDING) * state.flat[i]
    return float(ROUNDING - cost - math.log(max(looks_into(state, history, i), 1.0)))


make_bounds, _ = bound_makers(bound_at)


# What changes with a reward.


@kernel
def touch(state: AboveState, family: FamilyRecord, history: History, place: int) -> None:
    """Make the bound at a place right."""
    search = state.search
    k = best_at(search.groups, place)
    bound = -math.inf
    if k != NOBODY:
        bound = bound_at(state, family, history, k, search.term[REACH])
    set_value(search.bounds, place, bound)


@inlined
def is_grouped(state: AboveState, k: int) -> bool:
    """Whether others with as many pulls are like this one."""
    return bool(state.plain.looked[k] == 0.0 and state.kept[k] == 0)


@kernel
def move(state: AboveState, family: FamilyRecord, history: History, k: int) -> None:
    """Put an arm into the place where it belongs by now."""
    groups = state.search.groups
    old = leave(groups, k)
    new = enter(groups, k, history.pulls[k], history.means[k], is_grouped(state, k))
    touch(state, family, history, old)
    if new != old:
        touch(state, family, history, new)


@kernel
def weigh(state: AboveState, family: FamilyRecord, history: History, k: int) -> float:
    """What an arm costs on the level, and what it gains by not being there, which is returned."""
    state.rareness[state.rareness.size // 2 + k] = -looks_into(state, history, k)
    cost = weighted_divergence(family, history.pulls[k], history.means[k], state.level)
    state.total[0] += cost - state.flat[k]
    state.flat[k] = cost
    return cost if history.means[k] > state.level else 0.0


@kernel
def rank(state: AboveState) -> None:
    """Find the arms with the largest gains, and mark those that are kept: 2 if they were before."""
    first = state.first
    gains = state.gains
    half = gains.size // 2
    n = first.shape[1]
    for c in range(n):
        k = first[NOW, c]
        first[BEFORE, c] = k
        first[NOW, c] = NOBODY
        if k != NOBODY and c < n - 1:
            state.kept[k] = 0
    for c in range(n):
        k = top(gains)
        if gains[half + k] <= 0.0:
            break
        first[NOW, c] = k
        set_value(gains, k, -math.inf)
    for c in range(n):
        k = first[NOW, c]
        if k != NOBODY:
            gain = state.flat[k]
            set_value(gains, k, gain)
            if c < n - 1:
                state.kept[k] = 1


@kernel
def take_in(state: AboveState, family: FamilyRecord, history: History) -> None:
    """Know of the rewards since the last choice, or of all."""
    search = state.search
    notes = search.notes
    first = state.first
    last = first.shape[1] - 1
    if notes[FAITHFUL] == 1 and history.clock[0] == notes[NOTED]:
        others = False
        for c in range(notes[COUNT]):
            k = search.changed[c]
            gain = weigh(state, family, history, k)
            set_value(state.gains, k, gain)
            set_value(state.rareness, k, -looks_into(state, history, k))
            end = first[NOW, last]
            others = others or state.kept[k] == 1 or k == end
            others = others or (gain > 0.0 and (end == NOBODY or gain >= state.flat[end]))
        if others:
            rank(state)
            for c in range(last):
                for row in (NOW, BEFORE):
                    k = first[row, c]
                    if k != NOBODY:
                        move(state, family, history, k)
        for c in range(notes[COUNT]):
            move(state, family, history, search.changed[c])
        notes[ANEW] = 0
        return
    K = history.pulls.size
    half = state.gains.size // 2
    state.total[0] = 0.0
    for k in range(K):
        state.flat[k] = 0.0
        state.gains[half + k] = weigh(state, family, history, k)
    build(state.gains, K)
    build(state.rareness, K)
    rank(state)
    enter_everybody(state, history)
    notes[ANEW] = 1


@kernel
def enter_everybody(state: AboveState, history: History) -> None:
    """Begin anew, with all arms; nobody has a bound."""
    groups = state.search.groups
    for n in range(groups.used[0]):
        groups.root[n] = NOBODY
    groups.used[0] = 0
    groups.used[1] = 0
    for k in range(history.pulls.size):
        enter(groups, k, history.pulls[k], history.means[k], is_grouped(state, k))
    bounds = state.search.bounds
    for node in range(bounds.size):
        bounds[node] = -math.inf


@kernel
def prepare(state: AboveState, family: FamilyRecord, history: History, j: int) -> None:
    """Make all bounds, for leaders that are a little worse than this one, or better, if need be."""
    search = state.search
    ended = history.means[j] < search.term[REACH] or history.pulls[j] < state.weight[0]
    ended = ended or is_spent(search)
    if ended:
        adapt(search)
    if ended or search.notes[ANEW] == 1:
        search.notes[ANEW] = 0
        search.term[REACH] = history.means[j] - search.term[SPAN]
        state.weight[0] = max(1.0, 0.5 * history.pulls[j])
        make_bounds(state, family, history)


# What is chosen.


class Places(NamedTuple):
    """Who leads, and whose place a challenger takes; nobody's: there is room."""

    leader: int
    weakest: int
    shift: float  # what that one gains
    leaving: float  # what it costs that the leader leaves its place
    clear: bool  # whether nothing of this is a tie


@kernel
def places_of(state: AboveState, history: History) -> Places:
    """Who has which place."""
    first = state.first
    s = first.shape[1] - 1
    j = NOBODY
    for c in range(s):
        k = first[NOW, c]
        if k != NOBODY and (
            j == NOBODY
            or history.means[k] > history.means[j]
            or (history.means[k] == history.means[j] and k < j)
        ):
            j = k
    if j == NOBODY or s < 2:
        return Places(j, NOBODY, 0.0, 0.0, False)
    following = first[NOW, s]
    next_gain = state.flat[following] if following != NOBODY else 0.0
    leaving = state.flat[j] - next_gain
    if first[NOW, s - 1] == NOBODY:
        return Places(j, NOBODY, 0.0, leaving, True)
    at = s - 1 if first[NOW, s - 1] != j else s - 2
    weakest = first[NOW, at]
    shift = state.flat[weakest]
    clear = state.flat[first[NOW, s - 1]] > next_gain
    for c in range(at):
        k = first[NOW, c]
        clear = clear and (k == j or state.flat[k] > shift)
    return Places(j, weakest, shift, leaving, clear)


@inlined
def wait_of(
    state: AboveState, family: FamilyRecord, history: History, places: Places, i: int
) -> float:
    """How long a challenger has to wait."""
    j = places.leader
    N = history.pulls
    G = pair_above(family, state.level, N[j], history.means[j], N[i], history.means[i])
    if state.kept[i] == 0:
        G += places.shift - state.flat[i]
    return waited(G, looks_into(state, history, i))


class Due(NamedTuple):
    """The challenger with the least wait, that one, and the least of all others."""

    arm: int
    wait: float
    others: float


@inlined
def with_one_more(due: Due, i: int, wait: float) -> Due:
    """The same, with one that was not looked at before."""
    if wait < due.wait:
        return Due(i, wait, due.wait)
    return Due(due.arm, due.wait, min(due.others, wait))


@kernel
def next_due(
    state: AboveState,
    family: FamilyRecord,
    history: History,
    places: Places,
    least: float,
    doubt: float,
) -> Due:
    """Who is due next if the leader stays; exact for waits of less than `least`, or nearly so."""
    search = state.search
    groups = search.groups
    due = Due(NOBODY, math.inf, math.inf)
    for c in range(state.first.shape[1] - 1):
        i = state.first[NOW, c]
        if i != NOBODY and i != places.leader:
            due = with_one_more(due, i, wait_of(state, family, history, places, i))
    attained = least
    guess = best_at(groups, top(search.bounds))
    if guess != NOBODY and state.kept[guess] == 0:
        attained = min(attained, wait_of(state, family, history, places, guess))
    limit = min(attained, due.wait) + doubt - places.shift
    place = next_at_least(search.bounds, 0, -limit)
    while place >= 0:
        i = best_at(groups, place)
        due = with_one_more(due, i, wait_of(state, family, history, places, i))
        if place < GROUPS:  # the next of this group is below it
            for below in (groups.left[i], groups.right[i]):
                if below != NOBODY:
                    wait = wait_of(state, family, history, places, below)
                    due = Due(due.arm, due.wait, min(due.others, wait))
        search.term[LOOKS] += 1.0
        limit = min(attained, due.wait) + doubt - places.shift
        place = next_at_least(search.bounds, place + 1, -limit)
    return due


@kernel
def rarest(state: AboveState, j: int) -> int:
    """Who was looked into least; of several, the first; never the leader."""
    tree = state.rareness
    own = tree[tree.size // 2 + j]
    set_value(tree, j, -math.inf)
    i = top(tree)
    set_value(tree, j, own)
    return i


@kernel
def by_a_look_at_all(state: AboveState, model: Model, history: History, stream: Stream) -> int:
    """The arm to pull, as it is found where there are few."""
    plain = state.plain
    base = projection(model, history.means, history.pulls, plain.projected)
    j = argmax(plain.projected)
    i = overdue(plain, model, history, j, base)
    if i == j:
        return j
    mark_exploration(history)
    k = answer(plain, model, history, j, i, stream)
    if k != i:
        look_into(state, model.family, history, i)
    return k


@kernel
def look_into(state: AboveState, family: FamilyRecord, history: History, i: int) -> None:
    """An arm is looked into by pulling another one."""
    state.plain.looked[i] += 1.0
    set_value(state.rareness, i, -looks_into(state, history, i))
    move(state, family, history, i)


@kernel
def answer_here(
    state: AboveState, model: Model, history: History, places: Places, i: int, stream: Stream
) -> int:
    """What `answer` says, of the arms that are not the same in both mean vectors."""
    plain = state.plain
    means = history.means
    level = state.level
    j = places.leader
    own_mean = means[i] if state.kept[i] == 1 else level
    moved = means[i]
    if means[i] < means[j]:
        moved = max(pooled_mean(history.pulls[j], means[j], history.pulls[i], means[i]), level)
    if abs(moved - own_mean) <= UNMOVED * max(abs(level), abs(means[j])):
        return i
    noise = variance(of_arm(model.family, j), means[j])
    least = max(TINY, math.sqrt(noise / (history.pulls[j] + 1.0)))
    regret = max(means[j] - own_mean, least)
    tells = divergence(of_arm(model.family, i), own_mean, moved)
    other = places.weakest if state.kept[i] == 0 else NOBODY
    if other == NOBODY:
        return i
    other_regret = max(means[j] - means[other], least)
    other_tells = divergence(of_arm(model.family, other), means[other], level)
    gain = tells / regret**plain.price
    other_gain = other_tells / other_regret**plain.price
    if gain > other_gain or (gain == other_gain and (i < other or gain == 0.0)):
        return i
    if other_gain == math.inf:
        return other
    share = plain.share
    if share < 0.0:
        own = tells / regret**2
        share = own / (own + other_tells / other_regret**2)
    return i if next_unit(stream) < share else other


@kernel
def choose_above(state: AboveState, model: Model, history: History, stream: Stream) -> int:
    """The same arm as from a look at all of them."""
    plain = state.plain
    family = model.family
    begun = next_to_begin(plain, history)
    if begun >= 0:
        return begun
    take_in(state, family, history)
    places = places_of(state, history)
    if places.leader == NOBODY or (state.first.shape[1] == 2):
        settle(state.search, history)
        return by_a_look_at_all(state, model, history, stream)
    j = places.leader
    prepare(state, family, history, j)
    settle(state.search, history)
    least = waited(0.0, history.pulls[j]) - plain.patience
    if least <= 0.0 and places.clear:
        return j
    doubt = DOUBT * math.sqrt(float(history.pulls.size)) * (1.0 + state.total[0])
    i = rarest(state, j)
    wait = waited(places.leaving, looks_into(state, history, i))  # if the leader leaves its place
    due = next_due(state, family, history, places, min(least, wait), doubt)
    sooner = min(wait, due.wait)
    if sooner > least + doubt and places.clear:
        return j
    others = min(max(wait, due.wait), due.others)
    if not places.clear or sooner > least - doubt or others - sooner <= doubt:
        return by_a_look_at_all(state, model, history, stream)
    mark_exploration(history)
    if wait < due.wait:
        return i  # the mean vectors differ in no other arm, or not in this one
    k = answer_here(state, model, history, places, due.arm, stream)
    if k != due.arm:
        look_into(state, family, history, due.arm)
    return k
