"""The command line."""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armature.service import shell as service
from armature.terminal import complaints, failing, output, speak_utf8, visible

if TYPE_CHECKING:
    from armature.bounds import LowerBound
    from armature.experiments.experiment import Experiment
    from armature.instance import Instance
    from armature.simulation.results import Summary

app = typer.Typer(
    help="Structured stochastic bandits: explore only as much as your knowledge leaves open.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # a plain text, which any width and any bracket leaves whole
)
SPEC = "A TOML file, or the name of a problem that is shipped: see `armature list examples`."


ALLOW = Annotated[
    list[str] | None,
    typer.Option(
        help="A module or package, of the current folder or installed, from which the file may "
        "name classes as module:Class. Importing it runs its code."
    ),
]


def _checked_folder(out: str | None) -> str | None:
    """The name of a folder: refused, as the command line does, where a file has that name."""
    if out is not None and Path(out).is_file():
        raise typer.BadParameter(f"Directory {out!r} is a file.")
    return out


class Engine(StrEnum):
    """What blocks are played by."""

    threads = "threads"
    ray = "ray"


ENGINE = Annotated[
    Engine, typer.Option(help="What plays: threads of this program, or a Ray cluster.")
]
ADDRESS = Annotated[
    str | None,
    typer.Option(help="Of the Ray cluster, or `auto`; without it, one is started here."),
]


class Listing(StrEnum):
    """What `armature list` can list."""

    policies = "policies"
    structures = "structures"
    families = "families"
    panels = "panels"
    examples = "examples"


def _say_version(asked: bool) -> None:
    if asked:
        from armature import __version__

        typer.echo(f"armature {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_say_version, is_eager=True),
    ] = False,
) -> None:
    """Structured stochastic bandits: explore only as much as your knowledge leaves open."""


def _allowed(allow: list[str] | None) -> tuple[str, ...]:
    """The modules that may be imported, those of the current folder too."""
    here = os.getcwd()
    if allow and here not in sys.path and "" not in sys.path:
        import pandas  # noqa: F401 -- before its optional parts could be a file of the folder

        sys.path.append(here)  # at the end: what is installed is not hidden by a file's name
    return tuple(allow or ())


@app.command()
def bound(
    spec: Annotated[str, typer.Argument(help=SPEC)],
    epsilon: Annotated[
        float | None, typer.Option(help="Least gap of an arm: gives the perturbed value.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it: a .png, .svg or .pdf file.")] = None,
    allow: ALLOW = None,
) -> None:
    """What regret can't be avoided: the lower bound of a problem.

    With the optimal pulls of each arm and the instances that they tell apart.
    """
    working = complaints().status("working (a first run compiles)")
    with failing(""):
        from armature.bounds import lower_bound
        from armature.experiments import load_instance
        from armature.printing import print_bound

        if plot is not None:
            from armature.plotting import checked_picture, plot_bound

            checked_picture(plot)
        with working:
            instance = load_instance(spec, _allowed(allow))
            answer = lower_bound(instance, epsilon)
        if as_json:
            typer.echo(json.dumps(_as_data(instance, answer, epsilon), indent=2))
        else:
            print_bound(instance, answer)
        if plot is not None:
            plot_bound(instance, answer, plot, epsilon)


def _as_data(instance: Instance, answer: LowerBound, epsilon: float | None) -> dict[str, object]:
    return {
        "structure": type(instance.structure).__name__,
        "family": str(instance.family),
        "means": instance.means.tolist(),
        "best_arm": instance.best_arm,
        "epsilon": epsilon,
        "value": answer.value,
        "gap": answer.gap,
        "unconstrained": answer.unconstrained,
        "pulls": answer.pulls.tolist(),
        "alternatives": [
            {"weight": a.weight, "means": a.means.tolist()} for a in answer.alternatives
        ],
    }


@app.command()
def run(
    spec: Annotated[str, typer.Argument(help=SPEC)],
    out: Annotated[
        str | None,
        typer.Option(
            help="A folder for results, from which a run goes on; or an address, as s3://bucket/x.",
            callback=_checked_folder,
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Threads; all cores unless given.", min=1)
    ] = None,
    engine: ENGINE = Engine.threads,
    address: ADDRESS = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Play one of several equal shares, such as 2/8; `merge` collects them."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    allow: ALLOW = None,
) -> None:
    """Run an experiment: its policies, all on the same rewards.

    Prints the regret in the end. Interrupted with Ctrl-C or killed, it goes on from what is
    finished when it is run again with the same --out, and ends with the same results.
    """
    kept = f"what is finished is kept in {out}" if out else "nothing is kept without --out"
    with failing(kept):
        from armature.experiments.elsewhere import folder_here
        from armature.experiments.experiment import load_experiments

        experiments = load_experiments(spec, _allowed(allow))
        _check_engine(engine, address, shard)
        with folder_here(out) as folder:
            if shard is not None:
                said = _run_shard(experiments, shard, folder, workers, quiet)
            else:
                results = _run_whole(experiments, folder, engine, address, workers, quiet)
        if shard is not None:
            output().print(f"{said} {visible(str(out))}", soft_wrap=True)
        else:
            _print_results(experiments, results, out, as_json)


def _run_whole(
    experiments: list[Experiment],
    out: Path | None,
    engine: Engine,
    address: str | None,
    workers: int | None,
    quiet: bool,
) -> list[Summary]:
    if engine is Engine.ray:
        from armature.experiments.cluster import run_on_ray

        return run_on_ray(experiments, out, address, workers, complaints(), quiet)
    from armature.experiments.sweep import run_all

    return run_all(experiments, out, workers, complaints(), quiet)


def _check_engine(engine: Engine, address: str | None, shard: str | None = None) -> None:
    from armature.errors import ArmatureError

    if address is not None and engine is not Engine.ray:
        raise ArmatureError("--address is that of a Ray cluster: add --engine ray.")
    if shard is not None and engine is Engine.ray:
        raise ArmatureError("--shard needs no engine: leave one of --shard and --engine ray out.")


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
        raise ArmatureError(f"{flag} needs --out: a folder for what shares find.")


def _run_shard(
    experiments: list[Experiment], shard: str, out: Path | None, workers: int | None, quiet: bool
) -> str:
    from armature.errors import ArmatureError
    from armature.experiments.shards import run_shard
    from armature.simulation.blocks import Shard

    share = Shard.parse(shard)
    if out is None:
        raise ArmatureError("--shard needs --out: a folder for what the share finds.")
    count = run_shard(experiments, share, out, workers, complaints(), quiet)
    return (
        f"shard {share} is finished; `armature merge` makes the results when all are. Its {count} "
        "runs are in"
    )


def _print_results(
    experiments: list[Experiment], results: list[Summary], out: str | None, as_json: bool
) -> None:
    from armature.experiments.run import as_json as to_json
    from armature.printing import print_summary

    if as_json:
        typer.echo(to_json(experiments, results))
        return
    for experiment, result in zip(experiments, results, strict=True):
        point = ", ".join(f"{k} = {v}" for k, v in experiment.point.items())
        print_summary(experiment.title + (f" ({point})" if point else ""), result)
    if out is not None:
        output().print(f"results, a table and a picture are in {visible(str(out))}", soft_wrap=True)


@app.command()
def identify(
    spec: Annotated[str, typer.Argument(help=SPEC)],
    delta: Annotated[
        list[float] | None,
        typer.Option(help="The probability of error that is allowed: 0.05, or several times one."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy, such as `toptwo`, in place of the file's; several times one."),
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="When to stop: `practical`, or `theory`, which is proved.")
    ] = "practical",
    repetitions: Annotated[
        int | None, typer.Option(help="Runs of each policy; else what the file says.", min=1)
    ] = None,
    max_rounds: Annotated[
        int, typer.Option(help="A run that has not stopped by then ends unsure.", min=1)
    ] = 1_000_000,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for results, from which a run goes on.", file_okay=False),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Threads; all cores unless given.", min=1)
    ] = None,
    engine: ENGINE = Engine.threads,
    address: ADDRESS = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Run one of several equal shares, such as 2/8; `--merge` collects them."),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Run nothing: put the shares together.")
    ] = False,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="With --merge, a folder of a share that went elsewhere; or several."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    allow: ALLOW = None,
) -> None:
    """How many samples it takes to know the best arm.

    Runs the file's policies, or the sampling rules if it names none, until the best arm is known,
    and prints stopping times and errors. Interrupted with Ctrl-C or killed, it goes on from what is
    finished when it is run again with the same --out, and ends with the same results.
    """
    kept = f"what is finished is kept in {out}" if out else "nothing is kept without --out"
    with failing(kept):
        from dataclasses import replace

        from armature.experiments.identify import (
            Asked,
            OnRay,
            folder_of,
            load_identifications,
            run_identification,
        )
        from armature.experiments.identify import as_json as to_json
        from armature.identification.engine import checked_deltas
        from armature.printing import print_stopping
        from armature.simulation.ray_engine import connected

        asked = Asked(checked_deltas(delta or [0.05]), threshold, max_rounds)  # type: ignore[arg-type]
        experiments = load_identifications(spec, _allowed(allow), policy or ())
        if repetitions is not None:
            experiments = [replace(one, repetitions=repetitions) for one in experiments]
        _check_engine(engine, address, shard)
        _check_shares(shard, merge, source, out)
        if shard is not None and out is not None:
            from armature.experiments.identify_shards import run_identification_shard
            from armature.simulation.blocks import Shard

            share = Shard.parse(shard)
            count = run_identification_shard(
                experiments, asked, share, out, workers, complaints(), quiet
            )
            said = f"shard {share} is finished; the same command with --merge in place of --shard "
            said += f"makes the results when all are. Its {count} runs are in {visible(str(out))}"
            output().print(said, soft_wrap=True)
            return
        found = []
        if merge and out is not None:
            from armature.experiments.identify_shards import merge_identification

            found = merge_identification(experiments, asked, source or [], out, complaints())
        on_ray = OnRay(address) if engine is Engine.ray else None
        with connected(engine.value, address, workers):
            for n, experiment in enumerate([] if merge else experiments):
                folder = None if out is None else folder_of(out, n, len(experiments))
                found.append(
                    run_identification(
                        experiment, asked, folder, workers, complaints(), quiet, on_ray
                    )
                )
        if as_json:
            typer.echo(to_json(experiments, found))
            return
        for experiment, results in zip(experiments, found, strict=True):
            point = ", ".join(f"{k} = {v}" for k, v in experiment.point.items())
            print_stopping(experiment.title + (f" ({point})" if point else ""), results)
    if out is not None:
        output().print(f"results, a table and a picture are in {visible(str(out))}", soft_wrap=True)


@app.command()
def assess(
    log: Annotated[str, typer.Argument(help="A CSV or Parquet file: a row for each reward.")],
    spec: Annotated[str, typer.Option(help="A TOML file: columns, structure, rewards, plans.")],
    out: Annotated[
        str | None,
        typer.Option(help="A folder for the page and the data.", callback=_checked_folder),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="The column of arms.")] = None,
    reward: Annotated[str | None, typer.Option(help="The column of rewards.")] = None,
    probability: Annotated[
        str | None, typer.Option(help="The column of probabilities, if there is one.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Rounds that are planned for.", min=1)] = None,
    draws: Annotated[
        int | None, typer.Option(help="Problems drawn around the log; 40.", min=1)
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Threads; all cores unless given.", min=1)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    allow: ALLOW = None,
) -> None:
    """Assess a structure and policies on a log, before you deploy.

    Does the structure fit, what is it worth, which policy, how long? Prints a report, and writes
    it as a page, `report.html`, and as `assessment.json`, if there is an --out.
    """
    with failing("nothing was written"):
        from rich.progress import Progress

        from armature.experiments.assessing import assess_file

        with Progress(console=complaints(), transient=True, disable=quiet) as bar:
            task = bar.add_task("reading (a first run compiles)", total=None)
            found = assess_file(
                log,
                spec,
                columns={"arm": arm, "reward": reward, "probability": probability},
                settings={"horizon": horizon, "draws": draws},
                allow=_allowed(allow),
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
        output().print(f"the page: {visible(str(Path(out) / 'report.html'))}", soft_wrap=True)


@app.command()
def merge(
    spec: Annotated[str, typer.Argument(help=SPEC)],
    out: Annotated[
        str, typer.Option(help="The folder for results, or an address.", callback=_checked_folder)
    ],
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of shares that went elsewhere: their runs are copied."),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes, each for the next point of a sweep.", min=1)
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    allow: ALLOW = None,
) -> None:
    """Put the shares of an experiment together.

    Nothing is played: it says which runs are missing, and which were made by another version of
    the code and are refused.
    """
    with failing("what was copied is kept"):
        from armature.experiments.elsewhere import folder_here
        from armature.experiments.experiment import load_experiments
        from armature.experiments.shards import merge as merge_shares

        experiments = load_experiments(spec, _allowed(allow))
        with folder_here(out) as folder:
            results = merge_shares(
                experiments, sources or [], folder or Path(), complaints(), workers
            )
        _print_results(experiments, results, out, as_json)


@app.command()
def reproduce(
    panels: Annotated[
        list[str] | None, typer.Argument(help="Panels, as `armature list panels` has them; or all.")
    ] = None,
    horizon: Annotated[int, typer.Option(help="Rounds of each run.", min=10)] = 10_000,
    repetitions: Annotated[int, typer.Option(help="Runs of each policy.", min=2)] = 200,
    extended: Annotated[
        bool, typer.Option("--extended", help="With the policies that the paper does not have.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Threads; all cores unless given.", min=1)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder; without it, `out` for the whole figure.", file_okay=False),
    ] = None,
    engine: ENGINE = Engine.threads,
    address: ADDRESS = None,
) -> None:
    """Run Figure 1 of the paper again: pictures and a report.

    Eight problems, with 200 runs of each policy unless you say otherwise. Interrupted, it goes on
    where it was when it is run again.
    """
    from armature.experiments.figure import PANELS
    from armature.experiments.reproduce import default_folder
    from armature.experiments.reproduce import reproduce as run_panels

    names = [name for name in PANELS if name in panels] if panels else list(PANELS)
    folder = out or default_folder(names, horizon, repetitions, extended)
    with failing(f"what is finished is kept in {folder}"):
        _check_engine(engine, address)
        run_panels(
            panels or PANELS,
            horizon,
            repetitions,
            extended,
            workers,
            folder,
            complaints(),
            engine,
            address,
        )
    for what, name in (("figure", "figure-1.png"), ("report", "report.html")):
        output().print(f"the {what}: {visible(str(folder / name))}", soft_wrap=True)


@app.command("list")
def list_names(what: Annotated[Listing, typer.Argument(help="What to list.")]) -> None:
    """List names to be used in files, or problems to be run.

    Policies, structures and families are named in a problem's file; panels and examples are
    problems that are shipped, whose names `bound` and `run` take in place of a file.
    """
    import tomllib

    from armature.descriptions import FAMILIES, POLICIES, STRUCTURES
    from armature.experiments import shipped_specs

    known = {
        Listing.policies: POLICIES,
        Listing.structures: STRUCTURES,
        Listing.families: FAMILIES,
    }
    if what in known:
        classes = known[what]
        rows = {name: (cls.__doc__ or "").strip().splitlines()[0] for name, cls in classes.items()}
    else:
        specs = shipped_specs("panels" if what is Listing.panels else "examples")
        rows = {name: tomllib.loads(text)["title"] for name, text in specs.items()}
    width = max(map(len, rows))
    for name, description in rows.items():
        output().print(f"{name:<{width}}  {description}", soft_wrap=True)


@app.command("compile")
def compile_kernels(
    structures: Annotated[
        list[str] | None, typer.Argument(help="Names such as `unimodal`; all unless given.")
    ] = None,
) -> None:
    """Fill the kernel cache.

    For an image or a node of a cluster: later processes compile nothing.
    """
    from rich.markup import escape
    from rich.progress import Progress

    from armature._compiling import notice
    from armature._compiling.files import directory, is_writable
    from armature.compiling import fill_cache
    from armature.errors import ArmatureError

    notice.silence()
    with failing("what is compiled is kept"):
        if not is_writable():
            raise ArmatureError(f"{directory()} can't be written: set ARMATURE_CACHE_DIR.")
        with Progress(console=complaints()) as bar:
            task = bar.add_task("")
            compiled = fill_cache(
                structures or (),
                lambda title, done, steps: bar.update(
                    task, description=escape(title), completed=done, total=steps
                ),
            )
    output().print(
        f"{compiled.kernels} kernels were compiled; they are in {directory()}", soft_wrap=True
    )


@app.command()
def demo(
    port: Annotated[
        int | None, typer.Option(help="A port; 8000 if it is free.", min=1, max=65535)
    ] = None,
    look: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Watch three simulated experiments live, on a page.

    Prices with one peak, creatives in themes, doses with diminishing returns. Nothing is kept when
    it is interrupted.
    """
    with failing(""):
        with service.extra():
            from armature.demo import demo as run
            from armature.demo import free_port

        port = free_port(port)
        address = f"http://127.0.0.1:{port}"
        complaints().print(f"the page is at {address} (Ctrl-C ends it)", soft_wrap=True)
        run(port, look)


app.command()(service.serve)
app.add_typer(service.experiments, name="experiments")
app.add_typer(service.keys, name="keys")


def main() -> None:
    """Run the command line."""
    speak_utf8()
    app(prog_name="armature")
