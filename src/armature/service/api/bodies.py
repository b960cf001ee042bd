"""Models of requests and answers: checked on the way in, documented on the way out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from annotated_types import Predicate
from pydantic import BaseModel, ConfigDict, Field

from armature.service.db.schema import Status
from armature.service.limits import IDENTIFIER, NAME, ServiceLimits

LIMITS = ServiceLimits()
Label = str | int | float
Identifier = Annotated[
    str, Field(min_length=1, max_length=IDENTIFIER), Predicate(str.isprintable)
]  # what the caller calls a unit or a request


class Body(BaseModel):
    """The body of a request; nothing is converted, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class NewExperiment(Body):
    """An experiment to be made."""

    name: str = Field(min_length=1, max_length=NAME)
    spec: dict[str, Any] = Field(
        description=(
            "structure, segments, family, policy, labels, seed, horizon, goal, floor, rewards, "
            "sticky, changes, forget, ofrep"
        ),
        examples=[
            {
                "structure": {"kind": "unimodal", "n_arms": 5},
                "family": {"kind": "bernoulli"},
                "policy": "guarded",
                "rewards": {"window": 604800, "default": None},
            }
        ],
    )


class NewDecisions(Body):
    """Decisions to be made: n of them, for a unit that keeps its arm, safe to be repeated."""

    n: int = Field(default=1, ge=1, le=LIMITS.batch)
    unit: Identifier | None = None
    request_id: Identifier | None = None
    segment: Label | None = None


class NewReward(Body):
    """The reward of a decision."""

    value: float


class RewardOf(Body):
    """The reward of one of several decisions."""

    decision: str
    value: float


class NewRewards(Body):
    """The rewards of several decisions."""

    rewards: list[RewardOf] = Field(max_length=LIMITS.batch)


class Changes(Body):
    """Changes of an experiment."""

    status: Literal["running", "paused", "stopped"] | None = None
    floor: float | None = Field(default=None, ge=0.0, le=1.0)
    add_segment: Label | None = None
    changes: Literal["notice", "restart"] | None = None


class NewArm(Body):
    """An arm to be added; `options` say what the structure or family needs to know of it."""

    label: Label
    options: dict[str, Any] = {}


class OldArm(Body):
    """An arm to be retired."""

    label: Label


class PartOfLog(BaseModel):
    """Which events are asked for."""

    after: int = Field(default=0, ge=0, le=2**62)
    limit: int = Field(default=1_000, ge=1, le=LIMITS.events)


class Export(BaseModel):
    """The kind of file."""

    format: Literal["csv", "parquet"] = "csv"


class OfSegment(BaseModel):
    """Which segment is asked about; numbers as they are printed."""

    segment: str | None = None


class ErrorAnswer(BaseModel):
    """Why a request was refused."""

    detail: str


class ExperimentSummary(BaseModel):
    """An experiment in a list. Times are seconds since 1970."""

    name: str
    status: Status
    rounds: int
    decisions: int
    events: int
    created_at: float


class Specified(ExperimentSummary):
    """An experiment and what it is."""

    spec: dict[str, Any]


class Created(Specified):
    """An experiment that was made, and what may have been forgotten of it."""

    hint: str | None


class Experiments(BaseModel):
    """All experiments."""

    experiments: list[ExperimentSummary]


class ArmAnswer(BaseModel):
    """An arm: what is known of its mean."""

    label: Label
    pulls: int
    pending: int
    mean: float | None
    low: float | None
    high: float | None


class ChangeAnswer(BaseModel):
    """The rewards changed, after how many of them; the newest change of each segment."""

    since: int
    segment: Label | None


class SegmentAnswer(BaseModel):
    """A segment: its arms, and how many rewards of its own what is known of it is worth.

    `effective` is null where its own rewards say nothing yet, or there is nothing to borrow.
    """

    segment: Label
    rounds: int
    effective: float | None
    arms: list[ArmAnswer]


class ExperimentAnswer(Specified):
    """An experiment with its arms; where there are segments, these have the means."""

    floor: float
    changes: Literal["notice", "restart"]
    changed: list[ChangeAnswer]
    divergences: int
    arms: list[ArmAnswer]
    segments: list[SegmentAnswer] | None = None


class MadeDecision(BaseModel):
    """A decision: what to do, and what to call it when its reward comes."""

    id: str
    arm: Label
    probability: float | None
    segment: Label | None = None


class Decisions(BaseModel):
    """The decisions that were made."""

    decisions: list[MadeDecision]


class RewardStatus(BaseModel):
    """How a reward was taken."""

    status: Literal["applied", "duplicate", "late"]
    detail: str | None = None


class RewardAnswer(BaseModel):
    """How one of several rewards was taken."""

    decision: str
    status: Literal["applied", "duplicate", "late", "unknown", "conflict", "refused", "failed"]
    detail: str | None


class RewardResults(BaseModel):
    """How several rewards were taken, in their order."""

    results: list[RewardAnswer]


class Cancelled(BaseModel):
    """A decision that counts no more."""

    status: Literal["cancelled"]


class EventAnswer(BaseModel):
    """An entry of the log."""

    seq: int
    kind: str
    decision: str | None
    arm: Label | None
    value: float | None
    at: float
    detail: dict[str, Any] | None
    segment: Label | None


class Events(BaseModel):
    """A part of the log, and after which event to ask for the next."""

    events: list[EventAnswer]
    next: int


class VerdictAnswer(BaseModel):
    """Whether the leader is surely the best arm; null for what is infinite, or has no answer."""

    arm: Label
    sure: bool
    statistic: float | None
    threshold: float | None
    delta: float
    needed: float | None
    needed_at_best: float | None
    shares: list[float] | None
    words: str


class BeliefAnswer(BaseModel):
    """The bandit's estimates, its next decision, and the reason for it."""

    summary: str
    text: str
    arms: list[Label]
    pulls: list[int]
    means: list[float | None]
    low: list[float | None]
    high: list[float | None]
    projected: list[float | None]
    leader: Label
    evidence: float | None
    misfit: float | None
    verdict: VerdictAnswer | None
    divergences: int


class BoundAnswer(BaseModel):
    """The regret that can't be avoided, per ln T, if the means are those that fit best.

    Where there are segments, means and pulls have a list for each.
    """

    arms: list[Label]
    segments: list[Label] | None = None
    means: list[float | None] | list[list[float | None]]
    value: float | None
    unconstrained: float | None
    pulls: list[float | None] | list[list[float | None]]
    rounds: int


class Health(BaseModel):
    """That it is there."""

    status: str
