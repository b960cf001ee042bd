"""`python -m studies.guard`: run the study, or go on where it was."""

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
            help="A folder, where finished runs are kept.  [default: out-guard]", file_okay=False
        ),
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="A third of the runs, into out-guard-short.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few short runs, to try it, into out-guard-quick.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="A part: known, drawn or again (the worst of both).")
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
    """Guarded against a wrong structure: what it covers, and what it costs where it is right.

    Interrupted, it goes on where it was when it is run again.
    """
    from armature.simulation.engine import checked_engine
    from armature.simulation.ray_engine import connected
    from studies.guard.run import PARTS, run_study
    from studies.guard.size import FULL, QUICK, SHORT

    name, size = "out-guard", FULL
    if short or quick:
        name, size = ("out-guard-quick", QUICK) if quick else ("out-guard-short", SHORT)
    folder = out or Path(name)
    with failing(f"what is finished is kept in {folder}"):
        unknown = set(only or ()) - set(PARTS)
        if unknown:
            raise ArmatureError(f"there is no part {sorted(unknown)}: one of {', '.join(PARTS)}.")
        with connected(checked_engine(engine), address, workers):
            run_study(folder, size, workers, complaints(), only or PARTS, engine)
    for what, file in (("tables", "tables.md"), ("numbers", "cases.csv")):
        output().print(f"the {what}: {visible(str(folder / file))}", soft_wrap=True)


if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.guard")
