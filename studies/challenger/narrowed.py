"""Policies with a part of their confidence bounds: what they save, and what that can cost.

`IDS(width=0.5)` and `SOLID(width=0.3)` lose less than with their own widths in most runs of most
linear instances. They explore less than the lower bound asks for (their growth at the longest
horizon says so), hence some runs never find the best arm. A dozen runs of an instance hardly show
that, thousands do: here are many of one instance that a search found, six arms with two features.
"""

from __future__ import annotations

import numpy as np

from armature import IDS, SOLID, Challenger, Instance, Linear, Results
from armature.views.chart import markdown_table
from studies.challenger.cases import Case
from studies.challenger.search import share_stuck

NARROW = IDS(width=0.5), SOLID(width=0.3)
NARROWED = tuple(policy.name for policy in NARROW)
FEATURES = (
    (-0.71, -0.71), (0.52, -0.85), (-0.24, -1.03), (0.90, -0.44), (-0.48, 0.88), (0.13, -0.99),
)  # fmt: skip


def narrowed_cases() -> list[Case]:
    """The instance, with the narrowed policies and both with their own widths."""
    means = np.array(FEATURES) @ [-1.1, -0.03]
    instance = Instance(Linear(FEATURES), means)
    return [Case("two features", 0, instance, (Challenger(), *NARROW, IDS(), SOLID()))]


def narrowed_table(results: Results) -> str:
    """A row for each policy: its mean with a 95 % interval, its quantiles, and its stuck runs."""
    rows = []
    for policy in results.names:
        lost = results.regret(policy)[:, -1]
        error = 1.96 * lost.std(ddof=1) / np.sqrt(lost.size)
        quantiles = [f"{q:.0f}" for q in np.quantile(lost, [0.5, 0.9, 0.99, 1.0])]
        mean = f"{lost.mean():.1f} ± {error:.1f}"
        rows.append([policy, mean, *quantiles, f"{share_stuck(results, policy):.1%}"])
    titles = ["policy", "mean (95 %)", "median", "90 %", "99 %", "worst", "stuck"]
    return markdown_table(titles, rows)
