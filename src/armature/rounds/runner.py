"""A policy at work on one problem: its state, what it has seen, its random numbers."""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord
from armature.families.kernels import estimate_variance, lowers, uppers
from armature.kernels.arrays import Floats
from armature.kernels.checks import is_whole
from armature.kernels.packing import pack
from armature.kernels.streams import DECISIONS, PROBABILITIES, key_of, make_stream
from armature.policies import CompiledPolicy, History, Policy, Problem, PythonPolicy
from armature.policies.policy import make_history
from armature.policies.records import count_reward
from armature.rounds.play import CHOOSE, UPDATE, packed_address
from armature.storage import fields
from armature.storage.tagged_json import decoded, encoded
from armature.structures import Structure
from armature.structures.oracles.model import Model, make_model, with_estimate


def no_such_arm(policy: Policy, arm: object, n_arms: int) -> ArmatureError:
    """The error for a policy that chooses an arm that is not there."""
    return ArmatureError(
        f"{policy.name} chose {arm!r}, where arms are whole numbers from 0 to {n_arms - 1}: "
        "its `choose` must return one of them."
    )


LAST_BLOCK = 2**62  # of random numbers
NONE = np.empty(0, dtype=np.intp)
IMAGINED = 2**62  # beyond every number of a repetition


class Packed(NamedTuple):
    """A policy as the loop takes it: where its kernels are, and the words they unpack."""

    choose: Any
    update: Any
    words: Any
    reals: Any  # the same memory, where the model is told an estimate of the variance; else empty


class PolicyRunner(abc.ABC):
    """A policy with its state and what it has seen, for a live bandit and for the loop."""

    state: Any
    random: Any  # where its random numbers come from
    _choose: Callable[..., Any]
    _update: Callable[..., None] | None

    def __init__(self, policy: Policy, structure: Structure, family: Family) -> None:
        self.policy, self.structure, self.family = policy, structure, family
        self.history = make_history(structure.n_arms)
        self._domain = family.record_for(structure.n_arms)
        self._starting = policy.starts_with_each_arm
        self._record: FamilyRecord | None = None

    @property
    def each_arm_first(self) -> bool:
        """True if every arm is pulled once before the policy is asked."""
        return self.policy.starts_with_each_arm

    def unseen(self, history: History) -> npt.NDArray[np.intp]:
        """The arms to pull before the policy is asked: those without a reward, if it starts so."""
        if not self._starting:
            return NONE
        if (self.history.pulls > 0.0).all():  # of the rewards themselves, which stay
            self._starting = False
        return np.flatnonzero(history.pulls == 0.0)

    def next(self, history: History) -> int:
        """The arm to pull, given a history: this one, or one that counts outstanding pulls."""
        unseen = self.unseen(history)
        if unseen.size:
            return int(unseen[0])
        arm = self.checked(self._choose(self.state, self.known(), history, self.random))
        if history is not self.history:
            self.history.clock[1] = history.clock[1]
        return arm

    @property
    def knows_odds(self) -> bool:
        """True if it may say by which odds it draws."""
        return False

    def probabilities(self, history: History) -> Floats | None:
        """With which probability `next` would give each arm, where it draws and that is known.

        What the next decision depends on may change: come back to a `moment`.
        """
        return None

    def checked(self, arm: Any) -> int:
        """Check that the policy chose an arm."""
        n_arms = self.history.pulls.size
        if not ((type(arm) is int or is_whole(arm)) and 0 <= arm < n_arms):
            raise no_such_arm(self.policy, arm, n_arms)
        return int(arm)

    def take_in(self, arm: int, reward: float) -> None:
        """Count a reward, and let the policy learn from it."""
        count_reward.py_func(self.history, self._domain, arm, reward)
        if self._update is not None:
            self._update(self.state, self.known(), self.history, arm, reward)

    @property
    def basis(self) -> History:
        """The rewards that the policy goes by: all of them, unless it has begun anew."""
        return self.policy.basis(self.state, self.history)

    def estimated_variance(self) -> float:
        """The estimate of the variance, where the family does not know it."""
        history = self.history
        return estimate_variance(history.pulls, history.means, history.squares)

    def informed_family(self) -> Family:
        """The family, with what the rewards so far say of a variance that is not known."""
        if not self.family.as_told.estimated:
            return self.family
        return self.family.estimate(self.estimated_variance())

    def bounds(self, history: History) -> tuple[Floats, Floats]:
        """The ends of { x : N d(mean, x) <= ln(1 + t) } for each arm; of one without rewards, any.

        The history may be one that counts outstanding pulls.
        """
        if self._record is None or self.family.as_told.estimated:
            self._record = self.informed_family().record_for(history.pulls.size)
        level = math.log1p(float(history.clock[0])) / np.maximum(history.pulls, 1.0)
        means = np.where(history.pulls > 0.0, history.means, self.family.some_mean)
        low, high = np.empty_like(means), np.empty_like(means)
        lowers(self._record, means, level, low)
        uppers(self._record, means, level, high)
        return low, high

    @abc.abstractmethod
    def packed(self) -> Packed:
        """The policy for the loop, which goes on with this state and this history."""

    @abc.abstractmethod
    def known(self) -> Any:
        """The problem as the policy knows it, with an estimate of a variance that is not known."""

    @property
    def learns_by_itself(self) -> bool:
        """True if the policy takes in every reward by itself, besides what `history` counts."""
        return True

    @abc.abstractmethod
    def moment(self) -> Any:
        """All that the next decision depends on but the rewards, to come back to."""

    @abc.abstractmethod
    def return_to(self, moment: Any) -> None:
        """Go back to such a moment: as if nothing had been decided since."""

    @abc.abstractmethod
    def use_numbers_of(self, number: int) -> None:
        """Use the random numbers of an imagined decision: always the same for the same number."""

    @abc.abstractmethod
    def saved_state(self) -> dict[str, Any]:
        """The policy's state as plain data."""

    @abc.abstractmethod
    def random_state(self) -> Any:
        """The position in the random numbers, as plain data."""

    def random_mark(self) -> Any:
        """Something that stays the same as long as no random number is drawn."""
        return self.random_state()

    @abc.abstractmethod
    def restore_state(self, state: dict[str, Any]) -> None:
        """Go back to a state that was saved."""

    @abc.abstractmethod
    def restore_random(self, random: Any) -> None:
        """Go on with the random numbers where they were."""


class CompiledRunner(PolicyRunner):
    """The runner of a policy made of kernels."""

    def __init__(
        self,
        policy: CompiledPolicy,
        structure: Structure,
        family: Family,
        seed: int,
        repetition: int,
    ) -> None:
        super().__init__(policy, structure, family)
        self.state = policy.init(structure, family)
        self.model = make_model(structure, family, policy.oracles)
        self.random = make_stream(seed, repetition, DECISIONS)
        self._choose, self._update = policy.choose, policy.update
        self._compiled, self._saved = policy, policy.saved
        self._reads_history = policy.reads_history

    def packed(self) -> Packed:
        told = self.known(), self.state, self.history, self.random
        self._packed = told  # the words point to it
        words = pack(*told)
        reals = words.view(np.float64) if isinstance(words, np.ndarray) else words
        return Packed(
            packed_address(CHOOSE, self._compiled.choose, told),
            packed_address(UPDATE, self._compiled.update, told),
            words,
            reals if self.model.family.estimated else reals[:0],
        )

    @property
    def knows_odds(self) -> bool:
        return self._compiled.probabilities is not None

    def probabilities(self, history: History) -> Floats | None:
        kernel = self._compiled.probabilities
        if kernel is None:
            return None
        out = np.zeros(history.pulls.size)
        return out if kernel(self.state, self.known(), history, out) else None

    def known(self) -> Model:
        if not self.model.family.estimated:
            return self.model
        return with_estimate.py_func(self.model, self.estimated_variance())

    @property
    def learns_by_itself(self) -> bool:
        return self._update is not None and not self._reads_history

    def moment(self) -> Any:
        arrays = [getattr(self.state, name).copy() for name in self._saved]
        return arrays, self.random.integer.copy(), self.history.clock.copy()

    def return_to(self, moment: Any) -> None:
        arrays, random, clock = moment
        for name, array in zip(self._saved, arrays, strict=True):
            getattr(self.state, name)[...] = array
        self.random.integer[:] = random
        self.history.clock[:] = clock

    def use_numbers_of(self, number: int) -> None:
        self.random.integer[2:] = number, PROBABILITIES, 0

    def saved_state(self) -> dict[str, Any]:
        return {name: _as_lists(getattr(self.state, name)) for name in self._saved}

    def random_state(self) -> list[int]:
        return [int(word) for word in self.random.integer]

    def random_mark(self) -> bytes:
        return bytes(self.random.integer)

    def restore_state(self, state: dict[str, Any]) -> None:
        arrays = fields.table(state, "state", self._saved)
        for name, array in zip(self._saved, arrays, strict=True):
            kept = getattr(self.state, name)
            kept[...] = fields.array_like(array, f"state.{name}", kept)
        if not self._compiled.could_be(self.state):
            raise fields.wrong("state", f"one that {self.policy.name} can be in", state)

    def restore_random(self, random: Any) -> None:
        words = fields.wholes(random, "random", self.random.integer.size, LAST_BLOCK)
        if words[:-1] != self.random_state()[:-1]:
            raise fields.wrong("random", "numbers of its seed", random)
        self.random.integer[:] = words


def _as_lists(array: Any) -> Any:
    lists = array.tolist()
    return lists if np.isfinite(array).all() else encoded(lists)


class PythonRunner(PolicyRunner):
    """The runner of a policy in plain Python."""

    def __init__(
        self,
        policy: PythonPolicy,
        structure: Structure,
        family: Family,
        seed: int,
        repetition: int,
    ) -> None:
        super().__init__(policy, structure, family)
        self._policy, self._seed = policy, seed
        self.state = policy.init(structure, family)
        self._generator = np.random.Philox(key=[seed, repetition])
        self.random = np.random.Generator(self._generator)
        self._choose, self._update = policy.choose, policy.update

    def packed(self) -> Packed:
        def choose(words: Any) -> int:
            chosen = self._choose(self.state, self.known(), self.history, self.random)
            return self.checked(chosen)

        def update(words: Any, arm: int, reward: float) -> None:
            self._policy.update(self.state, self.known(), self.history, arm, reward)

        return Packed(choose, update, [], [])

    def known(self) -> Problem:
        return Problem(self.structure, self.informed_family())

    @property
    def learns_by_itself(self) -> bool:
        return type(self._policy).update is not PythonPolicy.update

    def moment(self) -> Any:
        return copy.deepcopy(self.state), self._generator.state, self.history.clock.copy()

    def return_to(self, moment: Any) -> None:
        state, random, clock = moment
        self.state = copy.deepcopy(state)
        self._generator.state = random
        self.history.clock[:] = clock

    def use_numbers_of(self, number: int) -> None:
        self._generator.state = np.random.Philox(key=[self._seed, IMAGINED + number]).state

    def saved_state(self) -> dict[str, Any]:
        return encoded(self.state)  # type: ignore[no-any-return]

    def random_state(self) -> dict[str, Any]:
        state = self._generator.state
        return {
            "counter": [int(word) for word in state["state"]["counter"]],
            "key": [int(word) for word in state["state"]["key"]],
            "buffer": [int(word) for word in state["buffer"]],
            "buffer_pos": state["buffer_pos"],
            "has_uint32": state["has_uint32"],
            "uinteger": state["uinteger"],
        }

    def restore_state(self, state: dict[str, Any]) -> None:
        found = decoded(state)
        if type(found) is not type(self.state):
            raise fields.wrong("state", f"a {type(self.state).__name__}", state)
        self.state = found

    def restore_random(self, random: Any) -> None:
        now = self.random_state()
        values = dict(zip(now, fields.table(random, "random", tuple(now)), strict=True))
        words = {
            name: np.array(
                fields.wholes(values[name], f"random.{name}", size, 2**64 - 1), np.uint64
            )
            for name, size in (("counter", 4), ("key", 2), ("buffer", 4))
        }
        if words["key"].tolist() != now["key"]:
            raise fields.wrong("random.key", "that of its seed", values["key"])
        generator: Any = self._generator
        generator.state = {
            "bit_generator": "Philox",
            "state": {"counter": words["counter"], "key": words["key"]},
            "buffer": words["buffer"],
            "buffer_pos": fields.whole(values["buffer_pos"], "random.buffer_pos", 4),
            "has_uint32": fields.whole(values["has_uint32"], "random.has_uint32", 1),
            "uinteger": fields.whole(values["uinteger"], "random.uinteger", 2**32 - 1),
        }


def make_runner(
    policy: Policy, structure: Structure, family: Family, seed: int, repetition: int = 0
) -> PolicyRunner:
    """A policy at the start of its work; refused where it can't be used."""
    key_of(seed)
    policy.check(structure, family)
    family = family.as_told
    if isinstance(policy, CompiledPolicy):
        return CompiledRunner(policy, structure, family, seed, repetition)
    if isinstance(policy, PythonPolicy):
        return PythonRunner(policy, structure, family, seed, repetition)
    raise ArmatureError(f"{policy.name} must be a CompiledPolicy or a PythonPolicy.")
