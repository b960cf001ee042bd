"""How fast the policies are: time per round with its reward, on one thread, and ask + tell.

python benchmarks/policies.py
"""

from __future__ import annotations

import math
import time

import numpy as np

import armature as am
from armature.rounds.play import checkpoints_up_to
from armature.rounds.run import make_run

ROUNDS = 20_000


def spread(structure: am.Structure, family: am.Family) -> am.Instance:
    """An instance with distinct means inside of (0, 1)."""
    rng = np.random.default_rng(0)
    K = structure.n_arms
    while True:
        target = rng.uniform(0.1, 0.9, K)
        means = np.asarray(structure.project(target, np.ones(K), family).means)
        ranked = np.sort(means)
        if ranked[-1] - ranked[-2] > 0.3 / K and (means > 0).all() and (means < 1).all():
            return am.Instance(structure, means, family)


def per_round(policy: am.Policy, instance: am.Instance, rounds: int = ROUNDS) -> float:
    """The least time per round of three runs, in microseconds."""
    checkpoints = checkpoints_up_to(10 * rounds)
    policy = policy.with_horizon(rounds)
    best = math.inf
    make_run(policy, instance, 0, 0, checkpoints).advance(100)
    for repetition in range(3):
        run = make_run(policy, instance, 1, repetition, checkpoints)
        run.advance(instance.n_arms)
        start = time.perf_counter()
        run.advance(rounds)
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / rounds


def ask_and_tell(policy: am.Policy, instance: am.Instance) -> float:
    """The time of an ask and a tell from Python, in microseconds."""
    bandit = am.Bandit(policy, instance.structure, instance.family, horizon=ROUNDS)
    rewards = np.random.default_rng(0).normal(0.0, 1.0, 5000).tolist()
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        for reward in rewards:
            arm = bandit.ask()
            bandit.tell(arm, reward + instance.means[arm])
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / len(rewards)


def row(name: str, time_: float, target: float | None = None) -> None:
    """Print one line."""
    goal = "" if target is None else f"{target:>10.2f}{'' if time_ <= target else '   over'}"
    print(f"{name:<44}{time_:>10.3f}{goal}")


def growth(policy: am.Policy, structures: list[am.Structure]) -> float:
    """Print the times for structures of growing size; the exponent that they grow with."""
    sizes = [structure.n_arms for structure in structures]
    times = [per_round(policy, spread(structure, am.Gaussian()), 2000) for structure in structures]
    for size, time_ in zip(sizes, times, strict=True):
        row(f"K = {size}", time_)
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def make_structures(K: int) -> dict[str, am.Structure]:
    """One of each kind that goes with many arms."""
    angles = np.linspace(0.1, 3.0, K)
    return {
        "unconstrained": am.Unconstrained(K),
        "unimodal": am.Unimodal(K),
        "categorised (3)": am.Categorised([i % 3 for i in range(K)]),
        "sparse (3)": am.Sparse(K, 3, 0.2),
        "linear (d = 2)": am.Linear(np.column_stack([np.cos(angles), np.sin(angles)])),
    }


def main() -> None:
    """Measure and print."""
    gaussian, K = am.Gaussian(), 10
    instances = {name: spread(kind, gaussian) for name, kind in make_structures(K).items()}
    nothing = instances["unconstrained"]
    print("Microseconds per round, one thread, 10 arms, reward included\n")
    print(f"{'policy and structure':<44}{'measured':>10}{'target':>10}")
    row("UCB, unconstrained", per_round(am.UCB(), nothing), 0.1)
    row("IMED, unconstrained", per_round(am.IMED(), nothing), 0.15)
    coins = spread(am.Unconstrained(K), am.Bernoulli())
    row("KLUCB, unconstrained, Bernoulli", per_round(am.KLUCB(), coins), 2.0)
    row("ThompsonSampling, unconstrained", per_round(am.ThompsonSampling(), nothing), 0.3)
    targets = {"unconstrained": 1.0, "linear (d = 2)": 5.0}
    for policy, limit in (
        (am.ProjectedThompson(), {}),
        (am.Challenger(), {"unconstrained": 1.0, "linear (d = 2)": 6.0}),
        (am.SPk(), targets),
        (am.SPLambda(), {}),
    ):
        for name, instance in instances.items():
            usual = {"ProjectedThompson": 1.5, "Challenger": 3.0, "SPk": 5.0, "SPLambda": 10.0}[
                policy.name
            ]
            row(f"{policy.name}, {name}", per_round(policy, instance), limit.get(name, usual))
    for name, instance in instances.items():
        row(f"OSSB, {name}", per_round(am.OSSB(), instance))
    for policy in (am.StructuredUCB(), am.MINTS()):
        for name, instance in instances.items():
            row(f"{policy.name}, {name}", per_round(policy, instance, 2000))
    sizes = (10, 30, 100, 300, 1000)
    print("\nSPk on a unimodal structure: growth with the number of arms\n")
    exponent = growth(am.SPk(), [am.Unimodal(size) for size in sizes])
    print(f"time grows like K^{exponent:.2f} (target: 1.2 at most)")
    for name in list(instances)[:4]:
        print(f"\nChallenger, {name}: growth with the number of arms\n")
        exponent = growth(am.Challenger(), [make_structures(size)[name] for size in sizes])
        print(f"time grows like K^{exponent:.2f} (target: 1.3 at most)")
    print("\nMicroseconds for ask + tell from Python\n")
    row("UCB", ask_and_tell(am.UCB(), nothing), 20.0)
    for name, instance in instances.items():
        row(f"SPk, {name}", ask_and_tell(am.SPk(), instance), 60.0)


if __name__ == "__main__":
    main()
