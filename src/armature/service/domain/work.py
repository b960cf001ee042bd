"""One experiment in one transaction: what was found under the lock, and what is to be written.

A command changes the engine and adds rows; nothing reaches the database before the commands of all
experiments have run. A command that is refused raises `Refused` before it has changed anything.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from armature.errors import ArmatureError
from armature.service.db.schema import Kind, State, Status
from armature.service.domain.engine import Engine, event_of
from armature.service.domain.spec import Spec

log = logging.getLogger("armature.service")

Row = tuple[Any, ...]  # of a table, in the order of its columns


class Refused(Exception):  # noqa: N818
    """A request that can't be done: its HTTP code, and a sentence that says why."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


@dataclass(frozen=True)
class Wanted:
    """What a command has to find before it can run: decisions, requests and units."""

    decisions: Iterable[str] = ()
    requests: Iterable[str] = ()
    units: Iterable[str] = ()
    expired: bool = False  # decisions whose window has closed


class Command(Protocol):
    """What a request asks of an experiment."""

    def wanted(self) -> Wanted:
        """What has to be found first."""
        ...

    def run(self, work: Work) -> Any:
        """Do it, and say what came of it; or raise `Refused`, with nothing changed."""
        ...


@dataclass(frozen=True)
class Named:
    """A command for the experiment of a name: after a restore, its id may be another one's."""

    name: str
    command: Command

    def wanted(self) -> Wanted:
        return self.command.wanted()

    def run(self, work: Work) -> Any:
        if work.name != self.name:
            raise Refused(404, "there is no such experiment.")
        return self.command.run(work)


@dataclass(slots=True)
class Decision:
    """A decision as it is stored, with its reward if there is one."""

    id: str
    arm: int
    unit: str | None
    probability: float | None
    expires_at: float | None
    status: str
    reward: float | None = None


@dataclass
class Work:
    """An experiment under its lock.

    Attributes
    ----------
        now: the database's clock.
        name: what the experiment is called.
        decisions, requests, units: what was found, and what was made since.
        expired: decisions whose window has closed, those that closed first, at most so many.
    """

    experiment_id: int
    status: str
    now: float
    spec: Spec
    engine: Engine
    name: str
    decisions: dict[str, Decision] = field(default_factory=dict)
    requests: dict[str, list[Decision]] = field(default_factory=dict)
    units: dict[str, tuple[int, float | None]] = field(default_factory=dict)
    expired: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first_seq, self.first_event = self.engine.seq, self.engine.last
        self.counts: Counter[Kind] = Counter()
        self.learned = 0  # rewards that the bandit has counted
        self.new_events: list[Row] = []
        self.new_decisions: list[Row] = []
        self.new_rewards: list[Row] = []
        self.closed: list[Row] = []  # a decision's status, and its id
        self.assigned: dict[str, Row] = {}  # by unit

    def append(
        self,
        kind: Kind,
        decision: str | None = None,
        arm: int | None = None,
        value: float | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        """Add an event to the log."""
        text = None if detail is None else json.dumps(detail, allow_nan=False)
        event = event_of(kind.value, decision, arm, value, self.now, text)
        self.engine.note(event)
        self.counts[kind] += 1
        self.new_events.append((self.experiment_id, self.engine.seq, *event))

    def decide(self, unit: str | None, request_id: str | None, n: int) -> list[Decision]:
        """Make n decisions: the unit's arm if it has one, else what the policy says."""
        token = secrets.token_hex(4)
        return [self._decide(unit, request_id, place, token) for place in range(n)]

    def _decide(self, unit: str | None, request_id: str | None, place: int, token: str) -> Decision:
        arm, probability, kind = self._held(unit), None, Kind.kept
        if arm is None:
            arm, probability = self.engine.ask()
            kind = Kind.asked
            if unit is not None:
                self._assign(unit, arm)
        else:
            self.engine.keep(arm)
        window = self.spec.window
        made = Decision(
            f"{self.experiment_id}-{self.engine.seq + 1}-{token}",
            arm,
            unit,
            probability,
            None if window is None else self.now + window,
            State.open.value,
        )
        self.append(kind, made.id, arm)
        key = (made.id, self.experiment_id, request_id, place, unit)
        self.new_decisions.append(
            (*key, arm, probability, self.engine.seq, made.expires_at, made.status)
        )
        return made

    def _held(self, unit: str | None) -> int | None:
        """The arm that the unit keeps, if it is still there."""
        if unit is None or unit not in self.units:
            return None
        arm, until = self.units[unit]
        gone = (until is not None and until <= self.now) or self.engine.is_retired(arm)
        return None if gone else arm

    def _assign(self, unit: str, arm: int) -> None:
        if self.spec.sticky == 0.0:
            return
        until = None if self.spec.sticky is None else self.now + self.spec.sticky
        self.units[unit] = (arm, until)
        self.assigned[unit] = (self.experiment_id, unit, arm, until)

    def close(self, decision: Decision, status: State) -> None:
        """A decision's reward is no longer outstanding."""
        decision.status = status.value
        self.closed.append((decision.status, decision.id))

    def tell(self, arm: int, value: float) -> None:
        """Let the bandit learn from a reward; of an arm that was retired it counts none."""
        self.engine.tell(arm, value)
        self.learned += not self.engine.is_retired(arm)

    def expire(self, decision: Decision) -> None:
        """A window has closed: the default reward, or as if there had been no pull."""
        default = self._default_of(decision)
        if default is None:
            self.engine.cancel(decision.arm)
        else:
            self.tell(decision.arm, default)
        self.append(Kind.expired, decision.id, decision.arm, default)
        self.close(decision, State.expired)

    def _default_of(self, decision: Decision) -> float | None:
        """The default reward; None also for an arm that can't have it, so that others go on."""
        try:
            if self.spec.default is not None:
                self.engine.check_reward(decision.arm, self.spec.default)
        except ArmatureError as error:
            log.warning("decision %s ends without a reward: %s", decision.id, error)
            return None
        return self.spec.default

    def is_overdue(self, decision: Decision) -> bool:
        """Whether an open decision's window has closed."""
        until = decision.expires_at
        return decision.status == State.open and until is not None and until <= self.now

    def check_running(self) -> None:
        """Refuse decisions unless the experiment runs."""
        if self.status != Status.running:
            raise Refused(409, f"the experiment is {self.status}: it makes no decisions.")
