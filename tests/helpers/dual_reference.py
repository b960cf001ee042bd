"""The lower bound as one convex program over the cells of `not *`, for cvxpy.

    maximise sum_c q_c   subject to  sum_c q_c d(mu_k, lam^c_k) <= gap_k for all k,  lam^c in cell c

is convex in (q_c, q_c lam^c): the perspective of a convex divergence. The best arm's mean is fixed
where its gap is 0.
"""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest
from reference import perspective
from scipy.optimize import linprog
from structures_again import Piece, can_beat, ends_of, order, pieces_of

import armature as am


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
    for piece in pieces_of(structure):
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
