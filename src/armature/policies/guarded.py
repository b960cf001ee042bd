"""Any generic policy, insured against a wrong structure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.bounds.evidence import DELTA
from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import learning_address
from armature.kernels.checks import MOST_COUNTED, check_kind, check_number
from armature.kernels.kernel import Kernel, kernel, maker
from armature.kernels.vectors import fill
from armature.policies.around import AroundPolicy, OwnHistoryPolicy
from armature.policies.challenger import Challenger
from armature.policies.guard import (
    AUDIT,
    CONFLICT,
    DOUBT,
    DROPPED,
    LEARNING,
    LOG_E,
    NO_OBJECTION,
    GuardedState,
    GuardOptions,
    guard,
    look,
    watch,
)
from armature.policies.policy import Belief, CompiledPolicy, Dropped, Policy
from armature.policies.records import argmax
from armature.structures import Structure
from armature.words import Arm, Sentence

SAID = {
    DOUBT: "The data fit the structure badly, so in this round IMED chooses without it: {best} has "
    "the best mean, {leader} the best fitted one.",
    CONFLICT: "The mean of {best} is higher than the structure allows, so in this round IMED "
    "chooses without it; {leader} has the best fitted mean.",
    AUDIT: "{arm} is being audited: its own rewards, {pulls} of them, do not show yet that it is "
    "worse than {leader}, which leads.",
}
USUAL = Challenger()


@maker
def guarded_choose(choose: Kernel[..., int]) -> Kernel[..., int]:
    """The kernel that chooses: the guard's, around a policy's."""

    def guarded(state: Any, model: Any, history: Any, stream: Any) -> int:
        arm = guard(state, model, history)
        if arm >= 0:
            return arm
        return choose(state.inner, model, history, stream)

    return kernel(guarded)


@maker
def guarded_probabilities(inner: Kernel[..., bool] | None) -> Kernel[..., bool] | None:
    """The kernel that says how likely each arm is, if the policy has one: the guard draws none."""
    if inner is None:
        return None

    def guarded(state: Any, model: Any, history: Any, out: Any) -> bool:
        arm = guard(state, model, history)
        if arm < 0:
            return inner(state.inner, model, history, out)
        fill(out, 0.0)
        out[arm] = 1.0
        return True

    return kernel(guarded)


@maker
def guarded_update(update: Kernel[..., None] | None) -> Kernel[..., None]:
    """The kernel that takes in rewards: the policy's, if it has one, and the guard's."""
    if update is None:
        return watch

    def guarded(state: Any, model: Any, history: Any, arm: int, reward: float) -> None:
        update(state.inner, model, history, arm, reward)
        watch(state, model, history, arm, reward)

    return kernel(guarded)


@dataclass(frozen=True)
class Guarded(AroundPolicy):
    """The same policy, insured against a wrong structure: it watches, audits, and drops it.

    A policy that trusts a structure which is wrong can settle on a bad arm for ever. The guard lets
    the policy choose, but for four things. Let pr be the projection of the means onto M, j its best
    arm, `misfit` its cost, and b the upper confidence bound of arm j at level ln t.

    1. *Dropping.* When the evidence against the structure (`armature.bounds.evidence`) reaches
       1 / delta, the structure is dropped for good: all data are kept, and `IMED`, which needs no
       structure, goes on. If the structure is true, this ever happens with probability at most
       delta.
    2. *Doubt.* While the misfit is so large that it would have a probability below `doubt` at a
       time fixed in advance (Chernoff's bound for half a chi-squared variable of K degrees of
       freedom), `IMED` chooses as well, without prejudice.
    3. *Conflict.* So it does while the own mean of some arm is above b.
    4. *Audit.* Else, if the own rewards of some arm, and one more that is b, have not yet shown
       that it is worse than the leader, n d(m, b) < `audit` with n their number and m their mean,
       the arm of which they say it least is pulled. Where there is none, the policy chooses. (The
       one more reward is there so that a single bad one does not clear an arm; and as `audit`
       counts as no less than (ln t) / 10, no arm is forgotten for ever.)

    In a coupled segment of a table the evidence is about all segments. When it is in, what segments
    have in common is dropped first: the policy goes on with the rewards of its own segment, and
    what is known of its arms stands until the evidence is in against that.

    The audit is the premium: what is paid where the structure is true. `docs/studies/guard.md` has
    what each setting of it costs, and what it covers.

    Parameters
    ----------
    policy : Policy
        What chooses as long as the structure stands: any policy that asks the structure's oracles.
    delta : float
        The probability of ever dropping a structure that is true, between 0 and 1.
    audit : float
        How much evidence each arm must give against itself, >= 0. More costs more and covers more.
    doubt : float
        The level of the test that sets the structure aside for a round, from 0 (never) to 1.

    Guarantee
    ---------
    A true structure is dropped with probability at most `delta`, whatever the policy, the means and
    the horizon; the proof is in `armature.bounds.evidence`. About regret nothing is proved. One
    projection a round beside what the policy does; O(K) a round after the structure was dropped.

    >>> import armature as am
    >>> wrong = am.Instance(am.Monotone(3), [0.9, 0.1, 0.5], strict=False)
    >>> results = am.simulate(wrong, [am.Challenger(), am.Guarded()], horizon=2000, repetitions=8)
    >>> results.names
    ('Challenger', 'Guarded(Challenger)')
    >>> results.paired("Guarded(Challenger)", "Challenger").high < 0.0  # clearly less regret
    True

    Limits
    ------
    Nothing is proved about regret; `docs/studies/guard.md` has what was measured. The evidence is
    weak where there are many arms. The doubt is a test for one fixed time, but it is computed in
    every round.

    References
    ----------
    None: this docstring defines it. The inequality is that of Ville (1939), "Étude critique de la
    notion de collectif"; IMED is by Honda and Takemura (2015).
    """

    policy: Policy = USUAL
    delta: float = DELTA
    audit: float = 1.3
    doubt: float = 0.1

    def __post_init__(self) -> None:
        check_kind(self.policy, Policy, "policy", "Challenger()")
        _check_generic(self.policy)
        check_number(self, "delta", high=0.5, what="a probability", above=True)
        check_number(self, "audit")
        check_number(self, "doubt", high=1.0, what="a probability")

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(delta=0.1, audit=0.0, doubt=0.0)

    # What the policy inside promises, the guarded one does.

    @property
    def oracles(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(dict.fromkeys((*self.inner.oracles, "project")))

    @property
    def saved(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("verdict", "shares", *self.inner.saved)

    @property
    def choose(self) -> Kernel[..., int]:  # type: ignore[override]
        return guarded_choose(self.inner.choose)

    @property
    def probabilities(self) -> Kernel[..., bool] | None:  # type: ignore[override]
        return guarded_probabilities(self.inner.probabilities)

    @property
    def update(self) -> Kernel[..., None]:  # type: ignore[override]
        return guarded_update(self.inner.update)

    @property
    def reads_history(self) -> bool:  # type: ignore[override]
        return self.inner.update is None or self.inner.reads_history

    def init(self, structure: Structure, family: Family) -> GuardedState:
        K = structure.n_arms
        return GuardedState(
            inner=self.inner.init(structure, family),
            fitted=np.zeros(K),
            verdict=np.zeros(4),
            shares=np.zeros(K),
            options=GuardOptions(
                threshold=math.log(1.0 / self.delta),
                audit=self.audit,
                doubt=self._log_doubt,
                costs=learning_address(family),
            ),
        )

    @property
    def drops_at(self) -> float:  # type: ignore[override]
        return self.delta

    def could_be(self, state: GuardedState) -> bool:
        dropped, rest = state.verdict[DROPPED], [*state.verdict[DROPPED + 1 :], *state.shares]
        sound = abs(dropped) <= MOST_COUNTED and not np.isnan(rest).any()
        return bool(sound) and self.inner.could_be(state.inner)

    def dropped(self, state: Any) -> Dropped | None:
        if state.verdict[DROPPED] <= 0.0:
            return None
        return Dropped(
            round=int(state.verdict[DROPPED]),
            log_e=float(state.verdict[LOG_E]),
            learning=float(state.verdict[LEARNING]),
            shares=state.shares.copy(),
        )

    def explain(self, belief: Belief) -> Sentence | str:
        """The one of the four that decides next."""
        state, history = belief.state, belief.history
        if self.dropped(state) is not None:
            best = Arm(argmax.py_func(history.means))
            return Sentence(
                "The structure was dropped, as the data contradict it. IMED goes on without it; "
                "{best} has the best mean so far.",
                best=best,
            )
        found = look(state, belief.known, history, belief.misfit, belief.leader)
        if found.reason == NO_OBJECTION and state.verdict[DROPPED] < 0.0:
            said = (
                "What the segments have in common was dropped, as the data contradict it: only the "
                "rewards of this segment count, and what is known of its arms. {leader} leads."
            )
            return Sentence(said, leader=Arm(found.leader))
        if found.reason == NO_OBJECTION:
            return self.policy.explain(belief._replace(state=state.inner))
        arms = {"leader": Arm(found.leader), "best": Arm(found.best)}
        if found.reason != AUDIT:
            return Sentence(SAID[found.reason], **arms)
        pulls = float(history.pulls[found.arm])
        return Sentence(SAID[AUDIT], **arms, arm=Arm(found.arm), pulls=pulls)

    @property
    def _log_doubt(self) -> float:
        return math.log(1.0 / self.doubt) if self.doubt > 0.0 else math.inf


def _check_generic(policy: Policy) -> None:
    """Refuse what has nothing to be insured, or can't be interrupted."""
    name = type(policy).__name__
    if isinstance(policy, Guarded):
        raise ArmatureError(f"{policy.name} is guarded already: one guard is enough.")
    if not isinstance(policy, CompiledPolicy):
        raise ArmatureError(
            f"{name} is written in plain Python, and a guard is for policies made of kernels "
            "(`CompiledPolicy`), such as Challenger."
        )
    if isinstance(policy, OwnHistoryPolicy) and not policy.needs_evidence:
        raise ArmatureError(f"{policy.name} forgets rewards, and a guard goes by all of them.")
    if policy.structures is not None:
        only = " or ".join(cls.__name__ for cls in policy.structures)
        raise ArmatureError(
            f"{name} is made for {only} structures and counts on every arm being its own choice: "
            "guard a policy for all structures, such as Challenger."
        )
    if not policy.oracles:
        raise ArmatureError(
            f"{name} uses no structure, so that a wrong one does it no harm: there is nothing to "
            "guard. Guard a policy that does, such as Challenger."
        )
