"""This tree beside another one: the speed of policies, oracles and bounds, in turns, in one run.

    python benchmarks/against.py ../armature-before

Each tree is measured in processes of its own, one after the other and several times over, so that
both see the same machine. A ratio above 1 says that this tree is faster. Kernels are compiled (or
read from the cache) before the clock starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TURNS = 5

WORK = """
import json, sys, time
import numpy as np
import armature as am

def fastest(run, repeats=5):
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)

found = {}
instances = {
    "unconstrained": am.Instance(am.Unconstrained(4), [0.0, 0.33, 0.67, 1.0]),
    "unimodal": am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1]),
    "categorised": am.Instance(am.Categorised("abbb"), [2.0, 1.0, 0.96, 0.0]),
    "sparse": am.Instance(am.Sparse(10, 2, 0.0), [3.0, 2.0] + [0.0] * 8),
    "linear": am.Instance(
        am.Linear([[np.cos(a), np.sin(a)] for a in (0.0, 0.7, 1.5, 2.5, 4.0)]),
        [np.sin(a) for a in (0.0, 0.7, 1.5, 2.5, 4.0)],
    ),
    "bernoulli": am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1], am.Bernoulli()),
}
policies = [am.UCB(), am.KLUCB(), am.IMED(), am.ThompsonSampling(), am.SPk(), am.Challenger()]
for name, instance in instances.items():
    for policy in policies:
        run = lambda: am.simulate(instance, [policy], horizon=20_000, repetitions=4, workers=1)
        found[f"{policy.name}, {name}"] = fastest(run)
rng = np.random.default_rng(0)
for structure in (am.Unimodal(10), am.Categorised([i % 3 for i in range(10)]),
                  am.Sparse(10, 3, 0.0), am.Linear(rng.normal(size=(10, 3))), am.Simplex(10),
                  am.Lipschitz(10, 0.2), am.Concave(10)):
    problems = [(rng.normal(size=10), rng.uniform(1, 100, 10), int(rng.integers(10)))
                for _ in range(200)]
    run = lambda: [structure.nearest_alternative(*p, am.Gaussian()) for p in problems]
    found[f"nearest_alternative from Python, {type(structure).__name__}"] = fastest(run)
found["lower_bound, unimodal"] = fastest(lambda: am.lower_bound(instances["unimodal"]))
found["lower_bound, linear"] = fastest(lambda: am.lower_bound(instances["linear"]))
print(json.dumps(found))
"""


def measure(tree: Path) -> dict[str, float]:
    """The times of one tree, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        [sys.executable, "-c", WORK], env=environment, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(other: Path) -> None:
    """Measure both trees in turns and print the ratios."""
    measure(ROOT), measure(other)  # compile
    here: dict[str, float] = {}
    there: dict[str, float] = {}
    for _ in range(TURNS):
        for tree, best in ((ROOT, here), (other, there)):
            for name, seconds in measure(tree).items():
                best[name] = min(seconds, best.get(name, seconds))
    print(f"{'':<52} {'here':>10} {'there':>10} {'ratio':>6}")
    for name in here:
        if name in there:
            ratio = there[name] / here[name]
            print(f"{name:<52} {here[name]:>9.4f}s {there[name]:>9.4f}s {ratio:>6.2f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/against.py FOLDER_OF_ANOTHER_TREE")
    main(Path(sys.argv[1]).resolve())
