"""Many arms: what a round costs with 10, 1000 and 100,000 of them, beside a bare compiled loop.

    python -m benchmarks.arms [POLICY ... | STRUCTURE ...]

Prints microseconds of processor time per round, and how many numbers a run keeps for each arm;
everything is compiled before.

*Early* rounds are those after the first ones, with which a run begins (one pull of each arm, where
the policy so wants), up to round 20 K, or for some seconds: all arms are unknown. *Late* rounds are
those of a run in which arms have as many rewards as tell them from the best one, at their means,
and the best one has 10^7: few arms change.

The bare loop is UCB on unconstrained arms in fifteen lines of Numba, which looks at all arms in
every round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

import armature as am
from armature.arrays import Floats
from armature.policies.records import History
from armature.simulation.play import Run

ARMS = (10, 1000, 100_000)
SECONDS = 2.0
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
    """A peak in the middle, with a long slope on either side."""
    means = 0.5 - 0.5 * np.abs(np.arange(K) - K // 2) / K
    means[K // 2] = 1.0
    return am.Instance(am.Unimodal(K), means)


def categorised(K: int) -> am.Instance:
    """Five categories, of which the last has the best means, and the best arm."""
    means = 0.5 * np.arange(K) / K
    means[-1] = 1.0
    return am.Instance(am.Categorised([5 * k // K for k in range(K)]), means)


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


class Found(NamedTuple):
    """Microseconds per early and late round, and numbers per arm."""

    early: float
    late: float
    kept: float


def measure(policy: am.Policy, instance: am.Instance) -> Found:
    """All three."""
    K = instance.n_arms
    policy = policy.with_horizon(ROUNDS * K)
    assert isinstance(policy, am.CompiledPolicy)
    never = np.array([1 << 60])
    run, late = (Run(policy, instance, 0, 0, never) for _ in range(2))
    flat = instance.structure.directions  # where some arms tell all others, these come first
    first = K if policy.starts_with_each_arm or flat is None else flat.shape[1]
    for one in (run, late):
        one.advance(first)
    kept = numbers(run._packed) / K
    run.advance(2)
    early = time_rounds(run.advance, max(ROUNDS * K, 10_000) - K)
    fill(late._arguments[4], instance)
    late.advance(100)
    return Found(early, time_rounds(late.advance, 200_000), kept)


def fill(history: History, instance: am.Instance) -> None:
    """Rewards that tell the arms from the best one, all of them at their means."""
    gaps = instance.gaps
    known = np.ceil(np.minimum(40.0 / np.maximum(gaps, 1e-9) ** 2, 1e6))
    history.pulls[:] = np.where(gaps > 0.0, known, 1e7)
    history.means[:] = instance.means
    history.sums[:] = history.pulls * history.means
    history.squares[:] = history.pulls
    history.clock[0] = int(history.pulls.sum())


def time_bare(K: int) -> float:
    """The same for the bare loop."""
    means = unconstrained(K).means
    noise = np.random.default_rng(1).normal(size=max(1 << 16, K))
    bare_ucb(means[:2], noise, 1)
    return time_rounds(lambda rounds: bare_ucb(means, noise, rounds), min(ROUNDS * K, 100_000))


def main(names: list[str]) -> None:
    """Print the table."""
    columns = [f"{when}, K = {K:,}" for when in ("early", "late") for K in ARMS]
    print("| policy | structure | " + " | ".join(columns) + " | per arm |")
    print("|---|---|" + "---:|" * (len(columns) + 1))
    bare = " | ".join(f"{time_bare(K):.3g}" for K in ARMS)
    print(f"| bare loop, UCB | unconstrained | {bare} | | | | |", flush=True)
    for policy in POLICIES:
        for make in INSTANCES[: 2 if policy.name in UNCONSTRAINED else None]:
            if names and not {policy.name, make.__name__} & set(names):
                continue
            small = make(ARMS[0])
            if not policy.supports(small.structure, small.family):
                continue
            measure(policy, small)  # compiles
            found = []
            for K in ARMS:
                instance = make(K)
                known = policy.supports(instance.structure, instance.family)
                found.append(measure(policy, instance) if known else None)
            cells = ["refused" if f is None else f"{f.early:.3g}" for f in found]
            cells += ["refused" if f is None else f"{f.late:.3g}" for f in found]
            kept = "" if found[-1] is None else f"{found[-1].kept:.0f}"
            print(f"| {policy.name} | {make.__name__} | {' | '.join(cells)} | {kept} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
