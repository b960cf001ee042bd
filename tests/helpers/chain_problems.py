"""Random chains, and the same problems for the dense solver and for a general convex one.

python tests/helpers/chain_problems.py 10000         so many problems of each family
python tests/helpers/chain_problems.py 10000 7       with another seed
python tests/helpers/chain_problems.py 10000 7 0.5   half of them in scaled means
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from dense_problems import NO_BASIS, DenseProblem
from dense_problems import solve as solve_dense
from reference import LADDER, UnsolvedError

import armature as am
from armature.families.kernels import divide_by_variances, unit_gaussian
from armature.kernels.gears import interpreted
from armature.solver.chains.chain import Chain
from armature.solver.chains.limits import UNPROVED, minimise_on_chain
from armature.solver.chains.nearest import ChainScratch, make_chain_scratch
from armature.solver.chains.reach import factors_of
from armature.solver.chains.rows import even_chain
from armature.solver.program import Cost, Limits
from armature.structures.oracles.records import Work, measure

FAMILIES = ("gaussian", "sigmas", "bernoulli", "scales", "poisson")
SIZES = (2, 3, 5, 8, 15)
UNPROVED_SHARE = 0.01  # of random problems that are left to the dense solver


@dataclass
class ChainProblem:
    """minimise sum w d(mu, lam) over a chain, within the domain and an order of some arms."""

    family: am.Family
    mu: np.ndarray
    w: np.ndarray
    chain: Chain
    pairs: tuple[int, int, int, int]  # j, k, i, top

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The family's domain, arm by arm."""
        domains = [self.family.for_arm(k).domain for k in range(self.mu.size)]
        return np.array([d.low for d in domains]), np.array([d.high for d in domains])

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The chain as rows @ lam >= right."""
        order, lo, hi, low, high, *_ = self.chain
        down, up = factors_of(self.chain)
        unit = np.eye(self.mu.size)[order]
        above, below = unit[1:] - down[:, None] * unit[:-1], unit[1:] - up[:, None] * unit[:-1]
        rows = np.vstack([above, -below, unit, -unit])
        right = np.concatenate([lo, -hi, low, -high])
        return rows[np.isfinite(right)], right[np.isfinite(right)]

    def cost(self, lam: np.ndarray) -> float:
        used = self.w > 0.0
        low, high = self.ends
        terms = self.family.divergence(self.mu, np.clip(lam, low, high))
        return float((self.w[used] * np.asarray(terms)[used]).sum())

    def violation(self, lam: np.ndarray) -> float:
        """By how much means miss the chain, the domain or the order."""
        rows, right = self.rows()
        j, k, i, top = self.pairs
        low, high = self.ends
        missed = [0.0, *(right - rows @ lam), *(low - lam), *(lam - high)]
        missed += [lam[j] - lam[k]] if k >= 0 else []
        missed += [lam[j] - lam[i]] if i >= 0 else []
        missed += [lam.max() - lam[top]] if top >= 0 else []
        return float(max(missed))


def chain_scratch(K: int) -> ChainScratch:
    """Scratch space full of rubbish: nothing may depend on what is in it."""

    def lay_out(work: Work, K: int) -> ChainScratch:
        return make_chain_scratch(work.real, work.integer, K)

    n_real, n_integer = measure(lay_out, K)
    with interpreted():
        return make_chain_scratch(
            np.full(n_real, np.nan), np.full(n_integer, -9, dtype=np.int64), K
        )


def solve(problem: ChainProblem) -> tuple[float, np.ndarray]:
    """The chain kernel's answer."""
    K = problem.mu.size
    lam = np.full(K, -9.0)
    limits = Limits(*problem.ends, *problem.pairs)
    cost = minimise_on_chain(
        Cost(problem.family.record_for(K), problem.mu, problem.w),
        problem.chain,
        limits,
        lam,
        chain_scratch(K),
    )
    return float(cost), lam


def dense_cost(problem: ChainProblem) -> float:
    """The least cost as the dense solver finds it."""
    family, w, K = problem.family, problem.w, problem.mu.size
    if isinstance(family, am.Gaussian):  # as the oracles ask it
        record = family.record_for(K)
        assert unit_gaussian(record).parameter == 1.0
        w = np.empty(K)
        divide_by_variances(record, problem.w, w)
        family = am.Gaussian()
    rows, right = problem.rows()
    norms = np.linalg.norm(rows, axis=1)
    dense = DenseProblem(
        family=family,
        mu=problem.mu,
        w=w,
        matrix=rows / norms[:, None],
        right=right / norms,
        equalities=0,
        low=problem.ends[0],
        high=problem.ends[1],
        pairs=problem.pairs,
        basis=NO_BASIS,
        scale=1.0,
        feasible=True,
    )
    return solve_dense(dense).cost


def convex_cost(problem: ChainProblem) -> float:
    """The least cost as cvxpy finds it."""
    K, mu, w, family = problem.mu.size, problem.mu, problem.w, problem.family
    lam = cp.Variable(K)
    heaviest = w.max()
    v = w / heaviest
    match family:
        case am.Gaussian():
            sigma = np.broadcast_to(family.sigma, K)
            cost = cp.sum_squares(cp.multiply(np.sqrt(v / 2.0) / sigma, lam - mu))
        case am.Poisson():
            cost = cp.sum(cp.multiply(v, cp.kl_div(mu, lam)))
        case _:
            scale = np.broadcast_to(family.scale, K)
            x, y = mu / scale, cp.multiply(1.0 / scale, lam)
            cost = cp.sum(cp.multiply(v, cp.kl_div(x, y) + cp.kl_div(1.0 - x, 1.0 - y)))
    rows, right = problem.rows()
    constraints = [rows @ lam >= right]
    j, k, i, top = problem.pairs
    constraints += [lam[k] >= lam[j]] if k >= 0 else []
    constraints += [lam[i] >= lam[j]] if i >= 0 else []
    constraints += [lam <= lam[top]] if top >= 0 else []
    question = cp.Problem(cp.Minimize(cost), constraints)
    for settings in LADDER:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            least = question.solve(solver=cp.CLARABEL, **settings)
        if question.status in (cp.OPTIMAL, cp.INFEASIBLE):
            break
    if question.status not in (cp.OPTIMAL, cp.INFEASIBLE, cp.OPTIMAL_INACCURATE):
        raise UnsolvedError(question.status)
    return float(least * heaviest)


def family_of(name: str, K: int, rng: np.random.Generator) -> am.Family:
    match name:
        case "sigmas":
            return am.Gaussian(rng.uniform(0.3, 3.0, K).tolist())
        case "scales":
            return am.Bernoulli(rng.uniform(1.0, 2.5, K).tolist())
        case "bernoulli":
            return am.Bernoulli()
        case "poisson":
            return am.Poisson()
    return am.Gaussian()


def random_chain(K: int, rng: np.random.Generator, scaled: float = 0.0) -> Chain:
    """Bounds of several kinds: a rate, an order, one peak, none, whole numbers; some contradict."""
    lo, hi = -rng.uniform(0.0, 0.3, K - 1), rng.uniform(0.0, 0.3, K - 1)
    if rng.random() < 0.3:
        lo, hi = np.round(lo, 1), np.round(hi, 1)
    if rng.random() < 0.3:
        lo[:], hi[:] = 0.0, rng.choice([np.inf, 0.2])
    if rng.random() < 0.2:
        peak = rng.integers(K)
        lo[:peak], lo[peak:], hi[:peak], hi[peak:] = 0.0, -0.1, 0.1, 0.0
    if rng.random() < 0.2:
        lo[rng.random(K - 1) < 0.4] = -np.inf
        hi[rng.random(K - 1) < 0.4] = np.inf
    if rng.random() < 0.2:
        fixed = rng.random(K - 1) < 0.3
        lo[fixed] = hi[fixed] = rng.uniform(-0.2, 0.2, fixed.sum())
    low, high = np.full(K, -np.inf), np.full(K, np.inf)
    if rng.random() < 0.3:
        below, above = rng.random((2, K)) < 0.3
        low[below] = rng.uniform(0.05, 0.4, below.sum())
        high[above] = rng.uniform(0.5, 0.95, above.sum())
    order = np.arange(K) if rng.random() < 0.5 else rng.permutation(K)
    chain = even_chain(order, lo, hi, low, high)
    return scaled_chain(chain, rng) if scaled > 0.0 and rng.random() < scaled else chain


def scaled_chain(chain: Chain, rng: np.random.Generator) -> Chain:
    """The same in scaled means, or with two factors for each pair."""
    K = chain.low.size
    down = np.exp(rng.normal(0.0, 0.4, K - 1))
    up = down if rng.random() < 0.5 else down * rng.choice([1.0, 1.3, 0.8], K - 1)
    return chain._replace(down=down, up=up)


def random_problem(
    name: str,
    K: int,
    rng: np.random.Generator,
    pairs: bool = True,
    ends: bool = True,
    scaled: float = 0.0,
) -> ChainProblem:
    """Ties, weights over four or six orders of magnitude, zeros, means at the domain's ends."""
    family = family_of(name, K, rng)
    w = 10.0 ** rng.uniform(*((-1.0, 3.0) if rng.random() < 0.5 else (-6.0, 0.0)), K)
    w[rng.random(K) < rng.choice([0.0, 0.1, 0.5])] = 0.0
    mu = rng.uniform(0.02, 0.98, K)
    if rng.random() < 0.3:
        mu = np.round(mu, 1)
    if ends and not isinstance(family, am.Gaussian) and rng.random() < 0.3:
        mu[rng.random(K) < 0.2] = 0.0
    if ends and name == "bernoulli" and rng.random() < 0.3:
        mu[rng.random(K) < 0.2] = 1.0
    if not w.any():
        w[0] = 1.0
    arms = [int(k) for k in rng.permutation(K)]
    kind = rng.integers(4) if pairs else 0
    asked = (-1, -1, -1, -1)
    if kind == 1 and K > 1:
        asked = (arms[0], arms[1], -1, -1)
    elif kind == 2 and K > 2:
        asked = (arms[0], arms[1], arms[2], -1)
    elif kind == 3:
        asked = (-1, -1, -1, arms[0])
    return ChainProblem(family, mu, w, random_chain(K, rng, scaled), asked)


def finding(problem: ChainProblem, cost: float, lam: np.ndarray, least: float) -> str | None:
    """What is wrong with an answer, if anything, where `least` is the least cost."""
    if least == np.inf or cost == np.inf:
        agree = cost == least and np.isnan(lam).all()
        return None if agree else f"the cost is {cost}, not {least}"
    missed = problem.violation(lam)
    if not missed <= 1e-12:
        return f"infeasible by {missed:.1e}"
    own = problem.cost(lam)
    if not abs(cost - own) <= 1e-9 * abs(own) + 1e-14 * problem.w.max():
        return f"the cost is {own}, not {cost}"
    if not abs(cost - least) <= 1e-9 * least + 1e-14 * problem.w.max():
        return f"the cost is {cost}, which is {cost - least:.1e} more than the least"
    return None


def compare(name: str, problems: int, seed: int, scaled: float = 0.0) -> tuple[list[str], int]:
    """What is wrong on random problems, by the dense solver, and how many were left to it."""
    rng = np.random.default_rng(seed)
    findings, unproved = [], 0
    for t in range(problems):
        problem = random_problem(name, int(rng.choice(SIZES)), rng, scaled=scaled)
        cost, lam = solve(problem)
        if cost == UNPROVED:
            unproved += 1
            continue
        wrong = finding(problem, cost, lam, dense_cost(problem))
        if wrong is not None:
            findings.append(f"{name} {t}: {wrong}")
    return findings, unproved


def main() -> None:
    problems, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    scaled = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    for name in FAMILIES:
        findings, unproved = compare(name, problems, seed, scaled)
        print(
            f"{name}: {problems} problems, {unproved} left to the dense solver",
            *findings,
            sep="\n  ",
        )


if __name__ == "__main__":
    main()
