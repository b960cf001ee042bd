"""A test for a change of the arms' means, valid at any time and under any way of choosing arms.

A split s says: the means were the same before it, and the same since, but not equal. For an arm
with the reference j of that split (`armature.bounds.splits`), let

    E(s) = p(rewards from j to s | those before j) p(rewards since s) / max p(rewards since j),

where the numerator's are marginal likelihoods: before the split, of the family's prior given what
was known at j; after it, of the prior given one reward that is the mean at j. The denominator is
the likelihood at one mean, the best. The arms together have prod_k (1 - q_k + q_k E_k(s)), with the
shares q_k that were judged at j, so that few arms suffice to show a change; and all splits together

    E = sum_s w(s) prod_k (1 - q_k(s) + q_k(s) E_k(s)),   w(s) = c (s / 16 + 64)^-1.3.

**P(E ever reaches 1 / delta) <= delta as long as nothing changes**, whatever the means are,
whoever chooses the arms, and in whichever order the rewards come:

1. With the true mean in place of the best, E_k(s) becomes larger, and a martingale that is 1 at j:
   given the past, a reward grows it by a ratio of densities. Only the factor of the arm that was
   pulled moves. So the product is a martingale from j on, with weights that were known at j.
2. The weights of all splits add up to at most 1, so that the sum is a non-negative supermartingale
   of expectation at most 1, and Ville's inequality applies. What is left out (splits that are not
   kept, arms whose rewards can't say much) makes it smaller.

As in `armature.bounds.evidence`, less variable rewards than the family's will do. What it takes to
notice a change is about ln(1 / delta) + 1.3 ln(s / 16 + 64) + ln(n since) / 2 + 1.

References: Ville (1939); the likelihood ratio over all splits is that of Besson, Kaufmann, Maillard
and Seznec (2022), "Efficient Change-Point Detection for Tackling Piecewise-Stationary Bandits".

Limits: not valid where sigma is estimated.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.bounds.splits import BLOCK, COUNTS, SLOTS, SUMS, Splits, reference_of
from armature.families.kernels import divergence, inside, of_arm
from armature.families.record import FamilyRecord, of_two_means
from armature.families.special_functions import log_sum
from armature.kernels.addresses import Address
from armature.kernels.kernel import inlined, kernel

FALSE_ALARMS = 0.01
POWER, LAG = 1.3, 64.0  # of the splits' weights
LOG_NORM = -0.3 * math.log(LAG) - math.log(0.3)  # of the integral of (b + LAG)^-POWER from 0 on
LITTLE = 3.0  # a likelihood ratio that is not looked at closely


class FoundChange(NamedTuple):
    """The logarithm of E, and the split that has most of it; -1: there is none."""

    log_e: float
    slot: int


@inlined
def log_prior(at: int) -> float:
    """ln w(s): all splits together have less than 1."""
    return -LOG_NORM - POWER * math.log(at / BLOCK + LAG)


@kernel
def log_likelihood(
    family: FamilyRecord, k: int, costs: Address, n: float, total: float, r: float
) -> float:
    """ln of the marginal likelihood of n rewards of arm k, over their likelihood at the mean r."""
    if n <= 0.0:
        return 0.0
    own = of_arm(family, k)
    cost = of_two_means(costs, own.parameter, n, total - n * own.shift)
    return n * divergence(own, inside(family, k, total / n), r) - cost


@kernel
def arm_evidence(splits: Splits, family: FamilyRecord, costs: Address, slot: int, k: int) -> float:
    """ln E_k of a split; minus infinity, if there is nothing to compare."""
    j = reference_of(splits, splits.at[slot])
    n, total = splits.now[COUNTS, k], splits.now[SUMS, k]
    n_s, total_s = splits.before[slot, COUNTS, k], splits.before[slot, SUMS, k]
    n_j, total_j = splits.reference[j, COUNTS, k], splits.reference[j, SUMS, k]
    if n_s <= 0.0 or n <= n_s:
        return -math.inf
    own = of_arm(family, k)
    r = inside(family, k, total / n)  # any mean will do in place of it: it cancels
    if r <= own.low or r >= own.high:
        return -math.inf  # all rewards are the same
    before = log_likelihood(family, k, costs, n_s, total_s, r)
    before -= log_likelihood(family, k, costs, n_j, total_j, r)
    one, total_one = 0.0, 0.0
    if n_j > 0.0:
        one, total_one = 1.0, inside(family, k, total_j / n_j)
    after = log_likelihood(family, k, costs, n - n_s + one, total - total_s + total_one, r)
    after -= log_likelihood(family, k, costs, one, total_one, r)
    since = n - n_j
    best = since * divergence(own, inside(family, k, (total - total_j) / since), r)
    return float(before + after - best)


@kernel
def split_evidence(splits: Splits, family: FamilyRecord, costs: Address, slot: int) -> float:
    """ln of w(s) times the product over the arms; minus infinity where no arm says anything.

    Invariant: `found` is the logarithm of the product over the arms before k, or less.
    """
    j = reference_of(splits, splits.at[slot])
    found = 0.0
    says = False
    for k in range(splits.now.shape[1]):
        q = splits.shares[j, k]
        found += math.log1p(-q)
        n_s, n = splits.before[slot, COUNTS, k], splits.now[COUNTS, k]
        if n <= n_s or n_s <= 0.0:
            continue
        before = inside(family, k, splits.before[slot, SUMS, k] / n_s)
        since = inside(family, k, (splits.now[SUMS, k] - splits.before[slot, SUMS, k]) / (n - n_s))
        if (n - n_s) * divergence(of_arm(family, k), since, before) < LITTLE:
            continue
        value = arm_evidence(splits, family, costs, slot, k)
        found += log_sum(0.0, value + math.log(q) - math.log1p(-q))
        says = True
    return found + log_prior(splits.at[slot]) if says else -math.inf


@kernel
def look_for_change(splits: Splits, family: FamilyRecord, costs: Address) -> FoundChange:
    """ln E, over all splits that are kept.

    Invariant: `total` is that of the splits before `slot`, of which `best` has most.
    """
    total = -math.inf
    most = -math.inf
    best = -1
    for slot in range(SLOTS):
        if splits.at[slot] == 0:
            continue
        value = split_evidence(splits, family, costs, slot)
        if value > -math.inf:
            total = log_sum(total, value)
        if value > most:
            most, best = value, slot
    return FoundChange(total, best)
