"""What pictures show, computed before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from armature.bounds import Alternative, LowerBound, bound_or_none, lower_bound
from armature.structures.instance import Instance

Array = npt.NDArray[Any]
LOWER, WITHOUT = "lower bound", "without the structure"
ASYMPTOTIC = (
    "Lower bounds are asymptotic: in the end regret grows at least like V ln t. "
    "At any finite t it may lie below that line."
)


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean regret of a policy, with a band around it."""

    name: str
    mean: Array  # (rounds,)
    low: Array
    high: Array

    @property
    def final(self) -> float:
        """The mean regret in the end."""
        return float(self.mean[-1])


@dataclass(frozen=True, eq=False)
class RegretCurves:
    """Mean regret of policies against rounds, beside the lower bounds.

    `bounds` are the constants V of the lines V ln t by their names: the structure's and, where it
    says something, the one without it; none where no bound can be computed. `top` is where the
    picture ends: what loses far more than the others leaves it.
    """

    title: str
    n_arms: int
    repetitions: int
    rounds: Array
    curves: tuple[Curve, ...]
    bounds: dict[str, float]
    top: float

    @property
    def leaving(self) -> tuple[Curve, ...]:
        """The curves that leave the picture at its top."""
        return tuple(curve for curve in self.curves if curve.final > self.top)


def regret_curves(
    instance: Instance,
    rounds: Array,
    regret: Mapping[str, Array],
    band: float = 2.0,
    title: str | None = None,
) -> RegretCurves:
    """The curves of policies whose regret, (repetitions, rounds) each, is given.

    Parameters
    ----------
    instance
        The problem, for its bounds.
    rounds
        (C,): at which rounds the regret was recorded.
    regret
        (R, C) for each policy's name.
    band
        Half the width of the band in standard errors of the mean; it has none where R = 1.
    title
        What the problem is called; its structure and number of arms unless given.
    """
    curves = []
    for name, values in regret.items():
        mean = values.mean(axis=0)
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0 * mean
        curves.append(Curve(name, mean, mean - band * error, mean + band * error))
    bounds = _bounds(instance)
    return RegretCurves(
        title=title or f"{type(instance.structure).__name__}, {instance.n_arms} arms",
        n_arms=instance.n_arms,
        repetitions=len(next(iter(regret.values()))),
        rounds=rounds,
        curves=tuple(curves),
        bounds=bounds,
        top=_top(curves, bounds, float(np.log(rounds[-1]))),
    )


def _bounds(instance: Instance) -> dict[str, float]:
    bound = bound_or_none(instance)
    if bound is None:  # which does not take the curves with it
        return {}
    if instance.structure.assumes_nothing:
        return {LOWER: bound.value}
    return {LOWER: bound.value, WITHOUT: bound.unconstrained}


def _top(curves: list[Curve], bounds: dict[str, float], log: float) -> float:
    """The height of the picture: bounds and UCB are in it, and at least one curve to its end."""
    highest = 1.06 * max(float(curve.mean.max()) for curve in curves)
    least = 1.3 * min(curve.final for curve in curves)
    if not bounds:
        return max(highest, 1e-9)
    top = 1.2 * max(bounds.values()) * log
    top = max([top, *(2.0 * curve.final for curve in curves if curve.name == "UCB")])
    return float(max(min(top, highest), 1.06 * bounds[LOWER] * log, least, 1e-9))


@dataclass(frozen=True, eq=False)
class BoundBars:
    """A lower bound beside the one without the structure: pulls per ln T of each arm."""

    title: str
    means: Array
    best_arm: int
    alternatives: tuple[Alternative, ...]
    value: float
    pulls: Array
    unconstrained: float
    unconstrained_pulls: Array


def bound_bars(
    instance: Instance, bound: LowerBound, epsilon: float | None = None, most: int = 4
) -> BoundBars:
    """What there is to draw of a bound, with so many of its confusing instances at most."""
    free = Instance(instance.structure.forgotten(), instance.means, instance.family)
    others = lower_bound(free, epsilon)
    return BoundBars(
        title=type(instance.structure).__name__,
        means=instance.means,
        best_arm=instance.best_arm,
        alternatives=tuple(bound.alternatives[:most]),
        value=bound.value,
        pulls=bound.pulls,
        unconstrained=others.value,
        unconstrained_pulls=others.pulls,
    )
