"""The means in which few arms lie above a level, for a given support or pair of arms."""

from __future__ import annotations

from typing import NamedTuple

from armature.families.kernels import total_divergence, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.sorting import select_largest
from armature.kernels.vectors import fill
from armature.solver.pooling import pooled_mean
from armature.structures.oracles.records import Problem, Work

# shape.real = [level], shape.integer = [support].
# The *gain* of an arm is what a place in the support saves: w d(mu, level) if mu > level, else 0.


class SupportScratch(NamedTuple):
    """Room for what the arms gain and cost, and for their order."""

    gain: Floats  # (K,)
    trial: Floats  # (K,)
    flat: Floats  # (K,): the cost of an arm on the level
    after: Floats  # (K,): what the arms from a rank on cost
    order: Ints  # (K,)


@kernel
def scratch_of(work: Work, K: int) -> SupportScratch:
    """The scratch space for K arms."""
    real = work.real
    return SupportScratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        work.integer[:K],
    )


@kernel
def write_gains(problem: Problem, gain: Floats) -> None:
    """gain[i] = the gain of arm i."""
    mu = problem.mu
    w = problem.w
    level = problem.shape.real[0]
    for i in range(mu.size):
        gain[i] = weighted_divergence(problem.family, w[i], mu[i], level) if mu[i] > level else 0.0


@kernel
def write_supported(level: float, mu: Floats, order: Ints, m: int, lam: Floats) -> None:
    """The arms order[:m] are the support, all others on the level."""
    fill(lam, level)
    for a in range(m):
        lam[order[a]] = max(mu[order[a]], level)


@kernel
def pair_value(problem: Problem, j: int, k: int) -> float:
    """The common value of j and k in the support, where mu_k < mu_j."""
    mu = problem.mu
    w = problem.w
    return max(pooled_mean(w[j], mu[j], w[k], mu[k]), float(problem.shape.real[0]))


@kernel
def write_pair(problem: Problem, j: int, k: int, lam: Floats) -> None:
    """Both j and k in the support, k at least as good as j."""
    mu = problem.mu
    level = problem.shape.real[0]
    if mu[k] >= mu[j]:
        lam[j] = max(mu[j], level)
        lam[k] = max(mu[k], level)
    else:
        lam[j] = lam[k] = pair_value(problem, j, k)


@kernel
def others(order: Ints, K: int, j: int, k: int) -> int:
    """order[:n] = the arms other than j and k, in order; returns n."""
    n = 0
    for i in range(K):
        if i != j and i != k:
            order[n] = i
            n += 1
    return n


@kernel
def write_without(problem: Problem, j: int, lam: Floats, gain: Floats, order: Ints) -> float:
    """The best fit with j outside of the support (j = -1: with no such condition)."""
    mu = problem.mu
    s = problem.shape.integer[0]
    n = others(order, mu.size, j, -1)
    select_largest(gain, order, n, s)
    write_supported(problem.shape.real[0], mu, order, s, lam)
    return total_divergence(problem.family, problem.w, mu, lam)


@kernel
def write_with(problem: Problem, j: int, k: int, lam: Floats, gain: Floats, order: Ints) -> float:
    """The best fit with both j and k in the support and k at least as good."""
    mu = problem.mu
    s = problem.shape.integer[0]
    n = others(order, mu.size, j, k)
    select_largest(gain, order, n, s - 2)
    write_supported(problem.shape.real[0], mu, order, s - 2, lam)
    write_pair(problem, j, k, lam)
    return total_divergence(problem.family, problem.w, mu, lam)
