"""The pictures of an assessment that a bandit does not have, as SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from armature.assess.arms import seen_means
from armature.assess.compare import LOGGED, Trial
from armature.assess.drift import Drift
from armature.live.explanation import Explanation
from armature.structures.oracles.leader import leader_of
from armature.views.picture import Picture, Target, picture_of
from armature.views.svg import joined, number, percent, picture, tag, tick_texts, ticks

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment

ROW, TOP = 34.0, 8.0
NOTHING = 0.01  # pulls that nobody needs
FAR = 40.0  # times the least median: a regret beyond it leaves the picture


def regret_chart(trial: Trial, most: float | None = None) -> Markup:
    """A row for each policy: a line from the 5th to the 95th percentile, a bar for the middle half.

    The mark is the median, the ring the mean. `most` is where the axis ends.
    """
    names = trial.ranking
    end = reach(trial) if most is None else most
    height = TOP + ROW * len(names)
    marks = ticks(0.0, end, 5)
    parts = []
    for value, text in zip(marks, tick_texts(marks), strict=True):
        x = percent(100.0 * value / end)
        parts.append(tag("line", class_="grid", x1=x, x2=x, y1=0, y2=height))
        anchor = "start" if value == 0.0 else "middle"
        parts.append(tag("text", text, class_="axis", x=x, y=height + 18.0, text_anchor=anchor))
    for row, name in enumerate(names):
        parts.append(_policy(trial, name, TOP + ROW * (row + 0.5), end))
    best = next(name for name in names if name != LOGGED)
    least = number(trial.mean(best), 3)
    label = f"Regret of {len(names)} ways to choose; {best} has the least, {least}."
    return picture(height, label, *parts, kind="chart regrets")


def reach(trial: Trial) -> float:
    """Where the axis ends: beyond what most policies lose, and not far beyond."""
    highs = sorted(trial.quantile(name, 0.95) for name in trial.names if name != LOGGED)
    least = min(trial.quantile(name, 0.5) for name in trial.names)
    return 1.04 * max(min(highs[-1], max(FAR * least, highs[0])), 1e-12)


def _policy(trial: Trial, name: str, y: float, end: float) -> Markup:
    q5, q25, q50, q75, q95 = (trial.quantile(name, q) for q in (0.05, 0.25, 0.5, 0.75, 0.95))

    def x(value: float) -> str:
        return percent(100.0 * min(max(value / end, 0.0), 1.0))

    words = (
        f"{name}: mean {number(trial.mean(name), 3)}, median {number(q50, 3)}, from "
        f"{number(q5, 3)} to {number(q95, 3)}"
    )
    kind = " logged" if name == LOGGED else ""
    label = tag("text", name, class_="axis policy", x=0, y=y - 9.0)
    if q5 > end:  # all of it is beyond the picture
        beyond = f"{number(q50, 3)} \N{RIGHTWARDS ARROW}"
        at = tag("text", beyond, class_="axis", x="100%", y=y + 6.0, text_anchor="end")
        return tag("g", tag("title", words), label, at)
    width = 100.0 * (min(q75, end) - min(q25, end)) / end
    at_mean = trial.mean(name)
    mean = (
        [tag("circle", class_="asked", cx=x(at_mean), cy=y + 2.0, r=4.5)] if at_mean <= end else []
    )
    return tag(
        "g",
        tag("title", words),
        label,
        tag("line", class_="whisker" + kind, x1=x(q5), x2=x(q95), y1=y + 2.0, y2=y + 2.0),
        tag("rect", class_="middle" + kind, x=x(q25), y=y - 3.0, width=percent(max(width, 0.15)),
            height=10.0, rx=2),
        tag("line", class_="median" + kind, x1=x(q50), x2=x(q50), y1=y - 5.0, y2=y + 9.0),
        *mean,
    )  # fmt: skip


def drift_chart(drift: Drift) -> Markup:
    """Each arm's first half beside its second half."""
    known = [k for k in range(len(drift.arms)) if math.isfinite(drift.before[k])]
    values = [float(v) for k in known for v in (drift.before[k], drift.after[k])]
    low, high = min(values), max(values)
    pad = 0.08 * (high - low or abs(high) or 1.0)
    low, high = low - pad, high + pad
    height, changed = TOP + 22.0 * len(known), set(drift.changed)
    marks = ticks(low, high, 5)
    parts = []
    for value, text in zip(marks, tick_texts(marks), strict=True):
        x = percent(100.0 * (value - low) / (high - low))
        parts.append(tag("line", class_="grid", x1=x, x2=x, y1=0, y2=height))
        parts.append(tag("text", text, class_="axis", x=x, y=height + 18.0, text_anchor="middle"))
    for row, k in enumerate(known):
        y = TOP + 22.0 * (row + 0.5)
        a, b = (100.0 * (float(v[k]) - low) / (high - low) for v in (drift.before, drift.after))
        kind = " changed" if drift.arms[k] in changed else ""
        words = f"{drift.arms[k]}: {number(drift.before[k])}, then {number(drift.after[k])}"
        parts.append(
            tag("g", tag("title", words),
                tag("text", str(drift.arms[k]), class_="axis", x=-10, y=y + 4.0, text_anchor="end"),
                tag("line", class_="moved" + kind, x1=percent(a), x2=percent(b), y1=y, y2=y),
                tag("circle", class_="half", cx=percent(a), cy=y, r=4),
                tag("circle", class_="half second" + kind, cx=percent(b), cy=y, r=5))
        )  # fmt: skip
    label = f"First and second half of the rewards of {len(known)} arms; {len(changed)} changed."
    return picture(height, label, joined(parts), kind="chart drift")


def belief_of(assessment: Assessment) -> Explanation:
    """What the log says, as a bandit would explain it; the intervals are the report's."""
    arms, chosen, log = assessment.arms, assessment.chosen, assessment.log
    informed, structure = assessment.informed, chosen.structure
    means = seen_means(log, informed)
    fitted = np.where(np.isfinite(chosen.fitted), chosen.fitted, means)
    record = informed.family.record_for(fitted.size)
    leader = leader_of(record, fitted, means, log.counts)
    alternative = None
    if np.isfinite(chosen.fitted).all() and not chosen.refuted:
        other = structure.nearest_alternative(means, log.counts, leader, informed.family)
        alternative = np.asarray(other.means)
    return Explanation(
        summary=assessment.recommendation,
        arms=log.arms,
        pulls=log.counts,
        means=arms.means,
        low=arms.low,
        high=arms.high,
        projected=fitted,
        leader=log.arms[leader],
        evidence=assessment.certainty.verdict.statistic,
        misfit=0.0 if chosen.evidence is None else chosen.evidence.misfit,
        fit=chosen.evidence,
        alternative=alternative,
    )


def picture_of_arms(assessment: Assessment) -> Picture:
    """Means, intervals, fit, nearest alternative, and how well the structure fits."""
    return picture_of(belief_of(assessment), assessment.chosen.structure)


def target_of(assessment: Assessment, shown: Picture) -> Target | None:
    """What the lower bound asks of each arm up to the horizon."""
    worth = assessment.chosen.worth
    if worth is None or worth.pulls is None or worth.value is None:
        return None
    pulls = worth.pulls[shown.arms.places] * math.log(worth.horizon)
    pulls[pulls < NOTHING] = 0.0
    pulls[shown.arms.leader] = math.nan
    return Target(pulls, worth.value, worth.unconstrained or worth.value)
