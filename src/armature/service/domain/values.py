"""Values in a spec, checked: labels, seeds, numbers, times, names of attributes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, cast

from armature.errors import ArmatureError
from armature.kernels.checks import LARGEST

Changes = Literal["notice", "restart"]
LONGEST = 3_200_000_000.0  # seconds: a hundred years


@dataclass(frozen=True)
class Attributes:
    """Which attributes of an OpenFeature context say the segment, and the visit of a unit."""

    segment: str | None = None
    visit: str | None = None


def attributes_in(table: dict[str, Any]) -> Attributes | None:
    """The attributes of an OpenFeature context that a spec names."""
    said = table.get("ofrep")
    if said is None:
        return None
    names = said.values() if isinstance(said, dict) and set(said) <= {"segment", "visit"} else [0]
    if not all(name is None or (isinstance(name, str) and 1 <= len(name) <= 200) for name in names):
        raise ArmatureError(
            'ofrep names attributes of the context, such as {"segment": "plan", "visit": "session"}'
            "; {} for none."
        )
    return Attributes(said.get("segment"), said.get("visit"))


def checked_changes(changes: Any) -> Changes:
    """The thing to do when rewards change."""
    if changes not in ("notice", "restart"):
        raise ArmatureError(
            'changes is "notice" (a change is shown, and no decision depends on it) or "restart" '
            "(the policy begins anew, with the rewards since)."
        )
    return cast(Changes, changes)


def half_life_in(forget: Any) -> float | str | None:
    """The half-life of rewards, of which the bandit says whether it can be one."""
    if forget is None or isinstance(forget, str):
        return forget
    return number_in(forget, "forget")


def labels_in(labels: Any) -> tuple[Any, ...] | None:
    """The labels of the arms; None: numbers."""
    if labels is None:
        return None
    if not isinstance(labels, list) or not labels:
        raise ArmatureError("labels must be a list with one text or number for each arm.")
    return tuple(checked_label(label) for label in labels)


def checked_label(label: Any) -> Hashable:
    """The label of an arm: a text or a number."""
    if isinstance(label, str) and 1 <= len(label) <= 200 and label.isprintable():
        return label
    if isinstance(label, (int, float)) and not isinstance(label, bool):
        if abs(label) <= 2**53:  # what every reader of JSON takes for the same number
            return label
    raise ArmatureError(
        "a label is a number, or a text of 1 to 200 printable characters; got something else."
    )


def seed_in(seed: Any) -> int:
    """The seed, a whole number."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ArmatureError("seed must be a whole number from 0 to 2**63 - 1.")
    return seed


def number_in(value: Any, name: str) -> float | None:
    """A number; None: none is given."""
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and abs(value) <= LARGEST):
        raise ArmatureError(f"{name} must be a number, or null for none.")
    return float(value)


def seconds_in(value: Any, name: str, none: str = "") -> float | None:
    """A time; one of 0 only where that means something, as `none` says."""
    if value is None:
        return None
    seconds = number_in(value, name) or 0.0
    if not (0.0 < seconds <= LONGEST or (none and seconds == 0.0)):
        zero = f", {none}," if none else ""
        raise ArmatureError(
            f"{name} must be a positive number of seconds{zero} or null for no limit."
        )
    return seconds
