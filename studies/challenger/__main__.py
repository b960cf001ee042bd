"""`python -m studies.challenger`: run the study, or go on where it was."""

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
        list[str] | None,
        typer.Option(
            help="A part: panels, groups, close, long, shares, search, ablations or mints."
        ),
    ] = None,
    workers: Workers = None,
    engine: Engine = "threads",
    address: Address = None,
) -> None:
    """Challenger against all other policies: panels, random instances, ablations, failures.

    Takes hours; with --short, about half of one. Finished runs are kept in out-study, unless --out
    says where: interrupted, it goes on where it was when it is run again.
    """
    from studies.challenger.run import PARTS, run_study
    from studies.challenger.size import FULL, QUICK, SHORT

    size = QUICK if quick else SHORT if short else FULL
    folder = folder_of("study", out, short, quick)
    with running(folder, engine, address, workers):
        run_study(folder, size, workers, complaints(), checked_parts(only, PARTS), engine)
    say_where(folder, tables="tables.md", numbers="cases.csv")


if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.challenger")
