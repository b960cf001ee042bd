"""Any generic policy, by rewards that count less the older they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import inside
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import check_kind, check_number
from armature.kernels.kernel import kernel
from armature.policies.around import check_told_by_history, told_by
from armature.policies.challenger import Challenger
from armature.policies.faded import (
    GONE,
    OWN,
    WeighedPolicy,
    could_be_weighed,
    count_weights,
    does_not_fade,
)
from armature.policies.policy import Belief, History, Policy, make_history
from armature.policies.records import copy_but_last
from armature.structures import Structure
from armature.structures.oracles.model import Model
from armature.words import Sentence

USUAL = Challenger()
LEFT = 7.0  # half-lives after which less than a hundredth of a reward is left
ALL, THIS = 0, 1  # of `step`


class ForgettingState(NamedTuple):
    """The policy inside, with the rewards by weight.

    `step` is by how much all weights shrink when the next reward comes, and the weight of that: a
    live bandit sets both, as rewards come late, and time passes between them.
    """

    inner: Any
    own: History  # by weight
    shown: History  # what the policy inside is given: that, and what is outstanding
    counted: Floats  # (K,): of all rewards
    started: Ints  # [whether there was any reward]
    step: Floats
    looks: Any  # counts of the policy inside, array by array: they fade with the rewards
    each_arm_first: bool

    def __getattr__(self, name: str) -> Any:
        """Arrays by the names under which they are saved."""
        if name.startswith(OWN):
            return getattr(self.own, name[len(OWN) :])
        return getattr(self.inner, name)


@kernel
def fade(state: ForgettingState, factor: float) -> None:
    """Multiply all weights; an arm of which hardly anything is left has no rewards any more."""
    own = state.own
    for k in range(own.pulls.size):
        own.pulls[k] *= factor
        own.sums[k] *= factor
        if own.pulls[k] < GONE:
            own.pulls[k] = 0.0
            own.sums[k] = 0.0
    for i in range(len(state.looks)):
        for n in range(state.looks[i].size):
            state.looks[i][n] *= factor
    count_weights(own)


@kernel
def take_in(
    state: ForgettingState, model: Model, history: History, arm: int, reward: float
) -> None:
    """Let all rewards fade, and count one more by its weight."""
    own = state.own
    if state.started[0] == 0 and history.clock[0] > 1:  # rewards of the past, in sums
        copy_but_last(own, model.family, history, arm, reward)
    state.started[0] = 1
    fade(state, state.step[ALL])
    weight = state.step[THIS]
    if own.pulls[arm] + weight >= GONE:
        own.pulls[arm] += weight
        own.sums[arm] += weight * reward
        own.means[arm] = inside(model.family, arm, own.sums[arm] / own.pulls[arm])
    count_weights(own)
    for k in range(own.pulls.size):
        state.counted[k] = history.pulls[k]


@dataclass(frozen=True)
class Forgetting(WeighedPolicy):
    """The same policy, by rewards that count half as much after `half_life` more of them.

    For means that drift. With every reward all counts and sums are multiplied by
    2^(-1 / half_life), and so is how often a policy has looked into an arm. So the data never
    amount to more than 1.44 `half_life` rewards, evidence against an arm fades, and the policy
    looks again by itself. Around `ThompsonSampling` and `UCB` this is discounted Thompson sampling
    and discounted UCB.

    Live, `am.Bandit(policy, ..., forget=half_life)` says the same; with `forget="7d"` half of the
    weight is gone after seven days. A late reward has the weight that it would have by now, had it
    come when its decision was made.

    Parameters
    ----------
    policy : Policy
        What chooses: any policy that keeps no account of its own that does not fade.
    half_life : float
        After how many rewards one counts half, at least 1; inf: never.

    Guarantee
    ---------
    With an infinite half-life it is the policy itself, bit for bit. About regret nothing is proved:
    where nothing changes, forgetting costs a multiple (`docs/changes.md`). O(K) a round besides.

    >>> import armature as am
    >>> import numpy as np
    >>> rounds = np.arange(3000)[:, None]
    >>> turning = 0.5 + 0.4 * np.sin(rounds / 400 + np.array([0.0, 2.0, 4.0]))
    >>> wave = am.Changing(turning, am.Unconstrained(3))
    >>> results = am.simulate(wave, [am.Challenger(), am.Forgetting(half_life=300)], 3000, 8)
    >>> results.paired("Forgetting(Challenger, half_life=300.0)", "Challenger").high < 0.0
    True

    Limits
    ------
    What follows from a probability of error (`verdict`, `evidence`) is proved for rewards that
    count in full, not for these. Where sigma is estimated, it is from all rewards. Not for coupled
    segments of a table.

    References
    ----------
    Garivier and Moulines (2011), "On Upper-Confidence Bound Policies for Switching Bandit
    Problems". Raj and Kalyani (2017), "Taming Non-stationary Bandits: A Bayesian Approach".
    """

    policy: Policy = USUAL
    half_life: float = 1000.0

    needs_evidence: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_kind(self.policy, Policy, "policy", "Challenger()")
        if isinstance(self.policy, Forgetting):
            raise ArmatureError(f"{self.policy.name} forgets already: once is enough.")
        check_told_by_history(self.policy, "forgetting")
        if isinstance(self.half_life, float) and self.half_life == math.inf:
            object.__setattr__(self, "half_life", math.inf)
            return
        check_number(self, "half_life", low=1.0, what="a number of rewards")

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return (cls(half_life=5.0),)

    update: ClassVar = take_in
    saved_beside: ClassVar = ("counted", "started")

    def _objection(self, structure: Structure, family: Family) -> str | None:
        objection = super()._objection(structure, family)
        if objection is not None:
            return objection
        return does_not_fade(self.inner, structure, family, "forgetting")

    def init(self, structure: Structure, family: Family) -> ForgettingState:
        K, inner = structure.n_arms, self.inner.init(structure, family)
        looks = (np.zeros(0), *(getattr(inner, name) for name in self.inner.fades))
        return ForgettingState(
            inner=inner,
            own=make_history(K),
            shown=make_history(K),
            counted=np.zeros(K),
            started=np.zeros(1, dtype=np.int64),
            step=np.array([2.0 ** (-1.0 / self.half_life), 1.0]),
            looks=looks,
            each_arm_first=self.inner.starts_with_each_arm,
        )

    def could_be(self, state: ForgettingState) -> bool:
        own, started = state.own, state.started[0]
        sound = could_be_weighed(own, state.counted) and own.clock[0] == int(own.pulls.sum())
        flag = started == 1 or (started == 0 and not state.counted.any())
        return sound and flag and self.inner.could_be(state.inner)

    def basis(self, state: Any, history: History) -> History:
        own: History = state.own
        return own if state.started[0] else history

    def go_on(self, old: Any, new: Any, places: Sequence[int | None]) -> None:
        """Weights stay as they are; a new arm has no rewards yet."""
        for i, k in enumerate(places):
            if k is not None:
                for name in ("pulls", "sums", "means"):
                    getattr(new.own, name)[i] = getattr(old.own, name)[k]
                new.counted[i] = old.counted[k]
        new.started[:] = old.started
        count_weights(new.own)

    def restarted(self, state: Any) -> int | None:
        """Of rewards so long ago hardly anything is left."""
        gone = state.counted.sum() - LEFT * self.half_life
        return int(gone) if gone > 0.0 else None

    def explain(self, belief: Belief) -> Sentence | str:
        """The explanation of the policy inside, and how many rewards it rests on."""
        rewards = float(belief.history.pulls.sum())
        text = "It goes by the last {rewards:,.0f} rewards, by weight."
        return Sentence(text, rewards=rewards) + told_by(self.policy, belief)
