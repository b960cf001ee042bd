"""Pictures. What is drawn is computed elsewhere."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from armature.bounds import LowerBound, bound_or_none, lower_bound
from armature.errors import ArmatureError
from armature.files import replacing
from armature.instance import Instance
from armature.structures import Unconstrained

if TYPE_CHECKING:
    import pandas as pd

# Okabe and Ito's colours, which stay apart for colour-blind readers and in print.
BLACK, ORANGE, BLUE, GREEN = "#000000", "#E69F00", "#0072B2", "#009E73"
MOST_ALTERNATIVES = 4
COLOURS = (BLUE, "#D55E00", GREEN, "#CC79A7", ORANGE, "#56B4E9", "#7F3C8D", "#8C6D31", "#666666")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
STYLES: dict[str, tuple[str, int]] = {  # a colour and one of DASHES
    "SPk": (BLUE, 0),
    "SPLambda": ("#56B4E9", 1),
    "OSSB": ("#D55E00", 0),
    "UCB": ("#666666", 0),
    "StructuredUCB": (GREEN, 1),
    "CATSE": ("#CC79A7", 3),
    "EndOfOptimism": ("#CC79A7", 3),
    "OSUB": ("#CC79A7", 3),
    "SparseUCB": ("#CC79A7", 3),
    "LinUCB": (ORANGE, 2),
    "KLUCB": ("#666666", 2),
    "Challenger": ("#B2182B", 0),
    "IMED": ("#8C6D31", 1),
    "ThompsonSampling": ("#8C6D31", 2),
    "ProjectedThompson": ("#7F3C8D", 0),
    "MINTS": ("#7F3C8D", 2),
}
BOUNDS = ("lower bound", "without the structure")

Array = npt.NDArray[Any]


class Panel(NamedTuple):
    """One problem of a picture with several."""

    title: str
    instance: Instance
    rounds: Array
    regret: dict[str, Array]  # of each policy: (repetitions, rounds)


def plot_bound(
    instance: Instance, bound: LowerBound, path: str | Path, epsilon: float | None = None
) -> None:
    """Draw means and confusing instances above, the optimal pulls below, into a PNG, SVG or PDF."""
    target = checked_picture(path)
    pyplot = _pyplot()
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
    save(figure, [target])


def plot_regret(
    instance: Instance,
    rounds: Array,
    regret: dict[str, Array],
    paths: Sequence[str | os.PathLike[str]] = (),
    title: str | None = None,
    band: float = 2.0,
) -> Any:
    """Draw mean regret against rounds, on a logarithmic and a linear axis.

    The band is `band` standard errors of the mean to either side. Dotted and dash-dotted lines are
    the structural and the unconstrained lower bound, V ln t.
    """
    targets = [checked_picture(path) for path in paths]
    figure, axes = _pyplot().subplots(
        1, 2, figsize=(11.0, 4.6), sharey=True, layout="constrained", width_ratios=[1, 1]
    )
    draw_regret(axes[0], instance, rounds, regret, band)
    axes[0].set_xscale("log")
    axes[0].set_xlim(left=max(1, instance.n_arms // 2))
    draw_regret(axes[1], instance, rounds, regret, band)
    axes[1].locator_params(axis="x", nbins=5)
    axes[0].set_ylabel("mean regret")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9)
    repetitions = len(next(iter(regret.values())))
    name = title or f"{type(instance.structure).__name__}, {instance.n_arms} arms"
    figure.suptitle(f"{name}, {repetitions} repetitions", fontsize=11)
    if targets:
        save(figure, targets)
    return figure


def plot_panels(panels: Sequence[Panel], paths: Sequence[str | Path], band: float) -> None:
    """Draw several problems in one picture, three in a row, with one legend for all."""
    targets = [checked_picture(path) for path in paths]
    columns = min(3, len(panels) + 1)
    rows = -(-(len(panels) + 1) // columns)  # the legend takes a place
    figure, grid = _pyplot().subplots(
        rows,
        columns,
        figsize=(1.0 + 4.0 * columns, 3.3 * rows),
        layout="constrained",
        squeeze=False,
    )
    places = list(grid.flat)
    shown: dict[str, Any] = {}
    for n, panel in enumerate(panels):
        axis = places[n]
        draw_regret(axis, panel.instance, panel.rounds, panel.regret, band)
        axis.set_xscale("log")
        axis.set_xlim(left=max(1, panel.instance.n_arms // 2))
        axis.set_title(panel.title, fontsize=10)
        if n % columns == 0:
            axis.set_ylabel("mean regret")
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True):
            shown.setdefault(label.partition(",")[0], line)
    names: dict[str, list[str]] = {}  # policies that are never in one panel may look the same
    for name in sorted(shown, key=lambda name: name.startswith(BOUNDS)):
        look = style_of(name, 0) if not name.startswith(BOUNDS) else name
        names.setdefault(str(look), []).append(name)
    for axis in places[len(panels) :]:
        axis.axis("off")
    places[len(panels)].legend(
        [shown[group[0]] for group in names.values()],
        [",\n".join(group) for group in names.values()],
        loc="center left",
        frameon=False,
        fontsize=10,
        ncols=1 if len(names) <= 12 else 2,
    )
    save(figure, targets)


def draw_regret(
    axis: Any, instance: Instance, rounds: Array, regret: dict[str, Array], band: float
) -> None:
    """The curves of one problem; what leaves the picture at the top is named there."""
    bound = bound_or_none(instance)
    known = (0.0, 0.0) if bound is None else (bound.value, bound.unconstrained)
    log = np.log(rounds)
    top = 1.2 * max(known) * log[-1] if bound is not None else math.inf
    if "UCB" in regret:
        top = max(top, 2.0 * regret["UCB"][:, -1].mean())
    means = {name: values.mean(axis=0) for name, values in regret.items()}
    top = min(top, 1.06 * max(float(mean.max()) for mean in means.values()))
    top = max(top, 1.06 * known[0] * log[-1], 1.3 * min(mean[-1] for mean in means.values()))
    leaving = []
    for n, (name, values) in enumerate(regret.items()):
        style, mean = style_of(name, n), means[name]
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        axis.plot(rounds, mean, linewidth=1.8, label=name, **style)
        axis.fill_between(
            rounds, mean - band * error, mean + band * error, alpha=0.18, lw=0, color=style["color"]
        )
        if mean[-1] > top:
            leaving.append((name, mean[-1], style["color"]))
    if bound is not None:
        axis.plot(
            rounds, bound.value * log, color=BLACK, linestyle=":", linewidth=1.6,
            label=f"{BOUNDS[0]}, {bound.value:.3g} ln t",
        )  # fmt: skip
    if bound is not None and not isinstance(instance.structure, Unconstrained):
        axis.plot(
            rounds, bound.unconstrained * log, color=BLACK, linestyle="-.", linewidth=1.0,
            label=f"{BOUNDS[1]}, {bound.unconstrained:.3g} ln t",
        )  # fmt: skip
    for n, (name, final, colour) in enumerate(leaving):
        axis.text(
            0.02, 0.97 - 0.085 * n, f"{name} leaves: {final:,.0f} in the end",
            color=colour, fontsize=8, transform=axis.transAxes, va="top",
            bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip
    axis.set_ylim(0.0, top)
    axis.set_xlabel("round t")
    axis.grid(alpha=0.25, linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)


def plot_ratios(cases: pd.DataFrame, policy: str, path: str | Path) -> None:
    """Draw, for each group of problems, other policies' mean regret over that of one policy."""
    target = checked_picture(path)
    means = cases.pivot(index="case", columns="policy", values="mean")
    ratios = means.div(means[policy], axis=0).drop(columns=policy)
    group = cases.drop_duplicates("case").set_index("case")["group"]
    names = [n for n in STYLES if n in ratios.columns]
    groups = list(dict.fromkeys(group))
    figure, axis = _pyplot().subplots(figsize=(9.0, 1.6 + 0.3 * len(groups)), layout="constrained")
    marks = "osD^v<>PX*hpd8"
    for n, name in enumerate(names):
        logs = np.log(ratios[name]).groupby(group).mean().reindex(groups)
        colour = style_of(name, n)["color"]
        axis.plot(
            np.exp(logs), range(len(groups)), marks[n % len(marks)], color=colour, label=name,
            markersize=5.5, alpha=0.9, linestyle="none",
        )  # fmt: skip
    axis.axvline(1.0, color=BLACK, linewidth=1.0)
    axis.set_xscale("log")
    ticks = [0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50]
    axis.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axis.minorticks_off()
    axis.set_xlim(0.6, min(60.0, 1.1 * float(np.nanmax(ratios.to_numpy()))))
    axis.set_yticks(range(len(groups)), groups, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel(f"mean regret over {policy}'s: to the right of 1, {policy} does better")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    save(figure, [target])


def style_of(policy: str, position: int) -> dict[str, Any]:
    """The colour and dashes of a policy: the same in every picture for those of the library."""
    kind, options, _ = policy.partition("(")
    colour, dash = STYLES.get(kind, (COLOURS[position % len(COLOURS)], position % len(DASHES)))
    return {"color": colour, "linestyle": DASHES[(dash + bool(options)) % len(DASHES)]}


def checked_picture(path: str | os.PathLike[str]) -> Path:
    """The path of a picture that can be written."""
    target = Path(path)
    if target.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ArmatureError(f"{target.name!r} must end in .png, .svg or .pdf.")
    return target


def save(figure: Any, paths: Sequence[Path]) -> None:
    """Write a picture to files, each whole or not at all, and close it."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # which has done its slow work
    for path in paths:
        with replacing(path) as beside:
            figure.savefig(beside, dpi=150)
    _pyplot().close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
