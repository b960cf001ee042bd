"""What ThompsonSampling owes to its prior: Bernoulli means drawn from it, and from elsewhere.

`python -m studies.bernoulli_prior` plays ten instances of ten arms without a structure for each
range of means, 40 runs each, and prints Challenger's regret over ThompsonSampling's, whose prior is
uniform from 0 to 1.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import armature as am
from studies.randomised import ratio

N_ARMS, HORIZON, SEED = 10, 10_000, 900
RANGES = ((0.0, 1.0), (0.3, 0.7), (0.02, 0.12))
POLICIES: tuple[am.Policy, ...] = (am.Challenger(), am.ThompsonSampling())


def row(low: float, high: float, instances: int, runs: int, workers: int | None) -> str:
    """A line of the table."""
    finals: list[list[np.ndarray]] = [[] for _ in POLICIES]
    for i in range(instances):
        means = np.random.default_rng([77, i]).uniform(low, high, N_ARMS)
        instance = am.Instance(am.Unconstrained(N_ARMS), means, am.Bernoulli())
        results = am.simulate(instance, POLICIES, HORIZON, runs, SEED + i, workers=workers)
        for kept, policy in zip(finals, POLICIES, strict=True):
            kept.append(results.regret(policy.name)[:, -1])
    mine, theirs = (np.concatenate(kept) for kept in finals)
    cells = (f"{low:g} to {high:g}", f"{mine.mean():.1f}", f"{theirs.mean():.1f}")
    return "| " + " | ".join([*cells, ratio(mine, theirs)]) + " |"


def main() -> int:
    """Play and print, line by line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    sys.stdout.write("| means | Challenger | ThompsonSampling | ratio |\n|---|---|---|---|\n")
    for low, high in RANGES:
        line = row(low, high, options.instances, options.runs, options.workers)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
