"""An assessment drawn by Matplotlib, for notebooks and papers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FixedLocator, MaxNLocator, StrMethodFormatter

from armature.assess.charts import picture_of_arms, reach
from armature.assess.compare import LOGGED, Trial
from armature.views.figure import draw_arms
from armature.views.looks import BLUE, literal
from armature.views.plotting import Picture, checked_picture, new_picture, save

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment

SOFT = "#8a857b"
LABELS = 24


def plot_assessment(assessment: Assessment, path: str | os.PathLike[str] | None = None) -> Picture:
    """Means with the fit on the left, and the policies' regret on the right."""
    targets = [] if path is None else [checked_picture(path)]
    arms = picture_of_arms(assessment).arms
    trials = assessment.trials[:1]
    drawing = new_picture(max(6.0, min(12.0, 2.5 + 0.5 * len(arms))) + 4.5 * len(trials), 4.2)
    axes = np.atleast_1d(drawing.subplots(1, 1 + len(trials)))
    draw_arms(axes[0], arms)
    every = max(1, -(-len(arms) // LABELS))
    places = list(range(0, len(arms), every))
    names = [literal(arms.names[k]) for k in places]
    slanted = max(map(len, names)) > 4
    axes[0].xaxis.set_major_locator(FixedLocator(places))
    axes[0].set_xticklabels(
        names, rotation=40 if slanted else 0, ha="right" if slanted else "center"
    )
    axes[0].set_title("")
    heading = "\n".join(map(literal, (assessment.title, _said(assessment))))
    axes[0].set_title(heading, loc="left", fontsize=11)
    axes[0].legend(frameon=False, fontsize=9)
    for axis, trial in zip(axes[1:], trials, strict=True):
        _draw_trial(axis, trial, assessment.unit)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    save(drawing, targets)
    return drawing


def _said(assessment: Assessment) -> str:
    chosen = assessment.chosen
    return f"{chosen.name} is {'refuted' if chosen.refuted else 'not refuted'}"


def _draw_trial(axis: Any, trial: Trial, unit: str) -> None:
    """Quantiles of each policy's regret, the least mean on top."""
    names = trial.ranking
    end = reach(trial)
    for row, name in enumerate(names):
        q5, q25, q50, q75, q95 = (trial.quantile(name, q) for q in (0.05, 0.25, 0.5, 0.75, 0.95))
        colour = SOFT if name == LOGGED else BLUE
        if q5 > end:  # all of it is beyond the picture
            axis.annotate(
                f"{q50:,.0f} \N{RIGHTWARDS ARROW}", (0.99, row), xycoords=("axes fraction", "data"),
                ha="right", va="center", color=SOFT,
            )  # fmt: skip
            continue
        axis.hlines(row, q5, min(q95, 2.0 * end), color=SOFT, linewidth=1.5)
        axis.hlines(row, q25, min(q75, 2.0 * end), color=colour, linewidth=9, alpha=0.4)
        axis.plot([q50], [row], "|", color=colour, markersize=14, markeredgewidth=2.5)
        axis.plot([trial.mean(name)], [row], "o", fillstyle="none", color=colour, markersize=7)
    axis.set_yticks(range(len(names)), [literal(name) for name in names])
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(0.0, end)
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}" if end > 20.0 else "{x:g}"))
    axis.set_xlabel(literal(f"regret in {trial.horizon:,} rounds ({unit})"))
