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
    am.Box,
    am.Monotone,
    am.Multimodal,
    am.UnimodalTree,
    am.Intersection,
    am.Union,
    am.Relabelled,
)
ATOMS = (am.Unimodal, am.Categorised, am.Lipschitz, am.Box, am.Monotone, am.Concave)
FAMILIES = (am.Gaussian(), am.Bernoulli(), am.Poisson(), am.Exponential())


def random_structure(
    kind: type[am.Structure], rng: np.random.Generator, n_arms: int | None = None
) -> am.Structure:
    K = int(rng.integers(2, 7)) if n_arms is None else n_arms
    if kind in (am.Unconstrained, am.Unimodal, am.Simplex, am.Monotone):
        return kind(K)
    if kind in (am.Intersection, am.Union, am.Relabelled):
        return random_composition(kind, rng, min(K, 4))
    if kind is am.Box:
        low, high = rng.uniform(0.05, 0.5, K), rng.uniform(0.5, 0.95, K)
        return am.Box(K, [v if rng.random() < 0.7 else None for v in low], high)
    if kind is am.Multimodal:
        return am.Multimodal(min(K, 5), int(rng.integers(1, 4)))
    if kind is am.UnimodalTree:
        return am.UnimodalTree([(int(rng.integers(k)), k) for k in range(1, K)])
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


def random_composition(
    kind: type[am.Structure], rng: np.random.Generator, n_arms: int
) -> am.Structure:
    first, second = rng.choice(len(ATOMS), 2, replace=False)
    parts = [random_structure(ATOMS[i], rng, n_arms) for i in (first, second)]
    if kind is am.Intersection:
        return parts[0] & parts[1]  # both contain constant means near 0.5
    if kind is am.Union:
        return parts[0] | parts[1]
    return am.Relabelled(parts[0], rng.permutation(n_arms).tolist())
