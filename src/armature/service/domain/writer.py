"""The one way to write: requests wait in line, and one transaction is run for all that wait.

In it: lock the experiments' rows, apply what other processes have added to the logs, run the
commands on the bandits in memory, append events, commit; only then are the requests answered. After
any error the bandits that took part are dropped, to be rebuilt from the log: whatever became of the
transaction, the log says it.

One thread writes for the whole process. It takes all experiments' requests into one transaction,
because a durable commit costs the same for one event and for a thousand.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import queue
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from armature.errors import ArmatureError
from armature.service.api import metrics
from armature.service.db.database import add_rows, lock, reason_of, run_many
from armature.service.db.lookups import look_up
from armature.service.db.schema import Kind, assignment, decision, event, reward
from armature.service.domain import replay
from armature.service.domain.replay import Loaded
from armature.service.domain.work import Command, Refused, Row, Work
from armature.storage.registry import Allowed

MOST = 256  # requests in one transaction
TRIES = 2  # of a transaction that fails before its commit

log = logging.getLogger("armature.service")

_ADVANCE = (
    "UPDATE experiment SET last_seq = ?, status = ?, decisions = decisions + ?, "
    "rewards = rewards + ? WHERE id = ?"
)
_CLOSE = "UPDATE decision SET status = ? WHERE id = ?"
_ASSIGN = (
    "ON CONFLICT (experiment_id, unit) DO UPDATE SET arm = excluded.arm, until = excluded.until"
)


@dataclass(eq=False)
class Job:
    """A command that waits, and what came of it."""

    experiment_id: int
    command: Command
    future: asyncio.Future[Any]
    answer: Any = None
    error: Exception | None = None


class Writer:
    """Runs commands on experiments, from a thread of its own."""

    def __init__(self, engine: Engine, allow: Allowed = (), most_waiting: int = 10_000) -> None:
        self._engine, self._allow, self._most_waiting = engine, allow, most_waiting
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._connection: Connection | None = None
        self.loaded: dict[int, Loaded] = {}

    def start(self) -> None:
        """Begin to take requests."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, and end."""
        self._waiting.put(None)
        self._thread.join()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._waiting.qsize()

    async def run(self, experiment_id: int, command: Command) -> Any:
        """What comes of a command, once it is on the disk."""
        if self.waiting >= self._most_waiting:
            raise Refused(503, "too many requests are waiting: try again in a while.")
        job = Job(experiment_id, command, asyncio.get_running_loop().create_future())
        self._waiting.put(job)
        return await job.future

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            jobs: list[Job] = [first]
            stopping = False
            while len(jobs) < MOST and not stopping:
                try:
                    job = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if job is None:
                    stopping = True
                else:
                    jobs.append(job)
            self._serve(jobs)
            _answer(jobs)
            if stopping:
                break
        self._disconnect()

    def _serve(self, jobs: Sequence[Job]) -> None:
        """Run a transaction for the jobs, and leave an answer or an error with each."""
        start = time.perf_counter()
        for attempt in range(1, TRIES + 1):
            committing = False
            try:
                connection = self._connected()
                transaction = connection.begin()
                works = self._run(connection, jobs)
                committing = True
                transaction.commit()
            except Exception as error:  # of the database; those of commands are caught in _run
                self._disconnect()
                self._drop(jobs)
                metrics.FAILURES.labels("commit" if committing else "before").inc()
                log.warning("a transaction failed, %s: %s", self._when(committing), error)
                if committing or attempt == TRIES or not isinstance(error, sa.exc.DBAPIError):
                    _fail(jobs, Refused(503, f"{_reason(error)} {_ADVICE[committing]}"))
                    return
            else:
                _count(works, len(jobs), time.perf_counter() - start)
                return

    def _connected(self) -> Connection:
        """The writer's own connection, which stays open from one transaction to the next."""
        if self._connection is None:
            self._connection = self._engine.connect().execution_options(writing=True)
        return self._connection

    def _disconnect(self) -> None:
        """Close it, with whatever is not committed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may be broken, which is why
                connection.invalidate()
            with suppress(Exception):
                connection.close()

    @staticmethod
    def _when(committing: bool) -> str:
        return "its outcome unknown" if committing else "nothing was changed"

    def _drop(self, jobs: Sequence[Job]) -> None:
        """Forget bandits that may be ahead of the log."""
        for key in {job.experiment_id for job in jobs}:
            self.loaded.pop(key, None)

    def _run(self, connection: Connection, jobs: Sequence[Job]) -> list[Work]:
        """Everything between the begin of a transaction and its commit."""
        for job in jobs:
            job.error = Refused(404, "there is no such experiment.")
        works = self._lock(connection, jobs)
        served = [job for job in jobs if job.experiment_id in works]
        look_up(connection, works, [(job.experiment_id, job.command.wanted()) for job in served])
        for job in served:
            if job.experiment_id not in works:
                continue
            try:
                job.answer, job.error = job.command.run(works[job.experiment_id]), None
            except Refused as refused:
                job.error = refused
            except Exception as error:
                del works[job.experiment_id]
                self._give_up(job.experiment_id, jobs, error)
        changed = [work for work in works.values() if work.new_events]
        _write(connection, changed)
        return changed

    def _lock(self, connection: Connection, jobs: Sequence[Job]) -> dict[int, Work]:
        """Lock the experiments, and bring their bandits up to date with the logs."""
        keys = sorted({job.experiment_id for job in jobs})
        works = {}
        for key, status, last_seq, now in lock(connection, keys):
            try:
                loaded = self._up_to_date(connection, key, last_seq)
                works[key] = Work(key, status, now, loaded.spec, loaded.engine, loaded.name)
            except sa.exc.SQLAlchemyError:
                raise
            except Exception as error:
                self._give_up(key, jobs, error)
        return works

    def _up_to_date(self, connection: Connection, key: int, last_seq: int) -> Loaded:
        loaded = replay.up_to_date(connection, key, self.loaded.get(key), self._allow)
        self.loaded[key] = loaded
        if loaded.engine.seq != last_seq:
            raise ArmatureError(
                f"experiment {key} has {last_seq} events, and its log ends at {loaded.engine.seq}."
            )
        return loaded

    def _give_up(self, key: int, jobs: Sequence[Job], error: Exception) -> None:
        """A policy, a structure or the log failed: nothing of this experiment is written."""
        log.error("experiment %s failed", key, exc_info=error)
        self.loaded.pop(key, None)
        _fail([job for job in jobs if job.experiment_id == key], failed(error))


_ADVICE = {
    True: "Whether it was done is not known: repeat the request with the same request_id.",
    False: "Nothing was changed: try again.",
}


def failed(error: Exception) -> Refused:
    """What is answered where an experiment itself can't go on."""
    why = str(error) if isinstance(error, ArmatureError) else type(error).__name__
    return Refused(500, f"the experiment failed ({why.rstrip('.')}); nothing was changed.")


def _reason(error: Exception) -> str:
    return f"the database failed ({reason_of(error)})."


def _write(connection: Connection, works: Sequence[Work]) -> None:
    """All rows of all experiments, a statement for each table."""
    add_rows(connection, event, [row for work in works for row in work.new_events])
    add_rows(connection, decision, [row for work in works for row in work.new_decisions])
    add_rows(connection, reward, [row for work in works for row in work.new_rewards])
    run_many(connection, _CLOSE, [row for work in works for row in work.closed])
    kept = [row for work in works for row in work.assigned.values()]
    add_rows(connection, assignment, kept, _ASSIGN)
    run_many(connection, _ADVANCE, [_advance(work) for work in works])
    for work in works:
        if replay.is_due(work.first_seq, work.engine.seq):
            replay.save(connection, work.experiment_id, work.engine)


def _advance(work: Work) -> Row:
    made = len(work.new_decisions)
    return work.engine.seq, work.status, made, work.learned, work.experiment_id


def _fail(jobs: Sequence[Job], error: Exception) -> None:
    for job in jobs:
        job.answer, job.error = None, error


def _answer(jobs: Sequence[Job]) -> None:
    """Hand all answers to the event loop at once."""
    jobs[0].future.get_loop().call_soon_threadsafe(_settle, jobs)


def _settle(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.future.done():  # whoever asked has gone
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.answer)


def _count(works: Sequence[Work], jobs: int, seconds: float) -> None:
    metrics.GROUP.observe(jobs)
    metrics.COMMIT.observe(seconds)
    for work in works:
        for kind, count in work.counts.items():
            _counter(kind).inc(count)


@functools.cache
def _counter(kind: Kind) -> Any:
    return metrics.EVENTS.labels(kind.value)
