"""An experiment in shares, each done by some machine, and put together afterwards.

    armature run MINE.toml --shard 2/8 --out results     # on each of eight machines, any of them
    armature merge MINE.toml --out results               # or from folders that were copied here

Shares write nothing but parts, whose names say what they are of. So they may go to one folder that
all machines see, or to a folder each; `merge` takes over the parts of other folders, refuses those
that other code has made, and makes the results if nothing is missing.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from armature.errors import ArmatureError
from armature.experiments.engines.blocks import Job, Range, Shard
from armature.experiments.experiment import Experiment
from armature.experiments.results import PolicyRuns, Summary
from armature.experiments.run import Place, play_missing, sayer
from armature.experiments.runs import room_for
from armature.experiments.store.collecting import collect_in_processes
from armature.experiments.store.keys import package_version, problem_key
from armature.experiments.store.run_store import content_of, read_title, unpack
from armature.experiments.sweep import PARTS, claim_all, run_all, say_point
from armature.policies import Policy
from armature.rounds.record import checkpoints_up_to
from armature.storage.files import write_bytes
from armature.views.terminal import visible


@dataclass(frozen=True)
class Whole:
    """All that is to be played for some experiments: each job once, and how often."""

    jobs: Mapping[str, Job]  # by its key
    repetitions: Mapping[str, int]

    @functools.cached_property
    def problems(self) -> set[str]:
        """What the jobs are about, whichever code does them."""
        return {
            problem_key(job.instance, job.policy, job.horizon, job.seed, job.more)
            for job in self.jobs.values()
        }


def whole_of(places: Sequence[Place]) -> Whole:
    """All jobs of all experiments; one that several have in common is there once."""
    jobs: dict[str, Job] = {}
    repetitions: dict[str, int] = {}
    for place in places:
        for policy in place.policies:
            job = place.parts.job(policy)
            jobs.setdefault(job.key, job)
            most = max(repetitions.get(job.key, 0), place.experiment.repetitions)
            repetitions[job.key] = most
    return Whole(jobs, repetitions)


def run_shard(
    experiments: Sequence[Experiment],
    shard: Shard,
    out: Path,
    workers: int | None,
    console: Console,
    quiet: bool = False,
) -> int:
    """Play what is missing of a share and keep it in parts; how many repetitions the share has."""
    places = claim_all(experiments, out, console)
    whole = whole_of(places)
    say_of_other_code(out / PARTS, whole, console)
    hands = shard.deal(list(whole.repetitions.values()))
    mine = {
        key: [r for hand in ranges for r in range(*hand)]
        for key, ranges in zip(whole.repetitions, hands, strict=True)
    }
    for place in places:
        say_point(place.experiment, console, quiet)
        _play_share(place, mine, workers, console, quiet)
    return sum(map(len, mine.values()))


def _play_share(
    place: Place,
    mine: Mapping[str, Sequence[int]],
    workers: int | None,
    console: Console,
    quiet: bool,
) -> None:
    experiment, parts, R = place.experiment, place.parts, place.experiment.repetitions
    n_checkpoints = checkpoints_up_to(experiment.horizon).size
    K = experiment.instance.n_arms
    runs = room_for(place.policies, R, lambda n: PolicyRuns.empty(n, n_checkpoints, K))
    done = {p.name: set(range(R)).difference(*_missing(place, p)) for p in place.policies}
    wanted = {p.name: [r for r in mine[parts.key(p)] if r < R] for p in place.policies}
    play_missing(experiment, place.policies, wanted, done, parts, runs, workers, console, quiet)


def _missing(place: Place, policy: Policy) -> list[range]:
    found = place.parts.missing(policy, (0, place.experiment.repetitions))
    return [range(*block) for block in found]


def merge(
    experiments: Sequence[Experiment],
    sources: Sequence[Path],
    out: Path,
    console: Console,
    workers: int = 1,
) -> list[Summary]:
    """The results of all experiments, from parts in `out` and in other folders; nothing is played.

    Parts of other folders are checked and copied. Refused, with what is missing, if not all runs
    are there. Of a sweep, each point is put together by itself, in so many processes.
    """
    checked_sources(sources)
    places = claim_all(experiments, out, console)
    whole = whole_of(places)
    for source in sources:
        take_over(source, out / PARTS, whole, console)
    say_of_other_code(out / PARTS, whole, console)
    refuse_missing(list(missing_of(places)), out)
    collected = collect_in_processes(experiments, out, workers)
    return run_all(experiments, out, 1, console, quiet=True, collected=collected)


def checked_sources(sources: Sequence[Path]) -> None:
    """Refuse folders that are not there."""
    for source in sources:
        if not source.is_dir():
            raise ArmatureError(f"there is no folder {str(source)!r} to take parts from.")


def refuse_missing(missing: Sequence[tuple[str, Range]], out: Path) -> None:
    """Refuse to go on where runs are missing, and name some of them."""
    if missing:
        raise ArmatureError(
            f"not all runs are in {str(out)!r}: {_some(missing)}. Run the shares that are missing, "
            "or the experiment itself with the same --out."
        )


def take_over(source: Path, parts: Path, whole: Whole, console: Console) -> int:
    """Copy the parts of some jobs from a folder; how many. Damaged ones are named and left."""
    say, count = sayer(console), 0
    parts.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*.part")):
        job = whole.jobs.get(path.name.partition("-")[0])
        if job is None or path.parent.samefile(parts):
            continue
        content = content_of(path, job)
        if content is None or unpack(path.name, content, job) is None:
            say(f"{str(path)!r} is damaged, or no part: it is not taken over.")
        else:
            write_bytes(parts / path.name, content)
            count += 1
    for folder in sorted({path.parent for path in source.rglob("*.part")}):
        if not folder.samefile(parts):
            say_of_other_code(folder, whole, console)
    return count


def say_of_other_code(parts: Path, whole: Whole, console: Console) -> None:
    """Say which parts are of the same runs, but made by other code: they are not used."""
    refused: Counter[tuple[str, str]] = Counter()
    for path in sorted(parts.glob("*.part")):
        if path.name.partition("-")[0] not in whole.jobs:
            title = read_title(path)
            if title.get("problem") in whole.problems:
                refused[title.get("policy", ""), title.get("armature", "")] += 1
    for (policy, version), count in refused.items():
        sayer(console)(
            f"{visible(policy)}: {count} parts in {str(parts)!r} were made by another version of "
            f"the code (Armature {visible(version)}; this is {package_version()}): they are "
            "refused."
        )


def missing_of(places: Sequence[Place]) -> Iterator[tuple[str, Range]]:
    """What is not there: a policy, at which point, and a range of its repetitions."""
    for place in places:
        for policy in place.policies:
            for block in place.parts.missing(policy, (0, place.experiment.repetitions)):
                yield title_of(place.experiment, policy.name), block


def title_of(experiment: Experiment, policy: str) -> str:
    """A policy, at which point of a sweep."""
    return f"{policy} at {experiment.point_text}" if experiment.point else policy


def _some(missing: Sequence[tuple[str, Range]], most: int = 5) -> str:
    shown = [
        f"{title} lacks the repetitions {first} to {past - 1}"
        for title, (first, past) in missing[:most]
    ]
    more = len(missing) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")
