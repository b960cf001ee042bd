"""The pictures of a bandit, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from armature.arrays import Floats
from armature.picture.records import Arms, Gain, Gauge, Picture, Target, Traffic
from armature.picture.svg import (
    Scale,
    clipped,
    joined,
    number,
    path_of,
    percent,
    picture,
    pieces_of,
    plain,
    short,
    stretched,
    strides,
    tag,
    tick_texts,
    ticks,
)

HEIGHT, LOW_HEIGHT = 280.0, 180.0
NONE = Markup()
MANY = 40  # arms, from which on marks are small


def arms_chart(shown: Picture) -> Markup:
    """Means with their intervals, the structure's fit, and the nearest alternative, dashed."""
    arms = shown.arms
    scale = Scale(*_range_of(arms), HEIGHT)
    parts = [_bands(arms, HEIGHT), _rows(scale, tick_texts(_ticks(scale)))]
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
    parts.append(_names(arms, HEIGHT))
    return picture(HEIGHT, _arms_label(arms), *parts, kind=_kind("chart arms", arms))


def small_chart(shown: Picture) -> Markup:
    """The fit and its best arm, for a list."""
    arms, height = shown.arms, 56.0
    low, high = float(arms.fit.min()), float(arms.fit.max())
    scale = Scale(low, high if high > low else low + 1.0, height)
    points = [(_middle(arms, k), scale(float(v))) for k, v in enumerate(arms.fit)]
    line = path_of(points)
    if not arms.connected:
        line = pieces_of(_bar(arms, k, y) for k, (_, y) in enumerate(points))
    fit = stretched(height, tag("path", class_="fit", d=line))
    x, y = points[arms.leader]
    best = tag("circle", class_="mean leader", cx=percent(x), cy=y, r=6)
    parts = [fit, best] if arms.n_seen else []
    return picture(height, _arms_label(arms), *parts, kind=_kind("chart small", arms))


def pulls_chart(arms: Arms, target: Target | None) -> Markup:
    """Pulls so far, and what the lower bound asks for: on a logarithmic scale."""
    asked = np.zeros(len(arms)) if target is None else np.nan_to_num(target.pulls)
    # A bound that asks for more rounds than there were leaves the picture at its top.
    most = max(10.0, float(arms.pulls.max()), min(float(asked.max()), float(arms.pulls.sum())))
    scale = Scale(0.0, math.log10(1.0 + most) * 1.04, LOW_HEIGHT)
    rows = [0.0, *(10.0**e for e in range(most >= 1000.0, math.floor(math.log10(most)) + 1))]
    parts = [_bands(arms, LOW_HEIGHT), _rows(scale, [short(n) for n in rows], _log(rows))]
    done = [scale(height) for height in _log(arms.pulls.tolist())]
    stems = [(_middle(arms, k), LOW_HEIGHT, _middle(arms, k), y) for k, y in enumerate(done)]
    parts.append(stretched(LOW_HEIGHT, tag("path", class_="stem", d=pieces_of(stems))))
    for k in range(len(arms)):
        x = percent(_middle(arms, k))
        want = 0.0 if target is None else float(asked[k])
        words = f"{arms.names[k]}: {number(arms.pulls[k])} pulls"
        leader = " leader" if k == arms.leader and arms.n_seen else ""
        marks = []
        if want > 0.0:
            words += f", the bound asks for {number(want, 3)}"
            marks.append(_asked(x, scale, want, 1.6 * _radius(arms)))
        marks.append(tag("circle", class_="pulled" + leader, cx=x, cy=done[k], r=_radius(arms)))
        parts += marks if len(arms) > MANY else [tag("g", tag("title", words), *marks)]
    parts.append(_names(arms, LOW_HEIGHT))
    label = f"Pulls of each arm: most at {arms.names[int(arms.pulls.argmax())]}."
    if target is not None:
        label += f" The lower bound asks for {int((asked > 0).sum())} arms to be explored."
    return picture(LOW_HEIGHT, label, *parts, kind=_kind("chart pulls", arms))


def _asked(x: str, scale: Scale, want: float, radius: float) -> Markup:
    """A ring, or an arrow up where it is above the picture."""
    if math.log10(1.0 + want) <= scale.high:
        return tag("circle", class_="asked", cx=x, cy=scale(math.log10(1.0 + want)), r=radius)
    arrow = tag("path", class_="asked", d="M0 12V-4M-5 2L0 -4L5 2")
    return tag("svg", arrow, x=x, y=4, overflow="visible")


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
        words = f"{traffic.names[s]}: {traffic.recent[s]:.0%} of late"
        areas.append(
            tag("path", tag("title", words), class_=f"area {kind}", d=path_of(points, closed=True))
        )
    rows = [0.0, 0.5, 1.0]
    parts = [
        stretched(LOW_HEIGHT, *areas),
        _rows(scale, ["0", "50 %", "100 %"], rows),
        _across(total, "decisions", LOW_HEIGHT),
    ]
    final = ", ".join(
        f"{name} {share:.0%}" for name, share in zip(traffic.names, traffic.recent, strict=True)
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
        _rows(scale, tick_texts(_ticks(scale, 4)), _ticks(scale, 4)),
        stretched(
            LOW_HEIGHT,
            tag("path", class_="band", d=path_of(band, closed=True)),
            tag("path", class_="even", d=path_of([corner, (100.0, scale(even))])),
            tag("path", class_="own", d=path_of(points)),
        ),
        _across(total, "rewards", LOW_HEIGHT),
    ]
    label = (
        f"Sum of rewards {number(gain.total)}; uniformly about {number(even)}, give or take "
        f"{number(spread, 2)}."
    )
    return picture(LOW_HEIGHT, label, *parts, kind="chart gain")


def gauge_chart(gauge: Gauge) -> Markup:
    """One line: how far the data are from the structure, what chance explains, where it falls."""
    height, thick, top = 84.0, 18.0, 30.0
    chance = 100.0 * min(max(gauge.chance / gauge.refuted_at, 0.0), 1.0)
    filled = 100.0 * gauge.share
    kind = "refuted" if gauge.refuted or gauge.dropped is not None else "fits"
    bar: dict[str, object] = {"y": top, "height": thick}
    across = {"y1": top - 8.0, "y2": top + thick + 8.0}
    anchor = "end" if chance > 75.0 else "start" if chance < 25.0 else "middle"
    below = top + thick + 26.0
    parts = [
        tag("rect", class_="groove", x=0, width="100%", rx=9, **bar),
        tag("rect", class_="beyond", x=percent(chance), width=percent(100.0 - chance), **bar),
        tag("rect", class_=f"level {kind}", x=0, width=percent(max(filled, 0.4)), rx=9, **bar),
        tag("line", class_="chance", x1=percent(chance), x2=percent(chance), **across),
        tag("line", class_="limit", x1="100%", x2="100%", **across),
        tag("circle", class_=f"needle {kind}", cx=percent(filled), cy=top + thick / 2.0, r=11),
        _text("explained by chance", chance, top - 14.0, anchor),
        _text("a perfect fit", 0.0, below, "start"),
        _text("refuted", 100.0, below, "end"),
    ]
    label = (
        f"The data are {number(gauge.misfit, 3)} from the structure; chance explains "
        f"{number(gauge.chance, 3)}, and it is refuted at {number(gauge.refuted_at, 3)}."
    )
    return picture(height, label, *parts, kind="chart gauge")


def _text(words: str, x: float, y: float, anchor: str) -> Markup:
    return tag("text", words, class_="axis", x=percent(x), y=y, text_anchor=anchor)


# What the pictures have in common.


def _kind(kind: str, arms: Arms) -> str:
    return f"{kind} many" if len(arms) > MANY else kind


def _radius(arms: Arms) -> float:
    return 2.2 if len(arms) > MANY else 4.5


def _middle(arms: Arms, k: int) -> float:
    return 100.0 * (k + 0.5) / len(arms)


def _log(values: Sequence[float]) -> list[float]:
    return [math.log10(1.0 + value) for value in values]


def _ticks(scale: Scale, about: int = 5) -> list[float]:
    return ticks(scale.low, scale.high, about)


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


def _rows(scale: Scale, texts: Sequence[str], values: Sequence[float] | None = None) -> Markup:
    """Lines across with their numbers at the left, outside of the picture."""
    lines = []
    for value, text in zip(_ticks(scale) if values is None else values, texts, strict=True):
        y = scale(value)
        lines.append(tag("line", class_="grid", x1=0, x2="100%", y1=y, y2=y))
        lines.append(tag("text", text, class_="axis", x=-10, y=y + 4.0, text_anchor="end"))
    return joined(lines)


def _across(total: float, what: str, height: float) -> Markup:
    """Counts under a picture: the start and the end of what has happened."""
    y = height + 20.0
    texts = [tag("text", "0", class_="axis", x=0, y=y)]
    inner = [t for t in ticks(0.0, total, 4) if 0.08 * total < t < 0.6 * total]
    places = [percent(100.0 * t / total) for t in inner]
    texts += [
        tag("text", short(t), class_="axis", x=x, y=y, text_anchor="middle")
        for t, x in zip(inner, places, strict=True)
    ]
    end = f"{short(total)} {what}"
    texts.append(tag("text", end, class_="axis", x="100%", y=y, text_anchor="end"))
    return joined(texts)


def _bands(arms: Arms, height: float) -> Markup:
    """Every other group on a ground of its own."""
    width = 100.0 / len(arms)
    parts = []
    for i, group in enumerate(arms.groups):
        x, size = group.start * width, (group.stop - group.start) * width
        if i % 2 == 0:
            parts.append(
                tag("rect", class_="group", x=percent(x), y=-8.0, width=percent(size),
                    height=height + 8.0)
            )  # fmt: skip
    return joined(parts)


def _names(arms: Arms, height: float) -> Markup:
    """Labels under the arms, as many as there is room for at each width; groups under them."""
    every = strides(arms.names)
    parts = []
    for k, name in enumerate(arms.names):
        hidden = [kind for kind, n in every.items() if k % n != arms.leader % n]
        if len(hidden) == len(every):
            continue
        leader = ["leader"] if k == arms.leader and arms.n_seen else []
        parts.append(
            tag("text", clipped(name), class_=" ".join(["axis", *leader, *hidden]),
                x=percent(_middle(arms, k)), y=height + 20.0, text_anchor="middle")
        )  # fmt: skip
    if 1 < len(arms.groups) <= 8:
        for group in arms.groups:
            x = 50.0 * (group.start + group.stop) / len(arms)
            parts.append(
                tag("text", clipped(group.name), class_="axis group-name", x=percent(x),
                    y=height + 38.0, text_anchor="middle")
            )  # fmt: skip
    return joined(parts)


def _columns(arms: Arms, scale: Scale) -> Markup:
    """The interval of each mean."""
    lines = [
        (_middle(arms, k), scale(float(arms.low[k])), _middle(arms, k), scale(float(arms.high[k])))
        for k in range(len(arms))
        if arms.pulls[k] > 0.0
    ]
    return stretched(HEIGHT, tag("path", class_="interval", d=pieces_of(lines))) if lines else NONE


def _curve(arms: Arms, values: Floats, scale: Scale, kind: str) -> Markup:
    """Means that the structure allows: a line where arms are in order, else a bar for each."""
    if arms.connected:
        points = [(_middle(arms, k), scale(float(v))) for k, v in enumerate(values)]
        return stretched(HEIGHT, tag("path", class_=kind, d=path_of(points)))
    heights = [scale(float(value)) for value in values]
    shown = [
        k
        for k, y in enumerate(heights)
        if kind == "fit" or abs(y - scale(float(arms.fit[k]))) > 0.75
    ]
    lines = [_bar(arms, k, heights[k]) for k in shown]
    return stretched(HEIGHT, tag("path", class_=kind, d=pieces_of(lines))) if lines else NONE


def _bar(arms: Arms, k: int, y: float) -> tuple[float, float, float, float]:
    """A line across the place of an arm."""
    half = 0.36 * 100.0 / len(arms)
    return _middle(arms, k) - half, y, _middle(arms, k) + half, y


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
                cx=percent(_middle(arms, k)), cy=scale(float(arms.means[k])),
                r=_radius(arms) + 1.5 * leader)
        )  # fmt: skip
    if arms.rival is not None and arms.alternative is not None and arms.n_seen:
        x, y = _middle(arms, arms.rival), scale(float(arms.alternative[arms.rival]))
        parts.append(
            tag("svg", tag("path", class_="rival", d="M0 -7L7 0L0 7L-7 0Z"), x=percent(x),
                y=plain(y), overflow="visible")
        )  # fmt: skip
    return joined(parts)


def _arms_label(arms: Arms) -> str:
    if not arms.n_seen:
        return f"{len(arms)} arms, and no rewards yet."
    k = arms.leader
    text = f"Means of {len(arms)} arms. The best fitted mean is {number(arms.fit[k])}, at "
    text += f"{arms.names[k]}."
    if arms.rival is not None:
        text += f" In the nearest alternative {arms.names[arms.rival]} would be best."
    return text
