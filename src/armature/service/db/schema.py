"""The tables: one schema for SQLite and PostgreSQL.

`event` is the truth: an append-only log per experiment, numbered without gaps in commit order.
`decision`, `reward` and `assignment` are what of it has to be found by a key; they are written in
the same transaction. `snapshot` is a cache: a bandit as it was after an event.

Times are seconds since 1970 by the database's clock (of a file, by `sqlite.SteadyClock`). A
decision's id is "<experiment>-<seq of its event>-<random>": it says where to look, and after a
restore from a backup an id that was handed out in between is unknown rather than another
decision's.
"""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

REVISION = "0002"  # the newest of `migrations/versions`


class Kind(StrEnum):
    """Kinds of events; `value` and `detail` are None unless said otherwise."""

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
    segment_added = "new segment"  # detail: {"label": ...}
    changed = "changed"  # the rewards changed; value: after how many decisions; detail: in words
    when_changed = "when changed"  # detail: {"changes": "notice" or "restart"}


class Status(StrEnum):
    """The status of an experiment."""

    running = "running"
    paused = "paused"  # no decisions; rewards are taken in
    stopped = "stopped"  # the same, for good


class DecisionState(StrEnum):
    """The state of a decision."""

    open = "open"  # its reward is outstanding
    told = "told"
    cancelled = "cancelled"
    expired = "expired"  # its window closed without a reward


metadata = sa.MetaData()

experiment = sa.Table(
    "experiment",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    sa.Column("decisions", sa.BigInteger, nullable=False),  # how many were made, all arms together
    sa.Column("rewards", sa.BigInteger, nullable=False),  # how many the bandit has learned from
    sa.Column("created_at", sa.Double, nullable=False),
)

event = sa.Table(
    "event",
    metadata,
    sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(12), nullable=False),
    sa.Column("decision_id", sa.String(48)),
    sa.Column("arm", sa.Integer),  # the number of an arm, in the order in which arms came
    sa.Column("value", sa.Double),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("detail", sa.Text),
    sa.Column("segment", sa.Integer),  # its number, in the order in which segments came
    sqlite_with_rowid=False,
)

decision = sa.Table(
    "decision",
    metadata,
    sa.Column("id", sa.String(48), primary_key=True),
    sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), nullable=False),
    sa.Column("request_id", sa.String(200)),
    sa.Column("place", sa.Integer, nullable=False),  # among the decisions of one request
    sa.Column("unit", sa.String(200)),
    sa.Column("arm", sa.Integer, nullable=False),
    sa.Column("probability", sa.Double),
    sa.Column("asked_seq", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.Double),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("segment", sa.Integer),
    sa.UniqueConstraint("experiment_id", "request_id", "place"),
    sqlite_with_rowid=False,
)

# What may expire, soonest first: small, because it holds open decisions only.
WAITING = sa.text("status = 'open' AND expires_at IS NOT NULL")
sa.Index("decision_waiting", decision.c.expires_at, sqlite_where=WAITING, postgresql_where=WAITING)

reward = sa.Table(
    "reward",
    metadata,
    sa.Column("decision_id", sa.String(48), sa.ForeignKey("decision.id"), primary_key=True),
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("status", sa.String(10), nullable=False),  # applied or late
    sqlite_with_rowid=False,
)

assignment = sa.Table(
    "assignment",
    metadata,
    sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), primary_key=True),
    sa.Column("unit", sa.String(200), primary_key=True),
    # 0 also where there are no segments
    sa.Column("segment", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("arm", sa.Integer, nullable=False),
    sa.Column("until", sa.Double),
    sqlite_with_rowid=False,
)

snapshot = sa.Table(
    "snapshot",
    metadata,
    sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("checksum", sa.String(64), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
)

api_key = sa.Table(
    "api_key",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("scopes", sa.String(100), nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double),
)
