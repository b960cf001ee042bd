"""Trees with many arms: what small ones share with a line, and what is known in closed form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from structures_again import FAMILIES

import armature as am

ARMS = 60


def random_tree(n_arms: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    return [(int(rng.integers(k)), k) for k in range(1, n_arms)]


@pytest.mark.checks("UnimodalTree", by="`Unimodal` on a path, with its arms renumbered")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
def test_a_path_is_a_line(family: am.Family, rng: np.random.Generator) -> None:
    line = am.Unimodal(ARMS)
    for _ in range(10):
        order = rng.permutation(ARMS)
        tree = am.UnimodalTree(list(itertools.pairwise(order.tolist())))
        mu, w = rng.uniform(0.1, 0.9, ARMS), 10.0 ** rng.uniform(-1, 3, ARMS)
        w[rng.random(ARMS) < 0.1] = 0.0
        j = int(rng.integers(ARMS))
        here, there = (mu, w), (mu[order], w[order])
        place = np.argsort(order)
        for one, other in (
            (tree.project(*here, family), line.project(*there, family)),
            (
                tree.nearest_alternative(*here, j, family),
                line.nearest_alternative(*there, int(place[j]), family),
            ),
            (
                tree.nearest_with_best(*here, j, family),
                line.nearest_with_best(*there, int(place[j]), family),
            ),
        ):
            assert one.cost == pytest.approx(other.cost, rel=1e-10, abs=1e-12)
            assert tree.contains(one.means)
        costs = line.challenger_costs(*there, int(place[j]), family)
        assert tree.challenger_costs(*here, j, family)[order] == pytest.approx(costs, rel=1e-10)


@pytest.mark.checks("UnimodalTree", by="a sweep over the hub's mean, which leaves follow")
def test_a_star(rng: np.random.Generator) -> None:
    """With the peak at a leaf, all others are at most the hub, which is at most that leaf."""
    star = am.UnimodalTree([(0, k) for k in range(1, ARMS)])
    for _ in range(5):
        mu, w = rng.uniform(0.0, 1.0, ARMS), rng.uniform(1.0, 100.0, ARMS)
        peak = int(rng.integers(1, ARMS))
        hub = np.linspace(0.0, 1.0, 20_001)[:, None]
        means = np.minimum(mu, hub)
        means[:, 0] = hub[:, 0]
        means[:, peak] = np.maximum(mu[peak], hub[:, 0])
        least = (0.5 * w * (mu - means) ** 2).sum(axis=1).min()
        fit = star.nearest_with_best(mu, w, peak, am.Gaussian())
        assert fit.cost <= least
        assert fit.cost == pytest.approx(least, rel=1e-5)


def test_hundreds_of_arms(rng: np.random.Generator) -> None:
    """No point of the tree that a wrong peak gives is cheaper than the projection."""
    K = 300
    edges = random_tree(K, rng)
    tree = am.UnimodalTree(edges)
    mu, w = rng.uniform(0.0, 1.0, K), rng.uniform(1.0, 100.0, K)
    fit = tree.project(mu, w, am.Gaussian())
    j = int(np.argmax(fit.means))
    costs = tree.challenger_costs(mu, w, j, am.Gaussian())
    assert fit.cost == pytest.approx(costs.min(), rel=1e-12)
    assert tree.contains(fit.means)
    k = int(rng.integers(K))
    other = tree.nearest_with_best(mu, w, k, am.Gaussian())
    assert other.cost == pytest.approx(costs[k] if k != j else fit.cost, rel=1e-10)
    assert tree.contains(other.means)
    assert other.means[k] == other.means.max()
    assert tree.solved_by == "Kernels of its own."
