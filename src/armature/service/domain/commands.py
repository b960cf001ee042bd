"""Changes of an experiment while it runs: pausing, floors, arms that come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armature.errors import ArmatureError
from armature.service.db.schema import Kind, Status
from armature.service.domain.limits import Limits, check_arms
from armature.service.domain.work import Refused, Wanted, Work


class _Change:
    """A command that has nothing to find."""

    def wanted(self) -> Wanted:
        return Wanted()


@dataclass(frozen=True)
class Change(_Change):
    """Set the status and the floor; what is as it should be stays, so that repeating is safe."""

    status: Status | None = None
    floor: float | None = None

    def run(self, work: Work) -> None:
        stopping = self.status not in (None, Status.stopped) and work.status == Status.stopped
        if stopping:
            raise Refused(409, "the experiment was stopped, which is for good.")
        if self.floor is not None and self.floor != work.engine.floor:
            try:
                work.engine.set_floor(self.floor)
            except ArmatureError as error:
                raise Refused(422, str(error)) from None
            work.append(Kind.floor, value=self.floor)
        if self.status is not None and self.status != work.status:
            work.status = self.status.value
            work.append(Kind(self.status.value))


@dataclass(frozen=True)
class AddArm(_Change):
    """A new arm; `options` say what the structure needs to know of it."""

    label: Any
    options: dict[str, Any]
    limits: Limits

    def run(self, work: Work) -> None:
        if "label" in self.options:
            raise Refused(422, "the label is no option: it stands beside them.")
        try:
            check_arms(len(work.engine.labels) + 1, self.limits)
            number = work.engine.add_arm(self.label, self.options)
        except (ArmatureError, TypeError, ValueError, OverflowError) as error:
            raise Refused(422, f"the arm can't be added: {error}") from None
        work.append(Kind.arm_added, arm=number, detail={"label": self.label, **self.options})


@dataclass(frozen=True)
class RetireArm(_Change):
    """An arm that is chosen no more; rewards that are outstanding are still taken in."""

    label: Any

    def run(self, work: Work) -> None:
        number = work.engine.numbers.get(self.label)
        if number is None:
            raise Refused(404, "there is no such arm.")
        if work.engine.is_retired(number):
            return
        try:
            work.engine.retire_arm(number)
        except ArmatureError as error:
            raise Refused(409, str(error)) from None
        work.append(Kind.arm_retired, arm=number)


@dataclass(frozen=True)
class Labels(_Change):
    """What the arms are called, by their numbers."""

    def run(self, work: Work) -> list[Any]:
        return list(work.engine.labels)
