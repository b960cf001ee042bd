"""The common part of SPk and SPLambda: the test, the intervals, the optimism, the options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from armature.families import FamilyRecord
from armature.families.gaussian import gaussian_radius
from armature.families.kernels import divergence, lower, of_arm, upper
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_choice, check_number
from armature.kernels.kernel import inlined, kernel
from armature.policies.policy import Belief, CompiledPolicy, History, Policy
from armature.policies.records import argmax, mark_exploration
from armature.policies.thresholds import (
    exploration_level_theory,
    exploration_threshold,
    exploration_threshold_theory,
)
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.model import Model, nearest_alternative, projection
from armature.words import Arm, Sentence

ETA = 1.0  # of the proof's confidence level


class GameOptions(NamedTuple):
    """The options of SPk and SPLambda as kernels see them."""

    glr: bool
    theory_threshold: bool
    theory_confidence: bool
    epsilon: float
    decay: float


class Room(NamedTuple):
    """Vectors to compute in; their contents mean nothing between rounds."""

    projected: Floats
    lam: Floats
    low: Floats
    high: Floats
    w: Floats
    gains: Floats


def make_room(n_arms: int) -> Room:
    """One vector of each."""
    return Room(*(np.zeros(n_arms) for _ in Room._fields))


class ExploitTest(NamedTuple):
    """The test of a round: exploit `leader` where the statistic is above the threshold."""

    leader: int
    statistic: float
    threshold: float


@kernel
def exploit_test(
    options: GameOptions, history: History, leader: int, misfit: float, nearest: float
) -> ExploitTest:
    """The least divergence of the projection's best arm from all alternatives.

    The cost of the nearest alternative; with `glr`, less the cost of the projection itself, so
    that a misfit to the structure does not count as evidence. The threshold is f(t - 1) in round t.

    Paper: Eq. (15).
    """
    rounds = float(history.clock[0])
    threshold = exploration_threshold(rounds)
    if options.theory_threshold:
        threshold = exploration_threshold_theory(max(rounds, 2.0), history.pulls.size)
    return ExploitTest(leader, nearest - misfit if options.glr else nearest, threshold)


@kernel
def exploit_or_candidate(
    options: GameOptions, model: Model, history: History, explored: Floats, room: Room
) -> tuple[int, int, float]:
    """(arm, j, n): the arm to pull at once, or -1; then it is step n of the game of candidate j.

    Exploit if the test says so. Else j is the arm with the best mean; in every other round of its
    exploration it is pulled itself.

    Paper: Algorithm 1, lines 5 to 9.
    """
    misfit = projection(model, history.means, history.pulls, room.projected)
    i = leader_of(model.family, room.projected, history.means, history.pulls)
    cost = nearest_alternative(model, history.means, history.pulls, i, room.lam)
    test = exploit_test(options, history, i, misfit, cost)
    if test.statistic > test.threshold:
        return test.leader, test.leader, 0.0
    mark_exploration(history)
    j = argmax(history.means)
    n = explored[j]
    explored[j] = n + 1.0
    return j if n % 2.0 == 0.0 else -1, j, n


@kernel
def write_intervals(
    options: GameOptions, family: FamilyRecord, history: History, n: float, room: Room
) -> None:
    """room.low, room.high = where N d(mean, .) is at most about ln n.

    Paper: Eq. (16).
    """
    K = history.pulls.size
    level = math.log(n)
    if options.theory_confidence:
        level = exploration_level_theory(max(float(history.clock[0]), 3.0), n, K, ETA)
    low = room.low
    high = room.high
    for k in range(K):  # low, high: set for the arms before k
        x = history.means[k]
        reach = level / history.pulls[k]
        own = of_arm(family, k)
        if family.gaussian:
            radius = gaussian_radius(own.parameter, reach)
            low[k] = x - radius
            high[k] = x + radius
        else:
            low[k] = lower(own, x, reach)
            high[k] = upper(own, x, reach)


@inlined
def clipped_divergence(family: FamilyRecord, x: float, y: float) -> float:
    """d(x, y), but for a y that is nearer to the end of the domain than a thousandth of x's way.

    There it counts as if it were as far as that: d is infinite at the end, and an oracle's answer
    is at the end or next to it by rounding.
    """
    if family.gaussian:
        return divergence(family, x, y)
    if y < x and family.low > -math.inf:
        return divergence(family, x, max(y, family.low + 1e-3 * (x - family.low)))
    if y > x and family.high < math.inf:
        return divergence(family, x, min(y, family.high - 1e-3 * (family.high - x)))
    return divergence(family, x, y)


@inlined
def price(own: bool, epsilon: float, top: float, xi: float) -> float:
    """The regret of an arm of mean xi, at least epsilon; of the candidate itself, just that.

    Paper: Appendix C.3, gap estimates.
    """
    return epsilon if own else max(epsilon, top - xi)


@dataclass(frozen=True)
class SaddlePointPolicy(CompiledPolicy):
    """The base of SPk and SPLambda.

    Paper: Section 3, ε and intervals.
    """

    test: Literal["glr", "raw"] = "glr"
    threshold: Literal["practical", "theory"] = "practical"
    confidence: Literal["practical", "theory"] = "practical"
    epsilon: float = 1.0
    decay: float = 1.0

    weighs_by_pulls: ClassVar[bool] = False
    tells_exploration_apart: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice(self, "test", ("glr", "raw"))
        check_choice(self, "threshold", ("practical", "theory"))
        check_choice(self, "confidence", ("practical", "theory"))
        check_number(self, "epsilon", 1e-12, what="a positive number")
        check_number(self, "decay", 1e-12, 10.0, "a positive number")

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(test="raw"), cls(threshold="theory", confidence="theory")

    @property
    def game_options(self) -> GameOptions:
        """The options as kernels see them."""
        return GameOptions(
            self.test == "glr",
            self.threshold == "theory",
            self.confidence == "theory",
            float(self.epsilon),
            float(self.decay),
        )

    def explain(self, belief: Belief) -> Sentence:
        found = belief.leader, belief.misfit, belief.nearest
        test = exploit_test(self.game_options, belief.history, *found)
        said = {
            "policy": self.name,
            "leader": Arm(test.leader),
            "evidence": test.statistic,
            "bar": test.threshold,
        }
        if test.statistic > test.threshold:
            return Sentence(
                "{policy} exploits {leader}: the evidence for it, {evidence:.2f}, exceeds the "
                "threshold {bar:.2f}.",
                **said,
            )
        return Sentence(
            "{policy} explores: the evidence that {leader} is best, {evidence:.2f}, does not "
            "exceed the threshold {bar:.2f} yet.",
            **said,
        )
