"""The worth of a structure: less exploration in the long run, fewer samples to the best arm."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.assess.arms import Informed, seen_means
from armature.assess.log import Log
from armature.bounds import characteristic_time, lower_bound
from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.live.verdict import GivenMargin, Verdict, verdict
from armature.structures import Structure
from armature.structures.instance import Instance
from armature.structures.oracles.margin import Margin

NOTHING = 1e-6  # of the most pulls: what is left of a solver's tolerance


@dataclass(frozen=True, eq=False)
class Worth:
    """The lower bounds with and without the structure, if the fitted means are the truth.

    They are about the long run: V ln T is no amount that T rounds must cost.

    Attributes
    ----------
        value, unconstrained: V, the least growth of regret per ln T; None, with a `reason`,
            where there is no such number, as where two arms lead.
        pulls, pulls_without: the optimal pulls of each arm per ln T; 0 for the best arm.
        horizon: T.
        arms: what they are called.
        best: the best arm.
    """

    value: float | None
    unconstrained: float | None
    pulls: Floats | None
    pulls_without: Floats | None
    horizon: int
    arms: tuple[Hashable, ...]
    best: Hashable | None
    reason: str = ""

    @property
    def left(self) -> float | None:
        """The part of the regret without the structure that it leaves, at the same means."""
        if self.value is None or not self.unconstrained:
            return None
        return self.value / self.unconstrained

    @property
    def explored(self) -> tuple[Hashable, ...]:
        """The arms that the structure leaves open."""
        if self.pulls is None:
            return ()
        most = float(self.pulls.max())
        return tuple(a for a, n in zip(self.arms, self.pulls, strict=True) if n > NOTHING * most)

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "V": self.value,
            "V_unconstrained": self.unconstrained,
            "reason": self.reason,
            "pulls_per_log": None if self.pulls is None else self.pulls.tolist(),
            "pulls_per_log_unconstrained": None
            if self.pulls_without is None
            else self.pulls_without.tolist(),
            "best": self.best,
            "explored": list(self.explored),
        }


def worth_of(
    structure: Structure,
    means: Floats,
    family: Family,
    arms: Sequence[Hashable],
    horizon: int,
) -> Worth:
    """The bounds at these means; where there are none, the reason."""
    names = tuple(arms)
    try:
        bound = lower_bound(Instance(structure, means, family))
    except ArmatureError as error:
        return Worth(None, None, None, None, horizon, names, None, str(error))
    best = int(np.argmax(means))
    return Worth(
        bound.value,
        bound.unconstrained,
        np.where(bound.pulls > NOTHING * bound.pulls.max(initial=0.0), bound.pulls, 0.0),
        without_structure(means, family),
        horizon,
        names,
        names[best],
    )


def without_structure(means: Floats, family: Family) -> Floats:
    """The optimal pulls per ln T where nothing is known, 1 / d(mu_k, mu_best) (Lai and Robbins)."""
    best = int(np.argmax(means))
    pulls = np.zeros(means.size)
    for k in range(means.size):
        own = family.for_arm(k)
        if k != best and means[best] in own.domain:  # else k can't be as good
            cost = own.divergence(float(means[k]), float(means[best]))
            pulls[k] = 1.0 / cost if cost > 0.0 else math.inf
    return pulls


@dataclass(frozen=True, eq=False)
class Certainty:
    """The verdict on the log, and how many samples the best rule needs from the start.

    Attributes
    ----------
        verdict: which arm leads, whether that is sure, how many more samples it takes.
        least, unconstrained: T* ln(1 / delta), the expected number of samples of the best possible
            rule that starts without data, with and without the structure; nan where there is none.
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
    log: Log,
    structure: Structure,
    informed: Informed,
    fitted: Floats,
    delta: float,
    margin: float | str | None,
) -> Certainty:
    """The certainty about the best arm, and the samples that it takes."""
    means = seen_means(log, informed)
    found = verdict(
        structure, informed.cautious, log.counts, means, delta, "practical", log.arms,
        GivenMargin(margin),
    )  # fmt: skip
    try:
        wanted = Margin.of(margin)
        if wanted is not None and np.isfinite(fitted).all():
            fitted = wanted.untied(fitted, int(fitted.argmax()))
        time = characteristic_time(Instance(structure, fitted, informed.family), margin=margin)
    except ArmatureError:  # two arms lead, or no means fit
        return Certainty(found, math.nan, math.nan, None)
    scale = math.log(1.0 / delta)
    return Certainty(found, time.value * scale, time.unconstrained * scale, time.shares)
