"""Views of experiments for the page, computed once for all readers.

A view is at most a second old. What may take long is computed in the background: the lower bound
and the verdict, and the counts of a long log. A page waits for them for a moment; after that it
shows the last ones, or none yet.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from armature.bounds import LowerBound
from armature.bounds.evidence import DELTA
from armature.errors import ArmatureError
from armature.live.explanation import Explanation
from armature.live.verdict import Verdict
from armature.service.db.schema import Kind
from armature.service.domain import reading
from armature.service.domain.backend import Backend
from armature.service.domain.log import Timeline
from armature.service.domain.replay import Replica
from armature.service.limits import Refused
from armature.views import Picture, picture_of

FRESH = 1.0  # seconds for which a view is used again
GROWTH = 1.02  # the bound is computed again when the number of rewards has grown by this factor
PATIENCE = 1.5  # seconds for which a page waits for a bound
MOMENT = 0.5  # seconds for which it waits until the log is counted
GLANCE, FEW = 0.7, 12  # seconds for which a list waits for its pictures, and how many it has


@dataclass(frozen=True, eq=False)
class View:
    """An experiment as the page shows it."""

    row: Any  # of the database
    spec: str  # as JSON
    picture: Picture
    pending: list[int]  # in the order of the picture's arms
    ledger: dict[str, int] | None  # what became of the rewards; None while the log is counted
    last_at: float  # when the last event was
    no_bound: str | None  # why there is no bound, if that is known
    verdict: Verdict | None  # whether the leader is surely the best arm, if that is known
    delta: float  # of the evidence: how probably a true structure is ever refuted


@dataclass
class _NewestBound:
    """The newest bound of an experiment, and the verdict on its leader."""

    rounds: int = 0
    leader: Any = None
    value: LowerBound | None = None
    refusal: str | None = None  # why there is no bound
    verdict: Verdict | None = None


@dataclass
class _Kept:
    """The newest views of an experiment."""

    timeline: Timeline = field(default_factory=Timeline)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    bound: _NewestBound = field(default_factory=_NewestBound)
    bounding: asyncio.Task[None] | None = None
    counting: asyncio.Task[None] | None = None
    view: View | None = None
    looked_at: float = -FRESH


class Viewer:
    """The views of a server's experiments."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._kept: dict[int, _Kept] = {}
        self._glances: set[asyncio.Task[View]] = set()

    async def view(self, name: str) -> View:
        """An experiment as it is now, or was within the last second."""
        key = await self._backend.id_of(name)
        kept = self._kept.setdefault(key, _Kept())
        async with kept.lock:
            if kept.view is None or time.monotonic() - kept.looked_at > FRESH:
                kept.view = await self._look(name, key, kept)
                kept.looked_at = time.monotonic()
            return kept.view

    async def glance(self, names: Sequence[str]) -> tuple[dict[str, View], dict[str, str]]:
        """Views of the first few experiments that are ready in a moment; and what went wrong."""
        tasks = {name: asyncio.create_task(self.view(name)) for name in names[:FEW]}
        self._glances |= set(tasks.values())
        for task in tasks.values():
            task.add_done_callback(self._seen)
        if tasks:
            await asyncio.wait(tasks.values(), timeout=GLANCE)
        views, troubles = {}, {}
        for name, task in tasks.items():
            error = task.exception() if task.done() else None
            if error is not None:
                troubles[name] = getattr(error, "detail", None) or "It can't be shown now."
            elif task.done():
                views[name] = task.result()
        return views, troubles

    def _seen(self, task: asyncio.Task[View]) -> None:
        self._glances.discard(task)
        if not task.cancelled():
            task.exception()  # which the list or the experiment's own page shows

    def forget(self, key: int) -> None:
        """Compute the next view at once: the experiment was changed from the page."""
        if key in self._kept:
            self._kept[key].looked_at = -FRESH

    async def close(self) -> None:
        """Wait for what is being computed."""
        await asyncio.gather(*self._glances, return_exceptions=True)
        tasks = [task for kept in self._kept.values() for task in (kept.bounding, kept.counting)]
        await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)

    async def _look(self, name: str, key: int, kept: _Kept) -> View:
        copy = await self._backend.look(name)
        row = await self._backend.find(name)
        replica, belief = await self._backend.explain(key, _read, copy)
        await self._see_to_bound(key, replica, belief, kept)
        counted = await self._count(key, kept)
        duplicates = self._backend.duplicates[key] if counted else None
        return await self._backend.explain(key, view_of, row, replica, belief, kept, duplicates)

    async def _count(self, key: int, kept: _Kept) -> bool:
        """Bring the timeline up to date; False if that takes longer than a moment."""
        if kept.counting is None or kept.counting.done():
            kept.counting = asyncio.create_task(self._backend.read(kept.timeline.catch_up, key))
        done, _ = await asyncio.wait([kept.counting], timeout=MOMENT)
        if done:
            kept.counting.result()  # an error is one of this page
        return bool(done)

    async def _see_to_bound(
        self, key: int, replica: Replica, belief: Explanation, kept: _Kept
    ) -> None:
        rounds = int(belief.pulls.sum())
        old = kept.bound
        busy = kept.bounding is not None and not kept.bounding.done()
        due = rounds > GROWTH * old.rounds or belief.leader != old.leader
        if due and not busy:
            kept.bounding = asyncio.create_task(self._work_out(key, replica, belief, kept))
        if kept.bounding is not None and old.value is None and old.verdict is None:
            await asyncio.wait([kept.bounding], timeout=PATIENCE)

    async def _work_out(self, key: int, replica: Replica, belief: Explanation, kept: _Kept) -> None:
        try:
            kept.bound = await self._backend.bound(key, _bound_of, replica, belief)
        except Refused as refused:
            rounds = int(belief.pulls.sum())
            kept.bound = _NewestBound(rounds, belief.leader, refusal=refused.detail)


def _read(copy: reading.Copy) -> tuple[Replica, Explanation]:
    replica = copy.replica()
    return replica, replica.bandit.explain()


def _bound_of(replica: Replica, belief: Explanation) -> _NewestBound:
    bound = _NewestBound(int(belief.pulls.sum()), belief.leader)
    try:
        bound.value = reading.bound_at(replica, belief)
    except Refused as refused:
        bound.refusal = refused.detail
    with suppress(ArmatureError):
        bound.verdict = belief.verdict if bound.rounds else None
    return bound


def view_of(
    row: Any, replica: Replica, belief: Explanation, kept: _Kept, duplicates: int | None
) -> View:
    """All of it together; without what the log counts if `duplicates` is None."""
    bandit, bound = replica.bandit, kept.bound
    numbers = [replica.numbers[label] for label in belief.arms]
    same = bound.leader == belief.leader
    value = bound.value if same else None
    if value is not None and value.pulls.size != len(numbers):  # an arm has come or gone
        value = None
    past = None if duplicates is None else kept.timeline.past(numbers)
    shown = picture_of(belief, bandit.structure, goal=bandit.goal, bound=value, past=past)
    pending = bandit.pending
    return View(
        row=row,
        spec=json.dumps(json.loads(row.spec), indent=2, ensure_ascii=False),
        picture=shown,
        pending=[int(pending[k]) for k in shown.arms.places],
        ledger=None if duplicates is None else _ledger(kept, replica, duplicates),
        last_at=kept.timeline.last_at,
        no_bound=bound.refusal,
        verdict=bound.verdict if same else None,
        delta=math.exp(-belief.fit.threshold) if belief.fit is not None else DELTA,
    )


def _ledger(kept: _Kept, replica: Replica, duplicates: int) -> dict[str, int]:
    """Counts of rewards by how they were taken, with the page's words for each."""
    kinds = kept.timeline.kinds
    return {
        "outstanding": int(replica.bandit.pending.sum()),
        "arrived in time": kinds[Kind.told.value],
        "never arrived (window closed)": kinds[Kind.expired.value],
        "arrived late, not applied": kinds[Kind.late.value],
        "decisions cancelled": kinds[Kind.cancelled.value],
        "sent twice (since this server started)": duplicates,
        "replays that chose another arm": replica.divergences,
        "events in the log": kept.timeline.seq,
    }
