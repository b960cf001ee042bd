"""The points of a sweep, each made into its files from its parts by a process of its own.

All runs are there: what is left is to read them, check them and put them together, point by point.
No point needs another. So workers of a cluster do it, or processes on this machine, and the program
that asks gets a table of each.
"""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from armature.experiments.experiment import Experiment
from armature.experiments.results import Summary
from armature.experiments.run import Place, run_experiment
from armature.experiments.store.keys import package_code
from armature.experiments.store.run_store import PartsFolder
from armature.experiments.sweep import PARTS, point_folder

LEAST_POINTS = 4  # with fewer, one program is as quick as any


@dataclass(frozen=True)
class Point:
    """A point of a sweep: all of its runs are in parts, whose names are known."""

    experiment: Experiment
    folder: Path
    parts: PartsFolder
    code: str  # of the program that asks


def points_of(experiments: Sequence[Experiment], out: Path) -> list[Point]:
    """The points of a sweep; none, if there are so few that one program does it."""
    if not experiments[0].point or len(experiments) < LEAST_POINTS:
        return []
    out = out.resolve()
    every = PartsFolder(out / PARTS)
    points = []
    for experiment in experiments:
        folder = out / point_folder(experiment.point)
        place = Place(experiment, folder, every, lambda _: None)
        parts = every.only(place.parts.key(policy) for policy in place.policies)
        points.append(Point(experiment, folder, parts, package_code()))
    return points


def collect_point(point: Point, mark: Path | None = None) -> Summary | None:
    """Make the files of a point, and its table; None: not here.

    That is where the folder is not seen, as the program that asks has left no `mark` in it, or
    where the code is another.
    """
    if (mark is not None and not mark.is_file()) or package_code() != point.code:
        return None
    quiet = Console(quiet=True)
    found = run_experiment(
        point.experiment, point.folder, 1, quiet, quiet=True, parts_folder=point.parts
    )
    return found.without_runs()


def collect_in_processes(
    experiments: Sequence[Experiment], out: Path, workers: int
) -> list[Summary | None]:
    """What `collect_point` finds of all points, by processes on this machine."""
    points = points_of(experiments, out) if workers > 1 else []
    if not points:
        return [None] * len(experiments)
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(points)), mp_context=spawning) as pool:
        return list(pool.map(collect_point, points))


def collect_on_ray(
    ray: Any, experiments: Sequence[Experiment], out: Path, mark: Path | None
) -> list[Summary | None]:
    """What `collect_point` finds of all points, by the workers of a cluster.

    What a worker that is lost, or an error, leaves to do is left to the program that asks.
    """
    points = points_of(experiments, out)
    if not points:
        return [None] * len(experiments)
    task = ray.remote(num_cpus=1, max_retries=1, retry_exceptions=False)(collect_point)
    references = [task.remote(point, mark) for point in points]
    return list(_taken(ray, references))


def _taken(ray: Any, references: Sequence[Any]) -> Iterator[Summary | None]:
    for reference in references:
        get = functools.partial(ray.get, reference)
        try:
            yield get()
        except ray.exceptions.RayError:
            yield None
