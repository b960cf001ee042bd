"""The study's picture: what each wrong structure costs, and each true one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from armature.plotting import BLACK, Picture, checked_picture, new_picture, save, style_of

TICKS = (0.3, 0.5, 1, 2, 5, 10, 30, 100)


def ratios_of(frame: pd.DataFrame, wrong: bool, reference: str) -> pd.DataFrame:
    """Mean regret of every policy over that of one, a row for each problem."""
    part = frame[(frame["part"] == "wrong") == wrong]
    means = part.pivot(index="case", columns="policy", values="mean")
    return means.div(means[reference], axis=0).loc[part["case"].unique()]


def draw_cover(frame: pd.DataFrame, alone: str, guarded: str, reference: str) -> Picture:
    """Left, wrong structures: the policy alone and guarded. Right, true ones: the premium."""
    wrong = ratios_of(frame, True, reference)
    true = ratios_of(frame, False, alone)[guarded].sort_values()
    picture = new_picture(11.0, 1.4 + 0.22 * len(wrong))
    left, right = picture.subplots(1, 2, width_ratios=[2.2, 1.0])
    places = range(len(wrong))
    left.hlines(places, wrong[guarded], wrong[alone], color="0.8", linewidth=1.5, zorder=1)
    for name, mark in ((alone, "o"), (guarded, "D")):
        colour = style_of(name, 1)["color"] if name == alone else "#0072b2"
        left.plot(wrong[name], places, mark, color=colour, markersize=6, label=name)
    left.axvline(1.0, color=BLACK, linewidth=1.0)
    left.axvline(2.5, color=BLACK, linewidth=0.8, linestyle=":")
    left.set_xscale("log")
    left.set_xticks(TICKS, [f"{x:g}" for x in TICKS])
    left.minorticks_off()
    left.set_yticks(places, list(wrong.index), fontsize=8)
    left.invert_yaxis()
    left.set_xlabel(f"the structure is wrong: mean regret over {reference}'s")
    left.legend(loc="lower right", fontsize=8)
    right.plot(100.0 * (true - 1.0), range(len(true)), "D", color="#0072b2", markersize=4)
    right.axvline(0.0, color=BLACK, linewidth=1.0)
    right.set_yticks([])
    right.set_xlabel("the structure is true: premium, %")
    for axis in (left, right):
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return picture


def plot_cover(frame: pd.DataFrame, alone: str, guarded: str, reference: str, path: Path) -> None:
    """Draw it into a file."""
    save(draw_cover(frame, alone, guarded, reference), [checked_picture(path)])
