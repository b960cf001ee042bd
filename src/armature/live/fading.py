"""Live, rewards fade by how many came since, or by the clock; a late one as if it had been there.

A reward has the weight that it would have by now if it had come when its decision was made. Which
decision that was is known as in `armature.live.noticing`.
"""

from __future__ import annotations

import datetime
import math
import re
import sys
import time
from collections.abc import Callable, Hashable
from typing import Any

from armature.errors import ArmatureError
from armature.kernels.checks import MOST_OPTION, as_real
from armature.live.awaited import Awaited
from armature.policies import Forgetting, Policy
from armature.policies.forgetting import fade
from armature.storage import fields

Clock = Callable[[], float]
HalfLife = float | str | datetime.timedelta
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def seconds_of(half_life: Any) -> float | None:
    """A half-life by the clock in seconds; None: it is in rewards."""
    if isinstance(half_life, datetime.timedelta):
        seconds = half_life.total_seconds()
    elif isinstance(half_life, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d|w)\s*", half_life)
        seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    else:
        return None
    if not 0.0 < seconds <= MOST_OPTION:
        raise ArmatureError(
            'forget, the half-life of a reward, is a number of rewards, or a time such as "90min", '
            f'"12h", "7d" or "2w"; got {half_life!r}.'
        )
    return seconds


class Fading:
    """How much of the rewards of a bandit is left: their half-life, and when decisions were made.

    `now` is the number of rewards, or by the clock the seconds at which weights were brought up.
    """

    def __init__(self, half_life: float, seconds: float | None, clock: Clock | None) -> None:
        self.half_life, self.seconds = half_life, seconds
        self.clock = time.time if clock is None else clock
        self.awaited: Awaited[float] = Awaited()
        self.now = 0.0 if seconds is None else self._read()
        self.decided: float | None = None  # when, of the reward that just came; None: now

    def _read(self) -> float:
        """The time, which never goes back."""
        now = as_real(self.clock())
        if not math.isfinite(now):
            raise ArmatureError(f"the clock must give a number of seconds; it gave {now!r}.")
        return now

    def pass_time(self, state: Any) -> None:
        """By the clock: let rewards fade until now."""
        if self.seconds is None:
            return
        now = max(self._read(), self.now)
        if now > self.now:
            fade.py_func(state, 2.0 ** ((self.now - now) / self.seconds))
            self.now = now

    def expect(self, name: Hashable, id: int | None) -> None:
        """A decision is made now of which a reward will come."""
        self.awaited.expect(name, id, self.now)

    def came(self, name: Hashable) -> None:
        """The reward of an arm is there, or will never come."""
        self.decided = self.awaited.came(name, self.now)

    def came_by_id(self, id: int) -> None:
        """The same of a decision with an id."""
        self.decided = self.awaited.came_by_id(id, self.now)

    def weigh(self, state: Any) -> None:
        """Say how all fades at the reward that came last, and what it weighs."""
        self.pass_time(state)
        age = 0.0 if self.decided is None else max(self.now - self.decided, 0.0)
        self.decided = None
        if self.seconds is not None:
            state.step[:] = 1.0, 2.0 ** (-age / self.seconds)
            return
        state.step[:] = 2.0 ** (-1.0 / self.half_life), 2.0 ** (-age / self.half_life)
        self.now += 1.0

    def saved(self) -> dict[str, Any]:
        """As plain data."""
        return {"seconds": self.seconds, "now": self.now, **self.awaited.saved()}

    def restore(self, saved: Any) -> None:
        """Go back to what was saved."""
        seconds, now, waiting, open_ = fields.table(
            saved, "forgetting", ("seconds", "now", "waiting", "open")
        )
        most = sys.float_info.max
        self.seconds = None
        if seconds is not None:
            self.seconds = fields.number(seconds, "forgetting.seconds", MOST_OPTION)
            if not self.seconds > 0.0:
                raise fields.wrong("forgetting.seconds", "a time", seconds)
        self.now = fields.number(now, "forgetting.now", most)
        self.awaited.restore(
            waiting, open_, "forgetting", lambda when, name: fields.number(when, name, most)
        )


def forgetting(policy: Policy, forget: Any) -> tuple[Policy, float | None]:
    """The policy that forgets, and its half-life in seconds if that is by the clock."""
    if forget is None:
        return policy, None
    seconds = seconds_of(forget)
    return Forgetting(policy, math.inf if seconds is not None else forget), seconds


def fading_of(policy: Policy, seconds: float | None, clock: Clock | None) -> Fading | None:
    """How the rewards of a bandit fade; None: they do not."""
    if clock is not None and not callable(clock):
        raise ArmatureError(f"clock must be a function such as time.time; got {clock!r}.")
    if not isinstance(policy, Forgetting):
        return None
    return Fading(policy.half_life, seconds, clock)
