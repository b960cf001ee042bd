"""Policies that are made to find the best arm: every decision once more, and where they end."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armature as am
from armature.bounds.learners import AdaHedge, Tracker
from armature.experiments import load_instance


@pytest.mark.checks("TopTwo", "GameSampling", "TrackAndStop", by="optimal shares without noise")
@pytest.mark.parametrize("panel", ["unconstrained", "unimodal-1", "linear", "sparse-2"])
@pytest.mark.parametrize(
    "policy", [am.TopTwo(), am.TrackAndStop(forced=0.0), am.GameSampling(confidence="none")],
    ids=lambda p: p.name,
)  # fmt: skip
def test_without_noise_the_shares_go_to_the_best_ones(panel: str, policy: am.Policy) -> None:
    """1 / T* is the most that shares can tell the nearest alternative apart by, per sample."""
    instance = load_instance(panel)
    bandit = am.Bandit(policy, instance.structure, instance.family)
    for _ in range(2000):
        arm = bandit.ask()
        bandit.tell(arm, instance.means[arm])
    shares = bandit.pulls / bandit.pulls.sum()
    nearest = instance.structure.nearest_alternative(
        instance.means, shares, instance.best_arm, instance.family
    )
    assert 0.9 < nearest.cost * am.characteristic_time(instance).value <= 1.0 + 1e-5


def test_uniform_shares_do_not() -> None:
    instance = load_instance("unimodal-1")
    even = np.full(5, 0.2)
    nearest = instance.structure.nearest_alternative(instance.means, even, 2, instance.family)
    assert nearest.cost * am.characteristic_time(instance).value < 0.7


def next_of_top_two(instance, pulls, means, owed) -> int:
    """TopTwo once more, from its docstring."""
    structure, family = instance.structure, instance.family
    fit = structure.project(means, pulls, family)
    fitted = np.asarray(fit.means)
    j = int(np.argmax(fitted))
    lam = np.asarray(structure.nearest_alternative(means, pulls, j, family).means)
    others = [k for k in range(instance.n_arms) if k != j]
    G = {i: structure.challenger_min(means, pulls, j, i, family).cost - fit.cost for i in others}
    waits = {i: max(G[i], 0.0) + math.log(pulls[i]) for i in others}
    first = min(waits, key=waits.__getitem__)
    if waits[first] + 1.0 < math.log(pulls[j]):
        return first
    told = np.asarray(family.divergence(fitted, lam))
    h = pulls * told
    if not 0.0 < h.sum() < math.inf:
        return int(np.argmin(pulls))
    owed[0] += h[j] / h.sum()
    if owed[0] >= 0.5:
        owed[0] -= 1.0
        return j
    return max(others, key=lambda k: told[k])


@pytest.mark.checks("TopTwo", by="a slow twin, decision by decision")
@pytest.mark.parametrize("panel", ["unconstrained", "categorised-2", "sparse-1", "linear"])
def test_every_decision_of_top_two(panel: str) -> None:
    instance = load_instance(panel)
    rng = np.random.default_rng(7)
    bandit = am.Bandit(am.TopTwo(), instance.structure, instance.family)
    owed = [0.0]
    for t in range(150):
        arm = bandit.ask()
        if t < instance.n_arms:
            assert arm == t
        else:
            pulls, means = bandit.pulls.astype(float), bandit.means.copy()
            assert arm == next_of_top_two(instance, pulls, means, owed)
        bandit.tell(arm, rng.normal(instance.means[arm]))


def step_of_the_game(instance, pulls, means, learners, played, tracker) -> int:
    """GameSampling once more, from its docstring."""
    structure, family = instance.structure, instance.family
    fitted = np.asarray(structure.project(means, pulls, family).means)
    j = int(np.argmax(fitted))
    played[j] += 1
    w = learners[j].weights()
    lam = np.asarray(structure.nearest_alternative(fitted, w, j, family).means)
    level = math.log(played[j]) / pulls
    ends = [fitted, family.lower(means, level), family.upper(means, level)]
    gains = np.max([family.divergence(np.asarray(x), lam) for x in ends], axis=0)
    learners[j].update(-gains)
    return tracker.pull(w)


@pytest.mark.checks("GameSampling", by="a slow twin, decision by decision")
@pytest.mark.parametrize("panel", ["unconstrained", "categorised-2", "sparse-2", "linear"])
def test_every_decision_of_the_game(panel: str) -> None:
    """Gaussian rewards, whose domain has no ends."""
    instance = load_instance(panel)
    K, rng = instance.n_arms, np.random.default_rng(7)
    bandit = am.Bandit(am.GameSampling(), instance.structure, instance.family)
    learners, played, tracker = [AdaHedge(K) for _ in range(K)], np.zeros(K), Tracker(K)
    for t in range(150):
        arm = bandit.ask()
        if t >= K:
            pulls, means = bandit.pulls.astype(float), bandit.means.copy()
            assert arm == step_of_the_game(instance, pulls, means, learners, played, tracker)
        bandit.tell(arm, rng.normal(instance.means[arm]))


@pytest.mark.checks("TrackAndStop", by="a case by hand")
def test_what_track_and_stop_forces() -> None:
    """Each arm has at least sqrt(t) - K/2 pulls, up to one; half and half of two arms."""
    bandit = am.Bandit(am.TrackAndStop(), am.Unconstrained(4))
    for t in range(1, 400):
        arm = bandit.ask()
        bandit.tell(arm, [0.0, 3.0, 0.0, 0.0][arm])
        assert bandit.pulls.min() >= math.sqrt(t) - 2.0 - 4.0
    assert bandit.pulls.min() >= 14
    free = am.Bandit(am.TrackAndStop(forced=0.0), am.Unconstrained(2))
    for _ in range(100):
        arm = free.ask()
        free.tell(arm, [0.0, 1.0][arm])
    assert free.pulls.tolist() == [50, 50]
