"""`armature identify`: how many samples it takes to know the best arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armature.cli import options
from armature.cli.terminal import complaints, failing
from armature.words import visible

if TYPE_CHECKING:
    from armature.experiments.identification import IdentificationPlan


def identify(
    spec: options.Spec,
    delta: Annotated[
        list[float] | None,
        typer.Option(help="The allowed probability of error, such as 0.05; can be repeated."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy, such as `toptwo`, instead of the file's; can be repeated."),
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="When to stop: `practical`, or `theory`, which is proved.")
    ] = "practical",
    margin: options.Margin = None,
    repetitions: Annotated[
        int | None, typer.Option(help="Runs of each policy, instead of the file's number.", min=1)
    ] = None,
    max_rounds: Annotated[
        int, typer.Option(help="A run that has not stopped by then ends unsure.", min=1)
    ] = 1_000_000,
    out: options.Out = None,
    workers: options.Workers = None,
    engine: options.PlayedBy = options.Engine.threads,
    address: options.Address = None,
    shard: options.Shard = None,
    merge: Annotated[bool, typer.Option("--merge", help="Run nothing; merge the shares.")] = False,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            help="With --merge: a folder with a share from another machine; can be repeated."
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    allow: options.Allow = None,
) -> None:
    """Count the samples it takes to know the best arm.

    Runs the file's policies (default: the sampling rules) until the best arm is known, and prints
    stopping times and errors. After Ctrl-C or a crash, run the same command with the same --out: it
    continues, and ends with the same results.
    """
    with failing(options.kept_in(out)):
        from armature.cli.terminal import print_stopping, stopping_as_json
        from armature.experiments.identification import checked_deltas, load_identifications
        from armature.experiments.merging import merge as merge_shares

        deltas = checked_deltas(delta or [0.05])
        plans = load_identifications(
            spec,
            deltas,
            threshold,  # type: ignore[arg-type]
            max_rounds,
            options.allowed(allow),
            policy or (),
            repetitions,
            margin,
        )
        options.check_engine(engine, address, shard)
        _check_shares(shard, merge, source, out)
        if not quiet and not merge:
            _say_what_is_made_for_it(plans)
        runner = options.runner_of(workers, quiet, engine, address)
        if merge and out is not None:
            found = merge_shares(plans, source or [], out, runner)
        else:
            again = "the same command with --merge in place of --shard"
            played = options.play(plans, out, runner, shard, again)
            if played is None:
                return
            found = played
        if as_json:
            typer.echo(stopping_as_json(found))
            return
        for summary in found:
            print_stopping(summary)
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
        raise ArmatureError(f"{flag} needs --out: a folder for the runs of shares.")


def _say_what_is_made_for_it(plans: list[IdentificationPlan]) -> None:
    """Say which policies avoid regret instead, once for all points."""
    from armature.experiments.identification import RULES

    every = (policy for plan in plans for policy in plan.policies)
    others = dict.fromkeys(type(policy).__name__ for policy in every if not policy.identifies)
    if others:
        complaints().print(
            f"{visible(', '.join(others))}: made to avoid regret, which takes longer, often much "
            f"longer, to identify the best arm. Made to identify it: {', '.join(RULES)} "
            "(--policy toptwo runs one of these).",
            soft_wrap=True,
        )
