"""Rewards as people report them, and as a policy is given them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family, Interval
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST, check_mean
from armature.live.arms import Arms
from armature.structures import Structure

Numbers = TypeVar("Numbers", float, Floats)


@dataclass(frozen=True)
class Goal:
    """Map reported numbers to what a policy maximises: the identity, or `about - x`.

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
        """Map a reported number to the policy's reward; and back, which is the same map."""
        return told if self.about is None else self.about - told

    def sums(self, pulls: Floats, sums: Floats) -> Floats:
        """The same for sums, given the numbers of rewards."""
        return sums if self.about is None else self.about * pulls - sums

    def interval(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The same for the ends of intervals."""
        return (low, high) if self.about is None else (self.about - high, self.about - low)

    def structure(self, told: Structure) -> Structure:
        """The structure of the policy's rewards, where `told` is that of the reported numbers."""
        return told if self.about is None else told.mirrored(self.about)


def checked_number(reward: Any) -> float:
    """A reward as a finite number, whatever its family."""
    if type(reward) is float and math.isfinite(reward):
        return reward
    try:
        if isinstance(reward, (str, bytes)) or np.ndim(reward) > 0:
            raise TypeError
        value = float(reward)
    except OverflowError:
        raise ArmatureError("the reward is beyond what is supported: use another unit.") from None
    except (TypeError, ValueError):
        raise ArmatureError(f"a reward is a number; got {reward!r}.") from None
    if not math.isfinite(value):
        raise ArmatureError(f"a reward must be finite; got {value}.")
    return value


class Rewards:
    """The rewards that the arms of a family can have; facts about an arm are looked up once."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._arms: dict[int, tuple[Interval, Interval, Family]] = {}

    def checked(self, reward: Any, arm: int) -> float:
        """A reward that an arm can have."""
        value = checked_number(reward)
        if arm not in self._arms:
            family = self._family.for_arm(arm)
            self._arms[arm] = (family.support, family.domain, family)
        support, domain, family = self._arms[arm]
        if value not in support:
            raise ArmatureError(
                f"the reward {value:g} can't come from {family}: its rewards lie in {support}."
            )
        if value not in domain:
            raise ArmatureError(
                f"the reward {value:g} can't be taken in: it has probability 0, and as a mean it "
                f"would lie outside of {domain}, the means of {family}."
            )
        if not domain.closed or abs(value) > LARGEST:
            check_mean(value, domain, "the reward")
        return value


def pairs_of(arms: Arms, arm: Any, reward: Any) -> list[tuple[Any, Any]]:
    """An arm with its reward, or several with one for each; a tuple may be the label of an arm."""
    one = not isinstance(arm, (list, tuple, np.ndarray))
    if one or (isinstance(arm, tuple) and arms.has(arm)):
        return [(arm, reward)]
    several = isinstance(reward, (Sequence, np.ndarray)) and not isinstance(reward, str)
    if not several or len(arm) != len(reward):
        raise ArmatureError("tell needs one reward for each arm.")
    return list(zip(arm, reward, strict=True))
