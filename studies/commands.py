"""The command of a study: its options, where results go, what is said in the end."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from armature.cli.terminal import complaints, failing, output
from armature.errors import ArmatureError
from armature.experiments.cluster import connected
from armature.experiments.plan import checked_engine
from armature.words import visible


class Sizes(NamedTuple):
    """How much of everything a study runs: all, with `--short`, with `--quick`."""

    full: Any
    short: Any
    quick: Any


def make_app() -> typer.Typer:
    """A command line of plain text."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def study_progress(console: Console) -> Progress:
    """A bar for each part, with the problem (`now`) that is played."""
    return Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}", markup=False),
        console=console,
    )


def study_app(
    text: str,
    run: Callable[..., object],
    folder: str,
    sizes: Sizes,
    files: Mapping[str, str],
    parts: Sequence[str] = (),
) -> typer.Typer:
    """The command that runs a study.

    `run(folder, size, workers, console, engine=..., parts=...)` runs what is missing; `parts` is
    left out where the study has none. `files` are those that are named in the end, by what they
    are.
    """
    app = make_app()

    @app.command(help=text)
    def study(
        out: Annotated[
            Path | None,
            typer.Option(
                help=f"A folder, where finished runs are kept.  [default: {folder}]",
                file_okay=False,
            ),
        ] = None,
        short: Annotated[
            bool, typer.Option("--short", help=f"Fewer runs, into {folder}-short.")
        ] = False,
        quick: Annotated[
            bool,
            typer.Option("--quick", help=f"A few short runs, to try it, into {folder}-quick."),
        ] = False,
        only: Annotated[
            list[str] | None,
            typer.Option(help=f"A part: {', '.join(parts)}; or several.", hidden=not parts),
        ] = None,
        workers: Annotated[
            int | None, typer.Option(help="Threads; all cores unless given.", min=1)
        ] = None,
        engine: Annotated[str, typer.Option(help="What plays: threads or ray.")] = "threads",
        address: Annotated[
            str | None,
            typer.Option(help="Of the Ray cluster, or `auto`; without it, one is started here."),
        ] = None,
    ) -> None:
        size = sizes.quick if quick else sizes.short if short else sizes.full
        where = out or Path(folder + ("-quick" if quick else "-short" if short else ""))
        with failing(f"what is finished is kept in {where}"):
            unknown = set(only or ()) - set(parts)
            if unknown:
                known = ", ".join(parts)
                raise ArmatureError(f"there is no part {sorted(unknown)}: one of {known}.")
            chosen = {"parts": only or parts} if parts else {}
            with connected(checked_engine(engine), address, workers):
                run(where, size, workers, complaints(), engine=engine, **chosen)
        for what, file in files.items():
            output().print(f"the {what}: {visible(str(where / file))}", soft_wrap=True)

    return app
