"""A reward family as kernels see it: its record, its formulas by address, intervals of means.

What is compiled against a `FamilyRecord` is compiled once for all families, a user's included: it
calls whatever formulas the record points to. The formulas are kernels of fixed signatures. Only
Gaussian rewards, whose formulas are a few operations, are written out where they are used
(`armature.families.kernels`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from armature.kernels.addresses import (
    Address,
    Signature,
    address_of,
    function_at,
    teach_address,
)
from armature.kernels.arrays import Floats
from armature.kernels.checks import as_real
from armature.kernels.kernel import Kernel, before_compiling, kernel
from armature.kernels.streams import Source, Stream


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
    divergence: Address
    upper: Address
    lower: Address
    slope: Address
    curvature: Address
    variance: Address
    draw: Address
    posterior: Address

    def numbers_of_kernels(self) -> tuple[Address, ...]:
        """The formulas' numbers."""
        return self[-len(Formulas._fields) :]  # type: ignore[return-value]


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


class Formulas(NamedTuple):
    """Everything about a family that compiled code asks for; p is the family's parameter.

    All are kernels. x and y are means of the domain; where a formula is infinite it says so.
    """

    divergence: Kernel[[float, float, float], float]  # (p, x, y): d(x, y); 0 where x = y
    upper: Kernel[[float, float, float], float]  # (p, x, level): sup { y : d(x, y) <= level }
    lower: Kernel[[float, float, float], float]  # (p, x, level): inf { y : d(x, y) <= level }
    slope: Kernel[[float, float, float], float]  # (p, x, y): the derivative of d(x, .) at y
    curvature: Kernel[[float, float, float], float]  # (p, x, y): the second derivative
    variance: Kernel[[float, float], float]  # (p, x): of rewards of mean x
    # (p, mean, out, source): out holds uniform numbers and becomes rewards
    draw: Kernel[[float, float, Floats, Source], None]
    # (p, pulls, total, stream): a posterior sample of the mean of so many rewards with that sum
    posterior: Kernel[[float, float, float, Stream], float]


def two_means_at(address: Address) -> Callable[[float, float, float], float]:
    """The formula of (p, x, y) at an address."""
    return function_at(address)


def one_mean_at(address: Address) -> Callable[[float, float], float]:
    """The formula of (p, x) at an address."""
    return function_at(address)


def draw_at(address: Address) -> Callable[[float, float, Floats, Source], None]:
    """The formula `draw` at an address."""
    return function_at(address)


def posterior_at(address: Address) -> Callable[[float, float, float, Stream], float]:
    """The formula `posterior` at an address."""
    return function_at(address)


@functools.cache
def signatures() -> dict[str, Any]:
    """The formulas' signatures, as Numba sees them."""
    import numba as _numba

    types: Any = _numba.types
    real, reals, integers = types.float64, types.float64[::1], types.int64[::1]
    source = types.NamedUniTuple(types.int64, len(Source._fields), Source)
    stream = types.NamedUniTuple(integers, 1, Stream)
    two_means = real(real, real, real)
    return {
        **dict.fromkeys(("divergence", "upper", "lower", "slope", "curvature"), two_means),
        "variance": real(real, real),
        "draw": types.void(real, real, reals, source),
        "posterior": real(real, real, real, stream),
    }


def numba_record() -> Any:
    """A `FamilyRecord` as Numba sees it."""
    import numba as _numba

    types: Any = _numba.types
    flags, numbers, addresses = [types.boolean] * 3, [types.float64] * 5, [types.int64] * 8
    return types.NamedTuple([*flags, *numbers, types.float64[:, ::1], *addresses], FamilyRecord)


@before_compiling
def _teach_formulas() -> None:
    known = signatures()
    teach_address(two_means_at, known["divergence"])
    teach_address(one_mean_at, known["variance"])
    teach_address(draw_at, known["draw"])
    teach_address(posterior_at, known["posterior"])


@kernel
def of_two_means(address: Address, p: float, x: float, y: float) -> float:
    """Call a formula of (p, x, y)."""
    return two_means_at(address)(p, x, y)


@kernel
def of_one_mean(address: Address, p: float, x: float) -> float:
    """Call a formula of (p, x)."""
    return one_mean_at(address)(p, x)


@functools.cache
def addresses(formulas: Formulas) -> tuple[Address, ...]:
    """The formulas' numbers, in the order of their names."""
    return tuple(
        address_of(getattr(formulas, name), Signature(signatures, name))
        for name in Formulas._fields
    )
