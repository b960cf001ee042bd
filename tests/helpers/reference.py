"""The oracles' problems once more, for a general convex solver (Clarabel).

Nothing here looks at how the library solves them. Each structure is a union of polyhedra
(`structures_again.py`); each problem is solved over every piece. The programs are given to the
solver as matrices: what cvxpy would make of them, without making it anew for each of thousands. The
formulas of reward families are all here, `perspective` for the lower bound's program too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import clarabel
import numpy as np
import pytest
from scipy import sparse
from structures_again import Piece, can_beat, ends_of, is_feasible, order, pieces_of

import armature as am

TOLERANCES = (1e-12, 1e-10, 1e-8)
# The same for cvxpy.
LADDER = tuple(
    {"tol_gap_abs": t, "tol_gap_rel": t, "tol_feas": t, "max_iter": 500} for t in TOLERANCES
)


class UnsolvedError(Exception):
    """The reference solver gave up."""


def minimised(
    P: np.ndarray,
    q: np.ndarray,
    rows: np.ndarray,
    limits: np.ndarray,
    n_equations: int,
    n_cones: int = 0,
) -> np.ndarray | None:
    """argmin x' P x / 2 + q' x with rows x = limits for the first `n_equations`, <= for the next.

    The last 3 `n_cones` rows say that limits - rows x is in as many exponential cones, each
    {(a, b, c): b exp(a / b) <= c}. None where nothing is feasible.
    """
    n_inequalities = len(rows) - n_equations - 3 * n_cones
    cones = [clarabel.ZeroConeT(n_equations), clarabel.NonnegativeConeT(n_inequalities)]
    cones += [clarabel.ExponentialConeT()] * n_cones
    status = None
    for tolerance in TOLERANCES:
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 500
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        matrices = sparse.csc_matrix(np.triu(P)), q, sparse.csc_matrix(rows), limits
        solution = clarabel.DefaultSolver(*matrices, cones, settings).solve()
        status = solution.status
        if status == clarabel.SolverStatus.PrimalInfeasible:
            return None
        if status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
            return np.asarray(solution.x)
    raise UnsolvedError(str(status))


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


class Rows:
    """Rows of `limits - A x`, gathered entry by entry, x longer with each `new`."""

    def __init__(self) -> None:
        self.size = 0
        self.entries: list[tuple[int, int, float]] = []
        self.limits: list[float] = []

    def new(self, count: int) -> int:
        """The first of some more variables."""
        self.size += count
        return self.size - count

    def add(self, terms: dict[int, float], limit: float = 0.0) -> None:
        """limit - sum of coefficient x variable."""
        self.entries += [(len(self.limits), at, value) for at, value in terms.items() if value]
        self.limits.append(limit)


def merged(*some: dict[int, float]) -> dict[int, float]:
    total: dict[int, float] = {}
    for terms in some:
        for at, value in terms.items():
            total[at] = total.get(at, 0.0) + value
    return total


def perspective(
    family: am.Family, x: float, q: int, y: int, logs: Rows, squares: Rows
) -> dict[int, float]:
    """q d(x, y / q) as a linear function, which is as small as cones leave it.

    For exponential rewards y is q / mean.
    """

    def log_ratio(of: dict[int, float]) -> dict[int, float]:
        """t >= q ln(q / of), which is (-t, q, of) in the exponential cone."""
        t = logs.new(1)
        for terms in ({t: 1.0}, {q: -1.0}, {at: -value for at, value in of.items()}):
            logs.add(terms)
        return {t: 1.0}

    def entropy(x: float, of: dict[int, float]) -> dict[int, float]:
        """q x ln(x q / of), which is nothing at x = 0."""
        if x <= 0.0:
            return {}
        return merged({q: x * np.log(x)}, {at: x for at in log_ratio(of)})

    match family:
        case am.Gaussian():  # 4 u q >= 2 (y - q x)^2 / sigma^2: (u + q, u - q, ...) is in its cone
            u, root = logs.new(1), np.sqrt(2.0) / float(family.sigma)
            for terms in ({u: -1.0, q: -1.0}, {u: -1.0, q: 1.0}, {y: -root, q: root * x}):
                squares.add(terms)
            return {u: 1.0}
        case am.Bernoulli() | am.Bounded():
            low, high = map(float, ends_of(family))
            size = high - low
            x, share = (x - low) / size, {y: 1.0 / size, q: -low / size}
            rest = merged({q: 1.0}, {at: -value for at, value in share.items()})
            return merged(entropy(x, share), entropy(1.0 - x, rest))
        case am.Poisson():
            return merged({y: 1.0, q: -x}, entropy(x, {y: 1.0}))
        case am.Exponential():
            return merged({y: x, q: -1.0 - np.log(x)}, log_ratio({y: 1.0}))
    raise NotImplementedError(family)


class Nearest:
    """The nearest point of a polyhedron, for many means and weights.

    The divergence of exponential rewards is convex in y = 1 / mean, in which every order reverses.
    Interior-point methods on exponential cones stop at six to eight digits. From there, Newton
    steps by quadratic programs over the same polyhedron (solved to twelve) do the rest.
    """

    def __init__(self, family: am.Family, piece: Piece) -> None:
        self.family, self.reciprocal = family, isinstance(family, am.Exponential)
        K = piece.G.shape[1]
        G, h, E, f = piece.G, piece.h, piece.E, piece.f
        if self.reciprocal:
            # lam_a <= lam_b is y_b <= y_a; one mean's level is its reciprocal.
            single = np.abs(G).sum(axis=1) == 1.0
            assert (h[~single] == 0.0).all()
            assert (np.abs(E).sum(axis=1) == 1.0).all()
            with np.errstate(divide="ignore"):
                G, h = -G, -np.where(single, 1.0 / h, 0.0)
                f = 1.0 / f
            G, h = G[np.isfinite(h)], h[np.isfinite(h)]
        low, high = (np.broadcast_to(end, K) for end in ends_of(family))
        eye, below, above = np.eye(K), np.isfinite(low), np.isfinite(high)
        self.E, self.f = E, f
        self.G = np.vstack([G, -eye[below], eye[above]])
        self.h = np.concatenate([h, -low[below], high[above]])

    def solve(self, mu: np.ndarray, w: np.ndarray) -> np.ndarray | None:
        """A minimiser, or None where the polyhedron is empty."""
        if isinstance(self.family, am.Gaussian):
            return self._quadratic(mu, w / np.asarray(self.family.sigma) ** 2)
        best = self._logarithmic(mu, w)
        if best is None:
            return None
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
        return 1.0 / best if self.reciprocal else best

    def _value(self, mu: np.ndarray, w: np.ndarray, y: np.ndarray) -> float:
        lam = 1.0 / y if self.reciprocal else y
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
        """argmin sum_i h_i (y_i - target_i)^2: the squares are of r = sqrt(h) (y - target)."""
        K, root = target.size, np.sqrt(h)
        zero, n = np.zeros((K, K)), len(self.E)
        rows = np.block(
            [
                [self.E, np.zeros((n, K))],
                [np.diag(root), -np.eye(K)],
                [self.G, np.zeros((len(self.G), K))],
            ]
        )
        limits = np.concatenate([self.f, root * target, self.h])
        P = np.block([[zero, zero], [zero, np.eye(K)]])
        found = minimised(P, np.zeros(2 * K), rows, limits, n + K)
        return None if found is None else found[:K]

    def _logarithmic(self, mu: np.ndarray, w: np.ndarray) -> np.ndarray | None:
        """argmin of slope' y - sum_j weight_j t_j with t_j <= log(sign_j y_i + offset_j)."""
        K = mu.size
        low, high = (np.broadcast_to(end, K) for end in ends_of(self.family))
        slope = np.zeros(K)
        match self.family:
            case am.Bernoulli() | am.Bounded():
                share = (mu - low) / (high - low)
                logs = [(i, 1.0, -low[i], w[i] * share[i]) for i in range(K)]
                logs += [(i, -1.0, high[i], w[i] * (1.0 - share[i])) for i in range(K)]
            case am.Poisson():
                slope, logs = w, [(i, 1.0, 0.0, w[i] * mu[i]) for i in range(K)]
            case am.Exponential():
                slope, logs = w * mu, [(i, 1.0, 0.0, w[i]) for i in range(K)]
        n = len(logs)
        cones, ends = np.zeros((3 * n, K + n)), np.zeros(3 * n)
        for j, (i, sign, offset, _) in enumerate(logs):  # (t_j, 1, sign y_i + offset)
            cones[3 * j, K + j] = -1.0
            ends[3 * j + 1] = 1.0
            cones[3 * j + 2, i], ends[3 * j + 2] = -sign, offset
        rows = np.vstack([self.E, self.G])
        rows = np.vstack([np.hstack([rows, np.zeros((len(rows), n))]), cones])
        limits = np.concatenate([self.f, self.h, ends])
        q = np.concatenate([slope, [-weight for *_, weight in logs]])
        found = minimised(np.zeros((K + n, K + n)), q, rows, limits, len(self.E), n)
        return None if found is None else found[:K]


def with_ahead(piece: Piece, best: int, ahead: tuple[int, ...]) -> Piece:
    """A piece in which some arms are at least as good as `best`."""
    rows = order(piece.G.shape[1], [(best, k) for k in ahead])
    return piece._replace(
        G=np.vstack([piece.G, rows]), h=np.concatenate([piece.h, np.zeros(len(ahead))])
    )


class Reference:
    """The three problems of a structure for one family."""

    def __init__(self, structure: am.Structure, family: am.Family) -> None:
        self.structure, self.family = structure, family
        self.pieces = pieces_of(structure)

    @functools.cache  # noqa: B019 (a Reference lives as long as its test)
    def nearest(self, piece: int, best: int, ahead: tuple[int, ...]) -> Nearest:
        """In a piece in which some arms are at least as good as `best`."""
        return Nearest(self.family, with_ahead(self.pieces[piece], best, ahead))

    @functools.cache  # noqa: B019
    def beaters(self, piece: int, best: int) -> tuple[int, ...]:
        """The arms that are better than `best` somewhere in a piece."""
        K = self.structure.n_arms
        return tuple(k for k in range(K) if k != best and can_beat(self.pieces[piece], k, best))

    def can_beat(self, best: int, challenger: int) -> bool:
        """Whether the challenger can be strictly better than `best` somewhere in M."""
        return any(challenger in self.beaters(p, best) for p in range(len(self.pieces)))

    def least(
        self,
        mu: np.ndarray,
        w: np.ndarray,
        programs: list[Nearest],
        best: int = -1,
        challenger: int = -1,
    ) -> float:
        """The least cost over several polyhedra, of points that are seen to be feasible."""
        least = np.inf
        for program in programs:
            lam = program.solve(mu, w)
            if lam is not None:
                lam = np.clip(lam, *ends_of(self.family))
                ordered = challenger < 0 or lam[best] <= lam[challenger] + 1e-10
                if not (ordered and is_feasible(self.structure, self.family, lam)):
                    raise UnsolvedError("the solver's minimiser is not feasible")
                least = min(least, cost(self.family, mu, w, lam))
        return least

    def project(self, mu: np.ndarray, w: np.ndarray) -> float:
        return self.least(mu, w, [self.nearest(p, -1, ()) for p in range(len(self.pieces))])

    def alt_min(self, mu: np.ndarray, w: np.ndarray, best: int, challenger: int) -> float:
        """Over the closure of { another arm is best }, with the challenger as good as `best`.

        A piece in which the challenger can be better is one in which it may be as good. Else some
        other arm that can be better must be as good as well.
        """
        if not self.can_beat(best, challenger):
            return np.inf
        programs = []
        for p in range(len(self.pieces)):
            beaters = self.beaters(p, best)
            if challenger in beaters:
                programs.append(self.nearest(p, best, (challenger,)))
            else:
                programs += [self.nearest(p, best, (challenger, i)) for i in beaters]
        return self.least(mu, w, programs, best, challenger)


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
