"""The guard's premium and cover, with errors, in a few minutes: fewer runs than the study's.

`python -m studies.guard.dial` plays the study's known problems (one instance of
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
    cases: Sequence[Case],
    policies: Sequence[am.Policy],
    other: am.Policy,
    runs: int,
    workers: int | None,
) -> list[list[Pair]]:
    """Of each policy, its final regrets beside those of the other one, problem by problem."""
    found: list[list[Pair]] = [[] for _ in policies]
    for case in cases:
        played = [*policies, other]
        results = am.simulate(case.instance, played, HORIZON, runs, SEED, workers=workers)
        last = results.regret(other.name)[:, -1]
        for own, policy in zip(found, policies, strict=True):
            own.append((results.regret(policy.name)[:, -1], last))
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
    """Play all settings on the same rewards, and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--audits", nargs="*", type=float, default=[0.6, 0.9, 1.1, 1.3])
    parser.add_argument("--wrong", type=int, default=24, help="runs of each wrong problem")
    parser.add_argument("--true", type=int, default=16, help="runs of each true problem")
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    true = [*panel_cases(), *true_cases(1)]
    sys.stdout.write("| audit | wrong: over KLUCB's | largest | true: premium | largest |\n")
    sys.stdout.write("|---|---|---|---|---|\n")
    guarded = [am.Guarded(am.Challenger(), audit=audit) for audit in options.audits]
    wrong = pairs(wrong_cases(), guarded, am.KLUCB(), options.wrong, options.workers)
    paid = pairs(true, guarded, am.Challenger(), options.true, options.workers)
    for audit, covers, premiums in zip(options.audits, wrong, paid, strict=True):
        cover, cover_error, worst = mean_ratio(covers)
        price, price_error, dearest = mean_ratio(premiums)
        sys.stdout.write(
            f"| {audit:g} | {cover:.2f} ± {cover_error:.2f} | {worst:.1f} | "
            f"{price - 1.0:+.1%} ± {price_error:.1%} | {dearest - 1.0:+.0%} |\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
