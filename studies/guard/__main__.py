"""`python -m studies.guard`: run the study, or go on where it was."""

from __future__ import annotations

from typing import Annotated

import typer

from armature.terminal import complaints, speak_utf8
from studies.commands import (
    Address,
    Engine,
    Out,
    Quick,
    Short,
    Workers,
    checked_parts,
    folder_of,
    make_app,
    running,
    say_where,
)

app = make_app()


@app.command()
def study(
    out: Out = None,
    short: Short = False,
    quick: Quick = False,
    only: Annotated[
        list[str] | None, typer.Option(help="A part: the known problems, or those drawn.")
    ] = None,
    workers: Workers = None,
    engine: Engine = "threads",
    address: Address = None,
) -> None:
    """Guarded against a wrong structure: what it covers, and what it costs where it is right.

    Finished runs are kept in out-guard, unless --out says where: interrupted, it goes on where it
    was when it is run again.
    """
    from studies.guard.run import PARTS, run_study
    from studies.guard.size import FULL, QUICK, SHORT

    size = QUICK if quick else SHORT if short else FULL
    folder = folder_of("guard", out, short, quick)
    with running(folder, engine, address, workers):
        run_study(folder, size, workers, complaints(), checked_parts(only, PARTS), engine)
    say_where(folder, tables="tables.md", numbers="cases.csv")


if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.guard")
