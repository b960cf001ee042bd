"""Posterior samples of the means, arm by arm."""

from __future__ import annotations

import math

from armature._compile import kernel
from armature.families import FamilyRecord
from armature.families.kernels import BERNOULLI, GAUSSIAN, POISSON
from armature.policies._records import History
from armature.streams import Stream, fill_normals, next_gamma
from armature.structures._records import Floats


@kernel
def draw_means(family: FamilyRecord, history: History, stream: Stream, out: Floats) -> None:
    """One sample of each arm's mean.

    The priors are flat for Gaussian and Bernoulli rewards, Jeffreys's for Poisson rewards
    (Gamma(1/2, 0)) and exponential ones (density 1 / mean). Every arm has been pulled.
    """
    N = history.pulls
    S = history.sums
    K = N.size
    if family.code == GAUSSIAN:
        fill_normals(stream, out)
        sigma = math.sqrt(family.variance)
        for k in range(K):
            out[k] = history.means[k] + sigma * out[k] / math.sqrt(N[k])
    elif family.code == BERNOULLI:
        for k in range(K):
            a = next_gamma(stream, 1.0 + S[k])
            b = next_gamma(stream, 1.0 + N[k] - S[k])
            out[k] = a / (a + b)
    elif family.code == POISSON:
        for k in range(K):
            out[k] = next_gamma(stream, 0.5 + S[k]) / N[k]
    else:
        for k in range(K):
            out[k] = S[k] / next_gamma(stream, N[k])
