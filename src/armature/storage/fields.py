"""The fields of a saved bandit, each checked as it is read: by their types, sizes and ranges."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from armature.errors import ArmatureError, short
from armature.kernels.arrays import Floats
from armature.kernels.checks import MOST_COUNTED, as_real, is_whole
from armature.storage.tagged_json import decoded


def table(value: Any, name: str, keys: tuple[str, ...]) -> list[Any]:
    """The entries of a table that has these keys."""
    if not isinstance(value, dict) or any(key not in value for key in keys):
        raise wrong(name, f"a table with {', '.join(keys)}", value)
    return [value[key] for key in keys]


def rows(value: Any, name: str, *widths: int) -> list[list[Any]]:
    """A list of lists, each of one of these lengths."""
    if not isinstance(value, list):
        raise wrong(name, "a list", value)
    for row in value:
        if not (isinstance(row, list) and len(row) in widths):
            raise wrong(name, f"a list of lists of {' or '.join(map(str, widths))}", row)
    return value


def whole(value: Any, name: str, most: int = MOST_COUNTED, least: int = 0) -> int:
    """A whole number."""
    if not (is_whole(value) and least <= value <= most):
        raise wrong(name, f"a whole number from {least} to {most}", value)
    return int(value)


def wholes(value: Any, name: str, size: int, most: int = MOST_COUNTED) -> list[int]:
    """So many whole numbers, none below 0."""
    if not (isinstance(value, list) and len(value) == size):
        raise wrong(name, f"a list of {size} whole numbers", value)
    return [whole(one, f"{name}[{i}]", most) for i, one in enumerate(value)]


def number(value: Any, name: str, most: float, least: float | None = None) -> float:
    """A number between two; by default between -most and most."""
    found, low = as_real(value), -most if least is None else least
    if not low <= found <= most:
        raise wrong(name, f"a number from {low:g} to {most:g}", value)
    return found


def numbers(value: Any, name: str, size: int, most: float, least: float | None = None) -> Floats:
    """So many numbers between two."""
    if not (isinstance(value, list) and len(value) == size):
        raise wrong(name, f"a list of {size} numbers", value)
    return np.array([number(one, f"{name}[{i}]", most, least) for i, one in enumerate(value)])


def counts(value: Any, name: str, size: int) -> Floats:
    """So many numbers of rewards, as floats."""
    found = numbers(value, name, size, MOST_COUNTED, 0.0)
    if (found % 1.0 != 0.0).any():
        raise wrong(name, f"a list of {size} whole numbers", value)
    return found


def label(value: Any, name: str) -> Hashable:
    """The label of an arm."""
    found = decoded(value)
    try:
        hash(found)
    except TypeError:
        raise wrong(name, "a label", value) from None
    return found  # type: ignore[no-any-return]


def array_like(value: Any, name: str, pattern: Any) -> Any:
    """Numbers in the shape of an array, and whole ones where it has whole ones."""
    found: Any = decoded(value)
    kinds = {"i": "i", "f": "iuf"}.get(pattern.dtype.kind, "iub")
    try:
        array = np.array(found)
        if array.size == pattern.size == 0:
            return pattern
        if array.shape == pattern.shape and array.dtype.kind in kinds:
            return array.astype(pattern.dtype)
    except (ValueError, OverflowError):  # lists of several lengths, numbers that are too large
        pass
    size = " x ".join(map(str, pattern.shape))
    raise wrong(name, f"{size} {'numbers' if 'f' in kinds else 'whole numbers'}", value)


def wrong(name: str, right: str, value: Any) -> ArmatureError:
    """The error for a field that can't be read."""
    return ArmatureError(f"the saved bandit's {name} must be {right}; got {short(value, 60)}.")
