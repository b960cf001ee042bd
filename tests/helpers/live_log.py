"""A bandit in use, at random: what was asked, told, cancelled and changed, as a log.

`LiveUse` does anything that one may do to a bandit, and counts along by itself, in the plainest
way. `rebuilt` makes the same bandit from the log.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import armature as am


class LiveUse:
    """A bandit, a log of what happened to it, and what it should know of its arms."""

    def __init__(self, bandit: am.Bandit, seed: int, delay: int = 20) -> None:
        self.bandit, self.delay = bandit, delay
        self.rng = np.random.default_rng(seed)
        self.log: list[tuple[Any, ...]] = []
        self.rewards: dict[Any, list[float]] = {arm: [] for arm in bandit.arms}
        self.waiting: list[tuple[int | None, Any]] = []  # an id or None, an arm
        self.means = {arm: float(self.rng.uniform(0.2, 0.8)) for arm in bandit.arms}

    def step(self) -> None:
        """Ask for some arms, then let some of what is outstanding come, or be lost."""
        rng, bandit = self.rng, self.bandit
        excluded = self._some_arms()
        n, ids = int(rng.integers(1, 4)), bool(rng.random() < 0.3)
        answers = bandit.ask(n, exclude=excluded, **({"ids": True} if ids else {}))
        for answer in answers:
            arm = answer.arm if ids else answer
            self.waiting.append((answer.id if ids else None, arm))
            self.log.append(("asked", arm, excluded, ids))
        while len(self.waiting) > rng.integers(self.delay):
            self.settle(*self.waiting.pop(int(rng.integers(len(self.waiting)))))

    def settle(self, number: int | None, arm: Any) -> None:
        """A reward, or none for ever; by id, twice."""
        bandit = self.bandit
        reward = float(bandit.family.sample(self.means[arm], self.rng))
        if self.rng.random() < 0.2:
            self.log.append(("cancelled", number, arm))
            assert number is None or bandit.cancel_by_id(number) == "cancelled"
            if number is None:
                bandit.cancel(arm)
            return
        self.log.append(("told", number, arm, reward))
        if number is None:
            bandit.tell(arm, reward)
        else:
            there = arm in bandit.arms
            assert bandit.tell_by_id(number, reward) == ("applied" if there else "ignored")
            assert bandit.tell_by_id(number, reward) == "duplicate"
        if arm in bandit.arms:
            self.rewards[arm].append(reward)

    def set_floor(self) -> None:
        """Another floor."""
        floor = float(self.rng.uniform(0.0, 0.5 / len(self.bandit.arms)))
        self.bandit.set_floor(floor)
        self.log.append(("floor", floor))

    def add_arm(self, label: Any) -> None:
        """One more, after any other."""
        after = self.bandit.arms[int(self.rng.integers(len(self.bandit.arms)))]
        self.bandit.add_arm(label, after=after)
        self.log.append(("added", label, after))
        self.rewards.setdefault(label, [])
        self.means.setdefault(label, float(self.rng.uniform(0.2, 0.8)))

    def retire_arm(self) -> None:
        """Any of them, while there are three."""
        if len(self.bandit.arms) > 3:
            arm = self.bandit.arms[int(self.rng.integers(len(self.bandit.arms)))]
            self.bandit.retire_arm(arm)
            self.log.append(("retired", arm))

    def _some_arms(self) -> list[Any]:
        arms = self.bandit.arms
        n = int(self.rng.integers(len(arms))) if self.rng.random() < 0.3 else 0
        return [arms[i] for i in self.rng.choice(len(arms), n, replace=False)]

    def check(self) -> None:
        """What the bandit says of its arms is what was counted."""
        bandit = self.bandit
        for arm, pulls, mean, pending in zip(
            bandit.arms, bandit.pulls, bandit.means, bandit.pending, strict=True
        ):
            rewards = self.rewards[arm]
            assert pulls == len(rewards), arm
            assert not rewards or abs(mean - np.mean(rewards)) < 1e-9, arm
            assert pending == sum(waiting == arm for _, waiting in self.waiting), arm


def rebuilt(start: am.Bandit, log: list[tuple[Any, ...]]) -> tuple[am.Bandit, int]:
    """The bandit after a log of things that happened, and how often it would have chosen else."""
    others = 0
    for kind, *entry in log:
        if kind == "asked":
            arm, excluded, ids = entry
            others += start.asked(arm, exclude=excluded, ids=ids) != arm
        elif kind == "told":
            number, arm, reward = entry
            start.tell(arm, reward) if number is None else start.tell_by_id(number, reward)
        elif kind == "cancelled":
            number, arm = entry
            start.cancel(arm) if number is None else start.cancel_by_id(number)
        elif kind == "floor":
            start.set_floor(*entry)
        elif kind == "added":
            start.add_arm(entry[0], after=entry[1])
        else:
            start.retire_arm(*entry)
    return start, others
