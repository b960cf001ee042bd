"""Numbers as people give them: Python's, NumPy's, and what is none."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from armature.errors import ArmatureError, short

MOST_COUNTED = 2**53  # rounds and the like that are counted exactly


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
