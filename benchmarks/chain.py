"""How long questions to a chain take, how that grows with the arms, and how the dense solver did.

    .venv/bin/python benchmarks/chain.py            some minutes
    .venv/bin/python benchmarks/chain.py --quick    half a minute: 10 and 100 arms, fewer repeats

The first run after a change of the package also compiles its kernels, which is not counted. For
Lipschitz means with Gaussian and Bernoulli rewards, three questions, called in a loop in compiled
code: a projection, the cheapest way for one arm to beat the best one, and the nearest alternative.
The dense solver is asked the same, by a structure with one more row, of three arms, that says
nothing: then it is no chain. Its ratio is to the chain in this run; their costs must agree.

Then a round of Challenger on several chains, as a ratio to `Unimodal` with as many arms, and
whether the targets were met.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import armature as am
from armature.authoring import kernel
from armature.structures.oracles.model import (
    Model,
    make_model,
    nearest_alternative,
    nearest_with,
    projection,
)

Floats = npt.NDArray[np.float64]
FAMILIES: tuple[am.Family, ...] = (am.Gaussian(), am.Bernoulli())
GROWTH = 14.0  # a projection with 1,000 arms beside one with 100, at most
MOST_PIECES = 300  # of a union: each is a matrix with a column for each arm
ROUND = 12.0  # a round of Challenger beside Unimodal's, at most
CONCAVE = 48.0  # the same for Concave


class Effort(NamedTuple):
    """How thoroughly to measure."""

    sizes: tuple[int, ...]
    dense: int  # the most arms for the dense solver
    problems: int
    seconds: float
    rounds: int  # for each arm


FULL = Effort((8, 50, 100, 300, 1000), dense=100, problems=8, seconds=0.05, rounds=30)
QUICK = Effort((10, 100), dense=30, problems=3, seconds=0.01, rounds=10)


class NoChain(am.Structure):
    """The same mean vectors; a row of three arms that says nothing hides that it is a chain."""

    def __init__(self, structure: am.Structure) -> None:
        self.structure, self.n_arms = structure, structure.n_arms

    def pieces(self) -> list[am.Piece]:
        """Those of the structure, with the row."""
        row = np.zeros((1, self.n_arms))
        row[0, :3] = 1.0, -0.5, 1.0
        return [piece & am.Piece(row, [1e3]) for piece in self.structure.pieces()]


class Question(NamedTuple):
    """Means, weights, the best arm and who challenges it."""

    mu: Floats
    w: Floats
    best: int
    challenger: int


def question(K: int, rng: np.random.Generator) -> Question:
    """A smooth curve with a peak, seen with noise; the challenger is any arm."""
    peak = rng.uniform(0.2, 0.8)
    mu = 0.8 - 0.6 * np.abs(np.arange(K) / K - peak) + rng.normal(0.0, 0.05, K)
    mu = np.clip(mu, 0.05, 0.95)
    best = round(peak * (K - 1))
    challenger = int(rng.choice([k for k in range(K) if k != best]))
    return Question(mu, rng.uniform(1.0, 1000.0, K), best, challenger)


@kernel
def repeat(
    n: int, kind: int, model: Model, mu: Floats, w: Floats, j: int, k: int, lam: Floats
) -> float:
    """Ask the same n times."""
    cost = 0.0
    for _ in range(n):
        if kind == 0:
            cost = projection(model, mu, w, lam)
        elif kind == 1:
            cost = nearest_with(model, mu, w, j, k, lam)
        else:
            cost = nearest_alternative(model, mu, w, j, lam)
    return cost


KINDS = ("projection", "alternative", "nearest")


def measured(model: Model, kind: int, q: Question, seconds: float) -> tuple[float, float]:
    """Microseconds for one answer, the least of three repeats; and its cost."""
    lam = np.empty(q.mu.size)
    arguments = (kind, model, q.mu, q.w, q.best, q.challenger, lam)
    start = time.perf_counter()
    cost = repeat(1, *arguments)
    n = max(1, int(seconds / (time.perf_counter() - start)))
    least = np.inf
    for _ in range(3):
        start = time.perf_counter()
        repeat(n, *arguments)
        least = min(least, (time.perf_counter() - start) / n)
    return 1e6 * least, cost


def questions_table(effort: Effort) -> dict[tuple[str, int], float]:
    """Print times of all questions; the medians of projections with Gaussian rewards."""
    medians = {}
    rng = np.random.default_rng(0)
    heads = "".join(f"{kind:>14} {'dense':>8}" for kind in KINDS)
    print(f"{'rewards':10} {'arms':>5}{heads}")
    for family in FAMILIES:
        for K in effort.sizes:
            structure = am.Lipschitz(K, 1.0, np.arange(K) / K)
            oracles = ("project", "alt_min", "nearest")
            chain = make_model(structure, family, oracles)
            dense = make_model(NoChain(structure), family, oracles) if effort.dense >= K else None
            repeat(1, 0, chain, *question(K, rng), np.empty(K))
            cells = ""
            for kind in range(3):
                times, ratios = [], []
                for _ in range(effort.problems):
                    q = question(K, rng)
                    took, cost = measured(chain, kind, q, effort.seconds)
                    times.append(took)
                    if dense is not None:
                        slow, same = measured(dense, kind, q, effort.seconds)
                        ratios.append(slow / took)
                        assert abs(cost - same) <= 1e-8 * same + 1e-9, (cost, same)
                ratio = f"{np.median(ratios):7.1f}x" if ratios else "       -"
                cells += f"{np.median(times):11.1f} µs {ratio}"
                medians[KINDS[kind] + type(family).__name__, K] = float(np.median(times))
            print(f"{type(family).__name__:10} {K:5}{cells}", flush=True)
    return medians


STRUCTURES: dict[str, Callable[[int], am.Structure]] = {
    "Unimodal": am.Unimodal,
    "Lipschitz": lambda K: am.Lipschitz(K, 1.2, np.arange(K) / K),
    "Monotone & Lipschitz": lambda K: am.Monotone(K) & am.Lipschitz(K, 1.2, np.arange(K) / K),
    "Unimodal & Lipschitz": lambda K: am.Unimodal(K) & am.Lipschitz(K, 1.2, np.arange(K) / K),
    "Box & Lipschitz": lambda K: am.Box(K, 0.0, 1.0) & am.Lipschitz(K, 1.2, np.arange(K) / K),
    "Concave": am.Concave,
}


def seconds_of(instance: am.Instance, horizon: int) -> float:
    """The processor time of one run."""
    start = time.process_time()
    am.simulate(instance, [am.Challenger()], horizon=horizon, repetitions=1, seed=0, workers=1)
    return time.process_time() - start


def rounds_table(effort: Effort) -> dict[tuple[str, int], float]:
    """Print Challenger's microseconds a round; the ratios to Unimodal with as many arms."""
    ratios = {}
    for K in effort.sizes:
        unimodal = 0.0
        for name, make in STRUCTURES.items():
            if name.startswith("Unimodal &") and K > MOST_PIECES:
                continue
            x = np.arange(K) / K
            means = x if name.startswith("Monotone") else 0.8 - np.abs(x - round(0.6 * K) / K)
            instance = am.Instance(make(K), means, am.Gaussian(0.3))
            begin, end = K + 1, (1 + effort.rounds) * K
            seconds_of(instance, begin)
            took = 1e6 * (seconds_of(instance, end) - seconds_of(instance, begin)) / (end - begin)
            unimodal = took if name == "Unimodal" else unimodal
            ratios[name, K] = took / unimodal
            print(
                f"{K:5} arms  {name:22} {took:10.1f} µs a round {ratios[name, K]:8.1f} x Unimodal",
                flush=True,
            )
    return ratios


def main() -> None:
    """Measure, and say whether the targets were met."""
    parser = argparse.ArgumentParser(description="Times of chains, as ratios within one run.")
    parser.add_argument("--quick", action="store_true")
    effort = QUICK if parser.parse_args().quick else FULL
    medians = questions_table(effort)
    print()
    ratios = rounds_table(effort)
    print()
    if 1000 in effort.sizes:
        growth = medians["projectionGaussian", 1000] / medians["projectionGaussian", 100]
        print(f"projection, 1,000 arms over 100: {growth:.1f}, target {GROWTH:g}")
    for is_concave, target in ((False, ROUND), (True, CONCAVE)):
        wide = {key: ratio for key, ratio in ratios.items() if key[1] >= 50}
        ours = {key: ratio for key, ratio in wide.items() if (key[0] == "Concave") == is_concave}
        name, K = max(ours, key=lambda key: ours[key])
        worst = ours[name, K]
        print(f"a round over Unimodal's: {worst:.1f} at most ({name}, {K} arms), target {target:g}")


if __name__ == "__main__":
    main()
