"""Progress in a terminal: a bar for each policy, or one for all blocks of a cluster."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from armature.experiments.blocks import Block
from armature.words import visible


class Display:
    """A line in the terminal while the block runs."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()


class Bars(Display):
    """A bar for each policy, with rounds, or runs, per second and the time that is left."""

    def __init__(self, console: Console, quiet: bool, unit: str) -> None:
        super().__init__(
            Progress(
                TextColumn("{task.description:<24}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:>4.0f}%"),
                TextColumn("{task.fields[speed]:>14}"),
                TimeRemainingColumn(),
                console=console,
                disable=quiet,
            )
        )
        self._unit = "" if unit == "rounds" else f" {unit}"
        self._tasks: dict[str, TaskID] = {}
        self._started: dict[str, float] = {}

    def add(self, policy: str, total: int, done: int) -> None:
        """A bar that starts where an earlier run has ended."""
        task = self._progress.add_task(visible(policy), total=total, completed=done, speed="")
        self._tasks[policy] = task

    def report(self, policy: str, repetition: int, count: int) -> None:
        """Some more rounds, or runs, were played."""
        now = time.perf_counter()
        start = self._started.setdefault(policy, now)
        task = self._tasks[policy]
        self._progress.advance(task, count)
        played = self._progress.tasks[task].completed
        if now > start:
            self._progress.update(task, speed=f"{played / (now - start):,.0f}{self._unit}/s")


class Dashboard(Display):
    """One bar for all blocks, with rounds (or runs) per second and the slowest block."""

    def __init__(self, console: Console, quiet: bool, unit: str, total: int) -> None:
        super().__init__(
            Progress(
                TextColumn("{task.fields[blocks]:>7} blocks"),
                BarColumn(),
                TextColumn("{task.percentage:>4.0f}%"),
                TextColumn("{task.fields[speed]:>18}"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[slowest]}", markup=False),
                console=console,
                disable=quiet,
            )
        )
        self._unit = unit
        self._task = self._progress.add_task("", total=total, blocks=0, speed="", slowest="")
        self._start, self._blocks, self._count = time.perf_counter(), 0, 0
        self._slowest: tuple[float, str] = (0.0, "")

    def finished(self, block: Block, seconds: float) -> None:
        """A block is finished."""
        count = block.rounds if self._unit == "rounds" else block.stop - block.first
        self._blocks += 1
        self._count += count
        self._slowest = max(self._slowest, (seconds, visible(str(block))))
        self._progress.update(
            self._task,
            advance=count,
            blocks=self._blocks,
            speed=f"{self._speed:,.0f} {self._unit}/s",
            slowest=f"slowest {self._slowest[0]:.1f} s: {self._slowest[1]}",
        )

    @property
    def _speed(self) -> float:
        return self._count / max(time.perf_counter() - self._start, 1e-9)

    @property
    def last_word(self) -> str:
        """A sentence about the finished work."""
        return (
            f"{self._blocks} blocks, {self._count:,} {self._unit}, {self._speed:,.0f} "
            f"{self._unit}/s; the slowest took {self._slowest[0]:.1f} s: {self._slowest[1]}"
        )
