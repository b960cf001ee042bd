"""How many rounds until one could be sure of the best arm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from armature.assess.arms import seen_means
from armature.assess.log.log import Log
from armature.assess.noise import Informed
from armature.bounds import characteristic_time
from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.live.verdict import Verdict, verdict
from armature.structures import Structure
from armature.structures.instance import Instance


@dataclass(frozen=True, eq=False)
class Certainty:
    """The verdict on the log, and what it takes from nothing.

    Attributes
    ----------
        verdict: which arm leads, whether that is sure, how many more samples it takes.
        least, unconstrained: T* ln(1 / delta), the expected number of samples of the best possible
            rule that begins with nothing, with and without the structure; nan where there is none.
        shares: the shares of the samples in which it is attained.
    """

    verdict: Verdict
    least: float
    unconstrained: float
    shares: Floats | None

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "verdict": self.verdict.to_data(),
            "least": self.least,
            "least_unconstrained": self.unconstrained,
            "shares": None if self.shares is None else self.shares.tolist(),
        }


def how_sure(
    log: Log, structure: Structure, informed: Informed, fitted: Floats, delta: float
) -> Certainty:
    """Whether the best arm is known, and what that takes."""
    means = seen_means(log, informed)
    found = verdict(structure, informed.cautious, log.counts, means, delta, "practical", log.arms)
    try:
        time = characteristic_time(Instance(structure, fitted, informed.family))
    except ArmatureError:  # two arms lead, or no means fit
        return Certainty(found, math.nan, math.nan, None)
    scale = math.log(1.0 / delta)
    return Certainty(found, time.value * scale, time.unconstrained * scale, time.shares)
