"""What it costs not to know sigma: regret with sigma estimated against sigma known.

`python -m studies.unknown_sigma` plays every policy on the paper's eight panels, twice on the same
rewards: told that sigma is 1, and told nothing. It prints the tables of `docs/rewards.md`. What is
played is kept in a file, and not played again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import armature as am
from armature.experiments import load_instance
from armature.experiments.cluster import connected
from armature.experiments.paper import PANELS
from armature.experiments.plan import ENGINES
from armature.storage.registry import POLICIES

HORIZONS = (1_000, 10_000)
SETTLED = 0.1  # of the second half's rounds: a run with fewer on the best arm has settled elsewhere


class Pair(NamedTuple):
    """A policy on a panel: mean regret, and how many runs have settled on a wrong arm."""

    horizon: int
    repetitions: int
    panel: str
    policy: str
    known: float
    unknown: float
    settled_known: int
    settled_unknown: int

    @property
    def ratio(self) -> float:
        """How much more is lost, on average."""
        return self.unknown / self.known


def settled_runs(results: am.Results, best: int) -> int:
    """How many runs hardly pull the best arm in the second half."""
    middle = int(np.searchsorted(results.checkpoints, results.checkpoints[-1] / 2))
    pulls = results.pulls(results.names[0])
    rounds = results.checkpoints[-1] - results.checkpoints[middle]
    return int((pulls[:, -1, best] - pulls[:, middle, best] < SETTLED * rounds).sum())


def play(
    panel: str,
    policy: am.Policy,
    horizon: int,
    repetitions: int,
    workers: int | None,
    engine: str = "threads",
) -> Pair:
    """One policy on one panel, with and without sigma."""
    instance = load_instance(panel)
    known, unknown = (
        _play_as(instance, family, policy, horizon, repetitions, workers, engine)
        for family in (am.Gaussian(), am.Gaussian(known=False))
    )
    name = type(policy).__name__
    return Pair(horizon, repetitions, panel, name, known[0], unknown[0], known[1], unknown[1])


def _play_as(
    instance: am.Instance,
    family: am.Family,
    policy: am.Policy,
    horizon: int,
    repetitions: int,
    workers: int | None,
    engine: str,
) -> tuple[float, int]:
    """The mean regret, and how many runs settled on a wrong arm."""
    told = am.Instance(instance.structure, instance.means, family)
    results = am.simulate(told, [policy], horizon, repetitions, workers=workers, engine=engine)
    regret = float(results.regret(results.names[0])[:, -1].mean())
    return regret, settled_runs(results, instance.best_arm)


def geometric_mean(pairs: list[Pair]) -> float:
    """Of the ratios."""
    return math.exp(float(np.mean([math.log(pair.ratio) for pair in pairs])))


def table(pairs: list[Pair]) -> list[str]:
    """A row for each policy: its ratio on all panels, the largest, and the runs that settled."""
    lines = ["| policy | panels | ratio | largest | on | settled, known | unknown |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name in sorted({pair.policy for pair in pairs}):
        own = [pair for pair in pairs if pair.policy == name]
        worst = max(own, key=lambda pair: pair.ratio)
        settled = f"{sum(p.settled_known for p in own)} | {sum(p.settled_unknown for p in own)}"
        lines.append(
            f"| `{name}` | {len(own)} | {geometric_mean(own):.3f} | {worst.ratio:.3f} | "
            f"{worst.panel} | {settled} |"
        )
    settled = f"{sum(p.settled_known for p in pairs)} | {sum(p.settled_unknown for p in pairs)}"
    return [*lines, f"| all | {len(pairs)} | **{geometric_mean(pairs):.3f}** | | | {settled} |"]


def kept_in(path: Path) -> list[Pair]:
    """What was played before."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Pair(*json.loads(line)) for line in lines]


def main() -> int:
    """Play what is missing and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--horizons", type=int, nargs="*", default=HORIZONS)
    parser.add_argument("--panels", nargs="*", default=list(PANELS))
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--engine", choices=ENGINES, default="threads")
    parser.add_argument("--address", help="of the Ray cluster; without it, one is started here")
    parser.add_argument("--out", type=Path, default=Path("out-unknown-sigma.jsonl"))
    options = parser.parse_args()
    with connected(options.engine, options.address, options.workers):
        play_all(options)
    return 0


def play_all(options: argparse.Namespace) -> None:
    """Play what is missing for each horizon, and print its table."""
    for horizon in options.horizons:
        for panel in options.panels:
            structure = load_instance(panel).structure
            for policy in (cls() for cls in POLICIES.values() if not cls.identifies):
                key = (horizon, options.repetitions, panel, type(policy).__name__)
                played = any(pair[:4] == key for pair in kept_in(options.out))
                if not played and policy.supports(structure, am.Gaussian()):
                    sizes = horizon, options.repetitions, options.workers
                    pair = play(panel, policy, *sizes, options.engine)
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(pair) + "\n")
        pairs = [p for p in kept_in(options.out) if p[:2] == (horizon, options.repetitions)]
        title = f"T = {horizon:,}, {options.repetitions} runs:"
        sys.stdout.write("\n".join(["", title, "", *table(pairs), ""]))


if __name__ == "__main__":
    sys.exit(main())
