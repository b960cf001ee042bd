"""Options that several commands share."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armature.cli.terminal import complaints, output
from armature.words import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armature.experiments.plan import Plan
    from armature.experiments.run import Runner
    from armature.experiments.runs import PlanSummary

Spec = Annotated[
    str,
    typer.Argument(
        help="A TOML file, or the name of a built-in problem: see `armature list examples`."
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        help="A module or package, of the current folder or installed, from which the file may "
        "name classes as module:Class. Importing it runs its code."
    ),
]
Margin = Annotated[
    str | None,
    typer.Option(
        help="By how much another arm may be better than the one that is named: a number such as "
        "0.05, or a share of its mean such as 1%."
    ),
]
Workers = Annotated[int | None, typer.Option(help="Threads; default: all cores.", min=1)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of the Ray cluster, or `auto`; without it, a cluster is started here."
    ),
]


def folder(out: str) -> Path:
    """A folder by its name: refused, as the command line does, where it can't be one."""
    if "://" in out:
        raise typer.BadParameter(
            f"{out!r} is an address: give a folder of this machine, and copy it there and back "
            "with a command such as `aws s3 sync`."
        )
    try:
        is_file = Path(out).is_file()
    except OSError as error:
        raise typer.BadParameter(f"Directory {out!r}: {error.strerror}.") from None
    if is_file:
        raise typer.BadParameter(f"Directory {out!r} is a file.")
    return Path(out)


Out = Annotated[
    Path | None,
    typer.Option(
        help="A folder for results. The next run continues from it.",
        parser=folder,
        metavar="DIRECTORY",
    ),
]


class Engine(StrEnum):
    """The engines that play blocks."""

    threads = "threads"
    ray = "ray"


PlayedBy = Annotated[
    Engine, typer.Option(help="Who simulates: threads of this program, or a Ray cluster.")
]


def check_engine(engine: Engine, address: str | None, shard: str | None = None) -> None:
    """Refuse options that do not go together."""
    from armature.errors import ArmatureError

    if address is not None and engine is not Engine.ray:
        raise ArmatureError("--address is that of a Ray cluster: add --engine ray.")
    if shard is not None and engine is Engine.ray:
        raise ArmatureError("--shard needs no engine: leave one of --shard and --engine ray out.")


Shard = Annotated[
    str | None,
    typer.Option(help="Run one of several equal shares, such as 2/8; merge them afterwards."),
]


def runner_of(
    workers: int | None,
    quiet: bool,
    engine: Engine = Engine.threads,
    address: str | None = None,
) -> Runner:
    """The runner that the options ask for; it reports to the standard error."""
    from armature.experiments.run import Runner

    return Runner(complaints(), quiet, workers, engine.value, address)


def play(
    plans: Sequence[Plan[Any, Any]],
    out: Path | None,
    runner: Runner,
    shard: str | None,
    collecting: str,
) -> list[PlanSummary] | None:
    """Run plans, or a share of them; None after a share, which `collecting` puts together."""
    from armature.errors import ArmatureError
    from armature.experiments.blocks import Shard
    from armature.experiments.run import run_all, run_shard

    if shard is None:
        return run_all(plans, out, runner)
    share = Shard.parse(shard)
    if out is None:
        raise ArmatureError("--shard needs --out: a folder for the runs of the share.")
    count = run_shard(plans, share, out, runner)
    output().print(
        f"shard {share} is finished; {collecting} makes the results when all are. Its {count} "
        f"runs are in {visible(str(out))}",
        soft_wrap=True,
    )
    return None


def allowed(allow: list[str] | None) -> tuple[str, ...]:
    """The modules that may be imported, those of the current folder too."""
    here = os.getcwd()
    if allow and here not in sys.path and "" not in sys.path:
        import pandas  # noqa: F401 -- before its optional parts could be a file of the folder

        sys.path.append(here)  # at the end: what is installed is not hidden by a file's name
    return tuple(allow or ())


def kept_in(out: Path | None) -> str:
    """Say what is kept after an interruption."""
    return f"finished runs are kept in {out}" if out else "nothing is kept without --out"


def say_where(out: Path | None) -> None:
    """Say where results are, if there is a folder."""
    if out is not None:
        output().print(f"results, a table and a picture are in {visible(str(out))}", soft_wrap=True)
