"""When the data are enough to name the best arm: a likelihood ratio against a threshold.

Let `misfit` be the least sum_k N_k d(mean_k, lam_k) over lam in M, i the best arm of the mean
vector that attains it, and `cost` the least one over the lam in M whose best arm is another. The
statistic is cost - misfit: by how much the log-likelihood falls if i is not the best arm. One
stops, and names i, when it exceeds a threshold.

**Why that is safe.** Suppose that i is wrong. Then the true mean vector mu is one of those with
another best arm, so that cost is at most sum_k N_k d(mean_k, mu_k), and so is the statistic, as
misfit >= 0. So if that sum ever exceeds a threshold with probability at most delta, whatever mu,
then a wrong arm is ever named with probability at most delta: whatever the structure, whoever
chooses the arms and whenever one looks.

The threshold "theory" is such a one, for the one-parameter exponential families (Kaufmann and
Koolen, 2021, with all K arms as the subset): with probability at least 1 - delta, at all times

    sum_k N_k d(mean_k, mu_k) <= sum_k 3 ln(1 + ln N_k) + K C(ln(1 / delta) / K),

where C(x) = 2 g((h^-1(1 + x) + ln(2 zeta(2))) / 2), h(u) = u - ln u for u >= 1, and
g(y) = exp(1 / h^-1(y)) h^-1(y) if y >= h^-1(1 / ln z), else z (y - ln ln z), for z = 3/2. For
Gaussian rewards they have a smaller one, which is taken there:

    sum_k 2 ln(4 + ln N_k) + K C_G(ln(1 / delta) / K),   C_G(x) = min over 1/2 < u < 1 of
    (2 u - 2 u ln(4 u) + ln zeta(2 u) - ln(1 - u) / 2 + x) / u.

An arm without samples counts as one with a single sample, which is no deviation. All arms are in
the sum, as an alternative in M may differ from the means in all of them. Rewards whose
exponential moments are at most the family's (anything within the bounds of `Bounded`) have it too.

The threshold "practical" is ln((1 + ln t) / delta), which is what experiments use since Garivier
and Kaufmann (2016). It is no theorem; `docs/identification.md` has how often it was wrong.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.arrays import Floats
from armature.errors import ArmatureError
from armature.families import Family, Gaussian
from armature.policies.records import argmax
from armature.structures.model import Model, nearest_alternative, projection
from armature.thresholds import ZETA_2, w_bar

Threshold = Literal["practical", "theory"]
THRESHOLDS = ("practical", "theory")
ORACLES = ("project", "nearest")  # what the statistic asks of a model
PRACTICAL, GENERAL, GAUSSIAN = range(3)
Z = 1.5


class Vectors(NamedTuple):
    """Room for the statistic; and what stands for the mean of an arm without rewards."""

    some_means: Floats
    mu: Floats
    projected: Floats
    lam: Floats


def make_vectors(family: Family, n_arms: int) -> Vectors:
    """Room for so many arms."""
    some = family.clipped(np.full(n_arms, family.some_mean))
    return Vectors(np.array(some), *(np.zeros(n_arms) for _ in range(3)))


@kernel
def statistic(model: Model, N: Floats, means: Floats, vectors: Vectors) -> tuple[int, float]:
    """The arm to name, and by how much the log-likelihood falls if it is not the best.

    Infinite where no other arm can be the best; 0, for the arm with the best mean, where no means
    in M could have given these rewards.
    """
    mu = vectors.mu
    for k in range(N.size):
        mu[k] = means[k] if N[k] > 0.0 else vectors.some_means[k]
    misfit = projection(model, mu, N, vectors.projected)
    if misfit == math.inf:
        return argmax(mu), 0.0
    i = argmax(vectors.projected)
    cost = nearest_alternative(model, mu, N, i, vectors.lam)
    return i, max(cost - misfit, 0.0)


def h_tilde(y: float) -> float:
    """g of the module's docstring."""
    if y >= w_bar(1.0 / math.log(Z)):
        inverse = w_bar(y)
        return float(math.exp(1.0 / inverse) * inverse)
    return Z * (y - math.log(math.log(Z)))


def calibration(x: float) -> float:
    """C of the module's docstring, for x >= 0: about x + 4 ln(1 + x + sqrt(2 x)) for a large x."""
    return 2.0 * h_tilde(0.5 * (w_bar(1.0 + x) + math.log(2.0 * ZETA_2)))


def gaussian_calibration(x: float) -> float:
    """C_G of the module's docstring, for x >= 0: any u in (1/2, 1) gives a valid value."""
    from scipy.optimize import minimize_scalar  # importing it takes a while
    from scipy.special import zeta

    def value(u: float) -> float:
        g = 2.0 * u - 2.0 * u * math.log(4.0 * u) + math.log(zeta(2.0 * u))
        return float((g - 0.5 * math.log1p(-u) + x) / u)

    return value(
        float(minimize_scalar(value, bounds=(0.5 + 1e-9, 1.0 - 1e-12), method="bounded").x)
    )


class Bar(NamedTuple):
    """A threshold for K arms: `level`, which depends on delta, plus what grows with the samples."""

    kind: int
    level: float


def bar_for(kind: int, n_arms: int, delta: float) -> Bar:
    """The threshold of a kind for one delta."""
    x = math.log(1.0 / delta)
    if kind == PRACTICAL:
        return Bar(kind, x)
    C = gaussian_calibration if kind == GAUSSIAN else calibration
    return Bar(kind, n_arms * C(x / n_arms))


@kernel
def threshold_at(kind: int, level: float, N: Floats) -> float:
    """A threshold after so many rewards of each arm."""
    if kind == PRACTICAL:
        t = 0.0
        for k in range(N.size):
            t += N[k]
        return level + math.log(1.0 + math.log(max(t, 1.0)))
    total = level
    for k in range(N.size):
        logarithm = math.log(max(N[k], 1.0))
        if kind == GAUSSIAN:
            total += 2.0 * math.log(4.0 + logarithm)
        else:
            total += 3.0 * math.log(1.0 + logarithm)
    return total


def checked_threshold(threshold: str, family: Family) -> int:
    """Which kind of threshold it is for a family; refused where there is none."""
    if threshold not in THRESHOLDS:
        raise ArmatureError(
            f"threshold must be {' or '.join(map(repr, THRESHOLDS))}; got {threshold!r}."
        )
    if threshold == "theory" and family.as_told.estimated:
        raise ArmatureError(
            "there is no theory for a sigma that is not known: give Gaussian(sigma=...), or say "
            'threshold="practical".'
        )
    if threshold == "practical":
        return PRACTICAL
    return GAUSSIAN if isinstance(family, Gaussian) else GENERAL


def checked_delta(delta: float) -> float:
    """A probability of error, or an error."""
    real = isinstance(delta, (int, float, np.integer, np.floating)) and not isinstance(delta, bool)
    if not (real and 1e-300 <= delta < 1.0):
        raise ArmatureError(f"delta must be a probability, between 0 and 1; got {delta!r}.")
    return float(delta)
