"""The fit of all segments together, and what each of them learns from the others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from armature.bounds import LowerBound, lower_bound
from armature.bounds.evidence import DELTA, Evidence, evidence
from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.live.segmented import SegmentedBandit
from armature.service.limits import Refused
from armature.structures import Segments, Unconstrained
from armature.structures.instance import Instance
from armature.structures.oracles.records import Fit


@dataclass(frozen=True)
class SegmentWorth:
    """The knowledge of a segment, as a number of rewards of its own.

    What decides is whether another arm is the best. Let I be how far, in log-likelihood, the
    nearest table of means is in which the segment has another best arm, from the one that fits
    best: what its rewards and those of all others tell. Let I' be the same with the segment's own
    rewards alone, and the same two arms. As both grow in proportion to the rewards, its own n
    rewards and what it borrows tell as much as n I / I' rewards of its own would.

    Attributes
    ----------
        own: n.
        effective: n I / I'; infinite where its own tell nothing yet; None where nothing is known,
            or nothing can be borrowed.
    """

    own: int
    effective: float | None

    @property
    def share(self) -> float:
        """Which part of what is known is from its own rewards."""
        return 1.0 if self.effective is None else min(1.0, self.own / self.effective)


def fit_of(bandit: SegmentedBandit, table: Segments | None = None) -> Fit:
    """The means (S, K) that fit all segments' rewards best; with another table than the bandit's.

    One sigma for all, where it is not known, moves no fit.
    """
    table, family = table or bandit.structure, _family(bandit)
    means = np.where(bandit.pulls > 0, bandit.means, family.some_mean).reshape(-1)
    clipped = table.family_of_cells(family).clipped(means)
    return table.project(clipped, bandit.pulls.reshape(-1).astype(float), family)


def worth_of_segments(bandit: SegmentedBandit) -> list[SegmentWorth]:
    """For each segment what is known of it, as a number of its own rewards."""
    pulls, table = bandit.pulls.astype(float), bandit.structure
    own = [int(n) for n in pulls.sum(axis=1)]
    if not table.is_coupled or not pulls.any():
        return [SegmentWorth(n, None) for n in own]
    fitted = np.asarray(fit_of(bandit).means)
    return [SegmentWorth(n, _effective(bandit, fitted, c)) for c, n in enumerate(own)]


def _effective(bandit: SegmentedBandit, fitted: Floats, c: int) -> float | None:
    pulls, table, family = bandit.pulls.astype(float), bandit.structure, _family(bandit)
    K, best = table.n_each, int(np.argmax(fitted[c]))
    try:
        costs = table.challenger_costs(fitted, pulls, c * K + best, family)[c * K : c * K + K]
        others = np.where(np.arange(K) == best, math.inf, costs)
        rival = int(np.argmin(others))
        row, one = table.rows[c], table.family_of(family, c)
        alone = row.challenger_min(fitted[c], pulls[c], best, rival, one).cost
    except ArmatureError:  # two arms are equally good, for one
        return None
    if not 0.0 < others[rival] < math.inf:
        return None
    n = float(pulls[c].sum())
    return n * max(1.0, float(others[rival] / alone)) if alone > 0.0 and n > 0.0 else math.inf


def coupling_alone(bandit: SegmentedBandit) -> Evidence | None:
    """How well the rewards fit what segments have in common, whatever is known of each row."""
    table, family = bandit.structure, _family(bandit)
    if not (table.is_coupled and bandit.family.has_evidence and bandit.pulls.any()):
        return None
    free = Segments(table.names, Unconstrained(table.n_each), table.coupling)
    fit, pulls = fit_of(bandit, free), bandit.pulls.reshape(-1).astype(float)
    sums = np.where(pulls > 0.0, bandit.means.reshape(-1), 0.0) * pulls
    cells = [(name, arm) for name in table.names for arm in bandit.arms]
    flat = fit._replace(means=np.asarray(fit.means).reshape(-1))
    return evidence(free, free.family_of_cells(family), pulls, sums, DELTA, cells, flat)


def bound_of_table(bandit: SegmentedBandit) -> tuple[Floats, LowerBound]:
    """The means that fit best, and the lower bound there, or a refusal that says why not."""
    pulls = bandit.pulls
    if bandit.of(bandit.structure.names[0]).goal == "min":
        raise Refused(409, "there is no bound for costs: it is about rewards.")
    if not pulls.any():
        raise Refused(409, "there are no rewards yet: the bound depends on the means.")
    fitted, often = np.asarray(fit_of(bandit).means), pulls.sum(axis=1) + 1.0
    shares = often / often.sum()
    try:
        problem = Instance(bandit.structure, fitted, bandit.family, frequencies=shares)
        return fitted, lower_bound(problem)
    except ArmatureError as error:
        raise Refused(409, f"there is no bound for the means so far: {error}") from None


def _family(bandit: SegmentedBandit) -> Family:
    told = bandit.family.as_told
    return told.estimate(1.0) if told.estimated else told
