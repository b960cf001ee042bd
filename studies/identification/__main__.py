"""`python -m studies.identification`: run the study, or go on where it was."""

from __future__ import annotations

from armature.terminal import complaints, speak_utf8
from studies.commands import (
    Address,
    Engine,
    Out,
    Quick,
    Short,
    Workers,
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
    workers: Workers = None,
    engine: Engine = "threads",
    address: Address = None,
) -> None:
    """How many samples it takes to know the best arm: stopping times, errors, what structure saves.

    Finished runs are kept in out-identification, unless --out says where: interrupted, it goes on
    where it was when it is run again.
    """
    from studies.identification.run import run_study
    from studies.identification.size import FULL, QUICK, SHORT

    size = QUICK if quick else SHORT if short else FULL
    folder = folder_of("identification", out, short, quick)
    with running(folder, engine, address, workers):
        run_study(folder, size, workers, complaints(), engine)
    say_where(folder, tables="tables.md", picture="ratios.png")


if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.identification")
