"""An explanation says what the next decision does: both read the same kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armature as am
from armature.words import Arm, Sentence

ANGLES = np.linspace(0.0, np.pi, 6)
STRUCTURES = {
    "nothing": am.Unconstrained(5),
    "one peak": am.Unimodal(5),
    "linear": am.Linear(np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])),
    "one good arm": am.Sparse(5, 1, 0.3),
    "one line": am.Lipschitz(5, 0.3),
}


def promised(reason: Sentence, bandit: am.Bandit) -> int | None:
    """The arm that the explanation says is pulled; None where it leaves that open."""
    template, values = reason.parts[0]
    named = {name: value.index for name, value in values.items() if isinstance(value, Arm)}
    if "come first" in template or "pulled once first" in template.lower():
        return int(values["arms"][0].index)
    if "audited" in template:
        return named["arm"]
    if "is pulled" in template:
        return named["leader"]
    if "exploits" in template:
        return named.get("leader", named.get("best"))
    return None


def explanations(policy: am.Policy, structure: am.Structure, seed: int) -> list[tuple[str, bool]]:
    """What was said in each round, and whether it came true."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.0, 1.0, structure.n_arms)
    bandit = am.Bandit(policy, structure, am.Gaussian(0.5), seed=seed)
    said = []
    for _ in range(150):
        reason = bandit.explain().reason
        assert reason is not None
        template, values = reason.parts[0]
        arm = bandit.ask()
        due = promised(reason, bandit)
        if due is not None:
            said.append((template[:40], arm == due))
        elif "checked" in template:
            said.append((template[:40], arm != values["leader"].index))
        bandit.tell(arm, float(rng.normal(means[arm], 0.5)))
    return said


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize(
    "policy", [am.Challenger(), am.Guarded(), am.OSSB(epsilon=0.1)], ids=lambda p: p.name
)
def test_what_is_said_is_done(policy: am.Policy, structure: am.Structure) -> None:
    said = [one for seed in range(4) for one in explanations(policy, structure, seed)]
    assert len(said) > 15
    assert [words for words, came_true in said if not came_true] == []


def test_explaining_changes_no_decision() -> None:
    """Guarded keeps its last misfit, and Challenger whom it has looked into: both stay."""
    for policy in (am.Guarded(), am.Challenger(draw="sample"), am.SPk()):
        one, other = (am.Bandit(policy, am.Monotone(4), seed=1) for _ in range(2))
        rng = np.random.default_rng(0)
        for _ in range(200):
            one.explain()
            arm = one.ask()
            assert other.ask() == arm
            reward = float(rng.normal([0.9, 0.1, 0.5, 0.2][arm]))
            one.tell(arm, reward)
            other.tell(arm, reward)
        assert one.to_json() == other.to_json()


@pytest.mark.parametrize("policy", [am.Challenger(), am.Guarded(), am.SPk(), am.TopTwo()], ids=str)
def test_an_explanation_asks_for_everything_once(
    policy: am.Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest means, and the nearest with another best arm: verdict and evidence read them."""
    bandit = am.Bandit(policy, am.Unimodal(4))
    rng = np.random.default_rng(0)
    bandit.tell([0, 1, 2, 3] * 300, rng.normal([0.0, 0.5, 1.0, 0.2] * 300))
    asked: list[tuple[str, bytes]] = []
    solve = am.Unimodal._solve

    def counted(self: Any, name: str, means: Any, weights: Any, *rest: Any) -> Any:
        asked.append((name, np.asarray(means).tobytes() + np.asarray(weights).tobytes()))
        return solve(self, name, means, weights, *rest)

    monkeypatch.setattr(am.Unimodal, "_solve", counted)
    found = bandit.explain()
    assert found.verdict is not None
    assert found.verdict.sure
    assert found.fit is not None
    str(found)
    assert sorted(name for name, _ in asked) == ["challenger_costs", "nearest", "project"]
