"""The arms: estimates with intervals, beside the structure's fit.

Intervals are exact if the number of rewards was fixed in advance: normal or, where sigma is
estimated, Student's; Clopper and Pearson (1934) for Bernoulli; Garwood (1936) for Poisson; from the
gamma distribution of the sum for exponential rewards. All others use Chernoff's bound,
n d(mean, x) <= ln(2 / delta), which holds for every one-parameter exponential family and for
rewards of which only the range is known.

A bandit does not fix these numbers in advance. The wider intervals of `at_any_time` hold there,
too: all x with n d(mean, x) <= ln(1 / delta) + learning cost, by Ville's inequality for the ratio
of the marginal likelihood to the likelihood at x (`armature.bounds.evidence`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.assess.log import Log
from armature.assess.noise import Informed
from armature.families import Bernoulli, Exponential, Family, Gaussian, Poisson
from armature.families.kernels import learning_address, total_learning_cost
from armature.kernels.arrays import Floats
from armature.structures import Structure


@dataclass(frozen=True, eq=False)
class ArmEstimates:
    """Estimates of each arm.

    Attributes
    ----------
        arms: what they are called.
        pulls, means: of each arm; the mean is nan without rewards.
        low, high: an interval of each mean by itself, which misses it with probability `delta` at
            most, if the number of rewards was fixed in advance.
        low_any, high_any: wider ones, which hold however and whenever arms are chosen;
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


Bounds = tuple[Floats, Floats]


def intervals(informed: Informed, pulls: Floats, sums: Floats, delta: float) -> Bounds:
    """Low and high ends of the mean of each arm; the whole domain for one without rewards."""
    K = pulls.size
    low, high = np.empty(K), np.empty(K)
    for k in range(K):
        own = informed.family.for_arm(k)
        low[k], high[k] = own.domain.low, own.domain.high
        if pulls[k] > 0.0:
            low[k], high[k] = interval(
                own, float(pulls[k]), float(sums[k]), delta, informed.freedom
            )
    return low, high


def interval(
    family: Family, n: float, total: float, delta: float, freedom: float = math.inf
) -> tuple[float, float]:
    """The interval of one arm's mean, from n rewards of that total.

    >>> low, high = interval(Bernoulli(), 10.0, 0.0, 0.05)
    >>> low, round(high, 6) == round(1.0 - 0.025 ** (1 / 10), 6)
    (0.0, True)
    """
    from scipy import stats

    tail = 0.5 * delta
    if isinstance(family, Gaussian):
        quantile = stats.norm.isf(tail) if freedom == math.inf else stats.t.isf(tail, freedom)
        reach = float(quantile) * math.sqrt(family.parameter / n)
        return total / n - reach, total / n + reach
    if isinstance(family, Bernoulli):
        unit = family.parameter
        x = min(max(round(total / unit), 0), int(n))
        low = 0.0 if x == 0 else unit * float(stats.beta.ppf(tail, x, n - x + 1))
        high = unit if x == n else unit * float(stats.beta.isf(tail, x + 1, n - x))
        return low, high
    if isinstance(family, Poisson):
        x = round(total)
        low = 0.0 if x == 0 else float(stats.gamma.ppf(tail, x)) / n
        return low, float(stats.gamma.isf(tail, x + 1)) / n
    if isinstance(family, Exponential):
        return total / float(stats.gamma.isf(tail, n)), total / float(stats.gamma.ppf(tail, n))
    mean = min(max(total / n, family.domain.low), family.domain.high)
    level = math.log(2.0 / delta) / n
    return family.lower(mean, level), family.upper(mean, level)


def at_any_time(family: Family, pulls: Floats, sums: Floats, delta: float) -> Bounds | None:
    """Intervals that hold at any time and under any way of choosing arms; None: there are none."""
    if not family.has_evidence:
        return None
    address = learning_address(family)
    K = pulls.size
    low, high = np.empty(K), np.empty(K)
    for k in range(K):
        own = family.for_arm(k)
        low[k], high[k] = own.domain.low, own.domain.high
        n = float(pulls[k])
        if not n > 0.0:
            continue
        mean = min(max(float(sums[k]) / n, own.domain.low), own.domain.high)
        if mean not in own.domain:  # at an open end
            continue
        cost = total_learning_cost(address, own.record_for(1), pulls[k : k + 1], sums[k : k + 1])
        level = (math.log(1.0 / delta) + cost) / n
        low[k], high[k] = own.lower(mean, level), own.upper(mean, level)
    return low, high
