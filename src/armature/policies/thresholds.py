"""The thresholds of the paper: when to stop exploring, and the widths of confidence intervals.

The proofs' thresholds are far larger than what works: at t = 10^4 and K = 10 arms the proof's
exploration threshold is 125, where ln t = 9.2. Both are here.

References: Degenne, Shao and Koolen (2020).

Limits: That they hold with the stated probability was not simulated.
"""

from __future__ import annotations

import math

from armature.families.special_functions import excess_inverse_above
from armature.kernels.kernel import kernel

ZETA_2 = math.pi**2 / 6.0


@kernel
def w_bar(x: float) -> float:
    """The y >= 1 with y - ln y = x, for x >= 1: -W_{-1}(-exp(-x)) of Lambert's function W.

    x + ln x <= w_bar(x) <= x + ln x + min(1/2, 1/sqrt(x)).

    Paper: Appendix A, W̄.
    """
    return 1.0 + excess_inverse_above(max(x, 1.0) - 1.0)


@kernel
def beta(t: float, delta: float, K: int) -> float:
    """With probability 1 - delta, sum_k N_k d(mu_hat_k, mu_k) <= beta at time t > 1.

    Paper: Theorem 4.
    """
    x = math.log(math.e / delta) / (2.0 * K) + 0.5 * math.log(8.0 * math.e * K * math.log(t))
    return 2.0 * K * w_bar(x)


@kernel
def exploration_threshold_theory(t: float, K: int) -> float:
    """f(t) = beta(t, 1 / (t ln t)), the threshold of the proof, for t > 1.

    Paper: Appendix C.2, f(t).
    """
    return beta(t, 1.0 / (t * math.log(t)), K)


@kernel
def exploration_threshold(t: float) -> float:
    """f(t) = ln(1 + t), the threshold of the experiments."""
    return math.log(1.0 + t)


@kernel
def confidence_level(t: float, delta: float, K: int, eta: float) -> float:
    """Theorem 5, first bound: N d(mu_hat, mu) for all arms and all times up to t > 1.

    Paper: Theorem 5.
    """
    return (1.0 + eta) * (math.log(2.0 * K * math.log(t) / delta) - math.log(math.log(1.0 + eta)))


@kernel
def confidence_level_optimised(t: float, delta: float, K: int) -> float:
    """Theorem 5, second bound: the first with the best eta.

    Paper: Theorem 5.
    """
    y = w_bar(math.log(2.0 * K * math.log(t) / delta))
    return y * math.exp(1.0 / y)


@kernel
def confidence_level_anytime(N: float, delta: float, K: int, eta: float) -> float:
    """Theorem 5, third bound, for all times: it grows with the arm's own pulls N >= 1.

    The paper prints a minus before the last logarithm; its proof has the plus.

    Paper: Theorem 5.
    """
    rounds = 1.0 + math.log(N) / math.log(1.0 + eta)
    return (1.0 + eta) * (math.log(2.0 * ZETA_2 * K / delta) + 2.0 * math.log(rounds))


@kernel
def exploration_level_theory(t: float, n: float, K: int, eta: float) -> float:
    """g_t(n), the level of the small confidence intervals in the proof, for t > 1 and n >= 1.

    Paper: Appendix C.2, g_t(n).
    """
    log = math.log(t)
    rest = math.log(2.0 * K * K * (log * log) / math.log(1.0 + eta))
    return (1.0 + eta) * (math.log(n) + rest)
