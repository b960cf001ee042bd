"""Threads for what takes long and changes nothing: explanations, pictures, bounds, new bandits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from armature.service.domain.work import Refused

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class _Line:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class Pool:
    """A few threads; of one experiment one thing at a time, so that it can't take them all."""

    def __init__(self, threads: int, most_each: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._most_each = most_each
        self._lines: dict[Hashable, _Line] = {}

    async def run(
        self, key: Hashable, work: Callable[P, T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """What the work gives, once it is its turn among what has the same key."""
        line = self._lines.setdefault(key, _Line())
        if line.length >= self._most_each:
            raise Refused(
                503, "too many requests to explain this experiment are waiting: try again later."
            )
        line.length += 1
        try:
            async with line.lock:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(
                    self._threads, lambda: work(*arguments, **options)
                )
        finally:
            line.length -= 1
            if line.length == 0:
                del self._lines[key]

    def close(self) -> None:
        """End the threads, when they have done what they do."""
        self._threads.shutdown(cancel_futures=True)
