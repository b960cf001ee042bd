"""What coupled segments save: regret of tables with separate bandits, with one, and guarded.

Means are additive, a_k + b_c with normal a and b of standard deviation 0.5 (a brought into the
structure of the rows), rewards Gaussian with standard deviation 1. In "alike" tables they are
a_k + u_ck with u uniform and at most `width` apart, a fifth of the largest gap. In "quiet" tables a
segment with 1 % of the arrivals has rewards of standard deviation 0.2: exploring is cheap there,
and V ln T, the lower bound, is printed beside. Every number is the mean over random tables and runs
of the regret in all, or in one segment.

    python -m studies.segments [--horizon 10000] [--tables 4] [--runs 10] [--only alike]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import armature as am

SEPARATE = ("separate Challenger", None, am.Challenger())
TOGETHER = ("Challenger", am.Additive(), am.Challenger())
SHARED = ("ProjectedThompson", am.Additive(), am.ProjectedThompson())
INSURED = ("Guarded", am.Additive(), am.Guarded())
FIFTH = 0.2  # of the largest gap: how far segments that are alike differ


def alike(means: np.ndarray) -> am.Coupling:
    """The width by which the rows of a table differ at most, as it is known."""
    return am.Alike(float(np.ptp(means, axis=0).max()) * 1.000001)


ALIKE = ("Challenger", alike, am.Challenger())
Known = am.Coupling | Callable[[np.ndarray], am.Coupling] | None
Player = tuple[str, Known, am.Policy]


class Case(NamedTuple):
    """A kind of table, and who plays it."""

    name: str
    each: am.Structure
    segments: int
    players: tuple[Player, ...]
    off: float = 0.0  # how far, in standard deviations, the means are from additive
    frequencies: tuple[float, ...] | None = None  # then the last segment's regret is what counts
    alike: bool = False
    quiet: bool = False  # the last segment's rewards vary a fifth as much


CASES = (
    Case("3 x 5", am.Unconstrained(5), 3, (SEPARATE, TOGETHER, SHARED)),
    Case("5 x 8", am.Unconstrained(8), 5, (SEPARATE, TOGETHER, SHARED)),
    Case("3 x 5, one peak", am.Unimodal(5), 3, (SEPARATE, TOGETHER)),
    Case("5 x 8, one peak", am.Unimodal(8), 5, (SEPARATE, TOGETHER)),
    Case(
        "a rare segment of 3 x 5",
        am.Unconstrained(5),
        3,
        (SEPARATE, TOGETHER),
        frequencies=(0.6, 0.39, 0.01),
    ),
    Case("alike, 3 x 5", am.Unconstrained(5), 3, (SEPARATE, ALIKE), alike=True),
    Case("alike, 5 x 8", am.Unconstrained(8), 5, (SEPARATE, ALIKE), alike=True),
    Case(
        "quiet, rare",
        am.Unconstrained(3),
        2,
        (SEPARATE, TOGETHER),
        frequencies=(0.99, 0.01),
        quiet=True,
    ),
    Case("not additive, 3 x 5", am.Unconstrained(5), 3, (SEPARATE, TOGETHER, INSURED), off=0.5),
)


def tables(case: Case, count: int) -> Iterator[np.ndarray]:
    """Random means."""
    rng = np.random.default_rng(100 * case.segments + case.each.n_arms)
    K = case.each.n_arms
    for _ in range(count):
        worth = rng.normal(0.0, 0.5, K)
        if case.alike:
            width = FIFTH * float(np.ptp(worth))
            yield worth + rng.uniform(-0.5 * width, 0.5 * width, (case.segments, K))
            continue
        fitted = np.asarray(case.each.project(worth, np.ones(K), am.Gaussian()).means)
        fitted = fitted - 1e-3 * np.abs(np.arange(K) - worth.argmax()) * (fitted != worth)
        means = fitted + rng.normal(0.0, 0.5, (case.segments, 1))
        yield means + rng.normal(0.0, case.off, means.shape) if case.off else means


def regret(case: Case, means: np.ndarray, player: Player, horizon: int, runs: int) -> float:
    """The mean regret of a player on a table."""
    _, known, policy = player
    coupling = known(means) if callable(known) else known
    table = am.Segments(range(case.segments), each=case.each, coupling=coupling)
    instance = am.Instance(table, means, family_of(case), False, frequencies=case.frequencies)
    results = am.simulate(instance, [policy], horizon=horizon, repetitions=runs)
    segment = None if case.frequencies is None or case.quiet else case.segments - 1
    return float(results.regret(policy, segment=segment)[:, -1].mean())


def family_of(case: Case) -> am.Family:
    """Gaussian rewards of standard deviation 1; in the last segment 0.2, where that is quiet."""
    K = case.each.n_arms
    return am.Gaussian([1.0] * K * (case.segments - 1) + [0.2] * K) if case.quiet else am.Gaussian()


def bound(case: Case, means: np.ndarray) -> float:
    """V of an additive table: where its exploration would cost least, whoever arrives."""
    table = am.Segments(range(case.segments), each=case.each, coupling=am.Additive())
    return am.lower_bound(am.Instance(table, means, family_of(case))).value


def main() -> None:
    """Play all cases, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("horizon", 10_000), ("tables", 4), ("runs", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--only", default="", help="cases with this in their names")
    chosen = parser.parse_args()
    for case in (case for case in CASES if chosen.only in case.name):
        drawn = list(tables(case, chosen.tables))
        for player in case.players:
            found = [regret(case, one, player, chosen.horizon, chosen.runs) for one in drawn]
            sys.stdout.write(f"{case.name}: {player[0]} {np.mean(found):.1f}\n")
            sys.stdout.flush()
        if case.quiet:
            least = np.mean([bound(case, one) for one in drawn]) * np.log(chosen.horizon)
            sys.stdout.write(f"{case.name}: V ln T {least:.1f}\n")


if __name__ == "__main__":
    main()
