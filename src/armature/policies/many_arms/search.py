"""The best of many arms by a look at few of them, with the same result as a look at all.

From one round to the next the rewards of one arm change, while what is compared of all arms moves a
little: with the time, or with the mean of the leader. So of the arms with equally many pulls one
stands for all (`groups`), and a tree (`tournament`) has a *bound* for each of these, which holds
for a while. Who has a bound that does not reach what another one attains can't be chosen; the
others are compared. Of several that are equal the arm with the lowest number is chosen, as in a
loop over all arms.

Bounds that hold for long are loose, and then many of them are looked at. So they are made anew,
when about as much has been spent on looks; and for how long they hold is adapted: the next ones for
half as long then, and for twice as long if they ended having cost little. What is chosen does not
depend on any of this.

A policy is shown rewards that have not come, at their arm's mean, where some are outstanding. That
is another history each time, for which everything is made anew.
"""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import Kernel, kernel
from armature.policies.many_arms.groups import (
    GROUPS,
    NOBODY,
    Groups,
    best_at,
    enter,
    enter_all,
    leave,
    make_groups,
)
from armature.policies.many_arms.tournament import build, make_tournament, next_at_least, set_value
from armature.policies.policy import CompiledPolicy, Kernels
from armature.policies.records import History
from armature.structures import Structure

MANY = 200  # arms from which on this is faster than a look at all of them
FEW = 16  # arms that may change between two choices without everything being made anew
ROUNDING = 1e-6  # by which a bound may be short, relative to what it is computed from
SPENT = 0.25  # of all bounds: how many looks cost as much as making them

COUNT, NOTED, FAITHFUL, ANEW = range(4)  # of `Search.notes`
REACH, LOOKS, SPAN = range(3)  # of `Search.term`


class Search(NamedTuple):
    """Bounds at all places, for how long they hold, and which arms have changed since."""

    groups: Groups
    bounds: Floats  # a tournament over the places
    tops: Floats  # another one, of their best means
    changed: Ints  # arms with a reward since the last choice; then the places that were touched
    notes: Ints  # [how many of these; the clock at the last reward; are they all; is all anew]
    term: Floats  # [up to what the bounds hold; looks at them since; how far they reach ahead]


def make_search(n_arms: int, span: float) -> Search:
    """Before the first round; nothing is known of any arm."""
    return Search(
        groups=make_groups(n_arms),
        bounds=make_tournament(GROUPS + n_arms),
        tops=make_tournament(GROUPS + n_arms),
        changed=np.zeros(2 * FEW, dtype=np.int64),
        notes=np.zeros(4, dtype=np.int64),
        term=np.array([0.0, 0.0, span]),
    )


@kernel
def note_change(search: Search, history: History, arm: int) -> None:
    """A reward of an arm came, which the history counts."""
    notes = search.notes
    if history.clock[0] != notes[NOTED] + 1 or notes[COUNT] == FEW:
        notes[FAITHFUL] = 0
    else:
        search.changed[notes[COUNT]] = arm
        notes[COUNT] += 1
    notes[NOTED] = history.clock[0]


@kernel
def take_in(search: Search, history: History, alike: bool) -> None:
    """Put the arms into their places: those that have changed, or all.

    A history that counts outstanding rewards has a later clock than the last reward. Afterwards
    `changed` has the places whose bounds are to be made; or all are, where `notes` says `ANEW`.
    """
    notes = search.notes
    if notes[FAITHFUL] == 1 and history.clock[0] == notes[NOTED]:
        count = notes[COUNT]
        for i in range(count - 1, -1, -1):  # from the last: an arm gives two places
            k = search.changed[i]
            search.changed[2 * i] = leave(search.groups, k)
            search.changed[2 * i + 1] = enter(
                search.groups, k, history.pulls[k], history.means[k], alike
            )
        for i in range(2 * count):
            touch_top(search, search.changed[i])
        notes[ANEW] = 0
        return
    enter_all(search.groups, history.pulls, history.means, alike)
    places = GROUPS + history.pulls.size
    half = search.tops.size // 2
    for place in range(places):
        k = best_at(search.groups, place)
        search.tops[half + place] = search.groups.value[k] if k != NOBODY else -math.inf
        search.bounds[half + place] = -math.inf
    build(search.tops, places)
    build(search.bounds, places)
    notes[ANEW] = 1


@kernel
def touch_top(search: Search, place: int) -> None:
    """Make the best mean at a place right."""
    k = best_at(search.groups, place)
    set_value(search.tops, place, search.groups.value[k] if k != NOBODY else -math.inf)


@kernel
def settle(search: Search, history: History) -> None:
    """Everything is as it is in this history."""
    search.notes[COUNT] = 0
    search.notes[FAITHFUL] = 1 if history.clock[0] == search.notes[NOTED] else 0


@kernel
def leading_arm(search: Search) -> int:
    """The arm with the highest mean; of several, the first."""
    highest = search.tops[1]
    place = next_at_least(search.tops, 0, highest)
    leader = best_at(search.groups, place)
    place = next_at_least(search.tops, place + 1, highest)
    while place >= 0:
        leader = min(leader, best_at(search.groups, place))
        place = next_at_least(search.tops, place + 1, highest)
    return leader


@kernel
def n_places(search: Search) -> int:
    """One past the last place that may have somebody."""
    used = search.groups.used
    return int(GROUPS + search.groups.place.size if used[1] > 0 else used[0])


@kernel
def is_spent(search: Search) -> bool:
    """Whether looks have cost as much as making the bounds anew."""
    return bool(search.term[LOOKS] > SPENT * n_places(search) + FEW)


@kernel
def adapt(search: Search) -> None:
    """New bounds are made, as the old ones have ended or were looked at too often."""
    term = search.term
    if is_spent(search):
        term[SPAN] *= 0.5
    elif term[LOOKS] < 0.5 * SPENT * n_places(search):
        term[SPAN] *= 2.0
    term[SPAN] = min(max(term[SPAN], 1e-9), 1e15)
    term[LOOKS] = 0.0


@kernel
def needs_bounds(search: Search, ended: bool) -> bool:
    """Whether all bounds are to be made: they have ended, were looked at too often, or are none."""
    over = ended or is_spent(search)
    if over:
        adapt(search)
    return bool(over or search.notes[ANEW] == 1)


@functools.cache
def bound_makers(
    bound_at: Kernel[..., float],
) -> tuple[Kernel[..., None], Kernel[..., None]]:
    """Kernels that make all bounds, and those at the places that were touched.

    `bound_at(state, family, history, arm, reach)` is at least what is compared of an arm, as long
    as the bounds hold; `state.search` is the search.
    """

    def make_bounds(state: Any, family: Any, history: Any) -> None:
        search = state.search
        reach = search.term[REACH]
        half = search.bounds.size // 2
        places = n_places(search)
        for place in range(places):
            k = best_at(search.groups, place)
            bound = bound_at(state, family, history, k, reach) if k != NOBODY else -math.inf
            search.bounds[half + place] = bound
        build(search.bounds, places)

    def touch_bounds(state: Any, family: Any, history: Any) -> None:
        search = state.search
        reach = search.term[REACH]
        for i in range(2 * search.notes[COUNT]):
            place = search.changed[i]
            k = best_at(search.groups, place)
            bound = bound_at(state, family, history, k, reach) if k != NOBODY else -math.inf
            set_value(search.bounds, place, bound)

    return kernel(make_bounds), kernel(touch_bounds)


@kernel
def note_reward(state: Any, model: Any, history: Any, arm: int, reward: float) -> None:
    """The `update` of a policy with a search: note which arm has changed."""
    note_change(state.search, history, arm)


class IndexPolicy(CompiledPolicy):
    """The arm with the best index, whatever the structure says; of many arms, by a search."""

    ignores_numbering: ClassVar[bool] = True
    reads_history: ClassVar[bool] = True
    choose_of_many: ClassVar[Kernel[..., int]]

    def kernels(self, structure: Structure, family: Family) -> Kernels:
        if self.searches(structure):
            return self.choose_of_many, note_reward
        return self.choose, self.update

    @staticmethod
    def searches(structure: Structure) -> bool:
        """Whether there are so many arms that a search is faster than a look at all of them."""
        return structure.n_arms >= MANY
