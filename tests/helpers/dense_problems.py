"""Random problems for the dense convex solver, and proofs that its answers are right.

An answer is a mean vector and multipliers. Whatever they come from, they prove themselves: the
constraints hold, and the gap between the cost and the lower bound that the multipliers give is
nothing. Every problem has a known feasible point with a finite cost (or, on demand, none): the
solver must never say otherwise.

    python tests/helpers/dense_problems.py 100000          so many problems of each kind and family
    python tests/helpers/dense_problems.py 100000 concave gaussian 7     of one, with another seed
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

import armature as am
from armature.solver.convex import minimise
from armature.solver.program import Cost, Limits, Region, Rows, scratch_size
from armature.solver.quadratic import make_state, state_size

KINDS = ("concave", "lipschitz", "polyhedral", "linear")
FAMILIES = {"gaussian": am.Gaussian(), "bernoulli": am.Bernoulli(), "poisson": am.Poisson()}
NO_BASIS = np.empty((0, 0))
FEASIBLE = 1e-9  # relative to the size of the means and right-hand sides
OPTIMAL = 1e-8  # relative to the cost
ROUNDING = 1e-11  # by how much the solver says that it may miss a constraint, relative to the means


@dataclass
class DenseProblem:
    """minimise sum w d(mu, lam) over matrix @ lam >= right, where the first rows are equations,
    low <= lam <= high, the orders that `pairs` stands for, and lam = basis @ y.
    """

    family: am.Family
    mu: np.ndarray
    w: np.ndarray
    matrix: np.ndarray
    right: np.ndarray
    equalities: int
    low: np.ndarray
    high: np.ndarray
    pairs: tuple[int, int, int, int]  # j, k, i, top
    basis: np.ndarray
    scale: float  # the order of magnitude of means that are likely
    feasible: bool

    def constraints(self) -> tuple[np.ndarray, np.ndarray]:
        """All of them in the order of the solver's numbers, as matrix @ lam >= right."""
        K = self.mu.size
        j, k, i, top = self.pairs
        unit, nothing = np.eye(K), np.zeros(K)
        parts = [self.matrix, unit, -unit]
        parts.append((unit[k] - unit[j] if k >= 0 else nothing)[None])
        parts.append((unit[i] - unit[j] if i >= 0 else nothing)[None])
        parts.append(unit[top] - unit if top >= 0 else np.zeros((K, K)))
        right = np.concatenate([self.right, self.low, -self.high, np.zeros(K + 2)])
        return np.vstack(parts), right


@dataclass
class Answer:
    lam: np.ndarray
    cost: float
    multipliers: np.ndarray  # for all constraints, in the solver's order
    near: np.ndarray  # the minimiser of the last quadratic program, which they belong to


def rows_of(matrix: np.ndarray, right: np.ndarray, equalities: int) -> Rows:
    row, column = np.nonzero(matrix)
    start = np.searchsorted(row, np.arange(len(matrix) + 1)).astype(np.int64)
    return Rows(start, column.astype(np.int64), matrix[row, column], right, equalities)


def region_of(problem: DenseProblem) -> Region:
    return Region(
        rows_of(problem.matrix, problem.right, problem.equalities),
        Limits(problem.low, problem.high, *problem.pairs),
        problem.basis,
    )


def solve(problem: DenseProblem) -> Answer:
    K, m = problem.mu.size, problem.right.size
    n = problem.basis.shape[1] if problem.basis.size else K
    n_real, n_integer = state_size.py_func(n, K, m)
    # Scratch space full of rubbish: nothing may depend on what is in it.
    state = make_state.py_func(
        np.full(n_real, np.nan), np.full(n_integer, -9, dtype=np.int64), n, K, m
    )
    lam = np.empty(K)
    cost = minimise(
        Cost(problem.family.record_for(K), problem.mu, problem.w),
        region_of(problem),
        lam,
        state,
        np.full(scratch_size.py_func(n, K), np.nan),
    )
    multipliers = np.zeros(m + 3 * K + 2)
    for c in range(int(state.length[0])):
        at = state.active[c]
        multipliers[at] = state.multipliers[c] * state.status[at]
    return Answer(lam, float(cost), multipliers, state.lam.copy())


def finding(problem: DenseProblem, answer: Answer) -> str | None:
    """What is wrong with an answer, if anything."""
    lam, cost = answer.lam, answer.cost
    if not problem.feasible:
        return None if cost == np.inf and np.isnan(lam).all() else "found where there is nothing"
    if not np.isfinite(cost) or not np.isfinite(lam).all():
        return "falsely infeasible"
    matrix, right = problem.constraints()
    finite = np.isfinite(right)
    size = max(np.abs(lam).max(), np.abs(problem.mu).max(), problem.scale)
    slack = matrix[finite] @ lam - right[finite]
    least = slack.min(initial=0.0)
    least = min(least, -np.abs(slack[: problem.equalities]).max(initial=0.0))
    if least < -FEASIBLE * size:
        return f"infeasible by {-least / size:.1e}"
    if problem.basis.size:
        off = np.abs(lam - problem.basis @ (problem.basis.T @ lam)).max()
        if off > FEASIBLE * size:
            return f"not linear by {off / size:.1e}"
    own = cost_of(problem, lam)
    if not abs(own - cost) <= 1e-9 * abs(own) + 1e-30 * problem.w.max():
        return f"the cost is {own}, not {cost}"
    gap, allowed = gap_of(problem, answer, size)
    if gap > allowed:
        return f"the gap is {gap:.1e}, the cost {cost:.1e}, allowed {allowed:.1e}"
    return None


def gap_of(problem: DenseProblem, answer: Answer, size: float) -> tuple[float, float]:
    """How far the cost is above what the multipliers prove to be a lower bound, and may be.

    cost >= F(z) + r (lam - z) + h (lam - z)^2 / 2 + u (right - slack at z) with r = F'(z) - u N for
    any z and any u >= 0: the minimum over lam within reach is a lower bound. z is where the
    solver's last model has its minimum, or the answer itself; tiny multipliers may be left out.
    """
    matrix, right = problem.constraints()
    finite = np.isfinite(right)
    matrix, right = matrix[finite], right[finite]
    u = answer.multipliers.copy()
    u[problem.equalities :] = np.maximum(u[problem.equalities :], 0.0)
    u = u[finite]
    shifts = ROUNDING * size * float(np.abs(u).sum())
    gap, steepest = answer.cost, float(problem.w.max()) / size
    for z in (answer.lam, np.clip(answer.near, problem.low, problem.high)):
        g, h = derivatives(problem, z)
        above = answer.cost - cost_of(problem, z)
        if not np.isfinite(above) or not np.isfinite(g).all():
            continue
        steepest = max(steepest, float(h.max()))
        slack = np.abs(matrix @ z - right)
        reach = 10.0 * np.maximum(np.maximum(np.abs(z), np.abs(problem.mu)), problem.scale)
        if problem.basis.size:
            steep = h
            h, axes = np.linalg.eigh(problem.basis.T @ (h[:, None] * problem.basis))
            h[h < 1e-14 * h.max()] = 0.0
            reach = np.full(h.size, np.linalg.norm(reach))
            shifts = max(shifts, 1e-15 * float(reach[0] * np.abs(steep * z).sum()))
        for attempt in range(4):
            kept = u
            if attempt in (1, 2):
                kept = np.where(np.abs(u) >= (1e-9, 1e-6)[attempt - 1] * np.abs(u).max(), u, 0.0)
            elif attempt == 3 and not problem.basis.size:
                kept = refined(u, matrix, g, h, problem.equalities)
            r = g - matrix.T.astype(np.longdouble) @ kept.astype(np.longdouble)
            if problem.basis.size:
                r = axes.T @ (problem.basis.T @ r)
            way = np.where(h > 0.0, np.abs(r) / np.where(h > 0.0, h, 1.0), np.inf)
            more = float((np.abs(r) * np.minimum(way, reach)).sum() + (np.abs(kept) * slack).sum())
            gap = min(gap, above + more)
            if gap <= OPTIMAL * answer.cost:
                break
    return gap, OPTIMAL * answer.cost + shifts + 1e-24 * steepest * size**2 * problem.mu.size


def refined(
    u: np.ndarray, matrix: np.ndarray, g: np.ndarray, h: np.ndarray, equalities: int
) -> np.ndarray:
    """Multipliers of the same constraints that leave arms without weight as little as possible."""
    active = np.flatnonzero(u)
    scale = 1.0 / np.sqrt(np.where(h > 0.0, h, 1e-6 * h[h > 0.0].min(initial=1.0)))
    left = (g - matrix.T @ u) * scale
    better = u.copy()
    better[active] += np.linalg.lstsq((matrix[active] * scale).T, left, rcond=None)[0]
    better[equalities:] = np.maximum(better[equalities:], 0.0)
    return better


def derivatives(problem: DenseProblem, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and curvatures of the cost, from the textbook."""
    mu, w = problem.mu, problem.w
    with np.errstate(all="ignore"):
        match problem.family:
            case am.Gaussian():
                g, h = (lam - mu), np.ones(mu.size)
            case am.Poisson():
                g = 1.0 - np.where(mu > 0.0, mu / lam, 0.0)
                h = np.where(mu > 0.0, mu / lam**2, 0.0)
            case _:
                up, down = np.where(mu > 0.0, mu / lam, 0.0), np.where(mu < 1, (1 - mu), 0.0)
                g = -up + np.where(mu < 1.0, down / (1 - lam), 0.0)
                h = np.where(mu > 0.0, mu / lam**2, 0.0)
                h = h + np.where(mu < 1.0, down / (1 - lam) ** 2, 0.0)
        return np.where(w > 0.0, w * g, 0.0), np.where(w > 0.0, w * h, 0.0)


def cost_of(problem: DenseProblem, lam: np.ndarray) -> float:
    used = problem.w > 0.0
    terms = problem.family.divergence(problem.mu[used], lam[used])
    return float((problem.w[used] * terms).sum())


def random_problem(
    kind: str, family: am.Family, rng: np.random.Generator, feasible: bool = True
) -> DenseProblem:
    """A problem with a feasible point of finite cost, or (for polyhedra) with none."""
    K = int(2.0 * 50.0 ** rng.random()) if rng.random() < 0.9 else int(rng.integers(2, 101))
    matrix, right, equalities = np.empty((0, K)), np.empty(0), 0
    basis, pairs = NO_BASIS, (-1, -1, -1, -1)
    low, high = np.full(K, family.domain.low), np.full(K, family.domain.high)
    low = np.where(np.isfinite(low), low, -np.inf)
    inside = rng.uniform(0.2, 0.8, K)
    scale = 1.0 if isinstance(family, am.Bernoulli) else 10.0 ** rng.choice([0, 0, 0, -3, 4])
    if kind == "linear":
        # Shares of a few qualities: between their means, some of which are alike or multiples.
        features = rng.dirichlet(np.full(int(rng.integers(1, 1 + min(K, 8))), 0.5), K)
        features *= rng.choice([1.0, 1.0, 0.5, 1e-3], K)[:, None]
        theta = rng.uniform(0.2, 0.8, features.shape[1])
        lengths = np.linalg.norm(features, axis=0)
        left, values, _ = np.linalg.svd(features / np.where(lengths > 0, lengths, 1.0), False)
        basis = np.ascontiguousarray(left[:, values > 1e-12 * values[0]])
        inside = features @ theta
    elif kind == "polyhedral":
        matrix, right, equalities = random_rows(inside, rng)
        low, high = random_box(inside, low, high, rng)
    else:
        inside = np.full(K, 0.5)
        x = random_positions(K, rng)
        structure = (
            am.Concave(K, x)
            if kind == "concave"
            else am.Lipschitz(K, float(10.0 ** rng.uniform(-3, 1)) / x.max(), x)
        )
        (piece,) = structure.pieces()
        A, b = piece.A, piece.b
        norms = np.linalg.norm(A, axis=1)
        matrix, right = -A / norms[:, None], -b / norms
    if rng.random() < 0.5:
        pairs = random_pairs(inside, rng)
    if not feasible:
        matrix, right = contradict(matrix, right, equalities, inside, low, high, rng)
    right = scale * right
    low, high, inside = scale * low, scale * high, scale * inside
    mu = random_means(family, inside, scale, rng)
    w = random_weights(K, rng)
    return DenseProblem(
        family, mu, w, matrix, right, equalities, low, high, pairs, basis, scale, feasible
    )


def random_positions(K: int, rng: np.random.Generator) -> np.ndarray:
    style = rng.integers(4)
    if style == 0:
        return rng.permutation(K) + 1.0
    gaps = np.exp(rng.normal(size=K) * (0.5, 1.5, 3.0)[style - 1])
    return rng.permutation(np.cumsum(np.maximum(gaps, 1e-4)))


def random_rows(inside: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """Equalities and inequalities that hold at a point, some of them nearly or exactly repeated."""
    K = inside.size
    m = int(rng.integers(0, 2 * K + 1))
    equalities = int(rng.integers(0, K // 2 + 1)) if rng.random() < 0.4 else 0
    rows = rng.normal(size=(equalities + m, K)) * (rng.random((equalities + m, K)) < rng.random())
    rows[np.arange(len(rows)), rng.integers(0, K, len(rows))] += 1.0
    if rng.random() < 0.3 and len(rows) > 1:
        for _ in range(3):
            a, b = rng.integers(0, len(rows), 2)
            rows[a] = rows[b] * rng.choice([1.0, 3.0, -1.0])
            # (Equations that nearly repeat each other say nothing once they are rounded.)
            nearly = 0.0 if a < equalities else 1e-7
            rows[a] += rows[b - 1] * rng.choice([0.0, 0.0, 1.0, nearly])
    rows[np.abs(rows).sum(axis=1) == 0.0, 0] = 1.0
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    room = np.where(rng.random(len(rows)) < 0.4, 0.0, rng.exponential(0.3, len(rows)))
    room[:equalities] = 0.0
    return rows, rows @ inside - room, equalities


def random_box(
    inside: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Limits about a point for some arms; some fix an arm."""
    K = inside.size
    if rng.random() < 0.5:
        return low, high
    room = rng.exponential(0.2, (2, K)) * (rng.random((2, K)) < 0.9) * (rng.random(K) < 0.9)
    below, above = rng.random((2, K)) < rng.random()
    return (
        np.where(below, np.maximum(low, inside - room[0]), low),
        np.where(above, np.minimum(high, inside + room[1]), high),
    )


def random_pairs(inside: np.ndarray, rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Orders that hold at a point."""
    order = np.argsort(inside)
    if rng.random() < 0.3:
        return -1, -1, -1, int(order[-1])
    a, b = sorted(rng.choice(inside.size, 2, replace=False))
    i = int(order[-1]) if rng.random() < 0.3 and b != inside.size - 1 else -1
    return int(order[a]), int(order[b]), i, -1


def contradict(
    matrix: np.ndarray,
    right: np.ndarray,
    equalities: int,
    inside: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """One more row, the opposite of a sum of two, that misses by a little."""
    K = inside.size
    rows = np.vstack([matrix, np.where(np.isfinite(low), 1.0, 0.0) * np.eye(K)])
    ends = np.concatenate([right, np.where(np.isfinite(low), low, 0.0)])
    used = np.flatnonzero(np.abs(rows).sum(axis=1))
    if not used.size:
        rows, ends, used = np.eye(K)[:1], inside[:1], np.array([0])
        matrix, right = np.vstack([matrix, rows]), np.concatenate([right, ends])
    a, b = rng.choice(used, 2)
    row = -(rows[a] + rng.random() * rows[b]) if rng.random() < 0.5 else -rows[a]
    share = 1.0 if (row == -rows[a]).all() else None
    end = -ends[a] if share else None
    if end is None:
        f = ((-row - rows[a]) @ rows[b]) / (rows[b] @ rows[b])
        end = -(ends[a] + f * ends[b])
    norm = np.linalg.norm(row)
    if norm < 1e-6:
        row, end, norm = -rows[a], -ends[a], np.linalg.norm(rows[a])
    miss = 10.0 ** rng.uniform(-5, 0)
    return np.vstack([matrix, row / norm]), np.append(right, end / norm + miss)


def random_means(
    family: am.Family, inside: np.ndarray, scale: float, rng: np.random.Generator
) -> np.ndarray:
    """Inside, near, far, on a grid, at the ends of the domain."""
    K = inside.size
    style = rng.integers(6)
    if style == 0:
        mu = inside.copy()
    elif style == 1:
        mu = inside + scale * 10.0 ** rng.uniform(-12, 0) * rng.normal(size=K)
    elif style == 2:
        mu = scale * rng.integers(0, 11, K) / 10.0
    elif style == 3:
        mu = scale * rng.uniform(0.0, 1.0, K)
    elif style == 4:
        mu = scale * 10.0 ** rng.uniform(0, 3) * rng.normal(size=K)
    else:
        mu = scale * rng.choice([0.0, 1.0, 0.5], K)
    if isinstance(family, am.Bernoulli):
        return np.clip(mu, 0.0, 1.0)
    return np.maximum(mu, 0.0) if isinstance(family, am.Poisson) else mu


def random_weights(K: int, rng: np.random.Generator) -> np.ndarray:
    """Equal, counts, over twelve orders of magnitude; with none, some or many zeros."""
    style = rng.integers(5)
    if style == 0:
        w = np.ones(K)
    elif style == 1:
        w = rng.integers(0, 5, K).astype(float)
    elif style == 2:
        w = 10.0 ** rng.uniform(-12, 0, K)
    elif style == 3:
        w = 10.0 ** rng.choice([-12.0, 0.0], K)
    else:
        w = rng.uniform(0.1, 1.0, K)
    share = rng.choice([0.0, 0.0, 1.5 / K, rng.random()])
    w = np.where(rng.random(K) < share, 0.0, w) * 10.0 ** rng.choice([0.0, 0.0, 5.0])
    if rng.random() < 0.995 and not w.any():
        w[rng.integers(K)] = 1.0
    return w


@dataclass
class Count:
    """How many problems were solved, and what was found."""

    problems: int
    findings: list[tuple[int, str]]


def fuzz(kind: str, family: str, problems: int, seed: int, share_infeasible: float = 0.1) -> Count:
    """Solve so many random problems; problem number t is made from [seed, t]."""
    findings = []
    for t in range(problems):
        problem = make(kind, family, seed, t, share_infeasible)
        try:
            found = finding(problem, solve(problem))
        except ArithmeticError as error:
            found = repr(error)
        if found:
            findings.append((t, found))
    return Count(problems, findings)


def make(kind: str, family: str, seed: int, t: int, share_infeasible: float = 0.1) -> DenseProblem:
    """Problem number t of a kind and family."""
    rng = np.random.default_rng([seed, t])
    feasible = kind != "polyhedral" or rng.random() >= share_infeasible
    return random_problem(kind, FAMILIES[family], rng, feasible)


if __name__ == "__main__":
    number, *rest = sys.argv[1:]
    kinds = [rest[0]] if rest else KINDS
    families = [rest[1]] if len(rest) > 1 else list(FAMILIES)
    for kind in kinds:
        for family in families:
            began = time.time()
            count = fuzz(kind, family, int(number), int(rest[2]) if len(rest) > 2 else 1)
            seconds = time.time() - began
            sys.stdout.write(
                f"{kind} {family}: {count.problems} problems, {len(count.findings)} findings "
                f"{count.findings[:8]} in {seconds:.0f} s\n"
            )
            sys.stdout.flush()
