"""The lower bound as one convex program over the cells of `not *`, for cvxpy.

    maximise sum_c q_c   subject to  sum_c q_c d(mu_k, lam^c_k) <= gap_k for all k,  lam^c in cell c

is convex in (q_c, q_c lam^c): the perspective of a convex divergence. The best arm's mean is fixed
where its gap is 0. Cells are given by matrices, G lam <= h and E lam = f, that owe the library
nothing.
"""

from __future__ import annotations

import itertools
import warnings
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest
from reference import edges_from, ends_of, n_peaks
from scipy.linalg import null_space
from scipy.optimize import linprog

import armature as am


class Piece(NamedTuple):
    tag: object
    G: np.ndarray
    h: np.ndarray
    E: np.ndarray
    f: np.ndarray


def order(K: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    """One row for each pair (a, b): lam_a - lam_b <= 0."""
    rows = np.zeros((len(pairs), K))
    for row, (a, b) in zip(rows, pairs, strict=True):
        row[a], row[b] = 1.0, -1.0
    return rows


def matrix_pieces(structure: am.Structure) -> list[Piece]:
    K = structure.n_arms
    eye, none, nothing = np.eye(K), np.empty((0, K)), np.empty(0)
    match structure:
        case am.Unconstrained():
            return [Piece("all", none, nothing, none, nothing)]
        case am.Unimodal():
            result = []
            for p in range(K):
                rows = order(
                    K,
                    [(i, i + 1) for i in range(p)] + [(i + 1, i) for i in range(p, K - 1)],
                )
                result.append(Piece(p, rows, np.zeros(len(rows)), none, nothing))
            return result
        case am.Categorised():
            result = []
            for label in structure.labels:
                inside = [i for i in range(K) if structure.categories[i] == label]
                outside = [i for i in range(K) if structure.categories[i] != label]
                rows = order(K, list(itertools.product(outside, inside)))
                result.append(Piece(label, rows, np.zeros(len(rows)), none, nothing))
            return result
        case am.Sparse():
            level = structure.level
            result = []
            for s in itertools.combinations(range(K), structure.support):
                out = [i for i in range(K) if i not in s]
                G, h = -eye[list(s)], np.full(len(s), -level)
                result.append(Piece(s, G, h, eye[out], np.full(len(out), level)))
            return result
        case am.Linear():
            E = null_space(structure.features.T).T
            return [Piece("all", none, nothing, E, np.zeros(len(E)))]
        case am.Simplex():
            return [Piece("all", -eye, np.zeros(K), np.ones((1, K)), np.ones(1))]
        case am.Polyhedral():
            return [Piece("all", structure.A, structure.b, structure.C, structure.d)]
        case am.Lipschitz():
            x, L = structure.positions, structure.constant
            pairs = list(itertools.permutations(range(K), 2))
            reach = np.array([L * abs(x[i] - x[k]) for i, k in pairs])
            return [Piece("all", order(K, pairs), reach, none, nothing)]
        case am.Concave():
            sequence = np.argsort(structure.positions)
            x = structure.positions[sequence]
            steps = np.diff(eye[sequence], axis=0) / np.diff(x)[:, None]
            return [Piece("all", np.diff(steps, axis=0), np.zeros(K - 2), none, nothing)]
        case am.Box():
            above, below = np.isfinite(structure.high), np.isfinite(structure.low)
            G = np.vstack([eye[above], -eye[below]])
            h = np.concatenate([structure.high[above], -structure.low[below]])
            return [Piece("all", G, h, none, nothing)]
        case am.Monotone():
            rows = order(K, [(i, i + 1) for i in range(K - 1)])
            return [Piece("all", rows, np.zeros(K - 1), none, nothing)]
        case am.Multimodal():
            result = []
            for ups in itertools.product((True, False), repeat=K - 1):
                if n_peaks(ups) <= structure.peaks:
                    pairs = [(i, i + 1) if up else (i + 1, i) for i, up in enumerate(ups)]
                    result.append(Piece(ups, order(K, pairs), np.zeros(K - 1), none, nothing))
            return result
        case am.UnimodalTree():
            result = []
            for peak in range(K):
                pairs = [(far, near) for near, far in edges_from(structure.edges, peak)]
                result.append(Piece(peak, order(K, pairs), np.zeros(K - 1), none, nothing))
            return result
        case am.Relabelled():
            return [
                piece._replace(G=piece.G[:, structure.order], E=piece.E[:, structure.order])
                for piece in matrix_pieces(structure.structure)
            ]
        case am.Intersection():
            both = itertools.product(*(matrix_pieces(part) for part in structure.parts))
            return [
                Piece(
                    tuple(one.tag for one in some),
                    np.vstack([one.G for one in some]),
                    np.concatenate([one.h for one in some]),
                    np.vstack([one.E for one in some]),
                    np.concatenate([one.f for one in some]),
                )
                for some in both
            ]
        case am.Union():
            return [piece for part in structure.parts for piece in matrix_pieces(part)]
    raise NotImplementedError(structure)


def can_beat(piece: Piece, k: int, best: int) -> bool:
    """Whether arm k is better than the best one somewhere in a piece."""
    K = piece.G.shape[1]
    result = linprog(
        np.eye(K)[best] - np.eye(K)[k], piece.G, piece.h, piece.E, piece.f, bounds=(-100, 100)
    )
    return result.status == 0 and -result.fun > 1e-6


def perspective(family: am.Family, x: float, q: cp.Expression, y: cp.Expression) -> cp.Expression:
    """q d(x, y / q); for exponential rewards y stands for q / mean."""

    def entropy(x: float, y: cp.Expression) -> cp.Expression:
        """q x ln(x q / y), which is nothing at x = 0."""
        return x * np.log(x) * q + x * cp.rel_entr(q, y) if x > 0.0 else 0.0

    match family:
        case am.Gaussian():
            return cp.quad_over_lin(y - q * x, q) / (2.0 * family.sigma**2)
        case am.Bernoulli() | am.Bounded():
            low, high = ends_of(family)
            x, y = (x - low) / (high - low), (y - q * low) / (high - low)
            return entropy(x, y) + entropy(1 - x, q - y)
        case am.Poisson():
            return y - q * x + entropy(x, y)
        case am.Exponential():
            return x * y - q - q * np.log(x) + cp.rel_entr(q, y)
    raise NotImplementedError(family)


def is_open(instance: am.Instance, piece: Piece, k: int, stays: bool) -> bool:
    """Whether k beats the best arm somewhere in a piece at a finite cost.

    The best arm's mean may have to stay as it is.

    A linear program: how far can the means stay from those ends of the domain that are not theirs?
    """
    mu, best, K = instance.means, instance.best_arm, instance.n_arms
    low, high = (np.broadcast_to(end, K) for end in ends_of(instance.family))
    rows = [np.append(row, 0.0) for row in np.vstack([piece.G, order(K, [(best, k)])])]
    limits = [*piece.h, 0.0]
    for i in range(K):
        for sign, end in ((-1.0, low[i]), (1.0, high[i])):
            if np.isfinite(end):
                row = np.zeros(K + 1)
                row[i], row[K] = sign, float(mu[i] != end)
                rows.append(row)
                limits.append(sign * end)
    fixed, values = piece.E, piece.f
    if stays:
        fixed, values = np.vstack([fixed, np.eye(K)[best]]), np.append(values, mu[best])
    least = linprog(
        np.append(np.zeros(K), -1.0),
        np.array(rows),
        np.array(limits),
        np.hstack([fixed, np.zeros((len(fixed), 1))]) if len(fixed) else None,
        values if len(fixed) else None,
        bounds=[(None, None)] * K + [(-1.0, 1.0)],
    )
    return least.status == 0 and -least.fun > 1e-8


def dual_value(instance: am.Instance, epsilon: float | None = None) -> float:
    """V (or V_eps) by cvxpy with Clarabel."""
    structure, family, mu, best = (
        instance.structure,
        instance.family,
        instance.means,
        instance.best_arm,
    )
    K = structure.n_arms
    gaps = np.maximum(instance.gaps, epsilon or 0.0)
    reciprocal = isinstance(family, am.Exponential)
    constraints, qs, uses = [], [], [0.0] * K
    for piece in matrix_pieces(structure):
        for k in range(K):
            stays = gaps[best] == 0.0
            if not (can_beat(piece, k, best) and is_open(instance, piece, k, stays)):
                continue
            q, y = cp.Variable(nonneg=True), cp.Variable(K)
            G = np.vstack([piece.G, order(K, [(best, k)])])
            h = np.append(piece.h, 0.0)
            if reciprocal:
                # lam_a <= lam_b is y_a >= y_b; a level is its reciprocal.
                singles = (np.abs(G).sum(axis=1) == 1.0) & (h != 0.0)
                level = np.where(singles, 1.0 / np.where(h == 0.0, 1.0, h), h)
                constraints += [-(G @ y) <= -level * q]
                constraints += [piece.E @ y == (1.0 / piece.f) * q] if len(piece.f) else []
            else:
                constraints += [G @ y <= h * q]
                constraints += [piece.E @ y == piece.f * q] if len(piece.f) else []
                low, high = (np.broadcast_to(end, K) for end in ends_of(family))
                if isinstance(family, (am.Bernoulli, am.Bounded, am.Poisson)):
                    constraints += [y >= q * low]
                if isinstance(family, (am.Bernoulli, am.Bounded)):
                    constraints += [y <= q * high]
            if gaps[best] == 0.0:
                constraints.append(y[best] == q * (1.0 / mu[best] if reciprocal else mu[best]))
            for i in range(K):
                if i != best or gaps[best] > 0.0:
                    own = family.for_arm(i)
                    uses[i] = uses[i] + perspective(own, float(mu[i]), q, y[i])
            qs.append(q)
    if not qs:
        return 0.0
    constraints += [uses[i] <= gaps[i] for i in range(K) if gaps[i] > 0.0]
    problem = cp.Problem(cp.Maximize(cp.sum(cp.hstack(qs))), constraints)
    problem.solve(solver=cp.CLARABEL)
    if problem.status != cp.OPTIMAL:
        raise cp.error.SolverError(f"the solver says that its answer is {problem.status}")
    return float(problem.value)


def dual_value_or_none(instance: am.Instance, epsilon: float | None = None) -> float | None:
    """The same without the solver's remarks; None where it gives up."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dual_value(instance, epsilon)
    except cp.error.SolverError:
        return None


def check_certificate(instance: am.Instance, bound: am.LowerBound, epsilon: float | None) -> None:
    """The pulls tell every alternative apart; the alternatives' weights respect every gap."""
    structure, family, best = instance.structure, instance.family, instance.best_arm
    gaps = np.maximum(instance.gaps, epsilon or 0.0)
    assert bound.gap <= 1e-6
    assert bound.pulls @ gaps == pytest.approx(bound.value, rel=1e-9)
    if bound.value == 0.0:
        assert bound.alternatives == ()
        return
    pulls = bound.pulls.copy()
    if epsilon is None:
        pulls[best] = 1e9 * pulls.max()
    told_apart = structure.nearest_alternative(instance.means, pulls, best, family).cost
    assert told_apart >= 1.0 - 1e-5
    weights = np.array([a.weight for a in bound.alternatives])
    means = np.array([a.means for a in bound.alternatives])
    assert weights.sum() == pytest.approx(bound.value, rel=2e-6)
    used = weights @ np.asarray(family.divergence(instance.means[None, :], means))
    others = np.arange(instance.n_arms) != best
    assert (used <= gaps * (1 + 1e-6) + 1e-9)[others | (epsilon is not None)].all()
    for lam in means:
        assert structure.violation(lam, 1e-6) is None
        assert lam[others].max() >= lam[best] - 1e-6
        if epsilon is None:
            assert lam[best] == instance.means[best]
