"""`armature assess`: structures and policies on a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armature.cli import options
from armature.cli.terminal import complaints, failing, output
from armature.words import visible


def assess(
    log: Annotated[str, typer.Argument(help="A CSV or Parquet file: a row for each reward.")],
    spec: Annotated[str, typer.Option(help="A TOML file: columns, structure, rewards, horizon.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for the page and the data.", parser=options.folder, metavar="DIRECTORY"
        ),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="The column of arms.")] = None,
    reward: Annotated[str | None, typer.Option(help="The column of rewards.")] = None,
    probability: Annotated[
        str | None, typer.Option(help="The column of probabilities, if there is one.")
    ] = None,
    segment: Annotated[
        str | None, typer.Option(help="The column of segments, if the structure has some.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Planned rounds.", min=1)] = None,
    draws: Annotated[
        int | None, typer.Option(help="Problems drawn around the log; default: 40.", min=1)
    ] = None,
    margin: options.Margin = None,
    workers: options.Workers = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    allow: options.Allow = None,
) -> None:
    """Assess a structure and policies on a log, before you deploy.

    Does the structure fit? How much exploration does it save? Which policy has the least regret?
    Prints a report; with --out, also writes `report.html` and `assessment.json`.
    """
    with failing("nothing was written"):
        from rich.progress import Progress

        from armature.assess.from_spec import assess_file

        with Progress(console=complaints(), transient=True, disable=quiet) as bar:
            task = bar.add_task("reading (a first run compiles)", total=None)
            found = assess_file(
                log,
                spec,
                columns={
                    "arm": arm,
                    "reward": reward,
                    "probability": probability,
                    "segment": segment,
                },
                settings={"horizon": horizon, "draws": draws, "margin": margin},
                allow=options.allowed(allow),
                workers=workers,
                progress=lambda title, done, steps: bar.update(
                    task, description=title, completed=done, total=steps
                ),
            )
        if out is not None:
            found.save(out)
        if as_json:
            typer.echo(found.to_json())
            return
        output().print(visible(str(found), keep="\n"), soft_wrap=True)
    if out is not None:
        output().print(f"the page: {visible(str(out / 'report.html'))}", soft_wrap=True)
