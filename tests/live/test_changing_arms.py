"""Arms that come and go: what structures say of it, and what a bandit keeps."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from structures_again import holds

import armature as am
from armature.testing import discover

FACTS: dict[str, Any] = {
    "position": 0.55,
    "price": 1.7,
    "category": "a",
    "features": None,  # as many numbers as the others have
    "low": 0.2,
    "high": None,
}
STRUCTURES = [s for cls in discover(am.Structure, am) for s in cls.examples()]
CHANGING = [s for s in STRUCTURES if s.arm_facts is not None]


def facts_for(structure: am.Structure) -> dict[str, Any]:
    facts = {name: FACTS[name] for name in structure.arm_facts or ()}
    if isinstance(structure, am.Categorised):
        facts["category"] = structure.categories[0]
    if "features" in facts:
        facts["features"] = np.full(structure.features.shape[1], 0.7)
    return facts


def random_means(structure: am.Structure, rng: np.random.Generator) -> np.ndarray:
    """Any means, or some in M; rounded, so that orders and levels are hit."""
    K = structure.n_arms
    means = rng.uniform(0.0, 1.0, K)
    if rng.random() < 0.7:
        means = np.asarray(structure.project(means, np.ones(K), am.Gaussian()).means)
    return means


def extends(structure: am.Structure, arm: int, others: np.ndarray) -> bool:
    """Whether some mean of `arm` makes these means of the others a vector of M, by its pieces."""
    for piece in structure.pieces():
        rows = np.vstack([piece.A, piece.C, -piece.C])
        right = np.concatenate([piece.b, piece.d, -piece.d]) + 1e-7
        slack = right - np.delete(rows, arm, axis=1) @ others
        own = rows[:, arm]
        low = max([*(slack[own < 0.0] / own[own < 0.0]), -np.inf])
        high = min([*(slack[own > 0.0] / own[own > 0.0]), np.inf])
        if (slack[own == 0.0] >= 0.0).all() and low <= high:
            return True
    return False


def is_needed(structure: am.Structure, arm: int) -> bool:
    """Whether too little would be left: of few good arms, or of which category may be the best."""
    if isinstance(structure, am.Categorised):
        return structure.categories.count(structure.categories[arm]) == 1
    if isinstance(structure, am.Union):
        return any(is_needed(part, arm) for part in structure.parts)
    return isinstance(structure, am.Sparse) and structure.support == structure.n_arms - 1


@pytest.mark.parametrize(
    "structure",
    [s for s in CHANGING if s.n_arms > 2 and not isinstance(s, am.Intersection)],
    ids=repr,
)
def test_without_an_arm_the_others_are_as_before(structure: am.Structure) -> None:
    """M without arm k has the vectors that some mean of k makes a vector of M, and no others."""
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(60):
        arm = int(rng.integers(structure.n_arms))
        if is_needed(structure, arm):
            with pytest.raises(am.ArmatureError, match=r"from 1 to|alone in its category"):
                structure.without_arm(arm)
            continue
        rest = structure.without_arm(arm)
        assert rest.n_arms == structure.n_arms - 1
        others = np.delete(random_means(structure, rng), arm)
        if rng.random() < 0.5:
            others = random_means(rest, rng)
        assert rest.contains(others) == extends(structure, arm, others)
        found.add(rest.contains(others))
    assert True in found


@pytest.mark.parametrize("structure", CHANGING, ids=repr)
def test_a_new_arm_can_go_again(structure: am.Structure) -> None:
    for at in range(structure.n_arms + 1):
        larger = structure.with_arm(at, facts_for(structure))
        assert larger.n_arms == structure.n_arms + 1
        assert larger.without_arm(at) == structure


def test_where_the_new_arm_is() -> None:
    assert am.Categorised("aab").with_arm(1, {"category": "b"}).categories == ("a", "b", "a", "b")
    assert am.Lipschitz(2, 0.5).with_arm(2, {"position": 0.5}).positions.tolist() == [0.0, 1.0, 0.5]
    box = am.Box(2, [0.0, None], 1.0).with_arm(1, {"low": None, "high": 0.5})
    assert (box.low.tolist(), box.high.tolist()) == ([0.0, -np.inf, -np.inf], [1.0, 0.5, 1.0])
    linear = am.Linear([[1.0, 0.0], [0.0, 1.0]]).with_arm(0, {"features": [0.5, 0.5]})
    assert linear.features.tolist() == [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    both = am.Unimodal(3) & am.Lipschitz(3, 0.5)
    assert (both.arm_facts, both.arms_in_order) == (("position",), True)
    assert (am.Unimodal(3) & am.Simplex(3)).arm_facts is None


# Structures of costs.


def is_valley(costs: np.ndarray) -> bool:
    low = int(costs.argmin())
    return bool((np.diff(costs[: low + 1]) <= 1e-9).all() and (np.diff(costs[low:]) >= -1e-9).all())


def valleys(costs: np.ndarray) -> int:
    steps = [s for s in np.diff(costs) if abs(s) > 1e-9]
    padded = [-1.0, *steps, 1.0]
    return sum(a < 0.0 < b for a, b in itertools.pairwise(padded))


def is_cheaper(structure: am.Categorised, costs: np.ndarray) -> bool:
    return any(
        all(
            costs[i] <= costs[k] + 1e-9
            for i, mine in enumerate(structure.categories)
            for k, other in enumerate(structure.categories)
            if mine == c != other
        )
        for c in structure.categories
    )


def rises_from_the_least(structure: am.UnimodalTree, costs: np.ndarray) -> bool:
    near: dict[int, list[int]] = {k: [] for k in range(structure.n_arms)}
    for i, k in structure.edges:
        near[i].append(k)
        near[k].append(i)

    def rises(here: int, before: int) -> bool:
        return all(
            costs[k] >= costs[here] - 1e-9 and rises(k, here) for k in near[here] if k != before
        )

    return rises(int(costs.argmin()), -1)


def tree_valleys(structure: am.MultimodalTree, costs: np.ndarray) -> int:
    """How many arms, or groups of level neighbours, are below all of their other neighbours."""
    level = {k: k for k in range(structure.n_arms)}  # one arm for each group
    for i, k in structure.edges:
        if abs(costs[i] - costs[k]) <= 1e-9:
            level = {a: level[i] if b == level[k] else b for a, b in level.items()}
    higher = {level[i if costs[i] > costs[k] else k] for i, k in structure.edges
              if level[i] != level[k]}  # fmt: skip
    return len(set(level.values()) - higher)


def is_sparse(structure: am.Sparse, costs: np.ndarray) -> bool:
    below = costs < structure.level - 1e-9
    return bool((costs <= structure.level + 1e-9).all() and below.sum() <= structure.support)


READINGS: dict[type, Callable[[Any, np.ndarray], bool]] = {
    am.Unconstrained: lambda s, c: True,
    am.Unimodal: lambda s, c: is_valley(c),
    am.Multimodal: lambda s, c: valleys(c) <= s.peaks,
    am.MultimodalTree: lambda s, c: tree_valleys(s, c) <= s.peaks,
    am.Monotone: lambda s, c: bool((np.diff(c) <= 1e-9).all()),
    am.Categorised: is_cheaper,
    am.UnimodalTree: rises_from_the_least,
    am.Sparse: is_sparse,
    am.Concave: lambda s, c: am.Concave(s.n_arms, s.positions).contains(-c),
    am.Linear: lambda s, c: s.contains(c),
    am.Lipschitz: lambda s, c: s.contains(c),
    am.Box: lambda s, c: s.contains(c),
    am.Finite: lambda s, c: bool((np.abs(s.rows - c).max(axis=1) <= 1e-9).any()),
    am.Simplex: lambda s, c: s.contains(c),
    am.Polyhedral: lambda s, c: s.contains(c),
    am.Intersection: lambda s, c: all(reads(part, c) for part in s.parts),
    am.Union: lambda s, c: any(reads(part, c) for part in s.parts),
    am.Relabelled: lambda s, c: reads(s.structure, c[np.argsort(s.order)]),
    am.Grid: lambda s, c: reads_in_rows(s, c.reshape(len(s.rows), -1)),
}


def reads_in_rows(grid: am.Grid, costs: np.ndarray) -> bool:
    each = grid.columns
    rows = [each[name] if isinstance(each, dict) else each for name in grid.rows]
    if isinstance(grid.coupling, am.SameBest):
        coupled = any(
            all(
                c[k] <= c.min() + 1e-9 and can_lead(row, k)
                for row, c in zip(rows, costs, strict=True)
            )
            for k in range(costs.shape[1])
        )
    else:
        coupled = holds(grid.coupling, costs, 1e-9)
    return coupled and all(map(reads, rows, costs))


def can_lead(row: am.Structure, k: int) -> bool:
    """Whether an arm can be the only best one: what is level with it in a tie does not count."""
    return not isinstance(row, am.Monotone) or k == row.n_arms - 1


def reads(structure: am.Structure, costs: np.ndarray) -> bool:
    return READINGS[type(structure)](structure, costs)


@pytest.mark.parametrize("about", [0.0, 1.0])
@pytest.mark.parametrize(
    "structure",
    [s for s in STRUCTURES if not isinstance(s, am.Demand)],  # which refuses costs
    ids=repr,
)
def test_structures_of_costs(structure: am.Structure, about: float) -> None:
    """What each says of costs, in words of its own."""
    if isinstance(structure, am.Linear) and about:
        constant = np.column_stack([structure.features, np.ones(structure.n_arms)])
        structure = am.Linear(constant)
    values = structure.mirrored(about)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(80):
        costs = random_means(structure, rng)
        if rng.random() < 0.7:
            costs = about - random_means(values, rng)
        found.append(values.contains(about - costs))
        assert found[-1] == reads(structure, costs), costs
    assert True in found


def test_linear_costs_need_a_constant() -> None:
    with pytest.raises(am.ArmatureError, match="add a column of ones"):
        am.Bandit(am.SPk(), am.Linear([[1.0], [2.0]]), am.Bernoulli(), goal="min")
    am.Bandit(am.SPk(), am.Linear([[1.0], [2.0]]), am.Gaussian(), goal="min")


# Bandits.

POLICIES = [am.SPk(), am.UCB(), am.Challenger(), am.OSUB()]


def told(bandit: am.Bandit, rounds: int, seed: int = 0) -> am.Bandit:
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        arm = bandit.ask()
        bandit.tell(arm, rng.normal(-abs(float(arm) - 3.0)))
    return bandit


def refused(bandit: am.Bandit, complaint: str, call: Callable[[], Any]) -> None:
    before = bandit.to_json()
    with pytest.raises(am.ArmatureError, match=complaint):
        call()
    assert bandit.to_json() == before


def state_of(bandit: am.Bandit) -> dict[str, Any]:
    content = json.loads(bandit.to_json())
    return {k: v for k, v in content.items() if k not in ("arms", "checksum", "clock", "random")}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)
def test_a_bandit_with_a_new_arm_is_one_that_starts_from_its_history(policy: am.Policy) -> None:
    bandit = told(am.Bandit(policy, am.Unimodal(4), labels=[1, 2, 4, 5]), 40)
    sums = np.nan_to_num(bandit.means) * bandit.pulls
    squares = json.loads(bandit.to_json())["squares"]
    pending = bandit.ask(3)
    assert bandit.add_arm(3, after=2) == 3
    assert bandit.arms == [1, 2, 3, 4, 5]
    assert bandit.pending.sum() == 3
    for arm in pending:
        bandit.cancel(arm)
    pulls = bandit.pulls.tolist()
    assert pulls[2] == 0
    fresh = am.Bandit(policy, am.Unimodal(5), labels=[1, 2, 3, 4, 5])
    content = json.loads(fresh.to_json())
    content["pulls"], content["sums"] = pulls, np.insert(sums, 2, 0.0).tolist()
    content["squares"] = [*squares[:2], 0.0, *squares[2:]]
    mine = state_of(bandit)
    for key in ("pulls", "sums", "squares", "state", "structure", "pending"):
        assert np.allclose(mine[key], content[key]) if key == "sums" else mine[key] == content[key]
    first = bandit.ask()
    assert first == 3 if policy.starts_with_each_arm else first in bandit.arms
    told(bandit, 300, seed=1)
    assert bandit.pulls.argmax() == 2  # the new arm is the best of all


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)
def test_a_retired_arm_is_gone(policy: am.Policy) -> None:
    bandit = told(am.Bandit(policy, am.Unimodal(4), labels=[2, 3, 4, 6], seed=1), 40)
    kept = {arm: (n, m) for arm, n, m in zip(bandit.arms, bandit.pulls, bandit.means, strict=True)}
    bandit.retire_arm(3)
    assert bandit.arms == [2, 4, 6]
    assert bandit.structure == am.Unimodal(3)
    for arm, n, m in zip(bandit.arms, bandit.pulls, bandit.means, strict=True):
        assert (n, m) == (kept[arm][0], pytest.approx(kept[arm][1]))
    assert 3 not in bandit.ask(100)
    refused(bandit, "the arm 3 is retired: the arms are 2, 4, 6", lambda: bandit.retire_arm(3))
    resumed = am.Bandit.from_json(bandit.to_json())
    assert resumed.to_json() == bandit.to_json()
    assert resumed.ask(20) == bandit.ask(20)
    bandit.ask(exclude=[3, 4])  # what is not there may be excluded
    assert bandit.add_arm(3, after=2) == 3  # it comes back with its rewards
    back = bandit.arms.index(3)
    assert (bandit.pulls[back], bandit.means[back]) == (kept[3][0], pytest.approx(kept[3][1]))
    bandit.retire_arm(2)
    bandit.retire_arm(3)
    refused(bandit, "two arms left", lambda: bandit.retire_arm(4))


def test_late_rewards_of_a_retired_arm() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(3), labels=list("abc"))
    bandit.ask(3)
    again = bandit.ask(3, ids=True)
    mine = next(d for d in again if d.arm == "b")
    bandit.retire_arm("b")
    assert bandit.pending.tolist() == [2, 2]
    rounds = json.loads(bandit.to_json())["clock"][0]
    bandit = am.Bandit.from_json(bandit.to_json())
    refused(bandit, "must be finite", lambda: bandit.tell("b", np.inf))
    bandit.tell("b", 3.0)
    assert bandit.tell_by_id(mine.id, 4.0) == "ignored"
    assert bandit.tell_by_id(mine.id, 4.0) == "duplicate"
    refused(bandit, "no reward of arm 'b' is outstanding", lambda: bandit.cancel("b"))
    assert json.loads(bandit.to_json())["clock"][0] == rounds
    assert bandit.add_arm("b") == "b"
    assert bandit.pulls.sum() == 0
    assert bandit.pending.tolist() == [2, 2, 0]


def test_arms_without_labels_keep_their_numbers() -> None:
    bandit = am.Bandit(am.UCB(), am.Unimodal(3))
    assert bandit.add_arm(after=0) == 3
    assert bandit.arms == [0, 3, 1, 2]
    bandit.tell([3, 2], [0.5, 0.25])
    assert bandit.means[[1, 3]].tolist() == [0.5, 0.25]
    bandit.retire_arm(0)
    assert bandit.add_arm(before=3) == 4
    refused(bandit, "there is an arm 2 already", lambda: bandit.add_arm(2, after=3))
    refused(bandit, "there is no arm 9: the arms are 4, 3, 1, 2", lambda: bandit.tell(9, 1.0))
    refused(bandit, "there is no arm 1.0", lambda: bandit.tell(1.0, 1.0))
    assert bandit.add_arm(0, before=4) == 0
    assert am.Bandit.from_json(bandit.to_json()).arms == bandit.arms == [0, 4, 3, 1, 2]


@pytest.mark.parametrize(
    ("structure", "label", "options", "complaint"),
    [
        (am.Unimodal(2), "new", {}, "needs one neighbour: say after=... or before=..."),
        (am.Unimodal(2), "new", {"after": "a", "before": "b"}, "needs one neighbour"),
        (am.Unimodal(2), "new", {"after": "z"}, "there is no arm 'z'"),
        (am.Unimodal(2), "a", {"after": "b"}, "the label 'a' is there already"),
        (am.Unimodal(2), ["x"], {"after": "b"}, "can't be a label"),
        (am.Unconstrained(2), "new", {"after": "a"}, "arms have no order: leave out the neighbour"),
        (am.Unconstrained(2), "new", {"sigma": 2.0}, "sigma is not asked for a new arm of Uncon"),
        (am.Categorised("xy"), "new", {}, "a new arm of Categorised with Gaussian rewards needs"),
        (am.Categorised("xy"), "new", {"category": None}, "categor"),
        (am.Linear([[1.0], [2.0]]), "new", {"features": [1.0, 2.0]}, "must be 1 numbers"),
        (am.Lipschitz(2, 0.5), "new", {"position": 1.0}, "are both 1"),
        (am.Lipschitz(2, 0.5), "new", {"position": [1.0]}, "position must be one number"),
        (am.Demand([1, 2]), "new", {"price": 2.0}, r"prices\[1\] and prices\[2\] are both 2"),
        (am.Demand([1, 2]), "new", {"price": 0.0}, "price must be a positive finite number"),
        (am.Box(2), "new", {"low": 1.0, "high": 0.5}, "is above"),
        (am.Simplex(2), "new", {}, "Simplex does not say what a new arm would mean"),
        (am.Unimodal(2) & am.Simplex(2), "new", {"after": "a"}, "does not say what a new arm"),
    ],
)  # fmt: skip
def test_arms_that_can_not_be_added(structure, label, options, complaint) -> None:
    bandit = am.Bandit(am.ThompsonSampling(), structure, labels=["a", "b"])
    bandit.tell(["a", "b", "a"], [0.25, 0.5, 0.75])
    bandit.ask(2)
    refused(bandit, complaint, lambda: bandit.add_arm(label, **options))


def test_arms_that_can_not_be_retired() -> None:
    bandit = am.Bandit(am.ThompsonSampling(), am.Simplex(3))
    refused(bandit, "Simplex does not say what is left without", lambda: bandit.retire_arm(0))
    few = am.Bandit(am.ThompsonSampling(), am.Sparse(3, 2, 0.0))
    refused(few, "support = 2: with 2 arms it must be from 1 to 1", lambda: few.retire_arm(0))
    shop = am.Bandit(am.ThompsonSampling(), am.Categorised("aab"))
    refused(shop, "the arm is alone in its category 'b'", lambda: shop.retire_arm(2))
    shop.retire_arm(0)
    assert shop.structure == am.Categorised("ab")
