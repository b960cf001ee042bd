"""Tests for change: did rewards change during the log? All else assumes that they did not.

The rewards of an arm, in the order in which they came, less their mean, are added up. If they are
all of one distribution, the largest of these sums over s sqrt(n) is at most what the bridge of a
random walk reaches, whose distribution is Kolmogorov's; a change of the mean makes it larger. With
a few rewards it is smaller than that: so the check errs on the side of silence.

It is made for each arm with at least `LEAST` rewards and, as a change may come to all arms at once,
for the rewards of all arms together, each less its arm's mean.

Where the sums are largest is when the rewards are likeliest to have changed, if they did so at
once. Whether they did is checked the same way: a jump leaves nothing to be found in the rewards
before it and in those since; what drifts goes on in one of them. So it says what to do about it:
begin anew after a jump (`Restarting`), forget where rewards drift (`Forgetting`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.assess.log import Log
from armature.kernels.arrays import Floats, Ints
from armature.words import Arm, Sentence

LEAST = 20
ADVICE = (
    " It looks like one change, at about row {since}: a policy in `Restarting` begins anew from "
    "there."
)
DRIFTS = (
    " One change, likeliest at about row {since}, does not explain it all: it drifts, or there are "
    "several. `forget` makes older rewards count less; `Restarting` begins anew at each change."
)
ELSE = "Everything else here assumes that rewards do not change."


@dataclass(frozen=True, eq=False)
class Drift:
    """The check of each arm, and of all together.

    Attributes
    ----------
        arms: their names.
        p_values: of each arm: the probability of as large a change by chance; nan where there were
            too few rewards.
        together: the same for all arms at once; nan where nothing could be checked.
        before, after: the mean of each arm's first and second half.
        alpha: the largest probability of reporting a change if there is none.
        checked: whether the log has an order at all.
        since: the row, from 0, since which rewards are likeliest to have been others; None: nothing
            was found.
        jump: whether one change at that row is enough to explain it.
    """

    arms: tuple[Hashable, ...]
    p_values: Floats
    together: float
    before: Floats
    after: Floats
    alpha: float
    checked: bool
    since: int | None = None
    jump: bool = False

    @property
    def level(self) -> float:
        """The threshold of a p-value: alpha divided by the number of checks."""
        checks = int(np.isfinite(self.p_values).sum()) + int(math.isfinite(self.together))
        return self.alpha / max(checks, 1)

    @property
    def changed(self) -> tuple[Hashable, ...]:
        """The arms whose rewards changed."""
        found = self.p_values < self.level
        return tuple(arm for arm, yes in zip(self.arms, found, strict=True) if yes)

    @property
    def found(self) -> bool:
        """True if anything changed."""
        return bool(self.changed) or self.together < self.level

    @property
    def setting(self) -> str | None:
        """The policy to take where rewards change like that; None: nothing was found."""
        if not self.found or self.since is None:
            return None
        return "Restarting" if self.jump else "Forgetting"

    def sentence(self) -> Sentence:
        """The same in words."""
        few = not (np.isfinite(self.p_values).any() or math.isfinite(self.together))
        if not self.checked:
            text = "The log has only sums: they do not tell whether rewards changed over time."
        elif few:
            text = "No arm has {least} rewards: too few to tell whether they changed over time."
        elif self.changed:
            text = (
                "Rewards changed during the log, for {arms}: the mean of {arm} was {before:.4g} in "
                f"the first half of its rewards and {{after:.4g}} in the second. {ELSE}"
            )
        elif self.found:
            text = f"Rewards changed during the log: together the arms show it, none alone. {ELSE}"
        else:
            text = "No change of the rewards during the log was found."
        if self.found and self.since is not None:
            text += ADVICE if self.jump else DRIFTS
        k = 0 if few or not self.changed else int(np.nanargmin(self.p_values))
        changed = [Arm(self.arms.index(arm)) for arm in self.changed]
        return Sentence(text, arms=changed, arm=Arm(k), least=LEAST,
                        before=float(self.before[k]), after=float(self.after[k]),
                        since=0 if self.since is None else self.since + 1)  # fmt: skip

    def __str__(self) -> str:
        return self.sentence().shown(self.arms)

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "found": self.found,
            "changed": list(self.changed),
            "alpha": self.alpha,
            "together": self.together,
            "p_values": self.p_values.tolist(),
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "since": self.since,
            "jump": self.jump,
            "setting": self.setting,
            "words": str(self),
        }


def find_drift(log: Log, alpha: float = 0.01) -> Drift:
    """Check every arm, and all of them together."""
    K = len(log.arms)
    p, before, after = (np.full(K, math.nan) for _ in range(3))
    if log.rewards is None or log.places is None:
        return Drift(log.arms, p, math.nan, before, after, alpha, False)
    order = np.argsort(log.places, kind="stable")
    ends = np.cumsum(log.counts).astype(np.int64)
    for k in range(K):
        own = log.rewards[order[ends[k] - int(log.counts[k]) : ends[k]]]
        if own.size >= LEAST:
            half = own.size // 2
            before[k], after[k] = own[:half].mean(), own[half:].mean()
            p[k] = p_value(own - own.mean())
    together = math.nan
    if log.rounds >= LEAST + K:
        together = p_value(log.rewards - log.means[log.places])
    found = Drift(log.arms, p, together, before, after, alpha, True)
    if not found.found:
        return found
    since = _likeliest(log, order, ends, found)
    jump = all(_is_calm(log, part, alpha) for part in (slice(0, since), slice(since, None)))
    return dataclasses.replace(found, since=since, jump=jump)


def _likeliest(log: Log, order: Ints, ends: Ints, found: Drift) -> int:
    """The row since which the check with the least p-value has others: an arm's, or that of all."""
    assert log.rewards is not None
    assert log.places is not None
    least = float(np.nanmin(found.p_values)) if np.isfinite(found.p_values).any() else math.inf
    if found.together < least:
        return _peak(log.rewards - log.means[log.places])
    k = int(np.nanargmin(found.p_values))
    rows = order[ends[k] - int(log.counts[k]) : ends[k]]
    own = log.rewards[rows]
    return int(rows[min(_peak(own - own.mean()), own.size - 1)])


def _peak(away: Floats) -> int:
    """How many come before the sum of deviations is largest."""
    return int(np.abs(np.cumsum(away)).argmax()) + 1


def _is_calm(log: Log, part: slice, alpha: float) -> bool:
    """Whether nothing is found in a part of a log, with half of the errors."""
    assert log.rewards is not None
    assert log.places is not None
    rewards, places = log.rewards[part], log.places[part]
    p_values, away = [], np.zeros(rewards.size)
    for k in range(len(log.arms)):
        own = places == k
        if own.any():
            away[own] = rewards[own] - rewards[own].mean()
        if own.sum() >= LEAST:
            p_values.append(p_value(away[own]))
    if rewards.size >= LEAST + len(log.arms):
        p_values.append(p_value(away))
    return all(p >= 0.5 * alpha / len(p_values) for p in p_values)


def p_value(away: Floats) -> float:
    """The probability of as large a sum of deviations from the mean, by Kolmogorov."""
    from scipy.special import kolmogorov

    spread = math.sqrt(float((away * away).sum()))
    if not spread > 1e-9 * float(np.abs(away).max(initial=0.0)):
        return 1.0
    return float(kolmogorov(float(np.abs(np.cumsum(away)).max()) / spread))
