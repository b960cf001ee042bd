"""Commands on an experiment: decisions, rewards, expiry, and changes while it runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from armature.errors import ArmatureError
from armature.live.bandit import Bandit
from armature.service.db.schema import DecisionState, Kind, Status
from armature.service.domain.replay import Replica, replica_of
from armature.service.domain.work import Command, Needs, StoredDecision, UnitOfWork
from armature.service.limits import Refused, ServiceLimits, check_arms
from armature.storage.registry import Allowed


@dataclass(frozen=True)
class Decide(Command):
    """Make n decisions; the same request again gets the same ones."""

    n: int = 1
    unit: str | None = None
    request_id: str | None = None

    def wanted(self) -> Needs:
        return Needs(
            requests=() if self.request_id is None else (self.request_id,),
            units=() if self.unit is None else (self.unit,),
        )

    def run(self, work: UnitOfWork) -> list[dict[str, Any]]:
        made = self._earlier(work)
        if made is None:
            if work.status != Status.running:
                raise Refused(409, f"the experiment is {work.status}: it makes no decisions.")
            made = work.decide(self.unit, self.request_id, self.n)
            if self.request_id is not None:
                work.requests[self.request_id] = made
        return [{"id": d.id, "arm": work.labels[d.arm], "probability": d.probability} for d in made]

    def _earlier(self, work: UnitOfWork) -> list[StoredDecision] | None:
        made = None if self.request_id is None else work.requests.get(self.request_id)
        if made is not None and (len(made) != self.n or made[0].unit != self.unit):
            raise Refused(
                409,
                f"request_id {self.request_id!r} was used before, with n = {len(made)} and unit = "
                f"{made[0].unit!r}: a repeated request must be the same.",
            )
        return made


@dataclass(frozen=True)
class Result:
    """How one reward was taken: an HTTP code, a status, and perhaps a sentence."""

    code: int
    status: str
    detail: str | None = None


@dataclass(frozen=True)
class Reward(Command):
    """Take in rewards, each on its own."""

    items: Sequence[tuple[str, float]]  # a decision's id, and the value

    def wanted(self) -> Needs:
        return Needs(decisions=[key for key, _ in self.items])

    def run(self, work: UnitOfWork) -> list[Result]:
        return [_reward(work, work.decisions.get(key), value) for key, value in self.items]


RETIRED = "the arm was retired: the reward is stored and does not count."
UNKNOWN = Result(404, "unknown", "there is no such decision.")


def _reward(work: UnitOfWork, decision: StoredDecision | None, value: float) -> Result:
    if decision is None:
        return UNKNOWN
    if decision.reward is not None:
        return _repeated(decision, value)
    if decision.status == DecisionState.cancelled:
        return Result(409, "conflict", "the decision was cancelled.")
    try:
        work.bandit.check_reward(work.labels[decision.arm], value)
    except ArmatureError as error:
        return Result(422, "refused", str(error))
    if work.is_overdue(decision):
        work.expire(decision)
    decision.reward = value
    on_time = decision.status == DecisionState.open
    work.new_rewards.append((decision.id, value, "applied" if on_time else "late"))
    if not on_time:
        work.append(Kind.late, decision.id, decision.arm, value)
        return Result(202, "late", "its window has closed: the reward is stored but not applied.")
    work.tell(decision.arm, value)
    work.append(Kind.told, decision.id, decision.arm, value)
    work.close(decision, DecisionState.told)
    retired = work.replica.is_retired(decision.arm)
    return Result(200, "applied", RETIRED if retired else None)


def _repeated(decision: StoredDecision, value: float) -> Result:
    if decision.reward != value:
        return Result(
            409, "conflict", f"the decision has another reward already: {decision.reward!r}."
        )
    late = decision.status == DecisionState.expired
    return Result(
        200, "duplicate", "it came late the first time, and is not applied." if late else None
    )


@dataclass(frozen=True)
class Cancel(Command):
    """Undo a decision whose reward will never come; if its window has closed, answer 409."""

    decision: str

    def wanted(self) -> Needs:
        return Needs(decisions=[self.decision])

    def run(self, work: UnitOfWork) -> dict[str, str]:
        decision = work.decisions.get(self.decision)
        if decision is None:
            raise Refused(404, "there is no such decision.")
        if work.is_overdue(decision):
            work.expire(decision)
        if decision.status == DecisionState.open:
            work.bandit.cancel(work.labels[decision.arm])
            work.append(Kind.cancelled, decision.id, decision.arm)
            work.close(decision, DecisionState.cancelled)
        elif decision.status != DecisionState.cancelled:
            what = "has its reward" if decision.status == DecisionState.told else "has expired"
            raise Refused(409, f"the decision {what}: it can't be cancelled.")
        return {"status": "cancelled"}


@dataclass(frozen=True)
class Expire(Command):
    """Close the windows that have passed; a few at a time."""

    def wanted(self) -> Needs:
        return Needs(expired=True)

    def run(self, work: UnitOfWork) -> int:
        due = [decision for decision in work.expired if work.is_overdue(decision)]
        for decision in due:
            work.expire(decision)
        return len(due)


@dataclass(frozen=True)
class ChangeExperiment(Command):
    """Set the status and the floor. What already has its value is left, so repeating is safe."""

    status: Status | None = None
    floor: float | None = None

    def run(self, work: UnitOfWork) -> None:
        if work.status == Status.stopped and self.status not in (None, Status.stopped):
            raise Refused(409, "the experiment was stopped for good: it can't run again.")
        if self.floor is not None and self.floor != work.bandit.floor:
            try:
                work.bandit.set_floor(self.floor)
            except ArmatureError as error:
                raise Refused(422, str(error)) from None
            work.append(Kind.floor, value=self.floor)
        if self.status is not None and self.status != work.status:
            work.status = self.status.value
            work.append(Kind(self.status.value))


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
        """Whether taking the arm out of a copy and adding it again gives the same problem."""
        number = work.replica.numbers.get(self.label)
        if number is None or work.replica.is_retired(number):
            return False
        trial = replica_of(work.replica.as_text(), self.allow).bandit
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
            replica.bandit.check_reward(replica.labels[arm], default)
        except ArmatureError as error:
            raise ArmatureError(
                f"rewards.default is {default:g}, and this arm can't have that reward: {error}"
            ) from None


@dataclass(frozen=True)
class RetireArm(Command):
    """Never choose an arm again; rewards that are outstanding still arrive."""

    label: Any

    def run(self, work: UnitOfWork) -> None:
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


@dataclass(frozen=True)
class Labels(Command):
    """The labels of the arms, by their numbers."""

    def run(self, work: UnitOfWork) -> list[Any]:
        return list(work.labels)
