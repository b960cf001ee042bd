"""Commands on an experiment: decisions, rewards, expiry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from armature.errors import ArmatureError
from armature.service.db.schema import DecisionState, Kind, Status
from armature.service.domain.work import Command, Needs, StoredDecision, UnitOfWork
from armature.service.limits import Refused


@dataclass(frozen=True)
class Decide(Command):
    """Make n decisions; the same request again gets the same ones."""

    n: int = 1
    unit: str | None = None
    request_id: str | None = None
    segment: Any = None  # its name

    def wanted(self) -> Needs:
        return Needs(
            requests=() if self.request_id is None else (self.request_id,),
            units=() if self.unit is None else (self.unit,),
        )

    def run(self, work: UnitOfWork) -> list[dict[str, Any]]:
        try:
            segment = work.replica.segment_named(self.segment)
        except ArmatureError as error:
            raise Refused(422, str(error)) from None
        made = self._earlier(work, segment)
        if made is None:
            if work.status != Status.running:
                raise Refused(409, f"the experiment is {work.status}: it makes no decisions.")
            made = work.decide(self.unit, self.request_id, self.n, segment)
            if self.request_id is not None:
                work.requests[self.request_id] = made
        more = {} if segment is None else {"segment": work.replica.segments[segment]}
        return [
            {"id": d.id, "arm": work.labels[d.arm], "probability": d.probability, **more}
            for d in made
        ]

    def _earlier(self, work: UnitOfWork, segment: int | None) -> list[StoredDecision] | None:
        made = None if self.request_id is None else work.requests.get(self.request_id)
        if made is None:
            return None
        first = made[0]
        if (len(made), first.unit, first.segment) != (self.n, self.unit, segment):
            names = work.replica.segments
            also = "" if first.segment is None else f", segment = {names[first.segment]!r}"
            raise Refused(
                409,
                f"request_id {self.request_id!r} was used before, with n = {len(made)} and unit = "
                f"{first.unit!r}{also}: a repeated request must be the same.",
            )
        return made


@dataclass(frozen=True)
class DecisionOfRequest(Command):
    """The id of the decision that a request was answered with."""

    request_id: str

    def wanted(self) -> Needs:
        return Needs(requests=(self.request_id,))

    def run(self, work: UnitOfWork) -> str:
        made = work.requests.get(self.request_id)
        if made is None:
            raise Refused(404, "no decision was made for this flag and this context.")
        return made[0].id


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
        work.check_reward(decision, value)
    except ArmatureError as error:
        return Result(422, "refused", str(error))
    if work.is_overdue(decision):
        work.expire(decision)
    decision.reward = value
    on_time = decision.status == DecisionState.open
    work.new_rewards.append((decision.id, value, "applied" if on_time else "late"))
    if not on_time:
        work.note_of(Kind.late, decision, value)
        return Result(202, "late", "its window has closed: the reward is stored but not applied.")
    work.tell(decision, value)
    work.note_of(Kind.told, decision, value)
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
            work.cancel(decision)
            work.note_of(Kind.cancelled, decision)
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
class Labels(Command):
    """The names of the arms and of the segments, by their numbers."""

    def run(self, work: UnitOfWork) -> tuple[list[Any], list[Any]]:
        return list(work.labels), work.replica.segments
