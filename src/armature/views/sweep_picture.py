"""Regret in the end against what was swept: curves are worked out first, and then drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from armature.views.looks import legend_beside, styles_of
from armature.views.plotting import checked_picture, new_picture, save

MOST_PANELS = 12
LOGARITHMIC = 20.0  # a range of values wider than this factor gets a logarithmic axis


@dataclass(frozen=True)
class Curve:
    """Mean regret of a policy and its standard error over the values of the swept key."""

    policy: str
    positions: list[float]
    regret: list[float]
    error: list[float]


@dataclass(frozen=True)
class SweepPanel:
    """The curves with all other keys fixed."""

    title: str
    curves: list[Curve]


@dataclass(frozen=True)
class SweepPicture:
    """What is drawn: a panel for each combination of the other keys, on the same axis."""

    key: str
    ticks: dict[float, str]  # the places of values that are not numbers
    logarithmic: bool
    panels: list[SweepPanel]
    left_out: int  # panels for which there is no room


def sweep_picture(table: pd.DataFrame, keys: Sequence[str]) -> SweepPicture:
    """The curves of a table with a row for each point and policy; `curve` says whose they are.

    Along the axis goes the key with the most values, numbers first.
    """
    values = {key: list(dict.fromkeys(table[key])) for key in keys}
    key = max(keys, key=lambda key: (_are_numbers(values[key]), len(values[key])))
    numbers = _are_numbers(values[key])
    place = {v: float(v) if numbers else float(n) for n, v in enumerate(values[key])}
    others = [other for other in keys if other != key]
    groups = list(table.groupby(others, sort=False)) if others else [((), table)]
    panels = []
    for fixed, rows in groups[:MOST_PANELS]:
        title = ", ".join(f"{k} = {v}" for k, v in zip(others, fixed, strict=True))
        panels.append(SweepPanel(title, [_curve(name, part, key, place) for name, part in
                                         rows.groupby("curve", sort=False)]))  # fmt: skip
    low, high = min(place.values()), max(place.values())
    return SweepPicture(
        key,
        {} if numbers else {position: str(value)[:24] for value, position in place.items()},
        numbers and low > 0.0 and high > LOGARITHMIC * low,
        panels,
        max(0, len(groups) - MOST_PANELS),
    )


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _curve(name: Any, rows: pd.DataFrame, key: str, place: dict[Any, float]) -> Curve:
    points = sorted(
        (place[value], float(mean), float(error))
        for value, mean, error in zip(
            rows[key], rows["regret"], rows["standard_error"].fillna(0.0), strict=True
        )
    )
    positions, regret, error = (list(column) for column in zip(*points, strict=True))
    return Curve(str(name), positions, regret, error)


def plot_sweep(table: pd.DataFrame, keys: Sequence[str], path: Path) -> None:
    """Draw regret in the end against what was swept; bars are two standard errors."""
    target = checked_picture(path)
    picture = sweep_picture(table, keys)
    columns = min(3, len(picture.panels))
    rows = -(-len(picture.panels) // columns)
    figure = new_picture(2.4 + 4.2 * columns, 0.8 + 3.4 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    places = list(grid.flat)
    styles = styles_of(*([curve.policy for curve in panel.curves] for panel in picture.panels))
    names: dict[str, Any] = {}
    for axis, panel in zip(places, picture.panels, strict=False):
        for curve in panel.curves:
            bars = axis.errorbar(
                curve.positions, curve.regret, [2.0 * e for e in curve.error], marker="o",
                markersize=4.0, linewidth=1.6, capsize=2.5, **styles[curve.policy],
            )  # fmt: skip
            names.setdefault(curve.policy, bars)
        _finish(axis, picture, panel.title)
    for axis in places[len(picture.panels) :]:
        axis.axis("off")
    legend_beside(figure, names.values(), names)
    more = f" ({picture.left_out} more panels are in the table)" if picture.left_out else ""
    figure.suptitle(f"regret in the end against {picture.key}{more}", fontsize=11)
    save(figure, [target])


def _finish(axis: Any, picture: SweepPicture, title: str) -> None:
    if picture.logarithmic:
        axis.set_xscale("log")
    if picture.ticks:
        axis.set_xticks(list(picture.ticks), list(picture.ticks.values()), rotation=20, fontsize=8)
    axis.set_ylim(bottom=0.0)
    axis.set_title(title, fontsize=9, parse_math=False)
    axis.set_xlabel(picture.key, parse_math=False)
    axis.set_ylabel("mean regret")
    axis.grid(alpha=0.25, linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
