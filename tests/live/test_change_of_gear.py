"""The bits are the same in both gears, whenever they change, for everything that decides live."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import armature as am
from armature.kernels.gears import Gear, using
from armature.policies.policy import checked_policy
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES

Gears = Callable[[int], Gear]


def played(
    policy: am.Policy, structure: am.Structure, family: am.Family, gear: Gears
) -> tuple[list[int], str]:
    """A bandit's decisions and all that it keeps in the end, in a gear for each ask and tell."""
    with using(gear(0)):
        bandit = am.Bandit(policy, structure, family, seed=3)
    rng = np.random.default_rng(5)
    arms = []
    for t in range(structure.n_arms + 8):
        with using(gear(2 * t)):
            arms.append(bandit.ask())
        with using(gear(2 * t + 1)):
            bandit.tell(arms[-1], some_reward(family.for_arm(arms[-1]), rng))
    return arms, bandit.to_json()


def some_reward(family: am.Family, rng: np.random.Generator) -> float:
    """A reward that the family can have."""
    low, high = family.support.low, family.support.high
    if family.support.ends:
        return float(rng.choice([low, high]))
    if family.support.integer:
        return float(rng.poisson(1.5))
    if np.isfinite(high):
        return float(rng.uniform(low, high))
    return float(rng.exponential(1.0) if low == 0.0 else rng.normal())


def compiled(t: int) -> Gear:
    return Gear.compiled


def by_turns(t: int) -> Gear:
    """A change at about every other call, in every order."""
    return Gear.python if np.random.default_rng(t).random() < 0.5 else Gear.compiled


def problems(structure: am.Structure) -> list[tuple[am.Policy, am.Family]]:
    """All policies with all families that go with a structure."""
    found = []
    for kind in FAMILIES.values():
        family = kind.examples()[0]
        try:
            structure.checked_family(family)
        except am.ArmatureError:
            continue
        for chosen in POLICIES.values():
            policy = checked_policy(chosen(), structure.n_arms + 8)
            if policy.supports(structure, family):
                found.append((policy, family))
    return found


def with_arms() -> list[str]:
    """The structures over arms of which one is best."""
    return [name for name in STRUCTURES if STRUCTURES[name].examples()]


@pytest.mark.parametrize("name", with_arms())
def test_decisions_and_states_are_the_same_in_both_gears(name: str) -> None:
    structure = min(STRUCTURES[name].examples(), key=lambda one: (one.n_arms < 3, one.n_arms))
    cases = problems(structure)
    assert len(cases) >= 10
    for policy, family in cases:
        expected = played(policy, structure, family, compiled)
        with np.errstate(all="ignore"):  # as plain Python has it that goes first
            found = played(policy, structure, family, by_turns)
        assert found == expected, f"{policy.name}, {structure}, {family}"
