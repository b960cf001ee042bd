"""Checks of what users give: each error says what is wrong and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats, Ints
from armature.kernels.numbers import as_array, check_size, is_several, is_whole

T = TypeVar("T")
MOST_ARMS = 10_000_000


def checked_n_arms(n_arms: int) -> int:
    """The number of arms, at least two."""
    number = checked_integer(n_arms, "n_arms")
    if number < 2:
        raise ArmatureError(f"n_arms = {number}: a bandit needs at least 2 arms.")
    if number > MOST_ARMS:
        raise ArmatureError(f"n_arms = {number}: a bandit can have at most {MOST_ARMS:,} arms.")
    return number


def checked_integer(value: int, name: str) -> int:
    """A whole number, or an error."""
    if not is_whole(value):
        raise ArmatureError(f"{name} must be a whole number; got {value!r}.")
    return int(value)


def checked_list(values: Iterable[T], name: str) -> list[T]:
    """The values as a list, or an error where there is but one thing."""
    if not is_several(values):
        raise ArmatureError(f"{name} must be a list; got {values!r}.")
    return list(values)


def checked_index(index: int, name: str, size: int) -> int:
    """An index from 0 to size - 1, or an error."""
    number = checked_integer(index, name)
    if not 0 <= number < size:
        raise ArmatureError(f"{name} = {number} is out of range: arms are 0 to {size - 1}.")
    return number


def checked_vector(values: npt.ArrayLike, name: str, size: int) -> Floats:
    """A new contiguous vector of `size` finite numbers, or an error.

    They may be of any size: means that a projection gives can lie beyond those that it was given.
    """
    vector = _finite_array(values, name)
    if vector.shape != (size,):
        raise ArmatureError(
            f"{name} must be {size} numbers, one for each arm; got an array of shape "
            f"{vector.shape}."
        )
    return vector


def checked_array(values: npt.ArrayLike, name: str) -> Floats:
    """The same of any shape, for the numbers that a structure is made of: not beyond 1e30."""
    array = _finite_array(values, name)
    check_size(array, name)
    return array


def checked_number(value: float, name: str) -> float:
    """One such number."""
    array = checked_array(value, name)
    if array.ndim != 0:
        raise ArmatureError(f"{name} must be one number; got {value!r}.")
    return float(array)


def _finite_array(values: npt.ArrayLike, name: str) -> Floats:
    array = np.array(as_array(values, name), order="C")
    if not np.logical_and.reduce(np.isfinite(array), axis=None):
        at = np.argwhere(~np.isfinite(array))[0]
        where = "".join(f"[{i}]" for i in at)
        raise ArmatureError(f"{name}{where} = {array[tuple(at)]}: every number must be finite.")
    return array


def checked_positions(positions: npt.ArrayLike | None, n_arms: int) -> Floats:
    """Where the arms lie on a line: 0, 1, 2, ... by default, otherwise distinct numbers."""
    places = np.arange(n_arms) if positions is None else positions
    vector = checked_vector(places, "positions", n_arms)
    check_size(vector, "positions")
    why = "arms at the same place are one arm; give each arm a place of its own"
    check_distinct(vector, "positions", why)
    vector.setflags(write=False)
    return vector


def check_distinct(vector: Floats, name: str, why: str) -> None:
    """Whether no two arms have the same number, or an error that says which have and why not."""
    order = np.argsort(vector, kind="stable")
    same = np.flatnonzero(np.diff(vector[order]) <= 0.0)
    if same.size:
        first, second = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        raise ArmatureError(
            f"{name}[{first}] and {name}[{second}] are both {vector[first]:g}: {why}."
        )


def checked_order(order: Sequence[int], n_arms: int) -> Ints:
    """A permutation of the arms, or an error."""
    numbers = [checked_integer(arm, "an entry of order") for arm in checked_list(order, "order")]
    permutation = np.array(numbers, dtype=np.int64) if sorted(numbers) == [*range(n_arms)] else None
    if permutation is None:
        raise ArmatureError(
            f"order must name each of the arms 0 to {n_arms - 1} once; got {order}."
        )
    return permutation


def frozen(value: Any) -> object:
    """A value that can be hashed, and is equal where the given one is: lists as tuples, and so on.

    Of what else can't be hashed, each object is equal to itself alone.
    """
    match value:
        case np.ndarray():
            return value.shape, value.tobytes()
        case list() | tuple():
            return tuple(map(frozen, value))
        case dict():
            return frozenset((frozen(key), frozen(part)) for key, part in value.items())
        case set():
            return frozenset(map(frozen, value))
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
