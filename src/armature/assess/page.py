"""An assessment as one HTML page, that opens without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from armature.assess import charts, report
from armature.experiments.keys import versions_of
from armature.views.pages import environment, stylesheet

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment

MOST_ROWS = 24  # arms in the picture of changes


def as_page(assessment: Assessment) -> str:
    """The page."""
    shown = charts.picture_of_arms(assessment)
    page = environment("armature.assess", (charts.regret_chart, charts.drift_chart))
    return page.get_template("assessment.html").render(
        css=Markup(stylesheet()),
        found=assessment,
        shown=shown,
        target=charts.target_of(assessment, shown),
        arms=report.arms_table(assessment),
        structures=report.structures_table(assessment),
        allocation=_allocation(assessment),
        trials=[(trial, report.trial_table(trial)) for trial in assessment.trials],
        most=max((charts.reach(trial) for trial in assessment.trials), default=None),
        sentences={
            about: sentence.shown(assessment.log.arms)
            for about, sentence in report.sentences(assessment).items()
        },
        changes=_changes(assessment),
        versions=versions_of("numpy", "numba", "scipy"),
    )


def _allocation(assessment: Assessment) -> Any:
    worth = assessment.chosen.worth
    return None if worth is None or worth.pulls is None else report.allocation_table(assessment)


def _changes(assessment: Assessment) -> bool:
    known = int(np.isfinite(assessment.drift.before).sum())
    return 0 < known <= MOST_ROWS
