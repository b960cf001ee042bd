"""One experiment in one transaction: what was found in the database, and what is to be written.

A command changes the bandit and adds rows; nothing is written before the commands of all
experiments have run. A command that is refused raises `Refused` before it has changed anything.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from armature.errors import ArmatureError
from armature.service.db.database import Row, write_rows
from armature.service.db.schema import DecisionState, Kind, assignment, decision, event, reward
from armature.service.domain import replay
from armature.service.domain.replay import Event, Loaded

CHUNK = 5_000  # keys in one query; SQLite takes 32,766
EXPIRED = 1_000  # windows that are closed at a time

log = logging.getLogger("armature.service")


@dataclass(frozen=True)
class Needs:
    """The rows that a command needs before it can run: decisions, requests and units."""

    decisions: Iterable[str] = ()
    requests: Iterable[str] = ()
    units: Iterable[str] = ()
    expired: bool = False  # decisions whose window has closed


class Command:
    """A change that a request makes to an experiment."""

    def wanted(self) -> Needs:
        """The rows to look up first."""
        return Needs()

    def run(self, work: UnitOfWork) -> Any:
        """Do it and return the answer; or raise `Refused`, with nothing changed."""
        raise NotImplementedError


@dataclass(slots=True)
class StoredDecision:
    """A decision as it is stored, with its reward if there is one."""

    id: str
    arm: int
    unit: str | None
    probability: float | None
    expires_at: float | None
    status: str
    segment: int | None = None
    reward: float | None = None


@dataclass
class UnitOfWork:
    """An experiment in a transaction.

    Attributes
    ----------
        now: the database's clock.
        decisions, requests: what was found, and what was made since.
        units: the same of the arms that units keep, in each segment.
        expired: decisions whose window has closed, those that closed first, at most `EXPIRED`.
    """

    experiment_id: int
    status: str
    now: float
    loaded: Loaded
    decisions: dict[str, StoredDecision] = field(default_factory=dict)
    requests: dict[str, list[StoredDecision]] = field(default_factory=dict)
    units: dict[tuple[str, int], tuple[int, float | None]] = field(default_factory=dict)
    expired: list[StoredDecision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name, self.spec, self.replica = (
            self.loaded.name, self.loaded.spec, self.loaded.replica,
        )  # fmt: skip
        self.labels = self.replica.labels
        self.replica.time.now = self.now
        self.first_seq, self.first_event = self.replica.seq, self.replica.last
        self.counts: Counter[Kind] = Counter()
        self.learned = 0  # rewards that the bandit has counted
        self.new_events: list[Row] = []
        self.new_decisions: list[Row] = []
        self.new_rewards: list[Row] = []
        self.closed: list[Row] = []  # a decision's status, and its id
        self.assigned: dict[tuple[str, int], Row] = {}  # by unit and segment

    def append(
        self,
        kind: Kind,
        decision: str | None = None,
        arm: int | None = None,
        value: float | None = None,
        detail: dict[str, Any] | None = None,
        segment: int | None = None,
    ) -> None:
        """Add an event to the log."""
        text = None if detail is None else json.dumps(detail, allow_nan=False)
        event = self.replica.note(Event(kind.value, decision, arm, value, self.now, text, segment))
        self.counts[kind] += 1
        self.new_events.append((self.experiment_id, self.replica.seq, *event))

    def note_of(self, kind: Kind, decision: StoredDecision, value: float | None = None) -> None:
        """Add an event about a decision to the log; and that rewards changed, if that shows."""
        segment = decision.segment
        self.append(kind, decision.id, decision.arm, value, segment=segment)
        if kind in (Kind.told, Kind.expired) and value is not None:
            change = self.replica.new_change(segment)
            if change is not None:
                self.replica.changed[segment or 0] = change.since
                said = {"words": change.words}
                self.append(Kind.changed, None, None, float(change.since), said, segment)

    def decide(
        self, unit: str | None, request_id: str | None, n: int, segment: int | None = None
    ) -> list[StoredDecision]:
        """Make n decisions: the unit's arm if it has one, else what the policy says."""
        token = secrets.token_hex(4)
        return [self._decide(unit, request_id, place, token, segment) for place in range(n)]

    def _decide(
        self, unit: str | None, request_id: str | None, place: int, token: str, segment: int | None
    ) -> StoredDecision:
        arm, probability, kind = self._held(unit, segment), None, Kind.kept
        bandit = self.replica.of(segment)
        if arm is None:
            label, probability = bandit.ask_with_probability()
            arm, kind = self.replica.numbers[label], Kind.asked
            if unit is not None:
                self._assign(unit, segment, arm)
        else:
            bandit.expect(self.labels[arm])
        window = self.spec.window
        made = StoredDecision(
            f"{self.experiment_id}-{self.replica.seq + 1}-{token}",
            arm,
            unit,
            probability,
            None if window is None else self.now + window,
            DecisionState.open.value,
            segment,
        )
        self.note_of(kind, made)
        key = (made.id, self.experiment_id, request_id, place, unit)
        self.new_decisions.append(
            (*key, arm, probability, self.replica.seq, made.expires_at, made.status, segment)
        )
        return made

    def _held(self, unit: str | None, segment: int | None) -> int | None:
        """The arm that the unit keeps in the segment, if it is still there."""
        if unit is None or (unit, segment or 0) not in self.units:
            return None
        arm, until = self.units[unit, segment or 0]
        gone = (until is not None and until <= self.now) or self.replica.is_retired(arm)
        return None if gone else arm

    def _assign(self, unit: str, segment: int | None, arm: int) -> None:
        if self.spec.sticky == 0.0:
            return
        until = None if self.spec.sticky is None else self.now + self.spec.sticky
        key = unit, segment or 0
        self.units[key] = (arm, until)
        self.assigned[key] = (self.experiment_id, *key, arm, until)

    def close(self, decision: StoredDecision, status: DecisionState) -> None:
        """A decision's reward is no longer outstanding."""
        decision.status = status.value
        self.closed.append((decision.status, decision.id))

    def tell(self, decision: StoredDecision, value: float) -> None:
        """Let the bandit learn from a reward; that of a retired arm does not count."""
        self.replica.of(decision.segment).tell(self.labels[decision.arm], value)
        self.learned += not self.replica.is_retired(decision.arm)

    def cancel(self, decision: StoredDecision) -> None:
        """As if the pull had not been."""
        self.replica.of(decision.segment).cancel(self.labels[decision.arm])

    def check_reward(self, decision: StoredDecision, value: float) -> None:
        """Refuse a reward that the decision's arm can't have."""
        self.replica.of(decision.segment).check_reward(self.labels[decision.arm], value)

    def expire(self, decision: StoredDecision) -> None:
        """A window has closed: the default reward, or as if there had been no pull."""
        default = self._default_of(decision)
        if default is None:
            self.cancel(decision)
        else:
            self.tell(decision, default)
        self.note_of(Kind.expired, decision, default)
        self.close(decision, DecisionState.expired)

    def _default_of(self, decision: StoredDecision) -> float | None:
        """The default reward; None also for an arm that can't have it, so that others go on."""
        try:
            if self.spec.default is not None:
                self.check_reward(decision, self.spec.default)
        except ArmatureError as error:
            log.warning("decision %s ends without a reward: %s", decision.id, error)
            return None
        return self.spec.default

    def advance(self) -> Row:
        """The new values of the experiment's row, in the order of `_ADVANCE`."""
        made = len(self.new_decisions)
        return self.replica.seq, self.status, made, self.learned, self.experiment_id

    def is_overdue(self, decision: StoredDecision) -> bool:
        """Whether an open decision's window has closed."""
        until = decision.expires_at
        return decision.status == DecisionState.open and until is not None and until <= self.now


# Finding what commands need. A decision that is found by several keys is one object, so that each
# command sees what the ones before it did.

_DECISIONS = sa.select(
    decision.c.id,
    decision.c.arm,
    decision.c.unit,
    decision.c.probability,
    decision.c.expires_at,
    decision.c.status,
    decision.c.segment,
    reward.c.value,
    decision.c.request_id,
).select_from(decision.outerjoin(reward))
_keys: sa.BindParameter[Any] = sa.bindparam("keys", expanding=True)
_mine = decision.c.experiment_id == sa.bindparam("experiment")
_BY_ID = _DECISIONS.where(_mine, decision.c.id.in_(_keys))
_BY_REQUEST = _DECISIONS.where(_mine, decision.c.request_id.in_(_keys)).order_by(
    decision.c.request_id, decision.c.place
)
_UNITS = sa.select(assignment).where(
    assignment.c.experiment_id == sa.bindparam("experiment"), assignment.c.unit.in_(_keys)
)
_overdue = sa.and_(
    decision.c.status == sa.literal_column(f"'{DecisionState.open.value}'"),  # as the index has it
    decision.c.expires_at <= sa.bindparam("now"),
)
_EXPIRED = (
    _DECISIONS.where(_overdue, _mine)
    .order_by(decision.c.expires_at, decision.c.asked_seq)
    .limit(EXPIRED)
)
OVERDUE = sa.select(decision.c.experiment_id).distinct().where(_overdue)


def look_up(connection: Connection, work: UnitOfWork, commands: Iterable[Command]) -> None:
    """Fill in what the commands of an experiment have asked for: a query for each kind of key."""
    wanted = [command.wanted() for command in commands]
    for row in _found(connection, _BY_ID, work, (key for want in wanted for key in want.decisions)):
        _intern(work, row)
    for row in _found(
        connection, _BY_REQUEST, work, (key for want in wanted for key in want.requests)
    ):
        work.requests.setdefault(row.request_id, []).append(_intern(work, row))
    for row in _found(connection, _UNITS, work, (key for want in wanted for key in want.units)):
        work.units[row.unit, row.segment] = (row.arm, row.until)
    if any(want.expired for want in wanted):
        keys = {"experiment": work.experiment_id, "now": work.now}
        work.expired = [_intern(work, row) for row in connection.execute(_EXPIRED, keys)]


def _found(
    connection: Connection, query: sa.Select[Any], work: UnitOfWork, wanted: Iterable[str]
) -> Iterator[Any]:
    keys = sorted(set(wanted))
    for start in range(0, len(keys), CHUNK):
        some = {"keys": keys[start : start + CHUNK], "experiment": work.experiment_id}
        yield from connection.execute(query, some)


def _intern(work: UnitOfWork, row: Any) -> StoredDecision:
    """The decision of a row: the object that stands for it already, or a new one."""
    return work.decisions.setdefault(row.id, StoredDecision(*row[:8]))


# Writing what commands have done.

_ADVANCE = (
    "UPDATE experiment SET last_seq = ?, status = ?, decisions = decisions + ?, "
    "rewards = rewards + ? WHERE id = ?"
)
_CLOSE = "UPDATE decision SET status = ? WHERE id = ?"
_AGAIN = {
    assignment: "ON CONFLICT (experiment_id, unit, segment) "
    "DO UPDATE SET arm = excluded.arm, until = excluded.until"
}


def write(connection: Connection, works: Sequence[UnitOfWork]) -> None:
    """Write all rows of all experiments, with one statement for each table."""
    write_rows(
        connection,
        [
            (event, [row for work in works for row in work.new_events]),
            (decision, [row for work in works for row in work.new_decisions]),
            (reward, [row for work in works for row in work.new_rewards]),
            (assignment, [row for work in works for row in work.assigned.values()]),
        ],
        [
            (_CLOSE, [row for work in works for row in work.closed]),
            (_ADVANCE, [work.advance() for work in works]),
        ],
        _AGAIN,
    )
    for work in works:
        if work.first_seq // replay.EVERY != work.replica.seq // replay.EVERY:
            replay.save(connection, work.experiment_id, work.replica)
