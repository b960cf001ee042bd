"""An experiment on a Ray cluster: the blocks of all its points in one list, then its results.

What is finished is in parts, so that an interruption costs no more than the blocks in flight, and
a run with threads can go on where one with Ray was, and the other way round.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from armature.errors import BlocksFailedError
from armature.experiments.engines.blocks import Block, Job, Range
from armature.experiments.engines.on_ray import failed
from armature.experiments.engines.ray_engine import RayEngine, cluster, mark_in
from armature.experiments.engines.scheduler import WaitingBlocks
from armature.experiments.experiment import Experiment
from armature.experiments.results import Summary
from armature.experiments.run import Place, sayer
from armature.experiments.store.collecting import collect_on_ray
from armature.experiments.store.shards import say_of_other_code, whole_of
from armature.experiments.sweep import PARTS, claim_all, run_all
from armature.policies import Policy
from armature.storage.files import passing_folder, write_bytes
from armature.views.terminal import visible


def run_on_ray(
    experiments: Sequence[Experiment],
    out: Path | None,
    address: str | None,
    workers: int | None,
    console: Console,
    quiet: bool = False,
) -> list[Summary]:
    """Play what is missing on a cluster, and make the results, each point's where there is room.

    Without an address a cluster is started on this machine, with so many workers. If blocks fail,
    the others are finished and kept, and the error names those.
    """
    if out is None:
        with passing_folder() as folder:
            return run_on_ray(experiments, folder, address, workers, console, quiet)
    with cluster(address, workers) as ray:
        play_on_ray(claim_all(experiments, out, console), out, address, workers, console, quiet)
        with mark_in(out) as mark:
            collected = collect_on_ray(ray, experiments, out, mark)
    return run_all(experiments, out, workers, console, quiet=True, collected=collected)


def play_on_ray(
    places: Sequence[Place],
    root: Path,
    address: str | None,
    workers: int | None,
    console: Console,
    quiet: bool,
) -> None:
    """Play what is missing of some experiments, all of whose folders are in `root`."""
    whole = whole_of(places)
    for folder in dict.fromkeys(place.parts.folder for place in places):
        say_of_other_code(folder, whole, console)
    waiting = WaitingBlocks(missing_jobs(places))
    if waiting:
        board = Dashboard(console, quiet, "rounds", waiting.rounds)
        play_blocks(waiting, root, address, workers, board)


def play_blocks(
    waiting: WaitingBlocks, root: Path, address: str | None, workers: int | None, board: Dashboard
) -> None:
    """Play blocks whose parts go to folders in `root`; an error names those that failed."""

    def keep(block: Block, content: bytes) -> None:
        assert block.job.folder is not None
        block.job.folder.mkdir(parents=True, exist_ok=True)
        write_bytes(block.job.folder / block.name, content)

    with cluster(address, workers) as ray, board:
        failures = RayEngine(ray, root, keep, board.finished).run(waiting)
    board.say_last_word()
    if failures:
        raise BlocksFailedError(failed(failures))


def places_of(experiments: Sequence[tuple[Experiment, Path]], console: Console) -> list[Place]:
    """Experiments that have a folder each, as places; those that are finished are left out."""
    places = []
    for experiment, folder in experiments:
        place = Place(experiment, folder, folder / PARTS, sayer(console))
        if place.claim().results(experiment.instance, place.policies) is None:
            places.append(place)
    return places


def missing_jobs(places: Sequence[Place]) -> list[tuple[Job, list[Range]]]:
    """The repetitions of each job that are in no part of its folder; damaged parts are set aside.

    What several experiments have in common, in one folder, is there once.
    """
    most: dict[tuple[Path, str], tuple[Place, Policy]] = {}
    for place in places:
        for policy in place.policies:
            where = place.parts.folder, place.parts.key(policy)
            before = most.get(where)
            if before is None or before[0].experiment.repetitions < place.experiment.repetitions:
                most[where] = place, policy
    return [
        (
            place.parts.job(policy),
            place.parts.missing(policy, (0, place.experiment.repetitions)),
        )
        for place, policy in most.values()
    ]


class Dashboard:
    """One bar for all blocks, with rounds (or runs) per second and the slowest block."""

    def __init__(self, console: Console, quiet: bool, unit: str, total: int) -> None:
        self._console, self._quiet, self._unit = console, quiet, unit
        self._progress = Progress(
            TextColumn("{task.fields[blocks]:>7} blocks"),
            BarColumn(),
            TextColumn("{task.percentage:>4.0f}%"),
            TextColumn("{task.fields[speed]:>18}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[slowest]}", markup=False),
            console=console,
            disable=quiet,
        )
        self._task = self._progress.add_task("", total=total, blocks=0, speed="", slowest="")
        self._start, self._blocks, self._count = time.perf_counter(), 0, 0
        self._slowest: tuple[float, str] = (0.0, "")

    def __enter__(self) -> Dashboard:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def finished(self, block: Block, seconds: float) -> None:
        """A block is finished."""
        count = block.rounds if self._unit == "rounds" else block.past - block.first
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
        """What was done, in a sentence."""
        return (
            f"{self._blocks} blocks, {self._count:,} {self._unit}, {self._speed:,.0f} "
            f"{self._unit}/s; the slowest took {self._slowest[0]:.1f} s: {self._slowest[1]}"
        )

    def say_last_word(self) -> None:
        """Say what was done."""
        if not self._quiet:
            sayer(self._console)(self.last_word)
