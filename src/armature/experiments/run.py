"""Running an experiment: progress, interruption, resumption, and what is written."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from armature.experiments.engines.blocks import LARGEST, Range, block_size, cut, seconds_for
from armature.experiments.engines.measure import seconds_of_repetition
from armature.experiments.experiment import Experiment
from armature.experiments.results import PolicyRuns, Results, Summary
from armature.experiments.runs import Origin, about_runs, room_for
from armature.experiments.simulation import (
    checked_policies,
    compile_policies,
    run_tasks,
)
from armature.experiments.store.folder import ExperimentFolder
from armature.experiments.store.keys import package_version
from armature.experiments.store.part_arrays import Runs, bytes_of_one
from armature.experiments.store.run_store import Parts, PartsFolder
from armature.kernels.arrays import Ints
from armature.policies import Policy
from armature.rounds.record import checkpoints_up_to
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, describe
from armature.views.terminal import visible


class Bars:
    """A bar for each policy, with rounds per second and the time that is left."""

    def __init__(self, console: Console, quiet: bool) -> None:
        self._progress = Progress(
            TextColumn("{task.description:<24}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>4.0f}%"),
            TextColumn("{task.fields[speed]:>14}"),
            TimeRemainingColumn(),
            console=console,
            disable=quiet,
        )
        self._tasks: dict[str, TaskID] = {}
        self._started: dict[str, float] = {}
        self._units: dict[str, str] = {}

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def add(self, policy: str, total: int, done: int, unit: str = "") -> None:
        """A bar that starts where an earlier run has ended; it counts rounds, or another unit."""
        task = self._progress.add_task(visible(policy), total=total, completed=done, speed="")
        self._units[policy] = f" {unit}" if unit else ""
        self._tasks[policy] = task

    def report(self, policy: str, repetition: int, rounds: int) -> None:
        """Some more rounds were played."""
        now = time.perf_counter()
        start = self._started.setdefault(policy, now)
        task = self._tasks[policy]
        self._progress.advance(task, rounds)
        played = self._progress.tasks[task].completed
        if now > start:
            self._progress.update(
                task, speed=f"{played / (now - start):,.0f}{self._units[policy]}/s"
            )


def run_experiment(
    experiment: Experiment,
    out: Path | None,
    workers: int | None,
    console: Console,
    quiet: bool = False,
    picture: bool = True,
    parts_folder: Path | PartsFolder | None = None,
) -> Results:
    """Run what is not there yet, and write what is missing.

    With a folder, what is finished survives an interruption, and a finished experiment can be
    extended by repetitions and policies. Its parts are in `parts_folder`, which experiments can
    share, or else in the folder `parts` of `out`.
    """
    if out is None:
        policies = tuple(
            checked_policies(experiment.policies, experiment.instance, experiment.horizon)
        )
        return run_missing(experiment, policies, None, workers, console, quiet)
    place = Place(experiment, out, parts_folder or out / "parts", sayer(console))
    folder = place.claim()
    results = folder.results(experiment.instance, place.policies)
    if results is None:
        results = run_missing(experiment, place.policies, place.parts, workers, console, quiet)
        results = replace(results, origin=place.origin)
    folder.write(results, picture)
    return results


def sayer(console: Console) -> Callable[[str], None]:
    """Says a sentence in a terminal."""
    return partial(console.print, markup=False, highlight=False, soft_wrap=True)


class Place:
    """An experiment and where it is kept: its folder and its parts."""

    def __init__(
        self,
        experiment: Experiment,
        out: Path,
        parts: Path | PartsFolder,
        say: Callable[[str], None],
    ) -> None:
        instance, horizon, seed = experiment.instance, experiment.horizon, experiment.seed
        self.experiment, self._out, self._say = experiment, out, say
        self.policies = tuple(checked_policies(experiment.policies, instance, horizon))
        self.parts = Parts(parts, instance, horizon, seed, say)
        keys = {policy.name: self.parts.key(policy) for policy in self.policies}
        self.origin = Origin(package_version(), keys)

    def claim(self) -> ExperimentFolder:
        """The folder, which is this experiment's from now on; refused if it is another's."""
        experiment = self.experiment
        about = about_runs(
            experiment.instance,
            self.policies,
            experiment.horizon,
            experiment.repetitions,
            experiment.seed,
            self.origin,
        )
        description = description_of(experiment, self.policies)
        return ExperimentFolder(self._out, description, about, self._say)


def run_missing(
    experiment: Experiment,
    policies: tuple[Policy, ...],
    parts: Parts | None,
    workers: int | None,
    console: Console,
    quiet: bool,
) -> Results:
    """The results, from the parts that are there and from new runs, which become parts."""
    instance, R = experiment.instance, experiment.repetitions
    checkpoints = checkpoints_up_to(experiment.horizon)
    runs = room_for(policies, R, lambda n: PolicyRuns.empty(n, checkpoints.size, instance.n_arms))
    done = {p.name: parts.load(p, runs[p.name]) if parts else set() for p in policies}
    wanted = {p.name: range(R) for p in policies}
    play_missing(experiment, policies, wanted, done, parts, runs, workers, console, quiet)
    return Results(instance, policies, experiment.horizon, experiment.seed, checkpoints, runs)


def play_missing(
    experiment: Experiment,
    policies: Sequence[Policy],
    wanted: Mapping[str, Collection[int]],
    done: Mapping[str, Collection[int]],
    parts: Parts | None,
    runs: dict[str, PolicyRuns],
    workers: int | None,
    console: Console,
    quiet: bool,
) -> None:
    """Play, on threads, the repetitions of each policy that are wanted and not done yet."""
    horizon, seed = experiment.horizon, experiment.seed
    checkpoints = checkpoints_up_to(horizon)
    missing = [(p, [r for r in wanted[p.name] if r not in done[p.name]]) for p in policies]
    unfinished = [policy for policy, repetitions in missing if repetitions]
    if unfinished:
        compile_with_word(unfinished, experiment, checkpoints, console, quiet)
    blocks = blocks_of(missing, experiment, checkpoints)
    keeper = Keeper(parts, runs, blocks)
    with Bars(console, quiet) as bars:
        for policy, repetitions in missing:
            total = len(wanted[policy.name])
            bars.add(policy.name, total * horizon, (total - len(repetitions)) * horizon)
        tasks = [(policy, r) for policy, (first, past) in blocks for r in range(first, past)]
        try:
            run_tasks(
                experiment.instance,
                tasks,
                seed,
                checkpoints,
                runs,
                workers,
                bars.report,
                keeper.finished,
            )
        finally:
            keeper.keep_rest()


def blocks_of(
    missing: Sequence[tuple[Policy, Sequence[int]]], experiment: Experiment, checkpoints: Ints
) -> list[tuple[Policy, Range]]:
    """The repetitions that are missing, in blocks whose size follows from a measurement.

    A block of each policy, then the next of each, so that the policies advance together. Where all
    is done soon, blocks are smaller, so that an interruption loses little.
    """
    instance = experiment.instance
    n_bytes = bytes_of_one(PolicyRuns.empty(0, checkpoints.size, instance.n_arms))
    measured = [
        (
            policy,
            repetitions,
            seconds_of_repetition(policy, instance, experiment.seed, checkpoints),
        )
        for policy, repetitions in missing
        if repetitions
    ]
    most = seconds_for(sum(len(runs) * seconds for _, runs, seconds in measured), 1)
    blocks = []
    for policy, repetitions, seconds in measured:
        size = block_size(seconds, n_bytes, most)
        blocks += [(n, policy, block) for n, block in enumerate(cut(repetitions, size))]
    blocks.sort(key=lambda entry: entry[0])
    return [(policy, block) for _, policy, block in blocks]


def compile_with_word(
    policies: Sequence[Policy],
    experiment: Experiment,
    checkpoints: Ints,
    console: Console,
    quiet: bool,
) -> None:
    """Compile policies, and say so where that takes a while."""
    start = time.perf_counter()
    with console.status("compiling (a first run takes up to a minute or two)"):
        compile_policies(policies, experiment.instance, experiment.seed, checkpoints)
    took = time.perf_counter() - start
    if took > 1.0 and not quiet:
        console.print(f"compiled in {took:.1f} s (the next run starts at once)")


class Keeper:
    """Writes the part of a block when all of its repetitions are finished."""

    def __init__(
        self,
        parts: Parts | None,
        runs: Mapping[str, Runs],
        blocks: Sequence[tuple[Policy, Range]],
    ) -> None:
        self._parts, self._runs = parts, runs
        self._block = {(p.name, r): block for p, block in blocks for r in range(*block)}
        self._fresh: dict[tuple[str, Range], tuple[Policy, list[int]]] = {}

    def finished(self, policy: Policy, repetition: int) -> None:
        """A repetition is finished."""
        first, past = self._block[policy.name, repetition]
        block = (policy.name, (first, past))
        _, finished = self._fresh.setdefault(block, (policy, []))
        finished.append(repetition)
        if len(finished) == past - first:
            self._keep(block)

    def keep_rest(self) -> None:
        """Write what is finished of blocks that are not."""
        for block in list(self._fresh):
            self._keep(block)

    def _keep(self, block: tuple[str, Range]) -> None:
        policy, repetitions = self._fresh.pop(block)
        if self._parts is not None:
            for first, past in cut(repetitions, LARGEST):
                self._parts.save(policy, self._runs[policy.name], first, past)


def description_of(experiment: Experiment, policies: Sequence[Policy]) -> dict[str, Any]:
    """An experiment as plain data: what its results depend on."""
    instance = experiment.instance
    return {
        "structure": describe(STRUCTURES, instance.structure),
        "family": describe(FAMILIES, instance.family),
        "means": instance.means.tolist(),
        **({} if instance.strict else {"strict": False}),
        "policies": [describe(POLICIES, policy) for policy in policies],
        "horizon": experiment.horizon,
        "repetitions": experiment.repetitions,
        "seed": experiment.seed,
    }


def as_json(experiments: list[Experiment], all_results: list[Summary]) -> str:
    """The summaries of all points of a sweep."""
    points = []
    for experiment, results in zip(experiments, all_results, strict=True):
        summary = results.summary()
        rows = {
            str(name): {k: None if pd.isna(v) else float(v) for k, v in row.items()}
            for name, row in summary.iterrows()
        }
        points.append({"point": experiment.point, "policies": rows})
    return json.dumps({"title": experiments[0].title, "results": points}, indent=2)
