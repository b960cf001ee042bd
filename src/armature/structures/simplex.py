"""Shares of a whole: means that are non-negative and add up to one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from armature.families import Bernoulli, Family, FamilyRecord, Gaussian, Poisson
from armature.families.kernels import curvature, total_divergence, weighted_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, fill
from armature.solver.pooling import pooled_mean
from armature.structures.oracles.records import (
    Oracle,
    OracleProblem,
    Shape,
    Work,
    every_other,
)
from armature.structures.piece import Piece
from armature.structures.structure import Structure

# The only constraint that ties the arms together has a price nu: each arm minimises
# w d(x, y) - nu y over y >= 0 by itself, and nu is where these shares add up to one. An arm whose
# cost is *linear* takes nothing below a certain price and any amount at it: weightless arms at 0,
# and Poisson arms of mean 0 at their weight. A pair of arms with a common share is one arm that
# pays the price twice.

SAME_COST = 1e-13  # a relative difference in cost that does not matter
ROUNDING = 1e-15  # the relative error of a sum


@inlined
def counts(family: FamilyRecord) -> bool:
    """True if rewards are Poisson: of the families that these kernels know, the one on [0, inf)."""
    return not family.gaussian and family.high == math.inf


@kernel
def share(family: FamilyRecord, w: float, x: float, nu: float) -> float:
    """The y >= 0 that minimises w d(x, y) - nu y: where the cost is linear, the least such y."""
    if w == 0.0:
        return 0.0
    if family.gaussian:
        return max(0.0, x + nu * family.parameter / w)
    if counts(family):
        return w * x / (w - nu) if x > 0.0 else 0.0
    # Bernoulli: the root of nu y^2 + (w - nu) y - w x in [0, 1], without cancellation.
    b = w - nu
    if nu < 0.0:
        root = math.sqrt((w + nu) * (w + nu) - 4.0 * nu * w * (1.0 - x))
    else:
        root = math.sqrt(b * b + 4.0 * nu * w * x)
    if b >= 0.0:
        return min(1.0, 2.0 * w * x / (b + root)) if x > 0.0 else 0.0
    return min(1.0, (root - b) / (2.0 * nu))


@kernel
def share_slope(family: FamilyRecord, w: float, x: float, y: float) -> float:
    """The derivative of `share` in the price, where the share is y."""
    if w == 0.0 or y <= 0.0 or y >= family.high:
        return 0.0
    return 1.0 / (w * curvature(family, x, y))


@kernel
def highest_price(family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int) -> float:
    """The price at which some arm takes any amount; no price can be higher."""
    price = math.inf
    for i in range(mu.size):  # price: of those before i, pair aside
        linear = w[i] == 0.0 or (counts(family) and mu[i] == 0.0)
        if linear and (k < 0 or (i != j and i != k)):
            price = min(price, w[i])
    if k >= 0:
        both = w[j] + w[k]
        x = pooled_mean(w[j], mu[j], w[k], mu[k])
        if both == 0.0 or (counts(family) and x == 0.0):
            price = min(price, 0.5 * both)
    return price


@kernel
def total_share(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, nu: float
) -> tuple[float, float]:
    """The sum of all shares at a price (j and k with a common one unless k < 0), its derivative."""
    total = 0.0
    slope = 0.0
    for i in range(mu.size):  # total, slope: of those before i, pair aside
        if k < 0 or (i != j and i != k):
            y = share(family, w[i], mu[i], nu)
            total += y
            slope += share_slope(family, w[i], mu[i], y)
    if k >= 0:
        both = w[j] + w[k]
        x = pooled_mean(w[j], mu[j], w[k], mu[k])
        y = share(family, both, x, 2.0 * nu)
        total += 2.0 * y
        slope += 4.0 * share_slope(family, both, x, y)
    return total, slope


@kernel
def clearing_price(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, guess: float
) -> float:
    """The price at which the shares add up to one: Newton's method in a bracket.

    Paper: Appendix G.2, simplex.
    """
    high = highest_price(family, mu, w, j, k)
    if high < math.inf and reaches_less(family, mu, w, j, k, high):
        return high
    if counts(family):
        # The share of a Poisson arm is unbounded as the price approaches its weight.
        for i in range(mu.size):
            if mu[i] > 0.0 and (k < 0 or (i != j and i != k)):
                high = min(high, w[i])
        if k >= 0 and pooled_mean(w[j], mu[j], w[k], mu[k]) > 0.0:
            high = min(high, 0.5 * (w[j] + w[k]))
    low = -math.inf
    size = 0.0
    for i in range(mu.size):
        size = max(size, w[i])
    nu = guess if guess < high else high - 0.5 * size
    reach = size
    for _ in range(2000):
        total, slope = total_share(family, mu, w, j, k, nu)
        if abs(total - 1.0) <= 1e-15 or high - low <= 4e-16 * abs(nu):
            return nu
        if total > 1.0:
            high = nu
        else:
            low = nu
        following = nu - (total - 1.0) / slope if slope > 0.0 else math.inf
        if not low < following < high:
            if low > -math.inf and high < math.inf:
                following = 0.5 * (low + high)
            elif low == -math.inf:
                following = high - reach
                reach *= 2.0
            else:
                following = low + reach
                reach *= 2.0
        nu = following
    return nu


@kernel
def reaches_less(family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, price: float) -> bool:
    """True if the shares add up to at most one at the highest price."""
    if counts(family):
        for i in range(mu.size):  # no arm before i has an infinite share at the price
            if mu[i] > 0.0 and w[i] <= price and (k < 0 or (i != j and i != k)) and w[i] > 0.0:
                return False
        pooled = pooled_mean(w[j], mu[j], w[k], mu[k]) if k >= 0 else 0.0
        if pooled > 0.0 and 0.0 < 0.5 * (w[j] + w[k]) <= price:
            return False
    total, _ = total_share(family, mu, w, j, k, price)
    return total <= 1.0


@kernel
def write_shares(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, nu: float, lam: Floats
) -> float:
    """The shares at a clearing price; what is left goes to an arm that takes any amount."""
    left = 1.0
    taker = -1
    highest = highest_price(family, mu, w, j, k)
    for i in range(mu.size):  # left: of 1, after those before i, pair aside
        lam[i] = share(family, w[i], mu[i], nu)
        if k < 0 or (i != j and i != k):
            left -= lam[i]
            linear = w[i] == 0.0 or (counts(family) and mu[i] == 0.0)
            if linear and w[i] == highest:
                taker = i
    if k >= 0:
        x = pooled_mean(w[j], mu[j], w[k], mu[k])
        lam[j] = lam[k] = share(family, w[j] + w[k], x, 2.0 * nu)
        left -= 2.0 * lam[j]
    if nu == highest and left > 0.0:
        if taker >= 0:
            lam[taker] += left
        else:
            lam[j] = lam[k] = lam[k] + 0.5 * left
    return total_divergence(family, w, mu, lam)


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """One price for all."""
    nu = clearing_price(problem.family, problem.mu, problem.w, -1, -1, 0.0)
    return write_shares(problem.family, problem.mu, problem.w, -1, -1, nu, lam)


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The projection; where it has k below j, the one in which they have a common share."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    j = first
    k = second
    nu = clearing_price(family, mu, w, -1, -1, 0.0)
    cost = write_shares(family, mu, w, -1, -1, nu, lam)
    if lam[k] >= lam[j]:
        return cost
    nu = clearing_price(family, mu, w, j, k, nu)
    return write_shares(family, mu, w, j, k, nu, lam)


@kernel
def payment(family: FamilyRecord, w: float, x: float, y: float, nu: float) -> float:
    """The cost of an arm's share less its price."""
    return weighted_divergence(family, w, x, y) - nu * y


@kernel
def bounded_share(family: FamilyRecord, w: float, x: float, nu: float, most: float) -> float:
    """The y in [0, most] that minimises w d(x, y) - nu y.

    Without the upper end there need not be any: from a price of w on, a Poisson arm (and a
    weightless arm from a price of 0 on) would take whatever it could get.
    """
    if (w == 0.0 or counts(family)) and nu >= w:
        return most if nu > w or x > 0.0 else 0.0
    return min(most, share(family, w, x, nu))


@kernel
def raise_bounds(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, nu: float, bound: Floats
) -> None:
    """At any price, what all arms pay plus the price is a lower bound on the cost: for each tie.

    No share is above one, and none in a tie above a half, so that each arm pays a finite amount
    at every price: also above the weight of a Poisson arm, where ties of others may clear.
    """
    total = nu
    size = abs(nu)
    for i in range(mu.size):  # total: nu, and what the arms before i pay
        own = payment(family, w[i], mu[i], bounded_share(family, w[i], mu[i], nu, 1.0), nu)
        total += own
        size += abs(own)
    total -= ROUNDING * size
    alone = payment(family, w[j], mu[j], bounded_share(family, w[j], mu[j], nu, 1.0), nu)
    for k in range(mu.size):
        if k != j:
            x = pooled_mean(w[j], mu[j], w[k], mu[k])
            y = bounded_share(family, w[j] + w[k], x, 2.0 * nu, 0.5)
            tie = payment(family, w[j], mu[j], y, nu) + payment(family, w[k], mu[k], y, nu)
            y = bounded_share(family, w[k], mu[k], nu, 1.0)
            apart = alone + payment(family, w[k], mu[k], y, nu)
            bound[k] = max(bound[k], total - apart + tie)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The cheapest tie: the price of each tie that is solved bounds the cost of all others."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    j = first
    K = mu.size
    bound = problem.work.real[:K]
    trial = problem.work.real[K : 2 * K]
    nu = clearing_price(family, mu, w, -1, -1, 0.0)
    cost = write_shares(family, mu, w, -1, -1, nu, lam)
    for k in range(K):
        if k != j and lam[k] >= lam[j]:
            return cost
    best_cost = math.inf
    fill(bound, 0.0)
    bound[j] = math.inf
    while True:
        # The price at which a tie clears gives the best bound for that tie, and good ones nearby.
        raise_bounds(family, mu, w, j, nu, bound)
        k = 0
        for i in range(K):
            if bound[i] < bound[k]:
                k = i
        if bound[k] >= best_cost * (1.0 - SAME_COST):
            return best_cost
        nu = clearing_price(family, mu, w, j, k, nu)
        cost = write_shares(family, mu, w, j, k, nu, trial)
        bound[k] = math.inf
        if cost < best_cost:
            best_cost = cost
            copy(trial, lam)


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The part of 1 that the lower ends of the others leave."""
    total = 0.0
    most = 0.0
    positive = True
    for k in range(low.size):  # total, most: over the arms before k
        positive = positive and high[k] >= 0.0
        total += max(0.0, low[k])
        most += high[k]
    for k in range(low.size):
        out[k] = min(high[k], 1.0 - (total - max(0.0, low[k])))
    return 1.0 if positive and total <= 1.0 <= most else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Simplex(Structure):
    """The means are non-negative and add up to one.

    Shares of a whole: what one arm has, the others lack. A single price clears the sum;
    `nearest_alternative` ties the best arm to one other, after bounds at a few prices have ruled
    out the rest.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.

    Guarantee
    ---------
    The price is found by Newton's method in a bracket, O(K) for each price that is tried. Compared
    in tests with a convex solver and with cases worked by hand (arms without weight, means of
    zero). Exponential rewards are refused.

    >>> from armature.families import Gaussian
    >>> Simplex(3).project([0.9, 0.3, -0.5], [1.0, 1.0, 1.0], Gaussian()).means
    array([0.8, 0.2, 0. ])

    Limits
    ------
    Not for exponential rewards.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    Paper: Appendix G.2, simplex.
    """

    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(
        project=project,
        alt_min=alt_min,
        nearest=nearest,
        cells=every_other,
        cell_min=alt_min,
        highest=highest,
    )
    convex = True
    order_only = False
    exchangeable = True

    @classmethod
    def examples(cls) -> tuple[Simplex, ...]:
        return cls(2), cls(5)

    @property
    def work_size(self) -> tuple[int, int]:
        return 2 * self.n_arms, 0

    def pieces(self) -> Iterable[Piece]:
        yield Piece(
            -np.eye(self.n_arms), np.zeros(self.n_arms), np.ones((1, self.n_arms)), np.ones(1)
        )

    def oracle_for(self, family: Family) -> Oracle:
        ones = isinstance(family, Bernoulli) and family.alike and family.parameter == 1.0
        known = isinstance(family, (Gaussian, Poisson)) or ones
        return self.oracle if known else Oracle()

    def violation(self, means: Floats, tolerance: float) -> str | None:
        lowest = int(means.argmin())
        if means[lowest] < -tolerance:
            return f"means[{lowest}] = {means[lowest]:g} is negative"
        if abs(means.sum() - 1.0) > tolerance * self.n_arms:
            return f"the means add up to {means.sum():g}, not to 1"
        return None

    def mirrored(self, about: float) -> Structure:
        from armature.structures.polyhedral import Polyhedral

        K = self.n_arms
        return Polyhedral(np.eye(K), np.full(K, about), np.ones((1, K)), [about * K - 1.0])
