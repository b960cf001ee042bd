"""Numbers as people give them: what is one, and which are supported.

Rewards, means and the numbers that a structure is made of lie between -1e30 and 1e30; a standard
deviation lies between 1e-30 and 1e30, and so does what must be positive, such as the mean of
exponential rewards. So a divergence is below 1e121, and neither its square nor a sum of as many as
there could ever be exceeds what a double holds. What lies beyond is refused: it is a slip, or wants
another unit.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError, short

MOST_COUNTED = 2**53  # rounds and the like that are counted exactly
LARGEST = 1e30
SMALLEST = 1e-30
MOST_PAIRED = 5000  # arms, where numbers are kept for each pair of them: 200 MB for one of each


def as_real(value: Any) -> float:
    """A real number as Python's own, to be compared in full precision; nan for anything else.

    (NumPy compares its short numbers in their own precision, in which a third is no less than the
    number above it.) A whole number that is too large for it becomes the largest that there is.

    >>> as_real(np.float32(0.5)), as_real(10**400), as_real(True), as_real("1")
    (0.5, 1.7976931348623157e+308, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, np.integer, np.floating)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        number: Any = value
        return sys.float_info.max if number > 0 else -sys.float_info.max


def as_array(values: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """The numbers as an array, of any shape, or an error."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArmatureError(f"{name} must be numbers; got {values!r}.") from None


def is_whole(value: Any) -> bool:
    """Whether it is a whole number of Python or NumPy; truth values are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_flag(value: object, name: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArmatureError(f"{name} must be True or False; got {short(value)}.")


def is_several(value: object) -> bool:
    """Whether there are things in it, one after the other; a text is one thing."""
    text = isinstance(value, (str, bytes))
    return isinstance(value, Iterable) and not text and getattr(value, "ndim", 1) > 0


def checked_several(value: Any, name: str, example: str) -> list[Any]:
    """What is given one after the other as a list, or an error."""
    if not is_several(value):
        raise ArmatureError(f"{name} must be a list such as {example}; got {short(value)}.")
    return list(value)


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
