"""SW-OSUB (Combes and Proutiere, 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import of_arm, upper
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import check_number, check_whole
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.baselines.changing.sliding_window import (
    NEXT,
    Window,
    could_be_window,
    make_window,
    slide,
)
from armature.policies.baselines.klucb import kl_level
from armature.policies.faded import OWN, could_be_weighed, show
from armature.policies.policy import CompiledPolicy, History, make_history
from armature.structures import Structure, Unimodal
from armature.structures.oracles.model import Model


class SWOSUBState(NamedTuple):
    """The rewards in the window, and who led when they were decided."""

    own: History  # of the window
    shown: History  # that, and what is outstanding
    counted: Floats  # (K,): of all rewards
    window: Window
    leaders: Ints  # of the window's rounds; -1: before there were any
    led: Floats  # (K,): how often in the window
    period: int
    c: float

    def __getattr__(self, name: str) -> Any:
        """Arrays by the names under which they are saved."""
        if name.startswith(OWN):
            return getattr(self.own, name[len(OWN) :])
        return getattr(self.window, name)


@kernel
def leader_of(history: History) -> int:
    """The arm with the best mean of those that have rewards; -1: none has."""
    best = -1  # invariant: the first such of the arms before k
    for k in range(history.pulls.size):
        if history.pulls[k] > 0.0 and (best < 0 or history.means[k] > history.means[best]):
            best = k
    return best


@kernel
def choose(state: SWOSUBState, model: Model, history: History, stream: Stream) -> int:
    """The leader now and then; else the best bound among it and its neighbours."""
    show(state, model, history)
    shown = state.shown
    leader = leader_of(shown)
    if leader < 0:
        return 0
    if history.clock[0] % state.period == 0:
        return leader
    level = kl_level(state.led[leader] + 1.0, state.c)
    chosen = leader  # invariant: of the arms so far, the first with the highest bound
    highest = upper(of_arm(model.family, leader), shown.means[leader], level / shown.pulls[leader])
    for k in (leader - 1, leader + 1):
        if 0 <= k < shown.pulls.size:
            bound = math.inf
            if shown.pulls[k] > 0.0:
                bound = upper(of_arm(model.family, k), shown.means[k], level / shown.pulls[k])
            if bound > highest:
                highest = bound
                chosen = k
    return chosen


@kernel
def take_in(state: SWOSUBState, model: Model, history: History, arm: int, reward: float) -> None:
    """Let the window slide by one reward, and by who led before it."""
    at = state.window.place[NEXT]
    if state.leaders[at] >= 0:
        state.led[state.leaders[at]] -= 1.0
    leader = leader_of(state.own)
    state.leaders[at] = leader
    if leader >= 0:
        state.led[leader] += 1.0
    slide(state.window, state.own, model, arm, reward)
    for k in range(state.counted.size):
        state.counted[k] = history.pulls[k]


@dataclass(frozen=True)
class SWOSUB(CompiledPolicy):
    """OSUB by the last rewards only: for one peak that moves smoothly.

    Of the leader, which has the best mean in the window, and its neighbours, the one with the
    highest q such that N d(mean, q) <= ln l + c ln ln l, where N, the means and l, how often it
    led, are those of the window. A neighbour without rewards in the window comes first. One round
    in gamma + 1 is the leader's own; it is counted by rounds and not by l, which stays what it is
    once the window is full of one leader.

    Parameters
    ----------
    window : int
        How many rewards are kept: the memory that it takes.
    gamma : int
        How many rounds are between those that are the leader's own.
    c : float
        The weight of the lower-order term.

    Guarantee
    ---------
    The authors bound the regret where means move by little in each round, for a window that fits
    how little. O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.SWOSUB(window=50), am.Unimodal(5))
    >>> for peak in [1] * 100 + [3] * 200:
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, 4.0 - abs(arm - peak))
    >>> bandit.explain().leader
    3

    Limits
    ------
    For one peak. A peak that jumps is found step by step, through the neighbours.

    References
    ----------
    Combes and Proutiere (2014), "Unimodal Bandits: Regret Lower Bounds and Optimal Algorithms",
    Section 5.
    """

    window: int = 1000
    gamma: int = 2
    c: float = 0.0

    structures: ClassVar = (Unimodal,)
    choose: ClassVar = choose
    update: ClassVar = take_in
    saved: ClassVar = (
        "counted", "leaders", "led", *Window._fields,
        *(OWN + name for name in ("pulls", "sums", "means", "clock")),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_whole(self, "window", low=2, high=10_000_000)
        check_whole(self, "gamma")
        check_number(self, "c")

    @classmethod
    def examples(cls) -> tuple[SWOSUB, ...]:
        return (cls(window=9, gamma=1, c=3.0),)

    def init(self, structure: Structure, family: Family) -> SWOSUBState:
        K = structure.n_arms
        return SWOSUBState(
            own=make_history(K),
            shown=make_history(K),
            counted=np.zeros(K),
            window=make_window(self.window),
            leaders=np.full(self.window, -1, dtype=np.int64),
            led=np.zeros(K),
            period=self.gamma + 1,
            c=self.c,
        )

    def could_be(self, state: SWOSUBState) -> bool:
        own, leaders, K = state.own, state.leaders, state.counted.size
        if not (leaders.min() >= -1 and leaders.max() < K):
            return False
        counts = (np.bincount(leaders[leaders >= 0], minlength=K) == state.led).all()
        weighed = could_be_weighed(own, state.counted) and own.clock[0] == int(own.pulls.sum())
        return bool(counts) and weighed and could_be_window(state.window, own)

    def basis(self, state: Any, history: History) -> History:
        own: History = state.own
        return own if own.clock[0] > 0 else history
