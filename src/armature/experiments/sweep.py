"""All points of a sweep: their folders, an index, one table, and regret against what was swept.

    experiment.json   what the sweep is about
    index.csv         the folder of each point, and the values that were set there
    table.csv         a row for each point and policy; table.md is the same to read
    regret.png        regret in the end against what was swept
    parts/            finished runs of all points
    <point>/          the folder of a point, as that of an experiment without a sweep

A point's folder is named by its values, and the runs are in parts that know what they are of: so
values, policies and repetitions can be added anywhere, and only what is new is run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from armature.experiments.experiment import Experiment
from armature.experiments.results import Summary
from armature.experiments.run import Place, run_experiment, sayer
from armature.experiments.store.folder import claim_folder
from armature.experiments.store.run_store import PartsFolder
from armature.storage.files import write_text
from armature.views.experiment_charts import plot_sweep
from armature.views.numbers import markdown_table
from armature.views.terminal import visible

WRITTEN = ("index.csv", "table.csv", "table.md", "regret.png", "results.parquet")
NAME_LENGTH = 60
PARTS = "parts"


def run_all(
    experiments: Sequence[Experiment],
    out: Path | None,
    workers: int | None,
    console: Console,
    quiet: bool = False,
    collected: Sequence[Summary | None] = (),
) -> list[Summary]:
    """Run all experiments of a file: one, or the points of a sweep.

    The runs of one point at a time are in memory. Points that others have `collected` are finished.
    """
    if not experiments[0].point:
        return [run_experiment(experiments[0], out, workers, console, quiet).without_runs()]
    if out is not None:
        claim_sweep(experiments, out)
    parts = None if out is None else PartsFolder(out / PARTS)
    results = []
    for n, experiment in enumerate(experiments):
        before = collected[n] if n < len(collected) else None
        if before is not None:
            results.append(before)
            continue
        say_point(experiment, console, quiet)
        folder = None if out is None else out / point_folder(experiment.point)
        found = run_experiment(experiment, folder, workers, console, quiet, parts_folder=parts)
        results.append(found.without_runs())
    if out is not None:
        write_sweep(experiments, results, out)
    return results


def claim_sweep(experiments: Sequence[Experiment], out: Path) -> None:
    """Leave word in a folder which sweep it is for; refused where it is for another."""
    about = {"sweep": list(experiments[0].point), "common": experiments[0].common}
    text = json.dumps(about, indent=1, sort_keys=True, default=str) + "\n"
    claim_folder(out, "experiment.json", text, WRITTEN)


def say_point(experiment: Experiment, console: Console, quiet: bool) -> None:
    """Say which point of a sweep comes now."""
    if experiment.point and not quiet:
        console.print(visible(experiment.point_text), markup=False, soft_wrap=True)


def claim_all(experiments: Sequence[Experiment], out: Path, console: Console) -> list[Place]:
    """The places of all experiments of a file, claimed."""
    if not experiments[0].point:
        places = [Place(experiments[0], out, out / PARTS, sayer(console))]
    else:
        claim_sweep(experiments, out)
        parts = PartsFolder(out / PARTS)
        places = [
            Place(experiment, out / point_folder(experiment.point), parts, sayer(console))
            for experiment in experiments
        ]
    for place in places:
        place.claim()
    return places


def point_folder(point: dict[str, Any]) -> str:
    """The name of a point's folder: its values, and a hash that tells apart what looks the same.

    >>> point_folder({"family.sigma": 0.5, "policies.spk.epsilon": 1.0})
    'family.sigma=0.5,policies.spk.epsilon=1.0-2cd233'
    """
    text = json.dumps(point, default=str)
    readable = ",".join(f"{key}={value}" for key, value in point.items())
    readable = re.sub(r"[^A-Za-z0-9.,=_+-]+", "_", readable)[:NAME_LENGTH]
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def write_sweep(experiments: Sequence[Experiment], results: Sequence[Summary], out: Path) -> None:
    """The index, the table and the picture of a sweep."""
    points = [{key: cell(value) for key, value in e.point.items()} for e in experiments]
    index = pd.DataFrame(points)
    index.insert(0, "folder", [point_folder(e.point) for e in experiments])
    write_text(out / "index.csv", index.to_csv(index=False, lineterminator="\n"))
    table = sweep_table(points, results)
    write_text(out / "table.csv", table.to_csv(index=False, lineterminator="\n"))
    titles = [*points[0], "policy", "regret", "q50%", "V"]
    shown = table.assign(
        regret=[
            f"{mean:.4g} ± {error:.2g}"
            for mean, error in zip(table["regret"], table["standard_error"], strict=True)
        ]
    )
    rows = [[readable(row[title]) for title in titles] for row in shown.to_dict("records")]
    write_text(out / "table.md", markdown_table(titles, rows))
    curves = curve_names(results) * len(points)
    plot_sweep(table.assign(curve=curves), list(points[0]), out / "regret.png")


def sweep_table(points: Sequence[dict[str, Any]], results: Sequence[Summary]) -> pd.DataFrame:
    """One row for each point and policy: what was set, and what `summary` says."""
    frames = []
    for point, result in zip(points, results, strict=True):
        summary = result.summary().drop(columns="us_per_round").reset_index()
        for place, (key, value) in enumerate(point.items()):
            summary.insert(place, key, [value] * len(summary))
        frames.append(summary.assign(repetitions=result.repetitions, horizon=result.horizon))
    return pd.concat(frames, ignore_index=True)


def curve_names(results: Sequence[Summary]) -> list[str]:
    """What each policy of the file is called at all points: without the options that are swept."""
    names: list[str] = []
    for place, policies in enumerate(zip(*(result.policies for result in results), strict=True)):
        found = {policy.name for policy in policies}
        name = found.pop() if len(found) == 1 else type(policies[0]).__name__
        names.append(name if name not in names else f"{name}, policy {place + 1}")
    return names


def cell(value: Any) -> Any:
    """A value of the sweep as an entry of a table: numbers and words as they are."""
    return value if isinstance(value, (str, int, float)) else json.dumps(value, default=str)


def readable(value: Any) -> str:
    """An entry of a table in Markdown."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
