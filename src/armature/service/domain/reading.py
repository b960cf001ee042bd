"""Answers that change nothing: what there is, what the bandit believes, what happened.

What a bandit believes is worked out on a copy, outside of the writer's thread: explaining may
compile kernels, and bounds may take a while.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from armature.bounds import LowerBound, lower_bound
from armature.errors import ArmatureError
from armature.live.bandit import Bandit
from armature.live.explanation import Explanation
from armature.live.segmented import SegmentedBandit
from armature.service.db.schema import Status, experiment
from armature.service.domain.replay import Replica, replica_of
from armature.service.domain.tables import bound_of_table, worth_of_segments
from armature.service.domain.work import Command, UnitOfWork
from armature.service.limits import Refused
from armature.storage.registry import Allowed
from armature.structures.instance import Instance

_SUMMARY = [
    experiment.c[name]
    for name in ("id", "name", "status", "decisions", "rewards", "last_seq", "created_at")
]


@dataclass(frozen=True)
class Copy:
    """An experiment as it was at one moment."""

    key: int  # its id
    text: str
    allow: Allowed

    def replica(self) -> Replica:
        """A bandit that nobody else uses."""
        return replica_of(self.text, self.allow)


@dataclass(frozen=True)
class MakeCopy(Command):
    """Copy an experiment, with everything that is committed."""

    allow: Allowed

    def run(self, work: UnitOfWork) -> Copy:
        return Copy(work.experiment_id, work.replica.as_text(), self.allow)


def list_experiments(connection: Connection) -> list[dict[str, Any]]:
    """All experiments, without their arms."""
    rows = connection.execute(sa.select(*_SUMMARY).order_by(experiment.c.name))
    return [summary(row) for row in rows]


def flags(connection: Connection) -> list[str]:
    """Running experiments whose spec says how OpenFeature evaluates all flags."""
    query = sa.select(experiment.c.name, experiment.c.spec).order_by(experiment.c.name)
    found = connection.execute(query.where(experiment.c.status == Status.running.value))
    return [name for name, spec in found if json.loads(spec).get("ofrep") is not None]


def find(connection: Connection, name: str) -> Any:
    """The row of an experiment, or None."""
    query = sa.select(*_SUMMARY, experiment.c.spec).where(experiment.c.name == name)
    return connection.execute(query).one_or_none()


def summary(row: Any) -> dict[str, Any]:
    """The facts of an experiment that need no look into its bandit."""
    return {
        "name": row.name,
        "status": row.status,
        "rounds": row.rewards,
        "decisions": row.decisions,
        "events": row.last_seq,
        "created_at": row.created_at,
    }


def shown(copy: Copy, row: Any) -> dict[str, Any]:
    """An experiment with its arms in their order, and intervals for their means."""
    replica = copy.replica()
    said = {
        **summary(row),
        "spec": json.loads(row.spec),
        "floor": replica.floor,
        "changes": replica.changes,
        "changed": [
            {"since": since, "segment": replica.segments[c] if replica.segments else None}
            for c, since in sorted(replica.changed.items())
        ],
        "divergences": replica.divergences,
    }
    bandit = replica.bandit
    if not isinstance(bandit, SegmentedBandit):
        return {**said, "arms": _arms(bandit)}
    pulls, pending = bandit.pulls.sum(axis=0), bandit.pending.sum(axis=0)
    unsaid = dict.fromkeys(("mean", "low", "high"))
    arms = [
        {"label": label, "pulls": int(pulls[k]), "pending": int(pending[k]), **unsaid}
        for k, label in enumerate(bandit.arms)
    ]
    worth = worth_of_segments(bandit)
    segments = [
        {
            "segment": name,
            "rounds": worth[c].own,
            "effective": _number(worth[c].effective),
            "arms": _arms(bandit.of(name)),
        }
        for c, name in enumerate(bandit.segments)
    ]
    return {**said, "arms": arms, "segments": segments}


def _arms(bandit: Bandit) -> list[dict[str, Any]]:
    """Its arms with intervals for their means."""
    belief = bandit.explain()
    return [
        {
            "label": label,
            "pulls": int(bandit.pulls[k]),
            "pending": int(bandit.pending[k]),
            "mean": _number(belief.means[k]),
            "low": _number(belief.low[k]),
            "high": _number(belief.high[k]),
        }
        for k, label in enumerate(belief.arms)
    ]


def _asked_about(replica: Replica, segment: str | None) -> Bandit:
    """The bandit of the segment that a request names, as it is printed."""
    printed = {str(name): name for name in replica.segments}
    try:
        return replica.of(replica.segment_named(printed.get(segment or "", segment)))
    except ArmatureError as error:
        raise Refused(422, str(error)) from None


def explanation_of(copy: Copy, segment: str | None = None) -> dict[str, Any]:
    """The bandit's next decision, and the reason for it."""
    replica = copy.replica()
    belief = _asked_about(replica, segment).explain()
    return {
        "summary": belief.summary,
        "text": str(belief),
        "arms": list(belief.arms),
        "pulls": [int(n) for n in belief.pulls],
        **{
            name: [_number(x) for x in getattr(belief, name)]
            for name in ("means", "low", "high", "projected")
        },
        "leader": belief.leader,
        "evidence": _number(belief.evidence),
        "misfit": _number(belief.misfit),
        "verdict": _verdict(belief),
        "divergences": replica.divergences,
    }


def bound_of(copy: Copy) -> dict[str, Any]:
    """The regret that can't be avoided if the means are those that fit best so far."""
    replica = copy.replica()
    if isinstance(replica.bandit, SegmentedBandit):
        return _bound_of_table(replica.bandit)
    belief = replica.bandit.explain()
    bound = bound_at(replica.bandit, belief)
    return {
        "arms": list(belief.arms),
        "means": [_number(x) for x in belief.projected],
        "value": _number(bound.value),
        "unconstrained": _number(bound.unconstrained),
        "pulls": [_number(x) for x in bound.pulls],
        "rounds": int(belief.pulls.sum()),
    }


def _bound_of_table(bandit: SegmentedBandit) -> dict[str, Any]:
    means, bound = bound_of_table(bandit)
    return {
        "arms": bandit.arms,
        "segments": bandit.segments,
        "means": [[_number(x) for x in row] for row in means],
        "value": _number(bound.value),
        "unconstrained": _number(bound.unconstrained),
        "pulls": [[_number(x) for x in row] for row in bound.pulls],
        "rounds": int(bandit.pulls.sum()),
    }


def bound_at(bandit: Bandit, belief: Explanation) -> LowerBound:
    """The lower bound at the means that fit best so far, or a refusal that says why not."""
    if bandit.goal == "min":
        raise Refused(409, "there is no bound for costs: it is about rewards.")
    if not np.any(belief.pulls):
        raise Refused(409, "there are no rewards yet: the bound depends on the means.")
    try:
        return lower_bound(Instance(bandit.structure, belief.projected, bandit.family))
    except ArmatureError as error:
        raise Refused(409, f"there is no bound for the means so far: {error}") from None


def _verdict(belief: Explanation) -> dict[str, Any] | None:
    """Whether the leader is surely the best arm, and about how many more samples that takes."""
    found = belief.verdict
    if found is None:
        return None
    numbers = ("statistic", "threshold", "delta", "needed", "needed_at_best")
    return {
        "arm": found.arm,
        "sure": found.sure,
        **{name: _number(getattr(found, name)) for name in numbers},
        "shares": None if found.shares is None else found.shares.tolist(),
        "words": str(found),
    }


def _number(value: Any) -> float | None:
    """A number for JSON, which has no infinity."""
    return float(value) if value is not None and math.isfinite(value) else None
