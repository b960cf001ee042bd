"""What requests do to an experiment: decisions, rewards, cancellations, expiry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from armature.errors import ArmatureError
from armature.service.db.schema import Kind, State
from armature.service.domain.work import Decision, Refused, Wanted, Work


@dataclass(frozen=True)
class Decide:
    """Make n decisions; the same request again gets the same ones."""

    n: int = 1
    unit: str | None = None
    request_id: str | None = None

    def wanted(self) -> Wanted:
        return Wanted(
            requests=() if self.request_id is None else (self.request_id,),
            units=() if self.unit is None else (self.unit,),
        )

    def run(self, work: Work) -> list[dict[str, Any]]:
        made = self._earlier(work)
        if made is None:
            work.check_running()
            made = work.decide(self.unit, self.request_id, self.n)
            if self.request_id is not None:
                work.requests[self.request_id] = made
        labels = work.engine.labels
        return [{"id": d.id, "arm": labels[d.arm], "probability": d.probability} for d in made]

    def _earlier(self, work: Work) -> list[Decision] | None:
        made = None if self.request_id is None else work.requests.get(self.request_id)
        if made is not None and (len(made) != self.n or made[0].unit != self.unit):
            raise Refused(
                409,
                f"request_id {self.request_id!r} was used before, for n = {len(made)} and unit = "
                f"{made[0].unit!r}: a request that is repeated must be the same.",
            )
        return made


@dataclass(frozen=True)
class Result:
    """What became of one reward: its HTTP code, and in words."""

    code: int
    status: str
    detail: str | None = None


@dataclass(frozen=True)
class Reward:
    """Take in rewards, each on its own."""

    items: Sequence[tuple[str, float]]  # a decision's id, and the value

    def wanted(self) -> Wanted:
        return Wanted(decisions=[key for key, _ in self.items])

    def run(self, work: Work) -> list[Result]:
        return [_reward(work, work.decisions.get(key), value) for key, value in self.items]


RETIRED = "its arm has been retired: the reward is kept, and no longer counts."
UNKNOWN = Result(404, "unknown", "there is no such decision.")


def _reward(work: Work, decision: Decision | None, value: float) -> Result:
    if decision is None:
        return UNKNOWN
    if decision.reward is not None:
        return _repeated(decision, value)
    if decision.status == State.cancelled:
        return Result(409, "conflict", "the decision was cancelled.")
    try:
        work.engine.check_reward(decision.arm, value)
    except ArmatureError as error:
        return Result(422, "refused", str(error))
    if work.is_overdue(decision):
        work.expire(decision)
    decision.reward = value
    on_time = decision.status == State.open
    work.new_rewards.append((decision.id, value, "applied" if on_time else "late"))
    if not on_time:
        work.append(Kind.late, decision.id, decision.arm, value)
        return Result(202, "late", "its window has closed: the reward is kept, and not applied.")
    work.tell(decision.arm, value)
    work.append(Kind.told, decision.id, decision.arm, value)
    work.close(decision, State.told)
    retired = work.engine.is_retired(decision.arm)
    return Result(200, "applied", RETIRED if retired else None)


def _repeated(decision: Decision, value: float) -> Result:
    if decision.reward != value:
        return Result(
            409, "conflict", f"the decision has another reward already: {decision.reward!r}."
        )
    late = decision.status == State.expired
    return Result(200, "duplicate", "it came late before, and is not applied." if late else None)


@dataclass(frozen=True)
class Cancel:
    """The reward of a decision will never come; refused, its window may be seen to have closed."""

    decision: str

    def wanted(self) -> Wanted:
        return Wanted(decisions=[self.decision])

    def run(self, work: Work) -> dict[str, str]:
        decision = work.decisions.get(self.decision)
        if decision is None:
            raise Refused(404, "there is no such decision.")
        if work.is_overdue(decision):
            work.expire(decision)
        if decision.status == State.open:
            work.engine.cancel(decision.arm)
            work.append(Kind.cancelled, decision.id, decision.arm)
            work.close(decision, State.cancelled)
        elif decision.status != State.cancelled:
            what = "has its reward" if decision.status == State.told else "has expired"
            raise Refused(409, f"the decision {what}: it can't be cancelled.")
        return {"status": "cancelled"}


@dataclass(frozen=True)
class Expire:
    """Close the windows that have passed; a few at a time."""

    def wanted(self) -> Wanted:
        return Wanted(expired=True)

    def run(self, work: Work) -> int:
        due = [decision for decision in work.expired if work.is_overdue(decision)]
        for decision in due:
            work.expire(decision)
        return len(due)
