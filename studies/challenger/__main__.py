"""`python -m studies.challenger`: run the study, or go on where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armature.errors import ArmatureError
from armature.terminal import complaints, failing, output, speak_utf8, visible

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def study(
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder, where finished runs are kept.  [default: out-study]", file_okay=False
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few short runs, to try it, into out-study-quick."),
    ] = False,
    short: Annotated[
        bool,
        typer.Option("--short", help="Fewer instances and runs, into out-study-short."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="A part: panels, groups, close, long, shares, search, ablations or mints."
        ),
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
    """Challenger against all other policies: panels, random instances, ablations, failures.

    Takes hours; with --short, about half of one. Interrupted, it goes on where it was when it is
    run again.
    """
    from armature.simulation.engine import checked_engine
    from armature.simulation.ray_engine import connected
    from studies.challenger.run import PARTS, run_study
    from studies.challenger.size import FULL, QUICK, SHORT

    size, name = (QUICK, "-quick") if quick else (SHORT, "-short") if short else (FULL, "")
    folder = out or Path(f"out-study{name}")
    with failing(f"what is finished is kept in {folder}"):
        unknown = set(only or ()) - set(PARTS)
        if unknown:
            raise ArmatureError(f"there is no part {sorted(unknown)}: one of {', '.join(PARTS)}.")
        with connected(checked_engine(engine), address, workers):
            run_study(folder, size, workers, complaints(), only or PARTS, engine)
    for what, name in (("tables", "tables.md"), ("numbers", "cases.csv")):
        output().print(f"the {what}: {visible(str(folder / name))}", soft_wrap=True)


if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.challenger")
