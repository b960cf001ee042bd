"""The arms: means, intervals, the fit and the nearest alternative."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from armature.kernels.arrays import Floats
from armature.views.axes import grid, grid_values
from armature.views.columns import bar, group_bands, kind_of, label_of, labels_under, middle, radius
from armature.views.picture import Arms, Picture
from armature.views.svg import (
    Scale,
    joined,
    number,
    path_of,
    percent,
    picture,
    pieces_of,
    plain,
    stretched,
    tag,
    tick_texts,
)

HEIGHT = 280.0
NONE = Markup()


def arms_chart(shown: Picture) -> Markup:
    """Means with their intervals, the structure's fit, and the nearest alternative, dashed."""
    arms = shown.arms
    scale = Scale(*_range_of(arms), HEIGHT)
    parts = [group_bands(arms, HEIGHT), grid(scale, tick_texts(grid_values(scale)))]
    parts.append(_columns(arms, scale))
    if arms.alternative is not None and arms.n_seen:
        parts.append(_curve(arms, arms.alternative, scale, "alternative"))
    if arms.n_seen:
        parts.append(_curve(arms, arms.fit, scale, "fit"))
    else:
        words = tag("text", "no rewards yet", class_="empty", x="50%", y=HEIGHT / 2.0,
                    text_anchor="middle")  # fmt: skip
        parts.append(words)
    parts.append(_marks(arms, scale))
    parts.append(labels_under(arms, HEIGHT))
    return picture(HEIGHT, label_of(arms), *parts, kind=kind_of("chart arms", arms))


def small_chart(shown: Picture) -> Markup:
    """The fit and its best arm, for a list."""
    arms, height = shown.arms, 56.0
    low, high = float(arms.fit.min()), float(arms.fit.max())
    scale = Scale(low, high if high > low else low + 1.0, height)
    points = [(middle(arms, k), scale(float(v))) for k, v in enumerate(arms.fit)]
    line = path_of(points)
    if not arms.connected:
        line = pieces_of(bar(arms, k, y) for k, (_, y) in enumerate(points))
    fit = stretched(height, tag("path", class_="fit", d=line))
    x, y = points[arms.leader]
    best = tag("circle", class_="mean leader", cx=percent(x), cy=y, r=6)
    parts = [fit, best] if arms.n_seen else []
    return picture(height, label_of(arms), *parts, kind=kind_of("chart small", arms))


def _range_of(arms: Arms) -> tuple[float, float]:
    """Means and fits are in the picture, and intervals as far as they do not dwarf them."""
    seen = arms.pulls > 0.0
    if not seen.any():
        return 0.0, 1.0
    core = [arms.means[seen], arms.fit[seen]]
    if arms.alternative is not None:
        core.append(arms.alternative[seen])
    values = np.concatenate(core)
    low, high = float(values.min()), float(values.max())
    ends = np.concatenate([arms.low[seen], arms.high[seen]])
    ends = ends[np.isfinite(ends)]
    reach = max(0.9 * (high - low), 1e-9 * max(abs(low), abs(high)))
    narrow = (arms.high - arms.low)[seen]
    narrow = narrow[np.isfinite(narrow)]
    if narrow.size:
        reach = max(reach, 0.8 * float(np.median(narrow)))
    if ends.size:
        low = min(low, max(float(ends.min()), low - reach))
        high = max(high, min(float(ends.max()), high + reach))
    if not high > low:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    pad = 0.05 * (high - low)
    at_zero = low >= 0.0 and low - pad < 0.12 * (high - low)
    return (0.0 if at_zero else low - pad), high + pad


def _columns(arms: Arms, scale: Scale) -> Markup:
    """The interval of each mean."""
    lines = [
        (middle(arms, k), scale(float(arms.low[k])), middle(arms, k), scale(float(arms.high[k])))
        for k in range(len(arms))
        if arms.pulls[k] > 0.0
    ]
    return stretched(HEIGHT, tag("path", class_="interval", d=pieces_of(lines))) if lines else NONE


def _curve(arms: Arms, values: Floats, scale: Scale, kind: str) -> Markup:
    """Means that the structure allows: a line where arms are in order, else a bar for each."""
    if arms.connected:
        points = [(middle(arms, k), scale(float(v))) for k, v in enumerate(values)]
        return stretched(HEIGHT, tag("path", class_=kind, d=path_of(points)))
    heights = [scale(float(value)) for value in values]
    shown = [
        k
        for k, y in enumerate(heights)
        if kind == "fit" or abs(y - scale(float(arms.fit[k]))) > 0.75
    ]
    lines = [bar(arms, k, heights[k]) for k in shown]
    return stretched(HEIGHT, tag("path", class_=kind, d=pieces_of(lines))) if lines else NONE


def _marks(arms: Arms, scale: Scale) -> Markup:
    """The means, and a diamond on the arm that would be best instead."""
    parts = []
    for k in range(len(arms)):
        if not arms.pulls[k] > 0.0:
            continue
        words = (
            f"{arms.names[k]}: mean {number(arms.means[k])}, from {number(arms.low[k])} to "
            f"{number(arms.high[k])}, fitted {number(arms.fit[k])}, {number(arms.pulls[k])} pulls"
        )
        leader = k == arms.leader
        parts.append(
            tag("circle", tag("title", words), class_="mean leader" if leader else "mean",
                cx=percent(middle(arms, k)), cy=scale(float(arms.means[k])),
                r=radius(arms) + 1.5 * leader)
        )  # fmt: skip
    if arms.rival is not None and arms.alternative is not None and arms.n_seen:
        x, y = middle(arms, arms.rival), scale(float(arms.alternative[arms.rival]))
        parts.append(
            tag("svg", tag("path", class_="rival", d="M0 -7L7 0L0 7L-7 0Z"), x=percent(x),
                y=plain(y), overflow="visible")
        )  # fmt: skip
    return joined(parts)
