"""The guard of a structure: when it decides itself, and when it drops the structure."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from armature.bounds.evidence import doubt_of
from armature.families.kernels import (
    divergence,
    inside,
    of_arm,
    upper,
    weighted_divergence,
)
from armature.kernels.addresses import Address
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.policies.baselines.imed import least_index
from armature.policies.policy import History
from armature.policies.records import argmax, mark_exploration
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.model import Model, projection
from armature.structures.segments.whole import is_coupled, learning_of, leave_alone, n_judged

DROPPED, LOG_E, LEARNING, LAST = range(4)  # of `GuardedState.verdict`
DOUBT, CONFLICT, AUDIT, NO_OBJECTION = range(4)  # of `GuardReason.reason`
GROWTH = 0.1  # the audit's level is no less than this much of ln t: no arm is forgotten for ever


class GuardOptions(NamedTuple):
    """The guard's options as its kernels see them, and where the family's learning cost is."""

    threshold: float
    audit: float
    doubt: float
    costs: Address

    def numbers_of_kernels(self) -> tuple[Address, ...]:
        """The number of the learning cost."""
        return (self.costs,)


class GuardedState(NamedTuple):
    """The state of the policy inside, and what the guard has found."""

    inner: Any
    fitted: Floats  # the projection
    # When the structure was dropped (0: not yet; less, -round: the coupling), log E and learning
    # then; the last misfit.
    verdict: Floats
    shares: Floats  # each arm's part of the misfit when it was dropped
    options: GuardOptions

    def __getattr__(self, name: str) -> Any:
        """What is not the guard's is the policy's: so that its arrays are saved by their names."""
        return getattr(self.inner, name)


@kernel
def to_be_audited(state: GuardedState, model: Model, history: History, j: int, bar: float) -> int:
    """The arm of which its own rewards say least that it is below the bar; -1: all say enough.

    One reward more, as high as the bar, is counted with its own.
    """
    least = max(state.options.audit, GROWTH * math.log(history.clock[0] + 1.0))
    chosen = -1  # invariant: the arm before k of which the least speaks against it
    for k in range(history.pulls.size):
        if k == j or inside(model.family, k, bar) < bar:
            continue  # of such an arm no mean is as high as the bar
        against = 0.0
        mean = history.means[k]
        if mean < bar:
            n = history.pulls[k] + 1.0
            against = n * divergence(of_arm(model.family, k), mean + (bar - mean) / n, bar)
        if against < least:
            least = against
            chosen = k
    return chosen


class GuardReason(NamedTuple):
    """Why the guard decides in a round, or leaves it to the policy; and which arms it is about."""

    reason: int
    arm: int  # to be audited; else -1
    leader: int  # the best arm of the projection
    best: int  # the arm with the best mean


@kernel
def look(state: GuardedState, model: Model, history: History, misfit: float, j: int) -> GuardReason:
    """The one of the four that decides now, for the projection's cost and best arm."""
    best = argmax(history.means)
    if doubt_of(misfit, n_judged(model, history.pulls.size)) > state.options.doubt:
        return GuardReason(DOUBT, -1, j, best)
    level = math.log(history.clock[0] + 1.0) / history.pulls[j]
    bar = upper(of_arm(model.family, j), history.means[j], level)
    if history.means[best] > bar:
        return GuardReason(CONFLICT, -1, j, best)
    arm = to_be_audited(state, model, history, j, bar)
    return GuardReason(AUDIT if arm >= 0 else NO_OBJECTION, arm, j, best)


@kernel
def guard(state: GuardedState, model: Model, history: History) -> int:
    """The arm that the guard asks for; -1: it leaves the choice to the policy."""
    if state.verdict[DROPPED] > 0.0:
        return least_index(model, history)
    leave_alone(model, state.verdict[DROPPED] < 0.0)
    misfit = projection(model, history.means, history.pulls, state.fitted)
    j = leader_of(model.family, state.fitted, history.means, history.pulls)
    found = look(state, model, history, misfit, j)
    state.verdict[LAST] = misfit
    if found.reason == NO_OBJECTION:
        return -1
    usual, arm = found.leader, found.arm
    if found.reason != AUDIT:
        usual = found.best
        arm = least_index(model, history)
    if arm != usual:
        mark_exploration(history)
    return arm


@kernel
def watch(state: GuardedState, model: Model, history: History, arm: int, reward: float) -> None:
    """Drop the structure if the evidence is in, from rewards that came and none that is awaited.

    In a segment of a table, drop first what segments have in common, then what is known of a row.

    The last misfit of `guard` says whether it is worth a look: not to look is never wrong.
    """
    verdict = state.verdict
    if verdict[DROPPED] > 0.0 or not verdict[LAST] > state.options.threshold:
        return
    N = history.pulls
    for k in range(N.size):
        if N[k] == 0.0:
            return
    leave_alone(model, verdict[DROPPED] < 0.0)
    misfit = projection(model, history.means, N, state.fitted)
    learning = learning_of(model, state.options.costs, N, history.sums)
    if learning < math.inf and misfit - learning >= state.options.threshold:
        if is_coupled(model):
            verdict[DROPPED] = -history.clock[0]  # what segments have in common, and no more
            verdict[LAST] = 0.0
            leave_alone(model, True)
            return
        verdict[DROPPED] = history.clock[0]
        verdict[LOG_E] = misfit - learning
        verdict[LEARNING] = learning
        for k in range(N.size if misfit < math.inf else 0):
            own = of_arm(model.family, k)
            state.shares[k] = weighted_divergence(own, N[k], history.means[k], state.fitted[k])
