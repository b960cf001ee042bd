"""The probabilities with which a log's rows were shown: whether they are known and add up."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from armature.assess.log import Log
from armature.errors import ArmatureError
from armature.kernels.arrays import Floats

UNLIKELY = 1e-6  # so unlikely counts were not shown uniformly
FAR = 4.0  # standard errors that weights may be off what they should add up to


def probabilities_of(log: Log, uniform: bool) -> Floats:
    """The probability with which each row's arm was shown; an error if it is unknown."""
    K, n = len(log.arms), log.rounds
    if uniform:
        from scipy.stats import chi2

        expected = n / K
        excess = float(((log.counts - expected) ** 2).sum()) / expected
        if chi2.sf(excess, K - 1) < UNLIKELY:
            most = int(log.counts.argmax())
            raise ArmatureError(
                f"{log.name} was declared uniform, but {log.arms[most]!r} was shown "
                f"{log.counts[most]:,.0f} times of {n:,}, with {K} arms: leave uniform=True out, "
                'and use am.replay with method="queues" or give the probabilities.'
            )
        return np.full(n, 1.0 / K)
    if log.probabilities is None:
        raise ArmatureError(
            f"{log.name} has no probabilities with which arms were shown: name their column, say "
            "uniform=True if all were shown with the same one by chance, or use am.replay with "
            'method="queues", which needs none.'
        )
    lacking = np.isnan(log.probabilities)
    if lacking.any():
        at = int(lacking.argmax())
        raise ArmatureError(
            f"{log.name}, {log.where(at)}: the probability is not known: leave such rows out, or "
            'use am.replay with method="queues".'
        )
    return log.probabilities


def left_to_chance(log: Log, shown: Floats) -> npt.NDArray[np.bool_]:
    """The rows that could have shown another arm: those with a probability below 1.

    The others tell nothing of other arms in their place. Whether a row is such a one is known
    before its arm is, so that to leave them out makes no estimate wrong.
    """
    by_chance = shown < 1.0
    if not by_chance.any():
        raise ArmatureError(
            f"{log.name}: every arm was shown with probability 1, so that others could not be: "
            'what they would have brought is not in the log. Use am.replay with method="queues", '
            "or log with a floor (am.Bandit(floor=...)) or a policy that draws, such as "
            "am.Challenger(randomised=True)."
        )
    return by_chance


def check_weights(log: Log, weights: Floats, who: str) -> None:
    """Refuse weights that do not add up to the number of rows.

    A row's weight is the probability of its arm by the policy that is judged, over that in the log.
    If all arms that the policy chooses could be shown, its expectation is 1: so the mean weight is
    about 1, up to `FAR` standard errors. It is less if some could not be shown in some rows.
    """
    n, total = weights.size, float(weights.sum())
    if total == 0.0:
        raise ArmatureError(
            f"{log.name}: no row that was left to chance shows what {who} chooses: its value can't "
            "be told from this log."
        )
    # As if one more row came with the largest weight: a rare one may not have come yet.
    error = math.sqrt(float(((weights - total / n) ** 2).sum()) + float(weights.max()) ** 2)
    if n - total > FAR * error:
        raise ArmatureError(
            f"{log.name}: the weights of {who} add up to {total:,.4g}, where {n:,} is expected: "
            "some of its choices could not be shown in some rows (probability 0), or hardly, or "
            "the probabilities are wrong. Its value can't be told from this log."
        )
    if total - n > FAR * error:
        raise ArmatureError(
            f"{log.name}: the weights of {who} add up to {total:,.4g}, where {n:,} is expected: "
            "the probabilities in the log are smaller than those with which arms were shown."
        )
