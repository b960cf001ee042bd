"""Running an identification: progress, interruption, resumption, and what is written.

identification.json      what the folder is for
parts/                   finished runs, each file named by all that its numbers depend on
identification.parquet   all runs put together: `Identification.load` reads it
identification.csv       a row for each policy and delta
identification.png       a picture
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console

from armature.experiments.engines.blocks import cut
from armature.experiments.engines.scheduler import WaitingBlocks
from armature.experiments.experiment import Experiment, parse_experiments
from armature.experiments.identification import Sampling, compile_rules, run_tasks
from armature.experiments.identification_results import Identification, SamplingRuns, settings
from armature.experiments.identification_work import Identifying
from armature.experiments.run import Bars, Keeper, sayer
from armature.experiments.runs import Origin, room_for
from armature.experiments.simulation import checked_policies
from armature.experiments.spec import read_spec
from armature.experiments.store.folder import claim_folder
from armature.experiments.store.keys import package_version
from armature.experiments.store.run_store import Parts
from armature.policies import Policy
from armature.rounds.stopping import Threshold, checked_threshold
from armature.storage.files import passing_folder, write_text
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, Allowed, build, describe

NOTE = "identification.json"
RESULTS, TABLE, PICTURE = (f"identification.{suffix}" for suffix in ("parquet", "csv", "png"))
RUNS_IN_PART = 16  # nobody knows how long a run will be
RULES = ("TopTwo", "GameSampling", "TrackAndStop", "UniformSampling")  # where a file names none


class Asked(NamedTuple):
    """What is asked of an identification besides what its file says."""

    deltas: tuple[float, ...]
    threshold: Threshold
    max_rounds: int


class OnRay(NamedTuple):
    """Which cluster plays: that at an address, or one on this machine."""

    address: str | None = None


def load_identifications(
    spec: str | Path, allow: Allowed = (), policies: Sequence[str] = ()
) -> list[Experiment]:
    """The experiments that a file describes, with other policies than its own if some are given.

    Where a file names none, with the sampling rules.
    """
    experiments = parse_experiments(read_spec(spec), allow, RULES)
    if not policies:
        return experiments
    chosen = tuple(build(POLICIES, "policy", name, allow) for name in policies)
    return [replace(experiment, policies=chosen) for experiment in experiments]


def run_identification(
    experiment: Experiment,
    asked: Asked,
    out: Path | None,
    workers: int | None,
    console: Console,
    quiet: bool = False,
    on_ray: OnRay | None = None,
) -> Identification:
    """Run what is not there yet, and write what was found.

    With a folder, what is finished survives an interruption, and a finished identification can be
    extended by repetitions and policies. Threads run it, or a cluster.
    """
    if on_ray is not None and out is None:
        with passing_folder() as folder:
            return run_identification(experiment, asked, folder, workers, console, quiet, on_ray)
    policies = policies_of(experiment, asked)
    if out is None:
        return run_missing(experiment, policies, asked, None, workers, console, quiet)
    parts = claim(experiment, asked, out, console)
    if on_ray is not None:
        play_on_ray(experiment, policies, asked, parts, out, on_ray, workers, console, quiet)
    found = run_missing(experiment, policies, asked, parts, workers, console, quiet)
    return write_found(found, policies, parts, out)


def policies_of(experiment: Experiment, asked: Asked) -> tuple[Policy, ...]:
    """The policies of an experiment; refused where they, or the threshold, do not fit."""
    checked_threshold(asked.threshold, experiment.instance.family)
    return tuple(checked_policies(experiment.policies, experiment.instance, asked.max_rounds))


def folder_of(out: Path, n: int, count: int) -> Path:
    """The folder of the n-th of so many points, from 0."""
    return out if count == 1 else out / f"point-{n + 1}"


def claim(experiment: Experiment, asked: Asked, out: Path, console: Console) -> Parts:
    """The parts in a folder, which is this identification's from now on; refused if another's."""
    text = json.dumps(description_of(experiment, asked), indent=1) + "\n"
    claim_folder(out, NOTE, text, (RESULTS, TABLE, PICTURE))
    more = settings(asked.deltas, asked.threshold)
    instance, seed = experiment.instance, experiment.seed
    like = SamplingRuns.empty(0, len(asked.deltas), instance.n_arms)
    return Parts(out / "parts", instance, asked.max_rounds, seed, sayer(console), more, like)


def write_found(
    found: Identification, policies: tuple[Policy, ...], parts: Parts, out: Path
) -> Identification:
    """Write what was found, all of it being in parts."""
    keys = {policy.name: parts.key(policy) for policy in policies}
    found = replace(found, origin=Origin(package_version(), keys))
    found.save(out / RESULTS)
    summary = found.summary().drop(columns="us_per_round")
    write_text(out / TABLE, summary.to_csv(lineterminator="\n"))
    found.plot(out / PICTURE)
    return found


def play_on_ray(
    experiment: Experiment,
    policies: tuple[Policy, ...],
    asked: Asked,
    parts: Parts,
    out: Path,
    on_ray: OnRay,
    workers: int | None,
    console: Console,
    quiet: bool,
) -> None:
    """Play what is missing on a cluster; parts are what comes of it."""
    from armature.experiments.engines.cluster import Dashboard, play_blocks

    work = Identifying(asked.deltas, asked.threshold)
    wanted = (0, experiment.repetitions)
    waiting = WaitingBlocks(
        (replace(parts.job(p), work=work), parts.missing(p, wanted)) for p in policies
    )
    if waiting:
        board = Dashboard(console, quiet, "runs", waiting.repetitions)
        play_blocks(waiting, out, on_ray.address, workers, board)


def run_missing(
    experiment: Experiment,
    policies: tuple[Policy, ...],
    asked: Asked,
    parts: Parts | None,
    workers: int | None,
    console: Console,
    quiet: bool,
    wanted: Mapping[str, Collection[int]] | None = None,
) -> Identification:
    """The results, from the parts that are there and from new runs, which become parts.

    With `wanted`, only these repetitions of each policy are there, or run.
    """
    instance, R, D = experiment.instance, experiment.repetitions, len(asked.deltas)
    allowance = checked_threshold(asked.threshold, instance.family)
    runs = room_for(policies, R, lambda n: SamplingRuns.empty(n, D, instance.n_arms))
    wanted = wanted or {p.name: range(R) for p in policies}
    missing = {}
    for p in policies:
        done = parts.load(p, runs[p.name]) if parts else set()
        missing[p.name] = set(wanted[p.name]) - done
    blocks = [
        (n, policy, block)
        for policy in policies
        for n, block in enumerate(cut(missing[policy.name], RUNS_IN_PART))
    ]
    blocks.sort(key=lambda entry: entry[0])  # so that the policies advance together
    if blocks:
        start = time.perf_counter()
        with console.status("compiling (a first run takes up to a minute or two)"):
            compile_rules([p for p in policies if missing[p.name]], instance, asked.deltas,
                          allowance)  # fmt: skip
        took = time.perf_counter() - start
        if took > 1.0 and not quiet:
            console.print(f"compiled in {took:.1f} s (the next run starts at once)")
    keeper = Keeper(parts, runs, [(policy, block) for _, policy, block in blocks])
    tasks = [(policy, r) for _, policy, block in blocks for r in range(*block)]
    sampling = Sampling(instance, asked.deltas, allowance, asked.max_rounds, experiment.seed)
    with Bars(console, quiet) as bars:  # in runs: nobody knows how many rounds they take
        for policy in policies:
            total = len(wanted[policy.name])
            bars.add(policy.name, total, total - len(missing[policy.name]), "runs")

        def finished(policy: Policy, repetition: int) -> None:
            bars.report(policy.name, repetition, 1)
            keeper.finished(policy, repetition)

        try:
            run_tasks(sampling, tasks, runs, workers, None, finished)
        finally:
            keeper.keep_rest()
    return Identification(
        instance, policies, asked.deltas, asked.threshold, asked.max_rounds, experiment.seed, runs
    )


def description_of(experiment: Experiment, asked: Asked) -> dict[str, Any]:
    """What can't be extended: the problem, and what is asked, as plain data."""
    instance = experiment.instance
    return {
        "structure": describe(STRUCTURES, instance.structure),
        "family": describe(FAMILIES, instance.family),
        "means": instance.means.tolist(),
        **({} if instance.strict else {"strict": False}),
        "seed": experiment.seed,
        "max_rounds": asked.max_rounds,
        **settings(asked.deltas, asked.threshold),
    }


def as_json(experiments: list[Experiment], found: list[Identification]) -> str:
    """The summaries of all points of a sweep."""
    points = []
    for experiment, results in zip(experiments, found, strict=True):
        rows = [
            {k: _plain(v) for k, v in row.items()}
            for row in results.summary().reset_index().to_dict("records")
        ]
        points.append({"point": experiment.point, "rows": rows})
    return json.dumps({"title": experiments[0].title, "results": points}, indent=2)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return None if pd.isna(value) else float(value)
