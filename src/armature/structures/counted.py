"""Structures that know of an arm nothing but its number."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from armature.structures.checks import checked_n_arms
from armature.structures.structure import Structure


@dataclass(frozen=True, eq=False, repr=False)
class Counted(Structure):
    """With an arm more or less it says the same of `n_arms` arms; of a new one nothing is asked."""

    n_arms: int

    arm_facts = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(self.n_arms))

    def with_arm(self, at: int, facts: Mapping[str, Any]) -> Self:
        return dataclasses.replace(self, n_arms=self.n_arms + 1)

    def without_arm(self, arm: int) -> Self:
        return dataclasses.replace(self, n_arms=self.n_arms - 1)
