"""Pictures: what `curves` has computed is drawn here.

Figures are made without pyplot: no backend is chosen for the user, nothing has to be closed, and
what is returned is shown by a notebook.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from armature.bounds import LowerBound
from armature.errors import ArmatureError
from armature.storage.files import checked_path, write_bytes
from armature.structures.instance import Instance
from armature.views.curves import (
    ASYMPTOTIC,
    LOWER,
    WITHOUT,
    Array,
    BoundBars,
    RegretCurves,
    bound_bars,
    regret_curves,
)
from armature.views.looks import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    in_lines,
    legend_beside,
    shortened,
    styles_of,
)

LINES = {LOWER: (":", 1.6), WITHOUT: ("-.", 1.0)}  # dashes and width of a bound's line
StrPath = str | os.PathLike[str]


class Picture(Figure):
    """A figure that a notebook shows, whether or not pyplot is in use there."""

    def _repr_png_(self) -> bytes:
        return drawn(self, "png")


class Panel(NamedTuple):
    """One problem of a picture with several."""

    title: str
    instance: Instance
    rounds: Array
    regret: dict[str, Array]  # of each policy: (repetitions, rounds)


def new_picture(width: float, height: float) -> Picture:
    """An empty picture, so many inches wide and high."""
    picture = Picture(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(picture)
    return picture


def plot_bound(
    instance: Instance, bound: LowerBound, path: StrPath | None = None, epsilon: float | None = None
) -> Picture:
    """Draw means and confusing instances above, the optimal pulls below, into a PNG, SVG or PDF."""
    targets = [] if path is None else [checked_picture(path)]
    picture = draw_bound(bound_bars(instance, bound, epsilon))
    save(picture, targets)
    return picture


def draw_bound(bars: BoundBars) -> Picture:
    """The picture of a bound."""
    arms = np.arange(len(bars.means))
    picture = new_picture(max(6.0, min(14.0, 1.5 + 0.5 * len(arms))), 6.0)
    top, bottom = picture.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    for n, alternative in enumerate(bars.alternatives):
        top.plot(
            arms, alternative.means, "o--", fillstyle="none", zorder=2 + n, linewidth=1.2,
            color=(ORANGE, BLUE, GREEN, "#CC79A7")[n % 4], markersize=5,
            label=f"confusing instance, weight {alternative.weight:.3g}",
        )  # fmt: skip
    best = bars.best_arm
    top.plot(arms, bars.means, "o", color=BLACK, markersize=7, label="means", zorder=1)
    top.plot(
        best, bars.means[best], "*", color=BLACK, markersize=16, zorder=1, label=f"best arm: {best}"
    )
    top.set_ylabel("mean reward")
    top.set_title(f"{bars.title}: regret at least {bars.value:.4g} ln T in the end")
    with_it, without = f"V = {bars.value:.4g}", f"V = {bars.unconstrained:.4g}"
    columns = bottom.bar(
        arms - 0.2, bars.pulls, 0.4, color=BLUE, label=f"with the structure: {with_it}"
    )
    numbers = [f"{n:.3g}" if n > 1e-4 * max(bars.pulls) else "" for n in bars.pulls]
    bottom.bar_label(columns, numbers, fontsize=8)
    bottom.bar(
        arms + 0.2, bars.unconstrained_pulls, 0.4, color="#BBBBBB", label=f"without it: {without}"
    )
    bottom.set_ylabel("optimal pulls per ln T")
    bottom.set_xlabel("arm")
    bottom.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=min(len(arms), 20)))
    for axis in (top, bottom):
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
    return picture


def plot_regret(
    instance: Instance,
    rounds: Array,
    regret: Mapping[str, Array],
    paths: Sequence[StrPath] = (),
    title: str | None = None,
    band: float = 2.0,
) -> Picture:
    """Draw mean regret against rounds, on a logarithmic and a linear axis.

    The band is `band` standard errors of the mean to either side. Dotted and dash-dotted lines are
    the structural and the unconstrained lower bound, V ln t.
    """
    targets = [checked_picture(path) for path in paths]
    picture = draw_problem(regret_curves(instance, rounds, regret, band, title))
    save(picture, targets)
    return picture


def draw_problem(curves: RegretCurves) -> Picture:
    """The picture of one problem: its curves over ln t and over t."""
    picture = new_picture(11.0, 4.6)
    left, right = picture.subplots(1, 2, sharey=True)
    styles = styles_of([curve.name for curve in curves.curves])
    draw_regret(left, curves, styles)
    draw_regret(right, curves, styles)
    _logarithmic(left, curves)
    right.locator_params(axis="x", nbins=5)
    left.set_ylabel("mean regret")
    lines = left.get_lines()
    legend_beside(picture, lines, [line.get_label() for line in lines])
    title = f"{curves.title}, {curves.repetitions} repetitions"
    picture.suptitle(in_lines(title, 110, most=3), fontsize=11)
    if curves.bounds:
        picture.supxlabel(ASYMPTOTIC, fontsize=8, color="#444444")
    return picture


def plot_panels(panels: Sequence[Panel], paths: Sequence[StrPath], band: float) -> Picture:
    """Draw several problems in one picture, three in a row, with one legend for all."""
    targets = [checked_picture(path) for path in paths]
    problems = [
        regret_curves(panel.instance, panel.rounds, panel.regret, band, panel.title)
        for panel in panels
    ]
    picture = draw_problems(problems)
    save(picture, targets)
    return picture


def draw_problems(problems: Sequence[RegretCurves]) -> Picture:
    """The picture of several problems, over ln t."""
    columns = min(3, len(problems) + 1)
    rows = -(-(len(problems) + 1) // columns)  # the legend takes a place
    picture = new_picture(1.0 + 4.0 * columns, 3.3 * rows)
    places = list(picture.subplots(rows, columns, squeeze=False).flat)
    shown: dict[str, Any] = {}
    styles = styles_of(*([curve.name for curve in problem.curves] for problem in problems))
    for n, curves in enumerate(problems):
        axis = places[n]
        shown = draw_regret(axis, curves, styles) | shown
        _logarithmic(axis, curves)
        axis.set_title(in_lines(curves.title, 45, most=3), fontsize=10)
        if n % columns == 0:
            axis.set_ylabel("mean regret")
    for axis in places[len(problems) :]:
        axis.axis("off")
    _shared_legend(places[len(problems)], shown, styles)
    if any(curves.bounds for curves in problems):
        picture.supxlabel(ASYMPTOTIC, fontsize=9, color="#444444")
    return picture


def _shared_legend(
    place: Any, shown: Mapping[str, Any], styles: Mapping[str, dict[str, Any]]
) -> None:
    """One legend for several problems; policies that are never in one may look the same."""
    groups: dict[str, list[str]] = {}
    for name in sorted(shown, key=lambda name: name in LINES):
        look = name if name in LINES else str(styles[name])
        groups.setdefault(look, []).append(name)
    place.legend(
        [shown[names[0]] for names in groups.values()],
        [",\n".join(in_lines(name, most=3) for name in names) for names in groups.values()],
        loc="center left",
        frameon=False,
        fontsize=10,
        ncols=1 if len(groups) <= 12 else 2,
    )


def _logarithmic(axis: Any, curves: RegretCurves) -> None:
    axis.set_xscale("log")
    axis.set_xlim(left=max(1, curves.n_arms // 2))


def draw_regret(
    axis: Any, curves: RegretCurves, styles: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """The curves of one problem; what leaves the picture at the top is named there.

    The lines of policies and bounds are returned by their names.
    """
    rounds = curves.rounds
    shown: dict[str, Any] = {}
    for curve in curves.curves:
        style = styles[curve.name]
        (shown[curve.name],) = axis.plot(
            rounds, curve.mean, linewidth=1.8, label=curve.name, **style
        )
        axis.fill_between(rounds, curve.low, curve.high, alpha=0.18, lw=0, color=style["color"])
    for name, value in curves.bounds.items():
        dashes, width = LINES[name]
        (shown[name],) = axis.plot(
            rounds, value * np.log(rounds), color=BLACK, linestyle=dashes, linewidth=width,
            label=f"{name}, {value:.3g} ln t",
        )  # fmt: skip
    for n, curve in enumerate(curves.leaving):
        axis.text(
            0.02, 0.97 - 0.085 * n,
            f"{shortened(curve.name)} leaves: {curve.final:,.0f} in the end",
            color=shown[curve.name].get_color(), fontsize=8, transform=axis.transAxes, va="top",
            bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip
    axis.set_ylim(0.0, curves.top)
    axis.set_xlabel("round t")
    axis.grid(alpha=0.25, linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    return shown


def checked_picture(path: StrPath) -> Path:
    """The path of a picture that can be written."""
    target = checked_path(path)
    if target.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ArmatureError(f"{target.name!r} must end in .png, .svg or .pdf.")
    if not target.parent.is_dir():
        raise ArmatureError(f"{str(target)!r}: there is no folder {str(target.parent)!r}.")
    return target


def save(picture: Figure, paths: Sequence[Path]) -> None:
    """Write a picture to files, each whole or not at all."""
    for path in paths:
        write_bytes(path, drawn(picture, path.suffix.lower().removeprefix(".")))


def drawn(picture: Figure, suffix: str) -> bytes:
    """The content of a picture's file: the same, however often it is drawn."""
    content = io.BytesIO()
    engine = picture.get_layout_engine()
    for axis in picture.axes:  # the layout begins from where panels are, and rounds
        spec = axis.get_subplotspec()
        if spec is not None:
            axis.set_subplotspec(spec)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a font need not have every script
        try:
            picture.draw_without_rendering()
            picture.set_layout_engine("none")  # which has done its slow work
            picture.savefig(content, format=suffix, dpi=150)
        finally:
            picture.set_layout_engine(engine)
    return content.getvalue()
