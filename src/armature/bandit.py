"""The online bandit: ask for an arm, tell its reward, save, resume, explain."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from armature.decisions import checked_count, checked_policy, make_decisions
from armature.descriptions import FAMILIES, POLICIES, STRUCTURES, Allowed, build, describe
from armature.errors import ArmatureError
from armature.explanation import Explanation, explain
from armature.families import Family, Gaussian
from armature.files import read_text, write_text
from armature.limits import check_mean
from armature.plain import decoded, encoded
from armature.policies import CompiledPolicy, History, Policy
from armature.saved import as_text, content_of
from armature.structures import Structure

Arm = Any  # an index, or a label where there are labels


class Bandit:
    """A policy that decides live.

    `ask()` says which arm to pull and `tell(arm, reward)` what came of it. Several asks may be
    outstanding, rewards may come late and in any order, and for arms that were never asked. While
    rewards are outstanding, the policy decides as if each had been its arm's mean so far: it counts
    the pull, and learns nothing from it yet.

    Arms are numbers from 0, or whatever `labels` calls them.

    >>> from armature.policies import UCB
    >>> from armature.structures import Unconstrained
    >>> bandit = Bandit(UCB(), Unconstrained(2), labels=["red", "blue"])
    >>> bandit.ask()
    'red'
    >>> bandit.tell("red", 0.3)
    >>> bandit.ask(2)
    ['blue', 'red']
    >>> bandit.tell(["blue", "red"], [0.9, 0.1])
    >>> bandit.pulls.tolist(), bandit.means.tolist()
    ([2, 1], [0.2, 0.9])
    """

    def __init__(
        self,
        policy: Policy,
        structure: Structure,
        family: Family | None = None,
        seed: int = 0,
        *,
        labels: Sequence[Hashable] | None = None,
        horizon: int | None = None,
    ) -> None:
        family = Gaussian() if family is None else family
        self._horizon = None if horizon is None else checked_count(horizon, "horizon")
        self._policy = checked_policy(policy, self._horizon)
        self._structure, self._family = structure, family
        self._decisions = make_decisions(self._policy, structure, family, seed)
        self._seed = int(seed)
        self._pending = np.zeros(structure.n_arms)
        self._outstanding = 0
        self._labels = _checked_labels(labels, structure.n_arms)
        self._index = {label: i for i, label in enumerate(self._labels or ())}

    def __repr__(self) -> str:
        rounds = int(self._decisions.history.clock[0])
        return f"Bandit({self._policy.name}, {self._structure}, {self._family}, {rounds} rounds)"

    @property
    def policy(self) -> Policy:
        """How it chooses."""
        return self._policy

    @property
    def structure(self) -> Structure:
        """What is known about the means."""
        return self._structure

    @property
    def family(self) -> Family:
        """How rewards are distributed."""
        return self._family

    @property
    def pulls(self) -> npt.NDArray[np.int64]:
        """How many rewards of each arm have been told."""
        return self._decisions.history.pulls.astype(np.int64)

    @property
    def means(self) -> npt.NDArray[np.float64]:
        """The mean reward of each arm; nan for an arm without rewards."""
        history = self._decisions.history
        return np.where(history.pulls > 0.0, history.means, math.nan)

    @property
    def pending(self) -> npt.NDArray[np.int64]:
        """How many rewards of each arm are outstanding."""
        return self._pending.astype(np.int64)

    def warm_up(self) -> None:
        """Compile all that `ask` and `tell` need, or load it: so that no first caller waits.

        The bandit itself stays as it is.
        """
        decisions = make_decisions(self._policy, self._structure, self._family, self._seed)
        if isinstance(self._policy, CompiledPolicy):
            for _ in range(self._structure.n_arms + 1):  # each arm once, and then a choice
                arm = decisions.next(decisions.history)
                decisions.take_in(arm, self._family.some_mean)

    @overload
    def ask(self) -> Arm: ...
    @overload
    def ask(self, n: int) -> list[Arm]: ...
    def ask(self, n: int | None = None) -> Arm | list[Arm]:
        """The arm to pull next, or a list of n arms to pull at once."""
        if n is None:
            return self._ask()
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise ArmatureError(f"n must be a whole number of arms; got {n!r}.")
        return [self._ask() for _ in range(n)]

    def _ask(self) -> Arm:
        decisions = self._decisions
        arm = decisions.next(self._imagined() if self._outstanding else decisions.history)
        self._pending[arm] += 1.0
        self._outstanding += 1
        return arm if self._labels is None else self._labels[arm]

    def tell(self, arm: Arm | Sequence[Arm], reward: float | Sequence[float]) -> None:
        """Take in the reward of an arm, or the rewards of several.

        If anything is wrong with them, nothing changes.
        """
        if isinstance(arm, (list, np.ndarray)) or (
            isinstance(arm, tuple) and not self._is_label(arm)
        ):
            several = isinstance(reward, (Sequence, np.ndarray)) and not isinstance(reward, str)
            if not several or len(arm) != len(reward):  # type: ignore[arg-type]
                raise ArmatureError("tell needs one reward for each arm.")
            arms = [self._checked_arm(a) for a in arm]
            pairs = zip(arms, reward, strict=True)  # type: ignore[arg-type]
            rewards = [self._checked_reward(a, r) for a, r in pairs]
            for one, value in zip(arms, rewards, strict=True):
                self._take_in(one, value)
        else:
            one = self._checked_arm(arm)
            self._take_in(one, self._checked_reward(one, reward))

    def _take_in(self, arm: int, reward: float) -> None:
        self._decisions.take_in(arm, reward)
        if self._pending[arm] > 0.0:
            self._pending[arm] -= 1.0
            self._outstanding -= 1

    def explain(self) -> Explanation:
        """What the policy believes, and what it does next and why; print it, or read its fields."""
        return explain(self._policy, self._decisions, self._structure, self._family, self._labels)

    def _imagined(self) -> History:
        """The history as if every outstanding reward had come, at its arm's mean so far."""
        history = self._decisions.history
        told = history.pulls > 0.0
        typical = history.means[told].mean() if told.any() else self._family.some_mean
        means = np.where(told, history.means, self._family.clipped(np.full(told.size, typical)))
        pulls = history.pulls + self._pending
        clock = history.clock + np.array([self._outstanding, 0])
        return History(pulls, means * pulls, means, history.squares, clock)

    def _is_label(self, arm: Arm) -> bool:
        try:
            return arm in self._index
        except TypeError:
            return False

    def _checked_arm(self, arm: Arm) -> int:
        if self._labels is not None:
            try:
                return self._index[arm]
            except (KeyError, TypeError):
                names = ", ".join(map(repr, self._labels))
                raise ArmatureError(f"there is no arm {arm!r}: the arms are {names}.") from None
        if isinstance(arm, (int, np.integer)) and not isinstance(arm, bool):
            if 0 <= arm < self._structure.n_arms:
                return int(arm)
        last = self._structure.n_arms - 1
        raise ArmatureError(f"there is no arm {arm!r}: arms are whole numbers from 0 to {last}.")

    def _checked_reward(self, arm: int, reward: Any) -> float:
        try:
            if isinstance(reward, (str, bytes)) or np.ndim(reward) > 0:
                raise TypeError
            value = float(reward)
        except OverflowError:
            raise ArmatureError(
                "the reward is beyond what is supported: use another unit."
            ) from None
        except (TypeError, ValueError):
            raise ArmatureError(f"a reward is a number; got {reward!r}.") from None
        if not math.isfinite(value):
            raise ArmatureError(f"a reward must be finite; got {value}.")
        family = self._family.for_arm(arm)
        if value not in family.support:
            raise ArmatureError(
                f"the reward {value:g} can't come from {family}: its rewards lie in "
                f"{family.support}."
            )
        if value not in family.domain:
            raise ArmatureError(
                f"the reward {value:g} can't be taken in: it has probability 0, and as a mean it "
                f"would lie outside of {family.domain}, the means of {family}."
            )
        check_mean(value, family.domain, "the reward")
        return value

    def to_json(self) -> str:
        """Everything that the next decisions depend on, for `from_json`."""
        decisions = self._decisions
        return as_text(
            {
                "policy": describe(POLICIES, self._policy),
                "structure": describe(STRUCTURES, self._structure),
                "family": describe(FAMILIES, self._family),
                "seed": self._seed,
                "horizon": self._horizon,
                "labels": encoded(self._labels),
                "pulls": decisions.history.pulls.tolist(),
                "sums": decisions.history.sums.tolist(),
                "squares": decisions.history.squares.tolist(),
                "clock": decisions.history.clock.tolist(),
                "pending": self._pending.tolist(),
                "random": decisions.random_state(),
                "state": decisions.saved_state(),
            }
        )

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        policy: Policy | None = None,
        structure: Structure | None = None,
        family: Family | None = None,
        allow: Allowed = (),
    ) -> Bandit:
        """The bandit that `to_json` wrote down; it goes on with the same decisions.

        A text can name policies, structures and families of your own, and importing them runs their
        code: they are imported only from the modules and packages that `allow` names. Or give the
        objects here, and what the text says of them is not looked at.
        """
        content = content_of(text)
        if policy is None:
            policy = build(POLICIES, "policy", content["policy"], allow)
        if structure is None:
            structure = build(STRUCTURES, "structure", content["structure"], allow)
        if family is None:
            family = build(FAMILIES, "family", content["family"], allow)
        labels, horizon = decoded(content["labels"]), content["horizon"]
        bandit = cls(policy, structure, family, content["seed"], labels=labels, horizon=horizon)
        try:
            bandit._restore(content)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            if isinstance(error, ArmatureError):
                raise
            raise ArmatureError(f"the saved bandit does not fit its policy: {error}.") from None
        return bandit

    def _restore(self, content: dict[str, Any]) -> None:
        decisions, K = self._decisions, self._structure.n_arms
        history = decisions.history
        if len(content["pulls"]) != K:
            raise ArmatureError(f"the file is for {len(content['pulls'])} arms, not for {K}.")
        history.pulls[:] = content["pulls"]
        history.sums[:] = content["sums"]
        history.squares[:] = content["squares"]
        history.clock[:] = content["clock"]
        told = history.pulls > 0.0
        history.means[told] = history.sums[told] / history.pulls[told]
        history.means[:] = np.where(told, self._family.clipped(history.means), 0.0)
        self._pending[:] = content["pending"]
        counts = np.concatenate((history.pulls, self._pending))
        if (
            not ((counts >= 0.0) & (counts % 1.0 == 0.0)).all()
            or not np.isfinite(history.sums).all()
        ):
            raise ArmatureError("the saved bandit's pulls and sums are not those of any rewards.")
        self._outstanding = int(self._pending.sum())
        decisions.restore(content["state"], content["random"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file, which at any moment is the old one or the new one."""
        write_text(path, self.to_json())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        policy: Policy | None = None,
        structure: Structure | None = None,
        family: Family | None = None,
        allow: Allowed = (),
    ) -> Bandit:
        """The bandit in a file; the other arguments as for `from_json`."""
        try:
            text = read_text(path)
        except FileNotFoundError:
            raise ArmatureError(f"there is no file {str(path)!r}.") from None
        return cls.from_json(text, policy=policy, structure=structure, family=family, allow=allow)


def _checked_labels(labels: Sequence[Hashable] | None, n_arms: int) -> list[Hashable] | None:
    if labels is None:
        return None
    if isinstance(labels, (set, frozenset)) or not isinstance(labels, Iterable):
        raise ArmatureError(f"labels must be a list with one for each arm; got {labels!r}.")
    names = [_plain_label(label) for label in labels]
    if len(names) != n_arms:
        raise ArmatureError(f"there are {len(names)} labels for {n_arms} arms: give one for each.")
    for i, name in enumerate(names):
        try:
            hash(name)
        except TypeError:
            raise ArmatureError(
                f"labels[{i}] = {name!r} can't be a label: use strings, numbers or tuples."
            ) from None
        if name != name:
            raise ArmatureError(f"labels[{i}] = {name!r} can't be a label: it is not itself.")
    if len(set(names)) != n_arms:
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ArmatureError(f"the label {twice!r} is there twice: labels must differ.")
    return names


def _plain_label(label: Any) -> Any:
    """NumPy's numbers and strings as Python's, so that a label is the same after it was saved."""
    if isinstance(label, tuple) and type(label) is tuple:
        return tuple(_plain_label(part) for part in label)
    return label.item() if isinstance(label, (np.number, np.bool_, np.str_)) else label
