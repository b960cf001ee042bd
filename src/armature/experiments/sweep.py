"""All points of a sweep: folders, an index, one table, and regret against the swept values.

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

from armature.experiments.folder import claim_folder, holds
from armature.experiments.plan import Plan
from armature.experiments.runs import PlanSummary
from armature.storage.files import write_text
from armature.views.chart import markdown_table
from armature.views.experiment_charts import plot_sweep

WRITTEN = ("index.csv", "table.csv", "table.md", "regret.png", "results.parquet")
NAME_LENGTH = 60


def claim_sweep(plans: Sequence[Plan[Any, Any]], out: Path) -> None:
    """Write into a folder which sweep it is for; refused if it is for another one."""
    about = {"sweep": list(plans[0].point), "common": plans[0].common}
    text = json.dumps(about, indent=1, sort_keys=True, default=str) + "\n"
    claim_folder(out, "experiment.json", text, WRITTEN)


def point_folder(point: dict[str, Any]) -> str:
    """The name of a point's folder: its values, and a hash that tells apart what looks the same.

    >>> point_folder({"family.sigma": 0.5, "policies.spk.epsilon": 1.0})
    'family.sigma=0.5,policies.spk.epsilon=1.0-2cd233'
    """
    text = json.dumps(point, default=str)
    readable = ",".join(f"{key}={value}" for key, value in point.items())
    readable = re.sub(r"[^A-Za-z0-9.,=_+-]+", "_", readable)[:NAME_LENGTH]
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def own_folder(plan: Plan[Any, Any], out: Path) -> Path:
    """The folder of a point that shares nothing with the others: it has its values' name.

    The only point of a sweep was once in the folder of the sweep, and several had numbers: such a
    folder of this point goes on.
    """
    named = out / point_folder(plan.point)
    before = () if named.exists() else (out, *sorted(out.glob("point-*")))
    return next((folder for folder in before if holds(folder, plan)), named)


def write_sweep(results: Sequence[PlanSummary], out: Path) -> None:
    """The index, the table and the picture of a sweep."""
    swept = [result.plan.point for result in results]
    points = [{key: cell(value) for key, value in point.items()} for point in swept]
    index = pd.DataFrame(points)
    index.insert(0, "folder", [point_folder(point) for point in swept])
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
    curves = curve_names([result.plan for result in results]) * len(points)
    plot_sweep(table.assign(curve=curves), list(points[0]), out / "regret.png")


def sweep_table(points: Sequence[dict[str, Any]], results: Sequence[PlanSummary]) -> pd.DataFrame:
    """One row for each point and policy: what was set, and what `summary` says."""
    frames = []
    for point, result in zip(points, results, strict=True):
        summary = result.table.drop(columns="us_per_round").reset_index()
        for place, (key, value) in enumerate(point.items()):
            summary.insert(place, key, [value] * len(summary))
        plan = result.plan
        frames.append(summary.assign(repetitions=plan.repetitions, horizon=plan.horizon))
    return pd.concat(frames, ignore_index=True)


def curve_names(plans: Sequence[Plan[Any, Any]]) -> list[str]:
    """The name of each policy at all points: without the options that are swept."""
    names: list[str] = []
    for place, policies in enumerate(zip(*(plan.policies for plan in plans), strict=True)):
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
