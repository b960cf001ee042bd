"""The arms: estimates with intervals, beside the structure's fit."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.assess.intervals import at_any_time, intervals
from armature.assess.log.log import Log
from armature.assess.noise import Informed
from armature.kernels.arrays import Floats
from armature.structures import Structure


@dataclass(frozen=True, eq=False)
class ArmEstimates:
    """What the log says of each arm.

    Attributes
    ----------
        arms: what they are called.
        pulls, means: of each arm; the mean is nan without rewards.
        low, high: an interval of each mean by itself, which misses it with probability `delta` at
            most, if the number of rewards was fixed in advance.
        low_any, high_any: wider ones, which hold whoever chose the arms, and whenever one looks;
            None where the family has none.
        fitted: the nearest mean vector in the structure; nan where no means in it could have given
            these rewards.
        delta: see there.
    """

    arms: tuple[Hashable, ...]
    pulls: Floats
    means: Floats
    low: Floats
    high: Floats
    low_any: Floats | None
    high_any: Floats | None
    fitted: Floats
    delta: float

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "delta": self.delta,
            "arms": [
                {
                    "arm": arm,
                    "pulls": int(self.pulls[k]),
                    "mean": float(self.means[k]),
                    "low": float(self.low[k]),
                    "high": float(self.high[k]),
                    "low_any": None if self.low_any is None else float(self.low_any[k]),
                    "high_any": None if self.high_any is None else float(self.high_any[k]),
                    "fitted": float(self.fitted[k]),
                }
                for k, arm in enumerate(self.arms)
            ],
        }


def estimate_arms(log: Log, structure: Structure, informed: Informed, delta: float) -> ArmEstimates:
    """Means, intervals and the structure's fit."""
    low, high = intervals(informed, log.counts, log.sums, delta)
    wide = at_any_time(informed.cautious, log.counts, log.sums, delta)
    fit = structure.project(seen_means(log, informed), log.counts, informed.family)
    return ArmEstimates(
        log.arms,
        log.counts,
        log.means,
        low,
        high,
        None if wide is None else wide[0],
        None if wide is None else wide[1],
        np.asarray(fit.means),
        delta,
    )


def seen_means(log: Log, informed: Informed) -> Floats:
    """Means for the oracles: of an arm without rewards, whose weight is 0, that of the others."""
    means, seen = log.means, log.counts > 0.0
    some = float(means[seen].mean())
    clipped = informed.family.clipped(np.where(seen, means, some))
    domain = informed.family.domain
    return clipped if domain.closed else np.maximum(clipped, domain.low + 1e-30)
