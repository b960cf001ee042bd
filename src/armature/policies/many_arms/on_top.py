"""Challenger where one category of many arms is on top: a look at few of them.

The projection has the category with the least S_c on top (`categories`). That a challenger
k of the same category is as good as the leader j costs

    G_k = N_j d(m_j, y) + N_k d(m_k, y)                           where k is above the level,
    G_k = the same + (S_c without k) - S_c                        else,

where y is the weighted mean of the two. Of arms with equally many pulls, the one with the highest
mean has the least G_k: whoever is due is found by a search (`search`).

Where an arm of another category may be due, or v has left the list, or what decides is within
rounding of a tie, all arms are looked at: decisions are the same.
"""

from __future__ import annotations

import math

from armature.families import FamilyRecord
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.challenger import UNMOVED, answer, next_to_begin, overdue, waited
from armature.policies.many_arms.categories import (
    CATEGORY,
    CENTRE,
    COST,
    KNOWN,
    LEVEL,
    LIFT,
    MOMENT,
    PAUSE,
    PAUSED,
    SIZE,
    WEIGHT,
    WIDTH,
    TopState,
    add_all,
    balance,
    bounds_anew,
    find_width,
    level_without,
    move,
    search_anew,
    survey,
    take_in,
)
from armature.policies.many_arms.challenger import is_quiet, remember
from armature.policies.many_arms.groups import GROUPS, NOBODY, best_at
from armature.policies.many_arms.search import LOOKS, NOTED, REACH, adapt, is_spent, leading_arm
from armature.policies.many_arms.tournament import next_at_least
from armature.policies.records import History, argmax, mark_exploration
from armature.structures.oracles.model import Model, pair_cost, pooled_mean, projection

UNCLEAR = -2  # what is known does not tell
DOUBT = 4e-15  # of a sum over all arms, for each unit of it and of the root of their number
LONGEST = 8  # rounds for which nothing is computed anew, where that was of no use


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
