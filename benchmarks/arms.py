"""Many arms: what a round costs with 10, 1000 and 100,000 of them, beside a bare compiled loop.

    python -m benchmarks.arms [POLICY ... | STRUCTURE ...]

Prints microseconds of processor time per round, and how many numbers a run keeps for each arm. A
run begins with one pull of each arm where the policy so wants; then rounds are timed up to round
20 K, or for some seconds, after everything has been compiled. The bare loop is UCB on unconstrained
arms in fifteen lines of Numba, which looks at all arms in every round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import armature as am
from armature.arrays import Floats
from armature.policies._start import spanning_arms
from armature.simulation.play import Run

ARMS = (10, 1000, 100_000)
SECONDS = 3.0
ROUNDS = 20  # per arm, at the most


@numba.njit(cache=False)  # type: ignore[untyped-decorator]
def bare_ucb(means: Floats, noise: Floats, rounds: int) -> Floats:
    """UCB for Gaussian rewards, with nothing around it."""
    K = means.size
    pulls = np.ones(K)
    sums = means + noise[:K]
    for t in range(K, K + rounds):
        radius = np.sqrt(2.0 * np.log(t + 1.0))
        best = 0
        highest = -np.inf
        for k in range(K):
            bound = sums[k] / pulls[k] + radius / np.sqrt(pulls[k])
            if bound > highest:
                highest = bound
                best = k
        pulls[best] += 1.0
        sums[best] += means[best] + noise[t % noise.size]
    return pulls


def unconstrained(K: int) -> am.Instance:
    """Means between 0 and 1."""
    return am.Instance(am.Unconstrained(K), np.random.default_rng(0).permutation(K) / K)


def bernoulli(K: int) -> am.Instance:
    """The same, of rewards that are 0 or 1."""
    means = 0.1 + 0.8 * np.random.default_rng(0).permutation(K) / K
    return am.Instance(am.Unconstrained(K), means, am.Bernoulli())


def unimodal(K: int) -> am.Instance:
    """One peak in the middle."""
    return am.Instance(am.Unimodal(K), 1.0 - np.abs(np.arange(K) - K // 2) / K)


def categorised(K: int) -> am.Instance:
    """Five categories, of which the last has the best means."""
    return am.Instance(am.Categorised([5 * k // K for k in range(K)]), np.arange(K) / K)


def sparse(K: int) -> am.Instance:
    """Three good arms."""
    means = np.zeros(K)
    means[[1, K // 2, K - 2]] = 0.6, 1.0, 0.8
    return am.Instance(am.Sparse(K, 3, 0.0), means)


def linear(K: int) -> am.Instance:
    """Five features."""
    features = np.random.default_rng(0).normal(size=(K, 5)) / np.sqrt(5.0)
    return am.Instance(am.Linear(features), features @ np.linspace(0.2, 1.0, 5))


INSTANCES: tuple[Callable[[int], am.Instance], ...] = (
    unconstrained, bernoulli, unimodal, categorised, sparse, linear,
)  # fmt: skip
POLICIES: tuple[am.Policy, ...] = (
    am.UCB(), am.KLUCB(), am.IMED(), am.Challenger(), am.Guarded(), am.ThompsonSampling(),
    am.ProjectedThompson(), am.MINTS(), am.StructuredUCB(), am.OSUB(), am.CATSE(), am.SparseUCB(),
    am.LinUCB(),
)  # fmt: skip
UNCONSTRAINED = ("UCB", "KLUCB", "IMED")  # they ask nothing of a structure: one is enough


def numbers(value: Any) -> int:
    """How many numbers are in the arrays of a record."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    return sum(map(numbers, value)) if isinstance(value, tuple) else 0


def time_rounds(advance: Callable[[int], object], most: int) -> float:
    """Microseconds per round, over at most so many rounds or seconds."""
    played, took, rounds = 0, 0.0, 1
    while played < most and took < SECONDS:
        rounds = min(rounds, most - played)
        start = time.thread_time()
        advance(rounds)
        now = time.thread_time() - start
        played, took = played + rounds, took + now
        rounds = max(1, min(4 * rounds, int(0.1 * rounds * SECONDS / max(now, 1e-9))))
    return 1e6 * took / played


def measure(policy: am.Policy, instance: am.Instance) -> tuple[float, float]:
    """Microseconds per round, and numbers per arm."""
    K = instance.n_arms
    policy = policy.with_horizon(ROUNDS * K)
    assert isinstance(policy, am.CompiledPolicy)
    never = np.array([1 << 60])
    run = Run(policy, instance, 0, 0, never)
    every = policy.starts_with_each_arm
    run.advance(K if every else len(spanning_arms(instance.structure)))
    kept = numbers(run._packed) / K
    run.advance(2)
    return time_rounds(run.advance, max(ROUNDS * K, 10_000) - K), kept


def time_bare(K: int) -> float:
    """The same for the bare loop."""
    means = unconstrained(K).means
    noise = np.random.default_rng(1).normal(size=max(1 << 16, K))
    bare_ucb(means[:2], noise, 1)
    return time_rounds(lambda rounds: bare_ucb(means, noise, rounds), min(ROUNDS * K, 100_000))


def main(names: list[str]) -> None:
    """Print the table."""
    print("| policy | structure | " + " | ".join(f"K = {K:,}" for K in ARMS) + " | per arm |")
    print("|---|---|" + "---:|" * (len(ARMS) + 1))
    bare = " | ".join(f"{time_bare(K):.3g}" for K in ARMS)
    print(f"| bare loop, UCB | unconstrained | {bare} | |", flush=True)
    for policy in POLICIES:
        for make in INSTANCES[: 2 if policy.name in UNCONSTRAINED else None]:
            if names and not {policy.name, make.__name__} & set(names):
                continue
            small = make(ARMS[0])
            if not policy.supports(small.structure, small.family):
                continue
            measure(policy, small)  # compiles
            row, kept = [], 0.0
            for K in ARMS:
                instance = make(K)
                if not policy.supports(instance.structure, instance.family):
                    row.append("refused")
                    continue
                took, kept = measure(policy, instance)
                row.append(f"{took:.3g}")
            print(
                f"| {policy.name} | {make.__name__} | {' | '.join(row)} | {kept:.0f} |", flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1:])
