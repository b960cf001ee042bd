"""What it costs to draw: Challenger(randomised=True) beside Challenger and ProjectedThompson.

`python -m studies.randomised` plays all three on the same rewards, on the paper's panels and where
one good arm is hidden, and prints the table of `docs/studies/challenger.md`.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

import armature as am
from armature.kernels.arrays import Floats
from studies.stuck_runs import PROBLEMS

POLICIES: tuple[am.Policy, ...] = (
    am.Challenger(randomised=True),
    am.Challenger(),
    am.ProjectedThompson(),
)
PLAYED = ("3 x 3 categories", *(name for name in PROBLEMS if name.startswith("panel")))


def ratio(mine: Floats, theirs: Floats) -> str:
    """Of the mean regrets, with one standard error."""
    found = mine.mean() / theirs.mean()
    error = (mine - found * theirs).std(ddof=1) / (theirs.mean() * math.sqrt(mine.size))
    return f"{found:.2f} ± {error:.2f}"


def row(name: str, runs: int, workers: int | None) -> str:
    """A line of the table."""
    instance, horizon = PROBLEMS[name]()
    results = am.simulate(instance, POLICIES, horizon, runs, seed=21, workers=workers)
    drawn, plain, posterior = (results.regret(policy.name)[:, -1] for policy in POLICIES)
    rare = f"{np.quantile(drawn, 0.99):.0f}"
    cells = (name, runs, f"{drawn.mean():.1f}", rare, ratio(drawn, plain), ratio(drawn, posterior))
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def main() -> int:
    """Play and print, line by line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--problems", nargs="*", default=PLAYED, choices=list(PROBLEMS))
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    lines = ["| problem | runs | regret | 99 % | over Challenger's | over ProjectedThompson's |"]
    lines.append("|---|---|---|---|---|---|")
    for line in lines:
        sys.stdout.write(line + "\n")
    for name in options.problems:
        sys.stdout.write(row(name, options.runs, options.workers) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
