"""All that the next decisions of a bandit depend on, as plain data, and back again."""

from __future__ import annotations

from typing import Any

import numpy as np

from armature.errors import ArmatureError
from armature.live.changing import Setting
from armature.live.choosing import Chooser, checked_floor
from armature.live.goal import Goal
from armature.live.outstanding import Outstanding
from armature.live.warm_start import Summary, write_summary
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
    try:
        _restore(content, setting, chooser, outstanding)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        if isinstance(error, ArmatureError):
            raise
        raise ArmatureError(f"the saved bandit does not fit its policy: {error}.") from None


def _restore(
    content: dict[str, Any], setting: Setting, chooser: Chooser, outstanding: Outstanding
) -> None:
    decisions, arms, K = setting.decisions, setting.arms, setting.structure.n_arms
    if len(content["pulls"]) != K:
        raise ArmatureError(f"the file is for {len(content['pulls'])} arms, not for {K}.")
    names = ("pulls", "sums", "squares")
    columns = [np.array(content[name], dtype=np.float64) for name in names]
    arms.restore(content["arms"])
    outstanding.restore(content["pending"], content["decisions"])
    retired = [np.array(record[::3]) for record in arms.retired.values()]
    counts = np.concatenate([columns[0], outstanding.pending, *retired])
    whole = ((counts >= 0.0) & (counts % 1.0 == 0.0)).all()
    if not whole or not all(np.isfinite(column).all() for column in columns):
        raise ArmatureError("the saved bandit's pulls and sums are not those of any rewards.")
    write_summary(decisions, Summary(*columns))
    decisions.history.clock[:] = content["clock"]
    chooser.floor = checked_floor(content["floor"]["share"], K)
    chooser.restore(content["floor"]["used"])
    decisions.restore_state(content["state"])
    decisions.restore_random(content["random"])
