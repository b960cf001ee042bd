"""Finding what commands need: a query for each kind of key, for all experiments of a transaction.

A decision that is found by several keys is one object, so that each command sees what the ones
before it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from armature.service.db.schema import State, assignment, decision, reward
from armature.service.domain.work import Decision, Wanted, Work

CHUNK = 5_000  # keys in one query; SQLite takes 32,766
EXPIRED = 1_000  # windows that are closed at a time

_DECISIONS = sa.select(
    decision.c.id,
    decision.c.experiment_id,
    decision.c.arm,
    decision.c.unit,
    decision.c.probability,
    decision.c.expires_at,
    decision.c.status,
    decision.c.request_id,
    reward.c.value,
).select_from(decision.outerjoin(reward))
_keys: sa.BindParameter[Any] = sa.bindparam("keys", expanding=True)
_experiments: sa.BindParameter[Any] = sa.bindparam("experiments", expanding=True)
_BY_ID = _DECISIONS.where(decision.c.id.in_(_keys))
_BY_REQUEST = _DECISIONS.where(
    decision.c.experiment_id.in_(_experiments), decision.c.request_id.in_(_keys)
).order_by(decision.c.experiment_id, decision.c.request_id, decision.c.place)
_UNITS = sa.select(assignment).where(
    assignment.c.experiment_id.in_(_experiments), assignment.c.unit.in_(_keys)
)
_overdue = sa.and_(
    decision.c.status == sa.literal_column(f"'{State.open.value}'"),  # as the index has it
    decision.c.expires_at <= sa.bindparam("now"),
)
_EXPIRED = (
    _DECISIONS.where(_overdue, decision.c.experiment_id == sa.bindparam("experiment"))
    .order_by(decision.c.expires_at, decision.c.asked_seq)
    .limit(EXPIRED)
)
OVERDUE = sa.select(decision.c.experiment_id).distinct().where(_overdue)


def look_up(
    connection: Connection, works: dict[int, Work], wanted: Sequence[tuple[int, Wanted]]
) -> None:
    """Fill in what the commands of each experiment have asked for."""
    by_id = sorted({key for _, want in wanted for key in want.decisions})
    for row in _rows(connection, _BY_ID, by_id):
        if row.experiment_id in works:
            _intern(works[row.experiment_id], row)
    by_request = sorted({key for _, want in wanted for key in want.requests})
    for row in _rows(connection, _BY_REQUEST, by_request, works):
        work = works[row.experiment_id]
        work.requests.setdefault(row.request_id, []).append(_intern(work, row))
    units = sorted({key for _, want in wanted for key in want.units})
    for row in _rows(connection, _UNITS, units, works):
        works[row.experiment_id].units[row.unit] = (row.arm, row.until)
    for key in {key for key, want in wanted if want.expired}:
        found = connection.execute(_EXPIRED, {"experiment": key, "now": works[key].now})
        works[key].expired = [_intern(works[key], row) for row in found]


def _rows(
    connection: Connection,
    query: sa.Select[Any],
    keys: Sequence[str],
    experiments: Iterable[int] = (),
) -> Iterator[Any]:
    for start in range(0, len(keys), CHUNK):
        parameters = {"keys": keys[start : start + CHUNK], "experiments": list(experiments)}
        yield from connection.execute(query, parameters)


def _intern(work: Work, row: Any) -> Decision:
    known = work.decisions.get(row.id)
    if known is None:
        known = work.decisions[row.id] = Decision(
            row.id, row.arm, row.unit, row.probability, row.expires_at, row.status, row.value
        )
    return known
