"""What Challenger knows of categories, one of which is on top, from one round to the next.

That category c is on top raises some of its arms to a level v, and lowers some of all others to it:
v is where what pulls up and what pulls down are in balance. All other arms stay. What that costs,
S_c, follows with Gaussian rewards from sums over the arms that are moved, and from the arms near
the level, of which a list is kept (`level_without`): v may move as far as the list reaches.

The arms of the category on top are in a search (`search`), by bounds of how long they have to
wait. `on_top` says what is chosen from all this.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.policies.challenger import ChallengerState
from armature.policies.many_arms.challenger import START, ManyState
from armature.policies.many_arms.groups import GROUPS, NOBODY, best_at, enter, leave
from armature.policies.many_arms.search import (
    COUNT,
    FAITHFUL,
    FEW,
    NOTED,
    REACH,
    ROUNDING,
    SPAN,
    Search,
    bound_makers,
    make_search,
)
from armature.policies.many_arms.tournament import build, set_value
from armature.policies.records import History
from armature.structures.oracles.model import Model, nearest_challenger, pair_cost

MOST_NEAR = 128  # arms in the list
KNOWN, CATEGORY, PAUSE, PAUSED = range(4)  # of `TopState.notes`
SIZE, LIFT, LEVEL, COST = range(4)  # of `TopState.term`
WEIGHT, MOMENT, SQUARE, CENTRE, WIDTH = range(5)  # of a row of `TopState.sums`


class TopState(NamedTuple):
    """The state of the policy, and what was computed of all arms."""

    plain: ChallengerState
    many: ManyState
    search: Search  # of the arms of the category on top
    weight: Floats  # [the leader's pulls, of which bounds need at least so many]
    category: Ints  # (K,)
    pulls: Floats  # (K,): as they are in the sums
    means: Floats  # (K,)
    sums: Floats  # (C, 5): over arms that are moved if a category is on top, wherever the level is
    # in its list; about the list's centre; that, and how far it reaches
    near: Ints  # (C, 1 + MOST_NEAR): the list of each category, and before it how long it is
    notes: Ints  # [is all this known; which category is on top; pauses]
    term: Floats  # [the size of sums; a bound for single arms; the level; what it costs]

    def __getattr__(self, name: str) -> Any:
        """What is not here is the policy's: so that its arrays are saved by their names."""
        return getattr(self.plain, name)


def make_state(plain: ChallengerState, many: ManyState, category: Ints) -> TopState:
    """Before the first round."""
    K = category.size
    C = int(category.max()) + 1
    sums = np.zeros((C, 5))
    sums[:, WIDTH] = 1.0
    return TopState(
        plain=plain,
        many=many,
        search=make_search(K, START),
        weight=np.ones(1),
        category=category,
        pulls=np.zeros(K),
        means=np.zeros(K),
        sums=sums,
        near=np.zeros((C, 1 + MOST_NEAR), dtype=np.int64),
        notes=np.zeros(4, dtype=np.int64),
        term=np.zeros(4),
    )


# The level of a category. All means are about the centre of its list.


@inlined
def is_moved(state: TopState, c: int, k: int, x: float) -> bool:
    """Whether an arm is moved to the level x, if category c is on top."""
    m = state.means[k] - state.sums[c, CENTRE]
    return bool(m < x if state.category[k] == c else m > x)


@kernel
def add(state: TopState, c: int, k: int, sign: float) -> None:
    """Count an arm in the sums or in the list (sign 1), or no more (-1)."""
    sums = state.sums[c]
    near = state.near[c]
    m = state.means[k] - sums[CENTRE]
    if abs(m) > sums[WIDTH]:
        if is_moved(state, c, k, 0.0):
            w = sign * state.pulls[k]
            sums[WEIGHT] += w
            sums[MOMENT] += w * m
            sums[SQUARE] += w * m * m
    elif sign > 0.0:
        if near[0] == MOST_NEAR:
            state.notes[KNOWN] = 0
            return
        near[0] += 1
        near[near[0]] = k
    else:
        for a in range(1, near[0] + 1):
            if near[a] == k:
                near[a] = near[near[0]]
                near[0] -= 1
                return


@kernel
def balance(state: TopState, c: int, x: float, W: float, M: float, skip: int) -> float:
    """What pulls a level x down, less what pulls it up, up to the variance: it increases in x."""
    centre = state.sums[c, CENTRE]
    total = W * x - M
    for a in range(1, state.near[c, 0] + 1):
        k = state.near[c, a]
        if k != skip and is_moved(state, c, k, x):
            total += state.pulls[k] * (x - (state.means[k] - centre))
    return total


@kernel
def level_without(state: TopState, c: int, skip: int) -> tuple[float, float]:
    """The level and what the separation costs, up to the variance, without an arm; -1: with all.

    The level is nan where it is not in the list.
    """
    sums = state.sums[c]
    near = state.near[c]
    width = sums[WIDTH]
    centre = sums[CENTRE]
    W = sums[WEIGHT]
    M = sums[MOMENT]
    Q = sums[SQUARE]
    if skip >= 0 and abs(state.means[skip] - centre) > width and is_moved(state, c, skip, 0.0):
        w = state.pulls[skip]
        m = state.means[skip] - centre
        W -= w
        M -= w * m
        Q -= w * m * m
    low = -width
    high = width
    if balance(state, c, low, W, M, skip) > 0.0 or balance(state, c, high, W, M, skip) < 0.0:
        return math.nan, 0.0
    for a in range(1, near[0] + 1):
        m = state.means[near[a]] - centre
        if near[a] != skip and low < m < high:
            if balance(state, c, m, W, M, skip) <= 0.0:
                low = m
            else:
                high = m
    for a in range(1, near[0] + 1):
        k = near[a]
        if k == skip:
            continue
        m = state.means[k] - centre
        own = state.category[k] == c
        if (own and m <= low) or (not own and m >= high):
            w = state.pulls[k]
            W += w
            M += w * m
            Q += w * m * m
    if W <= 0.0:
        return math.nan, 0.0
    x = min(max(M / W, low), high)
    return centre + x, max(0.0, 0.5 * (W * x * x - 2.0 * M * x + Q))


# What changes with a reward.


@kernel
def bound_at(
    state: TopState, family: FamilyRecord, history: History, i: int, reach: float
) -> float:
    """Minus the wait of a challenger, at least, for leaders of such a mean and weight, or more."""
    N = history.pulls[i]
    m = history.means[i]
    n = max(N + state.plain.looked[i], 1.0)
    cost = (1.0 - ROUNDING) * pair_cost(family, state.weight[0], reach, N, m)
    sums = state.sums[state.notes[CATEGORY]]
    highest = sums[CENTRE] + sums[WIDTH]
    if m < highest:
        if N * (highest - m) > state.term[LIFT]:
            cost = 0.0  # without it, the level may be higher than the list
        else:
            cost -= (1.0 + ROUNDING) * weighted_divergence(family, N, m, highest)
    return ROUNDING - max(cost, 0.0) - math.log(n)


make_bounds, _ = bound_makers(bound_at)


@kernel
def touch(state: TopState, family: FamilyRecord, history: History, place: int) -> None:
    """Make the bound and the best mean at a place right."""
    search = state.search
    k = best_at(search.groups, place)
    bound = -math.inf
    best = -math.inf
    if k != NOBODY:
        bound = bound_at(state, family, history, k, search.term[REACH])
        best = search.groups.value[k]
    set_value(search.bounds, place, bound)
    set_value(search.tops, place, best)


@kernel
def move(state: TopState, family: FamilyRecord, history: History, k: int) -> None:
    """Put an arm of the category on top into the place where it belongs by now."""
    groups = state.search.groups
    old = leave(groups, k)
    alone = state.plain.looked[k] > 0.0
    new = enter(groups, k, history.pulls[k], history.means[k], not alone)
    touch(state, family, history, old)
    if new != old:
        touch(state, family, history, new)


@kernel
def take_in(state: TopState, family: FamilyRecord, history: History) -> None:
    """Know of the rewards since the last choice; nothing is known if they are not all."""
    notes = state.search.notes
    if notes[FAITHFUL] == 0 or history.clock[0] != notes[NOTED]:
        state.notes[KNOWN] = 0
    if state.notes[KNOWN] == 0:
        return
    for n in range(notes[COUNT]):
        k = state.search.changed[n]
        more = history.pulls[k] - state.pulls[k]
        told = history.pulls[k] * history.means[k] - state.pulls[k] * state.means[k]
        centre = state.sums[state.notes[CATEGORY], CENTRE]
        state.term[SIZE] += weighted_divergence(family, more, told / max(more, 1.0), centre)
        for c in range(state.sums.shape[0]):
            add(state, c, k, -1.0)
        state.pulls[k] = history.pulls[k]
        state.means[k] = history.means[k]
        for c in range(state.sums.shape[0]):
            add(state, c, k, 1.0)
        if state.category[k] == state.notes[CATEGORY]:
            move(state, family, history, k)
    notes[COUNT] = 0


@kernel
def note_reward(state: TopState, model: Model, history: History, arm: int, reward: float) -> None:
    """Note which arm has changed: many rewards of one arm, such as the leader, are one change."""
    notes = state.search.notes
    quiet = state.many.search.notes
    clock = history.clock[0]
    if arm != state.many.who[1] or clock != quiet[NOTED] + 1:
        state.many.who[0] = 0
    quiet[NOTED] = clock
    count = notes[COUNT]
    if clock != notes[NOTED] + 1:
        notes[FAITHFUL] = 0
    elif count == 0 or state.search.changed[count - 1] != arm:
        if count == FEW:
            notes[FAITHFUL] = 0
        else:
            state.search.changed[count] = arm
            notes[COUNT] = count + 1
    notes[NOTED] = clock


# Computing everything anew.


@kernel
def survey(state: TopState, model: Model, history: History, j: int) -> None:
    """After a look at all arms, whose projection and costs are there: what is needed next."""
    plain = state.plain
    notes = state.notes
    notes[KNOWN] = 1
    notes[CATEGORY] = state.category[j]
    state.term[SIZE] = 1.0
    for k in range(history.pulls.size):
        state.pulls[k] = history.pulls[k]
        state.means[k] = history.means[k]
    for c in range(state.sums.shape[0]):
        if c == notes[CATEGORY]:
            survey_category(state, model.family, c, plain.projected)
        else:
            k = 0
            while state.category[k] != c:
                k += 1
            nearest_challenger(model, history.means, history.pulls, j, k, plain.lam)
            survey_category(state, model.family, c, plain.lam)
    if notes[KNOWN] == 1:
        search_anew(state, model.family, history, j)


@kernel
def survey_category(state: TopState, family: FamilyRecord, c: int, lam: Floats) -> None:
    """The sums and the list of a category, from the separation in which it is on top."""
    sums = state.sums[c]
    lowest = math.inf
    highest = -math.inf
    for k in range(lam.size):
        if state.category[k] == c:
            lowest = min(lowest, lam[k])
        else:
            highest = max(highest, lam[k])
    sums[CENTRE] = lowest
    if lowest != highest or not find_width(state, sums):
        state.notes[KNOWN] = 0  # nothing is moved, or too many arms are alike
        return
    add_all(state, c)
    if c == state.notes[CATEGORY]:
        for k in range(lam.size):
            size = weighted_divergence(family, state.pulls[k], state.means[k], sums[CENTRE])
            state.term[SIZE] += size


@kernel
def add_all(state: TopState, c: int) -> None:
    """The sums and the list of a category about its centre."""
    sums = state.sums[c]
    sums[WEIGHT] = 0.0
    sums[MOMENT] = 0.0
    sums[SQUARE] = 0.0
    state.near[c, 0] = 0
    for k in range(state.means.size):
        add(state, c, k, 1.0)


@kernel
def find_width(state: TopState, sums: Floats) -> bool:
    """How far a list reaches, so that it has many arms, but not too many."""
    for _ in range(12):
        count = 0
        for k in range(state.means.size):
            if abs(state.means[k] - sums[CENTRE]) <= sums[WIDTH]:
                count += 1
        if count > 3 * MOST_NEAR // 4:
            sums[WIDTH] *= 0.5
        elif count < MOST_NEAR // 4 and sums[WIDTH] < 1.0:
            sums[WIDTH] *= 1.9
        else:
            return True
    return False


@kernel
def search_anew(state: TopState, family: FamilyRecord, history: History, j: int) -> None:
    """All arms of the category on top enter the search."""
    search = state.search
    groups = search.groups
    for n in range(groups.used[0]):
        groups.root[n] = NOBODY
    groups.used[0] = 0
    groups.used[1] = 0
    K = history.pulls.size
    for k in range(K):
        groups.place[k] = NOBODY
        if state.category[k] == state.notes[CATEGORY]:
            alone = state.plain.looked[k] > 0.0
            enter(groups, k, history.pulls[k], history.means[k], not alone)
    half = search.tops.size // 2
    for place in range(GROUPS + K):
        k = best_at(groups, place)
        search.tops[half + place] = groups.value[k] if k != NOBODY else -math.inf
        search.bounds[half + place] = -math.inf
    build(search.tops, GROUPS + K)
    build(search.bounds, GROUPS + K)
    search.notes[COUNT] = 0
    search.notes[FAITHFUL] = 1
    bounds_anew(state, family, history, j)


@kernel
def bounds_anew(state: TopState, family: FamilyRecord, history: History, j: int) -> None:
    """All bounds, for leaders that are a little worse than this one, or better."""
    search = state.search
    c = state.notes[CATEGORY]
    sums = state.sums[c]
    lift = balance(state, c, sums[WIDTH], sums[WEIGHT], sums[MOMENT], -1)
    state.term[LIFT] = 0.5 * max(lift, 0.0)
    search.term[REACH] = history.means[j] - search.term[SPAN]
    state.weight[0] = max(1.0, 0.5 * history.pulls[j])
    make_bounds(state, family, history)
