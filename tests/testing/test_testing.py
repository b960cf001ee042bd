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
from reference import Reference

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
    ],
    ids=lambda s: type(s).__name__,
)
def test_structure_suite_fails_on_planted_errors(saboteur: am.Structure) -> None:
    with pytest.raises(AssertionError, match=r"Problem\("):
        check_structure(saboteur)


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
    from test_oracles import assert_optimal

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
    ],
    ids=lambda value: type(value).__name__,
)
def test_policy_saboteurs_are_caught(policy, complaint) -> None:
    with pytest.raises((AssertionError, am.ArmatureError, ZeroDivisionError), match=complaint):
        check_policy(policy, am.Unconstrained(5), am.Gaussian())
