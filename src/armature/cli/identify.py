"""`armature identify`: how many samples it takes to know the best arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armature.cli import options
from armature.views.terminal import complaints, failing, output, visible

if TYPE_CHECKING:
    from armature.experiments import Identification
    from armature.experiments.experiment import Experiment
    from armature.experiments.run_identification import Asked


def identify(
    spec: options.Spec,
    delta: Annotated[
        list[float] | None,
        typer.Option(help="The probability of error that is allowed: 0.05, or several times one."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy, such as `toptwo`, in place of the file's; several times one."),
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="When to stop: `practical`, or `theory`, which is proved.")
    ] = "practical",
    repetitions: Annotated[
        int | None, typer.Option(help="Runs of each policy; else what the file says.", min=1)
    ] = None,
    max_rounds: Annotated[
        int, typer.Option(help="A run that has not stopped by then ends unsure.", min=1)
    ] = 1_000_000,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for results, from which a run goes on.", file_okay=False),
    ] = None,
    workers: options.Workers = None,
    engine: options.PlayedBy = options.Engine.threads,
    address: options.Address = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Run one of several equal shares, such as 2/8; `--merge` collects them."),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Run nothing: put the shares together.")
    ] = False,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="With --merge, a folder of a share that went elsewhere; or several."),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    allow: options.Allow = None,
) -> None:
    """How many samples it takes to know the best arm.

    Runs the file's policies, or the sampling rules if it names none, until the best arm is known,
    and prints stopping times and errors. Interrupted with Ctrl-C or killed, it goes on from what is
    finished when it is run again with the same --out, and ends with the same results.
    """
    with failing(options.kept_in(out)):
        from dataclasses import replace

        from armature.cli.printing import print_stopping
        from armature.experiments.identification import checked_deltas
        from armature.experiments.run_identification import Asked, load_identifications
        from armature.experiments.run_identification import as_json as to_json

        asked = Asked(checked_deltas(delta or [0.05]), threshold, max_rounds)  # type: ignore[arg-type]
        experiments = load_identifications(spec, options.allowed(allow), policy or ())
        if repetitions is not None:
            experiments = [replace(one, repetitions=repetitions) for one in experiments]
        options.check_engine(engine, address, shard)
        _check_shares(shard, merge, source, out)
        if not quiet and not merge:
            _say_what_is_made_for_it(experiments)
        if shard is not None and out is not None:
            _run_share(experiments, asked, shard, out, workers, quiet)
            return
        if merge and out is not None:
            from armature.experiments.store.identify_shards import merge_identification

            found = merge_identification(experiments, asked, source or [], out, complaints())
        else:
            found = _run_all(experiments, asked, out, workers, quiet, engine, address)
        if as_json:
            typer.echo(to_json(experiments, found))
            return
        for experiment, results in zip(experiments, found, strict=True):
            print_stopping(experiment.full_title, results)
    options.say_where(out)


def _check_shares(
    shard: str | None, merge: bool, sources: list[Path] | None, out: Path | None
) -> None:
    from armature.errors import ArmatureError

    if shard is not None and merge:
        raise ArmatureError("--shard runs a share and --merge collects all: leave one of them out.")
    if sources and not merge:
        raise ArmatureError("--source is a folder that --merge takes shares from: add --merge.")
    if out is None and (shard is not None or merge):
        flag = "--merge" if merge else "--shard"
        raise ArmatureError(f"{flag} needs --out: a folder for what shares find.")


def _say_what_is_made_for_it(experiments: list[Experiment]) -> None:
    """Say which policies avoid regret instead, once for all points."""
    from armature.experiments.run_identification import RULES

    every = (policy for experiment in experiments for policy in experiment.policies)
    others = dict.fromkeys(type(policy).__name__ for policy in every if not policy.identifies)
    if others:
        complaints().print(
            f"{visible(', '.join(others))}: made to avoid regret, which takes longer, often much "
            f"longer, to identify the best arm. Made to identify it: {', '.join(RULES)} "
            "(--policy toptwo runs one of these).",
            soft_wrap=True,
        )


def _run_share(
    experiments: list[Experiment],
    asked: Asked,
    shard: str,
    out: Path,
    workers: int | None,
    quiet: bool,
) -> None:
    from armature.experiments.engines.blocks import Shard
    from armature.experiments.store.identify_shards import run_identification_shard

    share = Shard.parse(shard)
    count = run_identification_shard(experiments, asked, share, out, workers, complaints(), quiet)
    output().print(
        f"shard {share} is finished; the same command with --merge in place of --shard makes the "
        f"results when all are. Its {count} runs are in {visible(str(out))}",
        soft_wrap=True,
    )


def _run_all(
    experiments: list[Experiment],
    asked: Asked,
    out: Path | None,
    workers: int | None,
    quiet: bool,
    engine: options.Engine,
    address: str | None,
) -> list[Identification]:
    from armature.experiments.engines.ray_engine import connected
    from armature.experiments.run_identification import OnRay, folder_of, run_identification

    on_ray = OnRay(address) if engine is options.Engine.ray else None
    found = []
    with connected(engine.value, address, workers):
        for n, experiment in enumerate(experiments):
            folder = None if out is None else folder_of(out, n, len(experiments))
            found.append(
                run_identification(experiment, asked, folder, workers, complaints(), quiet, on_ray)
            )
    return found
