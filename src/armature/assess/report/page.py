"""An assessment as one HTML page, that opens without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from armature.assess.report import charts, text, words
from armature.assess.report.pictures import picture_of_arms, target_of
from armature.experiments.store.keys import versions_of
from armature.views.pages import environment, stylesheet

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment

MOST_ROWS = 24  # arms in the picture of changes


def as_page(assessment: Assessment) -> str:
    """The page."""
    shown = picture_of_arms(assessment)
    page = environment("armature.assess")
    page.globals |= {"regret_chart": charts.regret_chart, "drift_chart": charts.drift_chart}
    return page.get_template("assessment.html").render(
        css=Markup(stylesheet()),
        found=assessment,
        shown=shown,
        target=target_of(assessment, shown),
        arms=text.arms_table(assessment),
        structures=text.structures_table(assessment),
        allocation=_allocation(assessment),
        trials=[(trial, text.trial_table(trial)) for trial in assessment.trials],
        most=max((charts.reach(trial) for trial in assessment.trials), default=None),
        sentences=_sentences(assessment),
        changes=_changes(assessment),
        versions=versions_of("numpy", "numba", "scipy"),
    )


def _sentences(assessment: Assessment) -> dict[str, str]:
    return {
        "fit": words.about_fit(assessment.chosen),
        "noticeable": words.about_noticeable(assessment.chosen, assessment.log.arms),
        "candidates": words.about_candidates(assessment.candidates),
        "worth": words.about_worth(assessment),
        "trial": words.about_trial(assessment.trials[0], assessment.unit)
        if assessment.trials
        else "",
        "certainty": words.about_certainty(assessment),
    }


def _allocation(assessment: Assessment) -> Any:
    worth = assessment.chosen.worth
    return None if worth is None or worth.pulls is None else text.allocation_table(assessment)


def _changes(assessment: Assessment) -> bool:
    known = int(np.isfinite(assessment.drift.before).sum())
    return 0 < known <= MOST_ROWS
