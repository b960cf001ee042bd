"""Lower bounds: the paper's panels, an independent convex program, and what theory says."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest
from dual_reference import check_certificate, dual_value_or_none
from structures_again import FAMILIES, KINDS, random_structure

import armature as am
from armature.bounds.allocation import CERTIFIED, NO_ALTERNATIVE
from armature.bounds.lower_bound import make_solution, run_allocate
from armature.testing import supported_families

ANGLES = np.concatenate([2 * np.pi * np.arange(5) / 5, 2 * np.pi * np.arange(5) / 5 + 0.15])
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
PANELS = {
    "unconstrained": (am.Unconstrained(4), [0, 0.33, 0.67, 1], 11.045681, 11.045681),
    "categorised-1": (am.Categorised("abbb"), [2, 1, 0.96, 0], 1.0, 4.923077),
    "categorised-2": (am.Categorised("aabbb"), [3, 1.5, 1.44, 1.44, 0], 2.0, 4.564103),
    "linear": (am.Linear(CIRCLE), CIRCLE @ [0.0, 2.0], 8.837555, 37.060602),
    "unimodal-1": (am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1], 14.0, 19.357143),
    "unimodal-2": (am.Unimodal(7), [0, 0, 0, 1, 0, 0, 0], 4.0, 12.0),
    "sparse-1": (am.Sparse(10, 1, 0.3), [0.8] + [0.3] * 9, 0.0, 36.0),
    "sparse-2": (am.Sparse(10, 2, 0.0), [3, 2] + [0] * 8, 2.0, 2.0 + 16.0 / 3.0),
}


@pytest.mark.checks(
    "Linear",
    "lower_bound",
    "Section 3, lower bounds",
    "Appendix E, no alternative",
    by="known bounds of the panels",
)
@pytest.mark.parametrize("panel", PANELS)
def test_panels(panel: str) -> None:
    structure, means, value, unconstrained = PANELS[panel]
    bound = am.lower_bound(am.Instance(structure, means))
    assert bound.value == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert bound.unconstrained == pytest.approx(unconstrained, rel=1e-6)
    assert bound.gap <= 1e-6


def test_where_the_exploration_goes() -> None:
    def pulls(panel: str) -> np.ndarray:
        return am.lower_bound(am.Instance(*PANELS[panel][:2])).pulls

    assert pulls("categorised-1") == pytest.approx([0, 0, 0, 0.5], abs=1e-5)
    assert pulls("linear").argmax() == 2  # the arm at 4 pi / 5
    assert pulls("linear")[2] == pytest.approx(pulls("linear").sum(), rel=1e-5)
    assert pulls("unimodal-2") == pytest.approx([0, 0, 2, 0, 2, 0, 0], abs=1e-4)
    assert pulls("sparse-1") == pytest.approx(np.zeros(10))


def random_instance(
    kind: type[am.Structure], family: am.Family, rng: np.random.Generator
) -> am.Instance | None:
    """Means in a random structure with a clear best arm, or None where the family is refused."""
    while True:
        structure = random_structure(kind, rng)
        if family not in supported_families(structure):
            return None
        target = rng.uniform(0.1, 0.9, structure.n_arms)
        fit = structure.project(target, np.ones(structure.n_arms), family)
        means = np.clip(np.asarray(fit.means), 0.0, 1.0)
        ranked = np.sort(means)
        if ranked[-1] - ranked[-2] > 0.05 and ranked[0] > 0.02 and ranked[-1] < 0.98:
            return am.Instance(structure, means, family)


@pytest.mark.checks(
    "structures", "lower_bound", "Eq. (1)", "Eq. (2c)", by="a convex program for its lower bound"
)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_against_a_convex_program(
    kind: type[am.Structure], family: am.Family, n_problems: int, rng: np.random.Generator
) -> None:
    """Thirty instances of each kind (three hundred if exhaustive), half of them perturbed."""
    compared = 0
    while compared < 0.6 * n_problems:
        instance = random_instance(kind, family, rng)
        if instance is None:
            pytest.skip(f"{kind.__name__} refuses {type(family).__name__} rewards")
        epsilon = 0.1 if compared % 2 else None
        bound = am.lower_bound(instance, epsilon)
        check_certificate(instance, bound, epsilon)
        value = dual_value_or_none(instance, epsilon)
        if value is None:
            continue
        # The solver stops at about 1e-8, absolutely and relatively, in a program with many cells;
        # where all alternatives are infinitely far (V = 0), it only comes near.
        slack = 1e-5 if bound.value > 0.0 else 1e-2
        assert bound.value == pytest.approx(value, rel=5e-5, abs=slack), instance
        compared += 1


def test_the_certificate_check_can_fail() -> None:
    instance = am.Instance(*PANELS["unimodal-1"][:2])
    good = am.lower_bound(instance)
    check_certificate(instance, good, None)
    lazy = am.LowerBound(
        0.99 * good.value, 0.99 * good.pulls, good.alternatives, good.gap, good.unconstrained
    )
    with pytest.raises(AssertionError):
        check_certificate(instance, lazy, None)


@pytest.mark.checks("Unconstrained", by="closed form of its lower bound")
def test_unconstrained_closed_form() -> None:
    rng = np.random.default_rng(2)
    for family in (am.Gaussian(0.7), am.Bernoulli(), am.Poisson(), am.Exponential()):
        means = np.append(rng.uniform(0.1, 0.7, 6), 0.8)
        bound = am.lower_bound(am.Instance(am.Unconstrained(7), means, family))
        exact = sum((0.8 - m) / family.divergence(float(m), 0.8) for m in means[:-1])
        assert bound.value == pytest.approx(exact, rel=1e-6)


@pytest.mark.checks("Unimodal", by="closed form of its lower bound")
def test_unimodal_closed_form() -> None:
    """Only the two neighbours of the peak matter."""
    means = np.array([0.1, 0.3, 0.5, 0.8, 0.6, 0.2])
    family = am.Bernoulli()
    bound = am.lower_bound(am.Instance(am.Unimodal(6), means, family))
    exact = sum((0.8 - means[k]) / family.divergence(float(means[k]), 0.8) for k in (2, 4))
    assert bound.value == pytest.approx(exact, rel=1e-6)


@pytest.mark.checks("Categorised", by="closed form of its lower bound")
def test_categorised_closed_form(rng: np.random.Generator) -> None:
    """Each arm of the top category on its own; of every other category its most telling arm."""
    for _ in range(20):
        labels = rng.integers(0, 3, 7).tolist()
        structure = am.Categorised(labels)
        top = int(rng.choice(labels))
        means = np.where(np.array(labels) == top, rng.uniform(1, 2, 7), rng.uniform(0, 0.9, 7))
        instance = am.Instance(structure, means)
        best = instance.best_arm
        price = {k: 2.0 / instance.gaps[k] for k in range(7) if k != best}
        inside = sum(p for k, p in price.items() if labels[k] == top)
        outside = sum(
            min(p for k, p in price.items() if labels[k] == c) for c in set(labels) - {top}
        )
        if labels.count(top) > 1 or len(set(labels)) > 1:
            value = am.lower_bound(instance).value
            assert value == pytest.approx(inside + outside, rel=2e-6)


@pytest.mark.checks("Sparse", by="closed form of its lower bound")
def test_sparse_closed_form(rng: np.random.Generator) -> None:
    """A price x for the arms outside of the support; the others make up for what that leaves."""
    for _ in range(20):
        K, s, level = 7, int(rng.integers(1, 5)), 0.2
        means = np.full(K, level)
        means[rng.permutation(K)[:s]] = rng.uniform(0.4, 1.5, s)
        instance = am.Instance(am.Sparse(K, s, level), means)
        top = means.max()
        others = [m for m in means if level < m < top]

        def regret(x, others=others, top=top, s=s, level=level, K=K):
            outside = (K - s) * x * 2.0 / (top - level)
            inside = [
                (top - m) * max(2.0 / (top - m) ** 2, (1.0 - x) * 2.0 / (m - level) ** 2)
                for m in others
            ]
            return outside + sum(inside)

        kinks = [1.0 - (m - level) ** 2 / (top - m) ** 2 for m in others]
        value = min(regret(x) for x in [0.0, 1.0, *kinks] if 0.0 <= x <= 1.0) if others else 0.0
        assert am.lower_bound(instance).value == pytest.approx(value, rel=2e-6)


@pytest.mark.checks("lower_bound", by="more knowledge never costs more")
def test_structure_never_costs() -> None:
    rng = np.random.default_rng(4)
    for kind in KINDS:
        for _ in range(5):
            instance = random_instance(kind, am.Gaussian(), rng)
            bound = am.lower_bound(instance)
            assert bound.value <= bound.unconstrained * (1 + 1e-6)


@pytest.mark.checks("lower_bound", by="invariances")
def test_scaling_and_relabelling() -> None:
    """V grows with the variance and shrinks as the means spread; the arms' order is immaterial."""
    rng = np.random.default_rng(6)
    for kind in (am.Linear, am.Categorised, am.Sparse, am.Concave, am.Simplex):
        instance = random_instance(kind, am.Gaussian(), rng)
        structure, means = instance.structure, instance.means
        value = am.lower_bound(instance).value
        noisy = am.lower_bound(am.Instance(structure, means, am.Gaussian(3.0)))
        assert noisy.value == pytest.approx(9.0 * value, rel=3e-6)
        order = rng.permutation(structure.n_arms).tolist()
        renamed = am.lower_bound(am.Instance(structure.relabelled(order), means[order]))
        assert renamed.value == pytest.approx(value, rel=3e-6)
    curve = np.array([0.1, 0.4, 0.9, 0.6])
    one = am.lower_bound(am.Instance(am.Unimodal(4), curve)).value
    assert am.lower_bound(am.Instance(am.Unimodal(4), 5 * curve)).value == pytest.approx(one / 5)


@pytest.mark.checks("lower_bound", "Theorem 2", by="the rate of the perturbed value")
@pytest.mark.parametrize("panel", [p for p in PANELS if p != "sparse-1"])
def test_perturbation(panel: str) -> None:
    """V <= V_eps <= V + c sqrt(eps V): the excess shrinks like the root of eps, or faster."""
    instance = am.Instance(*PANELS[panel][:2])
    value = am.lower_bound(instance).value
    epsilons = [1e-1, 1e-2, 1e-3, 1e-4]
    excess = [am.lower_bound(instance, e).value - value for e in epsilons]
    assert all(x >= -1e-5 * value for x in excess)
    assert all(a > b for a, b in itertools.pairwise(excess))
    rates = [x / math.sqrt(e * value) for x, e in zip(excess, epsilons, strict=True)]
    assert max(rates[2:]) <= 1.1 * rates[1]


@pytest.mark.checks("solve_game", "Lemma 1", "Eq. (14)", by="the lower bound, from both sides")
@pytest.mark.parametrize("learner", ["k", "lambda"])
@pytest.mark.parametrize("panel", PANELS)
def test_the_game_converges_from_both_sides(panel: str, learner: str) -> None:
    instance = am.Instance(*PANELS[panel][:2])
    epsilon, rounds = 0.2, 20_000
    value = am.lower_bound(instance, epsilon).value
    game = am.solve_game(instance, learner, epsilon, rounds)
    assert (game.lower <= value * (1 + 1e-6)).all()
    assert (game.upper >= value * (1 - 1e-6)).all()
    assert (np.diff(game.lower) >= 0.0).all()
    assert (np.diff(game.upper) <= 0.0).all()
    gap = game.upper - game.lower
    early = np.searchsorted(game.rounds, rounds // 100)
    # A hundred times as many rounds: a tenth of the gap by the theorem's rate, and usually less.
    assert gap[-1] <= 0.25 * gap[early] + 1e-6 * value
    assert gap[-1] <= 0.03 * value
    gaps = np.maximum(instance.gaps, epsilon)
    assert game.pulls @ gaps == pytest.approx(game.upper[-1], rel=1e-9)
    assert (game.information / gaps).max() == pytest.approx(1.0 / game.lower[-1], rel=1e-9)


@pytest.mark.parametrize("learner", ["k", "lambda"])
def test_the_game_where_an_arm_can_not_be_as_good_as_the_best(learner: str) -> None:
    """Its scale is the best mean: the alternatives with that arm best are infinitely far."""
    scales = [4.0, 5.0, 8.0, 12.0]
    instance = am.Instance(am.Unimodal(4), [3.0, 3.5, 4.0, 3.0], am.Bernoulli(scale=scales))
    value = am.lower_bound(instance, 0.5).value
    game = am.solve_game(instance, learner, 0.5, 20_000)
    assert game.lower[-1] <= value <= game.upper[-1] * (1 + 1e-6)
    assert game.upper[-1] - game.lower[-1] <= 0.05 * value


@pytest.mark.checks("solve_game", by="the lower bound, for every structure")
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_the_game_for_every_structure(kind: type[am.Structure], rng: np.random.Generator) -> None:
    for family in (am.Gaussian(), am.Bernoulli()):
        instance = random_instance(kind, family, rng)
        value = am.lower_bound(instance, 0.3).value
        if value == 0.0:
            with pytest.raises(am.ArmatureError, match="there is no game to play"):
                am.solve_game(instance)
            continue
        for learner in ("k", "lambda"):
            game = am.solve_game(instance, learner, 0.3, 2000)
            assert game.lower[-1] <= value * (1 + 1e-6)
            assert game.upper[-1] >= value * (1 - 1e-6)


@pytest.mark.checks("OSSB", "EndOfOptimism", "TrackAndStop", by="its solver against the exact one")
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_the_warm_allocation_solver(kind: type[am.Structure], rng: np.random.Generator) -> None:
    """To 1e-4, from one call to the next, while the means wander inside of the structure."""
    start = random_instance(kind, am.Gaussian(), rng)
    structure, K = start.structure, start.n_arms
    solution = make_solution(start)
    pulls, bounds, _ = solution
    for _ in range(20):
        means = structure.project(
            start.means + rng.normal(0.0, 0.005, K), np.ones(K), am.Gaussian()
        ).means
        instance = am.Instance(structure, means)
        outcome = run_allocate(structure, instance, instance.gaps, solution, 1e-4, warm=True)
        value = am.lower_bound(instance).value
        assert outcome == (NO_ALTERNATIVE if value == 0.0 else CERTIFIED)
        assert bounds[1] == pytest.approx(value, rel=1.1e-4, abs=1e-12)
        assert pulls @ instance.gaps == pytest.approx(bounds[1], rel=1e-9, abs=1e-12)


def test_a_warm_start_does_not_take_what_moves_the_best_arm() -> None:
    """Here half of a challenger's cost is the best arm's own move: not an alternative to count."""
    means = np.array([0.079177735, 0.0, 0.489317191, 0.431505074, 0.0])
    instance = am.Instance(am.Simplex(5), means / means.sum(), am.Bernoulli())
    solution = make_solution(instance)
    for warm in (False, True):
        arguments = (instance.structure, instance, instance.gaps, solution)
        assert run_allocate(*arguments, tolerance=1e-4, warm=warm) == CERTIFIED
        assert solution.bounds[1] == pytest.approx(am.lower_bound(instance).value, rel=1.1e-4)


class Half(am.Structure):
    """In plain Python: the means of two arms are any numbers."""

    n_arms = 2

    def project(self, means, weights, family):
        return am.Fit(np.array(means, dtype=float), 0.0)

    def alt_min(self, means, weights, best, challenger, family):
        return am.Unconstrained(2).alt_min(means, weights, best, challenger, family)


def test_a_structure_in_plain_python() -> None:
    bound = am.lower_bound(am.Instance(Half(), [0.0, 1.0]))
    assert bound.value == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("learner", ["k", "lambda"])
def test_the_game_of_a_structure_in_plain_python(learner: str) -> None:
    plain = am.solve_game(am.Instance(Half(), [0.0, 1.0]), learner, 0.2, 200)
    compiled = am.solve_game(am.Instance(am.Unconstrained(2), [0.0, 1.0]), learner, 0.2, 200)
    assert np.array_equal(plain.lower, compiled.lower)
    assert np.array_equal(plain.upper, compiled.upper)


def test_what_a_structure_in_plain_python_raises_is_seen() -> None:
    class Broken(Half):
        def alt_min(self, means, weights, best, challenger, family):
            raise ZeroDivisionError("in my own code")

    with pytest.raises(ZeroDivisionError, match="in my own code"):
        am.lower_bound(am.Instance(Broken(), [0.0, 1.0]))


@pytest.mark.checks("Assumption 5", by="refused with a sentence")
def test_bad_input() -> None:
    with pytest.raises(am.ArmatureError, match=r"means\[4\] = 0.5 rises again after the peak"):
        am.Instance(am.Unimodal(5), [0.1, 0.2, 0.9, 0.3, 0.5])
    with pytest.raises(am.ArmatureError, match="arms 1, 2 are all best, with mean 1"):
        am.Instance(am.Unconstrained(3), [0.0, 1.0, 1.0])
    with pytest.raises(am.ArmatureError, match="does not go with Exponential"):
        am.Instance(am.Simplex(2), [0.3, 0.7], am.Exponential())
    instance = am.Instance(am.Unconstrained(3), [0.0, 0.5, 1.0])
    with pytest.raises(am.ArmatureError, match="epsilon must be a positive finite number"):
        am.lower_bound(instance, epsilon=0.0)
    with pytest.raises(am.ArmatureError, match='learner must be "k" or "lambda"'):
        am.solve_game(instance, "mu")
    with pytest.raises(am.ArmatureError, match="rounds must be a whole number, at least 1; got 0"):
        am.solve_game(instance, rounds=0)
    with pytest.raises(am.ArmatureError, match="epsilon must be a positive"):
        am.solve_game(instance, epsilon=-1.0)


def test_an_uncertified_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["armature.bounds.lower_bound"], "STEPS", 3)
    with pytest.raises(am.ArmatureError, match="could not be certified: it is between"):
        am.lower_bound(am.Instance(*PANELS["linear"][:2]), 0.1)
