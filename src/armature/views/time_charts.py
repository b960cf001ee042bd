"""What happened over time: who got the traffic, and what it has earned."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from armature.views.axes import LOW_HEIGHT, across, grid, grid_values
from armature.views.picture import Gain, Traffic
from armature.views.svg import Scale, number, path_of, picture, share, stretched, tag, tick_texts


def traffic_chart(traffic: Traffic) -> Markup:
    """Shares of decisions over time, one above the other."""
    total = float(traffic.ends[-1])
    starts = np.concatenate([[0.0], traffic.ends[:-1]])
    edges = np.ravel(np.column_stack([starts, traffic.ends])) * 100.0 / total
    scale = Scale(0.0, 1.0, LOW_HEIGHT)
    heights = np.vstack([np.zeros(traffic.ends.size), np.cumsum(traffic.shares, axis=0)])
    areas = []
    for s, kind in enumerate(traffic.styles):
        upper = [scale(y) for y in np.repeat(heights[s + 1], 2)]
        lower = [scale(y) for y in np.repeat(heights[s], 2)]
        points = [*zip(edges, upper, strict=True), *zip(edges[::-1], lower[::-1], strict=True)]
        words = f"{traffic.names[s]}: {share(traffic.recent[s])} of late"
        areas.append(
            tag("path", tag("title", words), class_=f"area {kind}", d=path_of(points, closed=True))
        )
    rows = [0.0, 0.5, 1.0]
    parts = [
        stretched(LOW_HEIGHT, *areas),
        grid(scale, ["0", "50 %", "100 %"], rows),
        across(total, "decisions", LOW_HEIGHT),
    ]
    final = ", ".join(
        f"{name} {share(part)}" for name, part in zip(traffic.names, traffic.recent, strict=True)
    )
    return picture(LOW_HEIGHT, f"Share of traffic, most recently: {final}.", *parts)


def gain_chart(gain: Gain) -> Markup:
    """The reward so far, beside that of uniform allocation with its interval."""
    total = float(gain.rounds[-1])
    even, spread = gain.uniform * total, gain.margin
    ends = [0.0, gain.total, even - spread, even + spread]
    low, high = min(ends), max(ends)
    pad = 0.06 * (high - low or 1.0)
    scale = Scale(low if low == 0.0 else low - pad, high + pad, LOW_HEIGHT)
    points = [(0.0, scale(0.0))]
    points += [
        (100.0 * n / total, scale(s)) for n, s in zip(gain.rounds, gain.rewards, strict=True)
    ]
    corner = (0.0, scale(0.0))
    band = [corner, (100.0, scale(even + spread)), (100.0, scale(even - spread))]
    parts = [
        grid(scale, tick_texts(grid_values(scale, 4)), grid_values(scale, 4)),
        stretched(
            LOW_HEIGHT,
            tag("path", class_="band", d=path_of(band, closed=True)),
            tag("path", class_="even", d=path_of([corner, (100.0, scale(even))])),
            tag("path", class_="own", d=path_of(points)),
        ),
        across(total, "rewards", LOW_HEIGHT),
    ]
    label = (
        f"Sum of rewards {number(gain.total)}; uniformly about {number(even)}, give or take "
        f"{number(spread, 2)}."
    )
    return picture(LOW_HEIGHT, label, *parts, kind="chart gain")
