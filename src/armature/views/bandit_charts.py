"""The charts of a bandit and of a problem: arms, pulls, traffic, reward, lower bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armature.bounds import LowerBound, lower_bound
from armature.kernels.arrays import Floats
from armature.structures.instance import Instance
from armature.views.chart import (
    Axis,
    Chart,
    Line,
    Mark,
    Points,
    Slots,
    Values,
    Words,
    coordinates,
    gapped,
    labelled,
    number,
    numbered,
    share,
    short,
    ticks,
)
from armature.views.picture import Gain, Gauge, Picture, ShownArms, Target, Traffic

if TYPE_CHECKING:
    from armature.live.verdict import Verdict

MANY = 40  # arms, from which on marks are small
HALF = 0.36  # of an arm's place: a bar's half width


def _kind(kind: str, arms: ShownArms) -> str:
    return f"{kind} many" if len(arms) > MANY else kind


def _size(arms: ShownArms) -> float:
    return 2.2 if len(arms) > MANY else 4.5


def _slots(arms: ShownArms) -> Slots:
    return Slots(arms.names, arms.leader, arms.n_seen > 0, arms.groups)


# The arms.


def arms_chart(shown: Picture, span: tuple[float, float] | None = None) -> Chart:
    """Means with their intervals, the structure's fit, and the nearest alternative, dashed.

    `span` is the range of means, where it is that of several charts.
    """
    arms = shown.arms
    slots, seen = _slots(arms), arms.pulls > 0.0
    y = numbered(*(span or range_of(arms)), title="mean reward")
    places = slots.places
    marks: list[Mark] = []
    known = seen & np.isfinite(arms.low) & np.isfinite(arms.high)
    x, ends = places[known], (arms.low[known], arms.high[known])
    marks.append(Line("interval", gapped(x, x), gapped(*ends)))
    rival = None if not seen.any() else arms.rival
    if rival is not None and arms.alternative is not None:
        # Where no line joins the arms, only bars that differ from the fit's are drawn.
        far = np.abs(arms.alternative - arms.fit) > 0.003 * (y.high - y.low)
        label = f"nearest alternative: {arms.names[rival]} is best"
        marks.append(_curve(arms, arms.alternative, "alternative", label, far))
    if seen.any():
        marks.append(_curve(arms, arms.fit, "fit", "fit", np.ones_like(seen)))
    else:
        marks.append(Words("no rewards yet", 0.5, 0.5, "middle", "empty"))
    leader = np.arange(len(arms)) == arms.leader
    for look, which in (("mean", seen & ~leader), ("mean leader", seen & leader)):
        marks.append(
            Points(look, places[which], arms.means[which], "dot", _size(arms) + 1.5 * (" " in look),
                   "mean, with interval" if look == "mean" else "",
                   tuple(_note(arms, int(k)) for k in np.flatnonzero(which)))
        )  # fmt: skip
    if rival is not None and arms.alternative is not None:
        at = [rival]
        marks.append(Points("rival", places[at], arms.alternative[at], "diamond", 7.0))
    best = f"best so far: {arms.names[arms.leader]}" if seen.any() else "no rewards yet"
    return Chart(_kind("arms", arms), label_of(arms), slots, y, tuple(marks), 280.0, best)


def small_chart(shown: Picture) -> Chart:
    """The fit and its best arm, for a list."""
    arms = shown.arms
    low, high = float(arms.fit.min()), float(arms.fit.max())
    best = [arms.leader]
    marks = (
        _curve(arms, arms.fit, "fit", "", np.ones(len(arms), dtype=bool)),
        Points("mean leader", np.array(best) + 0.5, arms.fit[best], "dot", 6.0),
    )
    x, y = Axis(0.0, len(arms)), Axis(low, high if high > low else low + 1.0)
    kind = _kind("small", arms)
    return Chart(kind, label_of(arms), x, y, marks if arms.n_seen else (), 56.0)


def label_of(arms: ShownArms) -> str:
    """The chart of the arms in words."""
    if not arms.n_seen:
        return f"{len(arms)} arms, and no rewards yet."
    k = arms.leader
    text = f"Means of {len(arms)} arms. The best fitted mean is {number(arms.fit[k])}, at "
    text += f"{arms.names[k]}."
    if arms.rival is not None:
        text += f" In the nearest alternative {arms.names[arms.rival]} would be best."
    return text


def _note(arms: ShownArms, k: int) -> str:
    return (
        f"{arms.names[k]}: mean {number(arms.means[k])}, from {number(arms.low[k])} to "
        f"{number(arms.high[k])}, fitted {number(arms.fit[k])}, {number(arms.pulls[k])} pulls"
    )


def _curve(arms: ShownArms, values: Floats, look: str, label: str, bars: Values) -> Line:
    """Means that the structure allows: a line where arms are in order, else a bar for each."""
    places = np.arange(len(arms)) + 0.5
    if arms.connected:
        return Line(look, places, values, label)
    x, heights = places[bars], values[bars]
    return Line(look, gapped(x - HALF, x + HALF), gapped(heights, heights), label)


def range_of(arms: ShownArms) -> tuple[float, float]:
    """The means and fits, and intervals as far as they do not make these too small to see."""
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


def values_chart(values: Floats, what: str) -> Chart:
    """A number for each arm, from 0 upwards or downwards; the largest is marked."""
    best = int(np.argmax(values))
    low, high = min(0.0, float(values.min())), max(0.0, float(values[best]))
    slots = Slots(tuple(map(str, range(len(values)))), best, True)
    x, many, kind = (
        slots.places,
        len(values) > MANY,
        "values many" if len(values) > MANY else "values",
    )
    notes = tuple(f"{k}: {number(value)}" for k, value in enumerate(values))
    dots = Points("pulled", x, values, "dot", 2.2 if many else 4.5, notes=() if many else notes)
    marks = (
        Line("stem", gapped(x, x), gapped(np.zeros_like(values), values)),
        dots,
        Points("pulled leader", x[[best]], values[[best]], "dot", dots.size),
    )
    label = f"{what} of {len(values)} arms: the most is {number(values[best])}, at {best}."
    pad = 0.05 * (high - low)
    return Chart(kind, label, slots, numbered(low - pad * (low < 0.0), high + pad), marks)


# Pulls.


def pulls_chart(arms: ShownArms, target: Target | None, most: float = 0.0) -> Chart:
    """Pulls so far, and what the lower bound asks for: on a logarithmic scale.

    A bound that asks for more rounds than there were leaves the chart at its top, where arrows are.
    The scale goes up to `most` at least, where it is that of several charts.
    """
    asked = np.zeros(len(arms)) if target is None else np.nan_to_num(target.pulls)
    most = max(most, most_pulls(arms, target))
    top = 1.04 * math.log10(1.0 + most)
    rows = [0.0, *(10.0**e for e in range(most >= 1000.0, math.floor(math.log10(most)) + 1))]
    y = Axis(0.0, top, labelled(np.log10(1.0 + np.array(rows)), map(short, rows)), "pulls", True)
    slots = _slots(arms)
    x, done, wanted = slots.places, np.log10(1.0 + arms.pulls), np.log10(1.0 + asked)
    ring, arrow = (asked > 0.0) & (wanted <= top), wanted > top
    pulls = [f"{arms.names[k]}: {number(n)} pulls" for k, n in enumerate(arms.pulls)]
    asks = [f"{arms.names[k]}: the bound asks for {number(n, 3)}" for k, n in enumerate(asked)]

    def notes(texts: list[str], which: Values) -> tuple[str, ...]:
        return tuple(texts[k] for k in np.flatnonzero(which)) if len(arms) <= MANY else ()

    marks: list[Mark] = [Line("stem", gapped(x, x), gapped(np.zeros_like(done), done))]
    if ring.any():
        marks.append(Points("asked", x[ring], wanted[ring], "ring", 1.6 * _size(arms),
                            "what the lower bound asks for", notes(asks, ring))
        )  # fmt: skip
    if arrow.any():
        marks.append(Points("asked", x[arrow], np.full(int(arrow.sum()), 0.955 * top), "arrow", 6.0,
                            "the lower bound asks for more than is shown",
                            notes(asks, arrow))
        )  # fmt: skip
    leader = (np.arange(len(arms)) == arms.leader) & (arms.n_seen > 0)
    for look, which in (("pulled", ~leader), ("pulled leader", leader)):
        label = "pulls so far" if look == "pulled" else ""
        marks.append(
            Points(look, x[which], done[which], "dot", _size(arms), label, notes(pulls, which))
        )
    label = f"Pulls of each arm: most at {arms.names[int(arms.pulls.argmax())]}."
    if target is not None:
        label += f" The lower bound asks for {int((asked > 0).sum())} arms to be explored."
    return Chart(_kind("pulls", arms), label, slots, y, tuple(marks))


def most_pulls(arms: ShownArms, target: Target | None) -> float:
    """How far a scale of pulls has to go."""
    asked = 0.0 if target is None else float(np.nan_to_num(target.pulls).max())
    return max(10.0, float(arms.pulls.max()), min(asked, float(arms.pulls.sum())))


# The lower bound of a problem.


def bound_charts(
    instance: Instance, bound: LowerBound, epsilon: float | None = None, most: int = 4
) -> tuple[Chart, Chart]:
    """Means and confusing instances, and pulls per ln T with the structure and without it."""
    free = lower_bound(
        Instance(instance.structure.forgotten(), instance.means, instance.family), epsilon
    )
    names, best, means = tuple(map(str, range(instance.n_arms))), instance.best_arm, instance.means
    slots = Slots(names, best, True, title="arm")
    x = slots.places
    marks: list[Mark] = [
        Points("mean", x, means, "dot", 4.0, "means"),
        Points("best", x[[best]], means[[best]], "star", 9.0, f"best arm: {best}"),
    ]
    for n, other in enumerate(bound.alternatives[:most]):
        label = f"confusing instance, weight {other.weight:.3g}"
        marks.append(Line(f"confusing {n}", x, other.means, label))
        marks.append(Points(f"confusing {n}", x, other.means, "ring", 3.0))
    values = np.concatenate([means, *(other.means for other in bound.alternatives[:most])])
    pad = 0.06 * (float(np.ptp(values)) or 1.0)
    y = Axis(float(values.min()) - pad, float(values.max()) + pad, None, "mean reward", grid=True)
    name = type(instance.structure).__name__
    title = f"{name}: asymptotically regret of at least {bound.value:.4g} ln T"
    above = Chart("means", title, Slots(names, best, True), y, tuple(marks), title=title)
    top = 1.12 * max(float(bound.pulls.max()), float(free.pulls.max()), 1e-12)
    bars: list[Mark] = [
        _bars("with it", x - 0.4, bound.pulls, f"with the structure: V = {bound.value:.4g}"),
        _bars("without it", x, free.pulls, f"without it: V = {free.value:.4g}"),
    ]
    for k, pulls in enumerate(bound.pulls):
        if pulls > 1e-4 * max(bound.pulls):
            place = (k + 0.3) / len(names), float(pulls) / top + 0.02
            bars.append(Words(f"{pulls:.3g}", *place, "middle"))
    y = Axis(0.0, top, None, "optimal pulls per ln T", grid=True)
    return above, Chart("bars", f"Optimal pulls of {len(names)} arms.", slots, y, tuple(bars))


def _bars(look: str, left: Values, heights: Values, label: str) -> Line:
    """Bars of a width of 0.4."""
    x = gapped(left, left, left + 0.4, left + 0.4)
    return Line(look, x, gapped(0.0 * heights, heights, heights, 0.0 * heights), label, closed=True)


# What happened over time.


def traffic_chart(traffic: Traffic, changes: Sequence[float] = ()) -> Chart:
    """Shares of decisions over time, one above the other; and when rewards changed."""
    total = float(traffic.ends[-1])
    starts = np.concatenate([[0.0], traffic.ends[:-1]])
    edges = np.ravel(np.column_stack([starts, traffic.ends]))
    heights = np.vstack([np.zeros(traffic.ends.size), np.cumsum(traffic.shares, axis=0)])
    areas = []
    for s, kind in enumerate(traffic.styles):
        upper, lower = np.repeat(heights[s + 1], 2), np.repeat(heights[s], 2)
        x, y = np.concatenate([edges, edges[::-1]]), np.concatenate([upper, lower[::-1]])
        note = f"{traffic.names[s]}: {share(traffic.recent[s])} recently"
        areas.append(Line(f"area {kind}", x, y, traffic.names[s], True, note))
    final = ", ".join(
        f"{name} {share(part)}" for name, part in zip(traffic.names, traffic.recent, strict=True)
    )
    rows = labelled((0.0, 0.5, 1.0), ("0", "50 %", "100 %"))
    label, axis = f"Share of traffic, most recently: {final}.", Axis(0.0, 1.0, rows, grid=True)
    return Chart(
        "traffic",
        label,
        counted(total, "decisions"),
        axis,
        (*areas, *_changes(changes, total, 1.0)),
    )


def _changes(changes: Sequence[float], total: float, top: float, low: float = 0.0) -> list[Line]:
    """A line across the chart for each change of the rewards."""
    return [
        Line("changed", *coordinates((at, low), (at, top)), "the rewards changed")
        for at in changes
        if 0.0 < at < total
    ]


def gain_chart(gain: Gain, changes: Sequence[float] = ()) -> Chart:
    """The reward so far, beside that of uniform allocation; and when rewards changed."""
    total = float(gain.rounds[-1])
    even, spread = gain.uniform * total, gain.margin
    ends = [0.0, gain.total, even - spread, even + spread]
    low, high = min(ends), max(ends)
    pad = 0.06 * (high - low or 1.0)
    origin = (0.0, 0.0)
    band = coordinates(origin, (total, even + spread), (total, even - spread))
    own = np.concatenate([[0.0], gain.rounds]), np.concatenate([[0.0], gain.rewards])
    marks = (
        Line("band", *band, closed=True),
        Line("even", *coordinates(origin, (total, even)), "chosen uniformly"),
        Line("own", *own, "the rewards so far"),
    )
    label = (
        f"Sum of rewards {number(gain.total)}; uniformly about {number(even)}, give or take "
        f"{number(spread, 2)}."
    )
    y = numbered(low if low == 0.0 else low - pad, high + pad, 4)
    lines = (*marks, *_changes(changes, total, y.high, y.low))
    return Chart("gain", label, counted(total, "rewards"), y, lines)


def counted(total: float, what: str) -> Axis:
    """Counts under a chart: the start and the end of what has happened, and some between."""
    inner = [t for t in ticks(0.0, total, 4) if 0.08 * total < t < 0.6 * total]
    texts = ["0", *map(short, inner), f"{short(total)} {what}"]
    return Axis(0.0, total, labelled([0.0, *inner, total], texts))


# How far along a line.


def gauge_chart(gauge: Gauge) -> Chart:
    """One line: how far the data are from the structure, what chance explains, where it falls."""
    chance = min(max(gauge.chance / gauge.refuted_at, 0.0), 1.0)
    kind = "refuted" if gauge.refuted or gauge.dropped is not None else "fits"
    filled = max(gauge.share, 0.004)
    marks = (
        Line("groove", *coordinates((0.0, 0.0), (1.0, 0.0))),
        Line("beyond", *coordinates((chance, 0.0), (1.0, 0.0))),
        Line(f"level {kind}", *coordinates((0.0, 0.0), (filled, 0.0))),
        Points("chance", *coordinates((chance, 0.0)), "tick", 17.0),
        Points("limit", *coordinates((1.0, 0.0)), "tick", 17.0),
        Points(f"needle {kind}", *coordinates((gauge.share, 0.0)), "dot", 11.0),
        Words("explained by chance", chance, 0.81,
              "end" if chance > 0.75 else "start" if chance < 0.25 else "middle"),
        Words("a perfect fit", 0.0, 0.12),
        Words("refuted", 1.0, 0.12, "end"),
    )  # fmt: skip
    label = (
        f"The data are {number(gauge.misfit, 3)} from the structure; chance explains "
        f"{number(gauge.chance, 3)}, and it is refuted at {number(gauge.refuted_at, 3)}."
    )
    return Chart("gauge", label, Axis(0.0, 1.0), Axis(-1.0, 1.0), marks, 84.0)


def verdict_chart(verdict: Verdict) -> Chart:
    """One line: the evidence that the leader is the best arm, up to what is enough."""
    filled = max(min(verdict.statistic / verdict.threshold, 1.0), 0.004)
    kind = "sure" if verdict.sure else "unsure"
    marks = (
        Line("groove", *coordinates((0.0, 0.0), (1.0, 0.0))),
        Line(f"level {kind}", *coordinates((0.0, 0.0), (filled, 0.0))),
        Points("limit", *coordinates((1.0, 0.0)), "tick", 12.0),
    )
    label = (
        f"The evidence that {verdict.arm} is the best arm is {number(verdict.statistic, 3)}; "
        f"above {number(verdict.threshold, 3)} it is sure."
    )
    return Chart("gauge thin", label, Axis(0.0, 1.0), Axis(-1.0, 1.0), marks, 26.0)
