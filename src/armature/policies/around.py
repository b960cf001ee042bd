"""The common part of policies that are made around another: they promise what it promises."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import no_evidence
from armature.policies.policy import Belief, CompiledPolicy, Dropped, Policy
from armature.structures import Structure
from armature.words import Sentence


@dataclass(frozen=True)
class AroundPolicy(CompiledPolicy):
    """One whose field `policy` chooses most of the time."""

    policy: Policy

    needs_evidence: ClassVar[bool] = True  # whether it works by tests that some families lack

    @property
    def name(self) -> str:
        """The policy inside, and the options that are not the default."""
        own = [field for field in dataclasses.fields(self) if field.name != "policy"]
        return f"{type(self).__name__}({', '.join([self.policy.name, *self._unusual(own)])})"

    @property
    def inner(self) -> CompiledPolicy:
        """The policy inside."""
        assert isinstance(self.policy, CompiledPolicy)
        return self.policy

    @property
    def needs_horizon(self) -> bool:  # type: ignore[override]
        return self.inner.needs_horizon

    @property
    def tells_exploration_apart(self) -> bool:  # type: ignore[override]
        return self.inner.tells_exploration_apart

    def with_horizon(self, horizon: int | None) -> Policy:
        return dataclasses.replace(self, policy=self.policy.with_horizon(horizon))

    def _objection(self, structure: Structure, family: Family) -> str | None:
        if self.needs_evidence and not family.has_evidence:
            return no_evidence(family)
        return self.inner._objection(structure, family)


@dataclass(frozen=True)
class OwnHistoryPolicy(AroundPolicy):
    """One that gives the policy inside a history of its own, not of all rewards."""

    @property
    def oracles(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.inner.oracles

    @property
    def reads_history(self) -> bool:  # type: ignore[override]
        return True

    @property
    def needs_sub_gaussian(self) -> bool:  # type: ignore[override]
        return self.inner.needs_sub_gaussian

    @property
    def starts_with_each_arm(self) -> bool:  # type: ignore[override]
        return self.inner.starts_with_each_arm

    @property
    def keeps_pairs(self) -> bool:  # type: ignore[override]
        return self.inner.keeps_pairs

    @property
    def drops_at(self) -> float | None:  # type: ignore[override]
        return self.inner.drops_at

    def dropped(self, state: Any) -> Dropped | None:
        return self.policy.dropped(state.inner)


def told_by(policy: Policy, belief: Belief) -> Sentence:
    """What the policy inside says of itself."""
    said = policy.explain(belief._replace(state=belief.state.inner))
    return said if isinstance(said, Sentence) else Sentence("{text}", text=str(said))


def check_told_by_history(policy: Policy, what: str) -> None:
    """Refuse a policy that a history is not enough for; `what` is to be done with it."""
    name = type(policy).__name__
    if not isinstance(policy, CompiledPolicy):
        raise ArmatureError(
            f"{name} is written in plain Python, and {what} is for policies made of kernels "
            "(`CompiledPolicy`), such as Challenger."
        )
    if isinstance(policy, OwnHistoryPolicy):
        raise ArmatureError(
            f"{policy.name} restarts or forgets by itself: {what} is for one that does not."
        )
    if policy.update is not None and not policy.reads_history:
        raise ArmatureError(
            f"{name} takes in every reward by itself (it has an `update`) and can't be told again "
            f"what came since a change: use a policy that reads its history, such as Challenger."
        )
