"""`armature run`, `merge` and `reproduce`: experiments, played, put together, the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armature.cli import options
from armature.views.terminal import complaints, failing, output, visible

if TYPE_CHECKING:
    from armature.experiments.experiment import Experiment
    from armature.experiments.results import Summary


def run(
    spec: options.Spec,
    out: Annotated[
        str | None,
        typer.Option(
            help="A folder for results, from which a run goes on.",
            callback=options.checked_folder,
        ),
    ] = None,
    workers: options.Workers = None,
    engine: options.PlayedBy = options.Engine.threads,
    address: options.Address = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Play one of several equal shares, such as 2/8; `merge` collects them."),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    allow: options.Allow = None,
) -> None:
    """Run an experiment: its policies, all on the same rewards.

    Prints the regret in the end. Interrupted with Ctrl-C or killed, it goes on from what is
    finished when it is run again with the same --out, and ends with the same results.
    """
    with failing(options.kept_in(out)):
        from armature.experiments.experiment import load_experiments

        experiments = load_experiments(spec, options.allowed(allow))
        options.check_engine(engine, address, shard)
        folder = None if out is None else Path(out)
        if shard is not None:
            said = _run_shard(experiments, shard, folder, workers, quiet)
            output().print(f"{said} {visible(str(out))}", soft_wrap=True)
        else:
            results = _run_whole(experiments, folder, engine, address, workers, quiet)
            _print_results(experiments, results, out, as_json)


def _run_whole(
    experiments: list[Experiment],
    out: Path | None,
    engine: options.Engine,
    address: str | None,
    workers: int | None,
    quiet: bool,
) -> list[Summary]:
    if engine is options.Engine.ray:
        from armature.experiments.engines.cluster import run_on_ray

        return run_on_ray(experiments, out, address, workers, complaints(), quiet)
    from armature.experiments.sweep import run_all

    return run_all(experiments, out, workers, complaints(), quiet)


def _run_shard(
    experiments: list[Experiment], shard: str, out: Path | None, workers: int | None, quiet: bool
) -> str:
    from armature.errors import ArmatureError
    from armature.experiments.engines.blocks import Shard
    from armature.experiments.store.shards import run_shard

    share = Shard.parse(shard)
    if out is None:
        raise ArmatureError("--shard needs --out: a folder for what the share finds.")
    count = run_shard(experiments, share, out, workers, complaints(), quiet)
    return (
        f"shard {share} is finished; `armature merge` makes the results when all are. Its {count} "
        "runs are in"
    )


def _print_results(
    experiments: list[Experiment], results: list[Summary], out: str | None, as_json: bool
) -> None:
    from armature.cli.printing import print_summary
    from armature.experiments.run import as_json as to_json

    if as_json:
        typer.echo(to_json(experiments, results))
        return
    for experiment, result in zip(experiments, results, strict=True):
        print_summary(experiment.full_title, result)
    options.say_where(out)


def merge(
    spec: options.Spec,
    out: Annotated[
        str,
        typer.Option(help="The folder for results.", callback=options.checked_folder),
    ],
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of shares that went elsewhere: their runs are copied."),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes, each for the next point of a sweep.", min=1)
    ] = 1,
    as_json: options.AsJson = False,
    allow: options.Allow = None,
) -> None:
    """Put the shares of an experiment together.

    Nothing is played: it says which runs are missing, and which were made by another version of
    the code and are refused.
    """
    with failing("what was copied is kept"):
        from armature.experiments.experiment import load_experiments
        from armature.experiments.store.shards import merge as merge_shares

        experiments = load_experiments(spec, options.allowed(allow))
        results = merge_shares(experiments, sources or [], Path(out), complaints(), workers)
        _print_results(experiments, results, out, as_json)


def reproduce(
    panels: Annotated[
        list[str] | None, typer.Argument(help="Panels, as `armature list panels` has them; or all.")
    ] = None,
    horizon: Annotated[int, typer.Option(help="Rounds of each run.", min=10)] = 10_000,
    repetitions: Annotated[int, typer.Option(help="Runs of each policy.", min=2)] = 200,
    extended: Annotated[
        bool, typer.Option("--extended", help="With the policies that the paper does not have.")
    ] = False,
    workers: options.Workers = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder; without it, `out` for the whole figure.", file_okay=False),
    ] = None,
    engine: options.PlayedBy = options.Engine.threads,
    address: options.Address = None,
) -> None:
    """Run Figure 1 of the paper again: pictures and a report.

    Eight problems, with 200 runs of each policy unless you say otherwise. Interrupted, it goes on
    where it was when it is run again.
    """
    from armature.experiments.paper import PANELS
    from armature.experiments.reproduce import default_folder
    from armature.experiments.reproduce import reproduce as run_panels

    names = [name for name in PANELS if name in panels] if panels else list(PANELS)
    folder = out or default_folder(names, horizon, repetitions, extended)
    with failing(f"what is finished is kept in {folder}"):
        options.check_engine(engine, address)
        run_panels(
            panels or PANELS,
            horizon,
            repetitions,
            extended,
            workers,
            folder,
            complaints(),
            engine,
            address,
        )
    for what, name in (("figure", "figure-1.png"), ("report", "report.html")):
        output().print(f"the {what}: {visible(str(folder / name))}", soft_wrap=True)
