"""Many arms: what looks at few of them chooses as if it had looked at all."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.policies import imed, klucb, ucb
from armature.policies._search import MANY
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


def looking_at_all(policy: am.Policy) -> am.Policy:
    """The same policy as it is for few arms."""
    modules: dict[type, Any] = {am.UCB: ucb, am.KLUCB: klucb, am.IMED: imed}
    base: Any = type(policy)
    scan = modules[base].choose

    class Scanning(base):  # type: ignore[misc]
        def kernels(self, structure: Any, family: Any) -> Any:
            return scan, None

        def init(self, structure: Any, family: Any) -> Any:
            if base is am.UCB:
                K = structure.n_arms
                return ucb.UCBState(self.width, np.zeros(K), np.zeros(K))
            return imed.IMEDState(0.0) if base is am.IMED else klucb.KLUCBState(self.c)

    options = {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)}
    return Scanning(**options)


POLICIES = [am.UCB(), am.UCB(width=0.3), am.KLUCB(), am.KLUCB(c=3.0), am.IMED()]
FAMILIES = [am.Gaussian(), am.Bernoulli(), am.Poisson()]


def live(
    one: am.Policy, other: am.Policy, family: am.Family, K: int, rounds: int, seed: int
) -> None:
    """Rewards come late and in any order, some never, some unasked; some arms are excluded."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.2, 0.8, K)
    bandits = [am.Bandit(p, am.Unconstrained(K), family, seed=0) for p in (one, other)]
    waiting: list[int] = []

    def tell(arm: int) -> None:
        reward = float(rng.random() < means[arm])
        for bandit in bandits:
            bandit.tell(arm, reward)

    for arm in range(K):
        tell(arm)
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


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_decisions_with_rewards_that_come_late(policy: am.Policy, family: am.Family) -> None:
    if policy.supports(am.Unconstrained(2), family):
        live(policy, looking_at_all(policy), family, MANY, 150, seed=1)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_runs(policy: am.Policy, family: am.Family) -> None:
    """Long enough that bounds are made anew many times, for either reason."""
    if not policy.supports(am.Unconstrained(2), family):
        return
    means = np.random.default_rng(0).uniform(0.3, 0.7, 2 * MANY)
    instance = am.Instance(am.Unconstrained(2 * MANY), means, family)
    runs = [
        am.simulate(instance, [p], horizon=20 * MANY, repetitions=2, seed=3)
        for p in (policy, looking_at_all(policy))
    ]
    a, b = (run.pulls(run.names[0]) for run in runs)
    assert np.array_equal(a, b)
