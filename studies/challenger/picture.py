"""The study's own pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from armature import Results
from armature.views.figure import (
    BLACK,
    BLUE,
    DASHES,
    GREEN,
    STYLES,
    Drawing,
    checked_picture,
    new_drawing,
    save,
    styles_of,
)

MARKS = "osD^v<>PX*hpd8"
SHARED = (BLACK, "#B2182B", BLUE, GREEN, "#7F3C8D")  # a colour for each policy
TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50)


def group_ratios(cases: pd.DataFrame, policy: str) -> pd.DataFrame:
    """For each group of problems, other policies' mean regret over that of one: geometric means."""
    means = cases.pivot(index="case", columns="policy", values="mean")
    ratios = np.log(means.div(means[policy], axis=0).drop(columns=policy))
    group = cases.drop_duplicates("case").set_index("case")["group"]
    names = [name for name in STYLES if name in ratios.columns]
    names += [name for name in ratios.columns if name not in STYLES]  # with options of their own
    return pd.DataFrame(np.exp(ratios[names].groupby(group).mean().reindex(group.unique())))


def draw_ratios(ratios: pd.DataFrame, policy: str) -> Drawing:
    """A row for each group, a mark for each other policy."""
    groups = list(ratios.index)
    picture = new_drawing(10.5, 1.6 + 0.3 * len(groups))
    axis = picture.subplots()
    styles = styles_of(list(ratios.columns))
    for n, name in enumerate(ratios.columns):
        colour, mark = styles[name]["color"], MARKS[n % len(MARKS)]
        axis.plot(
            ratios[name], range(len(groups)), mark, color=colour, label=name,
            markersize=5.5, alpha=0.9, linestyle="none",
        )  # fmt: skip
    axis.axvline(1.0, color=BLACK, linewidth=1.0)
    axis.set_xscale("log")
    axis.set_xticks(TICKS, [f"{x:g}" for x in TICKS])
    axis.minorticks_off()
    least, most = np.nanmin(ratios.to_numpy()), np.nanmax(ratios.to_numpy())
    axis.set_xlim(min(0.6, 0.95 * float(least)), min(60.0, max(1.2, 1.1 * float(most))))
    axis.set_yticks(range(len(groups)), groups, fontsize=7)
    axis.invert_yaxis()
    axis.set_xlabel(f"mean regret over {policy}'s: to the right of 1, {policy} does better")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    picture.legend(loc="outside right center", frameon=False, fontsize=8)
    return picture


def plot_ratios(cases: pd.DataFrame, policy: str, path: Path) -> None:
    """Draw, for each group of problems, other policies' mean regret over that of one policy."""
    save(draw_ratios(group_ratios(cases, policy), policy), [checked_picture(path)])


def draw_shares(results: Results, value: float) -> Drawing:
    """Mean regret of every policy over ln t, two standard errors about it, and V ln t."""
    picture = new_drawing(8.5, 4.2)
    axis = picture.subplots()
    rounds = results.checkpoints
    for name, colour, dash in zip(results.names, SHARED, DASHES[: len(SHARED)], strict=True):
        regret = results.regret(name)
        mean = regret.mean(axis=0)
        error = 2.0 * regret.std(axis=0, ddof=1) / np.sqrt(len(regret))
        axis.plot(rounds, mean, color=colour, linestyle=dash, linewidth=1.8, label=name)
        axis.fill_between(rounds, mean - error, mean + error, alpha=0.15, lw=0, color=colour)
    label = f"lower bound, {value:.2g} ln t"
    axis.plot(rounds, value * np.log(rounds), ":", color=BLACK, linewidth=1.6, label=label)
    axis.set_xscale("log")
    axis.set_xlim(1.0, results.horizon)
    axis.set_ylim(bottom=0.0)
    axis.set_xlabel("round t")
    axis.set_ylabel("mean regret")
    axis.grid(alpha=0.25, linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    picture.legend(loc="outside right center", frameon=False, fontsize=9)
    return picture


def plot_shares(results: Results, value: float, path: Path) -> None:
    """Draw it into a file."""
    save(draw_shares(results, value), [checked_picture(path)])
