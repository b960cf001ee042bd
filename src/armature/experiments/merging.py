"""Merging: the shares of several machines, and the points of a sweep.

    armature run MINE.toml --shard 2/8 --out results     # on each of eight machines, any of them
    armature merge MINE.toml --out results               # or from folders that were copied here

Shares write nothing but parts, whose names say what they are of. So they may go to one folder that
all machines see, or to a folder each; `merge` takes over the parts of other folders, refuses those
that other code has made, and makes the results if nothing is missing.

When all runs are there, no point of a sweep needs another. So processes on this machine, or workers
of a cluster, read, check and put together a point each, and the program that asks gets the tables.
"""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from armature.errors import ArmatureError
from armature.experiments.blocks import Range
from armature.experiments.keys import package_code
from armature.experiments.plan import Job, Plan
from armature.experiments.run import PlacedPlan, Plans, Runner, claim_all, finish
from armature.experiments.run_store import (
    PartsFolder,
    by_folder,
    content_of,
    say_of_other_code,
    unpack,
    wanted_of,
)
from armature.experiments.runs import PlanSummary
from armature.storage.files import write_bytes

LEAST_POINTS = 4  # with fewer, one program is as quick as any


def merge(
    plans: Plans, sources: Sequence[Path], out: Path, runner: Runner, processes: int = 1
) -> list[PlanSummary]:
    """The results, from parts in `out` and in other folders; nothing is played.

    Parts of other folders are checked and copied. Refused, with what is missing, if not all runs
    are there. The points of a sweep are put together by `processes` processes, a point each.
    """
    for source in sources:
        if not source.is_dir():
            raise ArmatureError(f"there is no folder {str(source)!r} to take parts from.")
    places = claim_all(plans, out, runner)
    for folder, jobs in by_folder(wanted_of([place.parts for place in places])).items():
        for source in sources:
            take_over(source, folder, jobs, runner)
        say_of_other_code(folder, jobs, runner.say)
    for place in places:
        place.parts.look_again()
    missing = list(gaps_of(places))
    if missing:
        raise ArmatureError(
            f"not all runs are in {str(out)!r}: {_some(missing)}. Run the shares that are missing, "
            "or the experiment itself with the same --out."
        )
    return finish(places, out, runner, collect_in_processes(places, processes))


def take_over(source: Path, folder: Path, jobs: Mapping[str, Job], runner: Runner) -> None:
    """Copy the parts of some jobs to a folder of parts. Damaged ones are named and left."""
    folder.mkdir(parents=True, exist_ok=True)
    there = [path for path in sorted(source.rglob("*.part")) if not path.parent.samefile(folder)]
    for path in there:
        job = jobs.get(path.name.partition("-")[0])
        if job is None:
            continue
        content = content_of(path, job)
        if content is None or unpack(path.name, content, job) is None:
            runner.say(f"{str(path)!r} is damaged, or no part: it is not taken over.")
        else:
            write_bytes(folder / path.name, content)
    for other in sorted({path.parent for path in there}):
        say_of_other_code(other, jobs, runner.say)


def gaps_of(places: Sequence[PlacedPlan[Any]]) -> Iterator[tuple[str, Range]]:
    """Missing runs: a policy, at which point, and a range of its repetitions."""
    for place in places:
        at = f" at {place.plan.point_text}" if place.plan.point else ""
        for policy in place.plan.policies:
            for block in place.parts.missing(policy):
                yield f"{policy.name}{at}", block


def _some(missing: Sequence[tuple[str, Range]], most: int = 5) -> str:
    shown = [
        f"{title} lacks the repetitions {first} to {stop - 1}"
        for title, (first, stop) in missing[:most]
    ]
    more = len(missing) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


@dataclass(frozen=True)
class Point:
    """A point of a sweep: all of its runs are in parts, whose names are known."""

    plan: Plan[Any, Any]
    folder: Path
    parts: PartsFolder
    code: str  # of the program that asks


def points_of(places: Sequence[PlacedPlan[Any]]) -> list[Point]:
    """The points of a sweep; none, if there are so few that one program does it."""
    if len(places) < LEAST_POINTS:
        return []
    return [
        Point(place.plan, place.path.resolve(), place.parts.only_these(), package_code())
        for place in places
    ]


def collect_point(point: Point, mark: Path | None = None) -> PlanSummary | None:
    """Make the files of a point, and its table; None: not here.

    That is where the folder is not seen, as the program that asks has left no `mark` in it, or
    where the code is another.
    """
    if (mark is not None and not mark.is_file()) or package_code() != point.code:
        return None
    runner = Runner(Console(quiet=True), quiet=True, workers=1)
    place = PlacedPlan(point.plan, point.folder, runner, point.parts)
    return PlanSummary(point.plan, place.run(runner).summary())


def collect_in_processes(
    places: Sequence[PlacedPlan[Any]], processes: int
) -> list[PlanSummary | None]:
    """Run `collect_point` for all points, in processes on this machine.

    If one of them is killed, the program that asks does what is left.
    """
    points = points_of(places) if processes > 1 else []
    if not points:
        return [None] * len(places)
    spawning = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(min(processes, len(points)), mp_context=spawning) as pool:
            return list(pool.map(collect_point, points))
    except BrokenProcessPool:
        return [None] * len(places)  # what they have written is read


def collect_on_ray(
    ray: Any, places: Sequence[PlacedPlan[Any]], mark: Path | None
) -> list[PlanSummary | None]:
    """Run `collect_point` for all points, on the workers of a cluster.

    What a worker that is lost, or an error, leaves to do is left to the program that asks.
    """
    points = points_of(places)
    if not points:
        return [None] * len(places)
    task = ray.remote(num_cpus=1, max_retries=1, retry_exceptions=False)(collect_point)
    references = [task.remote(point, mark) for point in points]
    return list(_taken(ray, references))


def _taken(ray: Any, references: Sequence[Any]) -> Iterator[PlanSummary | None]:
    for reference in references:
        get = functools.partial(ray.get, reference)
        try:
            yield get()
        except ray.exceptions.RayError:
            yield None
