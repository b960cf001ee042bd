"""Segments side by side: small charts with the same axes, and one legend for all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from armature.structures.instance import Instance
from armature.views.bandit_charts import arms_chart, most_pulls, pulls_chart, range_of
from armature.views.chart import Chart, Values, share, short
from armature.views.experiment_charts import (
    ASYMPTOTIC,
    curves_of,
    in_a_grid,
    looks_of,
    regret_chart,
    regret_curves,
)
from armature.views.figure import (
    Drawing,
    StrPath,
    draw,
    in_lines,
    legend_beside,
    new_drawing,
    save,
)
from armature.views.picture import Picture

ACROSS = 4  # segments beside each other
HEIGHTS = (3.0, 1.8)  # inches: of the arms' chart, of the pulls' chart


def segment_charts(pictures: Mapping[Hashable, Picture]) -> list[tuple[Chart, Chart]]:
    """For each segment its arms and its pulls, on the same scales."""
    seen = [shown.arms for shown in pictures.values() if shown.arms.n_seen]
    ends = [range_of(arms) for arms in seen] or [(0.0, 1.0)]
    span = min(low for low, _ in ends), max(high for _, high in ends)
    most = max(most_pulls(shown.arms, shown.target) for shown in pictures.values())
    found = []
    for name, shown in pictures.items():
        rewards = "1 reward" if shown.rounds == 1 else f"{short(shown.rounds)} rewards"
        title = f"{name}, {rewards}"
        above = replace(arms_chart(shown, span), title=title)
        found.append((above, pulls_chart(shown.arms, shown.target, most)))
    return found


def plot_segments(pictures: Mapping[Hashable, Picture], path: StrPath | None = None) -> Drawing:
    """Draw the belief about every segment; into a PNG, SVG or PDF if wanted."""
    charts = segment_charts(pictures)
    columns = min(ACROSS, len(charts))
    bands = -(-len(charts) // columns)
    arms = charts[0][0].x.high
    width = max(2.2, min(4.5, 0.7 + 0.28 * arms))
    drawing = new_drawing(max(8.0, 2.6 + width * columns), sum(HEIGHTS) * bands)
    panels = drawing.subplots(2 * bands, columns, squeeze=False, height_ratios=HEIGHTS * bands)
    shown: dict[str, Any] = {}
    for n, pair in enumerate(charts):
        band, column = divmod(n, columns)
        _draw_one(panels[2 * band : 2 * band + 2, column], pair, column == 0, shown)
    for axes in panels[-2:, len(charts) - (bands - 1) * columns :].flat:
        axes.axis("off")
    del shown["pulled"]  # which the axis says
    labels = [_label(look, handle) for look, handle in shown.items()]
    legend_beside(drawing, shown.values(), labels)
    return save(drawing, [] if path is None else [path])


def _draw_one(panels: Any, charts: tuple[Chart, Chart], first: bool, shown: dict[str, Any]) -> None:
    """The two charts of a segment; only those of the first column have numbers beside them."""
    for axes, chart in zip(panels, charts, strict=True):
        for look, handle in draw(axes, chart).items():
            shown.setdefault(look, handle)
        if not first:
            axes.set_ylabel("")
            axes.tick_params(labelleft=False)
    panels[0].set_title(in_lines(charts[0].title, 30, most=2), fontsize=10)
    panels[0].tick_params(labelbottom=False)


def _label(look: str, handle: Any) -> str:
    """The name of a mark in the legend, in whichever segment."""
    return "nearest alternative" if look == "alternative" else str(handle.get_label())


def regret_charts(
    instance: Instance,
    rounds: Values,
    regret: Mapping[str, Values],
    parts: Mapping[Hashable, Mapping[str, Values]],
    band: float,
) -> list[Chart]:
    """The regret in all beside the lower bounds, then that in each segment, on one scale."""
    whole = regret_curves(instance, rounds, regret, band, "all segments")
    leaving = {curve.name for curve in whole.leaving}
    charts = [regret_chart(whole, log=True)]
    found = {name: curves_of(values, band) for name, values in parts.items()}
    highest = [float(c.mean.max()) for own in found.values() for c in own if c.name not in leaving]
    top = 1.06 * max(*highest, 1e-9)
    for frequency, (name, curves) in zip(instance.frequencies, found.items(), strict=True):
        title = f"{name}, {share(frequency)} of the arrivals"
        part = replace(whole, title=title, curves=curves, bounds={}, top=top)
        charts.append(regret_chart(part, log=False))
    return charts


def plot_regret_of_segments(
    instance: Instance,
    rounds: Values,
    regret: Mapping[str, Values],
    parts: Mapping[Hashable, Mapping[str, Values]],
    paths: Sequence[StrPath] = (),
    band: float = 2.0,
) -> Drawing:
    """Draw mean regret against rounds, in all and in each segment."""
    charts = regret_charts(instance, rounds, regret, parts, band)
    looks = looks_of(list(regret))
    drawing, _, shown = in_a_grid(charts, looks, (3.6, 3.2), (2.8, 0.5), columns=ACROSS)
    legend_beside(drawing, shown.values(), [str(one.get_label()) for one in shown.values()])
    drawing.supxlabel(ASYMPTOTIC, fontsize=8, color="#444444")
    return save(drawing, paths)
