"""The study's picture: what each wrong structure costs, and each true one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from armature.views.figure import (
    BLACK,
    BLUE,
    Drawing,
    checked_picture,
    new_drawing,
    save,
    styles_of,
)

TICKS = (0.3, 0.5, 1, 2, 5, 10, 30, 100)


def ratios_of(frame: pd.DataFrame, wrong: bool, reference: str) -> pd.DataFrame:
    """Mean regret of every policy over that of one, a row for each problem."""
    part = frame[(frame["part"] == "wrong") == wrong]
    means = part.pivot(index="case", columns="policy", values="mean")
    return means.div(means[reference], axis=0).loc[part["case"].unique()]


def premiums_of(frame: pd.DataFrame, alone: str, guarded: str) -> pd.Series[float]:
    """What a guard costs on each panel and group, in percent: geometric means over instances."""
    ratios = np.log(ratios_of(frame, False, alone)[guarded])
    group = frame.drop_duplicates("case").set_index("case")["group"]
    means = ratios.groupby(group.loc[ratios.index], sort=False).mean()
    return 100.0 * (np.exp(means) - 1.0)


def draw_cover(frame: pd.DataFrame, alone: str, guarded: str, reference: str) -> Drawing:
    """Left, wrong structures: the policy alone and guarded. Right, true ones: the premium."""
    wrong, true = ratios_of(frame, True, reference), premiums_of(frame, alone, guarded)
    picture = new_drawing(13.0, 1.4 + 0.22 * max(len(wrong), len(true)))
    left, right = picture.subplots(1, 2, width_ratios=[1.6, 1.0])
    places = range(len(wrong))
    left.hlines(places, wrong[guarded], wrong[alone], color="0.8", linewidth=1.5, zorder=1)
    for name, mark in ((alone, "o"), (guarded, "D")):
        colour = styles_of([name])[name]["color"] if name == alone else BLUE
        left.plot(wrong[name], places, mark, color=colour, markersize=6, label=name)
    left.axvline(1.0, color=BLACK, linewidth=1.0)
    left.axvline(2.5, color=BLACK, linewidth=0.8, linestyle=":")
    left.set_xscale("log")
    left.set_xticks(TICKS, [f"{x:g}" for x in TICKS])
    left.minorticks_off()
    left.set_xlabel(f"the structure is wrong: mean regret over {reference}'s")
    left.legend(loc="lower right", fontsize=8)
    right.hlines(range(len(true)), 0.0, true, color="0.8", linewidth=1.5, zorder=1)
    right.plot(true, range(len(true)), "D", color=BLUE, markersize=5)
    right.axvline(0.0, color=BLACK, linewidth=1.0)
    right.set_xlabel("the structure is true: premium, %")
    for axis, names in ((left, wrong.index), (right, true.index)):
        axis.set_yticks(range(len(names)), list(names), fontsize=8)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return picture


def plot_cover(frame: pd.DataFrame, alone: str, guarded: str, reference: str, path: Path) -> None:
    """Draw it into a file."""
    save(draw_cover(frame, alone, guarded, reference), [checked_picture(path)])
