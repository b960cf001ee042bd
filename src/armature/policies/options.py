"""Checks of policies' options: each error says what is wrong and what would be right.

An option that is accepted is stored as Python's own number, so that NumPy's scalars give the same
names and files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armature.errors import ArmatureError
from armature.kernels.numbers import as_real, is_whole

MOST = 1e9  # beyond it, an option is a slip
LONGEST = 2**53  # rounds that are counted exactly


def check_number(
    policy: Any,
    name: str,
    low: float = 0.0,
    high: float = MOST,
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
    policy: Any, name: str, low: int = 1, high: int = int(MOST), *, optional: bool = False
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
    check_whole(policy, "horizon", 1, LONGEST, optional=True)


def check_choice(policy: Any, name: str, choices: Sequence[str]) -> None:
    """Refuse what is not one of the words."""
    value = getattr(policy, name)
    if not (isinstance(value, str) and value in choices):
        raise ArmatureError(f"{name} must be {' or '.join(map(repr, choices))}; got {value!r}.")
    object.__setattr__(policy, name, str(value))
