"""The promises of a policy."""

from __future__ import annotations

import importlib
import json
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family, Gaussian
from armature.kernels.checks import check_kind
from armature.live.bandit import Bandit
from armature.policies import Policy
from armature.structures import Structure

HORIZON = 1000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PolicyTrial:
    """A policy, and what to try it on."""

    policy: Policy
    structure: Structure
    family: Family
    rounds: int = 200
    seed: int = 0

    @property
    def rng(self) -> np.random.Generator:
        """A generator that depends on the trial alone."""
        name = f"{self.policy.name} {type(self.structure).__name__} {self.family}"
        return np.random.default_rng([zlib.crc32(name.encode()), self.seed])

    def bandit(self) -> Bandit:
        """A fresh bandit."""
        return Bandit(self.policy, self.structure, self.family, self.seed, horizon=HORIZON)

    def rewards(self, rounds: int) -> Floats:
        """(arms, rounds): rewards of means in M, or near it."""
        rng, K = self.rng, self.structure.n_arms
        family = self.family.estimate(1.0)  # of what policies are not told
        domains = [family.for_arm(k).domain for k in range(K)]
        low = np.array([end.low if math.isfinite(end.low) else 0.0 for end in domains])
        size = np.array([end.high - end.low for end in domains])
        size[~np.isfinite(size)] = 1.0
        target = low + size * rng.uniform(0.1, 0.9, K)
        means = np.asarray(self.structure.project(target, np.ones(K), family).means)
        if math.isfinite(domains[0].low):
            means = np.clip(means, low + 0.05 * size, low + 0.95 * size)
        own = (family.for_arm(k).sample(float(mean), rng, rounds) for k, mean in enumerate(means))
        return np.array(list(own))


def check_policy(
    policy: Policy, structure: Structure, family: Family, rounds: int = 200, seed: int = 0
) -> None:
    """Raise an AssertionError if a policy breaks a promise on a structure and a family."""
    check_kind(policy, Policy, "policy", "SPk()")
    policy.check(structure, family)
    trial = PolicyTrial(policy, structure, family, rounds, seed)
    for check in POLICY_PROPERTIES:
        check(trial)


def play(bandit: Bandit, rewards: Floats, rounds: int) -> list[int]:
    """Ask and tell; the rewards of an arm come in their order."""
    pulled = bandit.pulls
    arms = []
    for _ in range(rounds):
        arm = bandit.ask()
        arms.append(arm)
        bandit.tell(arm, rewards[arm, pulled[arm] % rewards.shape[1]])
        pulled[arm] += 1
    return arms


def arms_are_valid(trial: PolicyTrial) -> None:
    """Every choice is an arm; every arm comes first, once and in order, where that is promised."""
    K = trial.structure.n_arms
    arms = play(trial.bandit(), trial.rewards(trial.rounds), trial.rounds)
    _require(all(0 <= arm < K for arm in arms), trial, f"it chose what is no arm: {arms}")
    if trial.policy.starts_with_each_arm:
        _require(arms[:K] == list(range(K)), trial, f"it did not pull each arm first: {arms[:K]}")


def runs_repeat(trial: PolicyTrial) -> None:
    """The same seed and rewards give the same decisions."""
    rewards = trial.rewards(trial.rounds)
    first = play(trial.bandit(), rewards, trial.rounds)
    second = play(trial.bandit(), rewards, trial.rounds)
    _require(first == second, trial, "two runs with the same seed differ")


def saving_changes_nothing(trial: PolicyTrial) -> None:
    """A bandit that went through JSON at a random moment decides as the one that did not."""
    rewards = trial.rewards(trial.rounds)
    moment = int(trial.rng.integers(1, trial.rounds))
    steady = trial.bandit()
    play(steady, rewards, moment)
    resumed = resumed_from(steady, steady.to_json())
    rest = trial.rounds - moment
    same = play(steady, rewards, rest) == play(resumed, rewards, rest)
    _require(same, trial, f"a bandit that was saved after {moment} rounds goes on differently")
    _require(steady.to_json() == resumed.to_json(), trial, "the two end in different states")


def resumed_from(bandit: Bandit, text: str) -> Bandit:
    """The bandit of a text, from the text alone where its classes can be imported."""
    objects = {"policy": bandit.policy, "structure": bandit.structure, "family": bandit.family}
    content = json.loads(text)
    named = {section: _own_classes(content[section]) for section in objects}
    given: dict[str, Any] = {
        section: value
        for section, value in objects.items()
        if not all(map(_is_importable, named[section]))
    }
    modules = [name.partition(":")[0] for names in named.values() for name in names]
    return Bandit.from_json(text, allow=modules, **given)


def _own_classes(description: Any) -> list[str]:
    """All that a description names as "module:Class"."""
    if isinstance(description, list):
        return [name for item in description for name in _own_classes(item)]
    if not isinstance(description, dict):
        return []
    kind = str(description.get("kind", ""))
    inside = [name for value in description.values() for name in _own_classes(value)]
    return [kind, *inside] if ":" in kind else inside


def _is_importable(reference: str) -> bool:
    module, _, path = reference.partition(":")
    try:
        return isinstance(getattr(importlib.import_module(module), path, None), type)
    except ImportError:
        return False


def ties_are_survived(trial: PolicyTrial) -> None:
    """All rewards equal: no variance, and every comparison a tie."""
    for value in (0.0, 1.0):
        own = [trial.family.for_arm(k) for k in range(trial.structure.n_arms)]
        if all(value in one.support and value in one.domain for one in own):
            constant = np.full((trial.structure.n_arms, 1), value)
            _run(trial, constant, "equal rewards")


def extremes_are_survived(trial: PolicyTrial) -> None:
    """Huge and tiny rewards, where the family has any; else the two ends of what it has."""
    K, rng = trial.structure.n_arms, trial.rng
    low, high, *_ = trial.family.support
    if not math.isfinite(low):
        _run(trial, 1e6 * rng.normal(size=(K, 50)), "huge rewards")
        _run(trial, 1e-9 * rng.normal(size=(K, 50)), "tiny rewards")
    elif not math.isfinite(high):
        _run(trial, low + rng.poisson(1e5, (K, 50)).astype(np.float64), "huge rewards")
    else:
        one = np.array([[trial.family.for_arm(k).support.low] for k in range(K)])
        one[-1] = trial.family.for_arm(K - 1).support.high
        _run(trial, one, f"rewards that are always {low:g} or always {high:g}")


def rewards_may_come_in_any_order(trial: PolicyTrial) -> None:
    """Batches, late rewards, rewards of arms that were never asked."""
    K, rng = trial.structure.n_arms, trial.rng
    rewards = trial.rewards(50)
    bandit = trial.bandit()
    batch = bandit.ask(K)
    if trial.policy.starts_with_each_arm:
        _require(sorted(batch) == list(range(K)), trial, f"a first batch repeats arms: {batch}")
    bandit.tell(K - 1, rewards[K - 1, 0])
    waiting = batch
    for _ in range(10):
        waiting += bandit.ask(3)
        rng.shuffle(waiting)
        for arm in waiting[:2]:
            bandit.tell(arm, rewards[arm, int(rng.integers(50))])
        waiting = waiting[2:]
    _require(all(0 <= arm < K for arm in waiting), trial, "a batch has something else than arms")


def long_runs_are_survived(trial: PolicyTrial) -> None:
    """Ten times as many rounds: still arms, and every arm's pulls are counted."""
    bandit, rounds = trial.bandit(), 10 * trial.rounds
    arms = play(bandit, trial.rewards(trial.rounds), rounds)
    counts = np.bincount(arms, minlength=trial.structure.n_arms)
    _require((counts == bandit.pulls).all(), trial, "the pulls do not add up")


def numbering_does_not_matter(trial: PolicyTrial) -> None:
    """Renumbered arms give renumbered decisions, for policies that promise it."""
    if not (trial.policy.ignores_numbering and isinstance(trial.family, Gaussian)):
        return
    K = trial.structure.n_arms
    order = np.arange(K)[::-1]  # what every structure allows
    try:
        renumbered = trial.structure.relabelled(order.tolist())
    except ArmatureError:
        return
    rewards = trial.rewards(trial.rounds)
    plain = play(trial.bandit(), rewards, trial.rounds)
    family = trial.family.relabelled(order.tolist())
    mirrored = replace(trial, structure=renumbered, family=family)
    other = play(mirrored.bandit(), rewards[order], trial.rounds)
    _require(plain[K:] == order[other][K:].tolist(), trial, "the arms' numbers matter")


def probabilities_are_kept(trial: PolicyTrial) -> None:
    """A policy that knows its probabilities draws by them, and saying them changes nothing."""
    if getattr(trial.policy, "probabilities", None) is None:
        return
    bandit, rewards, pulled = (
        trial.bandit(),
        trial.rewards(trial.rounds),
        [0] * trial.structure.n_arms,
    )
    surprise, variance = np.zeros(len(pulled)), np.zeros(len(pulled))
    for _ in range(trial.rounds):
        before = bandit.to_json()
        found = bandit.probabilities(draws=1)
        _require(bandit.to_json() == before, trial, "to tell its probabilities changes it")
        arm = bandit.ask()
        if not found.standard_errors.any():
            shares = found.values
            _require(abs(shares.sum() - 1.0) < 1e-9, trial, f"probabilities that are {shares}")
            _require(shares.min() >= 0.0 < shares[arm], trial, f"arm {arm}, with those of {shares}")
            surprise += (np.arange(len(pulled)) == arm) - shares
            variance += shares * (1.0 - shares)
        bandit.tell(arm, rewards[arm, pulled[arm]])
        pulled[arm] += 1
    calm = np.abs(surprise) < 5.0 * np.sqrt(variance) + 3.0
    _require(calm.all(), trial, f"arms come {surprise} times more often than it says")


def _run(trial: PolicyTrial, rewards: Floats, what: str) -> None:
    K, bandit = trial.structure.n_arms, trial.bandit()
    arms = play(bandit, rewards, trial.rounds)
    _require(all(0 <= arm < K for arm in arms), trial, f"with {what} it chose {arms}")
    _require(str(bandit.explain()), trial, f"with {what} it has nothing to say")


def _require(condition: Any, trial: PolicyTrial, complaint: str) -> None:
    if not condition:
        raise AssertionError(
            f"{trial.policy.name} on {trial.structure} with {trial.family}: {complaint}"
        )


POLICY_PROPERTIES: tuple[Callable[[PolicyTrial], None], ...] = (
    arms_are_valid,
    runs_repeat,
    saving_changes_nothing,
    ties_are_survived,
    extremes_are_survived,
    rewards_may_come_in_any_order,
    long_runs_are_survived,
    numbering_does_not_matter,
    probabilities_are_kept,
)
