"""A chart drawn as SVG, by hand.

Pictures are fluid. Across, places are percentages of whatever width there is; down, they are
pixels; so that texts keep their size on a phone and on a wall. Lines with many corners can't be
placed in percent: they are drawn in a nested picture that is stretched.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from markupsafe import Markup, escape

from armature.views.chart import Axis, Chart, Line, Points, Slots, Values, Words, apart, clipped

WIDE = 1000.0  # units across of a stretched picture
WIDTHS = {"hide-n": 290.0, "hide-m": 600.0, "hide-w": 900.0}  # pixels at which labels must fit
BENEATH, GROUPS = 20.0, 38.0  # pixels under the chart: labels, and the names of groups
PATHS = {"diamond": "M0 -7L7 0L0 7L-7 0Z", "arrow": "M0 8V-8M-5 -2L0 -8L5 -2"}


def drawn(chart: Chart) -> Markup:
    """The chart as an element, with a description for screen readers."""
    x, y = across(chart.x), down(chart.y, chart.height)
    parts = [*_bands(chart), *_grid(chart, x, y)]
    for mark in chart.marks:
        if isinstance(mark, Line):
            parts.append(_stretched(chart.height, _line(mark, x, y)))
        elif isinstance(mark, Points):
            parts += _points(mark, x, y)
        else:
            parts.append(_words(mark, chart))
    names = chart.x if isinstance(chart.x, Slots) else None
    parts += [] if names is None else _names(names, chart.height)
    return tag("svg", *parts, class_=f"chart {chart.kind}", role="img", aria_label=chart.label,
               width="100%", height=chart.height)  # fmt: skip


# Scales.

Scale = Callable[[Values | float], Values]


def across(axis: Axis | Slots) -> Scale:
    """From numbers to percent; what is outside is at the border."""
    low, high = apart(axis.low, axis.high)
    return lambda values: 100.0 * np.clip((np.asarray(values) - low) / (high - low), 0.0, 1.0)


def down(axis: Axis, height: float) -> Scale:
    """From numbers to pixels, the lowest at the bottom; what is outside is at the border."""
    low, high = apart(axis.low, axis.high)
    return lambda values: height * (1.0 - np.clip((np.asarray(values) - low) / (high - low), 0, 1))


# Axes.


def _bands(chart: Chart) -> Iterator[Markup]:
    """Every other group of arms on a ground of its own."""
    if isinstance(chart.x, Slots):
        width = 100.0 / len(chart.x.names)
        for group in chart.x.groups[::2]:
            yield tag("rect", class_="group", x=percent(group.start * width), y=-8.0,
                      width=percent((group.stop - group.start) * width),
                      height=chart.height + 8.0)  # fmt: skip


def _grid(chart: Chart, x: Scale, y: Scale) -> Iterator[Markup]:
    """Lines at the ticks, and their texts outside of the chart."""
    for value, text in chart.y.ticks or ():
        at = float(y(value))
        if chart.y.grid:
            yield tag("line", class_="grid", x1=0, x2="100%", y1=at, y2=at)
        yield tag("text", text, class_="axis", x=-10, y=at + 4.0, text_anchor="end")
    if isinstance(chart.x, Slots):
        return
    for value, text in chart.x.ticks or ():
        share = float(x(value))
        if chart.x.grid:
            yield tag("line", class_="grid", x1=percent(share), x2=percent(share), y1=0,
                      y2=chart.height)  # fmt: skip
        anchor = "start" if share <= 0.0 else "end" if share >= 100.0 else "middle"
        yield _text(text, share, chart.height + BENEATH, anchor)


def _names(arms: Slots, height: float) -> Iterator[Markup]:
    """Names under the arms, as many as there is room for at each width; groups under them."""
    share, every = 100.0 / len(arms.names), strides(arms.names)
    for k, name in enumerate(arms.names):
        hidden = [kind for kind, n in every.items() if k % n != arms.kept % n]
        if len(hidden) < len(every):
            look = ["axis", *(["leader"] if arms.leader and k == arms.kept else []), *hidden]
            yield _text(clipped(name), share * (k + 0.5), height + BENEATH, look=" ".join(look))
    if 1 < len(arms.groups) <= 8:
        for group in arms.groups:
            middle = 0.5 * share * (group.start + group.stop)
            yield _text(clipped(group.name), middle, height + GROUPS, look="axis group-name")


def strides(names: Sequence[str]) -> dict[str, int]:
    """For each width, every how many-th label there is room for."""
    widest = 7.2 * max(len(clipped(name)) for name in names) + 14.0
    return {kind: max(1, math.ceil(widest * len(names) / w)) for kind, w in WIDTHS.items()}


# Marks.


def _line(mark: Line, x: Scale, y: Scale) -> Markup:
    d = path_of(x(mark.x) * WIDE / 100.0, y(mark.y), mark.closed)
    note = [tag("title", mark.note)] if mark.note else []
    return tag("path", *note, class_=mark.look, d=d)


def _points(mark: Points, x: Scale, y: Scale) -> Iterator[Markup]:
    notes = mark.notes or ("",) * len(mark.x)
    for share, at, note in zip(x(mark.x), y(mark.y), notes, strict=True):
        inside = [tag("title", note)] if note else []
        place, top = percent(float(share)), float(at)
        if mark.shape in PATHS:
            path = tag("path", *inside, class_=mark.look, d=PATHS[mark.shape])
            yield tag("svg", path, x=place, y=plain(top), overflow="visible")
        elif mark.shape == "tick":
            yield tag("line", *inside, class_=mark.look, x1=place, x2=place, y1=top - mark.size,
                      y2=top + mark.size)  # fmt: skip
        else:
            yield tag("circle", *inside, class_=mark.look, cx=place, cy=top, r=mark.size)


def _words(mark: Words, chart: Chart) -> Markup:
    return _text(mark.text, 100.0 * mark.x, chart.height * (1.0 - mark.y), mark.anchor, mark.look)


def _text(text: str, x: float, y: float, anchor: str = "middle", look: str = "axis") -> Markup:
    return tag("text", text, class_=look, x=percent(x), y=y, text_anchor=anchor)


def _stretched(height: float, content: Markup) -> Markup:
    """A nested picture, WIDE units across whatever its width."""
    return tag("svg", content, viewBox=f"0 0 {plain(WIDE)} {plain(height)}",
               preserveAspectRatio="none", width="100%", height=height)  # fmt: skip


# Elements.


def path_of(x: Values, y: Values, closed: bool = False) -> str:
    """The `d` of a path through points; it begins anew after nan.

    >>> path_of(np.array([0.0, 1.0, np.nan, 2.0]), np.array([5.0, 6.0, np.nan, 7.5]))
    'M0 5L1 6M2 7.5'
    """
    known = np.isfinite(x) & np.isfinite(y)
    pieces = []
    for seen, piece in itertools.groupby(zip(x, y, known, strict=True), lambda point: point[2]):
        if seen:
            steps = "L".join(f"{plain(a)} {plain(b)}" for a, b, _ in piece)
            pieces.append(f"M{steps}{'Z' if closed else ''}")
    return "".join(pieces)


def tag(name: str, *content: str, **attributes: object) -> Markup:
    """An element; texts and attributes are escaped, elements are not escaped again.

    >>> tag("text", "a < b", text_anchor="end")
    Markup('<text text-anchor="end">a &lt; b</text>')
    """
    pairs = []
    for key, value in attributes.items():
        if value is not None:
            shown = plain(value) if isinstance(value, float) else value
            pairs.append(f' {key.rstrip("_").replace("_", "-")}="{escape(shown)}"')
    inside = "".join(escape(part) for part in content)
    if not inside:
        return Markup(f"<{name}{''.join(pairs)}/>")
    return Markup(f"<{name}{''.join(pairs)}>{inside}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    """Several elements as one."""
    return Markup("").join(parts)


def percent(value: float) -> str:
    """A place across, from 0 to 100."""
    return f"{plain(value)}%"


def plain(value: float) -> str:
    """A coordinate: two decimals are a fiftieth of a pixel.

    >>> plain(12.5), plain(3.0), plain(-0.001)
    ('12.5', '3', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
