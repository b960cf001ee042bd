"""The oracles' problems once more, written for a general convex solver (cvxpy with Clarabel).

Nothing here looks at how the library solves them. Each structure is a union of convex pieces, each
piece a list of cvxpy constraints on a vector of means; each problem is solved over every piece.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator

import cvxpy as cp
import numpy as np
import pytest

import armature as am

LADDER = tuple(
    {"tol_gap_abs": t, "tol_gap_rel": t, "tol_feas": t, "max_iter": 500}
    for t in (1e-12, 1e-10, 1e-8)
)


class UnsolvedError(Exception):
    """The reference solver gave up."""


class Means:
    """A cvxpy variable for the means, or for their reciprocals where that is what makes it convex.

    The divergence of exponential rewards is convex in 1 / mean, in which every order reverses.
    """

    def __init__(self, n_arms: int, reciprocal: bool) -> None:
        self.variable = cp.Variable(n_arms)
        self.reciprocal = reciprocal

    def reordered(self, order: tuple[int, ...]) -> Means:
        """The means of what was arm 0, 1, ... where arm i was arm order[i]."""
        copy = Means.__new__(Means)
        copy.variable, copy.reciprocal = self.variable[np.argsort(order)], self.reciprocal
        return copy

    def at_most(self, i: int, k: int | cp.Expression) -> cp.Constraint:
        """means[i] <= means[k], or at most a common level."""
        right = self.variable[k] if isinstance(k, int) else k
        return self.variable[i] >= right if self.reciprocal else self.variable[i] <= right

    def at_least(self, i: int, right: float | cp.Expression) -> cp.Constraint:
        if self.reciprocal:
            value = 1.0 / right if isinstance(right, float) else right
            return self.variable[i] <= value
        return self.variable[i] >= right

    def equal(self, i: int, level: float) -> cp.Constraint:
        return self.variable[i] == (1.0 / level if self.reciprocal else level)


def _level(m: Means, value: float) -> cp.Expression:
    return cp.Constant(1.0 / value if m.reciprocal else value)


def n_peaks(ups: tuple[bool, ...]) -> int:
    """How many arms are above both neighbours, for steps that rise or fall."""
    steps = (True, *ups, False)
    return sum(before and not after for before, after in itertools.pairwise(steps))


def edges_from(edges: tuple[tuple[int, int], ...], root: int) -> list[tuple[int, int]]:
    """The edges of a tree as (nearer, further), seen from the root."""
    reached, rest, found = {root}, list(edges), []
    while rest:
        i, k = rest.pop(0)
        if i not in reached and k not in reached:
            rest.append((i, k))
            continue
        near, far = (i, k) if i in reached else (k, i)
        reached.add(far)
        found.append((near, far))
    return found


def pieces(structure: am.Structure) -> Iterator[tuple[object, Callable[[Means], list]]]:
    """The convex pieces that make up M, each with a tag that says which it is."""
    K = structure.n_arms
    match structure:
        case am.Unconstrained():
            yield "all", lambda m: []
        case am.Unimodal():
            for peak in range(K):
                yield (
                    peak,
                    lambda m, p=peak: (
                        [m.at_most(i, i + 1) for i in range(p)]
                        + [m.at_most(i + 1, i) for i in range(p, K - 1)]
                    ),
                )
        case am.Categorised():
            for label in structure.labels:

                def dominate(m: Means, label: object = label) -> list:
                    level = cp.Variable()
                    return [
                        m.at_least(i, level) if c == label else m.at_most(i, level)
                        for i, c in enumerate(structure.categories)
                    ]

                yield label, dominate
        case am.Sparse():
            for inside in itertools.combinations(range(K), structure.support):
                yield (
                    inside,
                    lambda m, s=inside: [
                        m.at_least(i, structure.level) if i in s else m.equal(i, structure.level)
                        for i in range(K)
                    ],
                )
        case am.Linear():
            theta = cp.Variable(structure.features.shape[1])
            yield "all", lambda m: [m.variable == structure.features @ theta]
        case am.Lipschitz():
            x = structure.positions
            yield (
                "all",
                lambda m: [
                    cp.abs(m.variable[i] - m.variable[k]) <= structure.constant * abs(x[i] - x[k])
                    for i, k in itertools.combinations(range(K), 2)
                ],
            )
        case am.Concave():
            order = np.argsort(structure.positions).tolist()
            x = structure.positions
            yield (
                "all",
                lambda m: [
                    (m.variable[c] - m.variable[b]) * (x[b] - x[a])
                    <= (m.variable[b] - m.variable[a]) * (x[c] - x[b])
                    for a, b, c in zip(order, order[1:], order[2:], strict=False)
                ],
            )
        case am.Simplex():
            yield "all", lambda m: [m.variable >= 0, cp.sum(m.variable) == 1]
        case am.Box():
            low, high = structure.low, structure.high

            def inside(m: Means) -> list:
                least = [m.at_least(i, float(low[i])) for i in range(K) if np.isfinite(low[i])]
                most = [m.at_most(i, _level(m, high[i])) for i in range(K) if np.isfinite(high[i])]
                return least + most

            yield "all", inside
        case am.Monotone():
            yield "all", lambda m: [m.at_most(i, i + 1) for i in range(K - 1)]
        case am.Multimodal():
            for ups in itertools.product((True, False), repeat=K - 1):
                if n_peaks(ups) <= structure.peaks:
                    yield (
                        ups,
                        lambda m, ups=ups: [
                            m.at_most(i, i + 1) if up else m.at_most(i + 1, i)
                            for i, up in enumerate(ups)
                        ],
                    )
        case am.UnimodalTree():
            for peak in range(K):
                yield (
                    peak,
                    lambda m, p=peak: [
                        m.at_most(far, near) for near, far in edges_from(structure.edges, p)
                    ],
                )
        case am.Intersection():
            for both in itertools.product(*(list(pieces(part)) for part in structure.parts)):
                yield (
                    tuple(tag for tag, _ in both),
                    lambda m, both=both: [c for _, one in both for c in one(m)],
                )
        case am.Union():
            for number, part in enumerate(structure.parts):
                for tag, constraints in pieces(part):
                    yield (number, tag), constraints
        case am.Relabelled():
            for tag, constraints in pieces(structure.structure):
                yield tag, lambda m, c=constraints: c(m.reordered(structure.order))
        case am.Polyhedral():
            A, b, C, d = structure.A, structure.b, structure.C, structure.d
            yield (
                "all",
                lambda m: (
                    ([A @ m.variable <= b] if len(A) else [])
                    + ([C @ m.variable == d] if len(C) else [])
                ),
            )
        case _:
            raise NotImplementedError(structure)


def ends_of(family: am.Family) -> tuple[np.ndarray | float, np.ndarray | float]:
    """The ends of the domain: numbers, or one for each arm."""
    match family:
        case am.Bernoulli():
            return 0.0, np.asarray(family.scale)
        case am.Bounded():
            return family.low, family.high
        case am.Gaussian():
            return -np.inf, np.inf
        case _:
            return 0.0, np.inf


def is_feasible(structure: am.Structure, family: am.Family, lam: np.ndarray) -> bool:
    """Whether means are in M and in the domain, up to 1e-9, straight from the definition."""
    K, tol = structure.n_arms, 1e-9 * max(1.0, float(np.abs(lam).max()))
    low, high = ends_of(family)
    if (lam < low).any() or (lam > high).any():
        return False
    match structure:
        case am.Unconstrained():
            return True
        case am.Unimodal():
            steps = np.diff(lam)
            return any((steps[:p] >= -tol).all() and (steps[p:] <= tol).all() for p in range(K))
        case am.Categorised():
            labels = np.array([structure.labels.index(c) for c in structure.categories])
            tops = [(lam[labels == c], lam[labels != c]) for c in set(labels)]
            return any(not low.size or top.min() >= low.max() - tol for top, low in tops)
        case am.Sparse():
            above = lam > structure.level + tol
            return bool(above.sum() <= structure.support and (lam >= structure.level - tol).all())
        case am.Linear():
            theta = np.linalg.lstsq(structure.features, lam, rcond=None)[0]
            return bool(np.abs(structure.features @ theta - lam).max() <= tol)
        case am.Lipschitz():
            apart = np.abs(structure.positions[:, None] - structure.positions)
            rise = np.abs(lam[:, None] - lam)
            return bool((rise <= structure.constant * apart + K * tol).all())
        case am.Concave():
            order = np.argsort(structure.positions)
            x, y = structure.positions[order], lam[order]
            middles = [
                np.interp(x[i], x[[i - 1, i + 1]], y[[i - 1, i + 1]]) for i in range(1, K - 1)
            ]
            return bool((y[1:-1] >= np.array(middles) - tol).all())
        case am.Simplex():
            return bool((lam >= -tol).all() and abs(lam.sum() - 1) <= tol)
        case am.Box():
            return bool(((lam >= structure.low - tol) & (lam <= structure.high + tol)).all())
        case am.Monotone():
            return bool((np.diff(lam) >= -tol).all())
        case am.Multimodal():
            return any(
                n_peaks(ups) <= structure.peaks
                and all(
                    (step >= -tol) if up else (step <= tol)
                    for up, step in zip(ups, np.diff(lam), strict=True)
                )
                for ups in itertools.product((True, False), repeat=K - 1)
            )
        case am.UnimodalTree():
            # Above every level, the arms are connected.
            return all(
                _connected([i for i in range(K) if lam[i] >= level - tol], structure.edges)
                or _connected([i for i in range(K) if lam[i] > level + tol], structure.edges)
                for level in lam
            )
        case am.Intersection():
            return all(is_feasible(part, family, lam) for part in structure.parts)
        case am.Union():
            return any(is_feasible(part, family, lam) for part in structure.parts)
        case am.Relabelled():
            # The domain has been looked at, in the order of these arms.
            return is_feasible(structure.structure, am.Gaussian(), lam[np.argsort(structure.order)])
        case am.Polyhedral():
            A, b, C, d = structure.A, structure.b, structure.C, structure.d
            slack = tol * (1 + np.abs(A).sum(axis=1))
            off = np.abs(C @ lam - d) <= tol * (1 + np.abs(C).sum(axis=1))
            return bool((A @ lam <= b + slack).all() and off.all())
    raise NotImplementedError(structure)


def _connected(arms: list[int], edges: tuple[tuple[int, int], ...]) -> bool:
    reached = set(arms[:1])
    for _ in arms:
        for i, k in edges:
            if i in arms and k in arms and reached & {i, k}:
                reached |= {i, k}
    return len(reached) == len(arms)


def most_ahead(constraints: Callable[[Means], list], n_arms: int, k: int, j: int) -> float:
    """The most that arm k can be ahead of arm j in a piece, among means up to 100."""
    m = Means(n_arms, reciprocal=False)
    lam = m.variable
    limits = [*constraints(m), cp.abs(lam) <= 100]
    problem = cp.Problem(cp.Maximize(lam[k] - lam[j]), limits)
    value = problem.solve(solver=cp.CLARABEL)
    return -np.inf if problem.status == cp.INFEASIBLE else float(value)


def divergence(family: am.Family, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The textbook formulas."""
    with np.errstate(all="ignore"):

        def xlog(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.where(a == 0.0, 0.0, a * np.log(a / b))

        match family:
            case am.Gaussian():
                return (x - y) ** 2 / (2 * np.asarray(family.sigma) ** 2)
            case am.Bernoulli() | am.Bounded():
                low, high = ends_of(family)
                x, y = (x - low) / (high - low), (y - low) / (high - low)
                return xlog(x, y) + xlog(1 - x, 1 - y)
            case am.Poisson():
                return y - x + xlog(x, y)
            case am.Exponential():
                return x / y - 1 - np.log(x / y)
    raise NotImplementedError(family)


def cost(family: am.Family, means: np.ndarray, weights: np.ndarray, lam: np.ndarray) -> float:
    """sum_i w_i d(mu_i, lam_i), where no weight means no cost."""
    terms = divergence(family, means, lam)
    return float(np.sum(np.where(weights > 0.0, weights, 0.0) * np.where(weights > 0, terms, 0)))


class Template:
    """A parametrised problem over one piece, compiled once and solved for many means and weights.

    Interior-point methods on exponential cones stop at six to eight digits. From there, Newton
    steps by quadratic programs over the same piece (which Clarabel solves to twelve) do the rest.
    """

    def __init__(
        self, n_arms: int, family: am.Family, constraints: Callable[[Means], list]
    ) -> None:
        self.family = family
        self.means = Means(n_arms, reciprocal=isinstance(family, am.Exponential))
        y = self.means.variable
        domain: list = []
        low, high = ends_of(family)
        if isinstance(family, (am.Bernoulli, am.Bounded)):
            domain = [y >= low, y <= high]
        elif isinstance(family, am.Poisson):
            domain = [y >= 0]
        everything = [*constraints(self.means), *domain]
        self.root, self.target = cp.Parameter(n_arms, nonneg=True), cp.Parameter(n_arms)
        model = cp.Minimize(0.5 * cp.sum_squares(cp.multiply(self.root, y) - self.target))
        self.model = cp.Problem(model, everything)
        self.a, self.b = cp.Parameter(n_arms, nonneg=True), cp.Parameter(n_arms, nonneg=True)
        if isinstance(family, (am.Bernoulli, am.Bounded)):
            below, above = cp.log(y - low), cp.log(high - y)
            whole = -cp.sum(cp.multiply(self.a, below) + cp.multiply(self.b, above))
        else:
            whole = cp.sum(cp.multiply(self.b, y) - cp.multiply(self.a, cp.log(y)))
        self.problem = cp.Problem(cp.Minimize(whole), everything)

    def solve(self, mu: np.ndarray, w: np.ndarray) -> np.ndarray | None:
        """A minimiser, or None where the piece is empty."""
        if isinstance(self.family, am.Gaussian):
            return self._quadratic(mu, w / np.asarray(self.family.sigma) ** 2)
        match self.family:
            case am.Bernoulli() | am.Bounded():
                low, high = ends_of(self.family)
                share = (mu - low) / (high - low)
                self.a.value, self.b.value = w * share, w * (1 - share)
            case am.Poisson():
                self.a.value, self.b.value = w * mu, w
            case am.Exponential():
                self.a.value, self.b.value = w, w * mu
        start = self._run(self.problem)
        if start is None:
            return None
        best = start
        for _ in range(3):
            g, h = self._derivatives(mu, w, best)
            if h.max() == 0.0:
                break
            h = np.maximum(h, 1e-9 * h.max())
            try:
                point = self._quadratic(best - g / h, h)
            except UnsolvedError:
                break
            if point is None or not self._value(mu, w, point) < self._value(mu, w, best):
                break
            best = point
        return 1.0 / best if self.means.reciprocal else best

    def _value(self, mu: np.ndarray, w: np.ndarray, y: np.ndarray) -> float:
        lam = 1.0 / y if self.means.reciprocal else y
        return cost(self.family, mu, w, lam)

    def _derivatives(
        self, mu: np.ndarray, w: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        match self.family:
            case am.Bernoulli() | am.Bounded():
                low, high = ends_of(self.family)
                size = high - low
                a, b = (mu - low) / size, np.clip((y - low) / size, 1e-14, 1 - 1e-14)
                g = (-a / b + (1 - a) / (1 - b)) / size
                h = (a / b**2 + (1 - a) / (1 - b) ** 2) / size**2
            case am.Poisson():
                y = np.clip(y, 1e-14, None)
                g, h = 1 - mu / y, mu / y**2
            case _:
                g, h = mu - 1 / y, 1 / y**2
        return w * g, w * h

    def _quadratic(self, target: np.ndarray, h: np.ndarray) -> np.ndarray | None:
        self.root.value = np.sqrt(h)
        self.target.value = np.sqrt(h) * target
        return self._run(self.model)

    def _run(self, problem: cp.Problem) -> np.ndarray | None:
        for settings in LADDER:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    problem.solve(solver=cp.CLARABEL, **settings)
            except cp.error.SolverError:
                continue
            if problem.status == cp.INFEASIBLE:
                return None
            if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
                return np.asarray(self.means.variable.value)
        raise UnsolvedError(problem.status)


class Reference:
    """The three problems of a structure for one family."""

    def __init__(self, structure: am.Structure, family: am.Family) -> None:
        self.structure, self.family = structure, family
        self.pieces = list(pieces(structure))

    @functools.cache  # noqa: B019 (a Reference lives as long as its test)
    def template(self, piece: int, best: int, ahead: tuple[int, ...]) -> Template:
        """A piece in which some arms are at least as good as `best`."""
        _, constraints = self.pieces[piece]
        return Template(
            self.structure.n_arms,
            self.family,
            lambda m: [*constraints(m), *(m.at_most(best, k) for k in ahead)],
        )

    @functools.cache  # noqa: B019
    def beaters(self, piece: int, best: int) -> tuple[int, ...]:
        """The arms that are better than `best` somewhere in a piece."""
        _, constraints = self.pieces[piece]
        K = self.structure.n_arms
        return tuple(
            k for k in range(K) if k != best and most_ahead(constraints, K, k, best) > 1e-6
        )

    def can_beat(self, best: int, challenger: int) -> bool:
        """Whether the challenger can be strictly better than `best` somewhere in M."""
        return any(challenger in self.beaters(p, best) for p in range(len(self.pieces)))

    def _least(
        self, mu: np.ndarray, w: np.ndarray, templates: list[Template], best: int, challenger: int
    ) -> float:
        least = np.inf
        for template in templates:
            lam = template.solve(mu, w)
            if lam is not None:
                lam = np.clip(lam, *ends_of(self.family))
                ordered = challenger < 0 or lam[best] <= lam[challenger] + 1e-10
                if not (ordered and is_feasible(self.structure, self.family, lam)):
                    raise UnsolvedError("the solver's minimiser is not feasible")
                least = min(least, cost(self.family, mu, w, lam))
        return least

    def project(self, mu: np.ndarray, w: np.ndarray) -> float:
        templates = [self.template(p, -1, ()) for p in range(len(self.pieces))]
        return self._least(mu, w, templates, -1, -1)

    def alt_min(self, mu: np.ndarray, w: np.ndarray, best: int, challenger: int) -> float:
        """Over the closure of { another arm is best }, with the challenger as good as `best`.

        A piece in which the challenger can be better is one in which it may be as good. Else some
        other arm that can be better must be as good as well.
        """
        if not self.can_beat(best, challenger):
            return np.inf
        templates = []
        for p in range(len(self.pieces)):
            beaters = self.beaters(p, best)
            if challenger in beaters:
                templates.append(self.template(p, best, (challenger,)))
            else:
                templates += [self.template(p, best, (challenger, i)) for i in beaters]
        return self._least(mu, w, templates, best, challenger)


def assert_optimal(
    structure: am.Structure,
    family: am.Family,
    means: np.ndarray,
    weights: np.ndarray,
    fit: am.Fit,
    reference: Callable[[np.ndarray], float],
) -> bool:
    """The fit is feasible, its cost is its cost, and equals the reference's minimum.

    False where the solver gave up, or stopped above a point that was just seen to be feasible and
    cheaper: such a problem does not count.
    """
    lam = np.asarray(fit.means)
    assert is_feasible(structure, family, lam), (structure, lam)
    low, high = ends_of(family)
    own = cost(family, means, weights, np.clip(lam, low, high))
    assert fit.cost == pytest.approx(own, rel=1e-6, abs=1e-13 * weights.max())
    boundary = ((means == low) | (means == high)).any()
    slack = 1e-8 * weights.max() if boundary else 0.0  # a logarithm with coefficient 0
    # The solver's tolerances are absolute: bring the minimum to the order of one, or as near to it
    # as it can still solve.
    for smallest in (1e-6, 1e-3, 1.0):
        scale = max(fit.cost, smallest * weights.max()) or 1.0
        try:
            least = reference(weights / scale) * scale
        except UnsolvedError:
            continue
        tolerance = scale * (1e-7 if isinstance(family, am.Gaussian) else 1e-6) + slack
        assert fit.cost <= least + tolerance, (fit, least, means, weights)
        if least <= fit.cost + tolerance:
            return True
    return False
