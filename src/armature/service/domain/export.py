"""A log as a table: a row for each reward that counted, in the order in which they came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from armature.errors import ArmatureError
from armature.service.db.schema import Kind, decision, event
from armature.service.domain import reading, replay
from armature.storage.files import replacing

COLUMNS = (
    "arm",  # the label
    "reward",
    "probability",  # with which the arm was chosen, where that is known
    "decision",
    "unit",
    "asked_seq",  # when it was decided, and when its reward counted: numbers of events
    "told_seq",
    "told_at",  # seconds since 1970
)


def export_log(engine: Engine, name: str, path: Path) -> int:
    """Write an experiment's rewards to a .csv or .parquet file; how many there were."""
    if path.suffix not in (".csv", ".parquet"):
        raise ArmatureError(f"{str(path)!r}: give a file that ends in .csv or .parquet.")
    with engine.connect() as connection:
        row = reading.find(connection, name)
        if row is None:
            raise ArmatureError(f"there is no experiment {name!r}.")
        labels = replay.labels_of(connection, row.id, row.spec)
        table = pd.DataFrame(_rows(connection, row.id, labels), columns=list(COLUMNS))
    with replacing(path) as beside:
        if path.suffix == ".csv":
            table.to_csv(beside, index=False)
        else:
            table.to_parquet(beside, index=False)
    return len(table)


def _rows(connection: Connection, key: int, labels: list[Any]) -> Iterator[tuple[Any, ...]]:
    query = (
        sa.select(
            event.c.arm,
            event.c.value,
            decision.c.probability,
            event.c.decision_id,
            decision.c.unit,
            decision.c.asked_seq,
            event.c.seq,
            event.c.at,
        )
        .join(decision, decision.c.id == event.c.decision_id)
        .where(
            event.c.experiment_id == key,
            event.c.kind.in_([Kind.told.value, Kind.expired.value]),
            event.c.value.is_not(None),
        )
        .order_by(event.c.seq)
    )
    for arm, *rest in connection.execute(query):
        yield labels[arm], *rest
