"""Blocks: the pieces of work that an experiment is cut into.

A job is a policy on a problem, with a horizon and a seed; `key` names all that its numbers depend
on, the code included. A block is a range of a job's repetitions. What a block finds is a function
of its name alone, so blocks can be cut anywhere and done by anyone, in any order, more than once.

Where they are cut is therefore a matter of convenience: large enough that handing one over costs
nothing, small enough that a lost one is no loss and that its result fits into memory. Sizes are
powers of 2 and blocks begin at multiples of their size, so that programs that have measured a
little differently still cut at the same places, or within each other's.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from armature.errors import ArmatureError

if TYPE_CHECKING:
    from armature.experiments.plan import Job
    from armature.experiments.runs import Runs

MOST_SECONDS = 40.0  # of work in a block: sizes are powers of 2, so it is from half of that on
HAND_OVER = 0.004  # seconds for handing over a block and taking it in; see benchmarks/scale.py
LEAST_SECONDS = 1.0  # where there is too little work for all workers to have blocks of full size
BLOCKS_PER_WORKER = 4  # then, so that none waits long for the last
MOST_BYTES = 1 << 25  # of numbers in a block
LARGEST = 1 << 20  # repetitions in a block

Kind = tuple[object, ...]
Range = tuple[int, int]  # (first, stop): stop is one behind the last


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive repetitions of a job."""

    job: Job
    first: int
    stop: int

    @property
    def name(self) -> str:
        """The name of the file with its result."""
        return part_name(self.job.key, self.first, self.stop)

    @property
    def rounds(self) -> int:
        """The number of rounds in the block."""
        return self.job.plan.horizon * (self.stop - self.first)

    def __str__(self) -> str:
        return f"{self.job.policy.name}, repetitions {self.first} to {self.stop - 1} ({self.name})"


def part_name(key: str, first: int, stop: int) -> str:
    """The name of the file with some repetitions of a job.

    >>> part_name("3f2a", 16, 32)
    '3f2a-000016-000032.part'
    """
    return f"{key}-{first:06d}-{stop:06d}.part"


def recorded(runs: Runs) -> list[str]:
    """The names of what is kept of runs: everything but how long they took."""
    return [field.name for field in dataclasses.fields(runs) if field.name != "seconds"]


def bytes_of_one(like: Runs) -> int:
    """The size of a repetition's results in bytes."""
    arrays = [getattr(like, name) for name in recorded(like)]
    return sum(int(array.itemsize) * math.prod(array.shape[1:]) for array in arrays)


def block_size(seconds: float, n_bytes: int, most_seconds: float = MOST_SECONDS) -> int:
    """The number of repetitions in a block, given the seconds and bytes of one repetition.

    The largest power of 2 within the limits, and at least 1.

    >>> block_size(seconds=1.0, n_bytes=20_000), block_size(100.0, 20_000), block_size(1e-6, 20_000)
    (32, 1, 1024)
    """
    fitting = min(most_seconds / max(seconds, 1e-9), MOST_BYTES / max(n_bytes, 1), LARGEST)
    return 1 << int(math.log2(fitting)) if fitting >= 1.0 else 1


def seconds_for(total: float, workers: int) -> float:
    """The seconds of work in a block, given those of all work and the number of workers.

    No less than the program that hands blocks over takes for one to each of the workers.

    >>> seconds_for(1e6, 100), seconds_for(400.0, 10), seconds_for(1.0, 10), seconds_for(1e3, 5000)
    (40.0, 10.0, 1.0, 20.0)
    """
    fair = total / (BLOCKS_PER_WORKER * max(workers, 1))
    return min(MOST_SECONDS, max(LEAST_SECONDS, HAND_OVER * workers, fair))


def cut(repetitions: Iterable[int], size: int) -> list[Range]:
    """Ranges of consecutive repetitions, which end where a multiple of the size begins.

    >>> cut([3, 4, 5, 8, 9, 10, 11], 10)
    [(3, 6), (8, 10), (10, 12)]
    """
    found: list[Range] = []
    for repetition in sorted(set(repetitions)):
        if found and found[-1][1] == repetition and repetition % size != 0:
            found[-1] = (found[-1][0], repetition + 1)
        else:
            found.append((repetition, repetition + 1))
    return found


def without(wanted: Range, taken: Iterable[Range]) -> list[Range]:
    """The ranges that are left of one if others, which may overlap, are taken away.

    >>> without((0, 10), [(5, 7), (2, 4), (3, 6), (9, 20)])
    [(0, 2), (7, 9)]
    """
    (at, end), left = wanted, []
    for first, stop in sorted(taken):
        # Of the numbers below `at`, those that none has taken are in `left`.
        if first > at:
            left.append((at, min(first, end)))
        at = max(at, stop)
        if at >= end:
            return left
    return [*left, (at, end)] if at < end else left


def kind_of(job: Job) -> Kind:
    """Jobs of one kind take about as long: the same policy, structure, arms and horizon."""
    structure, policy = job.plan.instance.structure, job.policy
    return type(policy), policy.name, type(structure), structure.n_arms, job.plan.horizon


class WaitingBlocks:
    """The repetitions that are missing of some jobs, cut into blocks when these are handed out.

    Nothing is known about the speed of workers beforehand. So the first blocks of a kind of job are
    single repetitions, until one of them is back: it is the measurement. From then on blocks have
    the size that `block_size` says, and become smaller when the work that is left is little for all
    workers.
    """

    def __init__(self, missing: Iterable[tuple[Job, Iterable[Range]]]) -> None:
        self._ranges = deque(
            (job, first, stop) for job, ranges in missing for first, stop in ranges
        )
        self._left: dict[Kind, int] = {}  # repetitions that were not handed out
        self._bytes: dict[Kind, int] = {}  # of a repetition's numbers
        self._spent: dict[Kind, tuple[int, float]] = {}  # repetitions that are back, their seconds
        for job, first, stop in self._ranges:
            kind = kind_of(job)
            self._left[kind] = self._left.get(kind, 0) + stop - first

    @property
    def rounds(self) -> int:
        """The number of rounds that were not handed out yet."""
        return sum(job.plan.horizon * (stop - first) for job, first, stop in self._ranges)

    @property
    def repetitions(self) -> int:
        """The number of repetitions that were not handed out yet."""
        return sum(self._left.values())

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def next(self, workers: int) -> Block:
        """The next block, given the number of workers."""
        job, first, end = self._ranges.popleft()
        size = self._size(job, workers)
        stop = min(end, (first // size + 1) * size)
        if stop < end:
            self._ranges.appendleft((job, stop, end))
        self._left[kind_of(job)] -= stop - first
        return Block(job, first, stop)

    def took(self, block: Block, seconds: float) -> None:
        """A block is done, and has taken so long."""
        kind = kind_of(block.job)
        n, spent = self._spent.get(kind, (0, 0.0))
        self._spent[kind] = n + block.stop - block.first, spent + seconds

    def _size(self, job: Job, workers: int) -> int:
        kind = kind_of(job)
        if kind not in self._spent:
            return 1
        seconds = {known: spent / n for known, (n, spent) in self._spent.items()}
        total = sum(seconds.get(other, seconds[kind]) * n for other, n in self._left.items())
        if kind not in self._bytes:
            self._bytes[kind] = bytes_of_one(job.plan.empty(0))
        return block_size(seconds[kind], self._bytes[kind], seconds_for(total, workers))


@dataclass(frozen=True)
class Shard:
    """One of `count` equal shares of all work: number 1, ..., count.

    The repetitions of each job are cut into `count` ranges, or into single ones if there are fewer,
    and all ranges of all jobs are dealt like cards. Which repetitions are whose depends on nothing
    but the file: not on speed, and not on what is finished.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise ArmatureError(
                f"there is no shard {self.number} of {self.count}: they count from 1."
            )

    @classmethod
    def parse(cls, text: str) -> Shard:
        """A shard as it is written: 2/8.

        >>> Shard.parse("2/8")
        Shard(number=2, count=8)
        """
        number, slash, count = text.partition("/")
        if not slash or not all(word.isascii() and word.isdigit() for word in (number, count)):
            raise ArmatureError(f"a shard is written as 2/8, the second of eight; got {text!r}.")
        return cls(int(number), int(count))

    def deal(self, repetitions: Sequence[int]) -> list[list[Range]]:
        """The ranges of this shard, for each of several jobs, given their repetitions.

        >>> Shard(1, 2).deal([5, 1, 4]), Shard(2, 2).deal([5, 1, 4])
        ([[(0, 2)], [(0, 1)], [(2, 4)]], [[(2, 5)], [], [(0, 2)]])
        """
        dealt, hands = 0, []
        for R in repetitions:
            n = min(self.count, R)
            mine = (self.number - 1 - dealt) % self.count
            hands.append([(R * j // n, R * (j + 1) // n) for j in (mine,) if j < n])
            dealt += n
        return hands

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"
