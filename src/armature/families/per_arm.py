"""A parameter for all arms, or one for each: what becomes of it when an arm comes or goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

Shared = TypeVar("Shared", bound=float | None)


def with_entry(values: Shared | Sequence[float], at: int, new: Any) -> Shared | Sequence[float]:
    """The values with one more, number `at`; one for all arms stays as it is.

    >>> with_entry((1.0, 2.0), 1, 1.5), with_entry(3.0, 1, None)
    ((1.0, 1.5, 2.0), 3.0)
    """
    return (*values[:at], new, *values[at:]) if isinstance(values, tuple) else values


def without_entry(values: Shared | Sequence[float], arm: int) -> Shared | Sequence[float]:
    """The values but one.

    >>> without_entry((1.0, 2.0, 4.0), 1)
    (1.0, 4.0)
    """
    return (*values[:arm], *values[arm + 1 :]) if isinstance(values, tuple) else values
