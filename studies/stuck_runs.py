"""Runs that settle on a wrong arm: Challenger, with and without its rule for shared evidence.

`python -m studies.stuck_runs` plays Challenger, `CountedAsItIs` and ProjectedThompson on the same
rewards, on problems in which one good arm is hidden among many, and on others on which protection
must not cost. It prints the table of `docs/studies/challenger.md`. A run is stuck if it pulls the
best arm in less than half of the second half of its rounds. What is played is kept in a file, and
not played again.
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
from studies.challenger.cases import linear


@dataclass(frozen=True)
class CountedAsItIs(am.Challenger):
    """Challenger without the chance of evidence: G_i counts, however many arms share in it."""

    def init(self, structure: am.Structure, family: am.Family) -> ChallengerState:
        return super().init(structure, family)._replace(shared=False)


class Problem(NamedTuple):
    """An instance and how long it is played."""

    instance: am.Instance
    horizon: int = 10_000


class Outcome(NamedTuple):
    """One policy on a problem, beside Challenger on the same rewards."""

    regret: float  # the mean
    stuck: int  # runs
    rare: float  # 99 % of the runs have less regret
    ratio: float  # Challenger's mean regret over this one's
    error: float  # of the ratio, one standard error
    time: float  # of a round of Challenger, over that of this policy, in the same process


class Played(NamedTuple):
    """The three policies on a problem."""

    problem: str
    runs: int
    before: Outcome  # evidence as it is
    after: Outcome  # with its chance
    sampling: Outcome  # ProjectedThompson


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


def bump(n_arms: int) -> Problem:
    """Means of 0 but for a peak of 1 near the end, which nine arms climb by 0.1 each."""
    distance = np.abs(np.arange(n_arms) - 0.8 * n_arms)
    means = np.maximum(0.0, 1.0 - 0.1 * distance)
    return Problem(am.Instance(am.Lipschitz(n_arms, 0.1), means, am.Gaussian()))


def few_good(n_arms: int, good: int) -> Problem:
    """Means of 0 but for the last arms, the very last with 1, the others with 0.5."""
    means = np.zeros(n_arms)
    means[-good:] = [0.5] * (good - 1) + [1.0]
    return Problem(am.Instance(am.Sparse(n_arms, good, 0.0), means, am.Gaussian()))


def features(n_arms: int, dimension: int) -> Problem:
    """Random directions, of which the best leads by 0.26."""
    return Problem(linear(n_arms, dimension, am.Gaussian())(np.random.default_rng([19, 2])))


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
    "one peak, 100 arms": lambda: needle(100),
    "Lipschitz, 100 arms": lambda: bump(100),
    "sparse, 1 of 40": lambda: few_good(40, 1),
    "sparse, 3 of 40": lambda: few_good(40, 3),
    "linear, 100 arms, 5 features": lambda: features(100, 5),
    "one peak, 5 arms": lambda: slope(5, 0.3),
    "one peak, 20 arms": lambda: slope(20, 0.08),
    "3 x 8 categories, apart": lambda: apart(3, 8),
    **{f"panel {name}": lambda name=name: Problem(load_instance(name)) for name in PANELS},  # type: ignore[misc]
}


def stuck_in(results: am.Results) -> int:
    """How many runs pull the best arm in less than half of the second half of their rounds."""
    middle = int(np.searchsorted(results.checkpoints, results.horizon / 2))
    pulls = results.pulls(results.names[0])[:, :, results.instance.best_arm]
    rounds = results.horizon - results.checkpoints[middle]
    return int((pulls[:, -1] - pulls[:, middle] < 0.5 * rounds).sum())


def play(name: str, runs: int, workers: int | None) -> Played:
    """The three policies on the same rewards."""
    instance, horizon = PROBLEMS[name]()
    regrets, stuck, seconds = [], [], []
    for policy in (CountedAsItIs(), am.Challenger(), am.ProjectedThompson()):
        am.simulate(instance, [policy], 100, 1, workers=1)  # compiled before it is timed
        start = time.process_time()
        results = am.simulate(instance, [policy], horizon, runs, seed=11, workers=workers)
        seconds.append(time.process_time() - start)
        regrets.append(results.regret(results.names[0])[:, -1])
        stuck.append(stuck_in(results))
    outcomes = []
    for regret, n, took in zip(regrets, stuck, seconds, strict=True):
        ratio = regrets[1].mean() / regret.mean()
        error = (regrets[1] - ratio * regret).std(ddof=1) / (regret.mean() * math.sqrt(runs))
        rare = float(np.quantile(regret, 0.99))
        numbers = float(regret.mean()), n, rare, float(ratio), float(error), seconds[1] / took
        outcomes.append(Outcome(*numbers))
    return Played(name, runs, *outcomes)


def table(played: list[Played]) -> list[str]:
    """A row for each problem."""
    lines = [
        "| problem | runs | regret | stuck | 99 % | without the rule | ratio | stuck | 99 % | "
        "time | ProjectedThompson | ratio | stuck |"
    ]
    lines.append("|---" * 13 + "|")
    for p in played:
        shares = [f"{100.0 * o.stuck / p.runs:.2g} %" for o in (p.after, p.before, p.sampling)]
        before, after, sampling = p.before, p.after, p.sampling
        lines.append(
            f"| {p.problem} | {p.runs:,} | {after.regret:.1f} | {shares[0]} | {after.rare:,.0f} | "
            f"{before.regret:.1f} | {before.ratio:.3f} ± {before.error:.3f} | {shares[1]} | "
            f"{before.rare:,.0f} | {before.time:.2f} | {sampling.regret:.1f} | "
            f"{sampling.ratio:.3f} ± {sampling.error:.3f} | {shares[2]} |"
        )
    return lines


def kept_in(path: Path) -> list[Played]:
    """What was played before."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [json.loads(line) for line in lines]
    return [Played(*row[:2], *(Outcome(*numbers) for numbers in row[2:])) for row in kept]


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
