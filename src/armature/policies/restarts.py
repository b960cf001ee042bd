"""The state of `Restarting`, and when it begins anew or suspects a change."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from armature.bounds.change import look_for_change
from armature.bounds.splits import COUNTS, SUMS, Splits, begin, count, decide
from armature.families.kernels import inside
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.policies.policy import History
from armature.policies.records import argmax, copy_but_last, count_reward
from armature.structures.oracles.model import Model

RETURN = 32  # decisions between two looks at the arm that led before a suspected change
RESTARTS, SINCE, SUSPECT, LOG_E = range(4)  # of `marks`
OWN, SPLIT = "own_", "split_"  # before the names of arrays that are saved


class RestartOptions(NamedTuple):
    """The options as kernels see them, and where the family's learning cost is."""

    threshold: float
    suspicion: float
    each_arm_first: bool
    costs: int


class RestartingState(NamedTuple):
    """The policy inside, with what came since the last change; and the test for the next one.

    `trial` is the same policy, begun anew at a change that is suspected; `fresh` is how both begin.
    The last three are what decisions depend on in each of them, array by array.
    """

    inner: Any
    trial: Any
    own: History  # since the last change
    shown: History  # what the policy inside is given: that, and what is outstanding
    splits: Splits
    counted: Floats  # (2, K): pulls and sums, of all rewards
    marks: Floats  # restarts, the round of the last one, 1 + the suspected split, ln E
    options: RestartOptions
    inner_reals: Any
    trial_reals: Any
    fresh_reals: Any
    inner_wholes: Any
    trial_wholes: Any
    fresh_wholes: Any

    def __getattr__(self, name: str) -> Any:
        """Arrays by the names under which they are saved."""
        for prefix, part in ((OWN, self.own), (SPLIT, self.splits), ("trial_", self.trial)):
            if name.startswith(prefix):
                return getattr(part, name[len(prefix) :])
        return getattr(self.inner, name)


def flat_arrays(state: Any, names: tuple[str, ...], kind: str) -> Any:
    """The arrays of these names that hold reals ("f") or whole numbers ("i"), flat, and an empty
    one, so that there is one.
    """
    arrays = [getattr(state, name) for name in names]
    empty = np.empty(0, dtype=np.float64 if kind == "f" else np.int64)
    return (empty, *(a.reshape(-1) for a in arrays if a.dtype.kind == kind))


@kernel
def copy_all(source: Any, target: Any) -> None:
    """Array by array."""
    for i in range(len(source)):
        for n in range(source[i].size):
            target[i][n] = source[i][n]


@kernel
def begin_trial(state: RestartingState) -> None:
    """The policy for a suspected change begins anew."""
    copy_all(state.fresh_reals, state.trial_reals)
    copy_all(state.fresh_wholes, state.trial_wholes)


@kernel
def restart(state: RestartingState, model: Model, history: History, slot: int) -> None:
    """Go on with the rewards since a split, with the policy that was begun anew for it.

    The test begins again, with these rewards as what is known.
    """
    own, splits = state.own, state.splits
    total = 0.0
    for k in range(own.pulls.size):  # total: of the arms before k
        own.pulls[k] = splits.now[COUNTS, k] - splits.before[slot, COUNTS, k]
        own.sums[k] = splits.now[SUMS, k] - splits.before[slot, SUMS, k]
        own.squares[k] = 0.0
        own.means[k] = 0.0
        if own.pulls[k] > 0.0:
            own.means[k] = inside(model.family, k, own.sums[k] / own.pulls[k])
        else:
            own.sums[k] = 0.0
        total += own.pulls[k]
        splits.now[COUNTS, k] = own.pulls[k]
        splits.now[SUMS, k] = own.sums[k]
    own.clock[0] = int(total)
    begin(splits)
    copy_all(state.trial_reals, state.inner_reals)
    copy_all(state.trial_wholes, state.inner_wholes)
    state.marks[RESTARTS] += 1.0
    state.marks[SINCE] = history.clock[0] - total
    state.marks[SUSPECT] = 0.0


@kernel
def take_in(
    state: RestartingState, model: Model, history: History, arm: int, reward: float
) -> None:
    """Count a reward; at the end of each block, look for a change."""
    own, splits, marks = state.own, state.splits, state.marks
    if state.own.clock[0] == 0 and history.clock[0] > 1:  # rewards of the past, in sums
        copy_but_last(own, model.family, history, arm, reward)
        for k in range(own.pulls.size):
            splits.now[COUNTS, k] = own.pulls[k]
            splits.now[SUMS, k] = own.sums[k]
        begin(splits)
    count_reward(own, model.family, arm, reward)
    count(splits, arm, reward, splits.clock[0])
    for k in range(own.pulls.size):
        state.counted[COUNTS, k] = history.pulls[k]
        state.counted[SUMS, k] = history.sums[k]
    if not decide(splits):
        return
    finding = look_for_change(splits, model.family, state.options.costs)
    marks[LOG_E] = finding.log_e
    suspected = finding.slot >= 0 and finding.log_e >= state.options.suspicion
    if finding.slot >= 0 and finding.log_e >= state.options.threshold:
        if marks[SUSPECT] == 0.0:
            begin_trial(state)
        restart(state, model, history, finding.slot)
    elif suspected:
        if marks[SUSPECT] == 0.0:
            begin_trial(state)
        marks[SUSPECT] = finding.slot + 1.0
    else:
        marks[SUSPECT] = 0.0


@kernel
def show(state: RestartingState, model: Model, history: History) -> None:
    """shown = what came since the last change, or the suspected one, and what is outstanding.

    An outstanding reward counts as its arm's mean, as it does in `history`.
    """
    own, shown, splits = state.own, state.shown, state.splits
    slot = int(state.marks[SUSPECT]) - 1
    total = 0.0
    for k in range(own.pulls.size):  # total: of the arms before k
        n, sums = own.pulls[k], own.sums[k]
        if slot >= 0:
            n = splits.now[COUNTS, k] - splits.before[slot, COUNTS, k]
            sums = splits.now[SUMS, k] - splits.before[slot, SUMS, k] if n > 0.0 else 0.0
        coming = history.pulls[k] - state.counted[COUNTS, k]
        if coming > 0.0:
            sums += coming * (sums / n if n > 0.0 else history.means[k])
            n += coming
        shown.pulls[k] = n
        shown.sums[k] = sums
        shown.means[k] = 0.0
        shown.squares[k] = 0.0
        if n > 0.0:
            shown.means[k] = own.means[k]
            if slot >= 0 or coming > 0.0:
                shown.means[k] = inside(model.family, k, sums / n)
        total += n
    shown.clock[0] = int(total)
    shown.clock[1] = history.clock[1]


@kernel
def leader_before(state: RestartingState) -> int:
    """The arm that had most pulls before the suspected change: it can tell whether it was one."""
    slot = int(state.marks[SUSPECT]) - 1
    return argmax(state.splits.before[slot, COUNTS])


@kernel
def decide_first(state: RestartingState, model: Model, history: History) -> int:
    """The arm that is pulled whatever the policy inside says; -1: it chooses."""
    show(state, model, history)
    if state.options.each_arm_first:
        for k in range(state.shown.pulls.size):
            if state.shown.pulls[k] == 0.0:
                return k
    if state.marks[SUSPECT] > 0.0 and state.splits.clock[0] % RETURN == 0:
        return leader_before(state)
    return -1
