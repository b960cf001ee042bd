"""A saved bandit: all that its next decisions depend on, as text, and back again."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from armature.errors import ArmatureError, short
from armature.families import Family
from armature.kernels.checks import LARGEST, MOST_COUNTED, check_kind
from armature.live.changing import Setting
from armature.live.choosing import Chooser, checked_floor
from armature.live.outstanding import Outstanding
from armature.live.rewards import Goal
from armature.live.warm_start import SLACK, PastSums, write_summary
from armature.policies import Policy
from armature.storage import fields
from armature.storage.files import checksum, read_text
from armature.storage.registry import (
    FAMILIES,
    POLICIES,
    STRUCTURES,
    Allowed,
    build,
    describe,
    from_version_1,
    tuple_of,
)
from armature.storage.tagged_json import encoded
from armature.structures import Structure

FORMAT = "armature bandit"
VERSION = 2  # since 2, what JSON does not have is written as `armature.storage.tagged_json` says
STATE = (
    "labels", "arms", "pulls", "sums", "squares", "clock", "pending", "decisions", "floor",
    "random", "state", "noticing", "forgetting",
)  # fmt: skip
NEW = ("noticing", "forgetting")  # what releases before did not write
KEYS = ("policy", "structure", "family", "seed", "horizon", "goal", *STATE)
SEGMENTED = "armature bandit of segments"


def saved_parts(
    setting: Setting, goal: Goal, chooser: Chooser, outstanding: Outstanding
) -> dict[str, Any]:
    """The state for `restore_parts`, and what it takes to make the parts."""
    return {
        "policy": describe(POLICIES, setting.decisions.policy),
        "structure": describe(STRUCTURES, setting.structure),
        "family": describe(FAMILIES, setting.family),
        "goal": goal.word,
        **state_of(setting, chooser, outstanding),
    }


def state_of(setting: Setting, chooser: Chooser, outstanding: Outstanding) -> dict[str, Any]:
    """The state for `restore_parts`: the entries of STATE."""
    decisions, arms = setting.decisions, setting.arms
    history = decisions.history
    return {
        "labels": encoded(arms.names) if arms.labelled else None,
        "arms": arms.saved(),
        "pulls": history.pulls.tolist(),
        "sums": history.sums.tolist(),
        "squares": history.squares.tolist(),
        "clock": history.clock.tolist(),
        "pending": outstanding.pending.tolist(),
        "decisions": outstanding.tickets.saved(),
        "floor": chooser.saved(),
        "random": decisions.random_state(),
        "state": decisions.saved_state(),
        "noticing": outstanding.noticing.saved(),
        "forgetting": None if outstanding.fading is None else outstanding.fading.saved(),
    }


def start_of(
    content: dict[str, Any],
    policy: Policy | None,
    structure: Structure | None,
    family: Family | None,
    allow: Allowed,
) -> dict[str, Any]:
    """The arguments of a bandit, before `restore_parts`; given objects need no building."""
    if policy is None:
        policy = build(POLICIES, "policy", content["policy"], allow)
    if structure is None:
        structure = build(STRUCTURES, "structure", content["structure"], allow)
    if family is None:
        family = build(FAMILIES, "family", content["family"], allow)
    check_kind(structure, Structure, "structure", "Unimodal(5)")
    if len(content["pulls"]) != structure.n_arms:
        raise ArmatureError(
            f"the saved bandit is for {len(content['pulls'])} arms, not for {structure.n_arms}, as "
            "its structure."
        )
    return {
        "policy": policy,
        "structure": structure,
        "family": family,
        "seed": content["seed"],
        "horizon": content["horizon"],
        "goal": content["goal"],
    }


def restore_parts(
    content: dict[str, Any], setting: Setting, chooser: Chooser, outstanding: Outstanding
) -> None:
    """Go back to what was saved."""
    decisions, arms, K = setting.decisions, setting.arms, setting.structure.n_arms
    arms.restore(content["labels"], content["arms"])
    outstanding.restore(
        content["pending"], content["decisions"], content["noticing"], content["forgetting"]
    )
    summary = _summary(content, K, decisions.family)
    write_summary(decisions, summary)
    rounds, explored = fields.wholes(content["clock"], "clock", 2)
    counted = summary.counts.sum() + sum(record.pulls for record in arms.retired.values())
    if rounds != counted:
        raise fields.wrong("clock", f"at {counted:.0f} rewards, as its arms have", rounds)
    decisions.history.clock[:] = rounds, explored
    share, used = fields.table(content["floor"], "floor", ("share", "used"))
    chooser.floor = checked_floor(share, K)
    chooser.restore(fields.whole(used, "floor.used"))
    decisions.restore_state(content["state"])
    decisions.restore_random(content["random"])


def _summary(content: dict[str, Any], K: int, family: Family) -> PastSums:
    """The sums of the rewards, as some rewards of the family can have them."""
    pulls = fields.counts(content["pulls"], "pulls", K)
    most = LARGEST * MOST_COUNTED
    sums = fields.numbers(content["sums"], "sums", K, most)
    squares = fields.numbers(content["squares"], "squares", K, most * LARGEST, -1.0)
    means = np.where(pulls > 0.0, sums / np.maximum(pulls, 1.0), family.some_mean)
    beyond = np.abs(family.clipped(means) - means) > SLACK * np.maximum(1.0, np.abs(means))
    if (beyond | ((pulls == 0.0) & (sums != 0.0))).any() or np.abs(means).max() > 2.0 * LARGEST:
        raise fields.wrong("sums", f"those of rewards of {family}", content["sums"])
    return PastSums(pulls, sums, squares)


def as_text(content: dict[str, Any]) -> str:
    """The content with its format, version and checksum."""
    whole = {"format": FORMAT, "version": VERSION, **{key: content[key] for key in KEYS}}
    whole["checksum"] = _checksum(whole)
    return json.dumps(whole, indent=1, allow_nan=False)


def text_in(path: str | os.PathLike[str]) -> str:
    """The text in a file."""
    try:
        return read_text(path)
    except FileNotFoundError:
        raise ArmatureError(f"there is no file {str(path)!r}.") from None


def content_of(text: str) -> dict[str, Any]:
    """The content of a text that this release or an earlier one wrote."""
    try:
        content: Any = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArmatureError(f"this is not a saved bandit, nor JSON at all: {error}.") from None
    if isinstance(content, dict) and content.get("format") == SEGMENTED:
        raise ArmatureError("this is a bandit of segments: read it by SegmentedBandit.")
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
    content = {
        "noticing": None,
        "forgetting": None,
        **content,
    }  # which releases before did not write
    for key in KEYS:
        if key not in content:
            raise ArmatureError(f"the saved bandit has no entry {key!r}.")
    return dict(content)


def _checksum(content: dict[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return checksum(rest)


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
