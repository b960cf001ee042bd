"""On how many random linear problems does a narrowed policy get stuck, and what does that cost?

`python -m studies.narrow_often` plays Challenger and `IDS(width=0.5)` on the same rewards of many
instances of a group of Challenger's study, and prints the row of `docs/studies/challenger.md`. A
run is stuck if it pulls the best arm in less than half of the second half of its rounds.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import numpy as np

import armature as am
from armature.kernels.arrays import Floats, Ints
from studies.challenger.cases import GROUPS
from studies.stuck_runs import stuck_in

POLICIES = am.Challenger(), am.IDS(width=0.5)


class Many(NamedTuple):
    """Of each policy and instance: the mean regret, and the stuck runs."""

    regrets: Floats  # (2, instances)
    stuck: Ints  # (2, instances)


def play(group: str, instances: int, runs: int, horizon: int, workers: int | None) -> Many:
    """Both policies on all instances, which are not those of the study's tables."""
    regrets = np.zeros((2, instances))
    stuck = np.zeros((2, instances), dtype=np.int64)
    for number in range(instances):
        instance = GROUPS[group](np.random.default_rng([97, number]))
        for k, policy in enumerate(POLICIES):
            results = am.simulate(instance, [policy], horizon, runs, seed=number, workers=workers)
            regrets[k, number] = results.regret(results.names[0])[:, -1].mean()
            stuck[k, number] = stuck_in(results)
    return Many(regrets, stuck)


def row(group: str, many: Many, runs: int) -> str:
    """A line of the table."""
    mine, theirs = many.regrets
    n = mine.size
    error = (mine - theirs).std(ddof=1) / np.sqrt(n)
    cells = [group, f"{n} x {runs}", f"{mine.mean():.1f}", f"{theirs.mean():.1f}"]
    cells += [f"{(mine - theirs).mean():+.1f} ± {error:.1f}", f"{(theirs > mine).mean():.0%}"]
    cells += [f"{(s > 0).sum()}; {s.sum()}" for s in many.stuck]
    cells += [f"{regrets.max():.0f}" for regrets in many.regrets]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--groups", nargs="*", default=["linear-10-2"], choices=list(GROUPS))
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    heads = ["group", "runs", "Challenger", "IDS(width=0.5)", "difference", "Challenger better"]
    heads += ["instances with stuck runs; runs", "IDS's", "worst instance", "IDS's"]
    sys.stdout.write(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|\n")
    for group in options.groups:
        size = options.instances, options.runs, options.horizon
        many = play(group, *size, options.workers)
        sys.stdout.write(row(group, many, options.runs) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
