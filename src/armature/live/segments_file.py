"""The saved state of a bandit of segments."""

from __future__ import annotations

import json
from typing import Any

from armature.errors import ArmatureError
from armature.live.bandit import Bandit
from armature.live.checkpoint import SEGMENTED, STATE, restore_parts, state_of
from armature.storage.files import checksum

VERSION = 1
OWN = (
    "policy", "table", "family", "seed", "horizon", "goal", "labels", "otherwise", "segments",
)  # fmt: skip
SEGMENT = ("seed", *STATE)


def content_of(bandit: Bandit) -> dict[str, Any]:
    """The saved state of a segment: all but the objects, which the table has."""
    parts = state_of(bandit._setting, bandit._chooser, bandit._outstanding)
    return {"seed": bandit._seed, **parts}


def restore(bandit: Bandit, content: dict[str, Any]) -> None:
    """Go back to that state."""
    restore_parts(content, bandit._setting, bandit._chooser, bandit._outstanding)


def checked_content(text: str) -> dict[str, Any]:
    """The content of a text, or an error that says what is wrong with it."""
    try:
        content: Any = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArmatureError(f"this is not a saved bandit, nor JSON at all: {error}.") from None
    if not isinstance(content, dict) or content.get("format") != SEGMENTED:
        raise ArmatureError(f'this is not a saved bandit of segments: no "format": "{SEGMENTED}".')
    if content.get("version") != VERSION:
        raise ArmatureError(f"this release reads version {VERSION} of bandits of segments.")
    rest = {key: value for key, value in content.items() if key != "checksum"}
    if content.get("checksum") != checksum(rest):
        raise ArmatureError("the saved bandit was changed or cut off: its checksum does not match.")
    for key in OWN:
        if key not in content:
            raise ArmatureError(f"the saved bandit has no entry {key!r}.")
    return content
