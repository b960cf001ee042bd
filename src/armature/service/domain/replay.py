"""From the log to a bandit: the newest good snapshot, and the events after it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from armature.errors import ArmatureError
from armature.service.api import metrics
from armature.service.db.schema import Kind, event, experiment, snapshot
from armature.service.domain.engine import VERSION, Engine, checksum_of, engine_of, new_engine
from armature.service.domain.spec import Spec, read_spec
from armature.storage.registry import Allowed

EVERY = 5_000  # events from one snapshot to the next
KEPT = 2  # snapshots of an experiment: the newest, and one to fall back to
_EVENTS = (
    sa.select(event.c.seq, event.c.kind, event.c.arm, event.c.value, event.c.detail)
    .where(event.c.experiment_id == sa.bindparam("experiment"), event.c.seq > sa.bindparam("after"))
    .order_by(event.c.seq)
)


@dataclass
class Loaded:
    """An experiment in memory: what it is, and how far its bandit has got."""

    spec: Spec
    engine: Engine


def load(connection: Connection, experiment_id: int, allow: Allowed = ()) -> Loaded | None:
    """An experiment as its log has made it; None if there is none of that id."""
    query = sa.select(experiment.c.spec).where(experiment.c.id == experiment_id)
    text = connection.execute(query).scalar()
    if text is None:
        return None
    spec = read_spec(json.loads(text), allow)
    engine = _from_snapshot(connection, experiment_id, allow) or new_engine(spec)
    catch_up(connection, experiment_id, engine)
    return Loaded(spec, engine)


def rebuild(connection: Connection, experiment_id: int, spec: Spec) -> Engine:
    """The engine from the log alone."""
    engine = new_engine(spec)
    catch_up(connection, experiment_id, engine)
    return engine


def catch_up(connection: Connection, experiment_id: int, engine: Engine) -> None:
    """Apply the events that are in the log and not yet in the engine."""
    parameters = {"experiment": experiment_id, "after": engine.seq}
    before = engine.divergences
    for seq, kind, arm, value, detail in connection.execute(_EVENTS, parameters):
        if seq != engine.seq + 1:
            raise ArmatureError(
                f"the log of experiment {experiment_id} has no event {engine.seq + 1}: it was "
                "changed by something else than this service."
            )
        engine.apply(kind, arm, value, detail)
    metrics.DIVERGENCES.inc(engine.divergences - before)


def labels_of(connection: Connection, experiment_id: int, spec: str) -> list[Any]:
    """What the arms of an experiment are called, by their numbers."""
    query = sa.select(event.c.arm, event.c.detail).where(
        event.c.experiment_id == experiment_id, event.c.kind == Kind.arm_added.value
    )
    labels = dict(enumerate(json.loads(spec)["labels"]))
    labels |= {arm: json.loads(detail)["label"] for arm, detail in connection.execute(query)}
    return [labels[number] for number in range(len(labels))]


def _from_snapshot(connection: Connection, experiment_id: int, allow: Allowed) -> Engine | None:
    """The newest snapshot that is whole and of a version that we read."""
    query = (
        sa.select(snapshot.c.seq, snapshot.c.state, snapshot.c.checksum, snapshot.c.version)
        .where(snapshot.c.experiment_id == experiment_id)
        .order_by(snapshot.c.seq.desc())
    )
    for seq, state, checksum, version in connection.execute(query).all():
        if version == VERSION and checksum == checksum_of(state):
            try:
                engine = engine_of(state, allow)
            except ArmatureError:
                metrics.SNAPSHOTS_REFUSED.inc()
                continue
            if engine.seq == seq:
                return engine
        metrics.SNAPSHOTS_REFUSED.inc()
    return None


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
