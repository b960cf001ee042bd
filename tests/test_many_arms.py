"""Many arms: what looks at few of them chooses as if it had looked at all."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.policies import challenger, imed, klucb, ucb
from armature.policies._tournament import (
    build,
    make_tournament,
    next_at_least,
    set_value,
    top,
)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 100])
def test_the_tournament(n: int) -> None:
    rng = np.random.default_rng(n)
    tree, values = make_tournament(n), np.round(rng.normal(size=n), 1)  # with ties
    tree[tree.size // 2 : tree.size // 2 + n] = values
    build(tree)
    for _ in range(50):
        i = int(rng.integers(n))
        values[i] = round(rng.normal(), 1)
        set_value(tree, i, values[i])
        assert top(tree) == int(np.argmax(values))
        first, level = int(rng.integers(n + 1)), round(rng.normal(), 1)
        found = [k for k in range(first, n) if values[k] >= level]
        assert next_at_least(tree, first, level) == (found[0] if found else -1)


MODULES: dict[type, Any] = {
    am.UCB: ucb,
    am.KLUCB: klucb,
    am.IMED: imed,
    am.Challenger: challenger,
}
FEW = 12


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES.values():
        monkeypatch.setattr(module, "MANY", FEW)


def looking_at_all(policy: am.Policy) -> am.Policy:
    """The same policy as it is for few arms."""
    base: Any = type(policy)
    module = MODULES[base]

    class Scanning(base):  # type: ignore[misc]
        def kernels(self, structure: Any, family: Any) -> Any:
            return module.choose, None

        def init(self, structure: Any, family: Any) -> Any:
            K = structure.n_arms
            if base is am.UCB:
                return ucb.UCBState(self.width, np.zeros(K), np.zeros(K))
            if base is am.Challenger:
                return self._plain_state(structure)
            return imed.IMEDState(0.0) if base is am.IMED else klucb.KLUCBState(self.c)

    options = {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)}
    return Scanning(**options)


POLICIES = [am.UCB(), am.UCB(width=0.3), am.KLUCB(), am.KLUCB(c=3.0), am.IMED(), am.Challenger()]
FAMILIES = [am.Gaussian(), am.Bernoulli(), am.Poisson()]


def structures(K: int) -> list[am.Structure]:
    features = np.random.default_rng(K).normal(size=(K, 3))
    return [
        am.Unconstrained(K),
        am.Unimodal(K),
        am.Categorised([k % 3 for k in range(K)]),
        am.Sparse(K, 2, 0.4),
        am.Linear(features),
    ]


def live(policy: am.Policy, structure: am.Structure, family: am.Family, rounds: int) -> None:
    """Rewards come late and in any order, some never, some unasked; some arms are excluded."""
    K = structure.n_arms
    rng = np.random.default_rng(K)
    means = rng.uniform(0.2, 0.8, K)
    both = policy, looking_at_all(policy)
    bandits = [am.Bandit(one, structure, family, seed=0) for one in both]
    waiting: list[int] = []

    def tell(arm: int) -> None:
        reward = float(rng.random() < means[arm])
        for bandit in bandits:
            bandit.tell(arm, reward)

    for n in range(rounds):
        late = n % 40 >= 25  # now and then some rewards are outstanding
        exclude = rng.choice(K, 3, replace=False).tolist() if n % 7 == 0 else []
        first, second = (bandit.ask(exclude=exclude) for bandit in bandits)
        assert first == second, n
        waiting.append(first)
        if not late or len(waiting) > 4:
            rng.shuffle(waiting)
            while waiting:
                arm = waiting.pop()
                if rng.random() < 0.1:
                    for bandit in bandits:
                        bandit.cancel(arm)
                else:
                    tell(arm)
        if n % 50 == 0:
            tell(int(rng.integers(K)))
        if n == rounds // 2:
            bandits[0] = am.Bandit.from_json(bandits[0].to_json())


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_decisions_with_rewards_that_come_late(policy: am.Policy, family: am.Family) -> None:
    if policy.supports(am.Unconstrained(FEW), family):
        live(policy, am.Unconstrained(FEW), family, 400)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("structure", structures(FEW)[1:], ids=lambda s: type(s).__name__)
def test_challenger_on_structures_with_rewards_that_come_late(structure: am.Structure) -> None:
    for family in FAMILIES[: 1 if isinstance(structure, am.Linear) else 2]:
        live(am.Challenger(), structure, family, 400)
