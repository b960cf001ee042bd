"""Slow, plain twins of four policies, written from their definitions.

A twin takes the same rewards as the policy that it shadows. In each round `choose` gives the arms
that the definition allows: the preferred one first, then those that only rounding sets apart from
it. `tell` takes in which of them was pulled.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2

import armature as am
from armature.bounds.lower_bound import make_solution, run_allocate

ROUNDING = 1e-9


def largest(values: np.ndarray, slack: float) -> list[int]:
    """The first of the largest values, then all others within `slack` of it."""
    best = int(np.argmax(values))
    return [best, *(int(k) for k in np.flatnonzero(values >= values[best] - slack) if k != best)]


def leading(family: am.Family, fitted: np.ndarray, mu: np.ndarray, N: np.ndarray) -> int:
    """The best arm of a projection; of several, the one whose rewards say most that it is above."""
    fitted = np.asarray(fitted)
    tied = np.flatnonzero(fitted >= fitted.max() - 1e-12 * np.abs(fitted).max())
    return int(max(tied, key=lambda k: (N[k] * (mu[k] - fitted.max()), -k)))


def telling(family: am.Family, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """d(x, y), with y kept a thousandth of x's way off the ends of the domain."""
    low, high = family.domain.low, family.domain.high
    if math.isfinite(low):
        y = np.where(y < x, np.maximum(y, low + 1e-3 * (x - low)), y)
    if math.isfinite(high):
        y = np.where(y > x, np.minimum(y, high - 1e-3 * (high - x)), y)
    return np.asarray(family.divergence(x, y))


class Hedge:
    """AdaHedge for experts with names; those that sit a round out do as well as the learner."""

    def __init__(self) -> None:
        self.total: dict = {}
        self.missed = 0.0  # the total of an expert that has not taken part yet
        self.gap = 0.0

    def weights(self, names: list) -> np.ndarray:
        behind = self.losses_of(names)
        behind -= behind.min()
        if self.gap == 0.0:
            w = (behind == 0.0).astype(float)
        else:
            w = np.exp(-math.log(len(names)) / self.gap * behind)
        return w / w.sum()

    def losses_of(self, names: list) -> np.ndarray:
        return np.array([self.total.setdefault(name, self.missed) for name in names])

    def update(self, names: list, loss: np.ndarray) -> None:
        w, L = self.weights(names), self.losses_of(names)
        average = float(loss.min() + w @ (loss - loss.min()))
        if len(names) == 1:
            mixed = average
        elif self.gap == 0.0:
            mixed = (L + loss).min() - L.min()
        else:
            eta, there = math.log(len(names)) / self.gap, w > 0.0
            mixed = -np.logaddexp.reduce(np.log(w[there]) - eta * loss[there]) / eta
        self.gap += max(0.0, average - mixed)
        for name in self.total:
            self.total[name] += average
        self.missed += average
        self.total.update(zip(names, L + loss, strict=True))


class Twin:
    """The pulls and rewards so far; each arm is pulled once before any is chosen."""

    def __init__(self, structure: am.Structure, family: am.Family) -> None:
        self.structure, self.family, self.K = structure, family, structure.n_arms
        self.N, self.sums = np.zeros(self.K), np.zeros(self.K)
        self.clock = self.explorations = 0
        self.settle: Callable[[int], None] | None = None

    def choose(self) -> list[int]:
        self.settle = None
        if self.clock < self.K:
            return [self.clock]
        return self.decide(self.sums / self.N)

    def decide(self, mu: np.ndarray) -> list[int]:
        raise NotImplementedError

    def tell(self, arm: int, reward: float) -> None:
        if self.settle is not None:
            self.settle(arm)
        self.N[arm] += 1.0
        self.sums[arm] += reward
        self.clock += 1


class Game(Twin):
    """What SPk and SPLambda have in common."""

    def __init__(
        self, structure: am.Structure, family: am.Family, epsilon: float = 1.0, test: str = "glr"
    ) -> None:
        super().__init__(structure, family)
        self.epsilon, self.test = epsilon, test
        self.n = np.zeros(self.K, dtype=int)
        self.hedge = [Hedge() for _ in range(self.K)]

    def decide(self, mu: np.ndarray) -> list[int]:
        model, family = self.structure, self.family
        fit = model.project(mu, self.N, family)
        evidence = max(model.nearest_alternative(mu, self.N, i, family).cost for i in range(self.K))
        misfit = fit.cost if self.test == "glr" else 0.0
        if evidence - misfit > math.log(1 + self.clock):
            return [leading(family, fit.means, mu, self.N)]
        self.explorations += 1
        j = int(np.argmax(mu))
        n = int(self.n[j])
        self.n[j] += 1
        if n % 2 == 0:
            return [j]
        level = math.log(n) / self.N
        low, high = np.asarray(family.lower(mu, level)), np.asarray(family.upper(mu, level))
        return self.explore(mu, j, self.epsilon / n, low, high)

    def explore(self, mu, j, eps, low, high) -> list[int]:
        """A step of candidate j's game, for intervals from `low` to `high`."""
        raise NotImplementedError

    def optimism(self, information: Callable, j, eps, low, high) -> np.ndarray:
        """The most information per regret over the means in each arm's interval."""
        best = np.zeros(self.K)
        for xi in (low, high, np.clip(high[j] - eps, low, high)):
            regret = np.maximum(eps, high[j] - xi)
            regret[j] = eps
            best = np.maximum(best, information(xi) / regret)
        return best


class SPkTwin(Game):
    """Algorithm 1: the learner plays shares of regret, the nearest alternative answers."""

    def __init__(
        self,
        structure: am.Structure,
        family: am.Family,
        tracking: str = "game",
        **options: object,
    ) -> None:
        super().__init__(structure, family, **options)
        self.ahead, self.tracking = np.zeros(self.K), tracking

    def explore(self, mu, j, eps, low, high) -> list[int]:
        arms = list(range(self.K))
        gaps = np.maximum(eps, high[j] - high)
        w = self.hedge[j].weights(arms) / gaps
        w /= w.sum()
        lam, cost = self.structure.nearest_alternative(mu, w, j, self.family)
        if cost == math.inf:
            return [j]
        gain = self.optimism(lambda xi: telling(self.family, xi, lam), j, eps, low, high)
        self.hedge[j].update(arms, -(w @ gaps) * gain)
        self.ahead -= w
        if self.tracking == "pulls":
            return largest(-(self.N + self.ahead), ROUNDING)
        self.settle = self.count
        return largest(-self.ahead, ROUNDING)

    def count(self, arm: int) -> None:
        self.ahead[arm] += 1.0


class SPLambdaTwin(Game):
    """A leader in each cell, a learner over the cells, and the arm that answers best."""

    def __init__(self, structure: am.Structure, family: am.Family, **options: object) -> None:
        super().__init__(structure, family, **options)
        self.chosen = np.zeros((self.K, self.K))

    def explore(self, mu, j, eps, low, high) -> list[int]:
        model, family = self.structure, self.family
        cells = model.cells(j, mu, self.N, family)
        fits = [model.cell_min(mu, self.chosen[j], cell, family) for cell in cells]
        near = [c for c, fit in enumerate(fits) if fit.cost < math.inf]
        if not near:
            return [j]
        names = [cells[c].number for c in near]
        leaders = np.array([fits[c].means for c in near])
        q = self.hedge[j].weights(names)
        gain = self.optimism(lambda xi: q @ telling(family, xi, leaders), j, eps, low, high)

        def settle(arm: int) -> None:
            self.hedge[j].update(names, telling(family, mu[arm], leaders[:, arm]))
            self.chosen[j, arm] += 1.0

        self.settle = settle
        return largest(gain, ROUNDING * gain.max())


class OSSBTwin(Twin):
    """Follow the allocation of the lower bound at the projected means."""

    def __init__(
        self, structure: am.Structure, family: am.Family, epsilon: float, gamma: float = 0.0
    ) -> None:
        super().__init__(structure, family)
        self.epsilon, self.gamma = epsilon, gamma

    def decide(self, mu: np.ndarray) -> list[int]:
        means = self.structure.project(mu, self.N, self.family).means
        best = leading(self.family, means, mu, self.N)
        if self.information(means, best) >= (1 + self.gamma) * math.log(1 + self.clock):
            return [best]
        self.explorations += 1
        rarest = int(np.argmin(self.N))
        gaps = means[best] - means
        if (
            self.N[rarest] <= self.epsilon * self.explorations
            or (gaps <= 1e-9 * np.abs(means).max()).sum() > 1
        ):
            return [rarest]
        c = self.allocation(means, gaps)
        if c is None:
            return [rarest]
        if not (c > 0.0).any():
            return [best]
        lack = np.full(self.K, math.inf)
        np.divide(self.N, c, out=lack, where=c > 0.0)
        return largest(-lack, 1e-3 * lack.min())

    def information(self, means: np.ndarray, best: int) -> float:
        """What the pulls tell apart, if the best arm's mean were known."""
        w = self.N.copy()
        w[best] = 1e9 * self.N.max()
        lam, cost = self.structure.nearest_alternative(means, w, best, self.family)
        moved = w[best] * self.family.divergence(means[best], lam[best])
        return math.inf if cost > 0.0 and moved > 0.5 * cost else cost

    def allocation(self, means: np.ndarray, gaps: np.ndarray) -> np.ndarray | None:
        """The pulls per ln T that the lower bound asks for; None where no finite ones do."""
        instance = am.Instance(self.structure, means, self.family)
        solution = make_solution(instance)
        run_allocate(self.structure, instance, gaps, solution)
        return solution.pulls if solution.bounds[1] < math.inf else None


class ChallengerTwin(Twin):
    """Look into whoever is due, or drawn, and answer it; `units` are the random numbers."""

    def __init__(
        self,
        structure: am.Structure,
        family: am.Family,
        units: Callable[[], tuple[float, float]],
        **options: object,
    ) -> None:
        super().__init__(structure, family)
        self.units, self.late, self.through_others = units, 0, 0
        self.looked = np.zeros(self.K)
        self.options = am.Challenger(**options)
        self.start = list(range(self.K))
        if isinstance(structure, am.Linear) and self.options.draw != "sample":
            self.start = self.spanning(np.asarray(structure.features))
        elif isinstance(structure, am.Simplex):
            self.start.pop()

    def spanning(self, x: np.ndarray) -> list[int]:
        """Greedily, the direction that those so far leave most of."""
        basis, chosen = np.linalg.qr(x)[0], []
        left = basis.copy()
        for _ in range(x.shape[1]):
            k = int(np.argmax(np.round(np.linalg.norm(left, axis=1), 9)))
            chosen.append(k)
            unit = left[k] / np.linalg.norm(left[k])
            left = left - np.outer(left @ unit, unit)
        return sorted(chosen)

    def rival(self, mu: np.ndarray, j: int, i: int) -> am.Fit:
        return self.structure.challenger_min(mu, self.N, j, i, self.family)

    def evidence(self, mu: np.ndarray, j: int, base: float) -> np.ndarray:
        """What speaks against each arm, 0 for the leader."""
        if isinstance(self.structure, am.Sparse) and self.structure.support == 1:
            costs = [base if i == j else self.alone(mu, j, i) for i in range(self.K)]
        else:
            costs = [base if i == j else self.rival(mu, j, i).cost for i in range(self.K)]
        G = np.maximum(np.array(costs) - base, 0.0)
        if not isinstance(self.structure, am.Unimodal | am.Categorised):
            return G
        pr = np.asarray(self.structure.project(mu, self.N, self.family).means)
        return np.array([0.0 if i == j else self.shared(mu, pr, j, i, G[i]) for i in range(self.K)])

    def shared(self, mu: np.ndarray, pr: np.ndarray, j: int, i: int, G: float) -> float:
        """E: where i's being best ties many arms, what they cost as the chance of it."""
        lam = np.asarray(self.rival(mu, j, i).means)
        near = 1e-11 * np.abs(pr).max()
        moved = np.flatnonzero((np.abs(lam - pr) > near) & (self.N > 0.0))
        values: list[float] = []
        for x in lam[moved]:
            if not any(abs(x - y) <= near for y in values):
                values.append(x)
        m = moved.size - len(values)
        if m <= 1:
            return G
        if mu[i] >= pr[j]:
            return self.free(G)
        cost = float(np.sum(self.N[moved] * self.family.divergence(mu[moved], lam[moved])))
        e = chi2.isf(chi2.sf(2.0 * cost, m), 1) / 2.0
        return min(G, e + self.own_counts * self.N[i] * float(self.family.divergence(mu[i], pr[j])))

    own_counts = 4.0

    def free(self, G: float) -> float:
        """Nobody is dismissed on the word of others."""
        return 0.0

    def alone(self, mu: np.ndarray, j: int, i: int) -> float:
        """What it costs that i is the one arm above the level, where the leader is thought to be.

        (Or above; what the order of i and j costs at least.)
        """
        lam = np.full(self.K, self.structure.level)
        lam[i] = max(mu[i], self.structure.project(mu, self.N, self.family).means[j])
        cost = sum(
            n * self.family.divergence(m, x) for n, m, x in zip(self.N, mu, lam, strict=True) if n
        )
        return max(cost, self.rival(mu, j, i).cost)

    def due(self, G: np.ndarray, mu: np.ndarray, pr: np.ndarray, j: int) -> list[int]:
        """Who goes first, or the leader; then who is as early but for rounding."""
        wait = G + np.log(np.maximum(self.N + self.looked, 1.0))
        wait[j] = math.log(max(self.N[j], 1.0)) - self.options.patience
        first, *others = largest(-wait, ROUNDING)
        if wait[first] == wait[j]:
            return [j, *(k for k in (first, *others) if k != j)]
        level = [k for k in (first, *others) if k != j and wait[k] < wait[j]]
        first = self.ahead(mu, pr, level)
        return [first, *(k for k in (*level, *others) if k != first)]

    def ahead(self, mu: np.ndarray, pr: np.ndarray, arms: list[int]) -> int:
        """Of arms that nothing else tells apart, that whose own rewards say most for it."""
        spread = [self.variance(float(pr[k])) for k in arms]
        said = [
            self.N[k] * (mu[k] - pr[k]) / v if v > 0 else math.copysign(math.inf, mu[k] - pr[k])
            for k, v in zip(arms, spread, strict=True)
        ]
        said = [0.0 if mu[k] == pr[k] else x for k, x in zip(arms, said, strict=True)]
        return arms[int(np.argmax(said))]

    def drawn(self, mu: np.ndarray, G: np.ndarray, j: int) -> int:
        if self.options.draw == "tail":
            q = np.array([math.erfc(math.sqrt(g)) / 2 for g in G])
            q[j] = 1.0
            edges = np.cumsum(q)
            return int(np.searchsorted(edges, self.units()[0] * edges[-1], side="right"))
        blocks = [self.units() for _ in range((self.K + 1) // 2)]
        normal = ndtri([u for block in blocks for u in block])[: self.K]
        sample = mu + self.family.sigma * normal / np.sqrt(self.N)
        top = self.structure.project(sample, self.N, self.family).means
        tied = np.flatnonzero(top >= top.max() - 1e-12 * abs(top.max()))
        return int(tied[int(self.units()[0] * tied.size)] if tied.size > 1 else tied[0])

    def choose(self) -> list[int]:
        self.settle = None
        unseen = [k for k in self.start if self.N[k] == 0.0]
        if unseen:
            return unseen[:1]
        return self.decide(np.divide(self.sums, self.N, out=np.zeros(self.K), where=self.N > 0))

    def decide(self, mu: np.ndarray) -> list[int]:
        pr, base = self.structure.project(mu, self.N, self.family)
        j = leading(self.family, pr, mu, self.N)
        G = self.evidence(mu, j, base)
        i, *close = self.due(G, mu, np.asarray(pr), j)
        if i != j:
            self.late += 1
        elif self.options.draw != "none":
            i = self.drawn(mu, G, j)
        if i == j:
            return [j, *close]
        self.explorations += 1
        arms = self.answer(mu, np.asarray(pr), j, i)

        def settle(arm: int) -> None:
            if arm != i and arm in arms:
                self.looked[i] += 1.0
                self.through_others += 1

        self.settle = settle
        return [*arms, *(k for k in close if k not in arms)]

    def answer(self, mu: np.ndarray, pr: np.ndarray, j: int, i: int) -> list[int]:
        lam = self.rival(mu, j, i).means
        if abs(lam[i] - pr[i]) <= 1e-11 * np.abs(pr).max():
            return [i]
        regret = np.maximum(pr[j] - pr, self.least_regret(float(pr[j]), self.N[j]))
        told = np.asarray(self.family.divergence(pr, lam))
        told[j] = -math.inf
        gain = told / regret**self.options.price
        most = gain.max()
        level = [int(k) for k in np.flatnonzero((gain == most) | (gain >= most * (1 - 1e-10)))]
        k = i if i in level else self.ahead(mu, pr, level)
        if k == i or gain[k] == math.inf:
            return [k]
        share = self.options.share
        if share is None:
            odds = [told[a] / regret[a] ** 2 for a in (i, k)]
            share = odds[0] / sum(odds)
        return [i] if self.units()[0] < share else [k]

    def least_regret(self, top: float, pulls: float) -> float:
        return max(1e-100, math.sqrt(self.variance(top) / (pulls + 1)))

    def variance(self, mean: float) -> float:
        match self.family:
            case am.Gaussian():
                return float(self.family.sigma**2)
            case am.Bernoulli():
                return mean * (1 - mean)
            case am.Poisson():
                return mean
            case _:
                return mean**2
