"""Evidence that many arms give together, as the evidence of one arm that is as unlikely.

Where "arm i is best" moves many arms, each of them costs a little by chance alone: with m that are
tied by it, half a chi-squared variable of m degrees of freedom. So the same cost says less against
i the more arms share it. Here a cost is turned into its probability, and that into the cost that
would be as improbable for a single arm.

Where arm i has few rewards of its own, its evidence is what these arms say, and what i says itself
counts several times: nobody is dismissed on the word of others alone.
"""

from __future__ import annotations

import math

from armature.families.kernels import divergence, inside, of_arm, weighted_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.libm import log_gamma
from armature.kernels.streams import normal_quantile
from armature.policies.policy import History
from armature.policies.records import least_divergence
from armature.structures.oracles.model import Model

OWN = 4.0  # how many times an arm's own evidence counts
UNMOVED = 1e-11  # a difference that is rounding, relative to the largest mean
LONG = 30.0  # from here on an expansion of the normal tail is as good as its quantile
HALF_LOG_PI = 0.5 * math.log(math.pi)
STEEP = 1.0 + 0.5 / math.sqrt(24.0)  # the tangent at e = 4 of what `is_worth` compares with
START = 4.0 + HALF_LOG_PI + math.log(0.5 * (2.0 + math.sqrt(6.0))) - 4.0 * STEEP
DIGITS = 1e-15  # of a sum or a fraction


@kernel
def log_tail(m: int, x: float) -> float:
    """-ln P(half a chi-squared variable of m degrees of freedom > x): an incomplete gamma function.

    Below the mean its series, above its continued fraction (by the method of Lentz).
    """
    if x <= 0.0:
        return 0.0
    a = 0.5 * m
    log_term = a * math.log(x) - x - log_gamma(a + 1.0)
    if x < a + 1.0:
        term = 1.0
        total = 1.0
        n = a
        while term > DIGITS * total:  # `total` is the sum of the terms so far, `term` the last one
            n += 1.0
            term *= x / n
            total += term
        return -math.log1p(-math.exp(log_term) * total)
    b = x + 1.0 - a
    c = math.inf
    d = 1.0 / b
    fraction = d
    for n in range(1, 10_000):  # `fraction` is what the first n levels give
        step = n * (a - n)
        b += 2.0
        d = 1.0 / (b + step * d)
        c = b + step / c
        fraction *= c * d
        if abs(c * d - 1.0) < DIGITS:
            break
    return -(log_term + math.log(a) + math.log(fraction))


@kernel
def single_evidence(p: float) -> float:
    """The evidence of a single arm that has the probability exp(-p): erfc(sqrt(e)) = exp(-p)."""
    if p < LONG:
        z = normal_quantile(0.5 * math.exp(-p))
        return 0.5 * z * z
    e = p
    for _ in range(4):  # erfc(sqrt(e)) is exp(-e) (1 - 1 / (2 e)) / sqrt(pi e) up to 1 / e^2
        e = p - HALF_LOG_PI - 0.5 * math.log(e) + math.log1p(-0.5 / e)
    return e


def tangent_offset(m: int) -> float:
    """Of the line in `is_worth`: ln Gamma(m / 2) + m / 2 - (m / 2) ln m."""
    a = 0.5 * m
    return log_gamma(a) + a - a * math.log(m)


@inlined
def is_worth(m: int, offset: float, cost: float, e: float) -> bool:
    """True if a cost of at most m arms is surely worth the evidence e of one; more arms, less so.

    Two bounds: the first step of the continued fraction, with `tangent_offset(m)` worked out
    before, and erfc(x) > 2 exp(-x^2) / (sqrt(pi) (x + sqrt(x^2 + 2))). Mostly their tangents will
    do, at a cost of m and at e = 4: these take no logarithm.
    """
    if 0.5 * cost + offset >= STEEP * e + START:
        return True
    a = 0.5 * m
    if cost <= a:
        return False
    p = cost - a - a * math.log(cost / m) + math.log(cost + 1.0 - a) + offset
    return p >= e + HALF_LOG_PI + math.log(0.5 * (math.sqrt(e) + math.sqrt(e + 2.0)))


@inlined
def own_cost(model: Model, history: History, i: int, top: float, enough: float) -> float:
    """Evidence of arm i alone against being as good as `top`; `enough` or more where it is that."""
    mean = history.means[i]
    n = history.pulls[i]
    if n == 0.0 or mean >= top:
        return 0.0
    least = n * least_divergence(model.family, mean, top) if model.family.alike else 0.0
    if least >= enough:
        return least
    if inside(model.family, i, top) < top:
        return math.inf
    return float(n * divergence(of_arm(model.family, i), mean, top))


@kernel
def shared_cost(
    model: Model, history: History, pr: Floats, lam: Floats, size: float
) -> tuple[float, int]:
    """The cost of the arms that lam moves from pr, and the number of ties that hold among them.

    These are as many as the arms (with rewards) less the values that they have at lam. Numbers up
    to `size` are compared.
    """
    near = UNMOVED * size
    cost = 0.0
    ties = 0
    last = -1
    for k in range(lam.size):  # `cost` and `ties` are those of the arms before k, `last` the last
        if history.pulls[k] == 0.0 or abs(lam[k] - pr[k]) <= near:
            continue
        arm = of_arm(model.family, k)
        cost += weighted_divergence(arm, history.pulls[k], history.means[k], lam[k])
        if last >= 0 and lam[last] == lam[k]:
            ties += 1
        else:
            for a in range(k - 1, -1, -1):
                if abs(lam[a] - lam[k]) <= near and history.pulls[a] > 0.0:
                    if abs(lam[a] - pr[a]) > near:
                        ties += 1
                        break
        last = k
    return cost, ties
