"""A few peaks: divisions into hills against pieces one by one, and with many arms."""

from __future__ import annotations

import numpy as np
import pytest
from structures_again import FAMILIES

import armature as am
from armature.structures.oracles.hills.challengers import PARTS
from armature.structures.oracles.hills.search import BEYOND, HALVINGS, ROUNDING
from armature.testing import DeclaredAgain, random_problem


def two_peaks(n_arms: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means with two peaks, seen with noise after some pulls of each arm."""
    x = np.arange(n_arms) / n_arms
    means = np.maximum(0.8 - 2.0 * np.abs(x - 0.7), 0.6 - 2.0 * np.abs(x - 0.2))
    pulls = np.maximum(1.0, 10.0 ** rng.uniform(0.0, 3.0, n_arms) * (means > 0.4))
    return np.clip(means + 0.3 * rng.normal(size=n_arms) / np.sqrt(pulls), 0.02, 0.98), pulls


@pytest.mark.checks("Multimodal", by="its pieces one by one")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize(("n_arms", "peaks"), [(7, 3), (9, 2)])
def test_pieces_one_by_one(
    n_arms: int, peaks: int, family: am.Family, rng: np.random.Generator
) -> None:
    structure = am.Multimodal(n_arms, peaks)
    derived = DeclaredAgain(structure)
    for trial in range(6):
        p = random_problem(structure, family, rng)
        mu, w = (p.means, p.weights) if trial % 2 else two_peaks(n_arms, rng)
        one, other = structure.project(mu, w, family), derived.project(mu, w, family)
        assert one.cost == pytest.approx(other.cost, rel=1e-8, abs=p.scale)
        for k in range(n_arms):
            if k == p.best:
                continue
            fit = structure.challenger_min(mu, w, p.best, k, family)
            least = derived.challenger_min(mu, w, p.best, k, family).cost
            assert fit.cost == pytest.approx(least, rel=1e-8, abs=p.scale)
            assert structure.contains(fit.means)
            assert fit.means[k] >= fit.means[p.best]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
def test_many_arms(family: am.Family, rng: np.random.Generator) -> None:
    """Costs belong to fits, more peaks cost less, and backwards all costs are the same."""
    K = 40
    mu, w = two_peaks(K, rng)
    j = int(np.argmax(mu))
    before = np.inf
    for peaks in (1, 2, 3):
        structure = am.Multimodal(K, peaks)
        fit = structure.project(mu, w, family)
        assert structure.contains(fit.means)
        costs = structure.challenger_costs(mu, w, j, family)
        assert costs[j] == pytest.approx(fit.cost, rel=1e-12)
        assert (costs >= fit.cost * (1.0 - 1e-9)).all()
        assert (costs <= before + 1e-9 * np.abs(before)).all()
        before = costs
        mirrored = structure.challenger_costs(mu[::-1], w[::-1], K - 1 - j, family)
        assert mirrored[::-1] == pytest.approx(costs, rel=1e-8)
        for k in ((j + 1) % K, (j + 15) % K, (j - 3) % K):
            fit = structure.challenger_min(mu, w, j, k, family)
            assert fit.cost == pytest.approx(costs[k], rel=1e-9)
            assert structure.contains(fit.means)
            assert fit.means[k] >= fit.means[j]
        nearest = structure.nearest_alternative(mu, w, j, family)
        assert nearest.cost == pytest.approx(np.delete(costs, j).min(), rel=1e-9)


def test_seventy_arms_and_five_peaks(rng: np.random.Generator) -> None:
    structure = am.Multimodal(70, 5)
    mu, w = rng.uniform(0.0, 1.0, 70), 10.0 ** rng.uniform(0.0, 2.0, 70)
    fit = structure.project(mu, w, am.Gaussian())
    assert structure.contains(fit.means)
    assert not am.Multimodal(70, 4).contains(fit.means)
    k = (int(np.argmax(fit.means)) + 20) % 70
    j = int(np.argmax(fit.means))
    other = structure.challenger_min(mu, w, j, k, am.Gaussian())
    assert structure.contains(other.means)
    assert other.cost >= fit.cost
    with pytest.raises(am.ArmatureError, match="more than 20000 pieces"):
        structure.alt_min(mu, w, j, k, am.Gaussian())


def test_how_high_arms_can_be(rng: np.random.Generator) -> None:
    """Against the pieces: an arm that can be a peak gets its upper end, with few enough others."""
    for _ in range(30):
        structure = am.Multimodal(7, int(rng.integers(1, 4)))
        low = rng.uniform(0.0, 1.0, 7)
        high = low + rng.exponential(0.2, 7)
        one, other = structure.highest(low, high), DeclaredAgain(structure).highest(low, high)
        assert (one is None) == (other is None)
        if one is not None:
            assert one.max() == pytest.approx(other.max(), abs=1e-9)
            assert (one <= other + 1e-9).all()


@pytest.mark.checks("MultimodalTree", by="`Multimodal` on a path, `UnimodalTree` with one peak")
def test_trees_that_have_other_names(rng: np.random.Generator) -> None:
    path = [(i, i + 1) for i in range(5)]
    star = [(0, k) for k in range(1, 6)]
    for tree, same in (
        (am.MultimodalTree(path, 2), am.Multimodal(6, 2)),
        (am.MultimodalTree(star, 1), am.UnimodalTree(star)),
    ):
        for family in FAMILIES:
            p = random_problem(same, family, rng)
            here = tree.challenger_costs(p.means, p.weights, p.best, family)
            there = same.challenger_costs(p.means, p.weights, p.best, family)
            assert here == pytest.approx(there, rel=1e-6, abs=p.scale)


def test_the_parts_that_wait_have_room() -> None:
    """One more for each cut of an interval, of which every second halves it, down to rounding."""
    widest = 2.0 * (1.0 + 2.0 * BEYOND)  # relative to the largest mean
    cuts = (1.0 + HALVINGS) * np.log2(widest / ROUNDING)
    assert cuts + 2 <= PARTS


def test_too_many_pieces_are_refused() -> None:
    binary = [((k - 1) // 2, k) for k in range(1, 31)]
    assert len(list(am.MultimodalTree(binary, 2).pieces())) == 1870
    with pytest.raises(am.ArmatureError, match="pieces, more than 20,000"):
        am.MultimodalTree(binary, 4)


def test_a_broken_condition_names_the_peaks() -> None:
    sentence = am.Multimodal(5, 1).violation_of([0.1, 0.9, 0.3, 0.8, 0.8])
    assert sentence == (
        "there are 2 peaks, at arms 1, 3, and there should be 1 at most: not multimodal"
    )
