"""A clock that can't be set: where the database has none of its own.

It reads the time of day once, and from then on counts the seconds that pass. A window then closes
after its length, also if somebody sets the machine's clock in between.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

JUMP = 5.0  # seconds between the machine's clock and this one that are worth a word

log = logging.getLogger("armature.service")


def passing() -> float:
    """Seconds that pass, those of a suspended machine included where it counts them."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyClock:
    """Seconds since 1970 by the time of day when it was made, and what has passed since."""

    def __init__(
        self, wall: Callable[[], float] = time.time, passing: Callable[[], float] = passing
    ) -> None:
        self._wall, self._passing = wall, passing
        self._start = wall() - passing()
        self._noticed = 0.0

    def __call__(self) -> float:
        """The time now."""
        now = self._start + self._passing()
        ahead = self._wall() - now
        if abs(ahead - self._noticed) > JUMP:
            self._noticed = ahead
            log.warning(
                "the clock of this machine was set: it is %+.0f s from the one here, which goes on "
                "as if nothing had happened. Start the server again if the new time is right.",
                ahead,
            )
        return now
