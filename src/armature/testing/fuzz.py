"""Live bandits on unusual rewards: every policy, structure and family.

A case is a function of a seed and a number. It takes a policy with options at random, a structure
and a family that go with it, and rewards from all over the supported range: constant, zero, huge,
tiny, of both signs, of sixty orders of magnitude. It asks and tells in any order, with a floor,
exclusions, ids and lost rewards, saves and resumes from the text alone, and explains. A finding is
any error, and any arm or mean that is none.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import armature
from armature.errors import ArmatureError
from armature.families import Family, Gaussian, Interval
from armature.kernels.checks import LARGEST, SMALLEST
from armature.live.bandit import Bandit
from armature.live.outstanding import Decision
from armature.policies import Policy
from armature.structures import Structure
from armature.testing.discovery import discover
from armature.testing.policies import resumed_from
from armature.testing.problems import further_families, supported_families

ROUNDS = 30
REWARDS = 8  # of each arm, which then come again
EXPONENT = math.log10(LARGEST)
OPTIONS = (0, 1, 2, 7, 0.0, 1e-12, 1e-3, 0.1, 0.5, 1.0, 3.0, 10.0, 1e9)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """A case that went wrong: its number, what it was and what happened."""

    number: int
    case: str
    error: str


def fuzz_bandits(
    cases: int, seed: int = 0, first: int = 0, policies: Sequence[Policy] | None = None
) -> list[Finding]:
    """Play `cases` cases, numbered from `first` on; what went wrong.

    Give policies of your own to put them through it; by default it is all of the library's.
    """
    pairs = _all_pairs() if policies is None else _pairs(policies)
    findings = []
    for number in range(first, first + cases):
        policy, structure, family, rng = random_case(pairs, seed, number)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                play_case(policy, structure, family, rng)
        except Exception as error:  # anything at all is a finding
            about = f"{policy} on {structure} with {family}"
            findings.append(Finding(number, about, f"{type(error).__name__}: {error}"))
    return findings


def random_case(
    pairs: list[tuple[Policy, Structure]], seed: int, number: int
) -> tuple[Policy, Structure, Family, np.random.Generator]:
    """The case of a number: what plays on what, and a generator for the rest."""
    rng = np.random.default_rng([seed, number])
    policy, structure = pairs[int(rng.integers(len(pairs)))]
    policy = _with_random_option(policy, rng)
    known = (*supported_families(structure), *further_families(structure), Gaussian(sigma=None))
    families = [f for f in known if policy.supports(structure, f)]
    family = families[int(rng.integers(len(families)))]
    if family == Gaussian() and rng.random() < 0.7:
        sigma = rng.choice([SMALLEST, 1.0, LARGEST, 10.0 ** rng.uniform(-EXPONENT, EXPONENT)])
        family = Gaussian(sigma=float(sigma))
    return policy, structure, family, rng


def _all_policies() -> list[Policy]:
    return [p for cls in discover(Policy, armature) for p in cls.examples()]  # type: ignore[type-abstract]


@functools.cache
def _all_pairs() -> list[tuple[Policy, Structure]]:
    return _pairs(_all_policies())


def _pairs(policies: Sequence[Policy]) -> list[tuple[Policy, Structure]]:
    structures = [s for cls in discover(Structure, armature) for s in cls.examples()]
    return [
        (policy, structure)
        for policy in policies
        for structure in structures
        if any(policy.supports(structure, family) for family in supported_families(structure))
    ]


def _with_random_option(policy: Policy, rng: np.random.Generator) -> Policy:
    """The policy with one option at random, if it accepts what is drawn."""
    names = [field.name for field in dataclasses.fields(policy) if field.name != "horizon"]
    if not names or rng.random() < 0.5:
        return policy
    name = names[int(rng.integers(len(names)))]
    value = OPTIONS[int(rng.integers(len(OPTIONS)))]
    try:
        return dataclasses.replace(policy, **{name: value})
    except ArmatureError:
        return policy


def random_rewards(family: Family, n_arms: int, rng: np.random.Generator) -> Floats:
    """(arms, REWARDS): rewards that the family can have, from anywhere in the supported range."""
    shape = (n_arms, REWARDS)
    support: Interval = family.support
    if math.isfinite(support.low) and math.isfinite(support.high):
        share = rng.choice([0.0, 0.01, 0.5, 1.0], n_arms)[:, None]
        ends = np.array([family.for_arm(k).support[:2] for k in range(n_arms)])
        rewards = np.where(rng.random(shape) < share, ends[:, 1:], ends[:, :1])
        if not support.ends and rng.random() < 0.5:
            rewards = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * rng.random(shape)
        return np.asarray(rewards)
    size = 10.0 ** rng.uniform(-EXPONENT, EXPONENT)
    each = 10.0 ** rng.uniform(-EXPONENT, EXPONENT, (n_arms, 1))
    rewards = [
        10.0 ** rng.uniform(-EXPONENT, EXPONENT, shape),
        np.broadcast_to(each, shape).copy(),
        np.full(shape, size),
        np.full(shape, LARGEST),
        np.full(shape, SMALLEST),
        size * np.abs(1.0 + 0.1 * rng.normal(size=shape)),
        size * np.abs(rng.normal(size=(n_arms, 1)) + 0.3 * rng.normal(size=shape)),
        rng.integers(0, 2, shape) * size,
        rng.gamma(1.0, 1.0, shape),
    ][int(rng.integers(9))]
    if not math.isfinite(support.low):
        rewards = rewards * rng.choice([[-1.0, 1.0], [1.0, 1.0]][int(rng.integers(2))], shape)
    if support.integer:
        rewards = np.floor(rewards)
    if not family.domain.closed:
        rewards = np.maximum(rewards, SMALLEST)
    return np.asarray(np.clip(rewards, -LARGEST, LARGEST))


def play_case(
    policy: Policy, structure: Structure, family: Family, rng: np.random.Generator
) -> None:
    """Ask, tell, cancel, save, resume and explain; an error where something is wrong."""
    rewards = random_rewards(family, structure.n_arms, rng)
    bandit = _random_bandit(policy, structure, family, rng)
    moment = int(rng.integers(ROUNDS))
    waiting: list[Any] = []
    for t in range(ROUNDS):
        waiting += _asked(bandit, rng)
        rng.shuffle(waiting)
        for _ in range(int(rng.integers(len(waiting) + 1))):
            _settle(bandit, waiting.pop(), rewards, rng)
        if rng.random() < 0.1:  # of an arm that was not asked for
            arm = int(rng.integers(structure.n_arms))
            bandit.tell(arm, rewards[arm, 0])
            if arm in waiting:  # or so it seemed: it is taken for the one that was asked for
                waiting.remove(arm)
        if t == moment:
            bandit = _resumed(bandit)
    _require(str(bandit.explain()), "it has nothing to say")
    told = bandit.means[bandit.pulls > 0]
    _require(np.isfinite(told).all(), f"means that are no numbers: {told}")
    other = _resumed(bandit)
    shares = bandit.probabilities(draws=3).values
    _require(abs(shares.sum() - 1.0) < 1e-9, f"probabilities that do not sum to 1: {shares}")
    _require(bandit.ask(5) == other.ask(5), "what was saved goes on differently")


def _random_bandit(
    policy: Policy, structure: Structure, family: Family, rng: np.random.Generator
) -> Bandit:
    """With a floor or without, for rewards or, where that is possible, for costs."""
    floor = float(rng.choice([0.0, 0.0, 0.5, 1.0])) / structure.n_arms
    seed, least = int(rng.integers(2**32)), bool(rng.random() < 0.3)
    try:
        goal: Any = "min" if least else "max"
        return Bandit(policy, structure, family, seed, horizon=1000, floor=floor, goal=goal)
    except ArmatureError:
        if not least:
            raise
        return Bandit(policy, structure, family, seed, horizon=1000, floor=floor)


def _asked(bandit: Bandit, rng: np.random.Generator) -> list[Any]:
    """A few arms, or decisions with ids; now and then some are excluded."""
    n, K = int(rng.integers(1, 4)), bandit.structure.n_arms
    excluded: list[int] = []
    if rng.random() < 0.3:
        excluded = rng.choice(K, int(rng.integers(K)), replace=False).tolist()
    if rng.random() < 0.2:
        decisions = bandit.ask(n, exclude=excluded, ids=True)
        _require(not {d.arm for d in decisions} & set(excluded), "it chose what is excluded")
        return list(decisions)
    arms = bandit.ask(n, exclude=excluded)
    _require(not set(arms) & set(excluded), "it chose what is excluded")
    return arms


def _settle(bandit: Bandit, asked: Any, rewards: Floats, rng: np.random.Generator) -> None:
    """A reward, or none for ever."""
    lost, number = rng.random() < 0.2, int(rng.integers(REWARDS))
    if not isinstance(asked, Decision):
        bandit.cancel(asked) if lost else bandit.tell(asked, rewards[asked, number])
    elif lost:
        bandit.cancel_by_id(asked.id)
    else:
        reward = rewards[asked.arm, number]
        _require(bandit.tell_by_id(asked.id, reward) == "applied", "a reward was not taken in")
        _require(bandit.tell_by_id(asked.id, reward) == "duplicate", "a reward was counted twice")


def _resumed(bandit: Bandit) -> Bandit:
    text = bandit.to_json()
    resumed = resumed_from(bandit, text)
    _require(resumed.to_json() == text, "what was saved is not what was read")
    return resumed


def _require(condition: Any, complaint: str) -> None:
    if not condition:
        raise AssertionError(complaint)
