"""Blocks: the pieces of work that an experiment is made of, whoever does them.

A job is a policy on a problem, with a horizon and a seed; `key` names all that its numbers depend
on, the code included. A block is a range of a job's repetitions. What a block finds is a function
of its name alone, so blocks can be cut anywhere and done by anyone, in any order, more than once.

Where they are cut is therefore a matter of convenience: large enough that handing one over costs
nothing, small enough that a lost one is no loss and that its result fits into memory. Sizes are
powers of 2 and blocks begin at multiples of their size, so that programs that have measured a
little differently still cut at the same places, or within each other's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from armature.errors import ArmatureError
from armature.policies import Policy
from armature.structures.instance import Instance

MOST_SECONDS = 40.0  # of work in a block: sizes are powers of 2, so it is from half of that on
HAND_OVER = 0.004  # seconds for handing over a block and taking it in; see benchmarks/scale.py
LEAST_SECONDS = 1.0  # where there is too little work for all workers to have blocks of full size
BLOCKS_PER_WORKER = 4  # then, so that none waits long for the last
MOST_BYTES = 1 << 25  # of numbers in a block
LARGEST = 1 << 20  # repetitions in a block

Range = tuple[int, int]  # (first, one past the last)


Found = tuple[dict[str, Any], float]  # what is recorded, and how many seconds it took


class Work(Protocol):
    """What is done with the repetitions of a job, where it is not a simulation."""

    def compile(self, job: Job) -> None:
        """Have everything compiled that a job needs."""

    def play(self, job: Job, first: int, past: int) -> Found:
        """What is recorded of some repetitions: arrays whose first axis they are."""


@dataclass(frozen=True, eq=False)
class Job:
    """A policy on a problem: all that the numbers of a repetition depend on, but for its number.

    `folder` is where its parts go; None: nowhere, they are only wanted in memory. Where they are
    not a simulation's, `work` makes the numbers, and `more` is what they depend on besides (see
    `run_key`).
    """

    instance: Instance
    policy: Policy
    horizon: int
    seed: int
    key: str
    folder: Path | None = None
    more: dict[str, Any] | None = None
    work: Work | None = None
    like: Any = None


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive repetitions of a job."""

    job: Job
    first: int
    past: int

    @property
    def name(self) -> str:
        """The name of the file with its result."""
        return part_name(self.job.key, self.first, self.past)

    @property
    def rounds(self) -> int:
        """How many rounds are played."""
        return self.job.horizon * (self.past - self.first)

    def __str__(self) -> str:
        return f"{self.job.policy.name}, repetitions {self.first} to {self.past - 1} ({self.name})"


def part_name(key: str, first: int, past: int) -> str:
    """The name of the file with some repetitions of a job.

    >>> part_name("3f2a", 16, 32)
    '3f2a-000016-000032.part'
    """
    return f"{key}-{first:06d}-{past:06d}.part"


def block_size(seconds: float, n_bytes: int, most_seconds: float = MOST_SECONDS) -> int:
    """How many repetitions go into a block, if one takes so many seconds and bytes.

    The largest power of 2 within the limits, and at least 1.

    >>> block_size(seconds=1.0, n_bytes=20_000), block_size(100.0, 20_000), block_size(1e-6, 20_000)
    (32, 1, 1024)
    """
    fitting = min(most_seconds / max(seconds, 1e-9), MOST_BYTES / max(n_bytes, 1), LARGEST)
    return 1 << int(math.log2(fitting)) if fitting >= 1.0 else 1


def seconds_for(total: float, workers: int) -> float:
    """How much work a block may be if there is so much of it in all, for so many workers.

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
    for first, past in sorted(taken):
        if first > at:
            left.append((at, min(first, end)))
        at = max(at, past)
        if at >= end:
            return left
    return [*left, (at, end)] if at < end else left


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
        """The ranges of this shard, for each of several jobs with so many repetitions.

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
