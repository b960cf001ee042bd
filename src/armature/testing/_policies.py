"""What a policy promises."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from armature.bandit import Bandit
from armature.errors import ArmatureError
from armature.families import Exponential, Family, Gaussian, Poisson
from armature.policies import Policy
from armature.structures import Structure

HORIZON = 1000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
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

    def bandit(self, structure: Structure | None = None) -> Bandit:
        """A fresh bandit."""
        return Bandit(
            self.policy, structure or self.structure, self.family, self.seed, horizon=HORIZON
        )

    def rewards(self, rounds: int) -> Floats:
        """(arms, rounds): rewards of means in M, or near it."""
        rng, K = self.rng, self.structure.n_arms
        target = rng.uniform(0.1, 0.9, K)
        means = np.asarray(self.structure.project(target, np.ones(K), self.family).means)
        if not isinstance(self.family, Gaussian):
            means = np.clip(means, 0.05, 0.95)
        return np.array([self.family.sample(float(mean), rng, rounds) for mean in means])


def check_policy(
    policy: Policy, structure: Structure, family: Family, rounds: int = 200, seed: int = 0
) -> None:
    """Raise an AssertionError if a policy breaks a promise on a structure and a family."""
    trial = Trial(policy, structure, family, rounds, seed)
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


def arms_are_valid(trial: Trial) -> None:
    """Every choice is an arm; every arm comes first, once and in order, where that is promised."""
    K = trial.structure.n_arms
    arms = play(trial.bandit(), trial.rewards(trial.rounds), trial.rounds)
    _require(all(0 <= arm < K for arm in arms), trial, f"it chose what is no arm: {arms}")
    if trial.policy.starts_with_each_arm:
        _require(arms[:K] == list(range(K)), trial, f"it did not pull each arm first: {arms[:K]}")


def runs_repeat(trial: Trial) -> None:
    """The same seed and rewards give the same decisions."""
    rewards = trial.rewards(trial.rounds)
    first = play(trial.bandit(), rewards, trial.rounds)
    second = play(trial.bandit(), rewards, trial.rounds)
    _require(first == second, trial, "two runs with the same seed differ")


def saving_changes_nothing(trial: Trial) -> None:
    """A bandit that went through JSON at a random moment decides as the one that did not."""
    rewards = trial.rewards(trial.rounds)
    moment = int(trial.rng.integers(1, trial.rounds))
    steady = trial.bandit()
    play(steady, rewards, moment)
    resumed = Bandit.from_json(
        steady.to_json(), policy=steady.policy, structure=trial.structure, family=trial.family
    )
    rest = trial.rounds - moment
    same = play(steady, rewards, rest) == play(resumed, rewards, rest)
    _require(same, trial, f"a bandit that was saved after {moment} rounds goes on differently")
    _require(steady.to_json() == resumed.to_json(), trial, "the two end in different states")


def ties_are_survived(trial: Trial) -> None:
    """All rewards equal: no variance, and every comparison a tie."""
    for value in (0.0, 1.0):
        if value in trial.family.support and not (
            isinstance(trial.family, Exponential) and value == 0.0
        ):
            constant = np.full((trial.structure.n_arms, 1), value)
            _run(trial, constant, "equal rewards")


def extremes_are_survived(trial: Trial) -> None:
    """Huge and tiny rewards, where the family has any."""
    K, rng = trial.structure.n_arms, trial.rng
    if isinstance(trial.family, Gaussian):
        _run(trial, 1e6 * rng.normal(size=(K, 50)), "huge rewards")
        _run(trial, 1e-9 * rng.normal(size=(K, 50)), "tiny rewards")
    elif isinstance(trial.family, (Poisson, Exponential)):
        _run(trial, rng.poisson(1e5, (K, 50)).astype(np.float64), "huge rewards")
    else:
        one = np.zeros((K, 1))
        one[-1] = 1.0
        _run(trial, one, "rewards that are always 0 or always 1")


def rewards_may_come_in_any_order(trial: Trial) -> None:
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


def long_runs_are_survived(trial: Trial) -> None:
    """Ten times as many rounds: still arms, and every arm's pulls are counted."""
    bandit, rounds = trial.bandit(), 10 * trial.rounds
    arms = play(bandit, trial.rewards(trial.rounds), rounds)
    counts = np.bincount(arms, minlength=trial.structure.n_arms)
    _require((counts == bandit.pulls).all(), trial, "the pulls do not add up")


def numbering_does_not_matter(trial: Trial) -> None:
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
    other = play(trial.bandit(renumbered), rewards[order], trial.rounds)
    _require(plain[K:] == order[other][K:].tolist(), trial, "the arms' numbers matter")


def _run(trial: Trial, rewards: Floats, what: str) -> None:
    K = trial.structure.n_arms
    arms = play(trial.bandit(), rewards, trial.rounds)
    _require(all(0 <= arm < K for arm in arms), trial, f"with {what} it chose {arms}")


def _require(condition: Any, trial: Trial, complaint: str) -> None:
    if not condition:
        raise AssertionError(
            f"{trial.policy.name} on {trial.structure} with {trial.family}: {complaint}"
        )


POLICY_PROPERTIES: tuple[Callable[[Trial], None], ...] = (
    arms_are_valid,
    runs_repeat,
    saving_changes_nothing,
    ties_are_survived,
    extremes_are_survived,
    rewards_may_come_in_any_order,
    long_runs_are_survived,
    numbering_does_not_matter,
)
