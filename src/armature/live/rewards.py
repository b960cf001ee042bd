"""Which rewards can be taken in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family, Interval
from armature.families.limits import LARGEST, check_mean


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
    """Which rewards the arms of a family can have; what is known of an arm is looked up once."""

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
