"""Checks of what users give: each error says what is wrong and what would be right.

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
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError, short
from armature.kernels.arrays import Floats, Ints

T = TypeVar("T")
MOST_COUNTED = 2**53  # rounds and the like that are counted exactly
LARGEST = 1e30
SMALLEST = 1e-30
MOST_ARMS = 10_000_000
MOST_PAIRED = 5000  # arms, where numbers are kept for each pair of them: 200 MB for one of each
MOST_OPTION = 1e9  # beyond it, an option of a policy is a slip
KINDS = {
    "family": "a reward family",
    "structure": "a structure",
    "policy": "a policy",
    "instance": "an Instance",
}
INSTANCE = "Instance(Unimodal(3), [0.1, 0.9, 0.5])"

# Objects, flags and lists.


def check_kind(value: object, kind: type[Any], name: str, example: str) -> None:
    """Refuse what is not an object of a kind, with an example of what would be."""
    if isinstance(value, kind):
        return
    hint = ""
    if isinstance(value, type) and issubclass(value, kind):
        hint = f" That is a class: make one, as in {value.__name__}(...)."
    what = KINDS.get(name, f"an object of {kind.__name__}")
    raise ArmatureError(f"{name} must be {what} such as {example}; got {short(value)}.{hint}")


def check_flag(value: object, name: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArmatureError(f"{name} must be True or False; got {short(value)}.")


def is_several(value: object) -> bool:
    """True if it is a list, an array or another collection; a text is one thing."""
    text = isinstance(value, (str, bytes))
    return isinstance(value, Iterable) and not text and getattr(value, "ndim", 1) > 0


def checked_list(values: Iterable[T], name: str, what: str = "a list") -> list[T]:
    """The values as a list, or an error where there is but one thing."""
    if not is_several(values):
        raise ArmatureError(f"{name} must be {what}; got {short(values)}.")
    return list(values)


# Single numbers.


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
    """True if it is a whole number of Python or NumPy; truth values are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def checked_integer(value: int, name: str) -> int:
    """A whole number, or an error."""
    if not is_whole(value):
        raise ArmatureError(f"{name} must be a whole number; got {value!r}.")
    return int(value)


def checked_count(value: int, name: str) -> int:
    """A number of rounds, repetitions or the like: a whole number, at least 1."""
    if not (is_whole(value) and 1 <= value <= MOST_COUNTED):
        raise ArmatureError(f"{name} must be a whole number, at least 1; got {value!r}.")
    return int(value)


def checked_n_arms(n_arms: int) -> int:
    """The number of arms, at least two."""
    number = checked_integer(n_arms, "n_arms")
    if number < 2:
        raise ArmatureError(f"n_arms = {number}: a bandit needs at least 2 arms.")
    if number > MOST_ARMS:
        raise ArmatureError(f"n_arms = {number}: a bandit can have at most {MOST_ARMS:,} arms.")
    return number


def checked_index(index: int, name: str, size: int) -> int:
    """An index from 0 to size - 1, or an error."""
    number = checked_integer(index, name)
    if not 0 <= number < size:
        raise ArmatureError(f"{name} = {number} is out of range: arms are 0 to {size - 1}.")
    return number


def checked_number(value: Any, name: str) -> float:
    """A finite number between -1e30 and 1e30; an array that holds one number will do."""
    array = checked_array(value, name)
    if array.ndim != 0:
        raise ArmatureError(f"{name} must be one number; got {value!r}.")
    return float(array)


def checked_finite(value: Any, name: str) -> float:
    """The same, but arrays and texts are refused."""
    number = as_real(value)
    if not math.isfinite(number):
        raise ArmatureError(f"{name} must be a finite number; got {value!r}.")
    check_size(number, name)
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


def largest_of(scales: float | Sequence[float]) -> float:
    """The scale of all arms, or the largest where each has its own."""
    return float(max(scales) if isinstance(scales, Sequence) else scales)


# Options of policies. One that is accepted is stored as Python's own number, so that NumPy's
# scalars give the same names and files.


def check_number(
    policy: Any,
    name: str,
    low: float = 0.0,
    high: float = MOST_OPTION,
    what: str = "a number",
    *,
    above: bool = False,
    optional: bool = False,
) -> None:
    """Refuse what is not a number from `low` (or above it) to `high`; None where it is optional."""
    value = getattr(policy, name)
    if optional and value is None:
        return
    number = as_real(value)
    if (number > low if above else number >= low) and number <= high:
        object.__setattr__(policy, name, number)
        return
    least = f"above {low:g}" if above else f"at least {low:g}"
    raise ArmatureError(f"{name} must be {what}, {least} and at most {high:g}; got {value!r}.")


def check_whole(
    policy: Any, name: str, low: int = 1, high: int = int(MOST_OPTION), *, optional: bool = False
) -> None:
    """Refuse what is not a whole number from `low` to `high`; None where it is optional."""
    value = getattr(policy, name)
    if optional and value is None:
        return
    if is_whole(value) and low <= value <= high:
        object.__setattr__(policy, name, int(value))
        return
    raise ArmatureError(
        f"{name} must be a whole number, at least {low} and at most {high}; got {value!r}."
    )


def check_horizon(policy: Any) -> None:
    """Refuse what is not a number of rounds; None: it is given later."""
    check_whole(policy, "horizon", 1, MOST_COUNTED, optional=True)


def check_choice(policy: Any, name: str, choices: Sequence[str]) -> None:
    """Refuse what is not one of the words."""
    value = getattr(policy, name)
    if not (isinstance(value, str) and value in choices):
        raise ArmatureError(f"{name} must be {' or '.join(map(repr, choices))}; got {value!r}.")
    object.__setattr__(policy, name, str(value))


# Arrays of numbers.


def as_array(values: npt.ArrayLike, name: str) -> Floats:
    """The numbers as an array, of any shape, or an error."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArmatureError(f"{name} must be numbers; got {values!r}.") from None


def check_size(values: npt.ArrayLike, name: str) -> None:
    """Refuse numbers beyond -1e30 and 1e30; the error names the first of them."""
    array = np.asarray(values, dtype=np.float64)
    beyond = np.abs(array) > LARGEST
    if beyond.any():
        raise ArmatureError(
            f"{_first(array, beyond, name)} is beyond what is supported, numbers between "
            f"{-LARGEST:g} and {LARGEST:g}: use another unit."
        )


class _Domain(Protocol):
    @property
    def low(self) -> float: ...
    @property
    def closed(self) -> bool: ...


def check_mean(values: npt.ArrayLike, domain: _Domain, name: str) -> None:
    """Refuse means, or rewards, that are too large or too near to the open end of a domain."""
    check_size(values, name)
    if domain.closed or not math.isfinite(domain.low):
        return
    array = np.asarray(values, dtype=np.float64)
    least = domain.low + SMALLEST
    if (array < least).any():
        raise ArmatureError(
            f"{_first(array, array < least, name)} is too small: it must be at least {least:g}."
        )


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
    """A new array of any shape, of finite numbers between -1e30 and 1e30, or an error."""
    array = _finite_array(values, name)
    check_size(array, name)
    return array


def checked_positions(positions: npt.ArrayLike | None, n_arms: int) -> Floats:
    """Positions of the arms on a line: 0, 1, 2, ... by default, otherwise distinct numbers."""
    places = np.arange(n_arms) if positions is None else positions
    vector = checked_vector(places, "positions", n_arms)
    check_size(vector, "positions")
    why = "arms at the same place are one arm; give each arm a place of its own"
    check_distinct(vector, "positions", why)
    vector.setflags(write=False)
    return vector


def check_distinct(vector: Floats, name: str, why: str) -> None:
    """Refuse two arms with the same number; the error says which, and why."""
    order = np.argsort(vector, kind="stable")
    same = np.flatnonzero(np.diff(vector[order]) <= 0.0)
    if same.size:
        first, second = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        raise ArmatureError(
            f"{name}[{first}] and {name}[{second}] are both {vector[first]:g}: {why}."
        )


def checked_order(order: Sequence[int], n_arms: int) -> Ints:
    """A permutation of the arms, or an error."""
    arms = [checked_integer(arm, "an entry of order") for arm in checked_list(order, "order")]
    if sorted(arms) != [*range(n_arms)]:
        raise ArmatureError(
            f"order must name each of the arms 0 to {n_arms - 1} once; got {order}."
        )
    return np.array(arms, dtype=np.int64)


def _finite_array(values: npt.ArrayLike, name: str) -> Floats:
    array = np.array(as_array(values, name), order="C")
    if not np.logical_and.reduce(np.isfinite(array), axis=None):
        wrong = _first(array, ~np.isfinite(array), name)
        raise ArmatureError(f"{wrong}: every number must be finite.")
    return array


def _first(array: Floats, wrong: npt.NDArray[np.bool_], name: str) -> str:
    """The first number that is wrong, with its place."""
    at = np.argwhere(wrong)[0]
    return name + "".join(f"[{i}]" for i in at) + f" = {array[tuple(at)]:g}"
