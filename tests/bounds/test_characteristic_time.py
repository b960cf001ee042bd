"""The characteristic time: closed forms, Garivier and Kaufmann's equations, convex programs."""

from __future__ import annotations

import numpy as np
import pytest
from dual_reference import dual_value_or_none
from scipy.optimize import brentq
from structures_again import FAMILIES, KINDS
from test_bounds import PANELS, random_instance

import armature as am


def time_by_equations(instance: am.Instance) -> tuple[float, np.ndarray]:
    """T* and the shares without structure, by two nested root searches.

    With x_a = w_a / w_best, all pairs have the same cost y, and the informations per pull balance:
    sum_a d(mu_best, m_a) / d(mu_a, m_a) = 1, where m_a is the pooled mean of a and the best arm.
    """
    mu, best, d = instance.means, instance.best_arm, instance.family.divergence
    others = [a for a in range(mu.size) if a != best]

    def pooled(a: int, x: float) -> float:
        return (mu[best] + x * mu[a]) / (1.0 + x)

    def cost(a: int, x: float) -> float:
        return d(mu[best], pooled(a, x)) + x * d(mu[a], pooled(a, x))

    def ratio(a: int, y: float) -> float:
        return brentq(lambda x: cost(a, x) - y, 0.0, 1e12, xtol=1e-14, rtol=1e-14)

    def balance(y: float) -> float:
        total = 0.0
        for a in others:
            m = pooled(a, ratio(a, y))
            total += d(mu[best], m) / d(mu[a], m)
        return total - 1.0

    least = min(d(mu[best], mu[a]) for a in others)  # what x -> infinity comes to
    y = brentq(balance, 1e-9 * least, (1.0 - 1e-9) * least, xtol=1e-15, rtol=1e-14)
    shares = np.array([1.0 if a == best else ratio(a, y) for a in range(mu.size)])
    total = shares.sum()
    return total / y, shares / total


def check_time(instance: am.Instance, time: am.CharacteristicTime) -> None:
    """The shares tell all alternatives apart; the alternatives' weights leave every arm its 1."""
    structure, family, best = instance.structure, instance.family, instance.best_arm
    assert time.gap <= 1e-6
    assert time.shares.sum() == pytest.approx(1.0)
    assert (time.shares >= 0.0).all()
    cost = structure.nearest_alternative(instance.means, time.shares, best, family).cost
    if time.value == 0.0:  # nothing in M has another best arm
        assert cost == np.inf
        assert time.alternatives == ()
        return
    assert time.value * cost >= 1.0 - 1e-5
    weights = np.array([a.weight for a in time.alternatives])
    means = np.array([a.means for a in time.alternatives])
    assert weights.sum() == pytest.approx(time.value, rel=2e-6)
    used = weights @ np.asarray(family.divergence(instance.means[None, :], means))
    assert (used <= 1.0 + 1e-6).all()
    for lam in means:
        assert structure.violation(lam, 1e-6) is None
        assert np.delete(lam, best).max() >= lam[best] - 1e-6


@pytest.mark.checks("characteristic_time", by="two arms by hand")
def test_two_gaussian_arms() -> None:
    """8 sigma^2 / gap^2; with a sigma for each, 2 (sigma_1 + sigma_2)^2 / gap^2."""
    for sigma, gap in ((1.0, 1.0), (0.3, 0.02), (4.0, 7.0)):
        time = am.characteristic_time(
            am.Instance(am.Unconstrained(2), [5.0, 5.0 - gap], am.Gaussian(sigma))
        )
        assert time.value == pytest.approx(8.0 * sigma**2 / gap**2, rel=1e-6)
        assert time.shares == pytest.approx([0.5, 0.5], abs=1e-3)
        assert time.unconstrained == time.value
    own = am.Instance(am.Unconstrained(2), [0.0, 0.5], am.Gaussian((1.0, 3.0)))
    time = am.characteristic_time(own)
    assert time.value == pytest.approx(2.0 * 16.0 / 0.25, rel=1e-6)
    assert time.shares == pytest.approx([0.25, 0.75], abs=1e-3)


@pytest.mark.checks("characteristic_time", by="the published equations, by root search")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
def test_against_the_equations_of_garivier_and_kaufmann(
    family: am.Family, rng: np.random.Generator
) -> None:
    for _ in range(4):
        K = int(rng.integers(2, 7))
        means = np.append(rng.uniform(0.1, 0.75, K - 1), 0.85)
        instance = am.Instance(am.Unconstrained(K), rng.permutation(means), family)
        value, shares = time_by_equations(instance)
        time = am.characteristic_time(instance)
        check_time(instance, time)
        assert time.value == pytest.approx(value, rel=2e-6)
        assert time.shares == pytest.approx(shares, abs=5e-3)


@pytest.mark.checks("characteristic_time", by="a convex program")
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_against_a_convex_program(kind: type[am.Structure], rng: np.random.Generator) -> None:
    """All gaps are below 1 here, so that the bound with the least gap 1 is T*."""
    compared = 0
    for family in FAMILIES:
        instance = random_instance(kind, family, rng)
        if instance is None:
            continue
        time = am.characteristic_time(instance)
        check_time(instance, time)
        assert time.value <= time.unconstrained * (1.0 + 2e-6)
        value = dual_value_or_none(instance, 1.0)
        if value is None:
            continue
        assert time.value == pytest.approx(value, rel=5e-5, abs=1e-6), instance
        compared += 1
    assert compared > 0


@pytest.mark.parametrize("panel", PANELS)
def test_panels(panel: str) -> None:
    """All have a finite T*: also sparse-1, whose V is 0, as samples of the best arm count too."""
    instance = am.Instance(*PANELS[panel][:2])
    time = am.characteristic_time(instance)
    check_time(instance, time)
    assert 0.0 < time.value <= time.unconstrained * (1.0 + 2e-6)


@pytest.mark.checks("characteristic_time", by="invariances")
def test_invariances() -> None:
    """Shifts and reflections of the arms leave T* as it is; another scale squares it."""
    means = np.array([0.2, 0.4, 0.9, 0.7, 0.1])
    time = am.characteristic_time(am.Instance(am.Unimodal(5), means))
    moved = am.characteristic_time(am.Instance(am.Unimodal(5), means + 17.0))
    turned = am.characteristic_time(am.Instance(am.Unimodal(5), means[::-1].copy()))
    scaled = am.characteristic_time(am.Instance(am.Unimodal(5), 3.0 * means, am.Gaussian(6.0)))
    assert moved.value == pytest.approx(time.value, rel=2e-6)
    assert turned.value == pytest.approx(time.value, rel=2e-6)
    assert turned.shares[::-1] == pytest.approx(time.shares, abs=5e-3)
    assert scaled.value == pytest.approx(4.0 * time.value, rel=2e-6)


def test_where_no_other_arm_can_be_best() -> None:
    box = am.Box(2, low=[0.0, 2.0], high=[1.0, 3.0])
    time = am.characteristic_time(am.Instance(box, [0.5, 2.5]))
    assert time.value == 0.0
    assert time.alternatives == ()
    assert time.shares.tolist() == [0.5, 0.5]
    assert time.unconstrained == pytest.approx(2.0, rel=1e-6)


def test_a_wrong_structure_is_refused() -> None:
    instance = am.Instance(am.Unimodal(3), [0.9, 0.1, 0.5], strict=False)
    with pytest.raises(am.ArmatureError, match="no characteristic time"):
        am.characteristic_time(instance)


def test_the_checks_can_fail() -> None:
    instance = am.Instance(*PANELS["unimodal-1"][:2])
    good = am.characteristic_time(instance)
    check_time(instance, good)
    even = np.full(5, 0.2)
    wrong = am.CharacteristicTime(good.value, even, good.alternatives, 0.0, good.unconstrained)
    with pytest.raises(AssertionError):
        check_time(instance, wrong)
    free = am.Instance(am.Unconstrained(4), [0.0, 0.3, 0.7, 1.0])
    value, _ = time_by_equations(free)
    assert am.lower_bound(free, epsilon=0.9).value != pytest.approx(value, rel=1e-3)
