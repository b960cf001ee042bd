"""How long `nearest_alternative` takes, how that grows with the arms, and how others compare.

    .venv/bin/python benchmarks/oracles.py            three minutes
    .venv/bin/python benchmarks/oracles.py --quick    20 seconds: 10 and 100 arms, fewer repeats

The first run after a change of the package also compiles its kernels, which takes a minute or two
and is not counted. Three things are printed, for Gaussian rewards:

* the time per call of each structure's compiled kernel, called in a loop in compiled code, as
  policies do, and the growth exponent log(t(K) / t(10)) / log(K / 10) for the greatest K measured;
* at 10 arms, the time of one call from Python, which also checks its arguments, and how many times
  longer than the kernel other solvers take for the same problem: setting them up is not counted,
  and each must find the same cost before it is timed;
* the targets, and whether this run met them.

Each time is a mean over several problems, the least of several repeats. A problem is a mean vector
inside the structure with noise on it, as empirical means have, and random weights.
"""

from __future__ import annotations

import argparse
import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import osqp
from scipy.linalg import null_space
from scipy.sparse import csc_matrix
from sklearn.isotonic import IsotonicRegression

import armature as am
from armature.authoring import kernel
from armature.structures.oracles.model import Model, make_model, nearest_alternative

Floats = npt.NDArray[np.float64]
Solver = Callable[[Floats, Floats, int], float]  # (means, weights, best) -> the optimal cost

FAMILY = am.Gaussian()
LIPSCHITZ = 0.2
NOISE = 0.05


class Effort(NamedTuple):
    """How thoroughly to measure."""

    sizes: tuple[int, ...]
    seconds: float  # of one repeat, at least
    repeats: int
    rival_problems: int


FULL = Effort((10, 100, 300, 1000, 10_000), seconds=0.1, repeats=7, rival_problems=32)
QUICK = Effort((10, 100), seconds=0.01, repeats=3, rival_problems=2)
PROBLEMS = 32


def constraints(structure: am.Structure) -> tuple[Floats, Floats, Floats, Floats]:
    """A, b, C, d of a convex structure."""
    (piece,) = structure.pieces()
    return piece.A, piece.b, piece.C, piece.d


STRUCTURES: dict[str, Callable[[int], am.Structure]] = {
    "Unconstrained": am.Unconstrained,
    "Unimodal": am.Unimodal,
    "Categorised": lambda K: am.Categorised([i % 5 for i in range(K)]),
    "Sparse": lambda K: am.Sparse(K, support=max(2, K // 10), level=0.0),
    "Simplex": am.Simplex,
    "Linear, d = 2": lambda K: am.Linear(np.random.default_rng(0).normal(size=(K, 2))),
    "Linear, d = 5": lambda K: am.Linear(np.random.default_rng(0).normal(size=(K, 5))),
    "Lipschitz": lambda K: am.Lipschitz(K, LIPSCHITZ),
    "Concave": am.Concave,
    "Polyhedral": lambda K: am.Polyhedral(*constraints(am.Lipschitz(K, LIPSCHITZ))[:2]),
}
SWEEPS = ("Unconstrained", "Unimodal", "Categorised", "Sparse", "Simplex")
DENSE = ("Lipschitz", "Concave", "Polyhedral")


class Problems(NamedTuple):
    """One problem in each row, and the arm that must not be best."""

    means: Floats
    weights: Floats
    best: npt.NDArray[np.int64]


def draw(structure: am.Structure) -> Problems:
    """Random problems, the same in every run."""
    rng = np.random.default_rng(0)
    K = structure.n_arms
    means = rng.normal(size=(PROBLEMS, K))
    weights = rng.uniform(1.0, 100.0, size=(PROBLEMS, K))
    best = np.empty(PROBLEMS, dtype=np.int64)
    for row in range(PROBLEMS):
        inside = structure.project(means[row], np.ones(K), FAMILY).means
        means[row] = inside + rng.normal(0.0, NOISE, size=K)
        best[row] = structure.project(means[row], weights[row], FAMILY).means.argmax()
    return Problems(means, weights, best)


@kernel
def repeat(model: Model, problems: Problems, lam: Floats, n: int) -> float:
    """Go n times through the problems in compiled code."""
    total = 0.0
    for _ in range(n):
        for row in range(problems.best.size):
            mu = problems.means[row]
            w = problems.weights[row]
            total += nearest_alternative(model, mu, w, problems.best[row], lam)
    return total


def fastest(run: Callable[[int], object], problems: Problems, effort: Effort) -> float:
    """The least mean time per problem; `run(n)` goes n times through the problems."""
    run(1)
    times = []
    n = 1
    for _ in range(effort.repeats + 1):
        start = time.perf_counter()
        run(n)
        times.append((time.perf_counter() - start) / n)
        n = max(1, math.ceil(effort.seconds / times[0]))
    return min(times[1:]) / len(problems.best)


def kernel_time(structure: am.Structure, problems: Problems, effort: Effort) -> float:
    """The time of a call of the kernel from compiled code."""
    model = make_model(structure, FAMILY, ("nearest",))
    run = functools.partial(repeat, model, problems, np.empty(structure.n_arms))
    return fastest(run, problems, effort)


def python_time(solve: Solver, problems: Problems, effort: Effort) -> float:
    """The time of a call from Python."""

    def run(n: int) -> None:
        for _ in range(n):
            for mu, w, best in zip(*problems, strict=True):
                solve(mu, w, int(best))

    return fastest(run, problems, effort)


# The other solvers. Each solves one problem for each challenger.


def system(structure: am.Structure, j: int, k: int) -> tuple[Floats, ...]:
    """A, b, C, d with A lam <= b, C lam = d where k is at least as good as j (Unimodal: best)."""
    K = structure.n_arms
    A, b, C, d = np.empty((0, K)), np.empty(0), np.empty((0, K)), np.empty(0)
    if isinstance(structure, am.Unimodal):
        A = np.diff(np.eye(K), axis=0)
        A[:k] *= -1.0
        return A, np.zeros(K - 1), C, d
    if isinstance(structure, am.Simplex):
        A, b, C, d = -np.eye(K), np.zeros(K), np.ones((1, K)), np.ones(1)
    elif isinstance(structure, am.Linear):
        C = null_space(structure.features.T).T
        d = np.zeros(len(C))
    elif isinstance(structure, (am.Lipschitz, am.Concave, am.Polyhedral)):
        A, b, C, d = constraints(structure)
    return np.vstack([A, np.eye(K)[j] - np.eye(K)[k]]), np.append(b, 0.0), C, d


def by_cvxpy(structure: am.Structure) -> Solver:
    """Clarabel through cvxpy: means and weights are parameters, so each problem compiles once."""
    K = structure.n_arms
    root, target = cp.Parameter(K, nonneg=True), cp.Parameter(K)

    @functools.cache
    def problem(j: int, k: int) -> cp.Problem:
        A, b, C, d = system(structure, j, k)
        lam = cp.Variable(K)
        cost = 0.5 * cp.sum_squares(cp.multiply(root, lam) - target)
        equations = [C @ lam == d] if len(C) else []
        return cp.Problem(cp.Minimize(cost), [A @ lam <= b, *equations])

    def solve(mu: Floats, w: Floats, best: int) -> float:
        root.value = np.sqrt(w)
        target.value = root.value * mu
        problems = [problem(best, k) for k in {*range(K)} - {best}]
        return float(min(p.solve(solver=cp.CLARABEL, enforce_dpp=True) for p in problems))

    return solve


def by_osqp(structure: am.Structure) -> Solver:
    """OSQP, with nothing in between."""
    K = structure.n_arms

    @functools.cache
    def solver(j: int, k: int) -> osqp.OSQP:
        A, b, C, d = system(structure, j, k)
        rows, low = csc_matrix(np.vstack([A, C])), np.append(np.full(len(b), -np.inf), d)
        made = osqp.OSQP()
        options = {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 100_000, "verbose": False}
        made.setup(csc_matrix(np.eye(K)), np.zeros(K), rows, low, np.append(b, d), **options)
        return made

    def solve(mu: Floats, w: Floats, best: int) -> float:
        costs = []
        for k in {*range(K)} - {best}:
            solver(best, k).update(q=-w * mu, Px=w)
            costs.append(solver(best, k).solve(raise_error=True).info.obj_val)
        return float(min(costs) + 0.5 * w @ mu**2)

    return solve


def by_scikit_learn(structure: am.Structure) -> Solver:
    """Isotonic regression before and after each split, for all that leave the peak elsewhere."""
    K = structure.n_arms
    arms = np.arange(K, dtype=np.float64)
    up, down = IsotonicRegression(increasing=True), IsotonicRegression(increasing=False)

    def solve(mu: Floats, w: Floats, best: int) -> float:
        costs = []
        for i in {*range(K + 1)} - {best, best + 1}:
            lam = np.empty(K)
            if i > 0:
                lam[:i] = up.fit(arms[:i], mu[:i], w[:i]).predict(arms[:i])
            if i < K:
                lam[i:] = down.fit(arms[i:], mu[i:], w[i:]).predict(arms[i:])
            costs.append(float(0.5 * w @ (mu - lam) ** 2))
        return min(costs)

    return solve


# How near their costs must be to ours, and what they are tried on.
RIVALS = {
    "cvxpy": (by_cvxpy, 1e-6, set(STRUCTURES) - {"Categorised", "Sparse"}),
    "OSQP": (by_osqp, 1e-4, {"Simplex", *DENSE}),
    "scikit-learn": (by_scikit_learn, 1e-6, {"Unimodal"}),
}


class Result(NamedTuple):
    """What was measured of a structure: seconds, and how many times slower the others are."""

    kernel: dict[int, float]
    python: float
    slower: dict[str, float]

    @property
    def growth(self) -> float:
        """The exponent of the growth from 10 arms to the greatest number of arms."""
        K = max(self.kernel)
        return math.log(self.kernel[K] / self.kernel[10]) / math.log(K / 10)


def kernel_times(name: str, effort: Effort) -> dict[int, float]:
    """For each size. Quadratic programs take K^2 memory and K^3 time: they stop at a second."""
    times: dict[int, float] = {}
    for K in effort.sizes:
        if name not in DENSE or K <= 100 or (K == 300 and 27 * times[100] < 1.0):
            structure = STRUCTURES[name](K)
            times[K] = kernel_time(structure, draw(structure), effort)
    return times


def measure(name: str, effort: Effort) -> Result:
    """Everything about one structure."""
    kernel = kernel_times(name, effort)
    structure = STRUCTURES[name](10)
    problems = draw(structure)
    some = Problems(*(part[: effort.rival_problems] for part in problems))

    def ours(mu: Floats, w: Floats, best: int) -> float:
        return structure.nearest_alternative(mu, w, best, FAMILY).cost

    slower = {}
    for rival, (make, tolerance, structures) in RIVALS.items():
        if name in structures:
            theirs = make(structure)
            for mu, w, best in zip(*some, strict=True):
                a, b = ours(mu, w, int(best)), theirs(mu, w, int(best))
                problem = f"means {mu.tolist()}, weights {w.tolist()}, best {best}"
                assert abs(a - b) <= tolerance * a, f"{name} {a}, {rival} {b}: {problem}"
            slower[rival] = python_time(theirs, some, effort) / kernel[10]
    return Result(kernel, python_time(ours, problems, effort), slower)


def micro(seconds: float | None) -> str:
    """Microseconds to three digits, or a dash."""
    if seconds is None:
        return "-"
    return f"{1e6 * seconds:,.{max(0, -4 - math.floor(math.log10(seconds)))}f}"


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """All columns but the first are set to the right."""
    widths = [max(len(row[c]) for row in (header, *rows)) for c in range(len(header))]
    print(f"\n{title}\n")
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells[1:]]))


def print_times(results: dict[str, Result], sizes: Sequence[int]) -> None:
    """The two tables of times."""
    table, beside = [], []
    for name, result in results.items():
        times = [micro(result.kernel.get(K)) for K in sizes]
        table.append([name, *times, f"{result.growth:.2f}"])
        ratios = [f"{result.slower[r]:,.0f} x" if r in result.slower else "-" for r in RIVALS]
        beside.append([name, micro(result.kernel[10]), micro(result.python), *ratios])
    title = "nearest_alternative, kernel called from compiled code: microseconds per call"
    print_table(title, ["structure", *(f"K = {K:,}" for K in sizes), "growth"], table)
    title = "K = 10: microseconds per call; for other solvers, times slower than the kernel"
    header = ["structure", "kernel", "from Python", "cvxpy + Clarabel", "OSQP", "scikit-learn"]
    print_table(title, header, beside)


def print_targets(results: dict[str, Result]) -> None:
    """What was aimed for, and whether this run reached it."""
    rows = []
    for name in SWEEPS:
        growth = results[name].growth
        met = ("yes" if growth <= 1.2 else "NO") if 10_000 in results[name].kernel else "not run"
        rows.append([name, "growth up to 10,000 arms", "at most 1.2", f"{growth:.2f}", met])
    for name in (*SWEEPS, "Linear, d = 2", "Lipschitz", "Concave"):
        took, most = results[name].kernel[10], 30 if name in DENSE else 3
        met = "yes" if 1e6 * took <= most else "NO"
        rows.append([name, "microseconds at K = 10", f"at most {most}", micro(took), met])
    for name in ("Lipschitz", "Concave"):
        slower = results[name].slower["cvxpy"]
        met = "yes" if slower >= 50.0 else "NO"
        rows.append([name, "times faster than cvxpy", "at least 50", f"{slower:,.0f}", met])
    print_table("Targets", ["structure", "what", "target", "this run", "met"], rows)


def main() -> None:
    """Measure, then print."""
    parser = argparse.ArgumentParser(description="How fast the structures' oracles are.")
    parser.add_argument("--quick", action="store_true", help="10 and 100 arms, fewer repeats")
    effort = QUICK if parser.parse_args().quick else FULL
    results = {name: measure(name, effort) for name in STRUCTURES}
    print_times(results, effort.sizes)
    print_targets(results)


if __name__ == "__main__":
    main()
