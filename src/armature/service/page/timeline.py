"""What happened over time, from the log: in stretches of equally many events, read once.

The database counts, and only what is new is counted again: a look at a log of a million events
costs that once, and then next to nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from armature.service.db.schema import Kind, event
from armature.service.domain.engine import Event
from armature.service.domain.replay import event_at
from armature.views.picture import Past

MOST = 64  # stretches; where there would be more, pairs of them become one
CHOICES = (Kind.asked.value, Kind.kept.value)

_COUNTS = (
    sa.select(
        event.c.kind,
        event.c.arm,
        sa.func.count(),
        sa.func.count(event.c.value),
        sa.func.sum(event.c.value),
        sa.func.max(event.c.at),
    )
    .where(
        event.c.experiment_id == sa.bindparam("experiment"),
        event.c.seq > sa.bindparam("after"),
        event.c.seq <= sa.bindparam("until"),
    )
    .group_by(event.c.kind, event.c.arm)
)


@dataclass
class Stretch:
    """Some events that follow each other."""

    decisions: Counter[int] = field(default_factory=Counter)  # by the number of the arm
    rewards: float = 0.0
    rounds: int = 0

    def add(self, other: Stretch) -> None:
        """Count another one in."""
        self.decisions.update(other.decisions)
        self.rewards += other.rewards
        self.rounds += other.rounds


class Timeline:
    """The log of an experiment in at most `MOST` stretches, up to the event `seq`."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.seq, self.width, self.last_at = 0, 1, 0.0
        self._last: Event | None = None
        self.stretches: dict[int, Stretch] = defaultdict(Stretch)
        self.kinds: Counter[str] = Counter()

    def catch_up(self, connection: Connection, experiment_id: int) -> None:
        """Count what the log has more; all of it if it is another log than before."""
        if event_at(connection, experiment_id, self.seq) != self._last:
            self._begin()
        newest = sa.select(sa.func.max(event.c.seq)).where(event.c.experiment_id == experiment_id)
        last = connection.execute(newest).scalar() or 0
        while (last - 1) // self.width >= MOST:
            self._halve()
        for place in range(self.seq // self.width, (last - 1) // self.width + 1):
            until = min((place + 1) * self.width, last)
            keys = {"experiment": experiment_id, "after": self.seq, "until": until}
            for row in connection.execute(_COUNTS, keys):
                self._count(self.stretches[place], row)
            self.seq = until
        self._last = event_at(connection, experiment_id, self.seq)

    def _count(self, stretch: Stretch, row: Any) -> None:
        kind, arm, count, values, total, at = row
        self.kinds[kind] += count
        self.last_at = max(self.last_at, at)
        if kind in CHOICES:
            stretch.decisions[arm] += count
        elif kind in (Kind.told, Kind.expired) and values:
            stretch.rounds += values
            stretch.rewards += total

    def _halve(self) -> None:
        """Make one stretch of two."""
        pairs: dict[int, Stretch] = defaultdict(Stretch)
        for place, stretch in self.stretches.items():
            pairs[place // 2].add(stretch)
        self.stretches, self.width = pairs, 2 * self.width

    def past(self, numbers: Sequence[int]) -> Past:
        """All of it, for the arms with these numbers: those that are still there, in their order.

        Decisions for arms that were retired are left out.
        """
        columns = {number: k for k, number in enumerate(numbers)}
        decisions = np.zeros((len(self.stretches), len(numbers)))
        ordered = [self.stretches[place] for place in sorted(self.stretches)]
        for i, stretch in enumerate(ordered):
            for number, count in stretch.decisions.items():
                if number in columns:
                    decisions[i, columns[number]] = count
        return Past(
            decisions,
            np.array([stretch.rewards for stretch in ordered]),
            np.array([float(stretch.rounds) for stretch in ordered]),
        )
