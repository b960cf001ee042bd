"""Who waits for whom: requests of one experiment stand in line, and those of others don't wait.

A turn is what an experiment does at a time: some of the requests in its line, on its bandit in
memory, in a thread of a bounded pool. So one experiment that takes long holds up its own line. A
turn that takes long ends early, and the rest of its requests come with the next.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from armature.service.domain.limits import Limits
from armature.service.domain.work import Command, Refused, Work

MOST = 256  # requests in one turn

CROWDED = "too many requests are waiting: try again in a while."
CROWDED_HERE = "too many requests of this experiment are waiting: try again in a while."
STOPPING = "the server is stopping: try again."


@dataclass(eq=False)
class Job:
    """A command that waits, and what came of it."""

    experiment_id: int
    command: Command
    future: asyncio.Future[Any]
    answer: Any = None
    error: Exception | None = None


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
    jobs: list[Job]
    work: Work | None = None
    attempt: int = 1
    locked: bool = False


class Lines:
    """The lines of all experiments, and the threads that take turns."""

    def __init__(self, limits: Limits, take: Callable[[Turn], None]) -> None:
        self._limits, self._take = limits, take
        self._lines: dict[int, deque[Job]] = {}  # of experiments that have a turn now
        self._changed = threading.Condition()
        self._threads = ThreadPoolExecutor(limits.threads, "experiment")
        self._stopping = False
        self.waiting = 0  # requests in all lines

    def add(self, job: Job) -> None:
        """Put a request in its line, or refuse it where the line is too long."""
        with self._changed:
            line = self._lines.get(job.experiment_id)
            if self._stopping:
                raise Refused(503, STOPPING)
            if self.waiting >= self._limits.waiting:
                raise Refused(503, CROWDED)
            if line is not None and len(line) >= self._limits.waiting_each:
                raise Refused(503, CROWDED_HERE)
            if line is not None:
                line.append(job)
                self.waiting += 1
                return
            self._lines[job.experiment_id] = deque()
        self.again(Turn(job.experiment_id, [job]))

    def again(self, turn: Turn) -> None:
        """Let a turn be taken, when a thread is free."""
        self._threads.submit(self._take, turn)

    def put_back(self, turn: Turn, rest: Sequence[Job]) -> None:
        """Leave the rest of a turn's requests to the next one."""
        turn.jobs = turn.jobs[: len(turn.jobs) - len(rest)]
        with self._changed:
            self._lines[turn.experiment_id].extendleft(reversed(rest))
            self.waiting += len(rest)

    def end(self, turn: Turn) -> None:
        """A turn was answered: the next of its experiment begins, if somebody waits."""
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
