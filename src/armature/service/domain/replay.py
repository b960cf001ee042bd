"""From the log to a bandit: the newest good snapshot, and the events after it.

Everything that changes a bandit here is an event, and `Replica.apply` does to it what the event
says. Live, the same calls are made in the same order, so the log gives the same bandit bit for bit.

Arms have numbers, in the order in which they came; a number is never given to another arm. The
service's tables have numbers, and people see labels.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from armature.errors import ArmatureError
from armature.live.bandit import Bandit
from armature.live.checkpoint import SEGMENTED
from armature.live.segmented import SegmentedBandit
from armature.policies import Restarting
from armature.service import metrics
from armature.service.db.database import fetch
from armature.service.db.schema import Kind, experiment, snapshot
from armature.service.domain.noticed import Noticed, noticed, use_clock, use_policy
from armature.service.domain.spec import Spec, read_spec, restarting
from armature.storage.files import checksum
from armature.storage.registry import Allowed

VERSION = 2  # of what `as_text` writes
EVERY = 5_000  # events from one snapshot to the next
CHUNK = 10_000  # events that are read at a time
KEPT = 2  # snapshots of an experiment: the newest, and one to fall back to
_EVENTS = (
    "SELECT seq, kind, decision_id, arm, value, at, detail, segment FROM event "
    "WHERE experiment_id = ? AND seq >= ? ORDER BY seq LIMIT ?"
)

log = logging.getLogger("armature.service")


class AnotherLogError(ArmatureError):
    """The log is not the one that a bandit was made from: the database was restored."""


class Event(NamedTuple):
    """The content of an event. Its time and its decision's id make it unique."""

    kind: str
    decision: str | None
    arm: int | None
    value: float | None
    at: float
    detail: str | None
    segment: int | None = None


@dataclass
class EventTime:
    """The time of the event that is applied: the clock by which rewards are forgotten."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Replica:
    """The bandit of an experiment after the event `seq` of its log.

    Attributes
    ----------
        bandit: that of a table, where there are segments.
        labels: what each arm is called, by its number; arms that were retired keep theirs.
        last: the event `seq` itself, which says of which log all this is; None before the first.
        divergences: how often a replay would have chosen another arm than the one recorded.
        changed: in each segment (0 where there are none) in which rewards are known to have
            changed, after how many decisions.
        added: of each arm that was added, by its number, what was said of it then.
        time: what the bandit takes for the time.
    """

    bandit: Bandit | SegmentedBandit
    labels: list[Hashable]
    seq: int = 0
    divergences: int = 0
    last: Event | None = None
    changed: dict[int, int] = field(default_factory=dict)
    added: dict[int, dict[str, Any]] = field(default_factory=dict)
    time: EventTime = field(default_factory=EventTime)

    def __post_init__(self) -> None:
        self.numbers = {label: number for number, label in enumerate(self.labels)}
        self._live = set(self.bandit.arms)

    @property
    def segments(self) -> list[Hashable]:
        """The names of the segments, by their numbers; empty where there are none."""
        return self.bandit.segments if isinstance(self.bandit, SegmentedBandit) else []

    def of(self, segment: int | None) -> Bandit:
        """The bandit that decides for a segment; the only one where there are none."""
        if isinstance(self.bandit, SegmentedBandit):
            return self.bandit.of(self.bandit.structure.names[segment or 0])
        return self.bandit

    def segment_named(self, name: Any) -> int | None:
        """The number of the segment that a request means; None where there are none."""
        bandit = self.bandit
        if not isinstance(bandit, SegmentedBandit):
            if name is not None:
                raise ArmatureError("the experiment has no segments: leave the segment out.")
            return None
        if name not in bandit.structure.names and bandit.otherwise is not None:
            name = bandit.otherwise
        if name is None:
            known = ", ".join(map(repr, bandit.segments))
            raise ArmatureError(f"say which segment it is for: {known}.")
        return bandit.structure.place(name)

    @property
    def floor(self) -> float:
        """The least share of decisions for each arm."""
        return self.of(0).floor

    def set_floor(self, floor: float) -> None:
        """Another floor, in every segment."""
        for place in range(max(1, len(self.segments))):
            self.of(place).set_floor(floor)

    @property
    def changes(self) -> str:
        """The thing that is done when rewards change: "notice" or "restart"."""
        return "restart" if isinstance(self.of(0).policy, Restarting) else "notice"

    def set_changes(self, changes: str) -> None:
        """From now on, notice changes or begin anew."""
        if isinstance(self.bandit, SegmentedBandit):
            raise ArmatureError(
                "what is done about changes is settled where there are segments: make a new "
                "experiment."
            )
        policy = self.bandit.policy
        inside = policy.policy if isinstance(policy, Restarting) else policy
        use_policy(self.bandit, restarting(inside) if changes == "restart" else inside)

    def new_change(self, segment: int | None) -> Noticed | None:
        """A change of the rewards that is not in the log yet."""
        return noticed(self.of(segment), self.changed.get(segment or 0))

    def add_segment(self, name: Hashable) -> None:
        """One more segment, which gets the next number."""
        if not isinstance(self.bandit, SegmentedBandit):
            raise ArmatureError("the experiment has no segments: make a new one, with a table.")
        floor = self.floor
        self.bandit.add_segment(name)
        self.set_floor(floor)

    def is_retired(self, arm: int) -> bool:
        """Whether the arm is no longer chosen."""
        return self.labels[arm] not in self._live

    def add_arm(self, label: Hashable, options: dict[str, Any]) -> int:
        """A new arm, which gets the next number; or one that was retired, which keeps its own."""
        self.of(0).add_arm(label, **options)
        self._live.add(label)
        if label not in self.numbers:
            self.numbers[label] = len(self.labels)
            self.labels.append(label)
        self.added[self.numbers[label]] = options
        return self.numbers[label]

    def retire_arm(self, arm: int) -> None:
        """Never choose the arm again."""
        self.of(0).retire_arm(self.labels[arm])
        self._live.remove(self.labels[arm])

    def note(self, event: Event) -> Event:
        """Count an event that has been applied, and keep it as it is read from the database.

        A file has no -0.0, and no whole reward.
        """
        self.seq += 1
        if event.value is not None:
            event = event._replace(value=float(event.value) + 0.0)
        self.last = event
        return event

    def apply(self, event: Event) -> None:
        """Do what an event of the log says."""
        self.note(event)
        self.time.now = event.at
        kind, value = event.kind, event.value
        if kind == Kind.arm_added:
            options = json.loads(event.detail or "{}")
            self.add_arm(options.pop("label"), options)
            return
        if kind == Kind.changed and value is not None:
            self.changed[event.segment or 0] = int(value)
            return
        if kind == Kind.when_changed:
            self.set_changes(json.loads(event.detail or "{}")["changes"])
            return
        if kind == Kind.segment_added:
            self.add_segment(json.loads(event.detail or "{}")["label"])
            return
        bandit = self.of(event.segment)
        label: Any = None if event.arm is None else self.labels[event.arm]
        if kind == Kind.asked:
            self.divergences += bandit.asked(label) != label
        elif kind == Kind.kept:
            bandit.expect(label)
        elif kind in (Kind.told, Kind.expired) and value is not None:
            bandit.tell(label, value)
        elif kind in (Kind.cancelled, Kind.expired):
            bandit.cancel(label)
        elif kind == Kind.floor and value is not None:
            self.set_floor(value)
        elif kind == Kind.arm_retired and event.arm is not None:
            self.retire_arm(event.arm)

    def as_text(self) -> str:
        """All of it as a text, the same for equal replicas."""
        content = {
            "seq": self.seq,
            "labels": self.labels,
            "divergences": self.divergences,
            "last": self.last,
            "changed": sorted(self.changed.items()),
            "added": sorted(self.added.items()),
            "bandit": json.loads(self.bandit.to_json()),
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def replica_of(text: str, allow: Allowed) -> Replica:
    """The replica that `as_text` wrote down."""
    try:
        content = json.loads(text)
        saved = content["bandit"]
        kind = SegmentedBandit if saved["format"] == SEGMENTED else Bandit
        bandit = kind.from_json(json.dumps(saved), allow=allow)
        last = None if content["last"] is None else Event(*content["last"])
        time = EventTime(0.0 if last is None else last.at)
        use_clock(bandit, time)
        return Replica(
            bandit,
            content["labels"],
            content["seq"],
            content["divergences"],
            last,
            dict(content.get("changed", ())),
            dict(content.get("added", ())),
            time,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArmatureError(f"the text describes no bandit of an experiment: {error}.") from None


@dataclass
class Loaded:
    """An experiment in memory: what it is, and how far its bandit has got."""

    name: str
    spec: Spec
    replica: Replica


def up_to_date(
    connection: Connection, experiment_id: int, loaded: Loaded | None, allow: Allowed = ()
) -> Loaded:
    """An experiment with all that its log says: what was loaded, unless that is of another log."""
    if loaded is not None:
        try:
            catch_up(connection, experiment_id, loaded.replica)
            return loaded
        except AnotherLogError as error:
            log.warning("%s: its log is read again from the beginning.", error)
    found = load(connection, experiment_id, allow)
    assert found is not None  # its row was found
    return found


def load(connection: Connection, experiment_id: int, allow: Allowed = ()) -> Loaded | None:
    """An experiment as its log has made it; None if there is none of that id."""
    query = sa.select(experiment.c.name, experiment.c.spec).where(experiment.c.id == experiment_id)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    spec = read_spec(json.loads(row.spec), allow)
    replica = _from_snapshot(connection, experiment_id, allow)
    return Loaded(row.name, spec, replica or rebuild(connection, experiment_id, spec))


def rebuild(connection: Connection, experiment_id: int, spec: Spec) -> Replica:
    """The replica from the log alone."""
    time = EventTime()
    replica = Replica(spec.make_bandit(time), list(spec.labels), time=time)
    catch_up(connection, experiment_id, replica)
    return replica


def catch_up(connection: Connection, experiment_id: int, replica: Replica) -> None:
    """Apply the events that are in the log and not yet in the replica.

    The replica's last event is read again: a log that has another one in its place, or none, is
    refused before anything is changed.
    """
    before = replica.divergences
    events = _events(connection, experiment_id, replica.seq, CHUNK)
    if replica.last is not None and events[:1] != [(replica.seq, replica.last)]:
        raise AnotherLogError(
            f"event {replica.seq} of experiment {experiment_id} is another one in the database "
            "than in memory or in a snapshot, as after a restore from a backup"
        )
    while events:
        for seq, found in events:
            if seq == replica.seq:  # its last event, read again
                continue
            if seq != replica.seq + 1:
                raise ArmatureError(
                    f"the log of experiment {experiment_id} has no event {replica.seq + 1}: "
                    "something other than this service has changed it."
                )
            replica.apply(found)
        more = len(events) == CHUNK
        events = _events(connection, experiment_id, replica.seq + 1, CHUNK) if more else []
    metrics.DIVERGENCES.inc(replica.divergences - before)


def event_at(connection: Connection, experiment_id: int, seq: int) -> Event | None:
    """An event of the log, or None."""
    found = _events(connection, experiment_id, seq, 1)
    return found[0][1] if found and found[0][0] == seq else None


def _events(
    connection: Connection, experiment_id: int, first: int, most: int
) -> list[tuple[int, Event]]:
    """Events with their numbers, from one on."""
    rows = fetch(connection, _EVENTS, (experiment_id, first, most))
    return [(seq, Event(*content)) for seq, *content in rows]


def _from_snapshot(connection: Connection, experiment_id: int, allow: Allowed) -> Replica | None:
    """From the newest snapshot that is whole, of a version that we read, and of this log."""
    query = (
        sa.select(snapshot.c.seq, snapshot.c.state, snapshot.c.checksum, snapshot.c.version)
        .where(snapshot.c.experiment_id == experiment_id)
        .order_by(snapshot.c.seq.desc())
    )
    for row in connection.execute(query).all():
        replica = _replica_in(row, allow)
        if replica is not None:
            try:
                catch_up(connection, experiment_id, replica)
                return replica
            except AnotherLogError as error:
                log.warning("a snapshot is not used: %s.", error)
        metrics.SNAPSHOTS_REFUSED.inc()
    return None


def _replica_in(row: Any, allow: Allowed) -> Replica | None:
    """The replica in a snapshot; None where the snapshot is damaged or of another version."""
    if row.version != VERSION or row.checksum != checksum(row.state.encode()):
        return None
    try:
        replica = replica_of(row.state, allow)
    except ArmatureError:
        return None
    return replica if replica.seq == row.seq and replica.last is not None else None


def save(connection: Connection, experiment_id: int, replica: Replica) -> None:
    """Write a snapshot, in the transaction of the events that it includes; drop the oldest."""
    state = replica.as_text()
    connection.execute(
        sa.insert(snapshot).values(
            experiment_id=experiment_id,
            seq=replica.seq,
            state=state,
            checksum=checksum(state.encode()),
            version=VERSION,
        )
    )
    mine = snapshot.c.experiment_id == experiment_id
    query = sa.select(snapshot.c.seq).where(mine).order_by(snapshot.c.seq.desc()).offset(KEPT)
    old = list(connection.execute(query.limit(100)).scalars())
    if old:
        connection.execute(sa.delete(snapshot).where(mine, snapshot.c.seq.in_(old)))
