"""A sliding window (Garivier and Moulines, 2011): any policy, by the last rewards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import inside
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import LARGEST, check_kind, check_whole
from armature.kernels.kernel import kernel
from armature.policies.around import check_told_by_history, told_by
from armature.policies.baselines.thompson_sampling import ThompsonSampling
from armature.policies.faded import (
    OWN,
    WeighedPolicy,
    could_be_weighed,
    count_weights,
    does_not_fade,
)
from armature.policies.policy import Belief, History, Policy, make_history
from armature.structures import Structure
from armature.structures.oracles.model import Model
from armature.words import Sentence

USUAL = ThompsonSampling()
NEXT, KEPT = 0, 1  # of `place`


class Window(NamedTuple):
    """The last rewards and their arms, in a ring."""

    arms: Ints
    rewards: Floats
    place: Ints  # [where the next one goes, how many there are]


class SlidingState(NamedTuple):
    """The policy inside, and the rewards in the window."""

    inner: Any
    own: History  # of the window
    shown: History  # what the policy inside is given: that, and what is outstanding
    counted: Floats  # (K,): of all rewards
    window: Window
    each_arm_first: bool

    def __getattr__(self, name: str) -> Any:
        """Arrays by the names under which they are saved."""
        if name.startswith(OWN):
            return getattr(self.own, name[len(OWN) :])
        return getattr(self.window if name in Window._fields else self.inner, name)


@kernel
def slide(window: Window, own: History, model: Model, arm: int, reward: float) -> int:
    """Count a reward, and no more the one that falls out; its arm, or -1.

    Invariant: `own` has the rewards in the window. Once around, the sums are made anew, so that
    rounding does not add up.
    """
    at = window.place[NEXT]
    size = window.arms.size
    out = -1
    if window.place[KEPT] == size:
        out = window.arms[at]
        own.pulls[out] -= 1.0
        own.sums[out] -= window.rewards[at]
    else:
        window.place[KEPT] += 1
    window.arms[at] = arm
    window.rewards[at] = reward
    window.place[NEXT] = (at + 1) % size
    own.pulls[arm] += 1.0
    own.sums[arm] += reward
    if at + 1 == size:
        for k in range(own.sums.size):
            own.sums[k] = 0.0
        for i in range(size):
            own.sums[window.arms[i]] += window.rewards[i]
    for k in range(own.pulls.size):
        if own.pulls[k] > 0.0:
            own.means[k] = inside(model.family, k, own.sums[k] / own.pulls[k])
        else:
            own.sums[k] = 0.0
    count_weights(own)
    return int(out)


@kernel
def take_in(state: SlidingState, model: Model, history: History, arm: int, reward: float) -> None:
    """Let the window slide by one reward."""
    slide(state.window, state.own, model, arm, reward)
    for k in range(state.counted.size):
        state.counted[k] = history.pulls[k]


def make_window(size: int) -> Window:
    """An empty window."""
    none = np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(2, dtype=np.int64)
    return Window(*none)


def could_be_window(window: Window, own: History) -> bool:
    """Whether rewards can have made a window, and a history of what is in it."""
    K, size = own.pulls.size, window.arms.size
    at, kept = window.place.tolist()
    if not (0 <= at < size and (kept == at or kept == size)):
        return False
    arms, rewards = window.arms[:kept], window.rewards[:kept]
    if kept and not (arms.min() >= 0 and arms.max() < K and (abs(rewards) <= LARGEST).all()):
        return False
    sums = np.bincount(arms, rewards, K)
    same = np.bincount(arms, minlength=K) == own.pulls
    return bool(same.all()) and np.allclose(sums, own.sums, rtol=1e-6, atol=1e-6)


@dataclass(frozen=True)
class SlidingWindow(WeighedPolicy):
    """The same policy, by the last rewards only: what is older is forgotten.

    Around `UCB` and `ThompsonSampling` this is SW-UCB and SW-TS. `Forgetting` fades instead, which
    is discounted UCB and discounted Thompson sampling.

    Parameters
    ----------
    policy : Policy
        What chooses: any policy that keeps no account of its own.
    window : int
        How many rewards are kept: the memory that it takes.

    Guarantee
    ---------
    The authors bound the dynamic regret of SW-UCB where means jump, with a window of the order of
    sqrt(T ln T / jumps); Trovò et al. that of SW-TS. O(K) a round besides.

    >>> import armature as am
    >>> bandit = am.Bandit(am.SlidingWindow(am.UCB(), window=4), am.Unconstrained(2))
    >>> bandit.tell([0, 0, 0, 1, 1, 1], [9.0, 9.0, 0.0, 0.0, 0.0, 0.1])
    >>> bandit.explain().means.round(3).tolist()  # of the last four
    [0.0, 0.033]

    Limits
    ------
    Rewards of the past are wanted one by one. Not for coupled segments of a table.

    References
    ----------
    Garivier and Moulines (2011), "On Upper-Confidence Bound Policies for Switching Bandit
    Problems". Trovò, Paladino, Restelli and Gatti (2020), "Sliding-Window Thompson Sampling for
    Non-Stationary Settings".
    """

    policy: Policy = USUAL
    window: int = 1000

    needs_evidence: ClassVar[bool] = False
    reads_history: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_kind(self.policy, Policy, "policy", "ThompsonSampling()")
        check_told_by_history(self.policy, "a window")
        check_whole(self, "window", low=2, high=10_000_000)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return (cls(window=7),)

    update: ClassVar = take_in
    saved_beside: ClassVar = ("counted", *Window._fields)

    def _objection(self, structure: Structure, family: Family) -> str | None:
        objection = super()._objection(structure, family)
        if objection is not None:
            return objection
        return does_not_fade(self.inner, structure, family, "a window", counts_fade=False)

    def init(self, structure: Structure, family: Family) -> SlidingState:
        K = structure.n_arms
        return SlidingState(
            inner=self.inner.init(structure, family),
            own=make_history(K),
            shown=make_history(K),
            counted=np.zeros(K),
            window=make_window(self.window),
            each_arm_first=self.inner.starts_with_each_arm,
        )

    def could_be(self, state: SlidingState) -> bool:
        own = state.own
        sound = could_be_weighed(own, state.counted) and own.clock[0] == int(own.pulls.sum())
        return sound and could_be_window(state.window, own) and self.inner.could_be(state.inner)

    def basis(self, state: Any, history: History) -> History:
        own: History = state.own
        return own if own.clock[0] > 0 else history

    def explain(self, belief: Belief) -> Sentence | str:
        rewards = float(belief.history.pulls.sum())
        text = "It goes by the last {rewards:,.0f} rewards."
        return Sentence(text, rewards=rewards) + told_by(self.policy, belief)
