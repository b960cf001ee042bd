"""The instance-dependent lower bound of Graves and Lai, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.bounds.allocation import CERTIFIED, NO_ALTERNATIVE, Tableau, allocate
from armature.errors import ArmatureError
from armature.instance import Instance
from armature.structures import Structure, Unconstrained
from armature.structures.model import make_model

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-6
STEPS = 100_000


@dataclass(frozen=True, eq=False)
class Alternative:
    """A confusing instance: mean vectors of M with another best arm, hard to tell from the truth.

    `weight` is its share q_i of the bound: the weights of all alternatives add up to the value.
    """

    means: Floats
    weight: float


@dataclass(frozen=True, eq=False)
class LowerBound:
    """What any consistent algorithm must lose: at least `value` * ln T in the long run.

    Attributes
    ----------
        value: V, the cost of `pulls`.
        pulls: the optimal pulls of each arm per ln T. The best arm, whose pulls cost nothing, is
            pulled in all other rounds and has 0 here (unless its gap is perturbed).
        alternatives: the confusing instances that bind, heaviest first; none where V = 0.
        gap: how far `value` can be from the truth, relatively: the cost of `pulls`, which tell all
            alternatives apart, is above it, and the total weight of `alternatives` below.
        unconstrained: the same bound for someone who does not know the structure.
    """

    value: float
    pulls: Floats
    alternatives: tuple[Alternative, ...]
    gap: float
    unconstrained: float


def lower_bound(instance: Instance, epsilon: float | None = None) -> LowerBound:
    """The Graves-Lai constant V of an instance, and the allocation that attains it.

    Solves  min_N sum_k N_k gap_k  such that  sum_k N_k d(mu_k, lam_k) >= 1  for every lam in M
    whose best arm is another. With `epsilon`, every gap is at least that (also the best arm's):
    the perturbed value V_eps of the paper.

    The value is certified to a relative 1e-6, or an `ArmatureError` says that it could not be.

    >>> from armature.structures import Unimodal
    >>> bound = lower_bound(Instance(Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1]))
    >>> round(bound.value, 6), round(bound.unconstrained, 3)
    (14.0, 19.357)
    >>> bound.pulls.round(3).tolist()
    [0.0, 8.0, 0.0, 50.0, 0.0]

    References: Graves and Lai (1997); the paper's equations (1) and (2).
    """
    if epsilon is not None and not (np.isfinite(epsilon) and epsilon > 0.0):
        raise ArmatureError(f"epsilon must be a positive finite number; got {epsilon!r}.")
    gaps = np.maximum(instance.gaps, 0.0 if epsilon is None else epsilon)
    bound = _solve(instance.structure, instance, gaps)
    if isinstance(instance.structure, Unconstrained):
        unconstrained = bound.value
    else:
        unconstrained = _solve(Unconstrained(instance.n_arms), instance, gaps).value
    return LowerBound(bound.value, bound.pulls, bound.alternatives, bound.gap, unconstrained)


def _solve(structure: Structure, instance: Instance, gaps: Floats) -> LowerBound:
    K = instance.n_arms
    pulls, bounds = np.zeros(K), np.zeros(2)
    tableau = make_tableau(K)
    outcome = run_allocate(
        structure, instance, gaps, TOLERANCE, STEPS, False, pulls, bounds, tableau
    )
    if outcome == NO_ALTERNATIVE:
        return LowerBound(0.0, pulls, (), 0.0, 0.0)
    gap = float(abs(bounds[1] - bounds[0]) / bounds[1]) if np.isfinite(bounds[1]) else 1.0
    if outcome != CERTIFIED:
        raise ArmatureError(
            f"the lower bound could not be certified: it is between {bounds[0]:g} and "
            f"{bounds[1]:g}, a relative gap of {gap:.1e} where {TOLERANCE:.0e} is asked for."
        )
    used = np.flatnonzero((tableau.is_slack == 0) & (tableau.amounts > 1e-12 * bounds[1]))
    alternatives = [
        Alternative(tableau.alternatives[r].copy(), float(tableau.amounts[r])) for r in used
    ]
    alternatives.sort(key=lambda a: -a.weight)
    return LowerBound(float(bounds[1]), pulls, tuple(alternatives), gap, 0.0)


def make_tableau(K: int) -> Tableau:
    """An empty tableau for K arms."""
    return Tableau(
        np.zeros((K, K)),
        np.zeros((K, K)),
        np.zeros((K, K)),
        np.zeros(K),
        np.zeros(K, dtype=np.int64),
        np.zeros((5, K)),
        np.zeros((K, K)),
    )


def run_allocate(
    structure: Structure,
    instance: Instance,
    gaps: Floats,
    tolerance: float,
    steps: int,
    warm: bool,
    pulls: Floats,
    bounds: Floats,
    tableau: Tableau,
) -> int:
    """`allocate` for an instance; the structure need not be the instance's own."""
    model = make_model(structure, instance.family, ("nearest", "alt_min"))
    mu, gaps = instance.means.copy(), np.ascontiguousarray(gaps)
    return allocate(
        model, mu, gaps, instance.best_arm, tolerance, steps, warm, pulls, bounds, tableau
    )
