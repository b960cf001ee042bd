"""Views of experiments for the page, computed once for all readers.

A view is at most a second old. What may take long is computed in the background: the lower bound
and the verdict, and the counts of a long log. A page waits for them for a moment; after that it
shows the last ones, or none yet.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
from armature.service.page.tables import TableView, sentences_on_changes, table_view_of
from armature.views import Picture, picture_of
from armature.views.chart import number, share
from armature.views.picture import Past, gain_of

FRESH = 1.0  # seconds for which a view is used again
GROWTH = 1.02  # the bound is computed again when the number of rewards has grown by this factor
PATIENCE = 1.5  # seconds for which a page waits for a bound
MOMENT = 0.5  # seconds for which it waits until the log is counted
GLANCE, FEW = 0.7, 12  # seconds for which a list waits for its pictures, and how many it has


Leaders = tuple[Any, ...]  # the best arm of each segment


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
    changed: list[str]  # sentences on changes of the rewards
    changed_at: list[int]  # after how many of them
    gain_changed_at: list[int]  # the same, in the chart of what was earned

    is_table = False

    @property
    def headline(self) -> str:
        """The state of the experiment, for who has a shop to run and no statistics."""
        p, arms = self.picture, self.picture.arms
        if not arms.n_seen:
            return "No rewards yet: it is trying the arms."
        best = "the best" if p.goal == "max" else "the cheapest"
        sure = "" if self.verdict is not None and self.verdict.sure else "probably "
        said = [f"{arms.names[arms.leader]} is {sure}{best} of {len(arms)} arms"]
        if p.traffic is not None and arms.leader in p.traffic.places:
            now = p.traffic.recent[p.traffic.places.index(arms.leader)]
            said[0] += f" and gets {share(now)} of the traffic"
        if p.gain is not None and p.gain.gained > p.gain.margin:
            gained = number(p.gain.gained)
            said.append(
                f"So far it earned {gained} more than all arms equally often would have"
                if p.goal == "max"
                else f"So far it saved {gained}, compared with all arms equally often"
            )
        return ". ".join(said) + "."


AnyView = View | TableView


@dataclass
class _NewestBound:
    """The newest bound of an experiment, and the verdicts on its leader, one for each segment."""

    rounds: int = 0
    leaders: Leaders = ()
    value: LowerBound | None = None
    refusal: str | None = None  # why there is no bound
    verdicts: tuple[Verdict | None, ...] = ()


@dataclass
class _Kept:
    """The newest views of an experiment."""

    timeline: Timeline = field(default_factory=Timeline)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    bound: _NewestBound = field(default_factory=_NewestBound)
    bounding: asyncio.Task[None] | None = None
    counting: asyncio.Task[None] | None = None
    view: AnyView | None = None
    looked_at: float = -FRESH


class Viewer:
    """The views of a server's experiments."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._kept: dict[int, _Kept] = {}
        self._glances: set[asyncio.Task[AnyView]] = set()

    async def view(self, name: str) -> AnyView:
        """An experiment as it is now, or was within the last second."""
        key = await self._backend.id_of(name)
        kept = self._kept.setdefault(key, _Kept())
        async with kept.lock:
            if kept.view is None or time.monotonic() - kept.looked_at > FRESH:
                kept.view = await self._look(name, key, kept)
                kept.looked_at = time.monotonic()
            return kept.view

    async def glance(self, names: Sequence[str]) -> tuple[dict[str, AnyView], dict[str, str]]:
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

    def _seen(self, task: asyncio.Task[AnyView]) -> None:
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

    async def _look(self, name: str, key: int, kept: _Kept) -> AnyView:
        copy = await self._backend.look(name)
        row = await self._backend.find(name)
        replica, beliefs = await self._backend.explain(key, _read, copy)
        rounds = int(sum(belief.pulls.sum() for belief in beliefs))
        leaders = tuple(belief.leader for belief in beliefs)
        work = functools.partial(_bound_of, replica, beliefs, rounds, leaders)
        await self._see_to_bound(key, kept, rounds, leaders, work)
        counted = await self._count(key, kept)
        ledger = _ledger(kept, replica, self._backend.duplicates[key]) if counted else None
        if replica.segments:
            past = kept.timeline.past(range(len(replica.labels))) if counted else None
            verdicts = kept.bound.verdicts if kept.bound.leaders == leaders else ()
            seen = functools.partial(table_view_of, row, replica, beliefs, verdicts)
            return await self._backend.explain(key, seen, past, ledger, kept.timeline.last_at)
        return await self._backend.explain(key, view_of, row, replica, beliefs[0], kept, ledger)

    async def _count(self, key: int, kept: _Kept) -> bool:
        """Bring the timeline up to date; False if that takes longer than a moment."""
        if kept.counting is None or kept.counting.done():
            kept.counting = asyncio.create_task(self._backend.read(kept.timeline.catch_up, key))
        done, _ = await asyncio.wait([kept.counting], timeout=MOMENT)
        if done:
            kept.counting.result()  # an error is one of this page
        return bool(done)

    async def _see_to_bound(
        self, key: int, kept: _Kept, rounds: int, leaders: Leaders, work: Callable[[], _NewestBound]
    ) -> None:
        old = kept.bound
        busy = kept.bounding is not None and not kept.bounding.done()
        due = rounds > GROWTH * old.rounds or leaders != old.leaders
        if due and not busy:
            kept.bounding = asyncio.create_task(self._work_out(key, kept, rounds, leaders, work))
        if kept.bounding is not None and old.value is None and not any(old.verdicts):
            await asyncio.wait([kept.bounding], timeout=PATIENCE)

    async def _work_out(
        self, key: int, kept: _Kept, rounds: int, leaders: Leaders, work: Callable[[], _NewestBound]
    ) -> None:
        try:
            kept.bound = await self._backend.bound(key, work)
        except Refused as refused:
            kept.bound = _NewestBound(rounds, leaders, refusal=refused.detail)


def _read(copy: reading.Copy) -> tuple[Replica, list[Explanation]]:
    """An experiment, and what it believes of each segment."""
    replica = copy.replica()
    return replica, [replica.of(c).explain() for c in range(len(replica.segments) or 1)]


def _bound_of(
    replica: Replica, beliefs: Sequence[Explanation], rounds: int, leaders: Leaders
) -> _NewestBound:
    bound = _NewestBound(rounds, leaders)
    try:
        if not replica.segments:
            bound.value = reading.bound_at(replica.of(0), beliefs[0])
    except Refused as refused:
        bound.refusal = refused.detail
    bound.verdicts = tuple(_verdict_of(belief) for belief in beliefs)
    return bound


def _verdict_of(belief: Explanation) -> Verdict | None:
    with suppress(ArmatureError):
        return belief.verdict if belief.pulls.any() else None
    return None


def view_of(
    row: Any, replica: Replica, belief: Explanation, kept: _Kept, ledger: dict[str, int] | None
) -> View:
    """All of it together; without what the log counts if there is no ledger yet."""
    bandit, bound = replica.of(0), kept.bound
    numbers = [replica.numbers[label] for label in belief.arms]
    same = bound.leaders == (belief.leader,)
    value = bound.value if same else None
    if value is not None and value.pulls.size != len(numbers):  # an arm has come or gone
        value = None
    past = None if ledger is None else kept.timeline.past(numbers)
    shown = picture_of(belief, bandit.structure, goal=bandit.goal, bound=value, past=past)
    anew = replica.changes == "restart" and bool(replica.changed)
    if anew and past is not None:  # beside uniform allocation as it is since then
        since = since_round(past, replica.changed[0])
        shown = dataclasses.replace(shown, gain=gain_of(belief, bandit.goal, since))
    pending = bandit.pending
    return View(
        row=row,
        spec=json.dumps(json.loads(row.spec), indent=2, ensure_ascii=False),
        picture=shown,
        pending=[int(pending[k]) for k in shown.arms.places],
        ledger=ledger,
        last_at=kept.timeline.last_at,
        no_bound=bound.refusal,
        verdict=bound.verdicts[0] if same and bound.verdicts else None,
        delta=math.exp(-belief.fit.threshold) if belief.fit is not None else DELTA,
        changed=sentences_on_changes(replica, [belief]),
        changed_at=sorted(replica.changed.values()),
        gain_changed_at=[] if anew else sorted(replica.changed.values()),
    )


def since_round(past: Past, round: int) -> Past:
    """The stretches that end after a round."""
    kept = np.cumsum(past.rounds) > round
    return Past(past.decisions[kept], past.rewards[kept], past.rounds[kept])


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
