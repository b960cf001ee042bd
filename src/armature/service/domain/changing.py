"""Commands that change what an experiment is while it runs: status, floor, arms, segments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from armature.errors import ArmatureError
from armature.live.bandit import Bandit
from armature.live.choosing import checked_floor
from armature.service.db.schema import Kind, Status
from armature.service.domain.replay import Replica, replica_of
from armature.service.domain.work import Command, UnitOfWork
from armature.service.limits import Refused, ServiceLimits, check_arms
from armature.storage.registry import Allowed

USUAL = ServiceLimits()
FIXED = (
    "arms do not come or go where there are segments: make a new experiment with the other arms, "
    "and stop this one."
)


@dataclass(frozen=True)
class ChangeExperiment(Command):
    """Set the status, the floor, what changes do; add a segment. Repeating is safe.

    All of it is done or, where a part is refused, nothing.
    """

    status: Status | None = None
    floor: float | None = None
    segment: Any = None  # the name of a new one
    changes: str | None = None  # "notice" or "restart"
    limits: ServiceLimits = USUAL
    allow: Allowed = ()

    def run(self, work: UnitOfWork) -> None:
        if work.status == Status.stopped and self.status not in (None, Status.stopped):
            raise Refused(409, "the experiment was stopped for good: it can't run again.")
        floor = self.floor if self.floor != work.replica.floor else None
        new = self.segment is not None and self.segment not in work.replica.segments
        switched = self.changes is not None and self.changes != work.replica.changes
        try:
            if floor is not None:
                checked_floor(floor, len(work.replica.of(0).arms))
            if new:
                self._try_segment(work)
            if switched:
                replica_of(work.replica.as_text(), self.allow).set_changes(str(self.changes))
        except ArmatureError as error:
            raise Refused(422, str(error)) from None
        if floor is not None:
            work.replica.set_floor(floor)
            work.append(Kind.floor, value=floor)
        if new:
            work.replica.add_segment(self.segment)
            work.append(Kind.segment_added, detail={"label": self.segment})
        if switched:
            work.replica.set_changes(str(self.changes))
            work.append(Kind.when_changed, detail={"changes": self.changes})
        if self.status is not None and self.status != work.status:
            work.status = self.status.value
            work.append(Kind(self.status.value))

    def _try_segment(self, work: UnitOfWork) -> None:
        """Add it to a copy first, so that what is refused changes nothing."""
        n_arms, n_segments = len(work.replica.of(0).arms), len(work.replica.segments)
        check_arms(n_arms * (n_segments + 1), self.limits)
        replica_of(work.replica.as_text(), self.allow).add_segment(self.segment)


@dataclass(frozen=True)
class AddArm(Command):
    """A new arm; `options` say what the structure needs to know of it.

    An arm that is there already with the same options is left, so repeating is safe.
    """

    label: Any
    options: dict[str, Any]
    limits: ServiceLimits
    allow: Allowed = ()

    def run(self, work: UnitOfWork) -> None:
        if work.replica.segments:
            raise Refused(422, FIXED)
        if "label" in self.options:
            raise Refused(422, "give the label beside the options, not as one of them.")
        if self._is_there(work):
            return
        try:
            check_arms(len(work.labels) + 1, self.limits)
            self._try_out(work)
        except (ArmatureError, TypeError, ValueError, OverflowError) as error:
            raise Refused(422, f"the arm can't be added: {error}") from None
        number = work.replica.add_arm(self.label, self.options)
        work.append(Kind.arm_added, arm=number, detail={"label": self.label, **self.options})

    def _is_there(self, work: UnitOfWork) -> bool:
        """Whether it was added with the same options, or doing so again gives the same problem."""
        number = work.replica.numbers.get(self.label)
        if number is None or work.replica.is_retired(number):
            return False
        if work.replica.added.get(number) == self.options:
            return True
        trial = replica_of(work.replica.as_text(), self.allow).of(0)
        try:
            if not trial.structure.arms_in_order:  # it came last, and others may have come since
                for later in trial.arms[trial.arms.index(self.label) + 1 :]:
                    trial.retire_arm(later)
            before = _problem_of(trial)
            trial.retire_arm(self.label)
            trial.add_arm(self.label, **self.options)
        except (ArmatureError, TypeError, ValueError, OverflowError):
            return False
        return _problem_of(trial) == before

    def _try_out(self, work: UnitOfWork) -> None:
        """Add it to a copy first, so that what is refused changes nothing."""
        trial = replica_of(work.replica.as_text(), self.allow)
        check_default(trial, trial.add_arm(self.label, self.options), work.spec.default)


def _problem_of(bandit: Bandit) -> str:
    """The arms, the structure and the family of rewards, as a text."""
    saved = json.loads(bandit.to_json())
    return json.dumps([bandit.arms, saved["structure"], saved["family"]], sort_keys=True)


def check_default(replica: Replica, arm: int, default: float | None) -> None:
    """Refuse an arm that can't have the reward that comes when a window closes."""
    if default is not None:
        try:
            replica.of(0).check_reward(replica.labels[arm], default)
        except ArmatureError as error:
            raise ArmatureError(
                f"rewards.default is {default:g}, and this arm can't have that reward: {error}"
            ) from None


@dataclass(frozen=True)
class RetireArm(Command):
    """Never choose an arm again; rewards that are outstanding still arrive."""

    label: Any

    def run(self, work: UnitOfWork) -> None:
        if work.replica.segments:
            raise Refused(422, FIXED)
        number = work.replica.numbers.get(self.label)
        if number is None:
            raise Refused(404, "there is no such arm.")
        if work.replica.is_retired(number):
            return
        try:
            work.replica.retire_arm(number)
        except ArmatureError as error:
            raise Refused(409, str(error)) from None
        work.append(Kind.arm_retired, arm=number)
