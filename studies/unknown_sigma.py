"""What it costs not to know sigma: regret with sigma estimated against sigma known.

`python -m studies.unknown_sigma` plays every policy on the paper's eight panels, twice on the same
rewards: told that sigma is 1, and told nothing. It prints the tables of `docs/rewards.md`.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import NamedTuple

import numpy as np

import armature as am
from armature.descriptions import POLICIES
from armature.experiments import load_instance
from armature.experiments.figure import PANELS

HORIZONS = (1_000, 10_000)
LOST = 0.5  # a run that loses so much of what it could is one that has settled on a wrong arm


class Pair(NamedTuple):
    """The regret of a policy on a panel, run by run."""

    policy: str
    panel: str
    known: np.ndarray
    unknown: np.ndarray
    most: float  # what a run loses that never leaves the runner-up

    @property
    def ratio(self) -> float:
        """How much more is lost, on average."""
        return float(self.unknown.mean() / self.known.mean())

    @property
    def settled(self) -> tuple[int, int]:
        """How many runs have lost half of `most` or more."""
        known, unknown = ((runs >= LOST * self.most).sum() for runs in (self.known, self.unknown))
        return int(known), int(unknown)


def play(panel: str, policy: am.Policy, horizon: int, repetitions: int, workers: int) -> Pair:
    """One policy on one panel, with and without sigma."""
    instance = load_instance(panel)
    runs = []
    for family in (am.Gaussian(), am.Gaussian(known=False)):
        told = am.Instance(instance.structure, instance.means, family)
        results = am.simulate(told, [policy], horizon, repetitions, workers=workers)
        runs.append(results.regret(results.names[0])[:, -1])
    gap = float(np.sort(instance.gaps)[1])
    return Pair(type(policy).__name__, panel, runs[0], runs[1], gap * horizon)


def geometric_mean(pairs: list[Pair]) -> float:
    """Of the ratios."""
    return math.exp(float(np.mean([math.log(pair.ratio) for pair in pairs])))


def table(pairs: list[Pair]) -> list[str]:
    """A row for each policy: its ratio on all panels, the largest, and the runs that settled."""
    lines = ["| policy | panels | ratio | largest | on | settled, known | unknown |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(pair.policy for pair in pairs):
        own = [pair for pair in pairs if pair.policy == name]
        worst = max(own, key=lambda pair: pair.ratio)
        known, unknown = np.sum([pair.settled for pair in own], axis=0)
        lines.append(
            f"| `{name}` | {len(own)} | {geometric_mean(own):.3f} | {worst.ratio:.3f} | "
            f"{worst.panel} | {known} | {unknown} |"
        )
    known, unknown = np.sum([pair.settled for pair in pairs], axis=0)
    lines.append(
        f"| all | {len(pairs)} | **{geometric_mean(pairs):.3f}** | | | {known} | {unknown} |"
    )
    return lines


def main() -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--horizons", type=int, nargs="*", default=HORIZONS)
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    for horizon in options.horizons:
        pairs = []
        for panel in PANELS:
            instance = load_instance(panel)
            for policy in (cls() for cls in POLICIES.values()):
                if policy.supports(instance.structure, am.Gaussian()):
                    pairs.append(play(panel, policy, horizon, options.repetitions, options.workers))
                    sys.stderr.write(f"{panel} {pairs[-1].policy}: {pairs[-1].ratio:.3f}\n")
        title = f"T = {horizon:,}, {options.repetitions} runs:"
        sys.stdout.write("\n".join(["", title, "", *table(pairs), ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
