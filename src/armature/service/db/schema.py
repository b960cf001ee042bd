"""What is stored: one schema for SQLite and PostgreSQL.

`event` is the truth: an append-only log per experiment, numbered without gaps in commit order.
`decision`, `reward` and `assignment` are what of it has to be found by a key; they are written in
the same transaction. `snapshot` is a cache: a bandit as it was after an event.

Times are seconds since 1970 by the database's clock (of a file, by `steady`'s). A decision's id is
"<experiment>-<seq of its event>-<random>": it says where to look, and after a restore from a backup
an id that was handed out in between is unknown rather than another decision's.
"""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

REVISION = "0001"  # the newest of `migrations/versions`


class Kind(StrEnum):
    """What an event says; `value` and `detail` are None unless said otherwise."""

    created = "created"  # detail: {"spec": ...}
    asked = "asked"  # the policy chose the arm
    kept = "kept"  # the unit has this arm already
    told = "told"  # value: the reward
    late = "late"  # value: a reward that came after the window; not applied
    cancelled = "cancelled"  # the pull never happened
    expired = "expired"  # value: the default reward, or None: as if cancelled
    paused = "paused"
    running = "running"
    stopped = "stopped"
    floor = "floor"  # value: the new floor
    arm_added = "arm added"  # detail: {"label": ..., and what the structure needs to know}
    arm_retired = "arm retired"


class Status(StrEnum):
    """Of an experiment."""

    running = "running"
    paused = "paused"  # no decisions; rewards are taken in
    stopped = "stopped"  # the same, for good


class State(StrEnum):
    """Of a decision."""

    open = "open"  # its reward is outstanding
    told = "told"
    cancelled = "cancelled"
    expired = "expired"  # its window closed without a reward


metadata = MetaData()

experiment = Table(
    "experiment",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("spec", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("status", String(10), nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("decisions", BigInteger, nullable=False),  # how many were made, all arms together
    Column("rewards", BigInteger, nullable=False),  # how many the bandit has learned from
    Column("created_at", Double, nullable=False),
)

event = Table(
    "event",
    metadata,
    Column("experiment_id", Integer, ForeignKey("experiment.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(12), nullable=False),
    Column("decision_id", String(48)),
    Column("arm", Integer),  # the number of an arm, in the order in which arms came
    Column("value", Double),
    Column("at", Double, nullable=False),
    Column("detail", Text),
    sqlite_with_rowid=False,
)

decision = Table(
    "decision",
    metadata,
    Column("id", String(48), primary_key=True),
    Column("experiment_id", Integer, ForeignKey("experiment.id"), nullable=False),
    Column("request_id", String(200)),
    Column("place", Integer, nullable=False),  # among the decisions of one request
    Column("unit", String(200)),
    Column("arm", Integer, nullable=False),
    Column("probability", Double),
    Column("asked_seq", BigInteger, nullable=False),
    Column("expires_at", Double),
    Column("status", String(10), nullable=False),
    UniqueConstraint("experiment_id", "request_id", "place"),
    sqlite_with_rowid=False,
)

# What may expire, soonest first: small, because it holds open decisions only.
WAITING = text("status = 'open' AND expires_at IS NOT NULL")
Index("decision_waiting", decision.c.expires_at, sqlite_where=WAITING, postgresql_where=WAITING)

reward = Table(
    "reward",
    metadata,
    Column("decision_id", String(48), ForeignKey("decision.id"), primary_key=True),
    Column("value", Double, nullable=False),
    Column("status", String(10), nullable=False),  # applied or late
    sqlite_with_rowid=False,
)

assignment = Table(
    "assignment",
    metadata,
    Column("experiment_id", Integer, ForeignKey("experiment.id"), primary_key=True),
    Column("unit", String(200), primary_key=True),
    Column("arm", Integer, nullable=False),
    Column("until", Double),
    sqlite_with_rowid=False,
)

snapshot = Table(
    "snapshot",
    metadata,
    Column("experiment_id", Integer, ForeignKey("experiment.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
    Column("checksum", String(64), nullable=False),
    Column("version", Integer, nullable=False),
)

api_key = Table(
    "api_key",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("scopes", String(100), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
)
