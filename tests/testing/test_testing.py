"""The conformance suites must fail on a planted error: each saboteur below breaks one promise."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from reference import Reference, assert_optimal

import armature as am
from armature.testing import check_family, check_policy, check_structure


class InfeasibleProjection(am.Unimodal):
    def project(self, means, weights, family):
        return am.Fit(np.array(means, dtype=float), 0.0)


class SuboptimalProjection(am.Unimodal):
    def project(self, means, weights, family):
        fit = super().project(means, np.ones(self.n_arms), family)
        seen = np.asarray(weights) > 0
        terms = np.asarray(weights)[seen] * family.divergence(
            np.asarray(means)[seen], fit.means[seen]
        )
        return am.Fit(fit.means, float(terms.sum()))


class WrongCost(am.Sparse):
    def nearest_alternative(self, means, weights, best, family):
        fit = super().nearest_alternative(means, weights, best, family)
        return am.Fit(fit.means, fit.cost * 1.001)


class NotTheNearest(am.Unconstrained):
    def nearest_alternative(self, means, weights, best, family):
        return self.alt_min(means, weights, best, (best + 1) % self.n_arms, family)


class OrderIgnored(am.Unconstrained):
    def alt_min(self, means, weights, best, challenger, family):
        return self.project(means, weights, family)


class MissingCell(am.Unimodal):
    def cells(self, best, means=None, weights=None, family=None):
        return super().cells(best)[1:]


class Inhomogeneous(am.Unconstrained):
    def nearest_alternative(self, means, weights, best, family):
        weights = np.asarray(weights)
        return super().nearest_alternative(means, np.minimum(weights, 1e-5), best, family)


class LeftHanded(am.Linear):
    def relabelled(self, order):
        return am.Linear(self.features)


class ContainsAnything(am.Simplex):
    def violation(self, means, tolerance):
        return None


class OneStepOnly(am.Lipschitz):
    def project(self, means, weights, family):
        fit = super().project(means, weights, family)
        return am.Fit(0.5 * (fit.means + np.asarray(means)), fit.cost)


class AnyOrder(am.Unimodal):
    exchangeable = True

    def relabelled(self, order):
        raise am.ArmatureError("which other checks then leave out")


class EveryVector(am.Unimodal):
    assumes_nothing = True


@pytest.mark.parametrize(
    "saboteur",
    [
        InfeasibleProjection(5),
        SuboptimalProjection(5),
        WrongCost(5, 2, 0.3),
        NotTheNearest(4),
        OrderIgnored(4),
        MissingCell(5),
        Inhomogeneous(4),
        LeftHanded([[1.0, 0.1], [0.9, 0.3], [0.2, 1.0]]),
        ContainsAnything(4),
        OneStepOnly(5, 0.1),
        AnyOrder(5),
        EveryVector(5),
    ],
    ids=lambda s: type(s).__name__,
)
def test_structure_suite_fails_on_planted_errors(saboteur: am.Structure) -> None:
    with pytest.raises(AssertionError, match=r"Problem\("):
        check_structure(saboteur)


class TwoLevels(am.Structure):
    """Each mean is one of two values, of which nothing is known; in plain Python."""

    def __init__(self, n_arms):
        self.n_arms = n_arms

    def splits(self):
        for number in range(1, 2 ** (self.n_arms - 1)):
            yield np.array([number >> i & 1 for i in range(self.n_arms)], dtype=bool)

    def nearest(self, means, weights, family, rows, splits):
        """The nearest mean vector with one value on either side of a split, and these rows."""
        fits = []
        for one in splits:
            same = np.eye(self.n_arms) - np.eye(self.n_arms)[[np.argmax(one == x) for x in one]]
            same = same[same.any(axis=1)]
            M = am.Polyhedral(rows, np.zeros(len(rows)), same, np.zeros(len(same)))
            fits.append(M.project(means, weights, family))
        return min(fits, key=lambda fit: fit.cost)

    def project(self, means, weights, family):
        return self.nearest(means, weights, family, np.empty((0, self.n_arms)), self.splits())

    def alt_min(self, means, weights, best, challenger, family):
        rows = np.eye(self.n_arms)[[best]] - np.eye(self.n_arms)[[challenger]]
        splits = [one for one in self.splits() if self.can_beat(one, best, challenger)]
        return self.nearest(means, weights, family, rows, splits)

    def can_beat(self, one, best, challenger):
        return one[best] != one[challenger]


class LooseTies(TwoLevels):
    """Takes a tie for an alternative, though nothing near it has another best arm."""

    def can_beat(self, one, best, challenger):
        return True


def test_a_tie_need_not_be_an_alternative() -> None:
    """At (1/2, 0, 0, 0): a tie of two arms says nothing, three arms have to rise together."""
    means = [0.5, 0.0, 0.0, 0.0]
    assert am.lower_bound(am.Instance(TwoLevels(4), means)).value == pytest.approx(4.0)
    assert am.lower_bound(am.Instance(LooseTies(4), means)).value == pytest.approx(12.0)
    check_structure(TwoLevels(4), [am.Gaussian()], problems=15)
    with pytest.raises(AssertionError, match="no mean vector of M near it has a better arm"):
        check_structure(LooseTies(4), [am.Gaussian()], problems=15)


class Negative(am.Gaussian):
    def divergence(self, x, y):
        return -np.abs(super().divergence(x, y))


class Clipped(am.Bernoulli):
    def divergence(self, x, y):
        out = np.minimum(super().divergence(x, y), 345.0)
        return float(out) if np.ndim(out) == 0 else out


class TooHigh(am.Poisson):
    def upper(self, x, level):
        return super().upper(x, level * 1.0001)


class NotBregman(am.Gaussian):
    def divergence(self, x, y):
        return super().divergence(x, y) ** 2


class Biased(am.Bernoulli):
    def sample(self, mean, rng, size=None):
        return super().sample(0.9 * mean, rng, size)


class Accepting(am.Poisson):
    def divergence(self, x, y):
        if np.ndim(x) == 0 and not math.isfinite(x + y):
            return 0.0
        return super().divergence(x, y)


@pytest.mark.parametrize(
    "saboteur",
    [Negative(), Clipped(), TooHigh(), NotBregman(), Biased(), Accepting()],
    ids=lambda s: type(s).__name__,
)
def test_family_suite_fails_on_planted_errors(saboteur: am.Family) -> None:
    with pytest.raises(AssertionError, match=type(saboteur).__name__):
        check_family(saboteur)


@am.kernel
def half_variance(p, x):
    return 0.5 * x * x


@am.kernel
def flat(p, x, y):
    return 1.0 / (x * x)


@am.kernel
def always_the_mean(p, pulls, total, stream):
    return total / pulls


@am.kernel
def constant_draw(p, mean, out, source):
    for i in range(out.size):
        out[i] = mean


FORMULAS = am.Exponential.formulas


class WrongVariance(am.Exponential):
    formulas = FORMULAS._replace(variance=half_variance)


class WrongCurvature(am.Exponential):
    formulas = FORMULAS._replace(curvature=flat)


class SurePosterior(am.Exponential):
    formulas = FORMULAS._replace(posterior=always_the_mean)


class WrongDraw(am.Exponential):
    formulas = FORMULAS._replace(draw=constant_draw)


class Constant(am.Poisson):
    support = am.Interval(0.0, math.inf)

    def sample(self, mean, rng, size=None):
        return mean if size is None else np.full(size, mean)


class TooWide(am.Gaussian):
    def sample(self, mean, rng, size=None):
        rewards = mean + 1.2 * rng.normal(size=size)
        return float(rewards) if size is None else rewards


@pytest.mark.parametrize(
    ("saboteur", "complaint"),
    [
        (WrongVariance(), "formula variance, at .* is .*, where the divergence says"),
        (WrongCurvature(), "curvature.* is .*, where the divergence says"),
        (
            SurePosterior(),
            r"posterior draws after 1000 rewards .* standard deviation .*, where it is about 0\.0",
        ),
        (WrongDraw(), "the formula draw gives the reward .* each time, where rewards of mean"),
        (Constant(), "sample gives the reward .* each time, where rewards of mean .* vary"),
        (TooWide(), r"sample has variance 1\.4.*, where the formula says 1"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, am.Family) else "",
)
def test_family_suite_says_which_formula_is_wrong(saboteur: am.Family, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_family(saboteur)


OPTIMISED = """
import armature as am
from armature.testing import check_family
class Negative(am.Gaussian):
    def divergence(self, x, y):
        return super().divergence(x, y) - 1.0
try:
    check_family(Negative())
except AssertionError as error:
    print(error)
"""


def test_family_suite_does_not_depend_on_assertions() -> None:
    """`python -O` leaves `assert` out."""
    done = subprocess.run(
        [sys.executable, "-O", "-c", OPTIMISED],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Negative(sigma=1.0).divergence(x, x) is not 0" in done.stdout


def test_the_reference_solver_notices_a_wrong_cost() -> None:
    """`assert_optimal` of the solver tests, on a cost that is off by a millionth."""
    structure, family = am.Unimodal(4), am.Gaussian()
    mu, w = np.array([0.3, 0.9, 0.1, 0.5]), np.array([1.0, 0.2, 0.5, 2.0])
    reference = Reference(structure, family)
    fit = structure.project(mu, w, family)
    assert assert_optimal(structure, family, mu, w, fit, lambda v: reference.project(mu, v))
    worse = fit.means + np.array([0.0, 0.0, 0.0, 1e-3])
    wrong = am.Fit(worse, float(0.5 * w @ (worse - mu) ** 2))
    with pytest.raises(AssertionError):
        assert_optimal(structure, family, mu, w, wrong, lambda v: reference.project(mu, v))
    with pytest.raises(AssertionError):
        assert_optimal(structure, family, mu, w, am.Fit(fit.means, 0.9 * fit.cost), lambda v: 1.0)


class Forgetful(am.PythonPolicy):
    """Keeps its state where no file finds it."""

    def choose(self, state, problem, history, rng):
        memory.append(1)
        return len(memory) // 7 % problem.structure.n_arms


memory: list[int] = []


class Outsider(am.PythonPolicy):
    def choose(self, state, problem, history, rng):
        return problem.structure.n_arms if history.clock[0] > 20 else 0


class Nervous(am.PythonPolicy):
    """Divides by the distance of the two best means."""

    def choose(self, state, problem, history, rng):
        ranked = np.sort(history.means).tolist()
        return int(1.0 / (ranked[-1] - ranked[-2]) > 3.0)


class Unsaved(am.UCB):
    """Counts in a field that is not saved."""

    def init(self, structure, family):
        return CountingState(np.zeros(1))


class CountingState(NamedTuple):
    count: np.ndarray


@am.kernel
def count_on(state, model, history, stream):
    state.count[0] += 1.0
    return int(state.count[0] // 7.0) % history.pulls.size


Unsaved.choose = count_on


class Numbered(am.PythonPolicy):
    """Claims not to look at the arms' numbers, and does."""

    ignores_numbering = True

    def choose(self, state, problem, history, rng):
        return 0


@dataclass(frozen=True)
class Doubling(am.PythonPolicy):
    """Keeps another number than it was given: what is read back is not what was written."""

    period: int = 3

    def __post_init__(self):
        object.__setattr__(self, "period", 2 * self.period)

    def choose(self, state, problem, history, rng):
        return int(history.clock[0]) // self.period % problem.structure.n_arms


class Silent(am.PythonPolicy):
    """Has no words where all rewards are equal."""

    def choose(self, state, problem, history, rng):
        return 0

    def explain(self, belief):
        return f"{1 // int(belief.evidence > 0.0)}"


@am.kernel
def mostly_the_first(state, model, history, out):
    for k in range(out.size):
        out[k] = 0.9 if k == 0 else 0.1 / (out.size - 1.0)
    return True


@dataclass(frozen=True)
class Boasting(am.MINTS):
    """Says that the first arm is likely, and draws by weights."""

    probabilities = mostly_the_first


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        (Forgetful(), "two runs with the same seed differ"),
        (Outsider(), "chose 5, where arms are whole numbers"),
        (Nervous(), "division by zero"),
        (Unsaved(), "goes on differently"),
        (Numbered(), "numbers matter"),
        (Doubling(), "goes on differently"),
        (Silent(), "division"),
        (Boasting(), "more often than it says"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_policy_saboteurs_are_caught(policy, complaint) -> None:
    with pytest.raises((AssertionError, am.ArmatureError, ZeroDivisionError), match=complaint):
        check_policy(policy, am.Unconstrained(5), am.Gaussian())
