"""A log as a table: a row for each reward that came in time, in the order in which they came."""

from __future__ import annotations

import re
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
    "counted",  # whether the bandit learned from it: not if the arm was retired by then
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# A text that begins so is a formula to a spreadsheet, which runs it: the last four are wide ones.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


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
            table.map(harmless).to_csv(beside, index=False)
        else:
            table.to_parquet(beside, index=False)
    return len(table)


def harmless(cell: Any) -> Any:
    """A cell that a spreadsheet shows as it is: a text that it would run gets an apostrophe."""
    runs = isinstance(cell, str) and cell.startswith(FORMULA) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if runs else cell


def _rows(connection: Connection, key: int, labels: list[Any]) -> Iterator[tuple[Any, ...]]:
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
        )
        .outerjoin(decision, decision.c.id == event.c.decision_id)
        .where(event.c.experiment_id == key, event.c.kind.in_([kind.value for kind in kinds]))
        .order_by(event.c.seq)
    )
    retired: set[int] = set()
    for kind, arm, value, *rest in connection.execute(query):
        if kind == Kind.arm_retired:
            retired.add(arm)
        elif kind == Kind.arm_added:
            retired.discard(arm)
        elif value is not None:
            yield labels[arm], value, *rest, arm not in retired
