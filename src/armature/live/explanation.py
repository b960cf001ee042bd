"""What a bandit believes, in plain words and numbers."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from armature.bounds.evidence import DELTA, Evidence, doubt_of, evidence
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.live.arms import Arms
from armature.live.choosing import untouched
from armature.live.rewards import Goal
from armature.live.verdict import DELTA as DELTA_OF_VERDICT
from armature.live.verdict import Verdict, verdict
from armature.policies import Belief, Policy
from armature.rounds.runner import PolicyRunner
from armature.rounds.stopping import Threshold, checked_threshold
from armature.structures import Structure, Unconstrained
from armature.structures.oracles.leader import leader_of
from armature.views.picture import Picture, picture_of
from armature.words import Arm, Card, Sentence, Shown, best_first, row_of


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Shown):
    """What the data say and what the policy makes of it; `str` gives it as a text.

    Attributes
    ----------
        summary: what the policy does next and why.
        pulls, means: of each arm (nan without pulls).
        low, high: the interval of each arm's mean, N d(mean, .) <= ln(1 + t).
        projected: the nearest mean vector in the structure.
        leader: its best arm.
        evidence: how much more the nearest one with another best arm costs.
        misfit: how far the data are from the structure, as a log-likelihood ratio.
        sigma: the estimate of an unknown standard deviation, which all of this rests on; else None.
        fit: how well the structure fits, with the evidence against it and its threshold, and when
            it was dropped, if it was; None where the reward family has no evidence.
        alternative: the nearest mean vector in the structure with another best arm, which is what
            would change the leader; nan where there is none.
        judge: how `verdict` is worked out, from the data of now.
        reason: the summary with its arms and numbers as data.
        structure, goal: what the picture needs to know besides.
    """

    summary: str
    arms: tuple[Hashable, ...]
    pulls: Floats
    means: Floats
    low: Floats
    high: Floats
    projected: Floats
    leader: Hashable
    evidence: float
    misfit: float
    sigma: float | None = None
    fit: Evidence | None = None
    alternative: Floats | None = None
    judge: Callable[[], Verdict] | None = None
    reason: Sentence | None = None
    structure: Structure | None = None
    goal: str = "max"

    @functools.cached_property
    def verdict(self) -> Verdict | None:
        """Whether the leader is surely the best arm, at an error of 0.05; what that still takes.

        Worked out when it is asked for: it solves for the best shares of the samples.
        """
        return None if self.judge is None else self.judge()

    def picture(self) -> Picture | None:
        """What a notebook draws."""
        if self.structure is None:
            return None
        return picture_of(self, self.structure, goal=self.goal)

    def card(self) -> Card:
        columns = ("arm", "pulls", "mean", "from", "to", "fitted")
        rows = [
            row_of(arm, self.pulls[k], self.means[k], self.low[k], self.high[k], self.projected[k])
            for k, arm in enumerate(self.arms)
        ]
        ranked = best_first(self.projected.tolist())
        return Card(self.summary, columns, tuple(rows[k] for k in ranked), self._fit())

    def __str__(self) -> str:
        width = max(5, *(len(str(arm)) for arm in self.arms))
        lines = [self.summary, ""]
        lines.append(f"{'arm':>{width}} {'pulls':>7} {'mean':>9} {'interval':>21} {'fitted':>9}")
        for i, arm in enumerate(self.arms):
            interval = f"[{self.low[i]:.4g}, {self.high[i]:.4g}]"
            mark = "  <- leader" if arm == self.leader else ""
            lines.append(
                f"{arm!s:>{width}} {self.pulls[i]:>7.0f} {self.means[i]:>9.4g} {interval:>21} "
                f"{self.projected[i]:>9.4g}{mark}"
            )
        lines += ["", self._fit()]
        if self.sigma is not None:
            lines.append(f"Sigma is not known; the rewards so far say about {self.sigma:.4g}.")
        if self.verdict is not None and self.pulls.any():
            lines.append(str(self.verdict))
        if self.fit is not None and self.pulls.any():
            lines.append(str(self.fit))
        return "\n".join(lines)

    def _fit(self) -> str:
        seen = self.pulls > 0.0
        if not seen.any():
            return "There are no rewards yet."
        distance = np.abs(np.where(seen, self.projected - self.means, 0.0))
        worst = int(distance.argmax())
        if self.misfit == math.inf:
            return "No means in the structure could have given these rewards."
        if self.misfit <= 1e-12:
            return "The means so far agree with the structure exactly."
        return (
            f"The data are {self.misfit:.3g} (in log-likelihood) away from the structure; the "
            f"largest change that it asks for is {distance[worst]:.3g}, at arm {self.arms[worst]}."
        )


def explain(decisions: PolicyRunner, arms: Arms, goal: Goal, floor: float) -> Explanation:
    """The explanation of a policy at work, in the units of what is told."""
    policy, names = decisions.policy, tuple(arms.names)
    family, estimated = decisions.informed_family(), decisions.family.as_told.estimated
    belief, alternative = _belief(decisions, family)
    reason = _reason(policy, belief, floor)
    low, high = goal.interval(belief.low, belief.high)
    return Explanation(
        reason.shown(names),
        names,
        belief.pulls.copy(),
        goal.value(np.where(belief.pulls > 0.0, belief.means, math.nan)),
        low,
        high,
        goal.value(belief.projected),
        names[belief.leader],
        belief.evidence,
        belief.misfit,
        math.sqrt(family.sub_gaussian_variance) if estimated else None,
        evidence_of(decisions, names) if decisions.family.has_evidence else None,
        goal.value(alternative),
        functools.partial(judged, _seen_by(decisions), names),
        reason,
        decisions.structure,
        goal.word,
    )


def _reason(policy: Policy, belief: Belief, floor: float) -> Sentence:
    """What the policy does next and why."""
    unseen = np.flatnonzero(belief.pulls == 0.0)
    if unseen.size and policy.starts_with_each_arm:
        coming = [Arm(int(k)) for k in unseen]
        reason = Sentence("Each arm is pulled once first; still to come: {arms}.", arms=coming)
    else:
        said = policy.explain(belief)
        reason = said if isinstance(said, Sentence) else Sentence("{text}", text=str(said))
    if floor > 0.0:
        least = 100.0 * floor
        reason += Sentence("Each arm gets at least {least:.3g} % of the decisions.", least=least)
    return reason


class Seen(NamedTuple):
    """What a verdict rests on, as it was."""

    structure: Structure
    family: Family
    pulls: Floats
    means: Floats


def _seen_by(decisions: PolicyRunner) -> Seen:
    """What a policy has seen; without the structure, if it has dropped that."""
    history, structure = decisions.history, decisions.structure
    if decisions.policy.dropped(decisions.state) is not None:
        structure = Unconstrained(structure.n_arms)
    return Seen(structure, decisions.informed_family(), history.pulls.copy(), history.means.copy())


def judged(
    seen: Seen,
    names: Sequence[Hashable],
    delta: float = DELTA_OF_VERDICT,
    threshold: Threshold = "practical",
) -> Verdict:
    """The verdict on what was seen."""
    return verdict(seen.structure, seen.family, seen.pulls, seen.means, delta, threshold, names)


def verdict_of(
    decisions: PolicyRunner, names: Sequence[Hashable], delta: float, threshold: Threshold
) -> Verdict:
    """Which arm is best, by what a policy has seen."""
    checked_threshold(threshold, decisions.family)
    return judged(_seen_by(decisions), names, delta, threshold)


def evidence_of(
    decisions: PolicyRunner, names: Sequence[Hashable], delta: float | None = None
) -> Evidence:
    """The evidence against the structure in what a policy has seen.

    Where the policy has dropped the structure: the evidence of then. `delta` is the policy's own
    where it has one.
    """
    policy, history = decisions.policy, decisions.history
    if delta is None:
        delta = policy.drops_at or DELTA
    found = evidence(
        decisions.structure, decisions.family, history.pulls, history.sums, delta, names
    )
    dropped = policy.dropped(decisions.state)
    if dropped is None:
        return found
    misfit = dropped.log_e + dropped.learning
    return dataclasses.replace(
        found,
        log_e=dropped.log_e,
        misfit=misfit,
        learning=dropped.learning,
        doubt=float(doubt_of.py_func(misfit, len(names))),
        shares=dropped.shares,
        dropped=dropped.round,
    )


def _belief(decisions: PolicyRunner, family: Family) -> tuple[Belief, Floats]:
    """What the data say, and the nearest alternative to it."""
    structure, history = decisions.structure, decisions.history
    pulls, means, rounds = history.pulls, history.means, int(history.clock[0])
    seen = pulls > 0.0
    # An arm without pulls has weight 0, so that any mean of the family will do.
    guess = float(means[seen].mean()) if seen.any() else family.some_mean
    mu = np.where(seen, means, family.clipped(np.full(means.size, guess)))
    level = np.where(seen, math.log(1.0 + rounds) / np.maximum(pulls, 1.0), math.inf)
    fit = structure.project(mu, pulls, family)
    leader = leader_of(family.record_for(mu.size), np.asarray(fit.means), mu, pulls)
    other = structure.nearest_alternative(mu, pulls, leader, family)
    belief = Belief(
        structure=structure,
        family=family,
        rounds=rounds,
        pulls=pulls,
        means=mu,
        low=np.asarray(family.lower(mu, level)),
        high=np.asarray(family.upper(mu, level)),
        projected=np.asarray(fit.means),
        leader=leader,
        misfit=float(fit.cost),
        evidence=float(other.cost - fit.cost) if fit.cost < math.inf else 0.0,
        history=untouched(history),
        known=decisions.known(),
        state=decisions.state,
    )
    return belief, np.asarray(other.means)
