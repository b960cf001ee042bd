"""When rewards change: what restarting costs where nothing does, and what it saves.

`python -m studies.changes` prints the tables of `docs/changes.md`: `prices` (twelve prices of which
another one becomes best), `nine` (one peak among nine arms that jumps twice), `steady` (the paper's
panels), `unseen` (a change that the leader does not show), `delays` (when `Bandit.change` says so,
and how far off its moment is) and `alarms` (of the test alone, where nothing changes).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable

import numpy as np

import armature as am
from armature.bounds.change import look_for_change
from armature.bounds.splits import Splits, count, decide, make_splits
from armature.experiments import load_instance
from armature.experiments.paper import PANELS
from armature.families.kernels import learning_address
from armature.families.record import FamilyRecord
from armature.kernels.arrays import Floats
from armature.policies.records import argmax
from armature.rounds.rewards import SimulatedRewards, make_rewards, next_reward, turn

PRICES = [4.99 + k for k in range(12)]
POLICIES = (am.Challenger(), am.Restarting(wary=False), am.Restarting())
PIECE = 1_333  # rounds between two jumps of the peak


def revenues(middle: float) -> list[float]:
    """Of each price, if half of 90 % of the customers buy at this one."""
    return [p * 0.9 / (1.0 + math.exp((p - middle) / 1.1)) for p in PRICES]


def peak_at(k: int) -> list[float]:
    """Nine arms with one peak, a quarter lower with each step from it."""
    return [1.0 - 0.25 * abs(k - i) for i in range(9)]


def final(instance: am.Instance, horizon: int, runs: int, seed: int) -> Floats:
    """(policies, runs): the regret at the end."""
    found = am.simulate(instance, POLICIES, horizon, runs, seed=seed)
    return np.array([found.runs[policy.name].regret[:, -1] for policy in POLICIES])


def prices(runs: int, seed: int) -> list[str]:
    """Regret before the best price jumps and after it."""
    family, structure = am.Bernoulli(scale=PRICES), am.Unimodal(12)
    jump = am.Changing([(0, revenues(7.6)), (6_000, revenues(13.2))], structure, family)
    before = final(am.Instance(structure, revenues(7.6), family), 6_000, runs, seed)
    after = final(jump, 12_000, runs, seed) - before
    rows = ["| policy | before | after | 10 %, 90 % of the runs |", "|---|---|---|---|"]
    for policy, one, two in zip(POLICIES, before, after, strict=True):
        low, high = np.quantile(two, [0.1, 0.9])
        error = two.std(ddof=1) / math.sqrt(runs)
        rows.append(
            f"| {policy.name} | {one.mean():.0f} | {two.mean():,.0f} ± {error:.0f} | "
            f"{low:,.0f}, {high:,.0f} |"
        )
    return rows


def nine(runs: int, seed: int) -> list[str]:
    """Regret where the peak jumps twice."""
    pieces = [(0, peak_at(2)), (PIECE, peak_at(6)), (2 * PIECE, peak_at(1))]
    found = final(am.Changing(pieces, am.Unimodal(9)), 4_000, runs, seed)
    rows = ["| policy | regret |", "|---|---|"]
    return rows + [
        f"| {p.name} | {x.mean():,.0f} ± {x.std(ddof=1) / math.sqrt(runs):.0f} |"
        for p, x in zip(POLICIES, found, strict=True)
    ]


def steady(runs: int, seed: int) -> list[str]:
    """Regret over that of Challenger where nothing changes."""
    problems = {name: (load_instance(name), 10_000) for name in PANELS}
    prices = am.Instance(am.Unimodal(12), revenues(7.6), am.Bernoulli(scale=PRICES))
    problems["twelve prices"] = prices, 10_000
    rows = ["| problem | Challenger | wary=False | Restarting |", "|---|---|---|---|"]
    for name, (instance, horizon) in problems.items():
        plain, *ours = final(instance, horizon, runs, seed).mean(axis=1)
        ratios = " | ".join(f"{x / plain:.3f}" for x in ours)
        rows.append(f"| {name} | {plain:.1f} | {ratios} |")
    return rows


def unseen(runs: int, seed: int) -> list[str]:
    """A change at round 4,000 that the leader, arm 2, does not show: when another arm leads."""
    before, later = [0.1, 0.3, 0.5, 0.2, 0.1], [0.1, 0.3, 0.5, 0.9, 0.4]
    stays = am.Instance(am.Unimodal(5), before, am.Bernoulli())
    jump = am.Changing([(0, before), (4_000, later)], am.Unimodal(5), am.Bernoulli())
    lost = final(jump, 40_000, runs, seed) - final(stays, 4_000, runs, seed)
    rows = ["| policy | rounds until found: median | 90 % |", "|---|---|---|"]
    for policy, after in zip(POLICIES, lost, strict=True):
        median, high = np.quantile(after / 0.4, [0.5, 0.9])  # a round at the leader costs 0.4
        rows.append(f"| {policy.name} | {median:,.0f} | {high:,.0f} |")
    return rows


@am.kernel
def watched(
    splits: Splits, family: FamilyRecord, costs: int, rewards: SimulatedRewards, gaps: Floats,
    rounds: int, bar: float, greedy: bool, out: Floats,
) -> float:  # fmt: skip
    """The highest ln E; out = when it reached the bar, and the split. The leader gets 9 of 10."""
    highest = -math.inf
    means, K = out[2:], gaps.size
    for t in range(rounds):
        arm = t % K
        if greedy and t >= K:
            arm = argmax(means) if t % 10 != 0 else t // 10 % K
        turn(rewards, gaps, t)
        count(splits, arm, next_reward(family, rewards, arm), t)
        means[arm] = splits.now[1, arm] / splits.now[0, arm]
        if decide(splits):
            finding = look_for_change(splits, family, costs)
            highest = max(highest, finding.log_e)
            if finding.log_e >= bar and out[0] == 0.0:
                out[0] = t + 1
                out[1] = splits.at[finding.slot]
    return highest


def tested(
    problem: am.Changing, rounds: int, seed: int, run: int, greedy: bool
) -> tuple[float, float, float]:
    """The highest ln E of a run; when it reached ln(100), or 0, and the moment that it named."""
    K, family = problem.n_arms, problem.family
    out = np.zeros(2 + K)
    rewards = make_rewards(problem.means, seed, run, problem.path, problem.starts)
    record, costs = family.record_for(K), learning_address(family)
    highest = watched(
        make_splits(K), record, costs, rewards, np.zeros(K), rounds, math.log(100.0), greedy, out
    )
    return float(highest), float(out[0]), float(out[1])


def delays(runs: int, seed: int) -> list[str]:
    """How long after a jump at round 4,000 it is said, and how far off the moment is."""
    rows = [
        "| jump (sd) | at | found | rounds: median, 90 % | off by: median |",
        "|---|---|---|---|---|",
    ]
    first = [0.0, 1.0, 0.5, 0.2]
    for size in (0.25, 0.5, 1.0, 2.0):
        for where, arm in (("the leader", 1), ("another arm", 3)):
            later = list(first)
            later[arm] -= size
            problem = am.Changing([(0, first), (4_000, later)], am.Unconstrained(4))
            found = np.array([tested(problem, 12_000, seed, run, True)[1:] for run in range(runs)])
            seen = found[found[:, 0] > 4_000]
            if not seen.size:
                rows.append(f"| {size:g} | {where} | 0 % | | |")
                continue
            median, high = np.quantile(seen[:, 0] - 4_000, [0.5, 0.9])
            off = np.median(np.abs(seen[:, 1] - 4_000))
            share = 100.0 * len(seen) / runs
            rows.append(
                f"| {size:g} | {where} | {share:.0f} % | {median:,.0f}, {high:,.0f} | {off:.0f} |"
            )
    return rows


def alarms(runs: int, seed: int) -> list[str]:
    """How often the test alone is wrong in 2,000 rounds, at a stated 1 % and 10 %."""
    problems = {
        "Bernoulli": am.Changing(
            [(0, [0.1, 0.5, 0.45, 0.02])], am.Unconstrained(4), am.Bernoulli()
        ),
        "Gaussian": am.Changing([(0, [0.0, 0.5, 0.4, -3.0])], am.Unconstrained(4), am.Gaussian()),
        "Poisson": am.Changing([(0, [0.2, 2.0, 1.9, 1.0])], am.Unconstrained(4), am.Poisson()),
    }
    rows = ["| rewards | arms | runs | at 1 % | at 10 % |", "|---|---|---|---|---|"]
    for name, problem in problems.items():
        for way, greedy in (("in turn", False), ("the best so far", True)):
            high = np.array([tested(problem, 2_000, seed, run, greedy)[0] for run in range(runs)])
            one, ten = (int((high >= math.log(1.0 / p)).sum()) for p in (0.01, 0.1))
            rows.append(f"| {name} | {way} | {runs:,} | {one} | {ten} |")
    return rows


TABLES: dict[str, Callable[[int, int], list[str]]] = {
    "prices": prices, "nine": nine, "steady": steady,
    "unseen": unseen, "delays": delays, "alarms": alarms,
}  # fmt: skip


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    for name in options.tables:
        sys.stdout.write(
            "\n".join([f"## {name}", "", *TABLES[name](options.runs, options.seed), "", ""])
        )
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
