"""The verdict: the best arm, whether that is sure, and how many more samples that takes."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from armature.bounds import time_of
from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import total_learning_cost
from armature.kernels.arrays import Floats
from armature.live.change import Change
from armature.rounds.stopping import (
    PRACTICAL,
    Threshold,
    checked_delta,
    checked_threshold,
    number_of_challengers,
    practical_allowance,
)
from armature.storage.tagged_json import encoded
from armature.structures import Fit, Structure
from armature.structures.instance import Instance
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.margin import Margin, WithMargin
from armature.views.bandit_charts import verdict_chart
from armature.views.chart import Chart
from armature.words import Arm, Card, Sentence, Shown

DELTA = 0.05
MOST = 1e15  # samples: beyond it the answer is "never"


class GivenMargin(NamedTuple):
    """A margin as it was given, and the number that rewards were taken from, if they were."""

    given: float | str | None = None
    about: float | None = None


NO_MARGIN = GivenMargin()


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Shown):
    """The leading arm and whether that is sure; `str` gives it in words, `to_json` as JSON.

    Attributes
    ----------
        arm: the best arm of the nearest mean vector in the structure.
        sure: whether `statistic` exceeds `threshold`: that no other arm is better than `arm`, by
            more than the margin if there is one. A wrong arm is ever called sure with
            probability at most `delta`, whatever chose the arms and whenever one looks: proved for
            the threshold "theory"; for "practical" see `docs/studies/identification.md`.
        statistic: by how much the log-likelihood falls if another arm is better by the margin.
        threshold: what it has to exceed.
        delta: the probability of error that is allowed.
        needed: about how many more samples it takes at the present shares of the arms, if the
            fitted means are right; 0 where it is sure, inf where no number is enough.
        needed_at_best: the same at the shares of `characteristic_time` for the fitted means.
        shares: these shares; None where they could not be found (two arms lead, no rewards).
        arms: what the arms are called, in the order of `shares`.
        margin: the margin by which other arms may be better, as it was given; None: no margin.
        good: with a margin, the arms than which surely no other is better by more, best first.
        change: a change of the rewards, across which nothing is sure; None: none was found.
    """

    arm: Hashable
    sure: bool
    statistic: float
    threshold: float
    delta: float
    needed: float
    needed_at_best: float
    shares: Floats | None
    arms: tuple[Hashable, ...]
    change: Change | None = None
    margin: float | str | None = None
    good: tuple[Hashable, ...] = ()

    def across(self, change: Change) -> Verdict:
        """The same where the rewards changed: it is not sure."""
        return dataclasses.replace(self, sure=False, change=change, good=())

    @property
    def least_delta(self) -> float:
        """The probability of error above which it would be sure with these data, or 1."""
        if self.change is not None:
            return 1.0
        return min(self.delta * math.exp(min(self.threshold - self.statistic, 700.0)), 1.0)

    def card(self) -> Card:
        return Card(str(self))

    def picture(self) -> Chart:
        """The picture for notebooks: the evidence, up to what is enough."""
        return verdict_chart(self)

    def sentence(self, goal: str = "max") -> Sentence:
        """The same in words: which arm, how sure, and how long it takes to be sure."""
        said: dict[str, Any] = {
            "arm": Arm(self.arms.index(self.arm)),
            "best": "best" if goal == "max" else "cheapest",
            "error": 100.0 * self.delta,
            "statistic": self.statistic,
            "threshold": self.threshold,
            "needed": self.needed,
            "needed_at_best": self.needed_at_best,
        }
        if self.change is not None:
            first = Sentence("{arm} leads, and that is not sure: the rewards changed.", **said)
            return first + self.change.sentence()
        numbers = "(error {error:.3g} %; evidence {statistic:.3g}, {threshold:.3g} is enough)."
        if self.margin is not None:
            said["good"] = [Arm(self.arms.index(arm)) for arm in self.good]
            said["margin"] = str(Margin.of(self.margin))
            nearly = "no arm is better by more than {margin} " + numbers
            if self.sure:
                which = {1: "", 2: "Either of "}.get(len(self.good), "Any of ")
                return Sentence(which + "{good} is good enough: " + nearly, **said)
            first = Sentence("{arm} leads. It is not yet certain that " + nearly, **said)
        elif self.sure:
            return Sentence("{arm} is the {best} " + numbers, **said)
        else:
            first = Sentence("{arm} is probably the {best}, not yet certainly " + numbers, **said)
        if self.needed == math.inf and self.needed_at_best == math.inf:
            return first
        present = "At today's traffic split that takes about {needed:.3g} more rewards"
        if self.needed == math.inf:
            present = "Today's traffic split will never tell"
        if self.needed_at_best < math.inf:
            present += "; with the optimal split, {needed_at_best:.3g}"
        return first + Sentence(present + ".", **said)

    def __str__(self) -> str:
        return self.sentence().shown(self.arms)

    def to_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "arm": self.arm,
            "sure": self.sure,
            "statistic": self.statistic,
            "threshold": self.threshold,
            "delta": self.delta,
            "least_delta": self.least_delta,
            "needed": self.needed,
            "needed_at_best": self.needed_at_best,
            "shares": None if self.shares is None else self.shares.tolist(),
            "arms": list(self.arms),
            "change": None if self.change is None else self.change.to_data(),
            "margin": self.margin,
            "good": list(self.good),
            "words": str(self),
        }

    def to_json(self) -> str:
        """The same as JSON; what JSON does not have is written as in all files of the library."""
        return json.dumps(encoded(self.to_data()), allow_nan=False)


def verdict(
    structure: Structure,
    family: Family,
    pulls: Floats,
    means: Floats,
    delta: float = DELTA,
    threshold: Threshold = "practical",
    arms: Sequence[Hashable] | None = None,
    margin: GivenMargin = NO_MARGIN,
) -> Verdict:
    """The verdict on rewards of which only their number and mean are known, for each arm.

    Arms without rewards are welcome. The order of rewards, and why an arm was pulled, play no part.

    >>> from armature.families import Gaussian
    >>> from armature.structures import Unimodal
    >>> found = verdict(Unimodal(3), Gaussian(), np.full(3, 100.0), np.array([0.1, 0.9, 0.5]))
    >>> found.arm, found.sure, round(found.statistic, 2)  # 100 (0.2^2 + 0.2^2) / 2
    (1, False, 4.0)
    """
    some = np.asarray(family.clipped(np.full(structure.n_arms, family.some_mean)))
    seen = Seen(structure, family, pulls, np.where(pulls > 0.0, means, some))
    return verdict_on(seen, delta, threshold, arms, margin)


@dataclass(frozen=True, eq=False)
class Seen:
    """Rewards in numbers, and what a structure makes of them: each worked out once, when asked.

    Of an arm without rewards, `means` has any mean: it has no weight. With a margin, alternatives
    are mean vectors in which another arm leads by that.
    """

    structure: Structure
    family: Family
    pulls: Floats
    means: Floats
    margin: Margin | None = None

    @functools.cached_property
    def asked(self) -> Structure:
        """The structure with its alternatives."""
        if self.margin is None:
            return self.structure
        near = {self.leader, *self.margin.near(self.fitted)}
        return WithMargin(self.structure, self.margin, tuple(near))

    @functools.cached_property
    def fit(self) -> Fit:
        """The nearest means in the structure."""
        return self.structure.project(self.means, self.pulls, self.family)

    @functools.cached_property
    def fitted(self) -> Floats:
        """These means as an array."""
        return np.asarray(self.fit.means)

    @functools.cached_property
    def leader(self) -> int:
        """Their best arm."""
        record = self.family.record_for(self.pulls.size)
        return leader_of(record, self.fitted, self.means, self.pulls)

    @functools.cached_property
    def alternative(self) -> Fit:
        """The nearest alternative to the leader."""
        return self.alternative_to(self.leader)

    def alternative_to(self, arm: int) -> Fit:
        """The nearest means in the structure with which an arm is a wrong answer."""
        return self.asked.nearest_alternative(self.means, self.pulls, arm, self.family)

    def challengers_of(self, arm: int) -> float:
        """The number of challengers of an arm, as the allowance "practical" counts them."""
        costs = self.asked.challenger_costs(self.means, self.pulls, arm, self.family)
        return float(number_of_challengers(costs, arm))

    @functools.cached_property
    def best_shares(self) -> Floats | None:
        """The optimal shares if the fitted means were the truth; None where there are none."""
        if self.structure.in_table:  # whose program is about all segments
            return None
        means = self.fitted
        if self.margin is not None:
            means = self.margin.untied(means, self.leader)
        try:
            instance = Instance(self.structure, means, self.family, strict=False)
            return time_of(self.structure, instance, self.margin)[1]
        except ArmatureError:  # two arms lead, or a mean is at an end of the domain
            return None


def verdict_on(
    seen: Seen,
    delta: float = DELTA,
    threshold: Threshold = "practical",
    arms: Sequence[Hashable] | None = None,
    margin: GivenMargin = NO_MARGIN,
) -> Verdict:
    """The verdict on what was seen."""
    pulls, delta = seen.pulls, checked_delta(delta)
    allowance = checked_threshold(threshold, seen.family)
    size = Margin.of(*margin)
    if size is not None:
        seen = dataclasses.replace(seen, margin=size)
    given = None if size is None else size.given
    names = tuple(range(pulls.size)) if arms is None else tuple(arms)
    misfit = float(seen.fit.cost)
    if not misfit < math.inf:
        leader = int(np.argmax(np.where(pulls > 0.0, seen.means, -math.inf)))
        bar = Coming(seen, seen.means, 0.0, allowance, 1.0).threshold(delta, pulls)
        nothing = 0.0, bar, delta, math.inf, math.inf, None
        return Verdict(names[leader], False, *nothing, names, margin=given)
    coming = coming_for(seen, seen.leader, allowance)
    value, bar = coming.value, coming.threshold(delta, pulls)
    sure, shares, total = value > bar, seen.best_shares, float(pulls.sum())
    needed = at_best = 0.0
    if not sure:
        needed = coming.needed(delta, pulls / total) if total > 0.0 else math.inf
        at_best = math.inf if shares is None else coming.needed(delta, shares)
    good = [seen.leader] if sure and size is not None else []
    for k in size.near(seen.fitted) if good and size is not None else []:
        if k != seen.leader:
            other = coming_for(seen, k, allowance)
            good += [k] if other.value > other.threshold(delta, pulls) else []
    best = names[seen.leader]
    return Verdict(
        best, sure, value, bar, delta, needed, at_best, shares, names,
        margin=given, good=tuple(names[k] for k in good),
    )  # fmt: skip


def coming_for(seen: Seen, arm: int, allowance: int) -> Coming:
    """The evidence for an arm, now and with more samples."""
    nearest = seen.alternative if arm == seen.leader else seen.alternative_to(arm)
    value = max(float(nearest.cost) - float(seen.fit.cost), 0.0)
    m = seen.challengers_of(arm) if allowance == PRACTICAL else 1.0
    return Coming(seen, seen.fitted, value, allowance, m)


@dataclass(frozen=True, eq=False)
class Coming:
    """The evidence that more samples would bring if the fitted means were the truth."""

    seen: Seen
    fitted: Floats
    value: float  # the statistic now
    allowance: int
    challengers: float  # how many there are now, for the allowance "practical"

    def threshold(self, delta: float, weights: Floats) -> float:
        """The threshold of the statistic if the arms have these numbers of samples."""
        level, seen = math.log(1.0 / delta), self.seen
        record, pulls, all_sums = seen.structure.judged(
            seen.family, seen.pulls, seen.pulls * seen.means
        )
        if self.allowance == PRACTICAL:
            samples = float(weights.sum()) + float(pulls.sum() - seen.pulls.sum())
            return level + float(practical_allowance(self.challengers, samples))
        elsewhere = 0.0  # what it costs not to know the means in other segments
        if pulls.size > seen.pulls.size:
            own = seen.family.record_for(seen.pulls.size), seen.pulls, seen.pulls * seen.means
            elsewhere = float(
                total_learning_cost(self.allowance, record, pulls, all_sums)
                - total_learning_cost(self.allowance, *own)
            )
        sums = seen.pulls * seen.means + (weights - seen.pulls) * self.fitted
        record = seen.family.record_for(seen.pulls.size)
        learning = float(total_learning_cost(self.allowance, record, weights, sums))
        return level + max(learning + elsewhere - float(seen.fit.cost), 0.0)

    def separation(self, weights: Floats) -> float:
        """The least cost of an alternative to the fitted means, with these numbers of samples."""
        seen = self.seen
        ask = seen.asked.nearest_alternative
        return float(ask(self.fitted, weights, seen.leader, seen.family).cost)

    @functools.cached_property
    def _separation_now(self) -> float:
        return self.separation(self.seen.pulls)

    def is_enough(self, samples: float, delta: float, shares: Floats) -> bool:
        """True if this number of further samples, in these shares, would be enough.

        The statistic grows by what they add to how well the fitted means are told apart.
        """
        weights = self.seen.pulls + samples * shares
        grown = self.value + self.separation(weights) - self._separation_now
        return bool(grown > self.threshold(delta, weights))

    def needed(self, delta: float, shares: Floats) -> float:
        """The least whole number of samples that is enough; inf where none is.

        What is enough stays enough: the statistic grows faster than the threshold from there.
        """
        high = 1.0
        while not self.is_enough(high, delta, shares):
            high *= 2.0
            if high > MOST:
                return math.inf
        low = 0.5 * high if high > 1.0 else 0.0
        while high - low > 1.0:
            middle = math.floor(0.5 * (low + high))
            if self.is_enough(middle, delta, shares):
                high = middle
            else:
                low = middle
        return float(high)
