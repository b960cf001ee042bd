"""The guard's premium and cover, with errors, in a few minutes: fewer runs than the study's.

`python -m studies.guard.dial --audits 0.6 1.3` plays the study's known problems (one instance of
each true group) and prints, for each setting of `audit`, geometric means of ratios of mean regrets:
over `KLUCB` where the structure is wrong, over the unguarded policy where it is true.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

import armature as am
from armature.kernels.arrays import Floats
from studies.guard.cases import Case, panel_cases, true_cases, wrong_cases

HORIZON, SEED, RESAMPLES = 10_000, 5, 400
Pair = tuple[Floats, Floats]  # final regrets of two policies on the same rewards


def pairs(
    cases: Sequence[Case], policy: am.Policy, other: am.Policy, runs: int, workers: int | None
) -> list[Pair]:
    """Of each problem, the final regrets of both."""
    found = []
    for case in cases:
        results = am.simulate(case.instance, [policy, other], HORIZON, runs, SEED, workers=workers)
        first, second = (results.regret(one.name)[:, -1] for one in (policy, other))
        found.append((first, second))
    return found


def mean_ratio(found: Sequence[Pair]) -> tuple[float, float, float]:
    """The geometric mean of the ratios of means, its standard error, and the largest ratio.

    The error is by the bootstrap over runs: the problems are what they are.
    """
    rng = np.random.default_rng(0)
    ratios = np.array([mine.mean() / theirs.mean() for mine, theirs in found])
    again = []
    for _ in range(RESAMPLES):
        logs = []
        for mine, theirs in found:
            drawn = rng.integers(mine.size, size=mine.size)
            logs.append(np.log(mine[drawn].mean() / theirs[drawn].mean()))
        again.append(np.exp(np.mean(logs)))
    return float(np.exp(np.log(ratios).mean())), float(np.std(again)), float(ratios.max())


def main() -> int:
    """Play and print a line for each setting."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--audits", nargs="*", type=float, default=[0.6, 1.3])
    parser.add_argument("--wrong", type=int, default=24, help="runs of each wrong problem")
    parser.add_argument("--true", type=int, default=16, help="runs of each true problem")
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    true = [*panel_cases(), *true_cases(1)]
    sys.stdout.write("| audit | wrong: over KLUCB's | largest | true: premium | largest |\n")
    sys.stdout.write("|---|---|---|---|---|\n")
    for audit in options.audits:
        guarded = am.Guarded(am.Challenger(), audit=audit)
        wrong = pairs(wrong_cases(), guarded, am.KLUCB(), options.wrong, options.workers)
        cover, cover_error, worst = mean_ratio(wrong)
        premiums = pairs(true, guarded, am.Challenger(), options.true, options.workers)
        price, price_error, dearest = mean_ratio(premiums)
        sys.stdout.write(
            f"| {audit:g} | {cover:.2f} ± {cover_error:.2f} | {worst:.1f} | "
            f"{price - 1.0:+.1%} ± {price_error:.1%} | {dearest - 1.0:+.0%} |\n"
        )
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
