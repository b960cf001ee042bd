"""Which requests run when: those of one experiment wait in line, those of others don't wait for it.

A turn is some of the requests in an experiment's line, run on its bandit in memory by a thread of a
bounded pool. So a slow experiment holds up its own line only. A turn that takes long ends early,
and the rest of its requests come with the next one. `Pool` does the same for what changes nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from armature.service.domain.work import Command, UnitOfWork
from armature.service.limits import Refused, ServiceLimits

T = TypeVar("T")
MOST = 256  # requests in one turn


@dataclass(eq=False)
class QueuedCommand:
    """A command that waits, and its answer.

    `name` is that of the experiment that is meant, if the caller knows it: after a restore from a
    backup, the id may be another experiment's.
    """

    experiment_id: int
    command: Command
    future: asyncio.Future[Any]
    name: str | None = None
    answer: Any = None
    error: Exception | None = None

    def run(self, work: UnitOfWork) -> None:
        """Run the command, and keep its answer or the refusal."""
        try:
            if self.name not in (None, work.name):
                raise Refused(404, "there is no such experiment.")
            self.answer, self.error = self.command.run(work), None
        except Refused as refused:
            self.answer, self.error = None, refused


@dataclass(eq=False)
class Turn:
    """Requests of one experiment that are run together.

    Attributes
    ----------
        work: what they have done to the bandit, to be written; None if nothing is.
        attempt: counts up when the database failed before the commit.
        locked: whether the experiment's row is to be locked from the start.
    """

    experiment_id: int
    jobs: list[QueuedCommand]
    work: UnitOfWork | None = None
    attempt: int = 1
    locked: bool = False

    def fail(self, error: Exception) -> None:
        """Answer all of them with an error."""
        for job in self.jobs:
            job.answer, job.error = None, error


class Scheduler:
    """The lines of all experiments, and the threads that take their turns."""

    def __init__(self, limits: ServiceLimits, take: Callable[[Turn], None]) -> None:
        self._limits, self._take = limits, take
        self._lines: dict[int, deque[QueuedCommand]] = {}  # of experiments that have a turn now
        self._changed = threading.Condition()
        self._threads = ThreadPoolExecutor(limits.threads, "experiment")
        self._stopping = False
        self.waiting = 0  # requests in all lines

    def add(self, job: QueuedCommand) -> None:
        """Put a request in its line, or refuse it where the line is too long."""
        with self._changed:
            line = self._lines.get(job.experiment_id)
            if self._stopping:
                raise Refused(503, "the server is stopping: try again.")
            if self.waiting >= self._limits.waiting:
                raise Refused(503, "too many requests are waiting: try again in a while.")
            if line is not None and len(line) >= self._limits.waiting_each:
                whose = "too many requests of this experiment are waiting"
                raise Refused(503, f"{whose}: try again in a while.")
            if line is not None:
                line.append(job)
                self.waiting += 1
                return
            self._lines[job.experiment_id] = deque()
        self.again(Turn(job.experiment_id, [job]))

    def again(self, turn: Turn) -> None:
        """Take a turn as soon as a thread is free."""
        self._threads.submit(self._take, turn)

    def put_back(self, turn: Turn, rest: Sequence[QueuedCommand]) -> None:
        """Leave the rest of a turn's requests to the next one."""
        turn.jobs = turn.jobs[: len(turn.jobs) - len(rest)]
        with self._changed:
            self._lines[turn.experiment_id].extendleft(reversed(rest))
            self.waiting += len(rest)

    def end(self, turn: Turn) -> None:
        """Answer a turn's requests; begin the next turn of its experiment if any are waiting."""
        if turn.jobs:  # all answers go to the event loop at once
            turn.jobs[0].future.get_loop().call_soon_threadsafe(_settle, turn.jobs)
        with self._changed:
            line = self._lines[turn.experiment_id]
            jobs = [line.popleft() for _ in range(min(MOST, len(line)))]
            self.waiting -= len(jobs)
            if not jobs:
                del self._lines[turn.experiment_id]
                self._changed.notify_all()
                return
        self.again(Turn(turn.experiment_id, jobs))

    def stop(self) -> None:
        """Take no more requests, and wait until all lines are empty."""
        with self._changed:
            self._stopping = True
            self._changed.wait_for(lambda: not self._lines)
        self._threads.shutdown()


def _settle(jobs: Sequence[QueuedCommand]) -> None:
    for job in jobs:
        if job.future.done():  # the client has gone
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.answer)


@dataclass
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class Pool:
    """Threads for what takes long and changes nothing: explanations, pictures, bounds, new bandits.

    One at a time for each experiment, so that none can take all threads.
    """

    def __init__(self, threads: int, most_each: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._most_each = most_each
        self._lines: dict[Hashable, _Queue] = {}

    async def run(self, key: Hashable, work: Callable[..., T], *arguments: Any) -> T:
        """Call `work` in a thread, when everything before it with the same key is done."""
        line = self._lines.setdefault(key, _Queue())
        if line.length >= self._most_each:
            raise Refused(
                503, "too many requests to explain this experiment are waiting: try again later."
            )
        line.length += 1
        try:
            async with line.lock:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, lambda: work(*arguments))
        finally:
            line.length -= 1
            if line.length == 0:
                del self._lines[key]

    def close(self) -> None:
        """End the threads when they have finished their work."""
        self._threads.shutdown(cancel_futures=True)
