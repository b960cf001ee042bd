"""How much rewards vary: sigma estimated from the log, or a given one checked against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from armature.assess.log import Log
from armature.errors import ArmatureError
from armature.families import Exponential, Family, Gaussian, Poisson
from armature.families.estimation import estimate_variance
from armature.kernels.arrays import Floats, Ints
from armature.words import Arm, Sentence

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
        """Whether sigma comes from the log."""
        return self.freedom < math.inf

    @property
    def simulated(self) -> Family:
        """What simulations draw from; policies know sigma only if the log determines it well."""
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
    """Whether one sigma for all arms is a poor description."""
    enough = log.counts >= ENOUGH
    if log.squares is None or enough.sum() < 2:
        return None
    own = log.squares[enough] / (log.counts[enough] - 1.0)
    if not own.max() > UNLIKE * own.min():
        return None
    return _ends('But the arms differ: {least} has {low}, {most} has {high}. With spread="each", '
                 "each arm gets its own.", np.sqrt(own), np.flatnonzero(enough))  # fmt: skip


def _check(log: Log, family: Family) -> Sentence | None:
    """Whether rewards vary as the family says, where the log can tell."""
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
