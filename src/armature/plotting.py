"""Pictures. What is drawn is computed elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from armature.bounds import LowerBound, lower_bound
from armature.errors import ArmatureError
from armature.instance import Instance
from armature.structures import Unconstrained

# Okabe and Ito's colours, which stay apart for colour-blind readers and in print.
BLACK, ORANGE, BLUE, GREEN = "#000000", "#E69F00", "#0072B2", "#009E73"
MOST_ALTERNATIVES = 4
COLOURS = (BLUE, "#D55E00", GREEN, "#CC79A7", ORANGE, "#56B4E9", "#7F3C8D", "#8C6D31", "#666666")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))


def plot_bound(
    instance: Instance, bound: LowerBound, path: str | Path, epsilon: float | None = None
) -> None:
    """Draw means and confusing instances above, the optimal pulls below, into a PNG, SVG or PDF."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ArmatureError(f"{path.name!r} must end in .png, .svg or .pdf.")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator

    arms = np.arange(instance.n_arms)
    width = max(6.0, min(14.0, 1.5 + 0.5 * instance.n_arms))
    figure, (top, bottom) = pyplot.subplots(
        2, 1, sharex=True, figsize=(width, 6.0), height_ratios=[3, 2], layout="constrained"
    )
    for n, alternative in enumerate(bound.alternatives[:MOST_ALTERNATIVES]):
        label = f"confusing instance, weight {alternative.weight:.3g}"
        style = dict(color=(ORANGE, BLUE, GREEN, "#CC79A7")[n], linewidth=1.2, markersize=5)
        top.plot(
            arms, alternative.means, "o--", fillstyle="none", label=label, zorder=2 + n, **style
        )
    top.plot(arms, instance.means, "o", color=BLACK, markersize=7, label="means", zorder=1)
    top.plot(
        instance.best_arm,
        instance.means[instance.best_arm],
        "*",
        color=BLACK,
        markersize=16,
        label=f"best arm: {instance.best_arm}",
        zorder=1,
    )
    top.set_ylabel("mean reward")
    top.set_title(f"{type(instance.structure).__name__}: regret at least {bound.value:.4g} ln T")
    top.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    nothing_known = Instance(Unconstrained(instance.n_arms), instance.means, instance.family)
    others = lower_bound(nothing_known, epsilon)
    with_it, without = f"V = {bound.value:.4g}", f"V = {others.value:.4g}"
    bars = bottom.bar(
        arms - 0.2, bound.pulls, 0.4, color=BLUE, label=f"with the structure: {with_it}"
    )
    bottom.bar_label(
        bars, [f"{n:.3g}" if n > 1e-4 * max(bound.pulls) else "" for n in bound.pulls], fontsize=8
    )
    bottom.bar(arms + 0.2, others.pulls, 0.4, color="#BBBBBB", label=f"without it: {without}")
    bottom.set_ylabel("optimal pulls per ln T")
    bottom.set_xlabel("arm")
    bottom.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=min(instance.n_arms, 20)))
    bottom.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
    partial = path.with_name(f".{path.name}.partial{path.suffix}")
    try:
        figure.savefig(partial, dpi=150)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
        pyplot.close(figure)


def plot_regret(
    instance: Instance,
    rounds: np.ndarray[Any, Any],
    regret: dict[str, np.ndarray[Any, Any]],
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw mean regret against rounds, on a logarithmic and a linear axis.

    The band is two standard errors of the mean to either side. Dotted and dash-dotted lines are
    the structural and the unconstrained lower bound, V ln t.
    """
    target = None if path is None else Path(path)
    if target is not None and target.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ArmatureError(f"{target.name!r} must end in .png, .svg or .pdf.")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, 2, figsize=(11.0, 4.6), sharey=True, layout="constrained", width_ratios=[1, 1]
    )
    bound = lower_bound(instance)
    for axis in axes:
        for n, (name, values) in enumerate(regret.items()):
            mean = values.mean(axis=0)
            error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            style = dict(color=COLOURS[n % len(COLOURS)])
            dash = DASHES[(n // len(COLOURS) + n) % len(DASHES)]
            axis.plot(rounds, mean, linestyle=dash, linewidth=1.8, label=name, **style)
            axis.fill_between(rounds, mean - 2 * error, mean + 2 * error, alpha=0.18, lw=0, **style)
        log = np.log(rounds)
        axis.plot(
            rounds, bound.value * log, color=BLACK, linestyle=":", linewidth=1.6,
            label=f"lower bound, {bound.value:.3g} ln t",
        )  # fmt: skip
        if not isinstance(instance.structure, Unconstrained):
            axis.plot(
                rounds, bound.unconstrained * log, color=BLACK, linestyle="-.", linewidth=1.0,
                label=f"without the structure, {bound.unconstrained:.3g} ln t",
            )  # fmt: skip
        axis.set_xlabel("round t")
        axis.grid(alpha=0.25, linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_xscale("log")
    axes[0].set_xlim(left=max(1, instance.n_arms // 2))
    axes[0].set_ylim(bottom=0.0)
    axes[0].set_ylabel("mean regret")
    axes[1].locator_params(axis="x", nbins=5)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9)
    repetitions = len(next(iter(regret.values())))
    figure.suptitle(
        f"{type(instance.structure).__name__}, {instance.n_arms} arms, {repetitions} repetitions",
        fontsize=11,
    )
    if target is not None:
        figure.savefig(target, dpi=150)
        pyplot.close(figure)
    return figure
