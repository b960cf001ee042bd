"""What is drawn of an assessment, computed before it is drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from armature.assess.arms import seen_means
from armature.live.explanation import Explanation
from armature.structures.oracles.leader import leader_of
from armature.views.picture import Picture, Target, picture_of

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment

NOTHING = 0.01  # pulls that nobody needs


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
