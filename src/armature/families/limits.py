"""The numbers that are supported: finite in, finite out.

Rewards, means and the numbers that a structure is made of lie between -1e30 and 1e30; a standard
deviation lies between 1e-30 and 1e30, and so does what must be positive, such as the mean of
exponential rewards. So a divergence is below 1e121, and neither its square nor a sum of as many as
there could ever be exceeds what a double holds. What lies beyond is refused: it is a slip, or wants
another unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.numbers import as_real

LARGEST = 1e30
SMALLEST = 1e-30
MOST_PAIRED = 5000  # arms, where numbers are kept for each pair of them: 200 MB for one of each


class _Interval(Protocol):
    @property
    def low(self) -> float: ...
    @property
    def closed(self) -> bool: ...


def check_size(values: npt.ArrayLike, name: str) -> None:
    """Refuse numbers beyond -1e30 and 1e30; the error names the first of them."""
    array = np.asarray(values, dtype=np.float64)
    beyond = np.abs(array) > LARGEST
    if beyond.any():
        at = np.argwhere(beyond)[0]
        where = name + "".join(f"[{i}]" for i in at)
        raise ArmatureError(
            f"{where} = {array[tuple(at)]:g} is beyond what is supported, numbers between "
            f"{-LARGEST:g} and {LARGEST:g}: use another unit."
        )


def check_mean(values: npt.ArrayLike, domain: _Interval, name: str) -> None:
    """Refuse means, or rewards, that are too large or too near to the open end of a domain."""
    check_size(values, name)
    if domain.closed or not math.isfinite(domain.low):
        return
    array = np.asarray(values, dtype=np.float64)
    beyond = array < domain.low + SMALLEST
    if beyond.any():
        at = np.argwhere(beyond)[0]
        where = name + "".join(f"[{i}]" for i in at)
        raise ArmatureError(
            f"{where} = {array[tuple(at)]:g} is too small: it must be at least "
            f"{domain.low + SMALLEST:g}."
        )


def checked_finite(value: Any, name: str) -> float:
    """A finite number of supported size, or an error."""
    number = as_real(value)
    if not math.isfinite(number):
        raise ArmatureError(f"{name} must be a finite number; got {value!r}.")
    if abs(number) > LARGEST:
        raise ArmatureError(
            f"{name} = {value!r} is beyond what is supported, numbers between {-LARGEST:g} and "
            f"{LARGEST:g}: use another unit."
        )
    return number


def checked_scale(value: Any, name: str) -> float:
    """A standard deviation, or another positive scale, or an error."""
    number = as_real(value)
    if not 0.0 < number < math.inf:
        raise ArmatureError(f"{name} must be a positive finite number; got {value!r}.")
    if not SMALLEST <= number <= LARGEST:
        raise ArmatureError(
            f"{name} = {value!r} is beyond what is supported, from {SMALLEST:g} to {LARGEST:g}: "
            "use another unit."
        )
    return number


def largest_of(scales: float | Sequence[float]) -> float:
    """The scale of all arms, or the largest where each has its own."""
    return float(max(scales) if isinstance(scales, Sequence) else scales)


def checked_scales(value: Any, name: str) -> float | tuple[float, ...]:
    """A positive scale for all arms, or one for each (at least two), or an error."""
    if hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if not isinstance(value, (list, tuple)):
        return checked_scale(value, name)
    scales = tuple(checked_scale(one, f"{name}[{k}]") for k, one in enumerate(value))
    if len(scales) < 2:
        raise ArmatureError(
            f"{name} has {len(scales)} entries: give one number for all arms, or one for each, at "
            "least 2."
        )
    return scales
