"""M-UCB, monitored UCB (Cao, Wen, Kveton and Xie, 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST, MOST_COUNTED, check_number, check_whole
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.baselines.changing.episodes import best_bound, explored
from armature.policies.policy import CompiledPolicy, History, Policy
from armature.structures import Structure
from armature.structures.oracles.model import Model


class MonitoredState(NamedTuple):
    """What came since the last restart, and each arm's last rewards."""

    pulls: Floats
    sums: Floats
    since: Floats  # rounds
    last: Floats  # (K, window), in a ring
    share: float
    log_error: float  # of the test, as ln(1 / error)


@kernel
def choose(state: MonitoredState, model: Model, history: History, stream: Stream) -> int:
    """The arm that is due for exploration, or the one with the highest bound."""
    arm = explored(history, state.share)
    return arm if arm >= 0 else best_bound(model, state.pulls, state.sums, state.since)


@kernel
def take_in(state: MonitoredState, model: Model, history: History, arm: int, reward: float) -> None:
    """Count a reward; begin anew where the halves of the arm's window differ by too much."""
    w = state.last.shape[1]
    at = int(state.pulls[arm]) % w
    state.last[arm, at] = reward
    state.pulls[arm] += 1.0
    state.sums[arm] += reward
    for k in range(state.since.size):
        state.since[k] += 1.0
    if state.pulls[arm] < w:
        return
    difference = 0.0  # invariant: of the first i of the window, the newer half counted negative
    for i in range(w):
        value = state.last[arm, (at + 1 + i) % w]
        difference += value if i < w // 2 else -value
    bar = math.sqrt(2.0 * of_arm(model.family, arm).proxy * w * state.log_error)
    if abs(difference) > bar:
        for k in range(state.since.size):
            state.pulls[k] = 0.0
            state.sums[k] = 0.0
            state.since[k] = 0.0


@dataclass(frozen=True)
class MonitoredUCB(CompiledPolicy):
    """KL-UCB that compares both halves of each arm's last rewards, and begins anew on a change.

    All arms begin anew where the sums of the halves of an arm's last `window` rewards differ by
    more than sqrt(2 v window ln(2 K T^2)), where v is the variance for which rewards are
    sub-Gaussian (1/4 in [0, 1]).
    All arms are pulled by turns in a share of the rounds. The bounds are those of KL-UCB, as in the
    comparison of Besson et al.; the authors have UCB1's.

    Parameters
    ----------
    window : int
        How many rewards of an arm are looked at; even. The memory is K of them.
    share : float, optional
        Of the rounds that explore; sqrt(K ln T / T) by default, for one change.
    horizon : int, optional
        T: the threshold depends on it, and the share.

    Guarantee
    ---------
    The authors bound the regret by the order of sqrt(changes K T ln T) where changes are large
    enough for the window. O(K) a round, and the window.

    >>> import armature as am
    >>> policy = am.MonitoredUCB(window=60, share=0.1)
    >>> bandit = am.Bandit(policy, am.Unconstrained(2), am.Bernoulli(), horizon=400)
    >>> for t in range(400):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, [1.0, 0.0][arm] if t < 200 else [0.0, 1.0][arm])
    >>> bandit.pulls.argmax(), int(bandit._decisions.state.since[0]) < 200
    (np.int64(0), True)

    Limits
    ------
    Sub-Gaussian rewards only. It uses no structure.

    References
    ----------
    Cao, Wen, Kveton and Xie (2019), "Nearly Optimal Adaptive Procedure with Change Detection for
    Piecewise-Stationary Bandit".
    """

    window: int = 200
    share: float | None = None
    horizon: int | None = None

    needs_horizon: ClassVar[bool] = True
    needs_sub_gaussian: ClassVar[bool] = True
    saved: ClassVar = ("pulls", "sums", "since", "last")
    choose: ClassVar = choose
    update: ClassVar = take_in

    def __post_init__(self) -> None:
        check_whole(self, "window", low=2, high=1_000_000)
        check_number(self, "share", high=1.0, what="a share", optional=True)
        check_whole(self, "horizon", high=1_000_000_000, optional=True)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return (cls(window=6, share=0.2, horizon=100),)

    def init(self, structure: Structure, family: Family) -> MonitoredState:
        K, T = structure.n_arms, self.horizon or 2
        share = math.sqrt(K * math.log(T) / T) if self.share is None else self.share
        return MonitoredState(
            pulls=np.zeros(K),
            sums=np.zeros(K),
            since=np.zeros(K),
            last=np.zeros((K, self.window)),
            share=min(share, 1.0),
            log_error=math.log(2.0 * K * T * T),
        )

    def could_be(self, state: MonitoredState) -> bool:
        counts = np.concatenate([state.pulls, state.since])
        if not ((counts >= 0.0) & (counts <= MOST_COUNTED)).all():
            return False
        numbers = np.abs([*state.sums, *state.last.ravel()]) <= LARGEST * MOST_COUNTED
        sound = bool((counts % 1.0 == 0.0).all()) and bool(numbers.all())
        return sound and bool((state.pulls <= state.since).all())
