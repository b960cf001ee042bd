"""An optimiser over instances that looks for those on which the policy does worst.

For each structure it keeps the worst instances found so far, changes their means (and features) at
random, projects back onto M, and measures again; what is worst in the end is measured once more, on
other rewards, for longer and more often. So what is reported was not selected for its luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from armature import (
    IMED,
    UCB,
    Challenger,
    Gaussian,
    Instance,
    Linear,
    Policy,
    ProjectedThompson,
    Results,
    SPk,
    Structure,
    simulate,
)
from armature.kernels.arrays import Floats, Ints
from studies.challenger.cases import G, Make, categorised, linear, sparse, unconstrained
from studies.challenger.cases import unimodal as unimodal_means
from studies.challenger.size import Size

STARTS: dict[str, Make] = {
    "unconstrained": unconstrained(5, 1.0, G),
    "unimodal": unimodal_means(6, 1.0, G),
    "categorised": categorised(6, 3, 1.0, G),
    "sparse": sparse(6, 2, 0.0, 1.0, G),
    "linear": linear(6, 2, G),
}
POPULATION, KEPT = 12, 4
RIVALS: tuple[Policy, ...] = (UCB(), IMED(), ProjectedThompson(), SPk())
LEAST_GAP = 0.03


@dataclass(frozen=True)
class Failure:
    """An instance that the search ended with, measured anew."""

    kind: str
    against: str  # "UCB" or "the best other"
    means: list[float]
    ratio: float  # of mean regrets
    error: float  # its standard error
    stuck: float  # the share of runs that pulled the best arm less than half the time, later on
    rival: str


def search(
    out: Path, size: Size, workers: int | None, progress: Progress, engine: str = "threads"
) -> list[tuple[Failure, Results]]:
    """The worst instances of each structure; what an earlier run has found is read from disk."""
    out.mkdir(parents=True, exist_ok=True)
    kinds = list(STARTS)[:: size.every]
    bar = progress.add_task("search for failures", total=2 * len(kinds), now="")
    found = []
    for place, kind in enumerate(kinds):
        for against in ("UCB", "the best other"):
            progress.update(bar, now=f"{kind} against {against}")
            path = out / f"{kind}-{against.replace(' ', '-')}.parquet"
            if not path.is_file() or not Results.load(path).is_current:
                rng = np.random.default_rng([place, against == "UCB"])
                worst(kind, against, size, workers, rng, engine).save(path)
            results = Results.load(path)
            found.append((describe_failure(kind, against, results), results))
            progress.advance(bar)
    progress.update(bar, now="")
    return found


def worst(
    kind: str,
    against: str,
    size: Size,
    workers: int | None,
    rng: np.random.Generator,
    engine: str = "threads",
) -> Results:
    """Evolve instances of one structure towards the highest ratio; the last one's new runs."""
    horizon, R = min(3000, size.horizon), min(40, size.panel_repetitions)
    rivals = RIVALS[:1] if against == "UCB" else RIVALS

    def measure(instance: Instance) -> float:
        results = simulate(
            instance, [Challenger(), *rivals], horizon, R, workers=workers, engine=engine
        )
        return ratio_of(results)[0]

    crowd = [STARTS[kind](rng) for _ in range(POPULATION)]
    ranked = sorted(((measure(x), n, x) for n, x in enumerate(crowd)), reverse=True)
    for generation in range(size.generations):
        parents = [x for _, _, x in ranked[:KEPT]]
        children = [changed(parents[n % len(parents)], rng) for n in range(POPULATION)]
        fresh = [(measure(x), POPULATION * (generation + 1) + n, x) for n, x in enumerate(children)]
        ranked = sorted(ranked[:KEPT] + fresh, reverse=True)
    return simulate(
        ranked[0][2],
        [Challenger(), *rivals],
        size.horizon,
        size.last_repetitions,
        seed=1,
        workers=workers,
        engine=engine,
    )


def describe_failure(kind: str, against: str, results: Results) -> Failure:
    """What the new runs of an instance show."""
    ratio, error, rival = ratio_of(results)
    means = [float(m) for m in results.instance.means]
    return Failure(kind, against, means, ratio, error, share_stuck(results, "Challenger"), rival)


def ratio_of(results: Results) -> tuple[float, float, str]:
    """The first policy's mean regret over the least of the others', its error, and whose it is."""
    mine, *others = results.names
    rival = min(others, key=lambda name: results.regret(name)[:, -1].mean())
    x, y = results.regret(mine)[:, -1], results.regret(rival)[:, -1]
    ratio = x.mean() / y.mean()
    error = float((x - ratio * y).std(ddof=1) / (y.mean() * np.sqrt(x.size)))
    return float(ratio), error, rival


def stuck_runs(results: Results, policy: str) -> Ints:
    """Which runs pulled the best arm less than half the time after a tenth of the rounds."""
    start = int(np.searchsorted(results.checkpoints, results.horizon / 10))
    pulls = results.pulls(policy)[:, :, results.instance.best_arm]
    later = pulls[:, -1] - pulls[:, start]
    rounds = results.horizon - results.checkpoints[start]
    return np.flatnonzero(later < 0.5 * rounds)


def share_stuck(results: Results, policy: str) -> float:
    """The share of runs that are stuck."""
    return stuck_runs(results, policy).size / results.repetitions


def changed(instance: Instance, rng: np.random.Generator) -> Instance:
    """A neighbour: the means move a little, or a few of them a lot."""
    K = instance.n_arms
    while True:
        step = rng.choice([0.05, 0.2, 0.5])
        move = step * rng.normal(size=K) * (rng.uniform(size=K) < rng.choice([0.3, 1.0]))
        structure, means = moved(instance.structure, instance.means, move, rng)
        ranked = np.sort(means)
        if ranked[-1] - ranked[-2] > LEAST_GAP:
            return Instance(structure, means, instance.family)


def moved(
    structure: Structure, means: Floats, move: Floats, rng: np.random.Generator
) -> tuple[Structure, Floats]:
    """Means of M near `means + move`; a linear structure's features move as well."""
    if isinstance(structure, Linear):
        features = np.asarray(structure.features)
        features = features + 0.3 * rng.normal(size=features.shape) * (move != 0.0)[:, None]
        structure = Linear(features)
    fit: Any = structure.project(means + move, np.ones(means.size), Gaussian(1.0))
    return structure, np.asarray(fit.means)
