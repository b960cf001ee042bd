"""Changes of the rewards: noticed in a bandit, which then may get another policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from armature.bounds.change import FALSE_ALARMS
from armature.bounds.evidence import threshold_at
from armature.live.bandit import Bandit
from armature.live.changing import with_policy
from armature.live.segmented import SegmentedBandit
from armature.policies import Policy, Restarting

ENOUGH = threshold_at(FALSE_ALARMS)


class Noticed(NamedTuple):
    """A change of the rewards: after how many of them, and a sentence."""

    since: int
    words: str


def noticed(bandit: Bandit, before: int | None) -> Noticed | None:
    """A change that was not reported before; `before` is when the last was that is reported.

    A policy that begins anew says when it did; else the first change is reported and no other, as
    the numbers since would have to be told from those before.
    """
    policy = bandit.policy
    if isinstance(policy, Restarting):
        begun = policy.restarted(bandit._decisions.state)
        if begun is None or begun == before:
            return None
        text = f"The rewards changed after about {begun:,} of them: it goes on with those since."
        return Noticed(begun, text)
    noticing = bandit._outstanding.noticing
    if before is not None or noticing.found is None or noticing.found.evidence < ENOUGH:
        return None
    found = noticing.change(bandit.arms, bandit._goal, FALSE_ALARMS)
    return None if found is None else Noticed(found.since, str(found))


def use_policy(bandit: Bandit, policy: Policy) -> None:
    """From now on let another policy decide, which is told what was learned as a history."""
    setting = with_policy(bandit._setting, bandit._goal, bandit._seed, policy)
    bandit._change(setting, bandit._outstanding.pending)


def use_clock(bandit: Bandit | SegmentedBandit, clock: Callable[[], float]) -> None:
    """Let rewards fade by this clock, if they do."""
    if isinstance(bandit, Bandit) and bandit._outstanding.fading is not None:
        bandit._outstanding.fading.clock = clock
