"""Many arms: what looks at few of them chooses as if it had looked at all."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.experiments.store.results_file import MOST_TRACED
from armature.families.limits import MOST_PAIRED
from armature.policies import challenger
from armature.policies.baselines import imed, klucb, ucb
from armature.policies.many_arms import search
from armature.policies.many_arms.groups import (
    GROUPS,
    NOBODY,
    best_at,
    enter,
    enter_all,
    leave,
    make_groups,
    place_for,
)
from armature.policies.many_arms.search import MANY
from armature.policies.many_arms.tournament import (
    build,
    make_tournament,
    next_at_least,
    set_value,
    top,
)
from armature.policies.records import make_history
from armature.storage.registry import POLICIES as NAMED


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 100])
def test_the_tournament(n: int) -> None:
    rng = np.random.default_rng(n)
    tree, values = make_tournament(n), np.round(rng.normal(size=n), 1)  # with ties
    tree[tree.size // 2 : tree.size // 2 + n] = values
    build(tree, n)
    for _ in range(50):
        i = int(rng.integers(n))
        values[i] = round(rng.normal(), 1)
        set_value(tree, i, values[i])
        assert top(tree) == int(np.argmax(values))
        first, level = int(rng.integers(n + 1)), round(rng.normal(), 1)
        found = [k for k in range(first, n) if values[k] >= level]
        assert next_at_least(tree, first, level) == (found[0] if found else -1)


def test_the_groups() -> None:
    """The best arm of each, as from a list."""
    rng = np.random.default_rng(0)
    K, groups = 60, make_groups(60)
    pulls, means = rng.integers(1, 4, K).astype(float), np.round(rng.normal(size=K), 1)  # with ties
    enter_all(groups, pulls, means, True)
    for _ in range(400):
        k = int(rng.integers(K))
        assert leave(groups, k) == place_for(pulls[k], k, True)
        pulls[k] = [pulls[k] + 1.0, 1.0, GROUPS + 1.0, 0.0][
            int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1]))
        ]
        means[k] = round(rng.normal(), 1)
        place = enter(groups, k, pulls[k], means[k], True)
        assert best_at(groups, place) != NOBODY
        for n in range(1, 8):
            there = [i for i in range(K) if pulls[i] == n]
            best = min(there, key=lambda i: (-means[i], i)) if there else NOBODY
            assert best_at(groups, n - 1) == best
        alone = [i for i in range(K) if best_at(groups, GROUPS + i) == i]
        assert alone == [i for i in range(K) if pulls[i] > GROUPS or pulls[i] == 0.0]
        assert groups.used[1] == len(alone)


MODULES: dict[type, Any] = {
    am.UCB: ucb,
    am.KLUCB: klucb,
    am.IMED: imed,
    am.Challenger: challenger,
}
FEW = 12
POLICY_CLASSES = [cls for cls in NAMED.values() if issubclass(cls, am.CompiledPolicy)]


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search, challenger):
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


def final_pulls(policy: am.Policy, instance: am.Instance, rounds: int) -> Any:
    """Of each arm, at the end of some runs."""
    results = am.simulate(instance, [policy], horizon=rounds, repetitions=2, seed=3)
    return results.pulls(policy)[:, -1], results.regret(policy)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_runs_with_many_arms(policy: am.Policy) -> None:
    """Long enough that bounds are made anew many times, for either reason."""
    means = np.random.default_rng(0).uniform(0.3, 0.7, MANY)
    for family in FAMILIES[:2]:
        instance = am.Instance(am.Unconstrained(MANY), means, family)
        one, other = (final_pulls(p, instance, 60 * MANY) for p in (policy, looking_at_all(policy)))
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("number", range(5))
def test_runs_of_challenger_on_structures(number: int) -> None:
    structure = structures(FEW)[number]
    features = getattr(structure, "features", np.zeros((FEW, 3)))
    means = [
        np.linspace(0.1, 0.9, FEW),
        0.8 - 0.08 * np.abs(np.arange(FEW) - 4),
        0.3 * (np.arange(FEW) % 3) + 0.02 * np.arange(FEW),
        0.4 + 0.3 * (np.arange(FEW) == 3) + 0.1 * (np.arange(FEW) == 7),
        features @ np.array([0.5, 0.2, -0.3]),
    ][number]
    for family in FAMILIES[: 1 if isinstance(structure, am.Linear) else 2]:
        instance = am.Instance(structure, means, family)
        policy = am.Challenger()
        one, other = (final_pulls(p, instance, 3000) for p in (policy, looking_at_all(policy)))
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("seed", range(8))
def test_challenger_with_few_arms_above_a_level(seed: int) -> None:
    """Random problems, from few arms to many, in which places change hands and are left."""
    rng = np.random.default_rng(seed)
    K, support, level = (12, 60, 300)[seed % 3], int(rng.integers(2, 6)), rng.choice([0.0, -1.0])
    support = 1 if seed >= 6 else support
    means = np.full(K, level)
    means[rng.choice(K, support, replace=False)] += rng.uniform(0.05, 1.5, support)
    sigma = 1.0 if seed < 3 else 0.4
    instance = am.Instance(am.Sparse(K, support, level), means, am.Gaussian(sigma))
    policy = am.Challenger(price=float(seed % 2))
    one, other = (final_pulls(p, instance, 25 * K) for p in (policy, looking_at_all(policy)))
    assert np.array_equal(one[0], other[0])
    assert np.array_equal(one[1], other[1])


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("support", [1, 2, 5])
def test_challenger_above_a_level_with_ties(support: int) -> None:
    """Rewards are 0 or 1, though the policy thinks them Gaussian: ties are everywhere."""
    for family in (am.Gaussian(), am.Bernoulli())[: 2 if support == 1 else 1]:
        live(am.Challenger(), am.Sparse(40, support, 0.4), family, 400)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("seed", range(8))
def test_challenger_with_one_category_on_top(seed: int) -> None:
    """Random problems, from few arms to many, in which categories compete, and arms are alike."""
    rng = np.random.default_rng(seed)
    K, C = (12, 60, 300, 600)[seed % 4], int(rng.integers(2, 6))
    structure = am.Categorised([k % C if k < C else int(rng.integers(C)) for k in range(K)])
    target = structure.shape.integer[1:] * rng.choice([0.05, 0.4]) + 0.3 * rng.random(K)
    means = structure.project(target, np.ones(K), am.Gaussian()).means
    means[np.argmax(means)] += rng.uniform(0.02, 0.6)
    instance = am.Instance(structure, means, am.Gaussian(1.0 if seed < 4 else 0.3))
    policy = am.Challenger(patience=0.0 if seed == 5 else 1.0)
    one, other = (final_pulls(p, instance, 9 * K) for p in (policy, looking_at_all(policy)))
    assert np.array_equal(one[0], other[0])
    assert np.array_equal(one[1], other[1])


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("n_categories", [1, 2, 5, 20])
def test_challenger_on_categories_with_ties(n_categories: int) -> None:
    """Rewards are 0 or 1, though the policy thinks them Gaussian: ties are everywhere."""
    structure = am.Categorised([k % n_categories for k in range(40)])
    live(am.Challenger(), structure, am.Gaussian(), 300)


def numbers(value: Any) -> int:
    """How many numbers are in the arrays of a record."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    return sum(map(numbers, value)) if isinstance(value, tuple) else 0


@pytest.mark.parametrize("cls", POLICY_CLASSES, ids=lambda cls: cls.__name__)
def test_memory_is_in_proportion_to_the_arms(cls: type[am.CompiledPolicy]) -> None:
    """Of every policy and each of the structures for many arms, unless it refuses many."""
    policy = cls.examples()[0].with_horizon(1000)
    assert isinstance(policy, am.CompiledPolicy)
    family = am.Gaussian()
    for small, large, many in zip(*map(structures, (500, 1000, MOST_PAIRED + 1)), strict=True):
        if not policy.supports(small, family):
            continue
        if not policy.supports(many, family):
            with pytest.raises(am.ArmatureError, match="at most 5000"):
                policy.check(many, family)
            continue
        few, more = (
            numbers(policy.init(structure, family))
            + numbers(structure.own_side())
            + numbers(make_history(structure.n_arms))
            for structure in (small, large)
        )
        assert more <= 2.1 * few, type(small).__name__
        assert not any(small.entry(oracle, family)[1] for oracle in policy.oracles)


def test_pulls_of_many_arms_are_kept_at_the_end(tmp_path: Path) -> None:
    K = MOST_TRACED + 1
    instance = am.Instance(am.Unconstrained(K), np.arange(K) / K)
    results = am.simulate(instance, [am.IMED()], horizon=K + 50, repetitions=2, seed=0)
    assert results.pulls("IMED").shape == (2, 1, K)
    assert (results.pulls("IMED").sum(axis=2) == K + 50).all()
    assert not any(column.startswith("pulls") for column in results.to_frame().columns)
    results.save(tmp_path / "many.parquet")
    again = am.Results.load(tmp_path / "many.parquet")
    assert np.array_equal(again.regret("IMED"), results.regret("IMED"))


def test_the_bounds_refuse_too_many_arms() -> None:
    K = MOST_PAIRED + 1
    instance = am.Instance(am.Unconstrained(K), np.arange(K) / K)
    for bound in (am.lower_bound, am.characteristic_time):
        with pytest.raises(am.ArmatureError, match="at most 5000 arms; there are 5001"):
            bound(instance)
