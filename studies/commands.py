"""What the commands of the studies share: options, where results go, what is said in the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from armature.errors import ArmatureError
from armature.terminal import failing, output, visible

Out = Annotated[
    Path | None,
    typer.Option(help="A folder, where finished runs are kept.", file_okay=False),
]
Short = Annotated[bool, typer.Option("--short", help="Fewer runs, into a folder of their own.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few short runs, to try it, likewise.")]
Workers = Annotated[int | None, typer.Option(help="Threads; all cores unless given.", min=1)]
Engine = Annotated[str, typer.Option(help="What plays: threads or ray.")]
Address = Annotated[
    str | None,
    typer.Option(help="Of the Ray cluster, or `auto`; without it, one is started here."),
]


def make_app() -> typer.Typer:
    """A command line of plain text."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def folder_of(name: str, out: Path | None, short: bool, quick: bool) -> Path:
    """Where the study of that name keeps its runs, unless somebody said where."""
    return out or Path(f"out-{name}" + ("-quick" if quick else "-short" if short else ""))


@contextmanager
def running(folder: Path, engine: str, address: str | None, workers: int | None) -> Iterator[None]:
    """While a study runs: connected where it should be, and able to say what is kept."""
    from armature.simulation.engine import checked_engine
    from armature.simulation.ray_engine import connected

    with (
        failing(f"what is finished is kept in {folder}"),
        connected(checked_engine(engine), address, workers),
    ):
        yield


def checked_parts(only: Sequence[str] | None, parts: Sequence[str]) -> Sequence[str]:
    """The parts of a study that were asked for, or all."""
    unknown = set(only or ()) - set(parts)
    if unknown:
        raise ArmatureError(f"there is no part {sorted(unknown)}: one of {', '.join(parts)}.")
    return only or parts


def say_where(folder: Path, **files: str) -> None:
    """Say where each of some files is."""
    for what, name in files.items():
        output().print(f"the {what}: {visible(str(folder / name))}", soft_wrap=True)
