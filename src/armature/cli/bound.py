"""`armature bound`: how little regret is possible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armature.cli import options
from armature.cli.terminal import complaints, failing

if TYPE_CHECKING:
    from armature.bounds import LowerBound
    from armature.structures.instance import Instance


def bound(
    spec: options.Spec,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Smaller gaps count as this one: the paper's perturbed value."),
    ] = None,
    as_json: options.AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it: a .png, .svg or .pdf file.")] = None,
    allow: options.Allow = None,
) -> None:
    """The lower bound of a problem: how little regret is possible.

    Prints the optimal pulls of each arm and the instances that are confused with this one.
    """
    working = complaints().status("working (a first run compiles)")
    with failing(""):
        from armature.bounds import lower_bound
        from armature.cli.terminal import print_bound
        from armature.experiments import load_instance

        if plot is not None:
            from armature.views.figure import checked_picture, plot_bound

            checked_picture(plot)
        with working:
            instance = load_instance(spec, options.allowed(allow))
            answer = lower_bound(instance, epsilon)
        if as_json:
            typer.echo(json.dumps(_as_data(instance, answer, epsilon), indent=2))
        else:
            print_bound(instance, answer)
        if plot is not None:
            plot_bound(instance, answer, plot, epsilon)


def _as_data(instance: Instance, answer: LowerBound, epsilon: float | None) -> dict[str, object]:
    best: dict[str, object] = {"best_arm": instance.best_arms[0]}
    if instance.structure.is_table:
        best = {"best_arms": list(instance.best_arms), "separately": answer.separately}
    return {
        "structure": type(instance.structure).__name__,
        "family": str(instance.family),
        "means": instance.means.tolist(),
        **best,
        "epsilon": epsilon,
        "value": answer.value,
        "gap": answer.gap,
        "unconstrained": answer.unconstrained,
        "pulls": answer.pulls.tolist(),
        "alternatives": [
            {"weight": a.weight, "means": a.means.tolist()} for a in answer.alternatives
        ],
    }
