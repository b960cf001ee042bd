"""Questions to a structure, drawn at random, the families that it goes with, and right answers.

Answers are compared with those of the declaration alone. A tie of arms that no mean vector of a
structure breaks is no alternative.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Bernoulli, Bounded, Exponential, Family, Gaussian, Poisson
from armature.structures import Fit, Piece, Structure

Floats = npt.NDArray[np.float64]
NEAR = 1e-3  # how far from a tie others are looked for, in units of the largest mean (1 at least)
AHEAD = 1e-9  # how much better an arm is, likewise, for it to be no rounding


@dataclass(frozen=True)
class RandomProblem:
    """One question to a structure. `means` need not be in M, `weights` may be zero."""

    structure: Structure
    family: Family
    means: Floats
    weights: Floats
    best: int
    challenger: int

    def project(self) -> Fit:
        """The nearest point of M."""
        return self.structure.project(self.means, self.weights, self.family)

    def nearest(self) -> Fit:
        """The nearest alternative."""
        return self.structure.nearest_alternative(self.means, self.weights, self.best, self.family)

    def alt_min(self, challenger: int) -> Fit:
        """The nearest alternative for one challenger."""
        return self.structure.alt_min(self.means, self.weights, self.best, challenger, self.family)

    def cost(self, lam: Floats) -> float:
        """sum_i w_i d(mu_i, lam_i)."""
        inside = self.family.clipped(lam)
        seen = self.weights > 0.0
        terms = np.asarray(self.family.divergence(self.means, inside))
        return float(self.weights[seen] @ terms[seen])

    @property
    def scale(self) -> float:
        """A cost that counts as small: rounding errors are relative to it."""
        return 1e-12 * float(self.weights.sum()) + 1e-300


def random_problem(structure: Structure, family: Family, rng: np.random.Generator) -> RandomProblem:
    """Means in M or not, some equal, some (or all) at an end of the family's domain.

    Weights over six orders of magnitude, or small whole numbers as after a few pulls; some are 0.
    """
    K = structure.n_arms
    means = rng.uniform(0.02, 0.98, K)
    kind = rng.integers(5)
    if kind == 0:
        inside = family.clipped(means)
        means = np.clip(structure.project(inside, np.ones(K), family).means, 0.0, 1.0)
    elif kind == 1:
        means = np.round(means, 1)
    elif kind == 2:
        means = means[rng.integers(K, size=K)]
    means = family.clipped(means)
    domains = [family.for_arm(k).domain for k in range(K)]
    for ends in ([end.low for end in domains], [end.high for end in domains]):
        if ends[0] in domains[0] and rng.random() < 0.3:
            at = rng.random(K) < rng.choice([0.2, 0.5, 1.0])
            means[at] = np.array(ends)[at]
    if isinstance(family, Exponential):
        means = np.maximum(means, 0.01)
    weights = 10.0 ** rng.uniform(-6.0, 0.0, K)
    if rng.random() < 0.3:
        weights = rng.integers(1, 65, K).astype(np.float64)
    weights[rng.random(K) < 0.15] = 0.0
    best, challenger = rng.permutation(K)[:2].tolist()
    return RandomProblem(structure, family, means, weights, best, challenger)


def supported_families(structure: Structure) -> tuple[Family, ...]:
    """The families that a structure goes with (all of them for a user's own structure)."""
    families = (Gaussian(), Bernoulli(), Poisson(), Exponential())
    return tuple(f for f in families if _accepts(structure, f))


def further_families(structure: Structure) -> tuple[Family, ...]:
    """More of what it goes with: parameters for each arm, means from elsewhere than 0 on."""
    K = structure.n_arms
    rng = np.random.default_rng(K)
    families = (
        Gaussian(rng.uniform(0.3, 3.0, K).tolist()),
        Bernoulli(rng.uniform(0.7, 2.5, K).tolist()),
        Bounded(-0.5, 1.5),
    )
    return tuple(f for f in families if _accepts(structure, f))


def _accepts(structure: Structure, family: Family) -> bool:
    try:
        structure.checked_family(family)
    except ArmatureError:
        return False
    return True


class DeclaredAgain(Structure):
    """A structure that has nothing of another but its declaration: everything is derived."""

    def __init__(self, structure: Structure) -> None:
        self.structure, self.n_arms = structure, structure.n_arms
        self.challenge = "top" if structure.reads_by_top else "order"

    def pieces(self) -> Iterable[Piece]:
        return self.structure.pieces()


@functools.lru_cache(maxsize=8)
def declaration_of(structure: Structure) -> DeclaredAgain | None:
    """The structure's declaration alone, or None where it declares no pieces."""
    try:
        structure.pieces()
    except ArmatureError:
        return None
    return DeclaredAgain(structure)


def has_another_best(structure: Structure, family: Family, lam: Floats, best: int) -> bool:
    """True if mean vectors of M, as near to lam as one likes, have another best arm.

    At lam itself another arm may be as good as `best` and no better. Then, for each such arm k,
    lam + s (e_k - e_best) is projected onto M, for a small s. Where M is a union of polyhedra, it
    looks near lam as the directions u in which one can go from there. Let v be the nearest of these
    to s (e_k - e_best): then s (v_k - v_best) is |v|^2, as with v all its multiples are directions.
    It is positive if and only if some direction has u_k > u_best, which is what is asked.
    """
    size = max(1.0, float(np.abs(lam).max()))
    others = np.flatnonzero(np.arange(lam.size) != best)
    if lam[others].max() > lam[best] + AHEAD * size:
        return True
    step = NEAR * size
    if not _is_even_there(family, lam, 2.0 * step):
        return True  # the projection says nothing
    for k in others[lam[others] >= lam[best] - AHEAD * size]:
        moved = lam.copy()
        moved[k] += step
        moved[best] -= step
        fit = structure.project(moved, np.ones(lam.size), family)
        if fit.cost < np.inf and fit.means[k] > fit.means[best] + AHEAD * size:
            return True
    return False


def _is_even_there(family: Family, lam: Floats, margin: float) -> bool:
    """True if small moves of equal means cost the same: of arms that are alike, off all ends."""
    low, high = family.domain_ends
    return bool(family.alike and ((lam > low + margin) & (lam < high - margin)).all())
