"""Running an experiment: progress, interruption, resumption, and what is written."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from armature.arrays import Ints
from armature.descriptions import FAMILIES, POLICIES, STRUCTURES, describe
from armature.experiments.experiment import Experiment
from armature.experiments.folder import ExperimentFolder
from armature.policies import Policy
from armature.simulation.engine import (
    checked_policies,
    checkpoints_up_to,
    compile_policies,
    run_tasks,
)
from armature.simulation.parts import BLOCK, Parts, Runs
from armature.simulation.results import Origin, PolicyRuns, Results, about_runs
from armature.simulation.versions import package_version
from armature.terminal import visible


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
    parts_folder: Path | None = None,
) -> Results:
    """Run what is not there yet, and write what is missing.

    With a folder, what is finished survives an interruption, and a finished experiment can be
    extended by repetitions and policies. Its parts are in `parts_folder`, which experiments can
    share, or else in the folder `parts` of `out`.
    """
    instance, horizon, seed = experiment.instance, experiment.horizon, experiment.seed
    policies = tuple(checked_policies(experiment.policies, instance, horizon))
    if out is None:
        return run_missing(experiment, policies, None, workers, console, quiet)
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    parts = Parts(parts_folder or out / "parts", instance, horizon, seed, say)
    origin = Origin(package_version(), {policy.name: parts.key(policy) for policy in policies})
    about = about_runs(instance, policies, horizon, experiment.repetitions, seed, origin)
    folder = ExperimentFolder(out, description_of(experiment, policies), about, say)
    results = folder.results(instance, policies)
    if results is None:
        results = run_missing(experiment, policies, parts, workers, console, quiet)
        results = replace(results, origin=origin)
    folder.write(results, picture)
    return results


def run_missing(
    experiment: Experiment,
    policies: tuple[Policy, ...],
    parts: Parts | None,
    workers: int | None,
    console: Console,
    quiet: bool,
) -> Results:
    """The results, from the parts that are there and from new runs, which become parts."""
    instance, horizon, seed = experiment.instance, experiment.horizon, experiment.seed
    checkpoints = checkpoints_up_to(horizon)
    R = experiment.repetitions
    runs = {p.name: PolicyRuns.empty(R, checkpoints.size, instance.n_arms) for p in policies}
    done = {p.name: parts.load(p, runs[p.name]) if parts else set() for p in policies}
    tasks = [(p, r) for r in range(R) for p in policies if r not in done[p.name]]
    if tasks:
        missing = [p for p in policies if len(done[p.name]) < R]
        compile_with_word(missing, experiment, checkpoints, console, quiet)
    keeper = Keeper(parts, runs, tasks)
    with Bars(console, quiet) as bars:
        for policy in policies:
            bars.add(policy.name, R * horizon, len(done[policy.name]) * horizon)
        try:
            run_tasks(
                instance, tasks, seed, checkpoints, runs, workers, bars.report, keeper.finished
            )
        finally:
            keeper.keep_rest()
    return Results(instance, policies, horizon, seed, checkpoints, runs)


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
    """Writes a part when all repetitions of its block that were to be run are finished."""

    def __init__(
        self,
        parts: Parts | None,
        runs: Mapping[str, Runs],
        tasks: Sequence[tuple[Policy, int]],
    ) -> None:
        self._parts, self._runs = parts, runs
        self._left = Counter((policy.name, r // BLOCK) for policy, r in tasks)
        self._fresh: dict[tuple[str, int], tuple[Policy, list[int]]] = {}

    def finished(self, policy: Policy, repetition: int) -> None:
        """A repetition is finished."""
        block = (policy.name, repetition // BLOCK)
        self._fresh.setdefault(block, (policy, []))[1].append(repetition)
        self._left[block] -= 1
        if self._left[block] == 0:
            self._keep(block)

    def keep_rest(self) -> None:
        """Write what is finished of blocks that are not."""
        for block in list(self._fresh):
            self._keep(block)

    def _keep(self, block: tuple[str, int]) -> None:
        policy, repetitions = self._fresh.pop(block)
        if self._parts is not None:
            self._parts.save(policy, self._runs[policy.name], repetitions)


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


def as_json(experiments: list[Experiment], all_results: list[Results]) -> str:
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
