"""The command line."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from armature.bounds import LowerBound
    from armature.instance import Instance
    from armature.simulation import Results

app = typer.Typer(
    help="Structured stochastic bandits: explore only as much as your knowledge leaves open.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()
MOST_ALTERNATIVES = 10


class Listing(StrEnum):
    """What `armature list` can list."""

    policies = "policies"
    structures = "structures"
    families = "families"
    panels = "panels"
    examples = "examples"


def _fail(error: Exception) -> NoReturn:
    Console(stderr=True).print(f"[red]Error:[/red] {error}", highlight=False, soft_wrap=True)
    raise typer.Exit(2)


@app.command()
def bound(
    spec: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped problem.")],
    epsilon: Annotated[
        float | None, typer.Option(help="Least gap of an arm: gives the perturbed value.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it: a .png, .svg or .pdf file.")] = None,
) -> None:
    """The lower bound V of a problem, the optimal pulls and the instances that they tell apart."""
    from armature.bounds import lower_bound
    from armature.errors import ArmatureError
    from armature.experiments import load_instance

    try:
        with Console(stderr=True).status("working (a first run compiles, for up to half a minute)"):
            instance = load_instance(spec)
            answer = lower_bound(instance, epsilon)
            if plot is not None:
                from armature.plotting import plot_bound

                plot_bound(instance, answer, plot, epsilon)
    except (ArmatureError, OSError) as error:
        _fail(error)
    if as_json:
        typer.echo(json.dumps(_as_data(instance, answer, epsilon), indent=2))
    else:
        _print_bound(instance, answer)


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


def _print_bound(instance: Instance, answer: LowerBound) -> None:
    worth = "the structure leaves nothing to explore"
    if answer.value > 0.0:
        worth = f"{answer.unconstrained / answer.value:.3g} times that"
    console.print(
        f"[bold]V = {answer.value:.6g}[/bold]: the regret of a consistent algorithm grows at least "
        f"like {answer.value:.6g} ln T"
    )
    console.print(f"without the structure: {answer.unconstrained:.6g} ({worth})")
    console.print(f"certified to a relative {answer.gap:.0e}\n")
    table = Table("arm", "mean", "gap", "pulls per ln T", "regret per ln T")
    for column in table.columns:
        column.justify = "right"
    pulls = np.where(answer.pulls > 1e-6 * answer.pulls.max(), answer.pulls, 0.0)
    for k in range(instance.n_arms):
        free = k == instance.best_arm and pulls[k] == 0.0
        table.add_row(
            f"{k} *" if k == instance.best_arm else f"{k}",
            f"{instance.means[k]:.4g}",
            f"{instance.gaps[k]:.4g}",
            "all others" if free else f"{pulls[k]:.4g}",
            "0" if free else f"{pulls[k] * instance.gaps[k]:.4g}",
        )
    console.print(table)
    if not answer.alternatives:
        console.print("No instance with another best arm could be mistaken for this one.")
        return
    others = Table("weight", "best arm", "means of a confusing instance (changed ones in bold)")
    for alternative in answer.alternatives[:MOST_ALTERNATIVES]:
        rivals = [
            str(k)
            for k in range(instance.n_arms)
            if k != instance.best_arm and alternative.means[k] >= alternative.means.max() - 1e-6
        ]
        cells = [
            f"[bold]{new:.4g}[/bold]" if abs(new - old) > 1e-6 else f"{new:.4g}"
            for old, new in zip(instance.means, alternative.means, strict=True)
        ]
        others.add_row(f"{alternative.weight:.4g}", ", ".join(rivals), " ".join(cells))
    console.print(others)
    left = len(answer.alternatives) - MOST_ALTERNATIVES
    if left > 0:
        console.print(f"and {left} more with less weight (--json has all)")


@app.command()
def run(
    spec: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped problem.")],
    out: Annotated[
        Path | None, typer.Option(help="A folder for results; finished runs are kept there.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores unless given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Run an experiment: every policy, on the same rewards, with the regret in the end.

    Interrupted with Ctrl-C or killed, it goes on from what is finished when it is run again with
    the same --out, and ends with the same results.
    """
    from armature.errors import ArmatureError
    from armature.experiments.experiment import load_experiments
    from armature.experiments.run import as_json as to_json
    from armature.experiments.sweep import run_all

    errors = Console(stderr=True)
    try:
        experiments = load_experiments(spec)
        results = run_all(experiments, out, jobs, errors, quiet)
    except (ArmatureError, OSError) as error:
        _fail(error)
    except KeyboardInterrupt:
        kept = f"what is finished is kept in {out}" if out else "nothing is kept without --out"
        errors.print(f"interrupted: {kept}")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(to_json(experiments, results))
        return
    for experiment, result in zip(experiments, results, strict=True):
        point = ", ".join(f"{k} = {v}" for k, v in experiment.point.items())
        _print_summary(experiment.title + (f" ({point})" if point else ""), result)
    if out is not None:
        console.print(f"results, a table and a picture are in {out}")


def _print_summary(title: str, results: Results) -> None:
    summary = results.summary()
    console.print(f"[bold]{title}[/bold]: {results.repetitions} runs of {results.horizon:,} rounds")
    names = ("policy", "regret", "5%", "median", "95%", "slope", "explored", "us/round")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, justify="left" if name == "policy" else "right", no_wrap=True)
    for policy, row in summary.sort_values("regret").iterrows():
        cells = [f"{row['regret']:.4g} ± {row['standard_error']:.2g}"]
        cells += [f"{row[name]:.3g}" for name in ("q5%", "q50%", "q95%", "slope")]
        cells += ["" if np.isnan(row["explored"]) else f"{row['explored']:.1%}"]
        cells += ["" if np.isnan(row["us_per_round"]) else f"{row['us_per_round']:.2g}"]
        table.add_row(str(policy), *cells)
    console.print(table)
    value = summary["V"].iloc[0]
    console.print(
        f"slope: growth per ln t over the last decade; at least V = {value:.4g} in the end"
    )


@app.command()
def reproduce(
    panels: Annotated[
        list[str] | None, typer.Argument(help="Panels, as `armature list panels` has them; or all.")
    ] = None,
    horizon: Annotated[int, typer.Option(help="Rounds.", min=10)] = 10_000,
    repetitions: Annotated[int, typer.Option(help="Runs of each policy.", min=2)] = 200,
    extended: Annotated[
        bool, typer.Option("--extended", help="With the policies that the paper does not have.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Threads; all cores unless given.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder; `out` for the whole figure.")] = None,
) -> None:
    """Figure 1 of the paper: eight problems, 200 runs of each policy, pictures and a report.

    Interrupted, it goes on where it was when it is run again.
    """
    from armature.errors import ArmatureError
    from armature.experiments.figure import PANELS
    from armature.experiments.reproduce import default_folder
    from armature.experiments.reproduce import reproduce as run_panels

    errors = Console(stderr=True)
    names = [name for name in PANELS if name in panels] if panels else list(PANELS)
    folder = out or default_folder(names, horizon, repetitions, extended)
    try:
        run_panels(panels or PANELS, horizon, repetitions, extended, workers, folder, errors)
    except (ArmatureError, OSError) as error:
        _fail(error)
    except KeyboardInterrupt:
        errors.print(f"interrupted: what is finished is kept in {folder}")
        raise typer.Exit(130) from None
    console.print(f"the figure: {folder / 'figure-1.png'}\nthe report: {folder / 'report.html'}")


@app.command()
def study(
    policy: Annotated[str, typer.Argument(help="What to study: `challenger`.")],
    out: Annotated[Path, typer.Option(help="A folder; finished runs are kept there.")],
    quick: Annotated[bool, typer.Option("--quick", help="A few short runs, to try it.")] = False,
    workers: Annotated[int | None, typer.Option(help="Threads; all cores unless given.")] = None,
) -> None:
    """Challenger against all other policies: panels, random instances, ablations, failures.

    Takes about an hour on two cores. Interrupted, it goes on where it was when it is run again.
    """
    from armature.errors import ArmatureError
    from armature.experiments.study.run import FULL, QUICK, run_study

    errors = Console(stderr=True)
    try:
        if policy != "challenger":
            raise ArmatureError(f"there is no study of {policy!r}: the one there is, challenger.")
        run_study(out, QUICK if quick else FULL, workers, errors)
    except (ArmatureError, OSError) as error:
        _fail(error)
    except KeyboardInterrupt:
        errors.print(f"interrupted: what is finished is kept in {out}")
        raise typer.Exit(130) from None
    console.print(f"the tables: {out / 'tables.md'}\nthe picture: {out / 'ratios.png'}")


@app.command("list")
def list_names(what: Annotated[Listing, typer.Argument(help="What to list.")]) -> None:
    """Names that can be used in a problem's file, and the problems that are shipped."""
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
        console.print(f"{name:<{width}}  {description}", highlight=False, soft_wrap=True)


@app.command("compile")
def compile_kernels(
    structures: Annotated[
        list[str] | None, typer.Argument(help="Names such as `unimodal`; all unless given.")
    ] = None,
) -> None:
    """Fill the kernel cache, for an image or a node: later processes compile nothing."""
    from rich.progress import Progress

    from armature._compiling import notice
    from armature._compiling.files import directory, is_writable
    from armature.compiling import fill_cache
    from armature.errors import ArmatureError

    notice.silence()
    try:
        if not is_writable():
            raise ArmatureError(f"{directory()} can't be written: set ARMATURE_CACHE_DIR.")
        with Progress(console=Console(stderr=True)) as bar:
            task = bar.add_task("")
            compiled = fill_cache(
                structures or (),
                lambda title, done, steps: bar.update(
                    task, description=escape(title), completed=done, total=steps
                ),
            )
    except ArmatureError as error:
        _fail(error)
    console.print(
        f"{compiled.kernels} kernels were compiled; they are in {directory()}",
        soft_wrap=True,
        highlight=False,
    )


def main() -> None:
    """Run the command line."""
    app()
