"""Challenger where one category of many arms is on top: a look at few of them.

That category c is on top raises some of its arms to a level v, and lowers some of all others to it:
v is where what pulls up and what pulls down are in balance. All other arms stay. What that costs,
S_c, follows with Gaussian rewards from sums over the arms that are moved, and from the arms near
the level, of which a list is kept (`level_without`): v may move as far as the list reaches.

The projection has the category with the least S_c on top. That a challenger k of the same category
is as good as the leader j costs

    G_k = N_j d(m_j, y) + N_k d(m_k, y)                           where k is above the level,
    G_k = the same + (S_c without k) - S_c                        else,

where y is the weighted mean of the two. Of arms with equally many pulls, the one with the highest
mean has the least G_k: whoever is due is found by a search (`_search`).

Where an arm of another category may be due, or v has left the list, or what decides is within
rounding of a tie, all arms are looked at: decisions are the same.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from armature._compile import inlined, kernel
from armature.arrays import Floats, Ints
from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.policies._challenger_of_many import START, ManyState, is_quiet, remember
from armature.policies._groups import GROUPS, NOBODY, best_at, enter, leave
from armature.policies._search import (
    COUNT,
    FAITHFUL,
    FEW,
    LOOKS,
    NOTED,
    REACH,
    ROUNDING,
    SPAN,
    Search,
    adapt,
    bound_makers,
    is_spent,
    leading_arm,
    make_search,
)
from armature.policies._tournament import build, next_at_least, set_value
from armature.policies.challenger import (
    UNMOVED,
    ChallengerState,
    answer,
    next_to_begin,
    overdue,
    waited,
)
from armature.policies.records import History, argmax, mark_exploration
from armature.streams import Stream
from armature.structures.model import (
    Model,
    nearest_challenger,
    pair_cost,
    pooled_mean,
    projection,
)

MOST_NEAR = 128  # arms in the list
UNCLEAR = -2
DOUBT = 4e-15  # of a sum over all arms, for each unit of it and of the root of their number
LONGEST = 8  # rounds for which nothing is computed anew, where that was of no use
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


# What is chosen.


@kernel
def wait_of(state: TopState, family: FamilyRecord, history: History, j: int, i: int) -> float:
    """How long a challenger has to wait; nan where what is known does not tell."""
    N = history.pulls
    means = history.means
    G = pair_cost(family, N[j], means[j], N[i], means[i])
    if means[i] <= state.term[LEVEL] and means[i] < means[j]:
        level, cost = level_without(state, state.notes[CATEGORY], i)
        y = pooled_mean(N[j], means[j], N[i], means[i])
        if not y > level:
            return math.nan
        G += (cost - state.term[COST]) / family.parameter
    return waited(G, N[i] + state.plain.looked[i])


@kernel
def is_told_apart(state: TopState, history: History, j: int, i: int) -> bool:
    """Whether the nearest mean vector in which i is as good as j moves i, and others far less."""
    means = history.means
    y = pooled_mean(history.pulls[j], means[j], history.pulls[i], means[i])
    size = abs(means[j]) + abs(state.term[LEVEL])
    before = max(means[i], state.term[LEVEL])
    shift = 0.0
    if means[i] <= state.term[LEVEL]:
        level, _ = level_without(state, state.notes[CATEGORY], i)
        shift = abs(level - state.term[LEVEL])
    return bool(y - before > 1e3 * (shift + UNMOVED * (1.0 + size)))


@kernel
def level_kept(state: TopState, c: int) -> tuple[float, float]:
    """The level of a category and what it costs; its list is moved along, if need be."""
    level, cost = level_without(state, c, -1)
    sums = state.sums[c]
    for _ in range(4):
        if not math.isnan(level) or state.notes[KNOWN] == 0:
            break
        low = balance(state, c, -sums[WIDTH], sums[WEIGHT], sums[MOMENT], -1)
        sums[CENTRE] += -sums[WIDTH] if low > 0.0 else sums[WIDTH]
        if not find_width(state, sums):
            state.notes[KNOWN] = 0
        add_all(state, c)
        level, cost = level_without(state, c, -1)
    return level, cost


@kernel
def rank_categories(state: TopState) -> tuple[int, float]:
    """Which category is on top, and what it costs more that another one is; nobody: unknown.

    Up to the variance; its level and cost are noted.
    """
    best = NOBODY
    least = math.inf
    following = math.inf
    for c in range(state.sums.shape[0]):
        level, cost = level_kept(state, c)
        if math.isnan(level) or state.notes[KNOWN] == 0:
            return NOBODY, 0.0
        if cost < least:
            following = least
            least = cost
            best = c
            state.term[LEVEL] = level
            state.term[COST] = cost
        else:
            following = min(following, cost)
    return best, following - least


@kernel
def best_of(state: TopState, history: History, c: int) -> int:
    """The arm of a category with the highest mean; of several, the first."""
    best = NOBODY
    for k in range(history.means.size):
        if state.category[k] == c and (best == NOBODY or history.means[k] > history.means[best]):
            best = k
    return best


@kernel
def choose_here(state: TopState, model: Model, history: History) -> int:
    """The arm to pull, if what is known tells; UNCLEAR: look at all; NOBODY: and survey."""
    family = model.family
    search = state.search
    centre = state.sums[state.notes[CATEGORY], CENTRE]
    c, elsewhere = rank_categories(state)
    if c == NOBODY:
        return NOBODY
    elsewhere /= family.parameter
    doubt = DOUBT * math.sqrt(float(history.pulls.size)) * state.term[SIZE]
    if not elsewhere > doubt:
        return UNCLEAR
    if c != state.notes[CATEGORY]:
        state.notes[CATEGORY] = c
        search_anew(state, family, history, best_of(state, history, c))
    j = leading_arm(search)
    least = waited(0.0, history.pulls[j]) - state.plain.patience
    if not (history.means[j] > state.term[LEVEL] and elsewhere > least + doubt):
        return UNCLEAR  # an arm of another category may be due
    if least <= 0.0:
        return j
    sums = state.sums[c]
    ended = history.means[j] < search.term[REACH] or history.pulls[j] < state.weight[0]
    ended = ended or is_spent(search)
    if ended:
        adapt(search)
    lift = balance(state, c, sums[WIDTH], sums[WEIGHT], sums[MOMENT], -1)
    if ended or lift < state.term[LIFT] or sums[CENTRE] != centre:
        bounds_anew(state, family, history, j)
    return who_is_due(state, family, history, j, least, doubt)


@kernel
def who_is_due(
    state: TopState, family: FamilyRecord, history: History, j: int, least: float, doubt: float
) -> int:
    """The challenger with the least wait, if it is due, or the leader; or UNCLEAR."""
    search = state.search
    groups = search.groups
    chosen = NOBODY
    lowest = math.inf
    others = math.inf
    place = next_at_least(search.bounds, 0, -(least + doubt))
    while place >= 0:
        i = best_at(groups, place)
        following = NOBODY
        if place < GROUPS:
            following = second_at(state, i)
        if i == j:  # then the next of its group stands for it
            i = following
            following = NOBODY
            if i != NOBODY and place < GROUPS:
                following = third_at(state, j, i)
        if i != NOBODY:
            wait = wait_of(state, family, history, j, i)
            if not wait >= 0.0:
                return UNCLEAR
            if wait < lowest:
                others = lowest
                lowest = wait
                chosen = i
            else:
                others = min(others, wait)
            if following != NOBODY and history.means[following] < history.means[i]:
                wait = wait_of(state, family, history, j, following)
                if not wait >= 0.0:
                    return UNCLEAR
                others = min(others, wait)
            elif following != NOBODY:
                others = min(others, wait)
        search.term[LOOKS] += 1.0
        place = next_at_least(search.bounds, place + 1, -(min(least, lowest) + doubt))
    if lowest > least + doubt:
        return j
    if lowest > least - doubt or others - lowest <= doubt:
        return UNCLEAR
    return chosen if is_told_apart(state, history, j, chosen) else UNCLEAR


@kernel
def second_at(state: TopState, i: int) -> int:
    """The next best arm of a group, below its best."""
    groups = state.search.groups
    a = groups.left[i]
    b = groups.right[i]
    if a == NOBODY or b == NOBODY:
        return int(max(a, b))
    return int(a if groups.value[a] >= groups.value[b] else b)


@kernel
def third_at(state: TopState, first: int, second: int) -> int:
    """The next best arm of a group, after its best two."""
    groups = state.search.groups
    other = groups.right[first] if groups.left[first] == second else groups.left[first]
    below = second_at(state, second)
    if other == NOBODY or below == NOBODY:
        return int(max(other, below))
    return int(other if groups.value[other] >= groups.value[below] else below)


@kernel
def choose_by_all(state: TopState, model: Model, history: History, stream: Stream) -> int:
    """The arm to pull, from a look at all; what is needed to know it next time is computed too."""
    plain = state.plain
    many = state.many
    notes = state.notes
    base = projection(model, history.means, history.pulls, plain.projected)
    j = argmax(plain.projected)
    i = overdue(plain, model, history, j, base)
    real = history.clock[0] == state.search.notes[NOTED]
    if real and notes[KNOWN] == 0:
        if notes[PAUSED] > 0:
            notes[PAUSED] -= 1
        else:
            survey(state, model, history, j)
    if i == j:
        if real:
            remember(many, model, history, j)
        return j
    mark_exploration(history)
    k = answer(plain, model, history, j, i, stream)
    if k != i:
        plain.looked[i] += 1.0
        if notes[KNOWN] == 1 and state.category[i] == notes[CATEGORY]:
            move(state, model.family, history, i)
    return k


@kernel
def choose_on_top(state: TopState, model: Model, history: History, stream: Stream) -> int:
    """The same arm as from a look at all of them."""
    many = state.many
    notes = state.notes
    first = next_to_begin(state.plain, history)
    if first >= 0:
        return first
    if is_quiet(many, model, history):
        return int(many.who[1])
    many.who[0] = 0
    take_in(state, model.family, history)
    if notes[KNOWN] == 1:
        arm = choose_here(state, model, history)
        if arm >= 0:
            notes[PAUSE] = 0
            if arm != leading_arm(state.search):
                mark_exploration(history)
            return arm
        if arm == NOBODY:
            notes[PAUSE] = min(LONGEST, 2 * notes[PAUSE] + 1) if notes[PAUSE] > 0 else 1
            notes[PAUSED] = notes[PAUSE] - 1
            notes[KNOWN] = 0
    return choose_by_all(state, model, history, stream)
