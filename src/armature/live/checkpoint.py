"""All that the next decisions of a bandit depend on, as plain data, and back again."""

from __future__ import annotations

from typing import Any

import numpy as np

from armature.families import Family
from armature.families.limits import LARGEST
from armature.kernels.numbers import MOST_COUNTED
from armature.live.changing import Setting
from armature.live.choosing import Chooser, checked_floor
from armature.live.goal import Goal
from armature.live.outstanding import Outstanding
from armature.live.warm_start import SLACK, Summary, write_summary
from armature.storage import fields
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, describe
from armature.storage.tagged_json import encoded


def saved_parts(
    setting: Setting, goal: Goal, chooser: Chooser, outstanding: Outstanding
) -> dict[str, Any]:
    """What `restore_parts` restores, and what it takes to make the parts."""
    decisions, arms = setting.decisions, setting.arms
    history = decisions.history
    return {
        "policy": describe(POLICIES, decisions.policy),
        "structure": describe(STRUCTURES, setting.structure),
        "family": describe(FAMILIES, setting.family),
        "goal": goal.word,
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
    }


def restore_parts(
    content: dict[str, Any], setting: Setting, chooser: Chooser, outstanding: Outstanding
) -> None:
    """Go back to what was saved."""
    decisions, arms, K = setting.decisions, setting.arms, setting.structure.n_arms
    arms.restore(content["arms"])
    outstanding.restore(content["pending"], content["decisions"])
    summary = _summary(content, decisions.family)
    write_summary(decisions, summary)
    rounds, explored = fields.wholes(content["clock"], "clock", 2)
    told = summary.counts.sum() + sum(record.pulls for record in arms.retired.values())
    if rounds != told:
        raise fields.wrong("clock", f"at {told:.0f} rewards, as its arms have", rounds)
    decisions.history.clock[:] = rounds, explored
    share, used = fields.table(content["floor"], "floor", ("share", "used"))
    chooser.floor = checked_floor(share, K)
    chooser.restore(fields.whole(used, "floor.used"))
    decisions.restore_state(content["state"])
    decisions.restore_random(content["random"])


def _summary(content: dict[str, Any], family: Family) -> Summary:
    """The sums of the rewards, as some rewards of the family can have them."""
    K = len(content["pulls"])
    pulls = fields.counts(content["pulls"], "pulls", K)
    most = LARGEST * MOST_COUNTED
    sums = fields.numbers(content["sums"], "sums", K, most)
    squares = fields.numbers(content["squares"], "squares", K, most * LARGEST, -1.0)
    means = np.where(pulls > 0.0, sums / np.maximum(pulls, 1.0), family.some_mean)
    beyond = np.abs(family.clipped(means) - means) > SLACK * np.maximum(1.0, np.abs(means))
    if (beyond | ((pulls == 0.0) & (sums != 0.0))).any() or np.abs(means).max() > 2.0 * LARGEST:
        raise fields.wrong("sums", f"those of rewards of {family}", content["sums"])
    return Summary(pulls, sums, squares)
