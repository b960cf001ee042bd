"""A reward family as kernels see it, and intervals of means."""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.kernels.arrays import Floats
from armature.kernels.numbers import as_real


class FamilyRecord(NamedTuple):
    """A reward family as kernels see it: a few numbers, and where its formulas are.

    Where the arms have parameters of their own, `kernels.of_arm` makes a record of one arm's. The
    numbers here are then what holds for all arms: no parameter (nan), the widest domain, the
    largest proxy.
    """

    gaussian: bool  # whose formulas are written out where they are used
    alike: bool  # all arms have the same parameter: pooling is averaging
    estimated: bool  # the parameter is an estimate, which changes from round to round
    parameter: float  # the variance of Gaussian rewards; whatever a family's formulas take
    low: float  # the ends of the domain
    high: float
    proxy: float  # a variance for which rewards are sub-Gaussian; infinite where there is none
    shift: float  # formulas are about means less this
    arms: Floats  # (K, 4): parameter, low, high and proxy of each arm; (0, 4) where all are alike
    divergence: int
    upper: int
    lower: int
    slope: int
    curvature: int
    variance: int
    draw: int
    posterior: int


class Interval(NamedTuple):
    """A set of numbers: an interval with or without its lower end, or the integers in it.

    >>> 0.0 in Interval(0.0, math.inf), 0.0 in Interval(0.0, math.inf, closed=False)
    (True, False)
    """

    low: float
    high: float
    closed: bool = True
    integer: bool = False
    ends: bool = False  # nothing but the two ends

    def __contains__(self, value: object) -> bool:
        x = float(value) if isinstance(value, bool) else as_real(value)
        if self.ends:
            return x in (self.low, self.high)
        above = x >= self.low if self.closed else x > self.low
        return above and x <= self.high and math.isfinite(x) and not (self.integer and x % 1.0)

    def __str__(self) -> str:
        if self.ends:
            return f"{{{self.low:g}, {self.high:g}}}"
        if self.integer:
            return "{0, 1}" if self.high == 1.0 else "{0, 1, 2, ...}"
        left = "[" if self.closed and math.isfinite(self.low) else "("
        right = "]" if math.isfinite(self.high) else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"
