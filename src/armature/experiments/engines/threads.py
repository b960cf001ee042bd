"""Tasks on threads: each is told to its owner when it is finished, and an error stops the rest."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from armature.policies import Policy

Progress = Callable[[str, int, int], None]  # (policy, repetition, rounds that were just played)
Task = tuple[Policy, int]  # a policy, and the number of a repetition


def run_on_threads(
    work: Callable[[Policy, int], None],
    tasks: Sequence[Task],
    workers: int | None,
    stop: threading.Event,
    finished: Callable[[Policy, int], None] | None = None,
) -> None:
    """Do the work of all tasks; `finished` is called, in this thread, after each.

    An error, an interruption included, sets `stop`, which the work should look at now and then.
    """
    done: SimpleQueue[Future[None]] = SimpleQueue()
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        futures: dict[Future[None], Task] = {pool.submit(work, *task): task for task in tasks}
        for future in futures:
            future.add_done_callback(done.put)
        try:
            for _ in tasks:
                future = done.get()
                future.result()
                if finished is not None:
                    finished(*futures[future])
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
