"""The charts of experiments: regret, stopping times and sweeps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from armature.bounds import bound_or_none
from armature.structures.changing import Changing
from armature.structures.instance import Instance
from armature.views.chart import (
    Axis,
    Chart,
    Line,
    Mark,
    Points,
    Values,
    Words,
    coordinates,
    gapped,
    labelled,
    logarithmic,
)
from armature.views.figure import (
    LOOKS,
    Drawing,
    Looks,
    StrPath,
    draw,
    in_lines,
    legend_beside,
    new_drawing,
    save,
    shortened,
    styles_of,
)

LOWER, WITHOUT = "lower bound", "without the structure"
ASYMPTOTIC = (
    "Lower bounds are asymptotic: in the long run regret grows at least like V ln t. "
    "At any finite t it may lie below that line."
)
MOST_MARKED = 20  # changes of the means
THICK = 1.8  # of a policy's curve


def looks_of(*panels: Sequence[str]) -> Looks:
    """Styles of the policies in a drawing, with those that are the same everywhere."""
    styles = styles_of(*panels)
    return {**LOOKS, **{name: {"linewidth": THICK, **style} for name, style in styles.items()}}


# Regret.


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean regret of a policy, with a band around it."""

    name: str
    mean: Values  # (rounds,)
    low: Values
    high: Values

    @property
    def final(self) -> float:
        """The mean regret in the end."""
        return float(self.mean[-1])


@dataclass(frozen=True, eq=False)
class RegretCurves:
    """Mean regret of policies against rounds, beside the lower bounds.

    `bounds` are the constants V of the lines V ln t by their names: the structure's and, where it
    says something, the one without it; none where no bound can be computed. `top` is where the
    picture ends: what loses far more than the others leaves it.
    """

    title: str
    n_arms: int
    repetitions: int
    rounds: Values
    curves: tuple[Curve, ...]
    bounds: dict[str, float]
    top: float
    changes: tuple[int, ...] = ()  # the rounds in which the means changed, if there are few

    @property
    def leaving(self) -> tuple[Curve, ...]:
        """The curves that leave the picture at its top."""
        return tuple(curve for curve in self.curves if curve.final > self.top)


def regret_curves(
    instance: Instance,
    rounds: Values,
    regret: Mapping[str, Values],
    band: float = 2.0,
    title: str | None = None,
) -> RegretCurves:
    """The curves of policies, and the lower bounds of their problem.

    `rounds` (C,) are those at which it was recorded, and `regret` is (R, C) for each policy's name.
    The band is `band` standard errors of the mean to either side; it has no width where R = 1.
    """
    curves = curves_of(regret, band)
    bounds = _bounds(instance)
    return RegretCurves(
        title=title or f"{type(instance.structure).__name__}, {instance.n_arms} arms",
        n_arms=instance.n_arms,
        repetitions=len(next(iter(regret.values()))),
        rounds=rounds,
        curves=curves,
        bounds=bounds,
        top=_top(curves, bounds, float(np.log(rounds[-1]))),
        changes=_changes(instance, int(rounds[-1])),
    )


def curves_of(regret: Mapping[str, Values], band: float) -> tuple[Curve, ...]:
    """The mean of each policy, with `band` standard errors to either side."""
    curves = []
    for name, values in regret.items():
        mean = values.mean(axis=0)
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0 * mean
        curves.append(Curve(name, mean, mean - band * error, mean + band * error))
    return tuple(curves)


def _bounds(instance: Instance) -> dict[str, float]:
    bound = bound_or_none(instance)
    if bound is None:  # which does not take the curves with it
        return {}
    if instance.structure.assumes_nothing:
        return {LOWER: bound.value}
    return {LOWER: bound.value, WITHOUT: bound.unconstrained}


def _changes(instance: Instance, rounds: int) -> tuple[int, ...]:
    """The rounds in which means change, unless there are many: a drift is no event."""
    changes = instance.changes if isinstance(instance, Changing) else ()
    seen = tuple(t for t in changes if t < rounds)
    return seen if len(seen) <= MOST_MARKED else ()


def _top(curves: Sequence[Curve], bounds: dict[str, float], log: float) -> float:
    """The height of the picture: bounds and UCB are in it, and at least one curve to its end."""
    highest = 1.06 * max(float(curve.mean.max()) for curve in curves)
    least = 1.3 * min(curve.final for curve in curves)
    if not bounds:
        return max(highest, 1e-9)
    top = 1.2 * max(bounds.values()) * log
    top = max([top, *(2.0 * curve.final for curve in curves if curve.name == "UCB")])
    return float(max(min(top, highest), 1.06 * bounds[LOWER] * log, least, 1e-9))


class Panel(NamedTuple):
    """One problem of a drawing with several."""

    title: str
    instance: Instance
    rounds: Values
    regret: dict[str, Values]  # of each policy: (repetitions, rounds)


def regret_chart(curves: RegretCurves, log: bool) -> Chart:
    """The curves of one problem; what leaves the chart at its top is named there.

    Dotted and dash-dotted lines are the lower bounds V ln t, with the structure and without.
    """
    rounds = curves.rounds
    marks: list[Mark] = []
    for curve in curves.curves:
        marks.append(Line(curve.name, rounds, curve.mean, curve.name))
        marks.append(Line(curve.name, np.concatenate([rounds, rounds[::-1]]),
                          np.concatenate([curve.low, curve.high[::-1]]), closed=True))  # fmt: skip
    for name, value in curves.bounds.items():
        label = f"{name}, {value:.3g} ln t"
        marks.append(Line(name, rounds, value * np.log(rounds), label))
    if curves.changes:
        at = np.array(curves.changes, dtype=np.float64)
        upright = gapped(np.zeros_like(at), np.full_like(at, curves.top))
        marks.append(Line("change", gapped(at, at), upright, "the means change"))
    for n, curve in enumerate(curves.leaving):
        text = f"{shortened(curve.name)} leaves: {curve.final:,.0f} in the end"
        marks.append(Words(text, 0.02, 0.94 - 0.085 * n, look=curve.name))
    low, high = max(1.0, curves.n_arms // 2), float(rounds[-1])
    x = logarithmic(low, high, "round t") if log else Axis(0.0, high, None, "round t", grid=True)
    y = Axis(0.0, curves.top, None, "mean regret", grid=True)
    return Chart("regret", curves.title, x, y, tuple(marks), title=curves.title)


def plot_regret(
    instance: Instance,
    rounds: Values,
    regret: Mapping[str, Values],
    paths: Sequence[StrPath] = (),
    title: str | None = None,
    band: float = 2.0,
) -> Drawing:
    """Draw mean regret against rounds, on a logarithmic and a linear axis.

    The band is `band` standard errors of the mean to either side.
    """
    drawing = draw_problem(regret_curves(instance, rounds, regret, band, title))
    return save(drawing, paths)


def draw_problem(curves: RegretCurves) -> Drawing:
    """The drawing of one problem: its curves over ln t and over t."""
    drawing = new_drawing(11.0, 4.6)
    left, right = drawing.subplots(1, 2, sharey=True)
    looks = looks_of([curve.name for curve in curves.curves])
    shown = draw(left, regret_chart(curves, log=True), looks)
    draw(right, regret_chart(curves, log=False), looks)
    right.set_ylabel("")
    legend_beside(drawing, shown.values(), [line.get_label() for line in shown.values()])
    title = f"{curves.title}, {curves.repetitions} repetitions"
    drawing.suptitle(in_lines(title, 110, most=3), fontsize=11)
    if curves.bounds:
        drawing.supxlabel(ASYMPTOTIC, fontsize=8, color="#444444")
    return drawing


def plot_panels(panels: Sequence[Panel], paths: Sequence[StrPath], band: float) -> Drawing:
    """Draw several problems over ln t, three in a row, with one legend for all."""
    problems = [
        regret_curves(panel.instance, panel.rounds, panel.regret, band, panel.title)
        for panel in panels
    ]
    looks = looks_of(*([curve.name for curve in problem.curves] for problem in problems))
    charts = [regret_chart(curves, log=True) for curves in problems]
    drawing, free, shown = in_a_grid(charts, looks, (4.0, 3.3), (1.0, 0.0), spare=1)
    _shared_legend(free[0], shown, looks)
    if any(curves.bounds for curves in problems):
        drawing.supxlabel(ASYMPTOTIC, fontsize=9, color="#444444")
    return save(drawing, paths)


def in_a_grid(
    charts: Sequence[Chart],
    looks: Looks,
    size: tuple[float, float],
    more: tuple[float, float],
    spare: int = 0,
    columns: int = 3,
) -> tuple[Drawing, list[Any], dict[str, Any]]:
    """Charts in rows, each `size` inches, with `more` inches around: drawing, free places, lines.

    `spare` places are kept free, for a legend.
    """
    columns = min(columns, len(charts) + spare)
    rows = -(-(len(charts) + spare) // columns)
    drawing = new_drawing(more[0] + size[0] * columns, more[1] + size[1] * rows)
    places = list(drawing.subplots(rows, columns, squeeze=False).flat)
    shown: dict[str, Any] = {}
    for n, (axes, chart) in enumerate(zip(places, charts, strict=False)):
        shown = draw(axes, chart, looks) | shown
        axes.set_title(in_lines(chart.title, 45, most=3), fontsize=10)
        if n % columns:
            axes.set_ylabel("")
    for axes in places[len(charts) :]:
        axes.axis("off")
    return drawing, places[len(charts) :], shown


def _shared_legend(place: Any, shown: Mapping[str, Any], looks: Looks) -> None:
    """One legend for several problems; policies that are never in one may look the same."""
    groups: dict[str, list[str]] = {}
    for name in sorted(shown, key=lambda name: name in (LOWER, WITHOUT)):
        groups.setdefault(str(looks[name]), []).append(name)
    place.legend(
        [shown[names[0]] for names in groups.values()],
        [",\n".join(in_lines(name, most=3) for name in names) for names in groups.values()],
        loc="center left",
        frameon=False,
        fontsize=10,
        ncols=1 if len(groups) <= 12 else 2,
    )


# Identification: what share of the runs has stopped, by round.


def stopping_charts(
    deltas: Sequence[float],
    rounds: Mapping[str, Any],
    sure: Mapping[str, Any],
    time: float | None,
) -> list[Chart]:
    """A chart for each delta; `rounds` and `sure` are (repetitions, deltas) by policy.

    A curve rises by 1 / repetitions where a run stops. `time` is T*, where that is known.
    """
    charts = []
    for d, delta in enumerate(deltas):
        marks, ends = [], [1.0]
        for policy, stops in rounds.items():
            stopped = np.sort(stops[:, d][sure[policy][:, d]]).astype(np.float64)
            share = np.repeat(np.arange(stopped.size + 1), 2)[1:-1] / len(stops)
            marks.append(Line(policy, np.repeat(stopped, 2), share, policy))
            ends += stopped.tolist()
        if time:
            least = time * math.log(1.0 / delta)
            marks.append(Line(LOWER, *coordinates((least, 0.0), (least, 1.02)), "T* ln(1 / delta)"))
            ends.append(least)
        x = logarithmic(0.9 * min(ends[1:] or ends), 1.1 * max(ends), "round")
        y = Axis(0.0, 1.02, None, "share of the runs that have stopped", grid=True)
        title = f"delta = {delta:g}"
        charts.append(Chart("stopping", title, x, y, tuple(marks), title=title))
    return charts


def plot_stopping(charts: Sequence[Chart], paths: Sequence[StrPath] = ()) -> Drawing:
    """Draw the share of runs that have stopped, by round, into PNG, SVG or PDF files."""
    looks = looks_of(*(policies_in(chart) for chart in charts))
    drawing, _, shown = in_a_grid(charts, looks, (4.2, 3.8), (3.4, 0.0), columns=len(charts))
    legend_beside(drawing, shown.values(), [line.get_label() for line in shown.values()])
    return save(drawing, paths)


def policies_in(chart: Chart) -> list[str]:
    """The name whose curves are in a chart."""
    return [mark.look for mark in chart.marks if isinstance(mark, Line) and mark.label
            and mark.look not in LOOKS]  # fmt: skip


# A sweep: regret in the end against what was swept.

MOST_PANELS = 12
LOGARITHMIC = 20.0  # a range of values wider than this factor gets a logarithmic axis


def sweep_charts(table: pd.DataFrame, keys: Sequence[str]) -> list[Chart]:
    """A chart for each combination of the other keys; bars are two standard errors.

    `table` has a row for each point and policy; `curve` says whose they are. Along the axis goes
    the key with the most values, numbers first.
    """
    values = {key: list(dict.fromkeys(table[key])) for key in keys}
    key = max(keys, key=lambda key: (_are_numbers(values[key]), len(values[key])))
    numbers = _are_numbers(values[key])
    place = {v: float(v) if numbers else float(n) for n, v in enumerate(values[key])}
    low, high = min(place.values()), max(place.values())
    log = numbers and low > 0.0 and high > LOGARITHMIC * low
    ticks = None if numbers else labelled(place.values(), (str(v)[:24] for v in place))
    pad = 0.05 * (high - low or 1.0)
    x = logarithmic(0.9 * low, 1.1 * high, key) if log else Axis(low - pad, high + pad, ticks, key)
    others = [other for other in keys if other != key]
    charts = []
    for fixed, rows in table.groupby(others, sort=False) if others else [((), table)]:
        title = ", ".join(f"{k} = {v}" for k, v in zip(others, fixed, strict=True))
        marks: list[Mark] = []
        for name, part in rows.groupby("curve", sort=False):
            part = part.assign(place=part[key].map(place)).sort_values("place")
            at, mean = part["place"].to_numpy(float), part["regret"].to_numpy(float)
            error = 2.0 * part["standard_error"].fillna(0.0).to_numpy(float)
            marks += [
                Line(str(name), at, mean, str(name)),
                Line(f"{name}: error", gapped(at, at), gapped(mean - error, mean + error)),
                Points(f"{name}: error", at, mean, "dot", 2.0),
            ]
        top = max(float(np.nanmax(mark.y)) for mark in marks)
        y = Axis(0.0, 1.05 * top or 1.0, None, "mean regret", grid=True)
        charts.append(Chart("sweep", title, x, y, tuple(marks), title=title))
    return charts


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def plot_sweep(table: pd.DataFrame, keys: Sequence[str], path: Path) -> Drawing:
    """Draw final regret against the swept values."""
    charts = sweep_charts(table, keys)
    left_out, charts = len(charts[MOST_PANELS:]), charts[:MOST_PANELS]
    looks = looks_of(*(policies_in(chart) for chart in charts))
    bars = {f"{name}: error": {"color": look["color"]} for name, look in looks.items()}
    drawing, _, shown = in_a_grid(charts, {**looks, **bars}, (4.2, 3.4), (2.4, 0.8))
    legend_beside(drawing, shown.values(), shown)
    more = f" ({left_out} more panels are in the table)" if left_out else ""
    drawing.suptitle(f"regret in the end against {charts[0].x.title}{more}", fontsize=11)
    return save(drawing, [path])
