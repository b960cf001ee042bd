"""One good arm of many, for a rule that is told the good mean and the others': what finding costs.

On the panel sparse-1, T* is the time to see that a good arm is one: finding it is free. Here is a
rule that is told more than any other in the study, both values, and needs no proof that holds for
all means: it pulls the arm that is most likely the good one, and stops when the posterior
probability of all others (each arm being the good one with probability 1 / K) is at most delta, so
that it errs with probability at most delta, averaged over which arm is the good one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from armature.experiments import load_instance
from armature.kernels.arrays import Floats
from armature.views.chart import markdown_table

PANEL = "sparse-1"


def rounds_if_told(
    n_arms: int, gap: float, deltas: Sequence[float], runs: int, seed: int = 1
) -> tuple[Floats, Floats]:
    """(runs, deltas): how long it takes, and whether a wrong arm was named.

    Gaussian rewards of standard deviation 1. `deltas` are in falling order.
    """
    rng = np.random.default_rng(seed)
    good = rng.integers(n_arms, size=runs)
    evidence = np.zeros((runs, n_arms))  # log-likelihood ratios: good against not
    rounds, wrong = np.zeros((runs, len(deltas))), np.zeros((runs, len(deltas)))
    for d, delta in enumerate(deltas):
        if d:
            rounds[:, d] = rounds[:, d - 1]
        left = np.arange(runs)
        while left.size:
            likeliest = np.argmax(evidence[left], axis=1)
            others = np.exp(evidence[left] - evidence[left, likeliest][:, None]).sum(axis=1) - 1.0
            stops = others <= delta * (1.0 + others)
            wrong[left[stops], d] = likeliest[stops] != good[left[stops]]
            left, likeliest = left[~stops], likeliest[~stops]
            rewards = rng.normal(gap * (likeliest == good[left]))
            evidence[left, likeliest] += gap * rewards - 0.5 * gap**2
            rounds[left, d] += 1.0
    return rounds, wrong


def told_table(deltas: Sequence[float], runs: int) -> str:
    """Its mean rounds on the panel, over T* ln(1 / delta), and its errors."""
    instance = load_instance(PANEL)
    gap = float(np.sort(instance.gaps)[1])
    rounds, wrong = rounds_if_told(instance.n_arms, gap, deltas, runs)
    rows = []
    for d, delta in enumerate(deltas):
        mean = rounds[:, d].mean()
        least = 2.0 / gap**2 * math.log(1.0 / delta)
        rows.append(
            [f"{delta:g}", f"{mean:.0f}", f"{mean / least:.2f}", f"{wrong[:, d].mean():.2%}"]
        )
    return markdown_table(["delta", "rounds", "ratio", "errors"], rows)
