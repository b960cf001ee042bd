"""Saved bandits with edited fields: accepted, and then they work, or refused with a sentence."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from live_bandits import Coin

import armature as am
from armature.live.checkpoint import _checksum
from armature.storage.registry import POLICIES

DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
WRONG = (
    None, True, -1, -1.0, 0, 1, 2, 3.5, 7, 2**31, 2**63, 2**64, 10**400, -(2**63), 1e30, -1e30,
    1e300, math.nan, math.inf, -math.inf, "", "x", "0", [], [0], [[]], [None], ["x"], [1.0] * 50,
    {}, {"x": 1}, {"kind": "x"}, {"tuple": 3}, {"float": "x"}, {"float": "nan"}, {"dict": [1]},
    {"array": {}}, {"array": {"type": "int64", "shape": [10**9, 10**9], "values": []}}, DEEP,
)  # fmt: skip


def sealed(content: dict[str, Any]) -> str:
    """The text of edited content, with the checksum that it should have."""
    return json.dumps({**content, "checksum": _checksum(content)})


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places in nested tables and lists; of a long list, its ends and its middle."""
    if at:
        yield at
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*at, key))
    elif isinstance(value, list):
        for i in sorted({0, len(value) // 2, len(value) - 1} if value else ()):
            yield from paths(value[i], (*at, i))


def edits(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each place with each wrong value; left out; a list too long, too short, or turned around.

    What a policy in plain Python keeps is its own affair.
    """
    own = "state" if ":" in content["policy"]["kind"] else ""
    for path in paths({k: v for k, v in content.items() if k not in ("checksum", "format", own)}):
        for n in range(len(WRONG) + 5):
            edited = copy.deepcopy(content)
            inside: Any = edited
            for key in path[:-1]:
                inside = inside[key]
            old = inside[path[-1]]
            if n < len(WRONG):
                inside[path[-1]] = WRONG[n]
            elif n == len(WRONG):
                del inside[path[-1]]
            elif isinstance(old, list):
                longer = [*old, *(old[:1] or [0])]
                inside[path[-1]] = (longer, old[:-1], old[::-1], old * 3)[n - len(WRONG) - 1]
            elif isinstance(old, (int, float)):
                inside[path[-1]] = (-old, old + 1, old * 1e9, str(old))[n - len(WRONG) - 1]
            else:
                continue
            if edited != content:
                new = repr(inside[path[-1]])[:60] if n != len(WRONG) else "left out"
                yield f"{path} = {new}", edited


def use(bandit: am.Bandit) -> None:
    """What people do with a bandit; a sentence about a number is no failure."""
    again = am.Bandit.from_json(bandit.to_json(), allow=("live_bandits",))
    assert again.to_json() == bandit.to_json()
    arms = bandit.ask(4)
    assert again.ask(4) == arms
    bandit.pulls, bandit.means, bandit.pending, repr(bandit)
    for arm in arms[:2]:
        bandit.tell(arm, 0.0)
    decision = bandit.ask(ids=True)
    bandit.tell_by_id(decision.id, 0.0)
    bandit.ask(exclude=[bandit.arms[0]])
    explanation = bandit.explain()
    assert str(explanation)
    am.Bandit.from_json(bandit.to_json(), allow=("live_bandits",))


def plain() -> am.Bandit:
    bandit = am.Bandit(am.Challenger(), am.Unimodal(4), am.Bernoulli(), seed=3, floor=0.05)
    told(bandit)
    bandit.retire_arm(2)
    bandit.add_arm(before=0)
    bandit.tell(bandit.ask(), 1.0)
    return bandit


def labelled() -> am.Bandit:
    family = am.Bernoulli(scale=[1.0, 2.0, 3.0])
    bandit = am.Bandit(
        am.ThompsonSampling(), am.Unimodal(3), family, labels=[("a",), ("b", 1), (2.5,)], horizon=50
    )
    for arm, reward in ((("a",), 1.0), (("b", 1), 0.0), ((2.5,), 3.0)):
        bandit.tell(arm, reward)
    told(bandit, False)
    bandit.retire_arm(("a",))
    return bandit


def costs() -> am.Bandit:
    bandit = am.Bandit(am.IMED(), am.Monotone(3), am.Gaussian(None), goal="min")
    told(bandit)
    return bandit


def python() -> am.Bandit:
    bandit = am.Bandit(Coin(), am.Unconstrained(2), am.Bernoulli())
    told(bandit)
    return bandit


def told(bandit: am.Bandit, rewards: bool = True) -> None:
    """Rewards, a decision that is open, one that is settled and one that was cancelled."""
    for n, decision in enumerate(bandit.ask(6, ids=True)):
        if n < 4 and rewards:
            bandit.tell_by_id(decision.id, float(n % 2))
        elif n == 4:
            bandit.cancel_by_id(decision.id)
    bandit.ask()


@pytest.mark.parametrize("make", [plain, labelled, costs, python])
def test_every_single_edit(make: Any) -> None:
    content = json.loads(make().to_json())
    use(am.Bandit.from_json(sealed(content), allow=("live_bandits",)))
    outcomes = {"works": 0, "refused": 0}
    bare: list[str] = []
    for what, edited in edits(content):
        try:
            bandit = am.Bandit.from_json(sealed(edited), allow=("live_bandits",))
        except am.ArmatureError as error:
            outcomes["refused"] += 1
            if not str(error).endswith((".", "?")):
                bare.append(f"{what}: no sentence: {error}")
            continue
        except Exception as error:
            bare.append(f"{what}: read: {type(error).__name__}: {error}"[:200])
            continue
        try:
            use(bandit)
        except Exception as error:
            bare.append(f"{what}: used: {type(error).__name__}: {error}"[:200])
        outcomes["works"] += 1
    assert not bare, f"{len(bare)} of {sum(outcomes.values())}:\n" + "\n".join(bare)
    assert outcomes["refused"] > 1000
    assert outcomes["works"] > 10


EXAMPLES = [
    pytest.param(example, id=example.name)
    for cls in POLICIES.values()
    for example in cls.examples()
    if isinstance(example, am.CompiledPolicy)
]


@pytest.mark.parametrize("policy", EXAMPLES)
def test_states_of_policies(policy: am.Policy) -> None:
    """What a policy keeps: arrays of one shape, and numbers that it could have written."""
    from live_bandits import problem_for

    instance = problem_for(policy)
    bandit = am.Bandit(policy, instance.structure, instance.family, horizon=100)
    for _ in range(2 * instance.n_arms + 3):
        arm = bandit.ask()
        bandit.tell(arm, float(instance.means[arm]))
    content = json.loads(bandit.to_json())
    bare = []
    for path in paths(content["state"]):
        for wrong in (*WRONG, -5, 1e9, 12345):
            edited = copy.deepcopy(content)
            inside = edited["state"]
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = wrong
            try:
                changed = am.Bandit.from_json(sealed(edited))
            except am.ArmatureError:
                continue
            except Exception as error:
                bare.append(f"{path} = {wrong!r:.40}: {type(error).__name__}: {error}")
                continue
            try:
                for _ in range(4):
                    arm = changed.ask()
                    changed.tell(arm, float(instance.means[arm]))
                changed.explain()
                am.Bandit.from_json(changed.to_json())
            except Exception as error:
                bare.append(f"{path} = {wrong!r:.40}: used: {type(error).__name__}: {error}")
    assert not bare, "\n".join(bare)


def test_numbers_of_a_state_are_not_stretched() -> None:
    content = json.loads(plain().to_json())
    content["state"]["looked"] = [1.0]  # which NumPy would give to every arm
    with pytest.raises(am.ArmatureError, match=r"state\.looked must be 4 numbers"):
        am.Bandit.from_json(sealed(content))
    assert np.isfinite(content["sums"]).all()
