"""The common part of policies that are made around another: they promise what it promises."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from armature.families import Family
from armature.families.kernels import no_evidence
from armature.policies.policy import CompiledPolicy, Policy
from armature.structures import Structure


@dataclass(frozen=True)
class AroundPolicy(CompiledPolicy):
    """One whose field `policy` chooses most of the time."""

    policy: Policy

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
        if not family.has_evidence:
            return no_evidence(family)
        return self.inner._objection(structure, family)
