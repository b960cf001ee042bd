"""How long a certified lower bound takes, and the allocation solver that policies call.

    .venv/bin/python benchmarks/bounds.py

Printed, after everything has been compiled:

* the time of `lower_bound` for the paper's panels and for 100 arms, with what it certifies;
* for each structure with 10 arms, the time of the compiled allocation solver at a relative accuracy
  of 1e-4, cold and warm-started: the means move a little from call to call, as estimates do;
* for each panel and learner, how fast the two values of the game approach each other. The theorem's
  rate is the root of the rounds, an exponent of -0.5.

Targets: 20 ms for each panel, 2 s for 100 arms, thousands of allocations a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import armature as am
from armature.bounds.lower_bound import make_solution, run_allocate
from armature.experiments import load_instance, shipped_specs

ACCURACY = 1e-4


def best_time(call: Callable[[], object], repeats: int) -> float:
    """The least of several times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def spread(structure: am.Structure, rng: np.random.Generator) -> am.Instance:
    """Random means in a structure, with a best arm that stands out."""
    while True:
        target = rng.uniform(0.0, 1.0, structure.n_arms)
        means = structure.project(target, np.ones(structure.n_arms), am.Gaussian()).means
        ranked = np.sort(means)
        if ranked[-1] - ranked[-2] > 0.02:
            return am.Instance(structure, means)


def print_bounds(title: str, instances: dict[str, am.Instance], target: float) -> None:
    """A table of times and certificates."""
    print(f"\n{title}\n\n{'problem':<24}{'ms':>10}{'V':>12}{'gap':>10}  within {1e3 * target:g} ms")
    for name, instance in instances.items():
        bound = am.lower_bound(instance)
        seconds = best_time(lambda i=instance: am.lower_bound(i), 5)
        met = "yes" if seconds <= target else "NO"
        print(f"{name:<24}{1e3 * seconds:>10.2f}{bound.value:>12.5g}{bound.gap:>10.0e}  {met}")


def time_allocation(instance: am.Instance, warm: bool, rng: np.random.Generator) -> float:
    """Seconds per allocation while the means wander inside of the structure."""
    K, structure = instance.n_arms, instance.structure
    steps = rng.normal(0.0, 0.01, (40, K))
    path = [
        structure.project(instance.means + step, np.ones(K), am.Gaussian()).means for step in steps
    ]
    path = [means for means in path if np.sort(means)[-1] - np.sort(means)[-2] > 1e-3]
    instances = [am.Instance(structure, means) for means in path]
    solution = make_solution(instance)

    def run() -> None:
        for one in instances:
            run_allocate(structure, one, one.gaps, solution, ACCURACY, warm)

    run()
    return best_time(run, 3) / len(instances)


def print_game_rates(panels: dict[str, am.Instance]) -> None:
    """How the gap between the game's two values shrinks with the rounds."""
    print("\nThe game with epsilon = 0.2: (upper - lower) / V_eps, and the exponent of its decay\n")
    print(
        f"{'problem':<16}{'learner':<9}{'10^2':>10}{'10^3':>10}{'10^4':>10}{'10^5':>10}{'rate':>8}"
    )
    for name, instance in panels.items():
        value = am.lower_bound(instance, 0.2).value
        for learner in ("k", "lambda"):
            game = am.solve_game(instance, learner, 0.2, 100_000)
            at = [np.searchsorted(game.rounds, 10**p) for p in (2, 3, 4, 5)]
            gaps = np.maximum(game.upper - game.lower, 1e-12)[at] / value
            rate = np.log(gaps[-1] / gaps[0]) / np.log(1000.0)
            cells = "".join(f"{gap:>10.1e}" for gap in gaps)
            print(f"{name:<16}{learner:<9}{cells}{rate:>8.2f}")


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(0)
    panels = {name: load_instance(name) for name in shipped_specs("panels")}
    print_bounds("Certified lower bounds: the paper's panels", panels, 0.02)
    large = {
        "unimodal": am.Unimodal(100),
        "categorised (5)": am.Categorised([i % 5 for i in range(100)]),
        "sparse (10)": am.Sparse(100, 10, 0.2),
        "linear (d = 5)": am.Linear(rng.normal(size=(100, 5))),
        "unconstrained": am.Unconstrained(100),
    }
    print_bounds(
        "Certified lower bounds: 100 arms",
        {name: spread(structure, rng) for name, structure in large.items()},
        2.0,
    )
    small = {
        "unconstrained": am.Unconstrained(10),
        "unimodal": am.Unimodal(10),
        "categorised (3)": am.Categorised([i % 3 for i in range(10)]),
        "sparse (3)": am.Sparse(10, 3, 0.2),
        "linear (d = 2)": am.Linear(rng.normal(size=(10, 2))),
        "linear (d = 4)": am.Linear(rng.normal(size=(10, 4))),
        "simplex": am.Simplex(10),
        "lipschitz": am.Lipschitz(10, 0.2),
        "concave": am.Concave(10),
        "polyhedral": am.Polyhedral(next(iter(am.Concave(10).pieces())).A, np.full(8, 0.02)),
    }
    print(f"\nAllocation to {ACCURACY:g}, 10 arms, called from Python\n")
    print(f"{'structure':<24}{'cold, us':>10}{'warm, us':>10}{'warm, per second':>18}")
    for name, structure in small.items():
        instance = spread(structure, rng)
        cold, warm = (time_allocation(instance, w, np.random.default_rng(1)) for w in (False, True))
        print(f"{name:<24}{1e6 * cold:>10.1f}{1e6 * warm:>10.1f}{1.0 / warm:>18,.0f}")
    print_game_rates(panels)


if __name__ == "__main__":
    main()
