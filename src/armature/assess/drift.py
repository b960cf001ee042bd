"""Tests for change: did rewards change during the log? All else assumes that they did not.

The rewards of an arm, in the order in which they came, less their mean, are added up. If they are
all of one distribution, the largest of these sums over s sqrt(n) is at most what the bridge of a
random walk reaches, whose distribution is Kolmogorov's; a change of the mean makes it larger. With
a few rewards it is smaller than that: so the check errs on the side of silence.

It is made for each arm with at least `LEAST` rewards and, as a change may come to all arms at once,
for the rewards of all arms together, each less its arm's mean.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.assess.log import Log
from armature.kernels.arrays import Floats
from armature.words import Arm, Sentence

LEAST = 20
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
    """

    arms: tuple[Hashable, ...]
    p_values: Floats
    together: float
    before: Floats
    after: Floats
    alpha: float
    checked: bool

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
        k = 0 if few or not self.changed else int(np.nanargmin(self.p_values))
        changed = [Arm(self.arms.index(arm)) for arm in self.changed]
        return Sentence(text, arms=changed, arm=Arm(k), least=LEAST,
                        before=float(self.before[k]), after=float(self.after[k]))  # fmt: skip

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
    return Drift(log.arms, p, together, before, after, alpha, True)


def p_value(away: Floats) -> float:
    """The probability of as large a sum of deviations from the mean, by Kolmogorov."""
    from scipy.special import kolmogorov

    spread = math.sqrt(float((away * away).sum()))
    if not spread > 1e-9 * float(np.abs(away).max(initial=0.0)):
        return 1.0
    return float(kolmogorov(float(np.abs(np.cumsum(away)).max()) / spread))
