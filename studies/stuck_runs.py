"""Runs that settle on a wrong arm: Challenger, and Challenger with evidence that counts as it is.

`python -m studies.stuck_runs` plays both on the same rewards, on problems in which one good arm is
hidden among many, and on others on which protection must not cost. It prints the table of
`docs/studies/challenger.md`. What is played is kept in a file, and not played again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import armature as am
from armature.experiments import load_instance
from armature.experiments.paper import PANELS
from armature.policies.challenges import ChallengerState
from studies.unknown_sigma import settled_runs


@dataclass(frozen=True)
class CountedAsItIs(am.Challenger):
    """Challenger without the chance of evidence: G_i counts, however many arms share in it."""

    def init(self, structure: am.Structure, family: am.Family) -> ChallengerState:
        return super().init(structure, family)._replace(shared=False)


class Problem(NamedTuple):
    """An instance and how long it is played."""

    instance: am.Instance
    horizon: int = 10_000


class Played(NamedTuple):
    """Two policies on the same rewards."""

    problem: str
    runs: int
    before: float  # mean regret with evidence as it is
    after: float  # and with its chance
    error: float  # of the ratio of the two, one standard error
    stuck_before: int
    stuck_after: int
    rare_before: float  # 99 % of the runs have less
    rare_after: float
    seconds: float  # a round takes now, over what it took: measured in the same process

    @property
    def ratio(self) -> float:
        return self.after / self.before


def hidden_in_categories(categories: int, size: int) -> Problem:
    """One arm of mean 0.5 in one category, all others 0."""
    means = [0.5] + [0.0] * (categories * size - 1)
    labels = [k // size for k in range(categories * size)]
    return Problem(am.Instance(am.Categorised(labels), means, am.Gaussian()))


def clicks() -> Problem:
    """Two themes of ten pictures, click rates of 2 % and one of 8 %."""
    means = [0.08] + [0.02] * 19
    labels = [k // 10 for k in range(20)]
    return Problem(am.Instance(am.Categorised(labels), means, am.Bernoulli()), 20_000)


def needle(n_arms: int) -> Problem:
    """Means of 0 but for 0.3, 1, 0.3 near the end."""
    means = np.zeros(n_arms)
    means[n_arms - 5 : n_arms - 2] = 0.3, 1.0, 0.3
    return Problem(am.Instance(am.Unimodal(n_arms), means, am.Gaussian()))


def slope(n_arms: int, step: float) -> Problem:
    """One peak in the middle, every arm `step` below its neighbour."""
    means = 1.0 - step * np.abs(np.arange(n_arms) - n_arms // 2)
    return Problem(am.Instance(am.Unimodal(n_arms), means, am.Gaussian()))


def apart(categories: int, size: int) -> Problem:
    """Categories with all means apart."""
    means = np.sort(np.random.default_rng(0).uniform(size=categories * size))[::-1]
    labels = [k // size for k in range(categories * size)]
    return Problem(am.Instance(am.Categorised(labels), means, am.Gaussian()))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "3 x 3 categories": lambda: hidden_in_categories(3, 3),
    "3 x 5 categories": lambda: hidden_in_categories(3, 5),
    "3 x 10 categories": lambda: hidden_in_categories(3, 10),
    "3 x 20 categories": lambda: hidden_in_categories(3, 20),
    "clicks": clicks,
    "needle, 20 arms": lambda: needle(20),
    "needle, 40 arms": lambda: needle(40),
    "needle, 80 arms": lambda: needle(80),
    "one peak, 5 arms": lambda: slope(5, 0.3),
    "one peak, 20 arms": lambda: slope(20, 0.08),
    "3 x 8 categories, apart": lambda: apart(3, 8),
    **{f"panel {name}": lambda name=name: Problem(load_instance(name)) for name in PANELS},  # type: ignore[misc]
}


def play(name: str, runs: int, workers: int | None) -> Played:
    """Both policies on the same rewards."""
    instance, horizon = PROBLEMS[name]()
    regrets, stuck, seconds = [], [], []
    for policy in (CountedAsItIs(), am.Challenger()):
        am.simulate(instance, [policy], 100, 1, workers=1)  # compiled before it is timed
        start = time.process_time()
        results = am.simulate(instance, [policy], horizon, runs, seed=11, workers=workers)
        seconds.append(time.process_time() - start)
        regrets.append(results.regret(results.names[0])[:, -1])
        stuck.append(settled_runs(results, instance.best_arm))
    before, after = regrets
    ratio = after.mean() / before.mean()
    error = (after - ratio * before).std(ddof=1) / (before.mean() * math.sqrt(runs))
    rare = [float(np.quantile(r, 0.99)) for r in regrets]
    means = float(before.mean()), float(after.mean()), float(error)
    stayed = stuck[0], stuck[1]
    return Played(name, runs, *means, *stayed, rare[0], rare[1], seconds[1] / seconds[0])


def table(played: list[Played]) -> list[str]:
    """A row for each problem."""
    lines = ["| problem | runs | regret | stuck | 99 % | with chance | stuck | 99 % | time |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for p in played:
        shares = [f"{100.0 * n / p.runs:.2g} %" for n in (p.stuck_before, p.stuck_after)]
        lines.append(
            f"| {p.problem} | {p.runs:,} | {p.before:.0f} | {shares[0]} | {p.rare_before:,.0f} | "
            f"{p.ratio:.3f} ± {p.error:.3f} | {shares[1]} | {p.rare_after:,.0f} | {p.seconds:.2f} |"
        )
    return lines


def kept_in(path: Path) -> list[Played]:
    """What was played before."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Played(*json.loads(line)) for line in lines]


def main() -> int:
    """Play what is missing and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("out-stuck-runs.jsonl"))
    options = parser.parse_args()
    for name in options.problems:
        if not any(p[:2] == (name, options.runs) for p in kept_in(options.out)):
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(play(name, options.runs, options.workers)) + "\n")
    sys.stdout.write("\n".join([*table(kept_in(options.out)), ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
