"""The best of many arms by a look at few of them, with the same result as a look at all.

From one round to the next the rewards of one arm change, while what is compared of all arms moves a
little: with the time, or with the mean of the leader. So a tree (`_tournament`) has a *bound* for
each arm, which holds for a while. Arms whose bound does not reach what another one attains can't be
chosen; the others are weighed in the arms' order, as in a loop over all of them, so that ties and
rounding decide as they would there.

Bounds that hold for long are loose, and then many arms are looked at. So they are made anew, which
costs a look at all arms, when as much has been spent on looks; and for how long they hold is
adapted: the next ones for half as long then, and for twice as long if they ended having cost
little. What is chosen does not depend on any of this.

A policy is shown rewards that have not come, at their arm's mean, where some are outstanding. That
is another history each time, for which the bounds are made anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armature._compile import kernel
from armature.arrays import Floats, Ints
from armature.policies._tournament import make_tournament
from armature.policies.records import History

MANY = 200  # arms from which on this is faster than a look at all of them
FEW = 16  # arms that may change between two choices without all bounds being made anew
ROUNDING = 1e-6  # by which a bound may be short, relative to what it is computed from
SPENT = 0.25  # of all arms: how many looks cost as much as making the bounds

COUNT, NOTED, FAITHFUL = range(3)  # of `Search.notes`
REACH, LOOKS, SPAN = range(3)  # of `Search.term`


class Search(NamedTuple):
    """Bounds of all arms, for how long they hold, and which arms have changed since."""

    bounds: Floats  # a tournament
    changed: Ints  # arms with a reward since the last choice
    notes: Ints  # [how many they are; the clock at the last reward; whether they are all]
    term: Floats  # [up to what the bounds hold; looks at arms since; how far they reach ahead]


def make_search(n_arms: int, span: float) -> Search:
    """Before the first round; nothing is known of any arm."""
    return Search(
        bounds=make_tournament(n_arms),
        changed=np.zeros(FEW, dtype=np.int64),
        notes=np.zeros(3, dtype=np.int64),
        term=np.array([0.0, 0.0, span]),
    )


@kernel
def note_change(search: Search, history: History, arm: int) -> None:
    """A reward of an arm came, which the history counts."""
    notes = search.notes
    if history.clock[0] != notes[NOTED] + 1 or notes[COUNT] == search.changed.size:
        notes[FAITHFUL] = 0
    else:
        search.changed[notes[COUNT]] = arm
        notes[COUNT] += 1
    notes[NOTED] = history.clock[0]


@kernel
def is_faithful(search: Search, history: History) -> bool:
    """Whether the bounds are those of this history, but for arms that are noted as changed.

    A history that counts outstanding rewards has a later clock than the last reward.
    """
    return bool(search.notes[FAITHFUL] == 1 and history.clock[0] == search.notes[NOTED])


@kernel
def settle(search: Search, history: History) -> None:
    """The bounds are those of this history."""
    search.notes[COUNT] = 0
    search.notes[FAITHFUL] = 1 if history.clock[0] == search.notes[NOTED] else 0


@kernel
def is_spent(search: Search, n_arms: int) -> bool:
    """Whether looks have cost as much as making the bounds anew."""
    return bool(search.term[LOOKS] > SPENT * n_arms)


@kernel
def adapt(search: Search, n_arms: int) -> None:
    """New bounds are made, as the old ones have ended or were looked at too often."""
    term = search.term
    if is_spent(search, n_arms):
        term[SPAN] *= 0.5
    elif term[LOOKS] < 0.5 * SPENT * n_arms:
        term[SPAN] *= 2.0
    term[SPAN] = min(max(term[SPAN], 1e-9), 1e15)
    term[LOOKS] = 0.0
