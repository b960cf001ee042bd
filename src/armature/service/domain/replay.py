"""From the log to a bandit: the newest good snapshot, and the events after it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from armature.errors import ArmatureError
from armature.service.api import metrics
from armature.service.db.database import rows_of
from armature.service.db.schema import Kind, event, experiment, snapshot
from armature.service.domain.engine import (
    VERSION,
    Engine,
    Event,
    checksum_of,
    engine_of,
    event_of,
    new_engine,
)
from armature.service.domain.spec import Spec, read_spec
from armature.storage.registry import Allowed

EVERY = 5_000  # events from one snapshot to the next
KEPT = 2  # snapshots of an experiment: the newest, and one to fall back to
_EVENTS = (
    "SELECT seq, kind, decision_id, arm, value, at, detail FROM event "
    "WHERE experiment_id = ? AND seq BETWEEN ? AND ? ORDER BY seq"
)
_LAST = 2**62  # more than there will ever be

log = logging.getLogger("armature.service")


class AnotherLogError(ArmatureError):
    """The log is not the one that an engine was made from: the database was restored."""


@dataclass
class Loaded:
    """An experiment in memory: what it is, and how far its bandit has got."""

    name: str
    spec: Spec
    engine: Engine


def up_to_date(
    connection: Connection, experiment_id: int, loaded: Loaded | None, allow: Allowed = ()
) -> Loaded:
    """An experiment with all that its log says: what was loaded, unless that is of another log."""
    if loaded is not None:
        try:
            catch_up(connection, experiment_id, loaded.engine)
            return loaded
        except AnotherLogError as error:
            log.warning("%s: it is read again from the beginning.", error)
    found = load(connection, experiment_id, allow)
    assert found is not None  # its row is locked
    return found


def load(connection: Connection, experiment_id: int, allow: Allowed = ()) -> Loaded | None:
    """An experiment as its log has made it; None if there is none of that id."""
    query = sa.select(experiment.c.name, experiment.c.spec).where(experiment.c.id == experiment_id)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    spec = read_spec(json.loads(row.spec), allow)
    engine = _from_snapshot(connection, experiment_id, allow)
    return Loaded(row.name, spec, engine or rebuild(connection, experiment_id, spec))


def rebuild(connection: Connection, experiment_id: int, spec: Spec) -> Engine:
    """The engine from the log alone."""
    engine = new_engine(spec)
    catch_up(connection, experiment_id, engine)
    return engine


def catch_up(connection: Connection, experiment_id: int, engine: Engine) -> None:
    """Apply the events that are in the log and not yet in the engine.

    The engine's last event is read again: a log that has another one in its place, or none, is
    refused before anything is changed.
    """
    before = engine.divergences
    with closing(rows_of(connection, _EVENTS, (experiment_id, engine.seq, _LAST))) as rows:
        events = _read(rows)
        if engine.last is not None and next(events, None) != (engine.seq, engine.last):
            raise AnotherLogError(
                f"event {engine.seq} of experiment {experiment_id} is another one in the database "
                "than in memory or in a snapshot, as after a restore from a backup"
            )
        for seq, found in events:
            if seq != engine.seq + 1:
                raise ArmatureError(
                    f"the log of experiment {experiment_id} has no event {engine.seq + 1}: it was "
                    "changed by something else than this service."
                )
            engine.apply(found)
    metrics.DIVERGENCES.inc(engine.divergences - before)


def event_at(connection: Connection, experiment_id: int, seq: int) -> Event | None:
    """An event of the log, or None."""
    rows = list(rows_of(connection, _EVENTS, (experiment_id, seq, seq)))
    return next((found for _, found in _read(rows)), None)


def _read(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, Event]]:
    """Events with their numbers."""
    return ((seq, event_of(*content)) for seq, *content in rows)


def labels_of(connection: Connection, experiment_id: int, spec: str) -> list[Any]:
    """What the arms of an experiment are called, by their numbers."""
    query = sa.select(event.c.arm, event.c.detail).where(
        event.c.experiment_id == experiment_id, event.c.kind == Kind.arm_added.value
    )
    labels = dict(enumerate(json.loads(spec)["labels"]))
    labels |= {arm: json.loads(detail)["label"] for arm, detail in connection.execute(query)}
    return [labels[number] for number in range(len(labels))]


def _from_snapshot(connection: Connection, experiment_id: int, allow: Allowed) -> Engine | None:
    """From the newest snapshot that is whole, of a version that we read, and of this log."""
    query = (
        sa.select(snapshot.c.seq, snapshot.c.state, snapshot.c.checksum, snapshot.c.version)
        .where(snapshot.c.experiment_id == experiment_id)
        .order_by(snapshot.c.seq.desc())
    )
    for row in connection.execute(query).all():
        engine = _engine_in(row, allow)
        if engine is not None:
            try:
                catch_up(connection, experiment_id, engine)
                return engine
            except AnotherLogError as error:
                log.warning("a snapshot is passed over: %s.", error)
        metrics.SNAPSHOTS_REFUSED.inc()
    return None


def _engine_in(row: Any, allow: Allowed) -> Engine | None:
    """What a snapshot holds, if it can be trusted to be what was written."""
    if row.version != VERSION or row.checksum != checksum_of(row.state):
        return None
    try:
        engine = engine_of(row.state, allow)
    except ArmatureError:
        return None
    return engine if engine.seq == row.seq and engine.last is not None else None


def is_due(before: int, after: int) -> bool:
    """Whether a snapshot is to be taken: one of the transactions that passes a multiple does it."""
    return before // EVERY != after // EVERY


def save(connection: Connection, experiment_id: int, engine: Engine) -> None:
    """Write a snapshot, in the transaction of the events that it includes; drop the oldest."""
    state = engine.as_text()
    connection.execute(
        sa.insert(snapshot).values(
            experiment_id=experiment_id,
            seq=engine.seq,
            state=state,
            checksum=checksum_of(state),
            version=VERSION,
        )
    )
    mine = snapshot.c.experiment_id == experiment_id
    query = sa.select(snapshot.c.seq).where(mine).order_by(snapshot.c.seq.desc()).offset(KEPT)
    old = list(connection.execute(query.limit(100)).scalars())
    if old:
        connection.execute(sa.delete(snapshot).where(mine, snapshot.c.seq.in_(old)))
