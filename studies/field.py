"""The field: policies of other papers on their own instances, and ours on the same rewards.

`python -m studies.field` plays the problems below and prints the tables of `docs/field.md`, and
`python -m studies.field --batches` the one about decisions that are asked for before any reward
comes. Every policy sees the same rewards. What is played is kept in a file, and not played again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import armature as am
from armature.experiments import load_instance
from armature.kernels.arrays import Floats
from studies.challenger.cases import linear

CHALLENGER = (am.Challenger(), am.Challenger(randomised=True))
FREE: tuple[am.Policy, ...] = (
    *(am.UCB(), am.KLUCB(), am.IMED(), am.ThompsonSampling(), am.MaillardSampling(), am.MINTS()),
    *CHALLENGER,
)
LINEAR: tuple[am.Policy, ...] = (
    *(am.LinUCB(), am.LinIMED(), am.LinIMED(optimistic=True)),
    *(am.LinMED(best=best) for best in (0.5, 0.9, 0.99)),
    *(am.IDS(), am.IDS(width=0.5), am.SOLID(), am.ProjectedThompson()),
    *CHALLENGER,
)
ONE_PEAK: tuple[am.Policy, ...] = (
    *(am.OSUB(), am.IMEDUB(), am.UnimodalThompson(), am.ThompsonSampling(), am.MINTS()),
    *(am.ProjectedThompson(), *CHALLENGER),
)
PRICES: tuple[am.Policy, ...] = (
    *(am.ThompsonSampling(), am.MINTS(), am.ProjectedThompson()),
    *CHALLENGER,
)
TREE: tuple[am.Policy, ...] = (
    *(am.OSSB(), am.IMED(), am.ThompsonSampling(), am.ProjectedThompson()),
    *CHALLENGER,
)
SCENARIOS: tuple[am.Policy, ...] = (
    *(am.UCB(), am.ThompsonSampling(), am.UCBC(), am.TSC(), am.CROP(), am.ProjectedThompson()),
    *CHALLENGER,
)


class Problem(NamedTuple):
    """An instance, how long it is played, and by whom."""

    instance: am.Instance
    policies: tuple[am.Policy, ...]
    horizon: int = 10_000
    most: int = 1000  # runs, where all of it is slow


def end_of_optimism(epsilon: float) -> Problem:
    """Three arms: what the bad one costs is more than made up for by what it tells."""
    features = [[0.0, 1.0], [1.0 - epsilon, 2.0 * epsilon], [1.0, 0.0]]  # the best is the last
    means = [row[0] for row in features]
    return Problem(am.Instance(am.Linear(features), means, am.Gaussian(0.1)), LINEAR)


def axes() -> Problem:
    """Two arms, one of which is the parameter."""
    instance = am.Instance(am.Linear([[0.0, 1.0], [1.0, 0.0]]), [0.0, 1.0], am.Gaussian())
    return Problem(instance, LINEAR)


def sphere(n_arms: int, dimension: int) -> Problem:
    """Random directions, the best ahead by 0.05 at least."""
    return Problem(linear(n_arms, dimension, am.Gaussian())(np.random.default_rng(5)), LINEAR)


def low_rates() -> Problem:
    """Ten arms with rates of 1 % to 10 %."""
    means = [0.1] + [0.05] * 3 + [0.02] * 3 + [0.01] * 3
    instance = am.Instance(am.Unconstrained(10), means, am.Bernoulli())
    return Problem(instance, FREE, 20_000)


def one_peak() -> Problem:
    """Twelve arms with a peak of 0.7 at the sixth."""
    means = [0.0, 0.1, 0.2, 0.3, 0.4, 0.7, 0.5, 0.5, 0.4, 0.2, 0.2, 0.1]
    return Problem(am.Instance(am.Unimodal(12), means, am.Gaussian()), ONE_PEAK, most=200)


def prices() -> Problem:
    """Five prices, and a demand that falls no faster than by 1."""
    own = np.arange(3, 8) / 10.0
    fall = np.zeros((4, 5))  # the chance to buy falls by 0.1 at most from a price to the next
    for k in range(4):
        fall[k, k], fall[k, k + 1] = 1.0 / own[k], -1.0 / own[k + 1]
    structure = am.Demand(own) & am.Polyhedral(fall, [0.1] * 4)
    family = am.Bernoulli(scale=own.tolist())
    return Problem(am.Instance(structure, own * (1.0 - own), family), PRICES, 5000, most=100)


EDGES = ((0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6))


def tree(sigma: float) -> Problem:
    """Seven nodes with peaks at two leaves; the larger sigma, the flatter they are."""
    low, high = np.array([2, 1, 3, 2, 0, 4, 4]), np.array([2, 3, 1, 4, 4, 2, 0])  # steps to a peak
    means = np.exp(-low / sigma) + 2.0 * np.exp(-high / sigma)
    instance = am.Instance(am.MultimodalTree(EDGES, 2), means, am.Gaussian())
    return Problem(instance, TREE, most=50)


def demand_curves() -> Problem:
    """Six prices, and one unknown number: where the chance to buy has fallen to a half."""
    own = np.linspace(0.5, 3.0, 6)
    middles = np.linspace(0.5, 3.0, 51)
    rows = own / (1.0 + np.exp((own - middles[:, None]) / 0.3))
    return Problem(am.Instance(am.Finite(rows), rows[27], am.Gaussian(0.5)), SCENARIOS, most=100)


def cheating_code() -> Problem:
    """Each of four arms may be the best; two more arms spell which."""
    rows = []
    for best in range(4):
        for second in range(4):
            base = np.full(4, 0.9)
            base[second] = 1.0
            base[best] = 1.0 if best == second else 1.1
            rows.append([*base, 0.5 * (best & 1), 0.5 * (best >> 1)])
    return Problem(am.Instance(am.Finite(rows), rows[0], am.Gaussian(0.5)), SCENARIOS, most=100)


def panel(name: str, policies: tuple[am.Policy, ...], most: int = 1000) -> Problem:
    """One of the paper's."""
    return Problem(load_instance(name), policies, most=most)


TABLES: dict[str, dict[str, Callable[[], Problem]]] = {
    "Without a structure": {
        "low rates": low_rates,
        "unconstrained": lambda: panel("unconstrained", FREE),
    },
    "Linear": {
        "end of optimism, 0.005": lambda: end_of_optimism(0.005),
        "end of optimism, 0.02": lambda: end_of_optimism(0.02),
        "two axes": axes,
        "10 directions of 2": lambda: sphere(10, 2),
        "50 directions of 5": lambda: sphere(50, 5),
        "panel": lambda: panel("linear", LINEAR),
    },
    "One peak": {
        "12 arms": one_peak,
        "panel 1": lambda: panel("unimodal-1", ONE_PEAK, 200),
        "panel 2": lambda: panel("unimodal-2", ONE_PEAK, 200),
    },
    "Prices": {"5 prices": prices},
    "Two peaks on a tree": {"sharp": lambda: tree(0.5), "flat": lambda: tree(4.0)},
    "Scenarios": {"demand curves": demand_curves, "cheating code": cheating_code},
}


class Score(NamedTuple):
    """How a policy did on a problem."""

    table: str
    problem: str
    policy: str
    runs: int
    regret: float
    error: float
    rare: float  # 99 % of the runs have less


def scored(table: str, problem: str, policy: str, regret: Floats) -> Score:
    """The final regrets of some runs in short."""
    error = float(regret.std(ddof=1) / np.sqrt(regret.size))
    return Score(
        table, problem, policy, regret.size, float(regret.mean()), error,
        float(np.quantile(regret, 0.99)),
    )  # fmt: skip


def play(table: str, name: str, runs: int, done: list[Score]) -> Iterator[Score]:
    """The policies of a problem that are not done, one by one."""
    problem = TABLES[table][name]()
    for policy in problem.policies:
        known = {(s.problem, s.policy) for s in done if s.table == table}
        if (name, policy.name) in known or not policy.supports(
            problem.instance.structure, problem.instance.family
        ):
            continue
        results = am.simulate(
            problem.instance, [policy], problem.horizon, min(runs, problem.most), seed=7, workers=1
        )
        yield scored(table, name, policy.name, results.regret(results.names[0])[:, -1])


BATCHES = (1, 10, 100, 1000)
ASKED: dict[str, tuple[am.Policy, ...]] = {
    "unimodal-1": (
        *(am.UCB(), am.IMED(), am.ThompsonSampling(), am.MaillardSampling()),
        *(am.ProjectedThompson(), am.Challenger(), am.Challenger(draw="sample")),
        *(am.Challenger(randomised=True), am.Guarded()),
    ),
    "linear": (
        *(am.ProjectedThompson(), am.Challenger(), am.Challenger(draw="sample")),
        am.Challenger(randomised=True),
    ),
}


def asked_in_batches(instance: am.Instance, policy: am.Policy, size: int, seed: int) -> float:
    """The regret of 10,000 decisions, of which `size` are asked for before their rewards come."""
    bandit = am.Bandit(policy, instance.structure, instance.family, seed=seed)
    rewards = np.random.default_rng([seed, size])
    regret = 0.0
    for _ in range(10_000 // size):
        arms = bandit.ask(size)
        bandit.tell(arms, rewards.normal(instance.means[arms], 1.0).tolist())
        regret += float(instance.gaps[arms].sum())
    return regret


def play_batches(runs: int, done: list[Score]) -> Iterator[Score]:
    """Every policy with every size of batch; one by one, in a hundred simulated runs."""
    known = {(s.problem, s.policy) for s in done if s.table == "batches"}
    for name, policies in ASKED.items():
        instance = load_instance(name)
        for policy in policies:
            for size in BATCHES:
                if (f"{name}, {size}", policy.name) in known:
                    continue
                if size == 1:
                    results = am.simulate(instance, [policy], 10_000, 100, seed=7, workers=1)
                    found = results.regret(results.names[0])[:, -1]
                else:
                    seeds = range(runs)
                    each = [asked_in_batches(instance, policy, size, seed) for seed in seeds]
                    found = np.array(each)
                yield scored("batches", f"{name}, {size}", policy.name, found)


def _short(error: float) -> str:
    """Two digits, or what there is before the point."""
    return f"{error:.2g}" if error < 10.0 else f"{error:,.0f}"


def markdown(table: str, scores: list[Score]) -> list[str]:
    """Policies down, problems across; the lowest mean of each problem in bold."""
    own = [s for s in scores if s.table == table]
    problems = list(dict.fromkeys(s.problem for s in own))
    least = {p: min(s.regret for s in own if s.problem == p) for p in problems}
    runs = {p: max(s.runs for s in own if s.problem == p) for p in problems}
    heads = [f"{p} ({runs[p]:,})" for p in problems]
    lines = [f"| policy | {' | '.join(heads)} |", "|---" * (len(problems) + 1) + "|"]
    for policy in dict.fromkeys(s.policy for s in own):
        cells = []
        for p in problems:
            cell = ""
            for s in own:
                if (s.problem, s.policy) == (p, policy):
                    mean = f"{s.regret:.3g}" if s.regret < 100 else f"{s.regret:,.0f}"
                    bold = "**" if s.regret == least[p] else ""
                    cell = f"{bold}{mean}{bold} ± {_short(s.error)}; {s.rare:,.0f}"
                    cell += f" ({s.runs})" if s.runs != runs[p] else ""
            cells.append(cell)
        lines.append(f"| `{policy}` | {' | '.join(cells)} |")
    return lines


def kept_in(path: Path) -> list[Score]:
    """What was played before."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Score(*json.loads(line)) for line in lines]


def main() -> int:
    """Play what is missing and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--batches", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out-field.jsonl"))
    options = parser.parse_args()
    todo: list[Callable[[list[Score]], Iterator[Score]]] = [
        lambda done, table=table, name=name: play(table, name, options.runs, done)  # type: ignore[misc]
        for table in options.tables
        for name in TABLES[table]
    ]
    if options.batches:
        todo = [lambda done: play_batches(options.runs, done)]
    for scores in todo:
        for score in scores(kept_in(options.out)):
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(score) + "\n")
    shown = ["batches"] if options.batches else options.tables
    for table in shown:
        sys.stdout.write(
            "\n".join([f"### {table}", "", *markdown(table, kept_in(options.out)), ""])
        )
        sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
