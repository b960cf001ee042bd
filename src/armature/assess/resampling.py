"""Values of choices in a log, with intervals by the bootstrap.

Where a policy would have chosen the arm that a row shows, the row counts with the weight 1 / (the
probability with which it was shown), elsewhere with 0. The mean of weight times reward (inverse
propensity scores, IPS) has as its expectation the mean reward of the policy's choices; their sum
over the sum of the weights (self-normalised, SNIPS) varies less and is a little biased.

Intervals are by the bootstrap: rows that follow each other are put into at most `BLOCKS` blocks,
which are drawn anew with replacement. Percentile intervals of skewed weights run a little short (we
measured 93 to 95 % for 95 %), so that the quantiles are those of 0.8 delta in place of delta.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats
from armature.kernels.streams import generator

BLOCKS = 400
SAMPLES = 1000
CAUTION = 0.8
FEW = 50  # blocks, up to which exactly as many are drawn as there are
BOOTSTRAP = 2**62  # which random numbers


class Weighted(NamedTuple):
    """The value of choices, per round.

    Attributes
    ----------
        ips, ips_low, ips_high: inverse propensity scores, and their interval.
        snips, snips_low, snips_high: self-normalised.
        effective: the number of rows that would tell as much with equal weights,
            (sum of weights)^2 / (sum of their squares).
        largest: the largest weight.
        matched: how many rows show the arm that the policy would have chosen.
    """

    ips: float
    ips_low: float
    ips_high: float
    snips: float
    snips_low: float
    snips_high: float
    effective: float
    largest: float
    matched: int


def weigh(
    matches: Floats, probabilities: Floats, rewards: Floats, delta: float, seed: int
) -> Weighted:
    """IPS and SNIPS, from rows of which `matches` (1 or 0) says whether they show the choice."""
    weights = matches / probabilities
    gains = weights * rewards
    total = float(weights.sum())
    squares = float((weights * weights).sum())
    sums = np.stack([blocked(gains), blocked(weights), blocked(np.ones(gains.size))])
    again = resampled(sums, seed)
    low, high = np.quantile(again[0] / again[2], _ends(delta))
    some = again[1] > 0.0
    ends = [math.nan, math.nan]
    if some.any() and total > 0.0:
        ends = np.quantile((again[0] / np.maximum(again[1], 1e-300))[some],
                           _ends(delta)).tolist()  # fmt: skip
    return Weighted(
        ips=float(gains.mean()),
        ips_low=float(low),
        ips_high=float(high),
        snips=float(gains.sum()) / total if total > 0.0 else math.nan,
        snips_low=ends[0],
        snips_high=ends[1],
        effective=total * total / squares if squares > 0.0 else 0.0,
        largest=float(weights.max(initial=0.0)),
        matched=int(matches.sum()),
    )


def mean_interval(values: Floats, delta: float, seed: int) -> tuple[float, float]:
    """An interval for a mean, by the bootstrap."""
    again = resampled(np.stack([blocked(values), blocked(np.ones(values.size))]), seed)
    low, high = np.quantile(again[0] / again[1], _ends(delta))
    return float(low), float(high)


def _ends(delta: float) -> list[float]:
    """The quantiles at which an interval ends."""
    return [0.5 * CAUTION * delta, 1.0 - 0.5 * CAUTION * delta]


def blocked(values: Floats) -> Floats:
    """Sums of neighbours, in at most `BLOCKS` blocks of nearly equal size.

    >>> blocked(np.arange(4.0)).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    starts = np.unique(np.linspace(0, values.size, min(values.size, BLOCKS), endpoint=False))
    return np.asarray(np.add.reduceat(values, starts.astype(np.int64)))


def resampled(sums: Floats, seed: int) -> Floats:
    """(quantities, SAMPLES): sums over blocks that are drawn with replacement."""
    return np.asarray(sums @ _times(sums.shape[1], seed))


@functools.lru_cache(maxsize=4)
def _times(n: int, seed: int) -> Floats:
    """(n, SAMPLES): how many times each of n blocks is drawn."""
    rng = generator(seed, BOOTSTRAP)
    if n > FEW:  # as good, and quicker
        return rng.poisson(1.0, (n, SAMPLES)).astype(np.float64)
    return rng.multinomial(n, np.full(n, 1.0 / n), size=SAMPLES).T.astype(np.float64)
