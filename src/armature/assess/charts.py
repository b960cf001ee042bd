"""The charts of an assessment: the arms as a bandit has them, regret, and changes over the log."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from armature.assess.arms import seen_means
from armature.assess.compare import LOGGED, Trial
from armature.assess.drift import Drift
from armature.live.explanation import Explanation
from armature.structures.oracles.leader import leader_of
from armature.views.chart import (
    Axis,
    Chart,
    Line,
    Mark,
    Points,
    Words,
    clipped,
    gapped,
    labelled,
    number,
    numbered,
    ticks,
    together,
)
from armature.views.picture import Picture, Target, picture_of

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment
    from armature.views.figure import Drawing

ROW, LOW, TOP = 34.0, 22.0, 8.0  # pixels of a policy's row, of an arm's, and above the first
FAR = 40.0  # times the least median: a regret beyond it leaves the picture
NOTHING = 0.01  # fewer pulls are a solver's tolerance


def regret_chart(trial: Trial, most: float | None = None, unit: str = "") -> Chart:
    """A row for each policy: a line from the 5th to the 95th percentile, a bar for the middle half.

    The mark is the median, the ring the mean. `most` is where the axis ends.
    """
    names = trial.ranking
    end = reach(trial) if most is None else most
    height = TOP + ROW * len(names)
    marks: list[Mark] = []
    for row, name in enumerate(names):
        y = TOP + ROW * (row + 0.5)
        marks.append(Words(name, 0.006, 1.0 - (y - 9.0) / height, look="axis policy"))
        q5, q25, q50, q75, q95 = (trial.quantile(name, q) for q in (0.05, 0.25, 0.5, 0.75, 0.95))
        if q5 > end:  # all of it is beyond the chart
            beyond = f"{number(q50, 3)} \N{RIGHTWARDS ARROW}"
            marks.append(Words(beyond, 1.0, 1.0 - (y + 6.0) / height, "end"))
            continue
        mean = trial.mean(name)
        note = (
            f"{name}: mean {number(mean, 3)}, median {number(q50, 3)}, from {number(q5, 3)} to "
            f"{number(q95, 3)}"
        )
        at, kind = np.full(2, -(y + 2.0)), " logged" if name == LOGGED else ""
        middle = np.minimum([q25, max(q75, q25 + 0.0015 * end)], end)
        marks.append(Line(f"whisker{kind}", np.minimum([q5, q95], end), at, note=note))
        marks.append(Line(f"middle{kind}", middle, at, note=note))
        if q50 <= end:
            marks.append(Points(f"median{kind}", np.array([q50]), at[:1], "tick", 7.0))
        if mean <= end:
            marks.append(Points("asked", np.array([mean]), at[:1], "ring", 4.5, notes=(note,)))
    values = ticks(0.0, end, 5)
    title = f"regret in {trial.horizon:,} rounds ({unit})"
    x = Axis(0.0, end, labelled(values, together(values)), title, grid=True)
    best = next(name for name in names if name != LOGGED)
    least = number(trial.mean(best), 3)
    label = f"Regret of {len(names)} ways to choose; {best} has the least, {least}."
    return Chart("regrets", label, x, Axis(-height, 0.0), tuple(marks), height)


def reach(trial: Trial) -> float:
    """The end of the axis: a little beyond the regret of most policies."""
    highs = sorted(trial.quantile(name, 0.95) for name in trial.names if name != LOGGED)
    least = min(trial.quantile(name, 0.5) for name in trial.names)
    return 1.04 * max(min(highs[-1], max(FAR * least, highs[0])), 1e-12)


def drift_chart(drift: Drift) -> Chart:
    """The mean of each arm's first half, beside that of its second half."""
    known = np.flatnonzero(np.isfinite(drift.before))
    before, after = drift.before[known], drift.after[known]
    names = [str(drift.arms[k]) for k in known]
    low, high = float(min(before.min(), after.min())), float(max(before.max(), after.max()))
    pad = 0.08 * (high - low or abs(high) or 1.0)
    x, changed = numbered(low - pad, high + pad), set(drift.changed)
    y = -(TOP + LOW * (np.arange(known.size) + 0.5))
    notes = tuple(
        f"{name}: {number(a)}, then {number(b)}"
        for name, a, b in zip(names, before, after, strict=True)
    )
    marks: list[Mark] = []
    for look in ("", " changed"):
        own = np.array([(drift.arms[k] in changed) == bool(look) for k in known])
        shown = tuple(notes[i] for i in np.flatnonzero(own))
        marks += [
            Line(f"moved{look}", gapped(before[own], after[own]), gapped(y[own], y[own])),
            Points("half", before[own], y[own], "ring", 4.0, notes=shown),
            Points(f"half second{look}", after[own], y[own], "dot", 5.0, notes=shown),
        ]
    height = TOP + LOW * known.size
    rows = Axis(-height, 0.0, labelled(y, map(clipped, names)))
    label = f"First and second half of the rewards of {known.size} arms; {len(changed)} changed."
    return Chart("drift", label, x, rows, tuple(marks), height)


def plot_assessment(assessment: Assessment, path: str | os.PathLike[str] | None) -> Drawing:
    """Means with the fit on the left, and the policies' regret on the right."""
    from armature.views import figure
    from armature.views.bandit_charts import arms_chart
    from armature.views.figure import literal

    arms = arms_chart(picture_of_arms(assessment))
    charts = [arms, *(regret_chart(one, unit=assessment.unit) for one in assessment.trials[:1])]
    wide = max(6.0, min(12.0, 2.5 + 0.5 * arms.x.high))
    drawing = figure.new_drawing(wide + 4.5 * (len(charts) - 1), 4.2)
    panels = drawing.subplots(1, len(charts), squeeze=False)[0]
    shown = [figure.draw(axes, chart) for axes, chart in zip(panels, charts, strict=True)]
    figure.explain(panels[0], shown[0])
    said = f"{assessment.chosen.name} is {'' if assessment.chosen.refuted else 'not '}refuted"
    panels[0].set_title("\n".join(map(literal, (assessment.title, said))), loc="left", fontsize=11)
    return figure.save(drawing, [] if path is None else [path])


# What there is to draw of the arms.


def belief_of(assessment: Assessment) -> Explanation:
    """The log as the explanation of a bandit; the intervals are the report's."""
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
    """The pulls of each arm that the lower bound asks for up to the horizon."""
    worth = assessment.chosen.worth
    if worth is None or worth.pulls is None or worth.value is None:
        return None
    pulls = worth.pulls[shown.arms.places] * math.log(worth.horizon)
    pulls[pulls < NOTHING] = 0.0
    pulls[shown.arms.leader] = math.nan
    return Target(pulls, worth.value, worth.unconstrained or worth.value)
