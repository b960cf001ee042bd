"""`armature run`, `merge` and `reproduce`: experiments, played, put together, the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armature.cli import options
from armature.cli.terminal import failing, output
from armature.words import visible

if TYPE_CHECKING:
    from armature.experiments.runs import PlanSummary


def run(
    spec: options.Spec,
    out: options.Out = None,
    workers: options.Workers = None,
    engine: options.PlayedBy = options.Engine.threads,
    address: options.Address = None,
    shard: options.Shard = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    allow: options.Allow = None,
) -> None:
    """Run an experiment: several policies on the same rewards.

    Prints the final regret. After Ctrl-C or a crash, run the same command with the same --out: it
    continues, and ends with the same results.
    """
    with failing(options.kept_in(out)):
        from armature.experiments.experiment import load_experiments
        from armature.experiments.simulation import SimulationPlan

        experiments = load_experiments(spec, options.allowed(allow))
        options.check_engine(engine, address, shard)
        runner = options.runner_of(workers, quiet, engine, address)
        plans = [SimulationPlan.of(experiment) for experiment in experiments]
        found = options.play(plans, out, runner, shard, "`armature merge`")
        if found is not None:
            _print_results(found, out, as_json)


def _print_results(found: list[PlanSummary], out: Path | None, as_json: bool) -> None:
    from armature.cli.terminal import print_summary, regret_as_json

    if as_json:
        typer.echo(regret_as_json(found))
        return
    for summary in found:
        print_summary(summary)
    options.say_where(out)


def merge(
    spec: options.Spec,
    out: Annotated[
        Path,
        typer.Option(help="The folder for results.", parser=options.folder, metavar="DIRECTORY"),
    ],
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders with shares from other machines: their runs are copied."),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes, each for the next point of a sweep.", min=1)
    ] = 1,
    as_json: options.AsJson = False,
    allow: options.Allow = None,
) -> None:
    """Put the shares of an experiment together.

    Nothing is simulated. Missing runs are named, and runs of another version of the code are
    refused.
    """
    with failing("copied runs are kept"):
        from armature.experiments.experiment import load_experiments
        from armature.experiments.merging import merge as merge_shares
        from armature.experiments.simulation import SimulationPlan

        experiments = load_experiments(spec, options.allowed(allow))
        plans = [SimulationPlan.of(experiment) for experiment in experiments]
        runner = options.runner_of(1, quiet=True)
        found = merge_shares(plans, sources or [], out, runner, workers)
        _print_results(found, out, as_json)


def reproduce(
    panels: Annotated[
        list[str] | None, typer.Argument(help="Panels, see `armature list panels`; default: all.")
    ] = None,
    horizon: Annotated[int, typer.Option(help="Rounds of each run.", min=10)] = 10_000,
    repetitions: Annotated[int, typer.Option(help="Runs of each policy.", min=2)] = 200,
    extended: Annotated[
        bool, typer.Option("--extended", help="Add policies that are not in the paper.")
    ] = False,
    workers: options.Workers = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for results; default for the whole figure: `out`.",
            parser=options.folder,
            metavar="DIRECTORY",
        ),
    ] = None,
    engine: options.PlayedBy = options.Engine.threads,
    address: options.Address = None,
) -> None:
    """Run Figure 1 of the paper again: pictures and a report.

    Eight problems, 200 runs of each policy: some minutes. After an interruption, run the same
    command again: it continues.
    """
    from armature.experiments.paper import PANELS, default_folder
    from armature.experiments.paper import reproduce as run_panels

    names = [name for name in PANELS if name in panels] if panels else list(PANELS)
    folder = out or default_folder(names, horizon, repetitions, extended)
    with failing(f"finished runs are kept in {folder}"):
        options.check_engine(engine, address)
        runner = options.runner_of(workers, False, engine, address)
        run_panels(panels or PANELS, horizon, repetitions, extended, folder, runner)
    for what, name in (("figure", "figure-1.png"), ("report", "report.html")):
        output().print(f"the {what}: {visible(str(folder / name))}", soft_wrap=True)
