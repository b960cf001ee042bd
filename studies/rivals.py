"""Rivals where rewards change, tuned for each problem; and how they do where they were published.

`python -m studies.rivals` prints the tables of `docs/changes.md`: `prices` and `nine` (as in
`studies.changes`), `wander` (a peak that wanders), `published` (problem 1 of Besson et al.) and
`seasons` (a shop with weekends, by forgetting and by segments).
Half-lives and windows are tried on a grid, and of each kind the best on the problem itself is
shown, which flatters the rivals.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence

import numpy as np

import armature as am
from armature.policies import Policy
from studies.changes import PIECE, PRICES, peak_at, revenues

SIZES = (50, 100, 200, 400, 800, 1600, 3200)
Kinds = dict[str, list[Policy]]


def kinds(inner: Iterable[Policy], sizes: Iterable[int]) -> Kinds:
    """Each way to forget around each policy, with all half-lives and windows."""
    found: Kinds = {}
    for policy in inner:
        if not isinstance(policy, am.Challenger):
            found[f"sliding window, {policy.name}"] = [
                am.SlidingWindow(policy, size) for size in sizes
            ]
        found[f"Forgetting({policy.name})"] = [am.Forgetting(policy, size) for size in sizes]
    return found


def contest(kinds: Kinds, play: Callable[[list[Policy]], dict[str, list[float]]]) -> None:
    """Prints a row for each kind: its best setting, and what that has in each column."""
    for kind, policies in kinds.items():
        found = play(policies)
        best = min(found, key=lambda name: found[name][-2])
        mean, error = found[best][-2:]
        columns = "".join(f" {x:,.0f} |" for x in found[best][:-2])
        sys.stdout.write(f"| {kind} | `{best}` |{columns} {mean:,.0f} ± {error:.0f} |\n")
        sys.stdout.flush()


def ours() -> Kinds:
    """The library's own."""
    found: Kinds = {"`Restarting()`": [am.Restarting()], "no change in mind": [am.Challenger()]}
    found["`Forgetting()`"] = [am.Forgetting(half_life=size) for size in SIZES]
    found["`Forgetting(IMEDUB())`"] = [am.Forgetting(am.IMEDUB(), size) for size in SIZES]
    return found


def rivals(horizon: int) -> Kinds:
    """Discounts, windows and tests, with the settings of their authors where they give them."""
    found = kinds([am.ThompsonSampling(), am.KLUCB()], SIZES)
    shares = [x * math.sqrt(math.log(horizon) / horizon) for x in (0.05, 0.25, 1.0)]
    found["GLR-klUCB"] = [
        am.GLRKLUCB(local=local, share=share) for share in shares for local in (False, True)
    ]
    found["M-UCB"] = [am.MonitoredUCB(w, share=share) for share in shares for w in (50, 200, 800)]
    found["SW-OSUB"] = [am.SWOSUB(size) for size in SIZES]
    return found


def head(*columns: str) -> None:
    """The head of a table."""
    names = ["policy", "best setting", *columns]
    sys.stdout.write(f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n")


def totals(
    instances: Sequence[am.Instance], horizon: int, runs: int, seed: int, at: int = 0
) -> Callable[[list[Policy]], dict[str, list[float]]]:
    """Plays policies: with `at`, the regret up to there, after it and in all; else in all.

    The runs are shared out among the instances.
    """

    def play(policies: list[Policy]) -> dict[str, list[float]]:
        each = runs // len(instances)
        results = [am.simulate(one, policies, horizon, each, seed=seed) for one in instances]
        found = {}
        for name in results[0].names:
            regret = np.concatenate([one.runs[name].regret for one in results])
            total = regret[:, -1]
            columns = [total.mean(), total.std(ddof=1) / math.sqrt(runs)]
            if at:
                checkpoints = results[0].checkpoints
                before = regret[:, int(np.searchsorted(checkpoints, at, "right")) - 1]
                columns = [before.mean(), (total - before).mean(), *columns]
            found[name] = [float(x) for x in columns]
        return found

    return play


def prices(runs: int, seed: int) -> None:
    """Twelve prices of which another one becomes best at round 6,000 of 12,000."""
    family, structure = am.Bernoulli(scale=PRICES), am.Unimodal(12)
    jump = am.Changing([(0, revenues(7.6)), (6_000, revenues(13.2))], structure, family)
    head("before (about)", "after (about)", "in all")
    contest({**ours(), **rivals(12_000)}, totals([jump], 12_000, runs, seed, 6_000))


def nine(runs: int, seed: int) -> None:
    """Nine arms with one peak that jumps twice."""
    pieces = [(0, peak_at(2)), (PIECE, peak_at(6)), (2 * PIECE, peak_at(1))]
    head("regret")
    play = totals([am.Changing(pieces, am.Unimodal(9))], 4_000, runs, seed)
    contest({**ours(), **rivals(4_000)}, play)


def wander(runs: int, seed: int) -> None:
    """Nine arms with one peak that wanders: the mean of four walks."""
    walks = [am.Changing.wandering(am.Unimodal(9), 4_000, step=0.1, seed=s) for s in (1, 2, 3, 4)]
    head("regret")
    contest({**ours(), **rivals(4_000)}, totals(walks, 4_000, runs, seed))


def published(runs: int, seed: int) -> None:
    """Problem 1 of Besson et al., with the numbers and settings of Besson's thesis (2019)."""
    T, K, M = 5_000, 3, 4
    rows = [[0.9, 0.5, 0.3], [0.9, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.7, 0.3], [0.1, 0.7, 0.5]]
    pieces = [(i * T // 5, row) for i, row in enumerate(rows)]
    problem = am.Changing(pieces, am.Unconstrained(3), am.Bernoulli())
    share = 0.05 * math.sqrt(M * math.log(T) / T)
    window = int(2.0 * math.sqrt(T * math.log(T) / M))
    local = am.GLRKLUCB(local=True, share=share, delta=1.0 / math.sqrt(M * T))
    all_arms = am.GLRKLUCB(share=share * math.sqrt(K), delta=1.0 / math.sqrt(K * M * T))
    head("regret")
    contest(
        {
            "klUCB: 270": [am.KLUCB()],
            "Thompson sampling: 493": [am.ThompsonSampling()],
            "SW-klUCB: 177": [am.SlidingWindow(am.KLUCB(), window)],
            "GLR-klUCB, local: 74": [local],
            "GLR-klUCB, global: 97": [all_arms],
        },
        totals([problem], T, runs, seed),
    )


def seasons(runs: int, seed: int) -> None:
    """A shop with other customers at the weekend: days one after the other, and as two segments."""
    workday, weekend, visitors = [0.2, 0.5, 0.4, 0.2, 0.1], [0.1, 0.2, 0.3, 0.5, 0.3], 100
    days = [weekend if day % 7 in (5, 6) else workday for day in range(70)]
    pieces = [(visitors * day, means) for day, means in enumerate(days)]
    shop = am.Changing(pieces, am.Unimodal(5), am.Bernoulli())
    head("regret")
    contest(ours(), totals([shop], 7_000, runs, seed))
    table = am.Segments(["workday", "weekend"], am.Unimodal(5))
    split = am.Instance(table, [workday, weekend], am.Bernoulli(), frequencies=[5 / 7, 2 / 7])
    contest({"two segments": [am.Challenger()]}, totals([split], 7_000, runs, seed))


TABLES: dict[str, Callable[[int, int], None]] = {
    "prices": prices, "nine": nine, "wander": wander, "published": published,
    "seasons": seasons,
}  # fmt: skip


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    for name in options.tables:
        sys.stdout.write(f"## {name}\n\n")
        TABLES[name](options.runs, options.seed)
        sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
