"""An identification in shares, each done by some machine, and put together afterwards.

    armature identify MINE.toml --shard 2/8 --out results    # on each of eight machines
    armature identify MINE.toml --merge --out results        # or from folders that were copied

As with experiments (`shards.py`), shares write nothing but parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from armature.experiments.engines.blocks import Range, Shard
from armature.experiments.experiment import Experiment
from armature.experiments.identification_results import Identification
from armature.experiments.run_identification import (
    Asked,
    claim,
    folder_of,
    policies_of,
    run_missing,
    write_found,
)
from armature.experiments.store.run_store import Parts
from armature.experiments.store.shards import (
    Whole,
    checked_sources,
    refuse_missing,
    say_of_other_code,
    take_over,
    title_of,
)
from armature.experiments.sweep import say_point
from armature.policies import Policy


class Point(NamedTuple):
    """An identification and where it is kept."""

    experiment: Experiment
    policies: tuple[Policy, ...]
    folder: Path
    parts: Parts

    @property
    def whole(self) -> Whole:
        """All that is to be run for it."""
        jobs = [self.parts.job(policy) for policy in self.policies]
        R = self.experiment.repetitions
        return Whole({job.key: job for job in jobs}, {job.key: R for job in jobs})


def claim_points(
    experiments: Sequence[Experiment], asked: Asked, out: Path, console: Console
) -> list[Point]:
    """All points of a sweep, or the one that there is, with folders that are theirs."""
    points = []
    for n, experiment in enumerate(experiments):
        folder = folder_of(out, n, len(experiments))
        policies = policies_of(experiment, asked)
        points.append(
            Point(experiment, policies, folder, claim(experiment, asked, folder, console))
        )
    return points


def run_identification_shard(
    experiments: Sequence[Experiment],
    asked: Asked,
    shard: Shard,
    out: Path,
    workers: int | None,
    console: Console,
    quiet: bool = False,
) -> int:
    """Run what is missing of a share and keep it in parts; how many runs the share has."""
    points = claim_points(experiments, asked, out, console)
    hands = iter(shard.deal([p.experiment.repetitions for p in points for _ in p.policies]))
    count = 0
    for point in points:
        mine = {p.name: [r for hand in next(hands) for r in range(*hand)] for p in point.policies}
        count += sum(map(len, mine.values()))
        say_point(point.experiment, console, quiet)
        say_of_other_code(point.parts.folder, point.whole, console)
        run_missing(
            point.experiment, point.policies, asked, point.parts, workers, console, quiet, mine
        )
    return count


def merge_identification(
    experiments: Sequence[Experiment],
    asked: Asked,
    sources: Sequence[Path],
    out: Path,
    console: Console,
) -> list[Identification]:
    """What was found, from parts in `out` and in other folders; nothing is run.

    Parts of other folders are checked and copied. Refused, with what is missing, if not all runs
    are there.
    """
    checked_sources(sources)
    points = claim_points(experiments, asked, out, console)
    for point in points:
        for source in sources:
            take_over(source, point.parts.folder, point.whole, console)
        say_of_other_code(point.parts.folder, point.whole, console)
    refuse_missing(list(missing_of(points)), out)
    found = []
    for experiment, policies, folder, parts in points:
        one = run_missing(experiment, policies, asked, parts, 1, console, quiet=True)
        found.append(write_found(one, policies, parts, folder))
    return found


def missing_of(points: Sequence[Point]) -> Iterator[tuple[str, Range]]:
    """What is not there: a policy, at which point, and a range of its repetitions."""
    for point in points:
        for policy in point.policies:
            for block in point.parts.missing(policy, (0, point.experiment.repetitions)):
                yield title_of(point.experiment, policy.name), block
