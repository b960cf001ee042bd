"""Running an experiment: progress, interruption, resumption, and what is written."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from armature.descriptions import FAMILIES, POLICIES, STRUCTURES, describe
from armature.errors import ArmatureError
from armature.experiments.experiment import Experiment
from armature.policies import Policy
from armature.simulation.engine import (
    checked_policies,
    checkpoints_up_to,
    compile_policies,
    run_tasks,
)
from armature.simulation.parts import BLOCK, Parts
from armature.simulation.results import PolicyRuns, Results
from armature.terminal import visible

WRITTEN = ("results.parquet", "summary.csv", "regret.png", "parts")


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

    def add(self, policy: str, total: int, done: int) -> None:
        """A bar that starts where an earlier run has ended."""
        task = self._progress.add_task(visible(policy), total=total, completed=done, speed="")
        self._tasks[policy] = task

    def report(self, policy: str, repetition: int, rounds: int) -> None:
        """Some more rounds were played."""
        now = time.perf_counter()
        start = self._started.setdefault(policy, now)
        task = self._tasks[policy]
        self._progress.advance(task, rounds)
        played = self._progress.tasks[task].completed
        if now > start:
            self._progress.update(task, speed=f"{played / (now - start):,.0f}/s")


def run_experiment(
    experiment: Experiment,
    out: Path | None,
    workers: int | None,
    console: Console,
    quiet: bool = False,
    picture: bool = True,
) -> Results:
    """Run what is not there yet; with a folder, finished repetitions survive an interruption."""
    instance, horizon, seed = experiment.instance, experiment.horizon, experiment.seed
    policies = checked_policies(experiment.policies, instance, horizon)
    checkpoints = checkpoints_up_to(horizon)
    R = experiment.repetitions
    runs = {p.name: PolicyRuns.empty(R, checkpoints.size, instance.n_arms) for p in policies}
    if out is not None:
        claim_folder(out, "experiment.json", description_of(experiment, policies), WRITTEN)
        if (out / "results.parquet").is_file():
            return Results.load(out / "results.parquet", allow=experiment.allow)
    parts = None if out is None else Parts(out / "parts", instance, horizon, seed)
    done = {p.name: parts.load(p, runs[p.name]) if parts else set() for p in policies}
    tasks = [(p, r) for r in range(R) for p in policies if r not in done[p.name]]
    if tasks:
        start = time.perf_counter()
        with console.status("compiling (a first run takes up to a minute or two)"):
            compile_policies(policies, instance, seed, checkpoints)
        took = time.perf_counter() - start
        if took > 1.0 and not quiet:
            console.print(f"compiled in {took:.1f} s (the next run starts at once)")
    fresh: dict[str, list[int]] = {p.name: [] for p in policies}

    def finished(policy: Policy, repetition: int) -> None:
        fresh[policy.name].append(repetition)
        if parts and len(fresh[policy.name]) >= BLOCK:
            flush(policy)

    def flush(policy: Policy) -> None:
        if parts and fresh[policy.name]:
            parts.save(policy, runs[policy.name], sorted(fresh[policy.name]))
            fresh[policy.name] = []

    with Bars(console, quiet) as bars:
        for policy in policies:
            bars.add(policy.name, R * horizon, len(done[policy.name]) * horizon)
        try:
            run_tasks(instance, tasks, seed, checkpoints, runs, workers, bars.report, finished)
        finally:
            for policy in policies:
                flush(policy)
    results = Results(instance, tuple(policies), horizon, seed, checkpoints, runs)
    if out is not None and parts is not None:
        write_results(results, out, picture)
        parts.remove()
    return results


def description_of(experiment: Experiment, policies: Sequence[Policy]) -> str:
    """An experiment as JSON: what its results depend on."""
    instance = experiment.instance
    about = {
        "structure": describe(STRUCTURES, instance.structure),
        "family": describe(FAMILIES, instance.family),
        "means": instance.means.tolist(),
        "policies": [describe(POLICIES, policy) for policy in policies],
        "horizon": experiment.horizon,
        "repetitions": experiment.repetitions,
        "seed": experiment.seed,
    }
    return json.dumps(about, indent=1)


def claim_folder(out: Path, note: str, text: str, written: Sequence[str]) -> None:
    """Leave word in a folder, in a file called `note`, what it is for.

    A folder that is for something else is refused, and so is one without that word that has files
    which would be `written`.
    """
    path = out / note
    found = path.read_text() if path.is_file() else None
    if found is None and any((out / name).exists() for name in written):
        found = "other results"
    if found is not None and found != text:
        raise ArmatureError(
            f"{str(out)!r} holds another experiment: choose another folder for --out, or delete it."
        )
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_results(results: Results, out: Path, picture: bool) -> None:
    """results.parquet, summary.csv and, with a picture, regret.png in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    results.save(out / "results.parquet")
    results.summary().drop(columns="us_per_round").to_csv(out / "summary.csv")
    if picture:
        results.plot(out / "regret.png")


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
