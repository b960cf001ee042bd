"""Blocks that wait to be done: cut when they are handed out, by what finished ones have taken.

Nothing is known about the speed of workers beforehand. So the first blocks of a kind of job are
single repetitions, until one of them is back: it is the measurement. From then on blocks have the
size that `block_size` says, and become smaller when the work that is left is little for all
workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from armature.experiments.engines.blocks import Block, Job, Range, block_size, seconds_for
from armature.experiments.store.part_arrays import bytes_of_one, runs_like

Kind = tuple[object, ...]


def kind_of(job: Job) -> Kind:
    """Jobs of one kind take about as long: the same policy, structure, arms and horizon."""
    structure, policy = job.instance.structure, job.policy
    return type(policy), policy.name, type(structure), structure.n_arms, job.horizon


class WaitingBlocks:
    """The repetitions that are missing of some jobs, handed out in blocks."""

    def __init__(self, missing: Iterable[tuple[Job, Iterable[Range]]]) -> None:
        self._ranges = deque(
            (job, first, past) for job, ranges in missing for first, past in ranges
        )
        self._left: dict[Kind, int] = {}  # repetitions that were not handed out
        self._bytes: dict[Kind, int] = {}  # of a repetition's numbers
        self._spent: dict[Kind, tuple[int, float]] = {}  # repetitions that are back, their seconds
        for job, first, past in self._ranges:
            kind = kind_of(job)
            self._left[kind] = self._left.get(kind, 0) + past - first

    @property
    def rounds(self) -> int:
        """How many rounds were not handed out yet."""
        return sum(job.horizon * (past - first) for job, first, past in self._ranges)

    @property
    def repetitions(self) -> int:
        """How many repetitions were not handed out yet."""
        return sum(self._left.values())

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def next(self, workers: int) -> Block:
        """A block for one of so many workers."""
        job, first, end = self._ranges.popleft()
        size = self._size(job, workers)
        past = min(end, (first // size + 1) * size)
        if past < end:
            self._ranges.appendleft((job, past, end))
        self._left[kind_of(job)] -= past - first
        return Block(job, first, past)

    def took(self, block: Block, seconds: float) -> None:
        """A block is done, and has taken so long."""
        kind = kind_of(block.job)
        n, spent = self._spent.get(kind, (0, 0.0))
        self._spent[kind] = n + block.past - block.first, spent + seconds

    def _size(self, job: Job, workers: int) -> int:
        kind = kind_of(job)
        if kind not in self._spent:
            return 1
        seconds = {known: spent / n for known, (n, spent) in self._spent.items()}
        total = sum(seconds.get(other, seconds[kind]) * n for other, n in self._left.items())
        if kind not in self._bytes:
            self._bytes[kind] = bytes_of_one(runs_like(job))
        return block_size(seconds[kind], self._bytes[kind], seconds_for(total, workers))
