"""SPk, SPLambda and OSSB, decision by decision, against plain twins of their definitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from twins import OSSBTwin, SPkTwin, SPLambdaTwin, Twin

import armature as am

ROUNDS = 2000
LENIENT = 0.05  # the share of rounds in which rounding may decide
ANGLES = 2 * np.pi * np.arange(5) / 5
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
ROWS = [[1.0, 1.0, 0.0, 0.0], [0.0, -1.0, 1.0, 0.0], [0.0, 0.0, -1.0, 1.0]]
CASES = {
    "Unconstrained": (am.Unconstrained(4), [0.2, 0.5, 0.9, 0.6]),
    "Unimodal": (am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1]),
    "Categorised": (am.Categorised("aabbcc"), [0.7, 0.9, 0.5, 0.4, 0.3, 0.1]),
    "Sparse": (am.Sparse(6, 2, 0.3), [0.3, 0.9, 0.3, 0.3, 0.6, 0.3]),
    "Linear": (am.Linear(CIRCLE), CIRCLE @ [0.2, 0.5]),
    "Lipschitz": (am.Lipschitz(5, 0.25), [0.3, 0.5, 0.7, 0.9, 0.7]),
    "Concave": (am.Concave(5), [0.2, 0.6, 0.9, 0.8, 0.3]),
    "Simplex": (am.Simplex(5), [0.1, 0.15, 0.5, 0.2, 0.05]),
    "Polyhedral": (am.Polyhedral(ROWS, [1.2, 0.1, 0.4]), [0.3, 0.8, 0.5, 0.7]),
}
NOISE = am.Gaussian(0.25)  # so little that there is exploitation as well
LOUD = am.Gaussian(1.0)  # so much that candidates, supports and nearest alternatives change often
COIN = am.Bernoulli()
PAIRS = {
    "SPk": (am.SPk, SPkTwin, {}),
    "SPLambda": (am.SPLambda, SPLambdaTwin, {}),
    "OSSB": (am.OSSB, OSSBTwin, {"epsilon": 0.02}),
}
# SPk with coins only where alternatives pool means: in the other structures rounding in its weights
# decides whether an alternative's mean is 0 or 1e-17, which for coins are far apart.
MATCHES = [(kind, name, NOISE) for kind in PAIRS for name in CASES]
MATCHES += [(kind, name, COIN) for kind in PAIRS for name in list(CASES)[:4]]
MATCHES += [("SPLambda", "Polyhedral", COIN), ("OSSB", "Polyhedral", COIN)]


class DisagreementError(AssertionError):
    """The twin would not have pulled this arm."""


def compare(
    policy: am.Policy, twin: Twin, name: str, means: np.ndarray, rounds: int = ROUNDS
) -> int:
    """Play both with the same rewards; in how many rounds the twin gave way to rounding."""
    structure, family = twin.structure, twin.family
    rewards = [
        np.asarray(family.sample(mean, np.random.default_rng([7, k]), rounds), dtype=float)
        for k, mean in enumerate(means)
    ]
    bandit = am.Bandit(policy, structure, family, seed=0)
    used = np.zeros(structure.n_arms, dtype=int)
    gave_way = 0
    for t in range(1, rounds + 1):
        arm, allowed = bandit.ask(), twin.choose()
        if arm not in allowed:
            raise DisagreementError(
                f"round {t}, {name}: {policy.name} pulls {arm}, its twin {allowed}"
            )
        gave_way += arm != allowed[0]
        reward = float(rewards[arm][used[arm]])
        used[arm] += 1
        bandit.tell(arm, reward)
        twin.tell(arm, reward)
    return gave_way


def check(policy: am.Policy, twin: Twin, name: str) -> None:
    gave_way = compare(policy, twin, name, CASES[name][1])
    assert gave_way < LENIENT * ROUNDS, f"{name}: rounding decided in {gave_way} rounds"
    assert twin.explorations > 0


@pytest.mark.checks("SPk", "SPLambda", "OSSB", by="a slow twin, decision by decision")
@pytest.mark.parametrize(("kind", "name", "family"), MATCHES, ids=str)
def test_every_decision(kind: str, name: str, family: am.Family) -> None:
    policy, twin, options = PAIRS[kind]
    check(policy(**options), twin(CASES[name][0], family, **options), name)


OPTIONS = [
    ("SPk", {"test": "raw", "epsilon": 0.2}),
    ("SPk", {"test": "raw", "tracking": "pulls"}),
    ("SPLambda", {"test": "raw", "epsilon": 0.5}),
    ("OSSB", {"epsilon": 0.2, "gamma": 0.5}),
]


@pytest.mark.checks("SPk", "SPLambda", "OSSB", by="a slow twin, with every option")
@pytest.mark.parametrize("name", ["Linear", "Sparse"])
@pytest.mark.parametrize(("kind", "options"), OPTIONS, ids=str)
def test_options(kind: str, options: dict, name: str) -> None:
    policy, twin, _ = PAIRS[kind]
    check(policy(**options), twin(CASES[name][0], LOUD, **options), name)


def test_what_was_published() -> None:
    assert am.SPk.published() == am.SPk(test="raw", tracking="pulls")
    assert am.SPLambda.published() == am.SPLambda(test="raw")
    with pytest.raises(am.ArmatureError, match="tracking must be 'game' or 'pulls'"):
        am.SPk(tracking="all")


class EarlyHedge(SPkTwin):
    """The mixability gap starts at 0.01, as in some research code."""

    def __init__(self, structure: am.Structure, family: am.Family) -> None:
        super().__init__(structure, family)
        for hedge in self.hedge:
            hedge.gap = 0.01


class EndsOnly(SPkTwin):
    """Optimism looks at the ends of the intervals alone."""

    def optimism(self, information, j, eps, low, high) -> np.ndarray:
        at_ends = []
        for xi in (low, high):
            regret = np.maximum(eps, high[j] - xi)
            regret[j] = eps
            at_ends.append(information(xi) / regret)
        return np.maximum(*at_ends)


class OneGame(SPLambdaTwin):
    """The leaders weigh all pulls, not those of the candidate's own game."""

    def explore(self, mu, j, eps, low, high) -> list[int]:
        self.chosen[j] = self.N
        return super().explore(mu, j, eps, low, high)


class ForgetfulCells(SPLambdaTwin):
    """Cells that come back have lost nothing while they were away."""

    def explore(self, mu, j, eps, low, high) -> list[int]:
        self.hedge[j].missed = 0.0
        return super().explore(mu, j, eps, low, high)


def ossb(structure: am.Structure, family: am.Family, gamma: float = 0.0) -> Twin:
    return OSSBTwin(structure, family, 0.02, gamma)


MISTAKES: dict[str, tuple[am.Policy, str, am.Family, Callable[..., Twin]]] = {
    "SPk's epsilon": (am.SPk(), "Unimodal", NOISE, partial(SPkTwin, epsilon=2.0)),
    "SPk's test": (am.SPk(), "Unimodal", NOISE, partial(SPkTwin, test="raw")),
    "SPk's tracking": (am.SPk(), "Linear", LOUD, partial(SPkTwin, tracking="pulls")),
    "SPk's learner": (am.SPk(), "Unimodal", NOISE, EarlyHedge),
    "SPk's optimism": (am.SPk(), "Linear", LOUD, EndsOnly),
    "SPLambda's epsilon": (am.SPLambda(), "Unimodal", NOISE, partial(SPLambdaTwin, epsilon=2.0)),
    "SPLambda's leaders": (am.SPLambda(), "Unimodal", NOISE, OneGame),
    "SPLambda's cells": (am.SPLambda(), "Sparse", LOUD, ForgetfulCells),
    "OSSB's test": (am.OSSB(epsilon=0.02), "Unimodal", NOISE, partial(ossb, gamma=0.05)),
    "OSSB's forced rounds": (am.OSSB(epsilon=0.04), "Concave", NOISE, ossb),
}


@pytest.mark.checks("Appendix C.4, kink", "SPk", "SPLambda", by="planted errors")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_shows(mistake: str) -> None:
    """A twin with a planted mistake is told apart, so agreement means something."""
    policy, name, family, make_twin = MISTAKES[mistake]
    structure, means = CASES[name]
    with pytest.raises(DisagreementError):
        compare(policy, make_twin(structure, family), name, means)
