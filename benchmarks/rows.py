"""How long a round takes where the means are one of many rows, beside one look at all of them.

    .venv/bin/python benchmarks/rows.py            a minute
    .venv/bin/python benchmarks/rows.py --quick    seconds: 1,000 rows

The first run after a change of the package also compiles its kernels, which is not counted. A round
of `Challenger` (projection, costs of all challengers, opponent) on `Finite` with 100 arms, and
NumPy's time for what each row costs, from nothing: weights times squared distances, summed up. The
ratio of the two is from this run; the target is at most two such looks a round.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import armature as am

ARMS = 100
TARGET = 2.0


def seconds_of(instance: am.Instance, horizon: int) -> float:
    """The processor time of one run."""
    start = time.process_time()
    am.simulate(instance, [am.Challenger()], horizon=horizon, repetitions=1, seed=0, workers=1)
    return time.process_time() - start


def look(rows: np.ndarray, repeats: int = 20) -> float:
    """The least processor time of NumPy's look at all rows."""
    rng = np.random.default_rng(1)
    means, weights, least = rng.uniform(size=ARMS), rng.uniform(1.0, 9.0, ARMS), np.inf
    for _ in range(repeats):
        start = time.process_time()
        int((((rows - means) ** 2) @ weights).argmin())
        least = min(least, time.process_time() - start)
    return least


def main() -> None:
    """Measure, and say whether the target was met."""
    parser = argparse.ArgumentParser(description="Times of rounds with many rows.")
    parser.add_argument("--quick", action="store_true")
    sizes = (1000,) if parser.parse_args().quick else (1000, 10_000, 30_000)
    ratios = []
    for n in sizes:
        rows = np.random.default_rng(0).uniform(0.05, 0.95, (n, ARMS))
        once = look(rows)
        for family in (am.Gaussian(0.3), am.Bernoulli()):
            instance = am.Instance(am.Finite(rows), rows[0], family)
            begin, end = ARMS + 1, ARMS + 1001
            seconds_of(instance, begin)
            took = (seconds_of(instance, end) - seconds_of(instance, begin)) / (end - begin)
            ratios.append(took / once)
            print(
                f"{n:6} rows  {type(family).__name__:10} {1e3 * took:7.3f} ms a round, "
                f"{ratios[-1]:5.2f} x a look at all rows",
                flush=True,
            )
    print(f"a round over a look at all rows: {max(ratios):.2f} at most, target {TARGET:g}")


if __name__ == "__main__":
    main()
