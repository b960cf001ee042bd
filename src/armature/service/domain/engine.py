"""The bandit of an experiment, as the log has made it.

Everything that changes a bandit here is an event, and `apply` does to it what the event says. Live,
the same calls are made in the same order, so that the log gives the same bandit bit for bit.

Arms have numbers, in the order in which they came; a number is never given to another arm. The
service's tables have numbers, and people see labels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from armature.errors import ArmatureError
from armature.live.bandit import Bandit
from armature.service.db.schema import Kind
from armature.service.domain.spec import Spec
from armature.storage.registry import Allowed

VERSION = 2  # of what `as_text` writes


class Event(NamedTuple):
    """What an event says. Its time and its decision's id make it one of a kind."""

    kind: str
    decision: str | None
    arm: int | None
    value: float | None
    at: float
    detail: str | None


def event_of(
    kind: str,
    decision: str | None,
    arm: int | None,
    value: float | None,
    at: float,
    detail: str | None,
) -> Event:
    """An event, the same before it is stored and after: a file has no -0.0, and no whole reward."""
    return Event(kind, decision, arm, None if value is None else float(value) + 0.0, at, detail)


@dataclass
class Engine:
    """A bandit after the event `seq`.

    Attributes
    ----------
        labels: what each arm is called, by its number; arms that were retired keep theirs.
        last: the event `seq` itself, which says of which log all this is; None before the first.
        divergences: how often a replay would have chosen another arm than the one recorded.
    """

    bandit: Bandit
    labels: list[Hashable]
    seq: int = 0
    divergences: int = 0
    last: Event | None = None

    def __post_init__(self) -> None:
        self.numbers = {label: number for number, label in enumerate(self.labels)}
        self._live = set(self.bandit.arms)

    def ask(self) -> tuple[int, float | None]:
        """The number of the arm that the policy chooses, and how probable that was if known."""
        label, probability = self.bandit.ask_with_probability()
        return self.numbers[label], probability

    def keep(self, arm: int) -> None:
        """Expect a reward of an arm that a unit has already."""
        self.bandit.expect(self.labels[arm])

    def check_reward(self, arm: int, value: float) -> None:
        """Refuse a reward that the family can't have given, with the library's sentence."""
        self.bandit.check_reward(self.labels[arm], value)

    def tell(self, arm: int, value: float) -> None:
        """Take in a reward."""
        self.bandit.tell(self.labels[arm], value)

    def cancel(self, arm: int) -> None:
        """Forget an outstanding reward."""
        self.bandit.cancel(self.labels[arm])

    @property
    def floor(self) -> float:
        """The least probability of each arm."""
        return self.bandit.floor

    def set_floor(self, floor: float) -> None:
        """Change it from the next decision on."""
        self.bandit.set_floor(floor)

    def is_retired(self, arm: int) -> bool:
        """Whether the arm is no longer chosen."""
        return self.labels[arm] not in self._live

    def add_arm(self, label: Hashable, options: dict[str, Any]) -> int:
        """A new arm, which gets the next number; or one that was retired, which keeps its own."""
        self.bandit.add_arm(label, **options)
        self._live.add(label)
        if label not in self.numbers:
            self.numbers[label] = len(self.labels)
            self.labels.append(label)
        return self.numbers[label]

    def retire_arm(self, arm: int) -> None:
        """Choose an arm no more."""
        self.bandit.retire_arm(self.labels[arm])
        self._live.remove(self.labels[arm])

    def note(self, event: Event) -> None:
        """What an event says is done."""
        self.seq += 1
        self.last = event

    def apply(self, event: Event) -> None:
        """Do what an event of the log says."""
        self.note(event)
        kind = event.kind
        arm: Any = event.arm  # and below: each kind has what it needs
        value: Any = event.value
        if kind == Kind.asked:
            self.divergences += self.bandit.asked(self.labels[arm]) != self.labels[arm]
        elif kind == Kind.kept:
            self.keep(arm)
        elif kind == Kind.told or (kind == Kind.expired and value is not None):
            self.tell(arm, value)
        elif kind in (Kind.cancelled, Kind.expired):
            self.cancel(arm)
        elif kind == Kind.floor:
            self.set_floor(value)
        elif kind == Kind.arm_added:
            options = json.loads(event.detail or "{}")
            self.add_arm(options.pop("label"), options)
        elif kind == Kind.arm_retired:
            self.retire_arm(arm)

    def as_text(self) -> str:
        """All of it as a text, the same for equal engines."""
        content = {
            "seq": self.seq,
            "labels": self.labels,
            "divergences": self.divergences,
            "last": self.last,
            "bandit": json.loads(self.bandit.to_json()),
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def new_engine(spec: Spec) -> Engine:
    """The engine of an experiment before its first event."""
    return Engine(spec.make_bandit(), list(spec.labels))


def engine_of(text: str, allow: Allowed) -> Engine:
    """The engine that `as_text` wrote down."""
    try:
        content = json.loads(text)
        bandit = Bandit.from_json(json.dumps(content["bandit"]), allow=allow)
        last = None if content["last"] is None else Event(*content["last"])
        return Engine(bandit, content["labels"], content["seq"], content["divergences"], last)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArmatureError(f"this is no engine: {error}.") from None


def checksum_of(text: str) -> str:
    """A checksum of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
