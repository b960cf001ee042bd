"""Fill the kernel cache in advance, for an image or a node of a cluster.

What is compiled depends on types alone, and those are the same for all problems with a structure:
so it is enough to do everything once, on some example of each.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from armature.bounds import lower_bound, solve_game
from armature.errors import ArmatureError
from armature.experiments import simulate
from armature.families import Family
from armature.kernels.addresses import fill_all, numbers_in
from armature.kernels.compiling import notice
from armature.kernels.gears import straight_to_machine_code
from armature.live.bandit import Bandit
from armature.live.segmented import SegmentedBandit
from armature.policies import Policy
from armature.policies.policy import checked_policy
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES
from armature.structures import Additive, Segments, Structure, Unimodal
from armature.structures.instance import Instance
from armature.structures.oracles.model import make_model

Step = Callable[[], object]
Progress = Callable[[str, int, int], None]  # (what comes next, steps done, steps in all)


@dataclasses.dataclass(frozen=True)
class Compiled:
    """The number of kernels that were compiled; the others were there."""

    kernels: int


@straight_to_machine_code()
def fill_cache(structures: Sequence[str] = (), progress: Progress | None = None) -> Compiled:
    """Compile all that the library needs for these structures (all, if none is named)."""
    chosen = [checked_name(name) for name in structures] or list(STRUCTURES)
    steps = [step for name in chosen for step in steps_for(name)]
    before = notice.count
    for done, (title, step) in enumerate(steps):
        if progress is not None:
            progress(title, done, len(steps))
        step()
    if progress is not None:
        progress("done", len(steps), len(steps))
    return Compiled(notice.count - before)


def checked_name(name: str) -> str:
    """A structure's name, as it is written in files."""
    if name.lower() not in STRUCTURES:
        raise ArmatureError(f"there is no structure {name!r}: known are {', '.join(STRUCTURES)}.")
    return name.lower()


def steps_for(name: str) -> Iterator[tuple[str, Step]]:
    """The steps for a structure, each with a title."""
    if STRUCTURES[name].is_table:
        yield from _steps_for_table(name)
        return
    structure: Structure = STRUCTURES[name].examples()[-1]
    instances = [
        instance
        for cls in FAMILIES.values()
        if (instance := example_of(structure, cls.examples()[0])) is not None
    ]
    for instance in instances:
        yield f"{name}: oracles, {instance.family}", partial(_ask_oracles, instance)
    if not instances:
        return
    instance = instances[0]
    yield f"{name}: the game", partial(_play_game, type(structure), instance.family)
    horizon = 2 * instance.n_arms
    for cls in POLICIES.values():
        policy = checked_policy(cls(), horizon)
        if policy.supports(instance.structure, instance.family):
            title = f"{name}: {type(policy).__name__}"
            yield title, partial(_use_policy, instance, policy, horizon)


def _steps_for_table(name: str) -> Iterator[tuple[str, Step]]:
    """The steps for tables: a small one, with each policy that goes with it."""
    table = Segments(["a", "b"], each=Unimodal(3), coupling=Additive())
    instance = Instance(table, [[0.1, 0.5, 0.3], [0.2, 0.6, 0.4]])
    yield f"{name}: bounds", partial(lower_bound, instance)
    for cls in POLICIES.values():
        policy = checked_policy(cls(), 12)
        if policy.supports(table, instance.family):
            title = f"{name}: {type(policy).__name__}"
            yield title, partial(_use_policy, instance, policy, 12)


def example_of(structure: Structure, family: Family) -> Instance | None:
    """A problem with a structure; None if it does not go with the family."""
    return next(examples_of(structure, family), None)


def examples_of(structure: Structure, family: Family) -> Iterator[Instance]:
    """Problems with a structure, up to 50; none if it does not go with the family."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        weights = np.ones(structure.n_arms)
        try:
            fit = structure.project(rng.uniform(0.1, 0.9, structure.n_arms), weights, family)
            yield Instance(structure, fit.means, family)
        except ArmatureError:  # not for this family; or no arm is best
            continue


def _play_game(kind: type[Structure], family: Family) -> None:
    """Play it on the first problem that has one: where V is 0, there is no game to play."""
    for structure in reversed(kind.examples()):
        for instance in examples_of(structure, family):
            with contextlib.suppress(ArmatureError):
                solve_game(instance, "k", 0.1, 2)
                solve_game(instance, "lambda", 0.1, 2)
                return


def _ask_oracles(instance: Instance) -> None:
    structure, weights = instance.structure, [1.0] * instance.n_arms
    best, family = instance.best_arm, instance.family
    structure.alt_min(instance.means, weights, best, 1 if best == 0 else 0, family)
    structure.nearest_alternative(instance.means, weights, best, family)
    fill_all(numbers_in((make_model(structure, family),)))
    lower_bound(instance)


def _use_policy(instance: Instance, policy: Policy, horizon: int) -> None:
    simulate(instance, [policy], horizon=horizon, repetitions=1)
    known = Bandit(policy, instance.structure, instance.family)
    bandit = known.of("a") if isinstance(known, SegmentedBandit) else known
    bandit.warm_up()
    bandit.explain()
