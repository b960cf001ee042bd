"""Many arms: what a round costs with 10, 1000 and 100,000 of them, beside a bare compiled loop.

    python benchmarks/arms.py [--minutes 8] [POLICY ... | STRUCTURE ...]

Measures microseconds of processor time per round, and how many numbers a run keeps for each arm, of
every policy on every structure for which it accepts 100,000 arms; everything is compiled before. It
writes the table of docs/scale.md, or some rows of it, if policies or structures are named.

*Early* rounds are those after the first ones, with which a run begins (one pull of each arm, where
the policy so wants), up to round 20 K: all arms are unknown. *Late* rounds are those of a run in
which arms have as many rewards as tell them from the best one, at their means, and the best one has
10^7: few arms change. Of either, as many are played as fit into a second of processor time (at
least one, after two that are not counted), or into less, but a tenth of it, so that all is done in
so many minutes of processor time. A cell is left out, and shown as a dash, where a single round
would take more than a second or two: by what one takes with a tenth of the arms, and how that
grows.

The bare loop is UCB on unconstrained arms in fifteen lines of Numba, which looks at all arms in
every round.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from claims import ROOT, fill_in, table

import armature as am
from armature.kernels.arrays import Floats
from armature.policies.policy import History
from armature.rounds.run import Run, make_run
from armature.storage.registry import POLICIES

ARMS = (10, 1000, 100_000)
SECONDS = 1.0  # for the rounds of a cell, at the most
ROUNDS = 20  # per arm, at the most
LADDER = (10, 100, 1000, 10_000, 100_000)  # each is played only if the one before it was quick
MOST_FOR_ONE = 1.5  # seconds for a round


@numba.njit(cache=False)  # type: ignore[untyped-decorator]
def bare_ucb(means: Floats, noise: Floats, rounds: int) -> Floats:
    """UCB for Gaussian rewards, with nothing around it."""
    K = means.size
    pulls = np.ones(K)
    sums = means + noise[:K]
    for t in range(K, K + rounds):
        radius = np.sqrt(2.0 * np.log(t + 1.0))
        best = 0
        highest = -np.inf
        for k in range(K):
            bound = sums[k] / pulls[k] + radius / np.sqrt(pulls[k])
            if bound > highest:
                highest = bound
                best = k
        pulls[best] += 1.0
        sums[best] += means[best] + noise[t % noise.size]
    return pulls


def unconstrained(K: int) -> am.Instance:
    """Means between 0 and 1."""
    return am.Instance(am.Unconstrained(K), np.random.default_rng(0).permutation(K) / K)


def bernoulli(K: int) -> am.Instance:
    """The same, of rewards that are 0 or 1."""
    means = 0.1 + 0.8 * np.random.default_rng(0).permutation(K) / K
    return am.Instance(am.Unconstrained(K), means, am.Bernoulli())


def unimodal(K: int) -> am.Instance:
    """A peak in the middle, with a long slope on either side."""
    means = 0.5 - 0.5 * np.abs(np.arange(K) - K // 2) / K
    means[K // 2] = 1.0
    return am.Instance(am.Unimodal(K), means)


def categorised(K: int) -> am.Instance:
    """Five categories, of which the last has the best means, and the best arm."""
    means = 0.5 * np.arange(K) / K
    means[-1] = 1.0
    return am.Instance(am.Categorised([5 * k // K for k in range(K)]), means)


def sparse(K: int) -> am.Instance:
    """Three good arms."""
    means = np.zeros(K)
    means[[1, K // 2, K - 2]] = 0.6, 1.0, 0.8
    return am.Instance(am.Sparse(K, 3, 0.0), means)


def linear(K: int) -> am.Instance:
    """Five features."""
    features = np.random.default_rng(0).normal(size=(K, 5)) / np.sqrt(5.0)
    return am.Instance(am.Linear(features), features @ np.linspace(0.2, 1.0, 5))


INSTANCES: tuple[Callable[[int], am.Instance], ...] = (
    unconstrained, bernoulli, unimodal, categorised, sparse, linear,
)  # fmt: skip
FIRST = ("UCB", "KLUCB", "IMED", "Challenger", "Guarded", "ThompsonSampling")  # in the table
NO_STRUCTURE = ("unconstrained", "bernoulli")
# These ask nothing of a structure: one is enough.
UNCONSTRAINED = ("UCB", "KLUCB", "IMED", "ThompsonSampling", "UniformSampling")


def numbers(value: Any) -> int:
    """How many numbers are in the arrays of a record."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    return sum(map(numbers, value)) if isinstance(value, tuple) else 0


def time_rounds(advance: Callable[[int], object], most: int, seconds: float) -> float:
    """Microseconds per round, over at most so many rounds or seconds."""
    played, took, rounds = 0, 0.0, 1
    while played == 0 or (played < most and took < seconds):
        rounds = min(rounds, most - played)
        start = time.thread_time()
        advance(rounds)
        now = time.thread_time() - start
        played, took = played + rounds, took + now
        rounds = max(1, min(4 * rounds, int(0.1 * rounds * seconds / max(now, 1e-9))))
    return 1e6 * took / played


class Found(NamedTuple):
    """Microseconds per early and late round, and numbers per arm."""

    early: float
    late: float
    kept: float


def begun(policy: am.CompiledPolicy, instance: am.Instance) -> Run:
    """A run after its first rounds."""
    run = make_run(policy, instance, 0, 0, np.array([1 << 60]))
    flat = instance.structure.directions  # where some arms tell all others, these come first
    each = policy.starts_with_each_arm or flat is None
    run.advance(instance.n_arms if flat is None or each else flat.shape[1])
    return run


def measure(policy: am.CompiledPolicy, instance: am.Instance, seconds: float) -> Found:
    """All three."""
    K = instance.n_arms
    run, late = begun(policy, instance), begun(policy, instance)
    kept = numbers((run.runner.state, run.runner.model, run.history)) / K
    run.advance(2)
    early = time_rounds(run.advance, max(ROUNDS * K, 10_000) - K, seconds)
    fill(late.history, instance)
    late.advance(2)
    return Found(early, time_rounds(late.advance, 200_000, seconds), kept)


def fill(history: History, instance: am.Instance) -> None:
    """Rewards that tell the arms from the best one, all of them at their means."""
    gaps = instance.gaps
    known = np.ceil(np.minimum(40.0 / np.maximum(gaps, 1e-9) ** 2, 1e6))
    history.pulls[:] = np.where(gaps > 0.0, known, 1e7)
    history.means[:] = instance.means
    history.sums[:] = history.pulls * history.means
    history.squares[:] = history.pulls
    history.clock[0] = int(history.pulls.sum())


def time_bare(K: int) -> float:
    """The same for the bare loop."""
    means = unconstrained(K).means
    noise = np.random.default_rng(1).normal(size=max(1 << 16, K))
    bare_ucb(means[:2], noise, 1)
    most = min(ROUNDS * K, 100_000)
    return time_rounds(lambda rounds: bare_ucb(means, noise, rounds), most, SECONDS)


class Row(NamedTuple):
    """A policy and instances with few and with many arms."""

    policy: am.CompiledPolicy
    make: Callable[[int], am.Instance]

    def told(self, K: int) -> am.CompiledPolicy:
        """The policy, told of the horizon if it asks for that."""
        policy = self.policy.with_horizon(ROUNDS * K)
        assert isinstance(policy, am.CompiledPolicy)
        return policy


def within_reach(row: Row) -> int:
    """The most arms with which a round does not take too long; everything is compiled on the way.

    A first round makes what later ones change: the second one counts.
    """
    reached, before, took = 0, 0.0, 0.0
    for K in LADDER:
        growth = min(max(took / before, 10.0), 1e4) if before > 0.0 else 10.0
        if took * growth > MOST_FOR_ONE:
            break
        run = begun(row.told(K), row.make(K))
        run.advance(1)
        start = time.thread_time()
        run.advance(1)
        before, took, reached = took, max(time.thread_time() - start, 1e-6), K
    return reached


def rows_of(names: list[str]) -> tuple[list[Row], str]:
    """All rows of the table, or those with some names; and who refuses so many arms, in words."""
    policies = [cls() for cls in POLICIES.values() if issubclass(cls, am.CompiledPolicy)]
    policies.sort(key=lambda p: (FIRST.index(title(p)) if title(p) in FIRST else 99, title(p)))
    both = [(make.__name__, make, make(ARMS[0]), make(ARMS[-1])) for make in INSTANCES]
    rows, refusing = [], []
    for policy in policies:
        refused, fitting = [], 0
        for name, make, few, many in both:
            if name not in NO_STRUCTURE and title(policy) in UNCONSTRAINED:
                continue
            if not policy.supports(few.structure, few.family):
                continue
            fitting += 1
            if not policy.supports(many.structure, many.family):
                refused.append(name)
            elif not names or {title(policy), name} & set(names):
                rows.append(Row(policy, make))
        if refused:
            where = "" if len(refused) == fitting else f" ({', '.join(refused)})"
            refusing.append(f"`{title(policy)}`{where}")
    return rows, ", ".join(refusing)


def title(policy: am.Policy) -> str:
    """What a policy is called in the table: all have their default options."""
    return type(policy).__name__


def measure_all(rows: list[Row], minutes: float) -> Iterator[list[str]]:
    """The cells of each row."""
    yield ["bare loop, UCB", "unconstrained", *(shown(time_bare(K)) for K in ARMS), *[""] * 4]
    reach = [within_reach(row) for row in rows]
    end = time.process_time() + 60.0 * minutes
    for n, row in enumerate(rows):
        found: list[Found | None] = []
        for K in ARMS:
            left = (end - time.process_time()) / (len(rows) - n)
            seconds = min(SECONDS, max(0.1 * SECONDS, 0.15 * left))  # the rest is for beginning
            known = reach[n] >= K
            found.append(measure(row.told(K), row.make(K), seconds) if known else None)
        times = [f and f.early for f in found] + [f and f.late for f in found]
        kept = [f.kept for f in found if f is not None][-1]
        name = row.make.__name__.replace("bernoulli", "unconstrained, Bernoulli")
        yield [f"`{title(row.policy)}`", name, *map(shown, times), f"{kept:.0f}"]


def shown(microseconds: float | None) -> str:
    """A number as it is in the table."""
    if microseconds is None:
        return "-"
    return f"{microseconds:,.0f}" if microseconds >= 100.0 else f"{microseconds:.2g}"


def with_new_rows(document: str, rows: list[list[str]]) -> list[list[str]]:
    """The rows of the table that is there, some of them measured again."""
    before = document.partition("<!-- arms -->")[2].partition("<!-- end -->")[0]
    lines = [line for line in before.splitlines() if line.startswith("|")][2:]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    new = {tuple(row[:2]): row for row in rows}
    return [new.get((row[0], row[1]), row) for row in found]


def main() -> None:
    """Write the table, or some of its rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="policies or structures; all unless given")
    parser.add_argument("--minutes", type=float, default=8.0, help="for all, but for compiling")
    options = parser.parse_args()
    rows, refusing = rows_of(options.names)
    heads = [f"{when}{K:,}" for when in ("early, K = ", "late, K = ") for K in ARMS]
    cells = []
    for line in measure_all(rows, options.minutes):
        print(" | ".join(line), flush=True)
        cells.append(line)
    path = ROOT / "docs" / "scale.md"
    document = path.read_text()
    if options.names:
        cells = with_new_rows(document, cells)
    said = table(["policy", "structure", *heads, "per arm"], cells)
    said += f"\n\nRefused with {ARMS[-1]:,} arms: {refusing}."
    path.write_text(fill_in(document, {"arms": said}))


if __name__ == "__main__":
    main()
