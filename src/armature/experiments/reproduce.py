"""Figure 1 of the paper, whole or in part: runs, pictures, tables and a report."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas as pd
from rich.console import Console

from armature.bounds import bound_or_none
from armature.experiments import Results
from armature.experiments.experiment import Experiment
from armature.experiments.paper import DRAWN_AS, HORIZON, PANELS, REPETITIONS, panel_experiments
from armature.experiments.report import command, overview, write_report
from armature.experiments.run import run_experiment
from armature.experiments.simulation import (
    checked_engine,
    checked_policies,
    compile_policies,
)
from armature.experiments.store.folder import claim_folder
from armature.rounds.record import checkpoints_up_to
from armature.storage.files import write_text
from armature.structures.oracles.model import make_model
from armature.views.experiment_charts import Panel, plot_panels, plot_regret
from armature.views.numbers import markdown_table

# The paper: "an interval around the mean of width twice its empirical standard deviation". We read
# "its" as the mean's: one standard error to either side.
BAND = 1.0


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
    workers: int | None,
    out: Path,
    console: Console,
    engine: str = "threads",
    address: str | None = None,
) -> dict[str, Results]:
    """Run the panels, or go on where an earlier run was interrupted, and write everything.

    Paper: Figure 1.
    """
    experiments = panel_experiments(panels, horizon, repetitions, extended)
    again = command(tuple(experiments), horizon, repetitions, extended)
    claim_folder(out, "command.txt", again + "\n", ("figure-1.png", "report.html", "table.csv"))
    if checked_engine(engine) == "ray":
        from armature.experiments.engines.cluster import places_of, play_on_ray

        places = places_of([(e, out / name) for name, e in experiments.items()], console)
        play_on_ray(places, out, address, workers, console, quiet=False)
    start = time.perf_counter()
    with console.status("compiling (a first run takes about a minute; the next starts at once)"):
        compile_panels(experiments.values())
    compiled = time.perf_counter()
    console.print(f"compiled or loaded in {compiled - start:.0f} s", highlight=False)
    results = {}
    for n, (name, experiment) in enumerate(experiments.items(), start=1):
        console.print(f"{name} ({n} of {len(experiments)}): {experiment.title}", style="bold")
        results[name] = run_experiment(experiment, out / name, workers, console, picture=False)
    simulated = time.perf_counter()
    with console.status("drawing"):
        write_all(experiments, results, out, again)
    console.print(
        f"simulated in {simulated - compiled:.0f} s, "
        f"drawn in {time.perf_counter() - simulated:.0f} s",
        highlight=False,
    )
    return results


def compile_panels(experiments: Iterable[Experiment]) -> None:
    """Compile oracles in one process and policies in another; then load what the first has kept.

    A policy is compiled once for all structures, which it knows by their oracles' addresses: so
    the two halves have little in common and take about as long.
    """
    everything = list(experiments)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        oracles = pool.submit(compile_oracles, everything[1:])
        _compile_policies(everything[:1])
        oracles.result()
    _compile_policies(everything)


def compile_oracles(experiments: Sequence[Experiment]) -> None:
    """Compile what the experiments' policies ask of their structures."""
    for experiment in experiments:
        oracles = {
            name for policy in experiment.policies for name in getattr(policy, "oracles", ())
        }
        make_model(experiment.instance.structure, experiment.instance.family, sorted(oracles))


def _compile_policies(experiments: Sequence[Experiment]) -> None:
    for experiment in experiments:
        policies = checked_policies(experiment.policies, experiment.instance, experiment.horizon)
        checkpoints = checkpoints_up_to(experiment.horizon)
        compile_policies(policies, experiment.instance, experiment.seed, checkpoints)


def write_all(
    experiments: dict[str, Experiment],
    results: dict[str, Results],
    out: Path,
    again: str,
) -> None:
    """The figure, a picture of each panel, the table as CSV and Markdown, the report."""
    panels = []
    for name, result in results.items():
        regret = {DRAWN_AS.get(policy, policy): result.regret(policy) for policy in result.names}
        title = f"{name}: {experiments[name].title}"
        panels.append(Panel(name, result.instance, result.checkpoints, regret))
        paths = [out / f"{name}.png", out / f"{name}.svg"]
        plot_regret(result.instance, result.checkpoints, regret, paths, title, BAND)
    plot_panels(panels, [out / f"figure-1.{suffix}" for suffix in ("png", "svg", "pdf")], BAND)
    table = make_table(results)
    write_text(out / "table.csv", table.to_csv(index=False, lineterminator="\n"))
    write_text(out / "table.md", markdown_table(*overview(table)))
    write_report(out / "report.html", experiments, results, table, again)


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
