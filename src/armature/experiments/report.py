"""One HTML page with pictures, tables, bounds and settings, that opens without a network."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from armature.bounds import bound_or_none
from armature.experiments.keys import versions_of
from armature.experiments.paper import HORIZON, PANELS, REPETITIONS
from armature.experiments.results import Results
from armature.experiments.simulation import SimulationPlan
from armature.storage.files import write_text
from armature.views.pages import environment, stylesheet


def write_report(
    path: Path,
    plans: Mapping[str, SimulationPlan],
    results: dict[str, Results],
    table: pd.DataFrame,
    again: str,
) -> None:
    """Write the page, with the pictures of its folder and the command that made it."""
    first = next(iter(results.values()))
    settings = (
        f"Gaussian rewards with standard deviation 1, T = {first.horizon:,}, "
        f"{first.repetitions} repetitions, seed {first.seed}"
    )
    titles, rows = overview(table)
    page = environment("armature.experiments").get_template("report.html").render(
        css=Markup(stylesheet()),
        settings=settings,
        figure=_picture(path.parent / "figure-1.svg"),
        panels=[_panel(name, plans[name], table, path.parent) for name in results],
        titles=titles,
        rows=rows,
        again=again,
        versions=versions_of("numpy", "numba", "scipy", "pandas", "matplotlib"),
    )  # fmt: skip
    write_text(path, page)


def command(panels: tuple[str, ...], horizon: int, repetitions: int, extended: bool) -> str:
    """What to type for the same report."""
    words = ["armature reproduce"]
    if panels != PANELS:
        words += panels
    if horizon != HORIZON:
        words.append(f"--horizon {horizon}")
    if repetitions != REPETITIONS:
        words.append(f"--repetitions {repetitions}")
    if extended:
        words.append("--extended")
    return " ".join(words)


def _picture(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f"data:image/svg+xml;base64,{data}"


def _panel(name: str, plan: SimulationPlan, table: pd.DataFrame, folder: Path) -> dict[str, object]:
    """What the report says of one panel."""
    instance = plan.instance
    bound = bound_or_none(instance)
    about = "The lower bound could not be computed."
    if bound is not None:
        pulls = ", ".join(f"{n:.4g}" for n in bound.pulls)
        about = (
            f"Lower bound V = {bound.value:.6g}; without the structure {bound.unconstrained:.6g}. "
            f"Optimal pulls per ln T: {pulls}."
        )
    rows = table[table["panel"] == name].sort_values("regret")
    return {
        "name": name,
        "title": plan.title,
        "means": ", ".join(f"{m:.4g}" for m in instance.means),
        "about": about,
        "picture": _picture(folder / f"{name}.svg"),
        "titles": [
            "policy",
            "final regret",
            "5 %",
            "median",
            "95 %",
            "growth per ln t",
            "explored",
        ],
        "rows": [_cells(row) for _, row in rows.iterrows()],
    }


def _cells(row: pd.Series) -> list[str]:
    return [
        row["policy"],
        f"{row['regret']:.1f} ± {row['standard_error']:.1f}",
        *(f"{row[q]:.1f}" for q in ("q5%", "q50%", "q95%")),
        f"{row['slope']:.2f}",
        "" if np.isnan(row["explored"]) else f"{row['explored']:.1%}",
    ]


def overview(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Final regret, a row for each policy and a column for each panel: titles and rows."""
    panels = list(dict.fromkeys(table["panel"]))
    rows = []
    for policy, part in table.groupby("policy", sort=False):
        found = part.set_index("panel")
        cells = [
            f"{found.loc[p, 'regret']:.1f} ± {found.loc[p, 'standard_error']:.1f}"
            if p in found.index
            else ""
            for p in panels
        ]
        rows.append([str(policy), *cells])
    bounds = table.drop_duplicates("panel").set_index("panel")
    for label, column in (("V", "V"), ("V without the structure", "unconstrained")):
        rows.append([label, *(f"{bounds.loc[p, column]:.4g}" for p in panels)])
    return ["policy", *panels], rows
