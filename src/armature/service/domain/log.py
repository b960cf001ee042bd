"""The log of an experiment: its events, a table of its rewards, counts over time."""

from __future__ import annotations

import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from armature.errors import ArmatureError
from armature.service.db import database
from armature.service.db.schema import Kind, decision, event
from armature.service.domain import reading
from armature.service.domain.replay import Event, event_at
from armature.storage.files import write_bytes
from armature.views.picture import Past

COLUMNS = (
    "arm",  # the label
    "reward",
    "probability",  # with which the arm was chosen, where that is known
    "decision",
    "unit",
    "asked_seq",  # when it was decided, and when its reward counted: numbers of events
    "told_seq",
    "told_at",  # seconds since 1970
    "counted",  # whether the bandit learned from it: not if the arm was retired by then
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# A text that begins so is a formula to a spreadsheet, which runs it: the last four are wide ones.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
MOST = 64  # stretches; when there would be more, each two become one
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


def events_after(
    connection: Connection, experiment_id: int, after: int, limit: int
) -> list[dict[str, Any]]:
    """A part of the log, with the numbers of arms."""
    query = (
        sa.select(event)
        .where(event.c.experiment_id == experiment_id, event.c.seq > after)
        .order_by(event.c.seq)
        .limit(limit)
    )
    return [
        {
            "seq": row.seq,
            "kind": row.kind,
            "decision": row.decision_id,
            "arm": row.arm,
            "value": row.value,
            "at": row.at,
            "detail": None if row.detail is None else json.loads(row.detail),
            "segment": row.segment,
        }
        for row in connection.execute(query)
    ]


def export_log(engine: Engine, name: str, path: Path) -> int:
    """Write an experiment's rewards to a .csv or .parquet file; return how many."""
    if path.suffix not in (".csv", ".parquet"):
        raise ArmatureError(f"{str(path)!r}: give a file that ends in .csv or .parquet.")
    table = _table_of(engine, name)
    if table is None:
        raise ArmatureError(f"there is no experiment {name!r}.")
    write_bytes(path, _content(table, path.suffix))
    return len(table)


def exported(engine: Engine, name: str, suffix: str) -> bytes | None:
    """The same as the content of such a file; None if there is no such experiment."""
    table = _table_of(engine, name)
    return None if table is None else _content(table, suffix)


def _table_of(engine: Engine, name: str) -> Any:
    """A row for each reward; None if there is no such experiment."""
    import pandas as pd  # half a second, which a server need not pay

    with database.reading(engine) as connection:  # an arm that comes meanwhile has no label here
        row = reading.find(connection, name)
        if row is None:
            return None
        labels, segments = _names(connection, row.id, row.spec)
        rows = _rows(connection, row.id, labels, segments)
        table = pd.DataFrame(rows, columns=[*COLUMNS, "segment"])
    return table if segments else table.drop(columns="segment")


def _content(table: Any, suffix: str) -> bytes:
    """The table as such a file."""
    content = io.BytesIO()
    if suffix == ".csv":
        table.map(harmless).to_csv(content, index=False)
    else:
        table.to_parquet(content, index=False)
    return content.getvalue()


def harmless(cell: Any) -> Any:
    """A cell that a spreadsheet shows as it is: a text that it would run gets an apostrophe."""
    runs = isinstance(cell, str) and cell.startswith(FORMULA) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if runs else cell


def _names(connection: Connection, experiment_id: int, spec: str) -> tuple[list[Any], list[Any]]:
    """The labels of an experiment's arms and the names of its segments, by their numbers."""
    query = sa.select(event.c.kind, event.c.arm, event.c.detail).where(
        event.c.experiment_id == experiment_id,
        event.c.kind.in_([Kind.arm_added.value, Kind.segment_added.value]),
    )
    said = json.loads(spec)
    labels = dict(enumerate(said["labels"]))
    segments = list(said["segments"]["names"]) if said.get("segments") else []
    for kind, arm, detail in connection.execute(query.order_by(event.c.seq)):
        if kind == Kind.segment_added:
            segments.append(json.loads(detail)["label"])
        else:
            labels[arm] = json.loads(detail)["label"]
    return [labels[number] for number in range(len(labels))], segments


def _rows(
    connection: Connection, key: int, labels: list[Any], segments: list[Any]
) -> Iterator[tuple[Any, ...]]:
    kinds = (Kind.told, Kind.expired, Kind.arm_added, Kind.arm_retired)
    query = (
        sa.select(
            event.c.kind,
            event.c.arm,
            event.c.value,
            decision.c.probability,
            event.c.decision_id,
            decision.c.unit,
            decision.c.asked_seq,
            event.c.seq,
            event.c.at,
            event.c.segment,
        )
        .outerjoin(decision, decision.c.id == event.c.decision_id)
        .where(event.c.experiment_id == key, event.c.kind.in_([kind.value for kind in kinds]))
        .order_by(event.c.seq)
    )
    retired: set[int] = set()
    for kind, arm, value, *rest, segment in connection.execute(query):
        if kind == Kind.arm_retired:
            retired.add(arm)
        elif kind == Kind.arm_added:
            retired.discard(arm)
        elif value is not None:
            name = None if segment is None else segments[segment]
            yield labels[arm], value, *rest, arm not in retired, name


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
        """Count the events since the last time; all of them if it is another log than before."""
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
        """The whole log, for the arms with these numbers, in this order.

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
