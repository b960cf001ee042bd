"""Any generic policy, which begins anew when rewards change."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.bounds.change import FALSE_ALARMS
from armature.bounds.splits import REFERENCES, SLOTS, Splits, make_splits
from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import learning_address
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST, MOST_COUNTED, check_flag, check_kind, check_number
from armature.kernels.kernel import Kernel, kernel
from armature.kernels.vectors import fill
from armature.policies.around import OwnHistoryPolicy, check_told_by_history, told_by
from armature.policies.challenger import Challenger
from armature.policies.policy import Belief, History, Policy, make_history
from armature.policies.restarts import (
    LOG_E,
    OWN,
    RESTARTS,
    SINCE,
    SPLIT,
    SUSPECT,
    RestartingState,
    RestartOptions,
    decide_first,
    flat_arrays,
    take_in,
)
from armature.structures import Structure
from armature.words import Sentence

USUAL = Challenger()
SUSPICION = 6.0  # a change is suspected where its log-evidence is so much below the threshold


@functools.cache
def restarting_choose(choose: Kernel[..., int]) -> Kernel[..., int]:
    """The kernel that chooses: a policy's, on what came since a change or a suspected one."""

    def restarting(state: Any, model: Any, history: Any, stream: Any) -> int:
        arm = decide_first(state, model, history)
        if arm >= 0:
            return arm
        if state.marks[SUSPECT] > 0.0:
            arm = choose(state.trial, model, state.shown, stream)
        else:
            arm = choose(state.inner, model, state.shown, stream)
        history.clock[1] = state.shown.clock[1]
        return arm

    return kernel(restarting)


@functools.cache
def restarting_probabilities(inner: Kernel[..., bool] | None) -> Kernel[..., bool] | None:
    """The kernel that says how likely each arm is, if the policy has one."""
    if inner is None:
        return None

    def restarting(state: Any, model: Any, history: Any, out: Any) -> bool:
        arm = decide_first(state, model, history)
        if arm < 0 and state.marks[SUSPECT] > 0.0:
            return inner(state.trial, model, state.shown, out)
        if arm < 0:
            return inner(state.inner, model, state.shown, out)
        fill(out, 0.0)
        out[arm] = 1.0
        return True

    return kernel(restarting)


@functools.cache
def restarting_update(update: Kernel[..., None] | None) -> Kernel[..., None]:
    """The kernel that takes in rewards: the test's, and the policy's if it has one."""
    if update is None:
        return take_in

    def restarting(state: Any, model: Any, history: Any, arm: int, reward: float) -> None:
        take_in(state, model, history, arm, reward)
        update(state.inner, model, state.own, arm, reward)

    return kernel(restarting)


def _are_pairs(pairs: Floats) -> bool:
    """True if these are counts and sums of rewards."""
    counts, sums = pairs[..., 0, :], pairs[..., 1, :]
    inside = bool((counts >= 0.0).all() and (counts <= MOST_COUNTED).all())
    whole = inside and bool((counts % 1.0 == 0.0).all())
    return whole and bool((np.abs(sums) <= LARGEST * MOST_COUNTED).all())


def _could_be_told(own: History) -> bool:
    """True if rewards can have made this history."""
    pairs = np.array([own.pulls, own.sums])
    means = bool((np.abs(own.means) <= LARGEST).all())
    return means and _are_pairs(pairs) and bool(np.isfinite(own.squares).all())


@dataclass(frozen=True)
class Restarting(OwnHistoryPolicy):
    """The same policy where rewards may change: it notices, and begins anew from there.

    A policy that has learned which arm is best hardly looks at the others any more. When rewards
    change it keeps to what was true, for as many rounds as it has played. This one has the test of
    `armature.bounds.change` look at its rewards after every 16 of them.

    1. *A change*: when the evidence reaches 1 / `false_alarms`, the policy begins anew, with the
       rewards since the moment at which the change is likeliest to have been.
    2. *Suspicion*: while the log-evidence is less than 6 below that, the policy decides as if they
       had changed: begun anew, with the rewards since. In one round of 32 the arm that led before
       is pulled, which can tell.

    A change that the leader does not show is found when the policy looks at the other arms again,
    which it does the more rarely the longer it has played. (To look at them besides, by a rule,
    cost more and found nothing sooner: `docs/changes.md`.)

    Parameters
    ----------
    policy : Policy
        What chooses between changes: any policy that keeps no account of rewards by itself.
    false_alarms : float
        The probability of ever beginning anew if nothing changes, between 0 and 1.
    wary : bool
        Whether it acts on a suspicion; without, it is the policy itself until there is a change.

    Guarantee
    ---------
    If nothing changes, it ever begins anew with probability at most `false_alarms`, whatever the
    policy, the means and the horizon; the proof is in `armature.bounds.change`. After a restart
    that holds for what comes then. About regret nothing is proved: `docs/changes.md` has what was
    measured. The test looks at O(log t) moments of the past after every 16 rewards, and keeps no
    more of them.

    >>> import armature as am
    >>> means, later = [0.1, 0.3, 0.9, 0.2, 0.1], [0.9, 0.6, 0.5, 0.2, 0.1]
    >>> jump = am.Changing([(0, means), (1000, later)], am.Unimodal(5), am.Bernoulli())
    >>> results = am.simulate(jump, [am.Challenger(), am.Restarting()], 2000, repetitions=8)
    >>> results.names
    ('Challenger', 'Restarting(Challenger)')
    >>> results.paired("Restarting(Challenger)", "Challenger").high < 0.0  # clearly less regret
    True

    Limits
    ------
    Live, it takes rewards in the order in which they come, not in that of their decisions. Not
    where sigma is estimated. A slow drift is no change: it sees one now and then.

    References
    ----------
    None: this docstring defines it. Restarts by a likelihood ratio are those of Besson, Kaufmann,
    Maillard and Seznec (2022), "Efficient Change-Point Detection for Tackling Piecewise-Stationary
    Bandits".
    """

    policy: Policy = USUAL
    false_alarms: float = FALSE_ALARMS
    wary: bool = True

    def __post_init__(self) -> None:
        check_kind(self.policy, Policy, "policy", "Challenger()")
        _check_inside(self.policy)
        check_number(self, "false_alarms", high=0.5, what="a probability", above=True)
        check_flag(self.wary, "wary")
        object.__setattr__(self, "wary", bool(self.wary))

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(false_alarms=0.1, wary=False)

    @property
    def saved(self) -> tuple[str, ...]:  # type: ignore[override]
        of_test = tuple(SPLIT + name for name in Splits._fields)
        of_past = tuple(OWN + name for name in History._fields)
        of_trial = tuple("trial_" + name for name in self.inner.saved)
        return ("counted", "marks", *of_past, *of_test, *self.inner.saved, *of_trial)

    @property
    def choose(self) -> Kernel[..., int]:  # type: ignore[override]
        return restarting_choose(self.inner.choose)

    @property
    def probabilities(self) -> Kernel[..., bool] | None:  # type: ignore[override]
        return restarting_probabilities(self.inner.probabilities)

    @property
    def update(self) -> Kernel[..., None]:  # type: ignore[override]
        return restarting_update(self.inner.update)

    def init(self, structure: Structure, family: Family) -> RestartingState:
        K, names = structure.n_arms, self.inner.saved
        inner, trial, fresh = (self.inner.init(structure, family) for _ in range(3))
        arrays = {
            f"{role}_{word}": flat_arrays(state, names, kind)
            for role, state in (("inner", inner), ("trial", trial), ("fresh", fresh))
            for word, kind in (("reals", "f"), ("wholes", "i"))
        }
        threshold = math.log(1.0 / self.false_alarms)
        return RestartingState(
            inner=inner,
            trial=trial,
            own=make_history(K),
            shown=make_history(K),
            splits=make_splits(K),
            counted=np.zeros((2, K)),
            marks=np.zeros(4),
            options=RestartOptions(
                threshold=threshold,
                suspicion=threshold - SUSPICION if self.wary else math.inf,
                each_arm_first=self.inner.starts_with_each_arm,
                costs=learning_address(family),
            ),
            **arrays,
        )

    def could_be(self, state: RestartingState) -> bool:
        splits, marks = state.splits, state.marks
        suspect = marks[SUSPECT]
        sound = (
            0.0 <= suspect <= SLOTS
            and suspect % 1.0 == 0.0
            and (suspect == 0.0 or splits.at[int(suspect) - 1] > 0)
            and 1 <= splits.clock[1] <= REFERENCES
            and 0 <= splits.at.min() <= splits.at.max() <= splits.clock[0]
            and ((splits.shares[: splits.clock[1]] < 1.0).all())
            and (splits.shares >= 0.0).all()
            and not any(np.isnan(part).any() for part in (*splits, marks[:LOG_E]))
            and all(_are_pairs(part) for part in (*splits[:2], splits.reference, state.counted))
            and (splits.before[splits.at > 0, 0] <= splits.now[0]).all()
            and (splits.reference[: splits.clock[1], 0] <= splits.now[0]).all()
            and _could_be_told(state.own)
        )
        inside = self.inner.could_be(state.inner) and self.inner.could_be(state.trial)
        return bool(sound) and inside

    def basis(self, state: Any, history: History) -> History:
        own: History = state.own
        return own if own.clock[0] > 0 else history

    def restarted(self, state: Any) -> int | None:
        return int(state.marks[SINCE]) if state.marks[RESTARTS] > 0.0 else None

    def explain(self, belief: Belief) -> Sentence | str:
        """The explanation of the policy inside, and of a new beginning or a suspected change."""
        state, said = belief.state, told_by(self.policy, belief)
        since = self.restarted(state)
        if state.marks[SUSPECT] > 0.0:
            said = Sentence("A change of the rewards is suspected: it decides as if it were so.")
        if since is not None:
            text = "The rewards changed after about {since}: it goes on with those since."
            said = Sentence(text, since=since) + said
        return said


def _check_inside(policy: Policy) -> None:
    """Refuse what can't begin anew."""
    if isinstance(policy, Restarting):
        raise ArmatureError(f"{policy.name} begins anew already: once is enough.")
    check_told_by_history(policy, "restarting")
