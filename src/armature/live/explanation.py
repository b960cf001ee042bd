"""Explanations of a bandit's estimates and decisions, as records and sentences."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from armature.bounds.evidence import DELTA, Evidence, doubt_of, evidence, threshold_at
from armature.kernels.arrays import Floats
from armature.live.arms import Arms
from armature.live.change import Change
from armature.live.choosing import untouched
from armature.live.outstanding import likely_means
from armature.live.rewards import Goal
from armature.live.verdict import GivenMargin, Seen, Verdict, verdict, verdict_on
from armature.policies import Belief, Policy
from armature.rounds.runner import PolicyRunner
from armature.rounds.stopping import Threshold, checked_threshold
from armature.structures import Structure
from armature.views.picture import Picture, picture_of
from armature.words import Arm, Card, Sentence, Shown, best_first, row_of


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Shown):
    """The estimates of a bandit, and its policy's reason; `str` gives it as a text.

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
        change: a change of the rewards, if there is evidence for one. All else then rests on
            rewards of two kinds.
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
    change: Change | None = None

    def across(self, change: Change, fit: Evidence | None) -> Explanation:
        """The same where the rewards changed, with the fit of those before or since."""
        judge = self.judge
        unsure = None if judge is None else lambda: judge().across(change)
        return dataclasses.replace(self, change=change, fit=fit, judge=unsure)

    @functools.cached_property
    def verdict(self) -> Verdict | None:
        """The verdict on the leader, at an error of 0.05, and the samples that it still takes.

        Worked out when it is asked for: it solves for the best shares of the samples.
        """
        return None if self.judge is None else self.judge()

    def picture(self) -> Picture | None:
        """The picture for notebooks."""
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
        elif self.change is not None:
            lines.append(str(self.change))
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
    """The explanation of a policy at work, in the units in which rewards are reported."""
    names, estimated = tuple(arms.names), decisions.family.as_told.estimated
    seen = _seen_by(decisions)
    belief = _belief(decisions, seen)
    reason = _reason(decisions.policy, belief, floor)
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
        math.sqrt(seen.family.sub_gaussian_variance) if estimated else None,
        evidence_of(decisions, names, seen=seen) if decisions.family.has_evidence else None,
        goal.value(np.asarray(seen.alternative.means)),
        _judge_of(decisions, seen, names),
        reason,
        decisions.structure,
        goal.word,
    )


def _reason(policy: Policy, belief: Belief, floor: float) -> Sentence:
    """The policy's next decision, and its reason."""
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


def _seen_by(decisions: PolicyRunner) -> Seen:
    """The rewards that a policy has seen, and its state, as they are now."""
    history, family = decisions.basis, decisions.informed_family()
    means = likely_means(history, family).copy()
    return Seen(decisions.structure, family, history.pulls.copy(), means)


def _judge_of(
    decisions: PolicyRunner, seen: Seen, names: Sequence[Hashable]
) -> Callable[..., Verdict]:
    """The structure that says which arm is best; none, if the policy has dropped it."""
    structure = seen.structure
    if decisions.policy.dropped(decisions.state) is not None:
        structure = structure.forgotten()
    elif (seen.pulls > 0.0).all():
        return functools.partial(verdict_on, seen, arms=names)
    return functools.partial(verdict, structure, seen.family, seen.pulls, seen.means, arms=names)


def verdict_of(
    decisions: PolicyRunner,
    names: Sequence[Hashable],
    delta: float,
    threshold: Threshold,
    margin: GivenMargin,
) -> Verdict:
    """The arm that is best, by what a policy has seen."""
    checked_threshold(threshold, decisions.family)
    judge = _judge_of(decisions, _seen_by(decisions), names)
    return judge(delta=delta, threshold=threshold, margin=margin)


def evidence_of(
    decisions: PolicyRunner,
    names: Sequence[Hashable],
    delta: float | None = None,
    seen: Seen | None = None,
) -> Evidence:
    """The evidence against the structure in what a policy has seen.

    Where the policy has dropped the structure: the evidence of then. `delta` is the policy's own
    where it has one.
    """
    policy, history = decisions.policy, decisions.basis
    delta = policy.drops_at or DELTA if delta is None else delta
    dropped = policy.dropped(decisions.state)
    if dropped is None:
        fit = seen.fit if seen is not None and (seen.pulls > 0.0).all() else None
        return evidence(
            decisions.structure, decisions.family, history.pulls, history.sums, delta, names, fit
        )
    misfit = dropped.log_e + dropped.learning
    return Evidence(
        log_e=dropped.log_e,
        threshold=threshold_at(delta),
        misfit=misfit,
        learning=dropped.learning,
        doubt=float(doubt_of.py_func(misfit, len(names))),
        shares=dropped.shares,
        arms=tuple(names),
        dropped=dropped.round,
    )


def apart(decisions: PolicyRunner, whole: Evidence, parts: tuple[Floats, Floats]) -> Evidence:
    """The evidence against the structure before a change or since, whichever is more.

    Each is given half of the false alarms. A structure that a policy has dropped stays dropped.
    """
    if whole.dropped is not None:
        return whole
    half = 0.5 * math.exp(-whole.threshold)
    found = [
        evidence(decisions.structure, decisions.family, counts, sums, half, whole.arms)
        for counts, sums in parts
    ]
    worse = 0 if found[0].log_e > found[1].log_e else 1
    return dataclasses.replace(found[worse], part=("before", "since")[worse])


def _belief(decisions: PolicyRunner, seen: Seen) -> Belief:
    """The estimates from the data, and the history that the policy decides on."""
    family, history = seen.family, decisions.basis
    rounds = int(history.clock[0])
    least = math.log(1.0 + rounds) / np.where(seen.pulls > 0.0, seen.pulls, 1.0)
    level = np.where(seen.pulls > 0.0, least, math.inf)
    misfit = float(seen.fit.cost)
    return Belief(
        structure=seen.structure,
        family=family,
        rounds=rounds,
        pulls=seen.pulls,
        means=seen.means,
        low=np.asarray(family.lower(seen.means, level)),
        high=np.asarray(family.upper(seen.means, level)),
        projected=seen.fitted,
        leader=seen.leader,
        misfit=misfit,
        nearest=float(seen.alternative.cost),
        evidence=float(seen.alternative.cost - misfit) if misfit < math.inf else 0.0,
        history=untouched(history),
        known=decisions.known(),
        state=decisions.state,
    )
