"""Challenger with many arms: the same decisions, most of them without a look at all arms.

Without a structure, all that counts of a challenger is itself and the leader: whoever is due is
found by a search (`search`), with bounds of how long each arm has to wait.

With a structure, one reward may move every fitted mean. But as long as nothing but the leader is
pulled, that nobody is due follows from the last time that everything was computed. Let pr be the
projection then, and G_i the evidence against challenger i. With n more rewards of the leader j, of
mean m, each mean vector lam costs n d(m, lam_j) more, up to a constant that is the same for all of
them (rewards are of an exponential family). So the evidence against i is now

    min { cost(lam) + n d(m, lam_j) : i beats j } - min { cost(lam) + n d(m, lam_j) : lam in M }
        >= G_i - n d(m, pr_j),

where the first minimum is at least what it was, and the second at most its value at pr. If this is
positive for all i, then j leads still: a projection in which another arm leads would cost that arm
no more than the projection does. This holds for every structure, convex or not. (Where one arm
alone can be above a level, more may speak against i than G_i, never less: `replacing` sees to it.)

Where rewards are Gaussian of variance v and the mean vectors in which i beats j are a convex set, a
lam of it costs at least N_j (lam_j - x_i)^2 / (2 v) more than the nearest one, in which arm j has
the mean x_i. So the first minimum has grown by at least h (m - x_i)^2 / (2 v), where 1 / h =
1 / N_j + 1 / n: nearly all that was lost. This is used for the few challengers that are due next.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from armature.families import FamilyRecord
from armature.families.kernels import divergence, inside, of_arm
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream
from armature.policies.challenger import ChallengerState, choose, next_to_begin, waited
from armature.policies.many_arms.groups import best_at
from armature.policies.many_arms.search import (
    ANEW,
    LOOKS,
    NOTED,
    REACH,
    ROUNDING,
    SPAN,
    Search,
    bound_makers,
    leading_arm,
    make_search,
    needs_bounds,
    note_change,
    settle,
    take_in,
)
from armature.policies.many_arms.tournament import next_at_least, top
from armature.policies.records import History, mark_exploration
from armature.structures.oracles.leader import is_shared, leader_of, top_value
from armature.structures.oracles.model import Model, is_joint, nearest_challenger, pair_cost

START = 0.01  # how far below the leader's mean bounds hold at first; adapted from there
QUIET, LEADER = range(2)  # of `ManyState.who`
PULLS, SUM, FITTED, WAIT, EVIDENCE = range(5)  # of `ManyState.then`
NEXT = 4  # challengers that are looked at more closely
THEIR_WAIT, THEIR_EVIDENCE, THEIR_MEAN = range(3)  # of a row of `ManyState.nearly`
MARGIN = 1e-6  # for rounding, in units of evidence


class ManyState(NamedTuple):
    """The state of the policy, and what is known of all arms."""

    plain: ChallengerState
    pairwise: bool  # whether there is no structure
    weight: Floats  # [the leader's pulls, of which bounds need at least so many]
    search: Search
    who: Ints  # [whether nobody but the leader was pulled since nobody was due; the leader]
    then: Floats  # its pulls, sum and fitted mean then; the least wait, the least evidence, but of
    nearly: Floats  # (NEXT, 3): those that are due next: wait, evidence, the leader's mean in lam
    due: Ints  # [how many they are, at most; which]

    def __getattr__(self, name: str) -> Any:
        """What is not here is the policy's: so that its arrays are saved by their names."""
        return getattr(self.plain, name)


def make_state(plain: ChallengerState, n_arms: int, pairwise: bool, closely: bool) -> ManyState:
    """Before the first round; `closely`: rewards are Gaussian, and what challengers need convex."""
    searched = n_arms if pairwise else 1
    return ManyState(
        plain=plain,
        pairwise=pairwise,
        weight=np.ones(1),
        search=make_search(searched, START),
        who=np.zeros(2, dtype=np.int64),
        then=np.zeros(5),
        nearly=np.zeros((NEXT, 3)),
        due=np.concatenate([[NEXT if closely else 0], np.zeros(NEXT, dtype=np.int64)]),
    )


# Without a structure.


@inlined
def wait_of(family: FamilyRecord, history: History, j: int, i: int) -> float:
    """How long a challenger has to wait: without a structure, it is looked into by itself alone."""
    N = history.pulls
    return waited(pair_cost(family, N[j], history.means[j], N[i], history.means[i]), N[i])


@kernel
def bound_at(
    state: ManyState, family: FamilyRecord, history: History, i: int, reach: float
) -> float:
    """Minus the wait of a challenger, at least, for leaders of such a mean and weight, or more."""
    N = history.pulls[i]
    cost = 0.0
    if history.means[i] < reach:
        cost = pair_cost(family, state.weight[0], reach, N, history.means[i])
    if cost == math.inf:
        return -math.inf
    return -waited((1.0 - ROUNDING) * cost, N) + ROUNDING


make_bounds, touch_bounds = bound_makers(bound_at)


@kernel
def prepare(state: ManyState, family: FamilyRecord, history: History, j: int) -> None:
    """Make all bounds, for leaders that are a little worse than this one, or better, if need be."""
    search = state.search
    ended = history.means[j] < search.term[REACH] or history.pulls[j] < state.weight[0]
    if needs_bounds(search, ended):
        search.notes[ANEW] = 0
        search.term[REACH] = history.means[j] - search.term[SPAN]
        state.weight[0] = max(1.0, 0.5 * history.pulls[j])
        make_bounds(state, family, history)


@kernel
def choose_without_structure(state: ManyState, model: Model, history: History) -> int:
    """The leader, or whoever is due: without a structure, pulling it is how to look into it."""
    family = model.family
    search = state.search
    take_in(search, history, True)
    touch_bounds(state, family, history)
    j = leading_arm(search)
    prepare(state, family, history, j)
    settle(search, history)
    least = waited(0.0, history.pulls[j]) - state.plain.patience
    if least <= 0.0:
        return j
    attained = least
    guess = best_at(search.groups, top(search.bounds))
    if guess != j:
        attained = min(least, wait_of(family, history, j, guess))
    chosen = j
    place = next_at_least(search.bounds, 0, -attained)
    while place >= 0:
        i = best_at(search.groups, place)
        if i != j:
            wait = wait_of(family, history, j, i)
            if wait < least or (wait == least and chosen != j and i < chosen):
                least = wait
                chosen = i
        search.term[LOOKS] += 1.0
        place = next_at_least(search.bounds, place + 1, -min(attained, least))
    if chosen != j:
        mark_exploration(history)
    return chosen


# With a structure.


@kernel
def is_quiet(state: ManyState, model: Model, history: History) -> bool:
    """Whether it follows from what was computed last that the leader leads, and nobody is due."""
    if state.who[QUIET] == 0 or history.clock[0] != state.search.notes[NOTED]:
        return False
    j = state.who[LEADER]
    then = state.then
    own = of_arm(model.family, j)
    n = history.pulls[j] - then[PULLS]
    m = inside(model.family, j, (history.sums[j] - then[SUM]) / max(n, 1.0))
    lost = n * divergence(own, m, then[FITTED]) if n > 0.0 else 0.0
    lost += MARGIN * (1.0 + lost)
    date = waited(0.0, history.pulls[j]) - state.plain.patience
    if not (then[EVIDENCE] > lost and then[WAIT] - lost > date):
        return False
    h = n * then[PULLS] / max(n + then[PULLS], 1.0)
    for c in range(state.due[0]):
        row = state.nearly[c]
        less = lost - (1.0 - MARGIN) * h * divergence(own, m, row[THEIR_MEAN])
        if not (row[THEIR_EVIDENCE] > less and row[THEIR_WAIT] - less > date):
            return False
    return True


@kernel
def find_next(state: ManyState, history: History, j: int) -> None:
    """due = the challengers with the least waits; the least wait and evidence of all others."""
    plain = state.plain
    base = plain.costs[j]
    most = state.due[0]
    nearly = state.nearly
    state.then[WAIT] = math.inf
    state.then[EVIDENCE] = math.inf
    for c in range(most):
        state.due[1 + c] = j
        nearly[c, THEIR_WAIT] = math.inf
        nearly[c, THEIR_EVIDENCE] = math.inf
        nearly[c, THEIR_MEAN] = plain.projected[j]
    for i in range(history.pulls.size):
        if i == j:
            continue
        G = plain.costs[i] - base
        if state.then[WAIT] <= G:  # then so is its wait, and no less than those of the next
            state.then[EVIDENCE] = min(state.then[EVIDENCE], G)
            continue
        wait = waited(G, history.pulls[i] + plain.looked[i])
        place = most
        while place > 0 and nearly[place - 1, THEIR_WAIT] > wait:
            place -= 1
        if place == most:
            state.then[WAIT] = min(state.then[WAIT], wait)
            state.then[EVIDENCE] = min(state.then[EVIDENCE], G)
            continue
        state.then[WAIT] = min(state.then[WAIT], nearly[most - 1, THEIR_WAIT])
        state.then[EVIDENCE] = min(state.then[EVIDENCE], nearly[most - 1, THEIR_EVIDENCE])
        for c in range(most - 1, place, -1):
            state.due[1 + c] = state.due[c]
            nearly[c, THEIR_WAIT] = nearly[c - 1, THEIR_WAIT]
            nearly[c, THEIR_EVIDENCE] = nearly[c - 1, THEIR_EVIDENCE]
        state.due[1 + place] = i
        nearly[place, THEIR_WAIT] = wait
        nearly[place, THEIR_EVIDENCE] = G


@kernel
def remember(state: ManyState, model: Model, history: History, j: int) -> None:
    """Nobody is due: note what it would take to be."""
    plain = state.plain
    _, bar = top_value(plain.projected)
    if plain.costs[j] == math.inf or is_shared(plain.projected, j, bar):
        return  # of arms that are level, another may lead next
    find_next(state, history, j)
    for c in range(state.due[0]):
        i = state.due[1 + c]
        if i != j and state.nearly[c, THEIR_WAIT] < math.inf:
            nearest_challenger(model, history.means, history.pulls, j, i, plain.lam)
            state.nearly[c, THEIR_MEAN] = plain.lam[j]
    state.who[QUIET] = 1
    state.who[LEADER] = j
    state.then[PULLS] = history.pulls[j]
    state.then[SUM] = history.sums[j]
    state.then[FITTED] = plain.projected[j]


@kernel
def choose_of_many(state: ManyState, model: Model, history: History, stream: Stream) -> int:
    """The same arm as from a look at all of them."""
    plain = state.plain
    if state.pairwise:
        first = next_to_begin(plain, history)
        return first if first >= 0 else choose_without_structure(state, model, history)
    if is_quiet(state, model, history):
        return int(state.who[LEADER])
    state.who[QUIET] = 0
    begins = plain.begun[0] < plain.start.size
    arm = choose(plain, model, history, stream)
    if not begins and is_joint(model) and history.clock[0] == state.search.notes[NOTED]:
        j = leader_of(model.family, plain.projected, history.means, history.pulls)
        if arm == j:
            remember(state, model, history, j)
    return arm


@kernel
def note_reward(state: ManyState, model: Model, history: History, arm: int, reward: float) -> None:
    """Note which arm has changed."""
    if arm != state.who[LEADER] or history.clock[0] != state.search.notes[NOTED] + 1:
        state.who[QUIET] = 0
    note_change(state.search, history, arm)
