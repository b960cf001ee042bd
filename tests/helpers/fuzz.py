"""Random cases of everything that takes input, many or few: `make fuzz` runs a million.

    python tests/helpers/fuzz.py --cases 1000000 --seed 0

A case is a function of the seed and its number, so that a finding can be looked at by itself
(`--only oracles --first 4711 --cases 1`). All cores are used; a million cases take 75 minutes
of processor time. What is covered, with its share of the cases:

* solver (40 %): dense programs of four kinds and three families, 2 to 100 arms, weights over twelve
  orders of magnitude and 0; every answer is proved by its multipliers, also that there is none;
* oracles (49 %): random structures of every kind with every family, parameters for each arm
  included: fits are feasible, costs are right, the nearest alternative is the least over
  challengers and over cells;
* derived (2 %): every oracle against what follows from the structure's pieces;
* bandits (8 %): live use of every policy, structure and family with hostile rewards and options,
  saved and resumed;
* bounds (1 %): lower bounds of random instances, certified, and at most those without structure.
"""

from __future__ import annotations

import argparse
import functools
import math
import multiprocessing
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator

import dense_problems
import numpy as np
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from structures_again import KINDS, random_structure

import armature as am
from armature.testing import (
    STRUCTURE_PROPERTIES,
    further_families,
    fuzz_bandits,
    random_problem,
    supported_families,
)

QUICK = {"fits_are_feasible", "costs_are_right", "nearest_is_the_least"}
DEEP = {"oracles_follow_from_the_pieces", "highest_means_follow_from_the_pieces"}
PROBLEMS = 20  # in a row, about the same structure, which takes longer to make than to ask
PIECE = 1000  # cases that a process is given at once
Findings = Iterator[str]


def solver(seed: int, number: int) -> Findings:
    kind = dense_problems.KINDS[number % 4]
    family = list(dense_problems.FAMILIES)[number // 4 % 3]
    problem = dense_problems.make(kind, family, seed, number)
    found = dense_problems.finding(problem, dense_problems.solve(problem))
    if found:
        yield f"{kind}, {family}: {found}"


@functools.lru_cache(maxsize=4)
def setting(seed: int, number: int) -> tuple[am.Structure, tuple[am.Family, ...]]:
    """A random structure, and the families that it goes with."""
    rng = np.random.default_rng([seed, number, 1])
    structure = random_structure(KINDS[number % len(KINDS)], rng)
    return structure, (*supported_families(structure), *further_families(structure))


def ask(seed: int, number: int, names: set[str]) -> Findings:
    """A problem, of which several in a row are about the same structure."""
    structure, families = setting(seed, number // PROBLEMS)
    rng = np.random.default_rng([seed, number, 3])
    problem = random_problem(structure, families[int(rng.integers(len(families)))], rng)
    for check in STRUCTURE_PROPERTIES:
        if check.__name__ in names:
            try:
                check(problem)
            except AssertionError as error:
                yield f"{check.__name__}: {error}"


def oracles(seed: int, number: int) -> Findings:
    return ask(seed, number, QUICK)


def derived(seed: int, number: int) -> Findings:
    return ask(seed, number, DEEP)


def bandits(seed: int, number: int) -> Findings:
    for finding in fuzz_bandits(1, seed=seed, first=number):
        yield f"{finding.case}: {finding.error}"


def bounds(seed: int, number: int) -> Findings:
    structure, families = setting(seed, number // PROBLEMS)
    rng = np.random.default_rng([seed, number, 2])
    family = families[int(rng.integers(len(families)))]
    target = family.clipped(rng.uniform(0.05, 0.95, structure.n_arms))
    means = np.asarray(structure.project(target, np.ones(structure.n_arms), family).means)
    ranked = np.sort(means)
    if not ranked[-1] > ranked[-2] + 1e-3 or not structure.contains(means):
        return
    bound = am.lower_bound(am.Instance(structure, means, family))
    if not (bound.gap <= 1e-6 and 0.0 <= bound.value <= bound.unconstrained * (1 + 3e-6) + 1e-9):
        yield f"{structure} at {means.tolist()} with {family}: {bound}"


SHARES: dict[Callable[[int, int], Findings], float] = {
    solver: 0.40,
    oracles: 0.49,
    derived: 0.02,
    bandits: 0.08,
    bounds: 0.01,
}


def run(kind: Callable[[int, int], Findings], cases: int, seed: int, first: int = 0) -> list[str]:
    """Play cases of a kind; what was found, with the number of each case."""
    found = []
    own = zlib.crc32(kind.__name__.encode()) + seed
    for number in range(first, first + cases):
        try:
            found += [f"{kind.__name__} {number}: {text}" for text in kind(own, number)]
        except Exception as error:  # anything at all is a finding
            found.append(f"{kind.__name__} {number}: {type(error).__name__}: {error}")
    return found


def run_piece(piece: tuple[str, int, int, int]) -> tuple[int, float, list[str]]:
    """Some consecutive cases of a kind, in whatever process."""
    name, cases, seed, first = piece
    kind = next(kind for kind in SHARES if kind.__name__ == name)
    start = time.process_time()
    found = run(kind, cases, seed, first)
    return cases, time.process_time() - start, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of each kind's first case")
    parser.add_argument("--only", choices=[kind.__name__ for kind in SHARES], help="one kind alone")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    findings, played = [], 0
    columns = TextColumn("{task.description:>8}"), MofNCompleteColumn(), TimeRemainingColumn()
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.processes) as pool, Progress(*columns, transient=True) as progress:
        for kind, share in SHARES.items():
            name = kind.__name__
            if options.only not in (None, name):
                continue
            cases = options.cases if options.only else math.ceil(share * options.cases)
            pieces = [
                (name, min(PIECE, cases - at), options.seed, options.first + at)
                for at in range(0, cases, PIECE)
            ]
            task, took, found = progress.add_task(name, total=cases), 0.0, list[str]()
            for done, seconds, texts in pool.imap_unordered(run_piece, pieces):
                progress.advance(task, done)
                took, found = took + seconds, found + texts
            print(f"{name:>8}: {cases:,} cases, {len(found)} findings, {took:.0f} s of processor")
            findings, played = findings + found, played + cases
    for text in findings[:100]:
        print(text)
    print(f"{played:,} cases with seed {options.seed}: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
