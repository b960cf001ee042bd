"""The one exception that Armature raises for bad input."""

from __future__ import annotations

from typing import Any

KINDS = {
    "family": "a reward family",
    "structure": "a structure",
    "policy": "a policy",
    "instance": "an instance",
}


class ArmatureError(ValueError):
    """Something given to Armature is wrong; the message says what, and what would be right."""


def check_kind(value: object, kind: type[Any], name: str, example: str) -> None:
    """Refuse what is not an object of a kind, with an example of what would be."""
    if isinstance(value, kind):
        return
    hint = ""
    if isinstance(value, type) and issubclass(value, kind):
        hint = f" That is a class: make one, as in {value.__name__}(...)."
    what = KINDS.get(name, f"a {kind.__name__}")
    raise ArmatureError(f"{name} must be {what} such as {example}; got {short(value)}.{hint}")


def short(value: object, most: int = 200) -> str:
    """A value as it is shown in a sentence."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


class BlocksFailedError(RuntimeError):
    """Some blocks of an experiment failed: the others are finished and kept."""
