"""GLR-klUCB (Besson, Kaufmann, Maillard and Seznec, 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import divergence, inside, of_arm
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST, MOST_COUNTED, check_flag, check_number, check_whole
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.baselines.changing.episodes import best_bound, explored
from armature.policies.policy import CompiledPolicy, History, Policy
from armature.structures import Structure
from armature.structures.oracles.model import Model

TESTED = 10  # rounds between two tests
STEP = 5  # pulls between two splits that are tested


class GLRState(NamedTuple):
    """What came since the last restart, and each arm's sums along the way."""

    pulls: Floats
    sums: Floats
    since: Floats  # rounds
    along: Floats  # (K, ...): sums after 1, 1 + STEP, 1 + 2 STEP, ... pulls
    episode: Floats  # [the number of restarts + 1]
    share: float  # of rounds that explore in the first episode
    log_delta: float
    local: bool


@kernel
def choose(state: GLRState, model: Model, history: History, stream: Stream) -> int:
    """The arm that is due for exploration, or the one with the highest bound."""
    arm = explored(history, state.share * math.sqrt(state.episode[0]))
    return arm if arm >= 0 else best_bound(model, state.pulls, state.sums, state.since)


@kernel
def has_changed(state: GLRState, model: Model, arm: int) -> bool:
    """Whether one mean before and one after some split is so much likelier than one for all."""
    own = of_arm(model.family, arm)
    n = state.pulls[arm]
    total = state.sums[arm]
    mean = inside(model.family, arm, total / n)
    enough = 1.5 * math.log(n) - state.log_delta
    for i in range(state.along.shape[1]):  # no split before i is enough
        s = 1.0 + STEP * i
        if s >= n:
            return False
        before = inside(model.family, arm, state.along[arm, i] / s)
        after = inside(model.family, arm, (total - state.along[arm, i]) / (n - s))
        if s * divergence(own, before, mean) + (n - s) * divergence(own, after, mean) > enough:
            return True
    return False


@kernel
def take_in(state: GLRState, model: Model, history: History, arm: int, reward: float) -> None:
    """Count a reward; after some rounds, test its arm, and perhaps begin anew."""
    state.pulls[arm] += 1.0
    state.sums[arm] += reward
    i = int(state.pulls[arm]) - 1
    if i % STEP == 0 and i // STEP < state.along.shape[1]:
        state.along[arm, i // STEP] = state.sums[arm]
    for k in range(state.since.size):
        state.since[k] += 1.0
    if state.since[arm] % TESTED != 1.0 or not has_changed(state, model, arm):
        return
    state.episode[0] += 1.0
    for k in range(state.since.size):
        if k == arm or not state.local:
            state.pulls[k] = 0.0
            state.sums[k] = 0.0
            state.since[k] = 0.0


@dataclass(frozen=True)
class GLRKLUCB(CompiledPolicy):
    """KL-UCB with a likelihood-ratio test of each arm's own rewards, which begins anew on a change.

    After every 10 rounds, the arm that was pulled is tested: whether for some split of its n
    rewards one mean before and one after is likelier than one for all, by more than
    ln(n^1.5 / delta). Then all arms begin anew (`local`: that arm). So that changes are seen, all
    arms are pulled by turns in a share of the rounds, which grows with the square root of the
    number of restarts. Every fifth split is tested.

    Parameters
    ----------
    local : bool
        Whether only the arm that changed begins anew.
    delta : float, optional
        The error of a test, above 0 and below 1; 1 / sqrt(T) by default.
    share : float, optional
        Of the rounds that explore, before there are restarts; sqrt(K ln T / T) by default.
    horizon : int, optional
        T: both defaults, and the memory, K T / 5 numbers, depend on it.

    Guarantee
    ---------
    The authors bound the regret by the order of sqrt(K T ln T) times the number of changes for
    rewards in [0, 1], or its square root where that is known. O(K) a round, and T / 5 for a test.

    >>> import armature as am
    >>> bandit = am.Bandit(am.GLRKLUCB(share=0.0), am.Unconstrained(2), am.Bernoulli(), horizon=400)
    >>> for t in range(200):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, [1.0, 0.0][arm] if t < 100 else [0.0, 1.0][arm])
    >>> bandit.pulls.tolist()
    [105, 95]

    Limits
    ------
    It uses no structure.

    References
    ----------
    Besson, Kaufmann, Maillard and Seznec (2022), "Efficient Change-Point Detection for Tackling
    Piecewise-Stationary Bandits", with the settings of its experiments.
    """

    local: bool = False
    delta: float | None = None
    share: float | None = None
    horizon: int | None = None

    needs_horizon: ClassVar[bool] = True
    saved: ClassVar = ("pulls", "sums", "since", "along", "episode")
    choose: ClassVar = choose
    update: ClassVar = take_in

    def __post_init__(self) -> None:
        check_flag(self.local, "local")
        object.__setattr__(self, "local", bool(self.local))
        check_number(self, "delta", high=0.999, what="a probability", above=True, optional=True)
        check_number(self, "share", high=1.0, what="a share", optional=True)
        check_whole(self, "horizon", high=10_000_000, optional=True)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return (cls(local=True, delta=0.5, share=0.2, horizon=100),)

    def init(self, structure: Structure, family: Family) -> GLRState:
        K, T = structure.n_arms, self.horizon or 2
        share = math.sqrt(K * math.log(T) / T) if self.share is None else self.share
        delta = 1.0 / math.sqrt(T) if self.delta is None else self.delta
        return GLRState(
            pulls=np.zeros(K),
            sums=np.zeros(K),
            since=np.zeros(K),
            along=np.zeros((K, T // STEP + 1)),
            episode=np.ones(1),
            share=min(share, 1.0),
            log_delta=math.log(delta),
            local=self.local,
        )

    def could_be(self, state: GLRState) -> bool:
        counts = np.concatenate([state.pulls, state.since, state.episode])
        if not ((counts >= 0.0) & (counts <= MOST_COUNTED)).all():
            return False
        numbers = np.abs([*state.sums, *state.along.ravel()]) <= LARGEST * MOST_COUNTED
        sound = bool((counts % 1.0 == 0.0).all()) and bool(numbers.all())
        return sound and bool((state.pulls <= state.since).all() and state.episode[0] >= 1.0)
