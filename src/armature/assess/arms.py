"""The arms: how much rewards vary, and means with intervals, beside the structure's fit.

Sigma is estimated from the log, or a given one is checked against it.

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
from typing import Any, Literal

import numpy as np

from armature.assess.log import Log
from armature.errors import ArmatureError
from armature.families import Bernoulli, Exponential, Family, Gaussian, Poisson
from armature.families.kernels import estimate_variance, learning_address, total_learning_cost
from armature.kernels.arrays import Floats, Ints
from armature.structures import Structure
from armature.words import Arm, Sentence


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


Spread = Literal["common", "each"]
ENOUGH = 20  # rewards that an arm needs for an estimate of its own
UNLIKE = 4.0  # times the variance of another arm: the arms differ
WELL_KNOWN = 100.0  # degrees of freedom from which on sigma counts as known
OFF = 1.25  # times the variance that the family says


@dataclass(frozen=True, eq=False)
class Informed:
    """A reward family with what the log says of how much rewards vary.

    Attributes
    ----------
        given: the family as it was given.
        family: with the estimate from the log, if there is one to be made.
        cautious: the same with the enlarged estimate that live bandits use, which makes up for few
            rewards: evidence and verdicts rest on it.
        freedom: degrees of freedom of the estimate; inf where nothing is estimated.
        note: what to say about it, if there is anything.
    """

    given: Family
    family: Family
    cautious: Family
    freedom: float
    note: Sentence | None

    @property
    def estimated(self) -> bool:
        """True if sigma comes from the log."""
        return self.freedom < math.inf

    @property
    def simulated(self) -> Family:
        """The family of simulations; policies know sigma only if the log determines it well."""
        sigma = getattr(self.family, "sigma", None)
        if self.freedom < WELL_KNOWN and isinstance(sigma, float):
            return Gaussian(sigma, known=False)
        return self.family


def informed(log: Log, family: Family, spread: Spread = "common") -> Informed:
    """The family, with sigma from the log where it is not known: one for all arms, or for each."""
    if not (isinstance(spread, str) and spread in ("common", "each")):
        raise ArmatureError(f'spread must be "common" or "each"; got {spread!r}.')
    if not family.as_told.estimated:
        if spread == "each":
            raise ArmatureError(
                f'spread="each" is for a sigma that is not known, Gaussian(sigma=None); {family} '
                "says how much rewards vary."
            )
        return Informed(family, family, family, math.inf, _check(log, family))
    squares = _squares(log)
    seen = log.counts > 0.0
    freedom = float((log.counts[seen] - 1.0).sum())
    if spread == "each":
        return _each(log, family, squares)
    variance = float(squares.sum()) / freedom if freedom > 0.0 else 0.0
    if not variance > 0.0:
        raise ArmatureError(
            f"{log.name}: no arm has two different rewards, so sigma can't be estimated: "
            "give Gaussian(sigma=...)."
        )
    means = np.where(seen, log.means, 0.0)
    enlarged = float(estimate_variance(log.counts, means, squares))
    plain = family.estimate(variance)
    text = "Sigma is estimated from the log: {sigma:.4g} for all arms."
    note, unlike = Sentence(text, sigma=math.sqrt(variance)), _unlike(log)
    note = note if unlike is None else note + unlike
    return Informed(family, plain, family.estimate(max(enlarged, variance)), freedom, note)


def _squares(log: Log) -> Floats:
    if log.squares is None:
        raise ArmatureError(
            f"{log.name} needs the sum of the squared rewards of each arm, as sigma is not known: "
            "give it, or Gaussian(sigma=...)."
        )
    return log.squares


def _each(log: Log, family: Family, squares: Floats) -> Informed:
    """A sigma for each arm, from its own rewards."""
    few = (log.counts < ENOUGH) | ~(squares > 0.0)
    if few.any():
        k = int(few.argmax())
        raise ArmatureError(
            f'{log.name}: spread="each" needs {ENOUGH} rewards of each arm, not all equal; arm '
            f"{log.arms[k]!r} has {log.counts[k]:g}."
        )
    own = np.sqrt(squares / (log.counts - 1.0))
    found = Gaussian(own.tolist())
    note = _ends("Sigma is estimated from the log for each arm: from {low} ({least}) to {high} "
                 "({most}).", own, np.arange(own.size))  # fmt: skip
    return Informed(family, found, found, float((log.counts - 1.0).min()), note)


def _ends(text: str, sigmas: Floats, arms: Ints) -> Sentence:
    """About the least and the largest sigma of some arms."""
    k, m = int(sigmas.argmin()), int(sigmas.argmax())
    return Sentence(text, low=float(sigmas[k]), least=Arm(int(arms[k])), high=float(sigmas[m]),
                    most=Arm(int(arms[m])))  # fmt: skip


def _unlike(log: Log) -> Sentence | None:
    """A warning if one sigma for all arms is a poor description."""
    enough = log.counts >= ENOUGH
    if log.squares is None or enough.sum() < 2:
        return None
    own = log.squares[enough] / (log.counts[enough] - 1.0)
    if not own.max() > UNLIKE * own.min():
        return None
    return _ends('But the arms differ: {least} has {low}, {most} has {high}. With spread="each", '
                 "each arm gets its own.", np.sqrt(own), np.flatnonzero(enough))  # fmt: skip


def _check(log: Log, family: Family) -> Sentence | None:
    """A warning if rewards do not vary as the family says, where the log can tell."""
    if log.squares is None or not isinstance(family, (Gaussian, Poisson, Exponential)):
        return None
    freedom = float(np.maximum(log.counts - 1.0, 0.0).sum())
    said = 0.0
    for k, mean in enumerate(log.means):
        if log.counts[k] > 1.0:
            said += (log.counts[k] - 1.0) * variance_of(family.for_arm(k), float(mean))
    if freedom < 50.0 or not said > 0.0:
        return None
    ratio = float(log.squares.sum()) / said
    chance = 4.0 * math.sqrt((2.0 if isinstance(family, Gaussian) else 8.0) / freedom)
    if 1.0 / OFF <= ratio <= OFF or abs(ratio - 1.0) <= chance:
        return None
    return Sentence(
        "Rewards vary {more} than {family} says: their variance is {ratio:.3g} times as large. "
        "All results here are therefore too {danger}.",
        more="more" if ratio > 1.0 else "less", family=str(family), ratio=ratio,
        danger="confident" if ratio > 1.0 else "cautious",
    )  # fmt: skip


def variance_of(family: Family, mean: float) -> float:
    """The variance of rewards of a mean: of one arm's family."""
    if isinstance(family, Gaussian):
        return family.parameter
    return mean if isinstance(family, Poisson) else mean * mean
