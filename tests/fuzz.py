"""Random cases of everything that takes input, many or few: `make fuzz` runs a million.

    python tests/fuzz.py --cases 1000000 --seed 0

A case is a function of the seed and its number, so that a finding can be looked at by itself. What
is covered, with its share of the cases:

* solver (60 %): dense programs of four kinds and three families, 2 to 100 arms, weights over twelve
  orders of magnitude and 0; every answer is proved by its multipliers, also that there is none;
* oracles (25 %): random structures of every kind with every family: fits are feasible, costs are
  right, the nearest alternative is the least over challengers and over cells;
* derived (2 %): every oracle against what follows from the structure's pieces;
* bandits (12 %): live use of every policy, structure and family with hostile rewards and options,
  saved and resumed;
* bounds (1 %): lower bounds of random instances, certified, and at most those without structure.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import zlib
from collections.abc import Callable, Iterator

import dense_problems
import numpy as np
from random_structures import FAMILIES, KINDS, random_structure

import armature as am
from armature.testing import STRUCTURE_PROPERTIES, fuzz_bandits, random_problem, supported_families

QUICK = {"fits_are_feasible", "costs_are_right", "nearest_is_the_least"}
DEEP = {"oracles_follow_from_the_pieces", "highest_means_follow_from_the_pieces"}
Findings = Iterator[str]


def solver(seed: int, number: int) -> Findings:
    kind = dense_problems.KINDS[number % 4]
    family = list(dense_problems.FAMILIES)[number // 4 % 3]
    problem = dense_problems.make(kind, family, seed, number)
    found = dense_problems.finding(problem, dense_problems.solve(problem))
    if found:
        yield f"{kind}, {family}: {found}"


def ask(seed: int, number: int, names: set[str]) -> Findings:
    """A structure of some kind, a family that it goes with, and one problem."""
    rng = np.random.default_rng([seed, number, 1])
    structure = random_structure(KINDS[number % len(KINDS)], rng)
    families = [f for f in FAMILIES if f in supported_families(structure)]
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
    rng = np.random.default_rng([seed, number, 2])
    structure = random_structure(KINDS[number % len(KINDS)], rng)
    families = [f for f in FAMILIES if f in supported_families(structure)]
    family = families[int(rng.integers(len(families)))]
    target = rng.uniform(0.05, 0.95, structure.n_arms)
    means = np.asarray(structure.project(target, np.ones(structure.n_arms), family).means)
    ranked = np.sort(means)
    if not ranked[-1] > ranked[-2] + 1e-3 or not structure.contains(means):
        return
    bound = am.lower_bound(am.Instance(structure, means, family))
    if not (bound.gap <= 1e-6 and 0.0 <= bound.value <= bound.unconstrained * (1 + 3e-6) + 1e-9):
        yield f"{structure} at {means.tolist()} with {family}: {bound}"


SHARES: dict[Callable[[int, int], Findings], float] = {
    solver: 0.60,
    oracles: 0.25,
    derived: 0.02,
    bandits: 0.12,
    bounds: 0.01,
}


def run(kind: Callable[[int, int], Findings], cases: int, seed: int) -> list[str]:
    """Play the cases of a kind; what was found, with the number of each case."""
    found = []
    own = zlib.crc32(kind.__name__.encode()) + seed
    for number in range(cases):
        try:
            found += [f"{kind.__name__} {number}: {text}" for text in kind(own, number)]
        except Exception as error:  # anything at all is a finding
            found.append(f"{kind.__name__} {number}: {type(error).__name__}: {error}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    findings, played = [], 0
    for kind, share in SHARES.items():
        cases, start = math.ceil(share * options.cases), time.perf_counter()
        found = run(kind, cases, options.seed)
        took = time.perf_counter() - start
        print(f"{kind.__name__:>8}: {cases:,} cases, {len(found)} findings, {took:.0f} s")
        findings, played = findings + found, played + cases
    for text in findings[:100]:
        print(text)
    print(f"{played:,} cases with seed {options.seed}: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
