"""Arms come and go: what was learned about the others is kept."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.live.arms import Arms, Retired
from armature.live.rewards import Goal
from armature.live.warm_start import PastSums, write_summary
from armature.policies import Policy
from armature.rounds.runner import PolicyRunner, make_runner
from armature.structures import Structure


class Setting(NamedTuple):
    """The parts of a bandit that change when an arm comes or goes."""

    structure: Structure  # of the rewards, or costs, as they are reported
    family: Family
    arms: Arms
    decisions: PolicyRunner


def setting_of(
    policy: Policy, structure: Structure, family: Family, arms: Arms, goal: Goal, seed: int
) -> Setting:
    """The policy at its start."""
    decisions = make_runner(policy, goal.structure(structure), family, seed)
    return Setting(structure, family, arms, decisions)


def place_of_new(structure: Structure, arms: Arms, after: Any, before: Any) -> int:
    """The number of a new arm: beside its neighbour where arms have an order, else the last."""
    if (after is None) == (before is None):
        if after is None and not structure.arms_in_order:
            return structure.n_arms
        raise ArmatureError(
            "a new arm needs one neighbour: say after=... or before=..., an arm that is there."
        )
    if not structure.arms_in_order:
        raise ArmatureError(
            f"in {type(structure).__name__} arms have no order: leave out the neighbour."
        )
    return arms.live_place(before) if after is None else arms.live_place(after) + 1


def with_arm(
    old: Setting, goal: Goal, seed: int, name: Hashable, at: int, facts: Mapping[str, Any]
) -> Setting:
    """One more arm, number `at`."""
    _check_facts(old, facts)
    _check_told(old)
    new = setting_of(
        old.decisions.policy,
        old.structure.with_arm(at, facts),
        old.family.with_arm(at, facts),
        old.arms.with_arm(at, name),
        goal,
        seed,
    )
    stay = [*range(at), None, *range(at, len(old.arms.names))]
    _go_on(old.decisions, new.decisions, stay, old.arms.retired.get(name))
    return new


def without_arm(old: Setting, goal: Goal, seed: int, at: int, pending: float) -> Setting:
    """Without arm number `at`."""
    if old.structure.n_arms == 2:
        raise ArmatureError("there are two arms left: a bandit needs at least 2 arms.")
    _check_told(old)
    record = Retired.of(at, old.decisions.history, old.family, pending)
    new = setting_of(
        old.decisions.policy,
        old.structure.without_arm(at),
        old.family.without_arm(at),
        old.arms.without_arm(at, record),
        goal,
        seed,
    )
    stay = [k for k in range(len(old.arms.names)) if k != at]
    _go_on(old.decisions, new.decisions, stay, None)
    return new


def with_policy(old: Setting, goal: Goal, seed: int, policy: Policy) -> Setting:
    """The same with another policy, which is told what was learned as a history."""
    new = setting_of(policy, old.structure, old.family, old.arms, goal, seed)
    history = old.decisions.history
    write_summary(new.decisions, PastSums(history.pulls, history.sums, history.squares))
    new.decisions.history.clock[:] = history.clock
    new.decisions.restore_random(old.decisions.random_state())
    return new


def _go_on(
    old: PolicyRunner, new: PolicyRunner, stay: Sequence[int | None], back: Retired | None
) -> None:
    """Tell a policy at its start what was learned: as a history, with the clock going on."""
    columns = []
    for name in ("pulls", "sums", "squares"):
        before = getattr(old.history, name)
        missing = 0.0 if back is None else getattr(back, name)
        columns.append(np.array([missing if k is None else before[k] for k in stay]))
    write_summary(new, PastSums(*columns))
    new.history.clock[:] = old.history.clock
    new.policy.go_on(old.state, new.state, stay)
    new.restore_random(old.random_state())


def _check_told(old: Setting) -> None:
    if old.decisions.learns_by_itself:
        raise ArmatureError(
            f"{old.decisions.policy.name} takes in every reward by itself (it has an `update`) and "
            "can't be told again what it has learned: its arms can't change. Make a new bandit."
        )


def _check_facts(old: Setting, facts: Mapping[str, Any]) -> None:
    """Refuse facts that are not needed, and ask for those that are missing."""
    if old.structure.arm_facts is None:
        old.structure.with_arm(0, facts)  # which says why not
    wanted = {**dict.fromkeys(old.structure.arm_facts or ()), **dict.fromkeys(old.family.arm_facts)}
    about = f"a new arm of {type(old.structure).__name__} with {type(old.family).__name__} rewards"
    for name in facts:
        if name not in wanted:
            asked = f"it needs {', '.join(wanted)}" if wanted else "nothing needs to be said of it"
            raise ArmatureError(f"{name} is not asked for {about}: {asked}.")
    for name in wanted:
        if name not in facts:
            raise ArmatureError(f"{about} needs {name}: say {name}=....")
