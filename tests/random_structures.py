"""Random structures of each kind, small enough for the reference solver."""

from __future__ import annotations

import numpy as np

import armature as am

KINDS = (
    am.Unconstrained,
    am.Unimodal,
    am.Categorised,
    am.Sparse,
    am.Linear,
    am.Lipschitz,
    am.Concave,
    am.Simplex,
    am.Polyhedral,
)
FAMILIES = (am.Gaussian(), am.Bernoulli(), am.Poisson(), am.Exponential())


def random_structure(kind: type[am.Structure], rng: np.random.Generator) -> am.Structure:
    K = int(rng.integers(2, 7))
    if kind in (am.Unconstrained, am.Unimodal, am.Simplex):
        return kind(K)
    if kind is am.Categorised:
        return am.Categorised(rng.integers(0, rng.integers(1, K + 1), K).tolist())
    if kind is am.Sparse:
        return am.Sparse(K, int(rng.integers(1, min(K, 4))), float(rng.uniform(0.1, 0.9)))
    if kind is am.Linear:
        # Positive features, of which some are shared: some theta gives means inside of (0, 1).
        features = rng.uniform(0.1, 1.0, (K, int(rng.integers(1, 4))))
        if K > 3 and rng.random() < 0.3:
            features[1] = features[0]
            features[2] = 2.0 * features[3]
        return am.Linear(features)
    positions = rng.permutation(K) + rng.uniform(0.0, 0.5, K) if rng.random() < 0.5 else None
    if kind is am.Lipschitz:
        return am.Lipschitz(K, float(rng.uniform(0.05, 0.5)), positions)
    if kind is am.Concave:
        return am.Concave(K, positions)
    if kind is am.Polyhedral:
        inside = rng.uniform(0.3, 0.7, K)
        A = rng.normal(size=(int(rng.integers(1, 2 * K)), K))
        C = rng.normal(size=(1, K)) if rng.random() < 0.4 and K > 2 else np.empty((0, K))
        return am.Polyhedral(A, A @ inside + rng.exponential(0.1, len(A)), C, C @ inside)
    raise NotImplementedError(kind)
