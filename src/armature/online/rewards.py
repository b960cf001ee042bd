"""Which rewards can be taken in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.limits import check_mean


def checked_number(reward: Any) -> float:
    """A reward as a finite number, whatever its family."""
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


def checked_reward(reward: Any, family: Family, arm: int) -> float:
    """A reward that an arm can have."""
    value, family = checked_number(reward), family.for_arm(arm)
    if value not in family.support:
        raise ArmatureError(
            f"the reward {value:g} can't come from {family}: its rewards lie in {family.support}."
        )
    if value not in family.domain:
        raise ArmatureError(
            f"the reward {value:g} can't be taken in: it has probability 0, and as a mean it "
            f"would lie outside of {family.domain}, the means of {family}."
        )
    check_mean(value, family.domain, "the reward")
    return value
