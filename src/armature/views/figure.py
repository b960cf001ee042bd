"""The same picture by Matplotlib, for notebooks and papers: `bandit.plot()`."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator

from armature.views.looks import BLUE, in_lines, shortened
from armature.views.picture import Arms, Picture
from armature.views.plotting import Picture as Drawn
from armature.views.plotting import StrPath, checked_picture, new_picture, save

INK, SOFT, OTHER = "#1c1b19", "#8a857b", "#b5480f"
ARROW = Path(  # up, as on the page
    [(0.0, -1.0), (0.0, 1.0), (-0.6, 0.3), (0.0, 1.0), (0.6, 0.3)],
    [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO, Path.LINETO],
)
LABELS = 24  # arms, beyond which not every one is named


def plot_belief(shown: Picture, path: StrPath | None = None) -> Drawn:
    """Means, fit and nearest alternative above, pulls below; into a PNG, SVG or PDF if wanted."""
    targets = [] if path is None else [checked_picture(path)]
    arms = shown.arms
    drawing = new_picture(max(6.0, min(14.0, 2.5 + 0.5 * len(arms))), 6.0)
    top, bottom = drawing.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    draw_arms(top, arms)
    _draw_pulls(bottom, shown)
    every = max(1, -(-len(arms) // LABELS))
    places = list(range(0, len(arms), every))
    names = [shortened(arms.names[k]) for k in places]
    slanted = max(map(len, names)) > 6
    bottom.xaxis.set_major_locator(FixedLocator(places))
    bottom.set_xticklabels(
        names, rotation=40 if slanted else 0, ha="right" if slanted else "center"
    )
    for axis in (top, bottom):
        if axis.get_legend_handles_labels()[0]:
            axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
    save(drawing, targets)
    return drawing


def draw_arms(axis: Any, arms: Arms) -> None:
    """Means with their intervals, the fit, and the nearest alternative."""
    x, seen = np.arange(len(arms)), arms.pulls > 0.0
    line = "-" if arms.connected else ""
    axis.set_ylabel("mean reward")
    if not seen.any():
        axis.set_title("no rewards yet")
        return
    known = seen & np.isfinite(arms.low) & np.isfinite(arms.high)
    ends = np.column_stack([arms.low, arms.high, np.full(len(arms), np.nan)])  # nan: a gap
    axis.plot(np.repeat(x[known], 3), ends[known].ravel(), "-", color=SOFT, linewidth=1.5)
    if arms.alternative is not None and arms.rival is not None:
        axis.plot(
            x, arms.alternative, marker="_", markersize=11, linestyle="--" if line else "",
            color=OTHER,
            label="nearest alternative:\n" + in_lines(f"{arms.names[arms.rival]} is best", 24),
        )  # fmt: skip
    axis.plot(x, arms.fit, marker="_", markersize=11, linestyle=line, color=BLUE, label="fit")
    axis.plot(x[seen], arms.means[seen], "o", color=INK, markersize=6, label="mean, with interval")
    axis.set_title(in_lines(f"best so far: {arms.names[arms.leader]}", 60))


def _draw_pulls(axis: Any, shown: Picture) -> None:
    arms, x = shown.arms, np.arange(len(shown.arms))
    axis.set_yscale("symlog", linthresh=1.0)
    axis.vlines(x, 0.0, arms.pulls, color="#d8d3c8", linewidth=4)
    axis.plot(x, arms.pulls, "o", color=INK, markersize=6, label="pulls so far")
    axis.set_ylabel("pulls")
    top = 2.0 * max(10.0, float(arms.pulls.sum()))
    axis.set_ylim(0.0, top)
    if shown.target is None:
        return
    asked = np.nan_to_num(shown.target.pulls)
    inside, above = (asked > 0.0) & (asked <= top), asked > top
    rings = {"marker": "o", "markersize": 11, "fillstyle": "none"}
    arrows = {"marker": ARROW, "markersize": 12, "fillstyle": "none", "clip_on": False}
    if inside.any():
        axis.plot(
            x[inside], asked[inside], linestyle="", color=BLUE, **rings,
            label="what the lower\nbound asks for",
        )  # fmt: skip
    if above.any():
        axis.plot(
            x[above], np.full(int(above.sum()), 0.93), linestyle="", color=BLUE, **arrows,
            transform=axis.get_xaxis_transform(),
            label="the lower bound asks\nfor more than is shown",
        )  # fmt: skip
