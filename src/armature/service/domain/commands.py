"""Changes of an experiment while it runs: pausing, floors, arms that come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armature.errors import ArmatureError
from armature.service.db.schema import Kind, Status
from armature.service.domain.engine import Engine, engine_of
from armature.service.domain.limits import Limits, check_arms
from armature.service.domain.work import Refused, Wanted, Work
from armature.storage.registry import Allowed


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
    allow: Allowed = ()

    def run(self, work: Work) -> None:
        if "label" in self.options:
            raise Refused(422, "the label is no option: it stands beside them.")
        try:
            check_arms(len(work.engine.labels) + 1, self.limits)
            self._try_out(work)
        except (ArmatureError, TypeError, ValueError, OverflowError) as error:
            raise Refused(422, f"the arm can't be added: {error}") from None
        number = work.engine.add_arm(self.label, self.options)
        work.append(Kind.arm_added, arm=number, detail={"label": self.label, **self.options})

    def _try_out(self, work: Work) -> None:
        """Add it to a copy first, so that what is refused changes nothing."""
        trial = engine_of(work.engine.as_text(), self.allow)
        check_default(trial, trial.add_arm(self.label, self.options), work.spec.default)


def check_default(engine: Engine, arm: int, default: float | None) -> None:
    """Refuse an arm that can't have the reward that comes when a window closes."""
    if default is not None:
        try:
            engine.check_reward(arm, default)
        except ArmatureError as error:
            raise ArmatureError(
                f"rewards.default is {default:g}, which must be a reward that every arm can have; "
                f"but {error}"
            ) from None


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
