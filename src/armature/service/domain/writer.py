"""The one way to write: an experiment takes turns, and one transaction writes all that are ready.

A turn reads what its requests need as of the last commit, applies what other processes have added
to the log, and runs the requests on the bandit in memory: that may take long, so nothing is locked
meanwhile. Then one thread writes, for the whole process: it locks the rows of all experiments whose
turns are ready, sees that no log has grown since, appends events, and commits; only then are the
requests answered. They share the transaction, because a durable commit costs the same for one event
and for a thousand.

Where another process was quicker, the turn is forgotten and taken again with the row locked from
the start; so are the next few turns of that experiment.

After any error the bandits that took part are dropped, to be rebuilt from the log: whatever became
of the transaction, the log says it.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from armature.errors import ArmatureError
from armature.service import metrics
from armature.service.db.database import Failure, Row, Session, failed, look_at, reading
from armature.service.db.schema import Kind
from armature.service.domain import replay
from armature.service.domain.replay import Loaded
from armature.service.domain.scheduler import MOST, QueuedCommand, Scheduler, Turn
from armature.service.domain.work import Command, UnitOfWork, look_up, write
from armature.service.limits import Refused, ServiceLimits
from armature.storage.registry import Allowed

SLICE = 0.05  # seconds after which a turn leaves the rest of its requests to the next one
TRIES = 2  # of a transaction that fails before its commit
SHARED = 20  # turns with the row locked from the start, after one in which others had written

log = logging.getLogger("armature.service")


class Writer:
    """Runs commands on experiments, from threads of its own."""

    def __init__(
        self, engine: Engine, allow: Allowed = (), limits: ServiceLimits | None = None
    ) -> None:
        self._engine, self._allow = engine, allow
        self.scheduler = Scheduler(limits or ServiceLimits(), self._take)
        self._ready: queue.SimpleQueue[Turn | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_turns, name="writer", daemon=True)
        self._shared: dict[int, int] = {}  # turns for which a row is still locked from the start
        self.loaded: dict[int, Loaded] = {}

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, and end."""
        self.scheduler.stop()
        self._ready.put(None)
        self._thread.join()

    def run(
        self, experiment_id: int, command: Command, name: str | None = None
    ) -> asyncio.Future[Any]:
        """The answer to a command, once it is on the disk; see `QueuedCommand` for the name."""
        job = QueuedCommand(
            experiment_id, command, asyncio.get_running_loop().create_future(), name
        )
        self.scheduler.add(job)
        return job.future

    # A turn, in a thread of the pool.

    def _take(self, turn: Turn) -> None:
        """Run a turn's requests; the writing thread stores what they changed."""
        try:
            if turn.locked or turn.experiment_id in self._shared:
                self._serve(turn, time.monotonic() + SLICE)
            else:
                self._compute(turn)
                if turn.work is not None and turn.work.new_events:
                    self._ready.put(turn)
                    return
        except Exception as error:  # whatever it was, the line must go on
            self._give_up(turn, error)
        self.scheduler.end(turn)

    def _compute(self, turn: Turn) -> None:
        """Run the requests on the bandit in memory, with nothing locked."""
        key = turn.experiment_id
        try:
            with reading(self._engine) as connection:
                turn.work = self._found(connection, turn, look_at(connection, [key]))
        except sa.exc.SQLAlchemyError as error:
            turn.fail(failed(error).refusal())
            return
        if turn.work is None:
            return
        self._run(turn, turn.work, time.monotonic() + SLICE)

    def _found(self, connection: Connection, turn: Turn, rows: Sequence[Row]) -> UnitOfWork | None:
        """The experiment and all that the requests need; None, with errors, where that fails."""
        key = turn.experiment_id
        if not rows:
            turn.fail(Refused(404, "there is no such experiment."))
            return None
        _, status, last_seq, now = rows[0]
        try:
            loaded = self._up_to_date(connection, key, last_seq)
        except sa.exc.SQLAlchemyError:
            raise
        except Exception as error:
            self._give_up(turn, error)
            return None
        work = UnitOfWork(key, status, now, loaded)
        look_up(connection, work, [job.command for job in turn.jobs])
        return work

    def _up_to_date(self, connection: Connection, key: int, last_seq: int) -> Loaded:
        before = self.loaded.get(key)
        seq = None if before is None else before.replica.seq
        loaded = self.loaded[key] = replay.up_to_date(connection, key, before, self._allow)
        if before is not None and loaded.replica.seq != seq:
            self._shared[key] = SHARED
        if loaded.replica.seq != last_seq:
            raise ArmatureError(
                f"experiment {key} has {last_seq} events, and its log ends at {loaded.replica.seq}."
            )
        return loaded

    def _run(self, turn: Turn, work: UnitOfWork, until: float) -> None:
        """Run the requests in order: the first one, and more until the time is up."""
        for place, job in enumerate(turn.jobs):
            if place and time.monotonic() > until:
                self.scheduler.put_back(turn, turn.jobs[place:])
                return
            job.run(work)

    def _serve(self, turn: Turn, until: float = float("inf")) -> None:
        """Take a turn in one transaction, with the row locked from the start."""
        key, start, session = turn.experiment_id, time.perf_counter(), Session(self._engine)

        def body(connection: Connection) -> None:
            turn.work = self._found(connection, turn, look_at(connection, [key], "wait"))
            if turn.work is None:
                return
            try:
                self._run(turn, turn.work, until)
            except Exception as error:
                self._give_up(turn, error)
            else:
                write(connection, [turn.work])

        for attempt in range(1, TRIES + 1):
            self._shared[key] = self._shared.get(key, SHARED) - 1
            failure = session.transact(body)
            if failure is None:
                break
            self.loaded.pop(key, None)
            if attempt == TRIES or not failure.may_go_again:
                turn.fail(failure.refusal())
                return
        session.close()
        if self._shared[key] <= 0:
            del self._shared[key]
        if turn.work is not None and turn.work.new_events:
            _count([turn.work], len(turn.jobs), time.perf_counter() - start)

    # Writing, in a thread of its own.

    def _write_turns(self) -> None:
        session = Session(self._engine)
        while (first := self._ready.get()) is not None:
            turns, jobs = [first], len(first.jobs)
            while jobs < MOST and not self._ready.empty():
                more = self._ready.get()
                if more is None:
                    self._ready.put(None)
                    break
                turns.append(more)
                jobs += len(more.jobs)
            self._write_all(session, turns)
        session.close()

    def _write_all(self, session: Session, turns: Sequence[Turn]) -> None:
        """One transaction for the turns; those that were overtaken are taken again."""
        start = time.perf_counter()
        works = {turn.experiment_id: turn.work for turn in turns if turn.work is not None}
        current: list[UnitOfWork] = []

        def body(connection: Connection) -> None:
            rows = look_at(connection, list(works), "skip")
            seqs = {key: last_seq for key, _, last_seq, _ in rows}
            for key, work in works.items():
                found = replay.event_at(connection, key, work.first_seq)
                if seqs.get(key) == work.first_seq and found == work.first_event:
                    current.append(work)
            write(connection, current)

        failure = session.transact(body)
        if failure is None:
            _count(current, sum(len(turn.jobs) for turn in turns), time.perf_counter() - start)
        for turn in turns:
            if failure is None and turn.work in current:
                self.scheduler.end(turn)
            else:
                self._take_back(turn, failure)

    def _take_back(self, turn: Turn, failure: Failure | None) -> None:
        """Drop the bandit of a turn that was not written, and take the turn again or give up."""
        self.loaded.pop(turn.experiment_id, None)
        turn.work = None
        if failure is None:
            turn.locked = True
        else:
            turn.attempt += 1
            if turn.attempt > TRIES or not failure.may_go_again:
                turn.fail(failure.refusal())
                self.scheduler.end(turn)
                return
        self.scheduler.again(turn)

    def _give_up(self, turn: Turn, error: Exception) -> None:
        """A policy, a structure or the log failed: nothing of this experiment is written."""
        log.error("experiment %s failed", turn.experiment_id, exc_info=error)
        self.loaded.pop(turn.experiment_id, None)
        turn.work = None
        why = str(error) if isinstance(error, ArmatureError) else type(error).__name__
        turn.fail(Refused(500, f"the experiment failed ({why.rstrip('.')}); nothing was changed."))


def _count(works: Sequence[UnitOfWork], jobs: int, seconds: float) -> None:
    metrics.GROUP.observe(jobs)
    metrics.COMMIT.observe(seconds)
    for work in works:
        for kind, count in work.counts.items():
            _counter(kind).inc(count)


@functools.cache
def _counter(kind: Kind) -> Any:
    return metrics.EVENTS.labels(kind.value)
