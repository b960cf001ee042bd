"""What the saddle-point policies' options are worth: regret on panels and on random instances.

    python benchmarks/defaults.py

The table in docs/studies/defaults.md is what this prints.
"""

from __future__ import annotations

import numpy as np

import armature as am
from armature.experiments.spec import load_instance

HORIZON = 10_000
VARIANTS = [
    am.UCB(),
    am.SPk(),
    am.SPk(test="raw"),
    am.SPk(epsilon=0.1),
    am.SPk(decay=0.5),
    am.SPk(confidence="theory"),
    am.SPk(threshold="theory"),
    am.SPLambda(),
    am.SPLambda(test="raw"),
    am.SPLambda(decay=0.5),
]


def random_instances(kind: str, n: int) -> list[am.Instance]:
    """Instances of one kind, Gaussian with sigma 1, whose best arm leads by at least 0.1."""
    rng = np.random.default_rng(0)
    found: list[am.Instance] = []
    while len(found) < n:
        if kind == "unimodal, 20 arms":
            structure: am.Structure = am.Unimodal(20)
        elif kind == "categorised (4), 16 arms":
            structure = am.Categorised([i % 4 for i in range(16)])
        elif kind == "sparse (4), 20 arms":
            structure = am.Sparse(20, 4, 0.0)
        else:
            structure = am.Linear(rng.normal(size=(20, 4)))
        target = rng.normal(0.0, 1.0, structure.n_arms)
        means = structure.project(target, np.ones(structure.n_arms), am.Gaussian()).means
        ranked = np.sort(means)
        if ranked[-1] - ranked[-2] > 0.1:
            found.append(am.Instance(structure, means))
    return found


def print_row(name: str, regrets: dict[str, np.ndarray]) -> None:
    """Mean and 95th percentile of each variant."""
    cells = [f"{r.mean():.0f} / {np.quantile(r, 0.95):.0f}" for r in regrets.values()]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Measure and print a table in Markdown."""
    names = [policy.name for policy in VARIANTS]
    print("| problem | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    panels = (
        "unconstrained", "categorised-1", "categorised-2", "linear", "unimodal-1", "unimodal-2",
        "sparse-1", "sparse-2",
    )  # fmt: skip
    for panel in panels:
        results = am.simulate(load_instance(panel), VARIANTS, HORIZON, 100)
        print_row(panel, {name: results.regret(name)[:, -1] for name in names})
    for kind in (
        "unimodal, 20 arms",
        "categorised (4), 16 arms",
        "sparse (4), 20 arms",
        "linear (4), 20 arms",
    ):
        runs = [am.simulate(i, VARIANTS, HORIZON, 10) for i in random_instances(kind, 10)]
        print_row(kind, {n: np.concatenate([r.regret(n)[:, -1] for r in runs]) for n in names})


if __name__ == "__main__":
    main()
