"""The lower bound as one convex program over the cells of `not *`, for Clarabel.

    maximise sum_c q_c   subject to  sum_c q_c d(mu_k, lam^c_k) <= gap_k for all k,  lam^c in cell c

is convex in (q_c, q_c lam^c): the perspective of a convex divergence. The best arm's mean is fixed
where its gap is 0.
"""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from reference import Rows, UnsolvedError, merged, perspective
from scipy import sparse
from scipy.optimize import linprog
from structures_again import Piece, can_beat, ends_of, order, pieces_of

import armature as am


def is_open(instance: am.Instance, piece: Piece, best: int, k: int, still: list[int]) -> bool:
    """Whether k beats the best arm somewhere in a piece at a finite cost.

    The means of some arms have to stay as they are.

    A linear program: how far can the means stay from those ends of the domain that are not theirs?
    """
    mu, K = instance.cells, instance.n_arms
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
    if still:
        fixed, values = np.vstack([fixed, np.eye(K)[still]]), np.append(values, mu[still])
    least = linprog(
        np.append(np.zeros(K), -1.0),
        np.array(rows),
        np.array(limits),
        np.hstack([fixed, np.zeros((len(fixed), 1))]) if len(fixed) else None,
        values if len(fixed) else None,
        bounds=[(None, None)] * K + [(-1.0, 1.0)],
    )
    return least.status == 0 and -least.fun > 1e-8


def divided(row: np.ndarray, y: int, q: int, limit: float) -> dict[int, float]:
    """row lam - limit for lam = y / q, times q."""
    return {**{y + i: float(value) for i, value in enumerate(row)}, q: -limit}


def rivals_of(instance: am.Instance, segment: int | None = None) -> list[tuple[int, int]]:
    """Each segment's best cell with every other cell of it; of one segment, if it is named."""
    pairs = []
    for c, (start, stop) in enumerate(instance.structure.segments):
        best = start + int(instance.cells[start:stop].argmax())
        if segment in (None, c):
            pairs += [(best, k) for k in range(start, stop) if k != best]
    return pairs


def dual_value(
    instance: am.Instance,
    epsilon: float | None = None,
    prices: np.ndarray | None = None,
    segment: int | None = None,
) -> float:
    """V (or V_eps, or with any prices of a pull of each arm) by Clarabel."""
    family, mu = instance.family_of_cells, instance.cells
    K = instance.n_arms
    gaps = np.maximum(instance.gaps.reshape(-1), epsilon or 0.0) if prices is None else prices
    still = sorted({best for best, _ in rivals_of(instance) if gaps[best] == 0.0})
    inverse = isinstance(family, am.Exponential)
    low, high = (np.broadcast_to(end, K) for end in ends_of(family))
    equal, less, squares, logs = Rows(), Rows(), Rows(), Rows()  # `logs` counts all variables
    qs: list[int] = []
    uses: list[dict[int, float]] = [{} for _ in range(K)]
    for piece in pieces_of(instance.structure):
        for best, k in rivals_of(instance, segment):
            if not (can_beat(piece, k, best) and is_open(instance, piece, best, k, still)):
                continue
            q, y = logs.new(1), logs.new(K)
            qs.append(q)
            less.add({q: -1.0})
            G = np.vstack([piece.G, order(K, [(best, k)])])
            h = np.append(piece.h, 0.0)
            for row, limit in zip(G, h, strict=True):
                if inverse:  # lam_a <= lam_b is y_a >= y_b; a level is its reciprocal
                    is_level = np.abs(row).sum() == 1.0 and limit != 0.0
                    less.add(divided(-row, y, q, -1.0 / limit if is_level else -limit))
                else:
                    less.add(divided(row, y, q, limit))
            for row, value in zip(piece.E, piece.f, strict=True):
                equal.add(divided(row, y, q, 1.0 / value if inverse else value))
            for i in range(K):
                if np.isfinite(low[i]) and not inverse:
                    less.add({y + i: -1.0, q: low[i]})
                if np.isfinite(high[i]):
                    less.add({y + i: 1.0, q: -high[i]})
                if i not in still:
                    own = perspective(family.for_arm(i), float(mu[i]), q, y + i, logs, squares)
                    uses[i] = merged(uses[i], own)
            for i in still:
                equal.add({y + i: 1.0, q: -1.0 / mu[i] if inverse else -mu[i]})
    if not qs:
        return 0.0
    for i in range(K):
        if gaps[i] > 0.0:
            less.add(uses[i], gaps[i])
    groups = (equal, less, squares, logs)
    starts = np.cumsum([0, *(len(group.limits) for group in groups)])
    rows, columns, values = zip(
        *((start + r, c, v) for start, group in zip(starts, groups, strict=False)
          for r, c, v in group.entries),
        strict=True,
    )  # fmt: skip
    n = logs.size
    A = sparse.csc_matrix((values, (rows, columns)), shape=(starts[-1], n))
    limits = np.concatenate([group.limits for group in groups])
    cones = [clarabel.ZeroConeT(len(equal.limits)), clarabel.NonnegativeConeT(len(less.limits))]
    cones += [clarabel.SecondOrderConeT(3)] * (len(squares.limits) // 3)
    cones += [clarabel.ExponentialConeT()] * (len(logs.limits) // 3)
    objective = np.zeros(n)
    objective[qs] = -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((n, n)), objective, A, limits, cones, settings
    )
    solution = solver.solve()
    if solution.status != clarabel.SolverStatus.Solved:
        raise UnsolvedError(f"the solver says that its answer is {solution.status}")
    return -float(solution.obj_val)


def dual_value_or_none(instance: am.Instance, epsilon: float | None = None) -> float | None:
    """The same; None where the solver gives up."""
    try:
        return dual_value(instance, epsilon)
    except UnsolvedError:
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
