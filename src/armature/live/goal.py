"""The most or the least: rewards, or costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.structures import Structure

Numbers = TypeVar("Numbers", float, Floats)


@dataclass(frozen=True)
class Goal:
    """How what is told becomes what a policy maximises: itself, or `about` minus it.

    Policies maximise. Where costs are to be minimised, they are given a - cost, with the a for
    which that has a distribution of the same family: 0 for Gaussian rewards, 1 for Bernoulli ones.
    """

    word: str
    about: float | None

    @classmethod
    def of(cls, word: str, family: Family) -> Goal:
        """The goal "max" or "min", for a family."""
        if not (isinstance(word, str) and word in ("max", "min")):
            raise ArmatureError(f'goal must be "max" or "min"; got {word!r}.')
        if word == "max":
            return cls(word, None)
        if family.mirror is None:
            raise ArmatureError(
                f'goal="min" does not go with {family}: minus a reward has another kind of '
                "distribution. Use Gaussian rewards, or Bernoulli or Bounded ones with the same "
                "bounds for all arms."
            )
        return cls(word, family.mirror)

    def value(self, told: Numbers) -> Numbers:
        """What the policy is given for what was told; and back, for that is the same."""
        return told if self.about is None else self.about - told

    def sums(self, pulls: Floats, sums: Floats) -> Floats:
        """The same for sums of so many rewards."""
        return sums if self.about is None else self.about * pulls - sums

    def interval(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The same for the ends of intervals."""
        return (low, high) if self.about is None else (self.about - high, self.about - low)

    def structure(self, told: Structure) -> Structure:
        """What is known about the values, where the structure is about what is told."""
        return told if self.about is None else told.mirrored(self.about)
