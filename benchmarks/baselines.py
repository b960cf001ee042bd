"""Measure the constants of the baselines, and write their tables in docs/.

    python benchmarks/baselines.py         # ten minutes on two cores

It fills in pages of docs/studies: the parts `baselines` and `baselines-ossb` of reproduction.md,
on the paper's panels, and `baselines-random` of defaults.md, on the random instances of that page.
"""

from __future__ import annotations

import math

import numpy as np
from claims import ROOT, fill_in, table
from defaults import random_instances

import armature as am
from armature.experiments import load_instance
from armature.experiments.paper import PANELS
from armature.kernels.arrays import Floats

HORIZON, REPETITIONS = 10_000, 200
INSTANCES, RUNS_OF_EACH = 10, 20  # of the random ones
OURS, AUTHORS = "default", "the authors'"

# On which panels, and which constants: the default, the authors', and what is around.
GRIDS: list[tuple[tuple[str, ...], list[tuple[am.Policy, str]]]] = [
    (
        ("sparse-1", "sparse-2"),
        [
            (am.SparseUCB(), f"{OURS}, a = 0.5: its last stage is UCB"),
            (am.SparseUCB(a=4.0), AUTHORS),
            (am.SparseUCB(a=1.0), ""),
            (am.SparseUCB(a=0.25), ""),
            (am.SparseUCB(a=0.125), ""),
        ],
    ),
    (
        ("categorised-1", "categorised-2"),
        [
            (am.CATSE(), f"{OURS}, delta = 1 / sqrt(T) = 0.01"),
            (am.CATSE(delta=1.0 / HORIZON), f"{AUTHORS}, 1 / T"),
            (am.CATSE(delta=0.1), ""),
            (am.CATSE(delta=0.5), ""),
        ],
    ),
    (
        ("linear",),
        [
            (am.EndOfOptimism(), f"{OURS}, c = 0, warm_up = 8: 25 pulls of each of two arms"),
            (am.EndOfOptimism(c=1.0, warm_up=1.0), f"{AUTHORS}: 4 pulls of each"),
            (am.EndOfOptimism(c=1.0), ""),
            (am.EndOfOptimism(warm_up=1.0), ""),
            (am.EndOfOptimism(warm_up=4.0), ""),
            (am.EndOfOptimism(warm_up=12.0), ""),
            (am.LinUCB(), f"{OURS}, width = 1, ridge = 1: UCB's width"),
            (am.LinUCB(width=2.0), "about that of Abbasi-Yadkori et al."),
            (am.LinUCB(width=0.7), ""),
            (am.LinUCB(width=0.5), ""),
            (am.LinUCB(ridge=0.1), ""),
            (am.LinUCB(ridge=10.0), ""),
        ],
    ),
    (
        ("unimodal-1", "unimodal-2"),
        [
            (am.OSUB(), f"{OURS}, gamma = 2, c = 0"),
            (am.OSUB(c=3.0), f"{AUTHORS}, c = 3"),
            (am.OSUB(gamma=1), ""),
            (am.OSUB(gamma=5), ""),
            (am.OSUB(gamma=10), ""),
        ],
    ),
]
FORCED = (0.02, 0.05, 0.1, 0.2)  # OSSB's epsilon, times sqrt(ln T); the first is its default
OSSB = [am.OSSB(epsilon=forced / math.sqrt(math.log(HORIZON))) for forced in FORCED]
OSSB.append(am.OSSB(gamma=0.2))
OSSB_TITLES = [f"{forced:g} / sqrt(ln T)" for forced in FORCED] + ["gamma = 0.2"]
RANDOM = {  # the kinds of random instances, and what runs on them
    "sparse (4), 20 arms": GRIDS[0][1],
    "categorised (4), 16 arms": GRIDS[1][1],
    "linear (4), 20 arms": GRIDS[2][1],
    "unimodal, 20 arms": GRIDS[3][1],
}


def descending(rng: np.random.Generator) -> Floats:
    """Ten uniform means in [0, 2], the highest first; it leads by at least 0.1."""
    while True:
        means: Floats = 2.0 * np.sort(rng.uniform(size=10))[::-1]
        if means[0] - means[1] > 0.1:
            return means


def random_categories(seed: int) -> am.Instance:
    """Ten arms in two categories of five."""
    means = descending(np.random.default_rng(seed))
    return am.Instance(am.Categorised("aaaaabbbbb"), means)


def random_peak(seed: int) -> am.Instance:
    """Ten arms, sorted around a random peak."""
    rng = np.random.default_rng(seed)
    best, *others = descending(rng).tolist()
    rising = set(rng.permutation(9)[: int(rng.integers(10))].tolist())
    left = [mean for i, mean in enumerate(others) if i in rising][::-1]
    right = [mean for i, mean in enumerate(others) if i not in rising]
    return am.Instance(am.Unimodal(10), [*left, best, *right])


SMALL = {
    "two random categories of five": random_categories,
    "random peaks, ten arms": random_peak,
}


def error(final: Floats) -> float:
    """The standard error of the mean."""
    return float(final.std(ddof=1) / np.sqrt(final.size))


def spread(final: Floats) -> str:
    """Mean with its standard error; median; the largest."""
    return f"{final.mean():.0f} ± {error(final):.0f}; {np.median(final):.0f}; {final.max():.0f}"


def written(policy: am.Policy) -> str:
    """As a user writes it."""
    return f"`{policy.name if '(' in policy.name else policy.name + '()'}`"


def specialised() -> str:
    """Each specialised policy with several constants, on the panels that it is shown on."""
    rows = []
    for panels, grid in GRIDS:
        policies = [policy for policy, _ in grid]
        finals = []
        for panel in panels:
            results = am.simulate(load_instance(panel), [am.UCB(), *policies], HORIZON, REPETITIONS)
            finals.append({name: results.regret(name)[:, -1] for name in results.names})
        cells = [
            f"{panel}: {spread(final['UCB'])}" for panel, final in zip(panels, finals, strict=True)
        ]
        rows.append(["`UCB()`", "", *cells, *[""] * (2 - len(cells))])
        for policy, remark in grid:
            cells = [spread(final[policy.name]) for final in finals]
            rows.append([written(policy), remark, *cells, *[""] * (2 - len(cells))])
    return table(["policy", "constants", "first panel", "second panel"], rows)


def ossb() -> str:
    """OSSB with several amounts of forced exploration, on all panels and on random instances."""
    rows = []
    for panel in PANELS:
        results = am.simulate(load_instance(panel), OSSB, HORIZON, REPETITIONS)
        rows.append([panel, *(spread(results.regret(name)[:, -1]) for name in results.names)])
    for kind, make in SMALL.items():
        runs = [am.simulate(make(seed), OSSB, HORIZON, 10) for seed in range(10)]
        finals = [np.concatenate([run.regret(p.name)[:, -1] for run in runs]) for p in OSSB]
        rows.append([kind, *(spread(final) for final in finals)])
    return table(["problem", *OSSB_TITLES], rows)


def on_random_instances() -> str:
    """Whether what is better on the panels is better elsewhere."""
    rows = []
    for kind, grid in RANDOM.items():
        policies = [am.UCB(), *(policy for policy, _ in grid)]
        runs = [
            am.simulate(instance, policies, HORIZON, RUNS_OF_EACH)
            for instance in random_instances(kind, INSTANCES)
        ]
        for policy in policies:
            final = np.concatenate([run.regret(policy.name)[:, -1] for run in runs])
            mean = f"{final.mean():.0f} ± {error(final):.0f}"
            tail = f"{np.quantile(final, 0.95):.0f}"
            rows.append([kind, written(policy), mean, tail, f"{final.max():.0f}"])
    return table(["problem", "policy", "mean", "95 %", "largest"], rows)


def main() -> None:
    """Measure, then write."""
    path = ROOT / "docs" / "studies" / "reproduction.md"
    sections = {"baselines": specialised(), "baselines-ossb": ossb()}
    path.write_text(fill_in(path.read_text(), sections))
    path = ROOT / "docs" / "studies" / "defaults.md"
    path.write_text(fill_in(path.read_text(), {"baselines-random": on_random_instances()}))


if __name__ == "__main__":
    main()
