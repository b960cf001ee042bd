"""Questions to a structure, drawn at random, and the reward families that it goes with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Bernoulli, Bounded, Exponential, Family, Gaussian, Poisson
from armature.structures import Fit, Structure

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
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


def random_problem(structure: Structure, family: Family, rng: np.random.Generator) -> Problem:
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
    return Problem(structure, family, means, weights, best, challenger)


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
