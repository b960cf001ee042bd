"""Figure 1 of the paper, whole or in part: its panels, runs, pictures, tables and a report.

A panel is a file with a problem and the policies that are compared on it.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import multiprocessing
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from armature.bounds import bound_or_none
from armature.errors import unknown
from armature.experiments.experiment import Experiment, parse_experiments
from armature.experiments.folder import claim_folder
from armature.experiments.keys import versions_of
from armature.experiments.plan import checked_engine
from armature.experiments.results import Results
from armature.experiments.run import PlacedPlan, Runner
from armature.experiments.simulation import SimulationPlan
from armature.experiments.spec import shipped_specs
from armature.kernels.addresses import fill, numbers_in
from armature.kernels.gears import straight_to_machine_code
from armature.policies import (
    IMED,
    MINTS,
    Challenger,
    Policy,
    ProjectedThompson,
    SPk,
    SPLambda,
    ThompsonSampling,
)
from armature.storage.files import write_text
from armature.structures.oracles.model import make_model
from armature.views.chart import markdown_table
from armature.views.experiment_charts import Panel, plot_panels, plot_regret
from armature.views.pages import environment, stylesheet

PANELS = (
    "unconstrained",
    "categorised-1",
    "categorised-2",
    "linear",
    "unimodal-1",
    "unimodal-2",
    "sparse-1",
    "sparse-2",
)
EXTENSION: tuple[Policy, ...] = (
    ThompsonSampling(),
    IMED(),
    ProjectedThompson(),
    MINTS(),
    Challenger(),
)
# What the paper's own algorithms are called in its figure, and the library's variants beside them.
DRAWN_AS = {
    SPk.published().name: "SPk",
    SPLambda.published().name: "SPλ",
    SPk().name: "SPk (glr)",
    SPLambda().name: "SPλ (glr)",
}
HORIZON, REPETITIONS, SEED = 10_000, 200, 0
# The paper: "an interval around the mean of width twice its empirical standard deviation". We read
# "its" as the mean's: one standard error to either side.
BAND = 1.0


def policies_of(panel: str, extended: bool = False) -> tuple[Policy, ...]:
    """The paper's policies on a panel, and the library's variants of its own two.

    Extended, with those that the paper does not have.
    """
    (experiment,) = parse_experiments(shipped_specs("panels")[panel])
    return (*experiment.policies, *(EXTENSION if extended else ()))


def panel_experiments(
    panels: Sequence[str] = PANELS,
    horizon: int = HORIZON,
    repetitions: int = REPETITIONS,
    extended: bool = False,
) -> dict[str, Experiment]:
    """The experiment of each panel, in the paper's order.

    Paper: Figure 1.
    """
    for name in panels:
        if name not in PANELS:
            raise unknown("the panel", name, PANELS)
    specs = shipped_specs("panels")
    return {
        name: dataclasses.replace(
            parse_experiments(specs[name])[0],
            policies=policies_of(name, extended),
            horizon=horizon,
            repetitions=repetitions,
            seed=SEED,
        )
        for name in PANELS
        if name in panels
    }


def default_folder(panels: Sequence[str], horizon: int, repetitions: int, extended: bool) -> Path:
    """`out` for the paper's figure, and a name that tells what is different for anything else.

    >>> str(default_folder(["unimodal-1"], 100_000, 200, True))
    'out-unimodal-1-T100000-extended'
    """
    parts = ["out"]
    if tuple(panels) != PANELS:
        parts += panels
    if horizon != HORIZON:
        parts.append(f"T{horizon}")
    if repetitions != REPETITIONS:
        parts.append(f"R{repetitions}")
    if extended:
        parts.append("extended")
    return Path("-".join(parts))


def reproduce(
    panels: Sequence[str],
    horizon: int,
    repetitions: int,
    extended: bool,
    out: Path,
    runner: Runner,
) -> dict[str, Results]:
    """Run the panels, or go on where an earlier run was interrupted, and write everything.

    Paper: Figure 1.
    """
    experiments = panel_experiments(panels, horizon, repetitions, extended)
    plans = {name: SimulationPlan.of(experiment) for name, experiment in experiments.items()}
    again = command(tuple(plans), horizon, repetitions, extended)
    claim_folder(out, "command.txt", again + "\n", ("figure-1.png", "report.html", "table.csv"))
    places = {name: PlacedPlan(plan, out / name, runner) for name, plan in plans.items()}
    if checked_engine(runner.engine) == "ray":
        from armature.experiments.cluster import play_places

        play_places([p for p in places.values() if p.folder.results() is None], out, runner)
    console, start = runner.console, time.perf_counter()
    with console.status("compiling (a first run takes about a minute; the next starts at once)"):
        compile_panels(plans.values())
    compiled = time.perf_counter()
    console.print(f"compiled or loaded in {compiled - start:.0f} s", highlight=False)
    results: dict[str, Results] = {}
    for n, (name, place) in enumerate(places.items(), start=1):
        console.print(f"{name} ({n} of {len(places)}): {place.plan.title}", style="bold")
        results[name] = place.run(runner, picture=False)
    simulated = time.perf_counter()
    with console.status("drawing"):
        write_all(plans, results, out, again)
    console.print(
        f"simulated in {simulated - compiled:.0f} s, "
        f"drawn in {time.perf_counter() - simulated:.0f} s",
        highlight=False,
    )
    return results


def compile_panels(plans: Iterable[SimulationPlan]) -> None:
    """Compile oracles in one process and policies in another; then load what the first has kept.

    A policy is compiled once for all structures, which it knows by their oracles' numbers: so
    the two halves have little in common and take about as long.
    """
    everything = list(plans)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        oracles = pool.submit(compile_oracles, everything[1:])
        everything[0].compile(everything[0].policies)
        oracles.result()
    for plan in everything:
        plan.compile(plan.policies)


@straight_to_machine_code()
def compile_oracles(plans: Sequence[SimulationPlan]) -> None:
    """Compile what the plans' policies ask of their structures."""
    for plan in plans:
        oracles = {name for policy in plan.policies for name in getattr(policy, "oracles", ())}
        model = make_model(plan.instance.structure, plan.instance.family, sorted(oracles))
        fill(numbers_in((model,)))


def write_all(
    plans: Mapping[str, SimulationPlan],
    results: dict[str, Results],
    out: Path,
    again: str,
) -> None:
    """The figure, a picture of each panel, the table as CSV and Markdown, the report."""
    panels = []
    for name, result in results.items():
        regret = {DRAWN_AS.get(policy, policy): result.regret(policy) for policy in result.names}
        title = f"{name}: {plans[name].title}"
        panels.append(Panel(name, result.instance, result.checkpoints, regret))
        paths = [out / f"{name}.png", out / f"{name}.svg"]
        plot_regret(result.instance, result.checkpoints, regret, paths, title, BAND)
    plot_panels(panels, [out / f"figure-1.{suffix}" for suffix in ("png", "svg", "pdf")], BAND)
    table = make_table(results)
    write_text(out / "table.csv", table.to_csv(index=False, lineterminator="\n"))
    write_text(out / "table.md", markdown_table(*overview(table)))
    write_report(out / "report.html", plans, results, table, again)


def make_table(results: dict[str, Results]) -> pd.DataFrame:
    """One row for each panel and policy: as it is drawn, and as it is written with its options."""
    frames = []
    for name, result in results.items():
        summary = result.summary().drop(columns="us_per_round").reset_index()
        summary.insert(0, "panel", name)
        summary.insert(2, "options", summary["policy"])
        summary["policy"] = [DRAWN_AS.get(policy, policy) for policy in summary["policy"]]
        bound = bound_or_none(result.instance)
        summary["unconstrained"] = math.nan if bound is None else bound.unconstrained
        frames.append(summary)
    return pd.concat(frames, ignore_index=True)


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
    """The command that makes the same report."""
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
    """The part of the report on one panel."""
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
