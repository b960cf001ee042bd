"""Lower bounds where V is 0 or nearly, where divergences are infinite, huge or tiny."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from dual_reference import dual_value, dual_value_or_none
from structures_again import FAMILIES, KINDS, random_structure

import armature as am
from armature.bounds import bound_or_none
from armature.bounds.lower_bound import closed_challengers
from armature.experiments.paper import make_table
from armature.testing import supported_families

NO_REGRET = [
    # A challenger at 1/2 leaves nothing for the third arm.
    am.Instance(am.Simplex(3), [0.5, 0.3, 0.2], am.Poisson()),
    am.Instance(am.Simplex(3), [0.1, 0.5, 0.4], am.Bernoulli()),
    am.Instance(am.Simplex(4), [0.5, 0.3, 0.2, 0.0], am.Bernoulli()),
    # A challenger would have to be as good as can be.
    am.Instance(am.Unconstrained(2), [1.0, 0.5], am.Bernoulli()),
    am.Instance(am.Unimodal(3), [0.0, 1.0, 0.5], am.Bernoulli()),
    am.Instance(am.Concave(3), [0.4, 0.7, 1.0], am.Bernoulli()),
    # Nothing in M keeps the best mean and has another best arm.
    am.Instance(am.Simplex(3), [0.7, 0.2, 0.1], am.Poisson()),
]


@pytest.mark.parametrize("instance", NO_REGRET, ids=str)
def test_infinite_information_costs_nothing(instance: am.Instance) -> None:
    bound = am.lower_bound(instance)
    assert (bound.value, bound.gap, bound.alternatives) == (0.0, 0.0, ())
    assert (bound.pulls == 0.0).all()
    assert dual_value(instance) == 0.0
    # The perturbed problem weighs the best arm's moves, which are possible.
    perturbed = am.lower_bound(instance, 0.1)
    assert perturbed.value == pytest.approx(dual_value(instance, 0.1), rel=1e-4)
    assert perturbed.value > 0.0


def test_challengers_that_cannot_bind_are_left_out() -> None:
    """The first three arms share a whole, of which the best has a half; arm 3 is by itself."""
    whole = am.Polyhedral([[1.0, 1.0, 1.0, 0.0]], [1.0])
    for family in (am.Poisson(), am.Bernoulli()):
        instance = am.Instance(whole, [0.5, 0.3, 0.15, 0.2], family)
        assert closed_challengers(whole, instance).tolist() == [False, True, True, False]
        bound = am.lower_bound(instance)
        assert bound.value == pytest.approx(0.3 / family.divergence(0.2, 0.5), rel=1e-6)
        assert bound.value == pytest.approx(dual_value(instance), rel=1e-4)


def degenerate_means(
    structure: am.Structure, family: am.Family, rng: np.random.Generator
) -> np.ndarray:
    """Means of M in tenths where that is possible, many at the ends of the domain."""
    K = structure.n_arms
    if isinstance(structure, am.Simplex):
        return np.asarray(rng.multinomial(10, np.ones(K) / K) / 10.0)
    target = np.round(rng.uniform(0.05, 0.95, K), 1)
    for end in (family.domain.low, family.domain.high):
        if end in family.domain and rng.random() < 0.6:
            target[rng.random(K) < 0.4] = end
    fit = structure.project(target, np.ones(K), family)
    return np.clip(np.asarray(fit.means), family.domain.low, family.domain.high)


def degenerate_instance(
    kind: type[am.Structure], family: am.Family, rng: np.random.Generator
) -> am.Instance | None:
    while True:
        structure = random_structure(kind, rng)
        if family not in supported_families(structure):
            return None
        means = degenerate_means(structure, family, rng)
        ranked = np.sort(means)
        if ranked[-1] - ranked[-2] > 0.01 and structure.contains(means):
            return am.Instance(structure, means, family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_bounds_of_degenerate_instances(
    kind: type[am.Structure], family: am.Family, n_problems: int, rng: np.random.Generator
) -> None:
    """Certified, and for some of them what a convex solver finds."""
    for n in range(n_problems // 2):
        instance = degenerate_instance(kind, family, rng)
        if instance is None:
            pytest.skip(f"{kind.__name__} refuses {type(family).__name__} rewards")
        epsilon = 0.1 if n % 2 else None
        bound = am.lower_bound(instance, epsilon)
        assert bound.gap <= 1e-6
        total = sum(a.weight for a in bound.alternatives)
        assert total == pytest.approx(bound.value, rel=2e-6)
        if n % 5 == 0:
            value = dual_value_or_none(instance, epsilon)
            if value is None:
                continue
            assert bound.value == pytest.approx(value, rel=1e-4, abs=1e-5), instance


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_any_size_of_the_noise(kind: type[am.Structure], rng: np.random.Generator) -> None:
    """V is proportional to the variance, over sixteen orders of magnitude of sigma."""
    instance = degenerate_instance(kind, am.Gaussian(), rng)
    for epsilon in (None, 0.1):
        value = am.lower_bound(instance, epsilon).value
        for sigma in (1e-8, 1e-4, 1e4, 1e8):
            other = am.Instance(instance.structure, instance.means, am.Gaussian(sigma))
            bound = am.lower_bound(other, epsilon)
            assert bound.value == pytest.approx(sigma**2 * value, rel=3e-6)
            assert bound.gap <= 1e-6


@pytest.mark.parametrize("learner", ["k", "lambda"])
def test_the_game_with_huge_and_infinite_information(learner: str) -> None:
    for instance in (
        am.Instance(am.Unconstrained(3), [0.0, 0.5, 1.0], am.Gaussian(1e-6)),
        am.Instance(am.Unimodal(3), [0.0, 1.0, 0.5], am.Bernoulli()),
        am.Instance(am.Simplex(3), [0.0, 0.6, 0.4], am.Poisson()),
    ):
        value = am.lower_bound(instance, 0.1).value
        game = am.solve_game(instance, learner, 0.1, 300)
        assert (game.lower <= value * (1 + 1e-6)).all()
        assert (game.upper >= value * (1 - 1e-6)).all()
        assert game.lower[-1] > 0.3 * value


@pytest.fixture
def hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lower bound can be certified."""
    monkeypatch.setattr(sys.modules["armature.bounds.lower_bound"], "STEPS", 1)


@pytest.mark.usefixtures("hopeless")
def test_results_outlive_a_bound_that_fails(tmp_path: Path) -> None:
    instance = am.Instance(am.Unimodal(3), [0.0, 1.0, 0.5])
    with pytest.raises(am.ArmatureError, match="could not be certified"):
        am.lower_bound(instance)
    with pytest.warns(UserWarning, match="no lower bound is shown: the lower bound could not be"):
        assert bound_or_none(instance) is None
    results = am.simulate(instance, [am.UCB()], 100, 2, workers=1)
    with pytest.warns(UserWarning, match="no lower bound is shown"):
        summary = results.summary()
    assert math.isnan(summary["V"].iloc[0])
    assert np.isfinite(summary["regret"].iloc[0])
    with pytest.warns(UserWarning, match="no lower bound is shown"):
        figure = results.plot(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").stat().st_size > 0
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert labels == ["UCB"]
    with pytest.warns(UserWarning, match="no lower bound is shown"):
        table = make_table({"here": results})
    assert table["unconstrained"].isna().all()
