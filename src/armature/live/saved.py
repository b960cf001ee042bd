"""A bandit as text: what is in it, and that it was not changed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from armature.errors import ArmatureError, short
from armature.storage.registry import from_version_1, tuple_of

FORMAT = "armature bandit"
VERSION = 2  # since 2, what JSON does not have is written as `armature.storage.tagged_json` says
KEYS = (
    "policy", "structure", "family", "seed", "horizon", "goal", "labels", "arms", "pulls", "sums",
    "squares", "clock", "pending", "decisions", "floor", "random", "state",
)  # fmt: skip


def as_text(content: dict[str, Any]) -> str:
    """The content with its format, version and checksum."""
    whole = {"format": FORMAT, "version": VERSION, **{key: content[key] for key in KEYS}}
    whole["checksum"] = _checksum(whole)
    return json.dumps(whole, indent=1, allow_nan=False)


def content_of(text: str) -> dict[str, Any]:
    """What `as_text` was given, in this release or an earlier one."""
    try:
        content: Any = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArmatureError(f"this is not a saved bandit, nor JSON at all: {error}.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ArmatureError(f'this is not a saved bandit: it has no "format": "{FORMAT}".')
    if content.get("version") not in (1, VERSION):
        raise ArmatureError(
            f"this bandit was saved in version {content.get('version')!r} of the format; this "
            f"release of Armature reads versions 1 to {VERSION}."
        )
    if content.get("checksum") != _checksum(content):
        raise ArmatureError("the saved bandit was changed or cut off: its checksum does not match.")
    if not isinstance(content.get("pulls"), list):
        raise ArmatureError("the saved bandit has no list of pulls.")
    if content["version"] == 1:
        content = _migrated(content)
    for key in KEYS:
        if key not in content:
            raise ArmatureError(f"the saved bandit has no entry {key!r}.")
    return dict(content)


def _checksum(content: dict[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _migrated(content: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had no horizon of its own, no squares, and wrote tuples as lists.

    It knew neither goals nor floors nor ids, and its arms stayed the same.
    """
    labels, n_arms = content.get("labels"), len(content["pulls"])
    if not (labels is None or isinstance(labels, list)):
        raise ArmatureError(f"the saved bandit's labels must be a list; got {short(labels)}.")
    numbers = list(range(n_arms)) if labels is None else None
    return {
        **content,
        "horizon": None,
        "goal": "max",
        "arms": {"numbers": numbers, "created": n_arms, "retired": []},
        "squares": [0.0] * n_arms,
        "decisions": {"next": 0, "open": [], "ended": []},
        "floor": {"share": 0.0, "used": 0},
        "structure": from_version_1(content.get("structure")),
        "labels": None if labels is None else [tuple_of(label) for label in labels],
    }
