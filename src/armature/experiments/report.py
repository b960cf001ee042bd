"""One HTML page with pictures, tables, bounds and settings, that opens without a network."""

from __future__ import annotations

import base64
import platform
from html import escape
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd

from armature.bounds import bound_or_none
from armature.experiments.experiment import Experiment
from armature.experiments.figure import HORIZON, PANELS, REPETITIONS
from armature.files import write_text
from armature.simulation import Results

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
       max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 3rem; font-size: 1.25rem; }
img { width: 100%; height: auto; }
nav a { margin-right: .9rem; white-space: nowrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd;
         white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
tr.best td { font-weight: 600; }
code, pre { font-family: ui-monospace, monospace; font-size: .88rem; background: #f4f4f4; }
pre { padding: .7rem 1rem; overflow-x: auto; }
.note { color: #555; font-size: .9rem; }
"""
PACKAGES = ("armature-bandits", "numpy", "numba", "scipy", "pandas", "matplotlib")


def write_report(
    path: Path,
    experiments: dict[str, Experiment],
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
    links = "".join(f'<a href="#{name}">{name}</a>' for name in results)
    sections = [
        _panel(name, experiments[name], results[name], table, path.parent) for name in results
    ]
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Armature: Figure 1</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><style>{STYLE}</style></head><body>
<h1>Regret of structure adaptive algorithms</h1>
<p>Figure 1 of Degenne, Shao and Koolen, <em>Structure Adaptive Algorithms for Stochastic
Bandits</em> (ICML 2020), run again by Armature. {settings}. All policies of a panel see the same
rewards. Bands are one standard error of the mean to either side.</p>
<nav>{links}<a href="#table">table</a><a href="#settings">settings</a></nav>
<p>{_picture(path.parent / "figure-1.svg", "mean regret on all panels")}</p>
{"".join(sections)}
<h2 id="table">Final regret</h2>
<p class="note">Mean and its standard error. The last rows are the constants of the lower bounds:
regret grows at least like V ln T.</p>
<div class="scroll">{_html_table(*overview(table))}</div>
<h2 id="settings">Settings and how to run it again</h2>
<p>{settings}. A run depends on nothing but the problem, the policy, the seed and the number of the
repetition: the same command gives the same numbers on any number of cores.</p>
<pre>{escape(again)}</pre>
{_versions()}
</body></html>
"""
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


def _picture(path: Path, description: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(description)}" src="data:image/svg+xml;base64,{data}">'


def _panel(
    name: str, experiment: Experiment, results: Results, table: pd.DataFrame, folder: Path
) -> str:
    instance = experiment.instance
    bound = bound_or_none(instance)
    means = ", ".join(f"{m:.4g}" for m in instance.means)
    about = "The lower bound could not be computed."
    if bound is not None:
        pulls = ", ".join(f"{n:.4g}" for n in bound.pulls)
        about = (
            f"Lower bound V = {bound.value:.6g}; without the structure\n{bound.unconstrained:.6g}. "
            f"Optimal pulls per ln T: {pulls}."
        )
    rows = table[table["panel"] == name].sort_values("regret")
    cells = [
        [
            row["policy"],
            f"{row['regret']:.1f} ± {row['standard_error']:.1f}",
            *(f"{row[q]:.1f}" for q in ("q5%", "q50%", "q95%")),
            f"{row['slope']:.2f}",
            "" if np.isnan(row["explored"]) else f"{row['explored']:.1%}",
        ]
        for _, row in rows.iterrows()
    ]
    titles = ["policy", "final regret", "5 %", "median", "95 %", "growth per ln t", "explored"]
    return f"""<h2 id="{name}">{name}: {escape(experiment.title)}</h2>
<p>Means {means}. {about}</p>
<p>{_picture(folder / f"{name}.svg", f"mean regret on {name}")}</p>
<div class="scroll">{_html_table(titles, cells)}</div>
<p class="note">Growth per ln t is over the last decade of rounds, to be compared with V; explored
is the share of rounds in which a policy that tells exploration apart explored.</p>
"""


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


def _versions() -> str:
    rows = [["Python", platform.python_version()]]
    rows += [[name, metadata.version(name)] for name in PACKAGES]
    return _html_table(["package", "version"], rows)


def _html_table(titles: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"
