"""The base of all policies, compiled or written by a user in plain Python."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import MOST_PAIRED, check_kind
from armature.kernels.kernel import Kernel
from armature.structures import Segments, Structure
from armature.structures.declared import check_is_structure
from armature.structures.segments.row import Row, rows_of
from armature.words import Arm, Sentence


class History(NamedTuple):
    """The rewards so far, in sums."""

    pulls: Floats  # N: how often each arm was pulled
    sums: Floats  # of each arm's rewards
    means: Floats  # mu_hat = sums / pulls; 0 for an arm without pulls
    squares: Floats  # of each arm's rewards about their mean, summed up
    clock: Ints  # [rounds so far, how many of them were exploration]


def make_history(n_arms: int) -> History:
    """Before the first round."""
    return History(
        pulls=np.zeros(n_arms),
        sums=np.zeros(n_arms),
        means=np.zeros(n_arms),
        squares=np.zeros(n_arms),
        clock=np.zeros(2, dtype=np.int64),
    )


class Problem(NamedTuple):
    """The problem as it is known before the first round."""

    structure: Structure
    family: Family


class Belief(NamedTuple):
    """The data, the structure's fit to them, and the history that the policy decides on."""

    structure: Structure
    family: Family
    rounds: int
    pulls: Floats
    means: Floats  # empirical
    low: Floats  # intervals: N d(mean, .) <= ln(1 + rounds)
    high: Floats
    projected: Floats  # the nearest means in M
    leader: int  # the best arm of these
    misfit: float  # the cost of the projection: how far the data are from M
    nearest: float  # the cost of the nearest means with another best arm
    evidence: float  # how much more that is than the misfit
    history: History  # what `choose` is given,
    known: Any  # with the model, or the `Problem` of a policy in plain Python,
    state: Any  # and the policy's state


class Dropped(NamedTuple):
    """The time and reason of a policy's dropping the structure (see `armature.bounds.evidence`)."""

    round: int
    log_e: float
    learning: float
    shares: Floats  # each arm's part of the misfit


@dataclasses.dataclass(frozen=True)
class Policy(abc.ABC):
    """A way to choose arms: a frozen dataclass of its options.

    * `structures`, `families`: what it can be used with (None: everything);
    * `needs_sub_gaussian`: whether it needs a variance for which rewards are sub-Gaussian;
    * `needs_horizon`: whether it must know how many rounds there will be;
    * `starts_with_each_arm`: whether every arm is pulled once, in order, before it is asked;
    * `tells_exploration_apart`: whether it says which of its rounds are exploration;
    * `ignores_numbering`: whether renumbering the arms renumbers its decisions, but for ties;
    * `identifies`: whether it samples to find the best arm, at whatever regret (see `identify`);
    * `keeps_pairs`: whether it keeps numbers for each pair of arms, so that there can't be many;
    * `weighs_by_pulls`: whether what it asks a structure is about the pulls, not about weights of
      its own: only then can a row of a table be asked, where other segments have pulls, too;
    * `drops_at`: with which probability at most it ever drops a structure that is true; None: it
      never drops any.

    To write your own, see `PythonPolicy` and `CompiledPolicy`.
    """

    structures: ClassVar[tuple[type[Structure], ...] | None] = None
    families: ClassVar[tuple[type[Family], ...] | None] = None
    needs_sub_gaussian: ClassVar[bool] = False
    needs_horizon: ClassVar[bool] = False
    starts_with_each_arm: ClassVar[bool] = True
    tells_exploration_apart: ClassVar[bool] = False
    ignores_numbering: ClassVar[bool] = False
    identifies: ClassVar[bool] = False
    keeps_pairs: ClassVar[bool] = False
    weighs_by_pulls: ClassVar[bool] = True
    drops_at: ClassVar[float | None] = None

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        """Variants for the conformance suite."""
        return (cls(),)

    @abc.abstractmethod
    def init(self, structure: Structure, family: Family) -> Any:
        """The state before the first round."""

    @property
    def name(self) -> str:
        """Its class, with the options that are not the default.

        A horizon that it was told by `with_horizon` is no option: the same policy has the same name
        in experiments of any length.
        """
        options = self._unusual(dataclasses.fields(self))
        return type(self).__name__ + (f"({', '.join(options)})" if options else "")

    def _unusual(self, fields: Iterable[dataclasses.Field[Any]]) -> list[str]:
        """The options that are not the default."""
        options = []
        for field in fields:
            value = getattr(self, field.name)
            told = field.name == "horizon" and getattr(self, "_told", False)
            if value != field.default and not told:
                text = value.name if isinstance(value, Policy) else repr(value)
                options.append(f"{field.name}={text}")
        return options

    def supports(self, structure: Structure, family: Family) -> bool:
        """True if it can be used with these."""
        _check_problem(structure, family)
        return self._objection_to_any(structure, family) is None

    def check(self, structure: Structure, family: Family) -> None:
        """Refuse what it can't be used with."""
        _check_problem(structure, family)
        objection = self._objection_to_any(structure, family)
        if objection is not None:
            raise ArmatureError(objection)

    def _objection_to_any(self, structure: Structure, family: Family) -> str | None:
        """Why it can't be used with a structure, or with a segment of a table."""
        if not isinstance(structure, Segments):
            return self._objection(structure, family)
        said = (
            self._objection(row, structure.family_of(family, c))
            for c, row in enumerate(rows_of(structure, family))
        )
        return next((one for one in said if one is not None), None)

    def _objection(self, structure: Structure, family: Family) -> str | None:
        for kind, known, value in (
            ("structures", self.structures, structure),
            ("rewards", self.families, family),
        ):
            if known is not None and not isinstance(value, known):
                names = " or ".join(k.__name__ for k in known)
                if isinstance(value, Row):
                    return _not_for_rows(f"{type(self).__name__} is for {names} {kind}")
                return (
                    f"{type(self).__name__} is for {names} {kind}, not for "
                    f"{type(value).__name__}: choose another policy (such as SPk, which is for "
                    f"all) or another of the {kind}."
                )
        try:
            family.check_arms(structure.n_arms)
        except ArmatureError as error:
            return str(error)
        if self.needs_sub_gaussian and math.isinf(family.sub_gaussian_variance):
            return (
                f"{type(self).__name__} is for sub-Gaussian rewards, such as Gaussian or Bernoulli "
                f"ones, not for {type(family).__name__}: choose another policy (such as KLUCB or "
                "SPk, which are for all)."
            )
        if self.keeps_pairs and structure.n_arms > MOST_PAIRED:
            return (
                f"{type(self).__name__} keeps numbers for each pair of arms, and is for at most "
                f"{MOST_PAIRED} arms; there are {structure.n_arms}. The memory of Challenger, "
                "KLUCB, IMED and ThompsonSampling is in proportion to the arms."
            )
        return None

    def with_horizon(self, horizon: int | None) -> Policy:
        """The same policy, with the number of rounds if it needs that."""
        given = getattr(self, "horizon", None)
        if not self.needs_horizon or (given is not None and given != horizon):
            return self
        if horizon is None:
            raise ArmatureError(
                f"{type(self).__name__} needs to know the number of rounds: "
                f"write {type(self).__name__}(horizon=...)."
            )
        told = dataclasses.replace(self, horizon=horizon)  # type: ignore[call-arg]
        object.__setattr__(told, "_told", True)
        return told

    def explain(self, belief: Belief) -> Sentence | str:
        """One sentence on what it does next and why.

        A `Sentence` has the arms in it by index, so that they are shown by their labels.
        """
        return Sentence(
            "{policy} weighs what is known against what is not; {leader} looks best so far.",
            policy=self.name,
            leader=Arm(belief.leader),
        )

    def basis(self, state: Any, history: History) -> History:
        """The rewards that it goes by: most policies forget none."""
        return history

    def go_on(self, old: Any, new: Any, places: Sequence[int | None]) -> None:
        """Take over what `basis` is about, for other arms: the place that each had, or None.

        Most policies go by all rewards, and are told those.
        """
        return

    def restarted(self, state: Any) -> int | None:
        """The number of rewards before the last change that it has noticed; None: none was."""
        return None

    def dropped(self, state: Any) -> Dropped | None:
        """The time and reason for which it dropped the structure: most policies never do."""
        return None


def checked_policy(policy: Policy, horizon: int | None) -> Policy:
    """The policy, told the horizon."""
    check_kind(policy, Policy, "policy", "SPk()")
    return policy.with_horizon(horizon)


def _not_for_rows(why: str) -> str:
    """Advice about a policy that does not go with coupled segments."""
    return (
        f"{why}: for coupled segments choose another policy (Challenger, Guarded, "
        "ProjectedThompson, or one that uses no structure), or leave the coupling out."
    )


def _check_problem(structure: Structure, family: Family) -> None:
    check_is_structure(structure)
    check_kind(family, Family, "family", "Gaussian()")


@dataclasses.dataclass(frozen=True)
class CompiledPolicy(Policy):
    """A policy made of kernels.

    * `init(structure, family)` makes the state: a NamedTuple of arrays (which change, and are
      saved) and numbers (which do not change);
    * `choose(state, model, history, stream) -> arm`: a kernel;
    * `probabilities(state, model, history, out) -> known`: where it draws, a kernel that writes
      with which probability `choose` would pull each arm, and says whether that is known; or None;
    * `update(state, model, history, arm, reward)`: a kernel called after the reward is counted in
      `history`, or None where there is nothing to do.

    `saved` names the fields of the state that the next decisions depend on; those in `fades` count
    pulls, and fade where rewards do (`Forgetting`). `oracles` names those
    that it calls through the model: the entries of `armature.structures.oracles.records.Oracle`.
    `stream` is a source of random numbers (`armature.kernels.streams`). `reads_history` says of an
    `update` that the history tells it all: it may be given the rewards of the past as sums, and
    go on from there.
    """

    oracles: ClassVar[tuple[str, ...]] = ()
    saved: ClassVar[tuple[str, ...]] = ()
    fades: ClassVar[tuple[str, ...]] = ()
    reads_history: ClassVar[bool] = False
    choose: ClassVar[Kernel[..., int]]
    probabilities: ClassVar[Kernel[..., bool] | None] = None
    update: ClassVar[Kernel[..., None] | None] = None

    def _objection(self, structure: Structure, family: Family) -> str | None:
        objection = super()._objection(structure, family)
        if objection is not None:
            return objection
        if structure.in_table:
            return self._objection_to_row(structure, family)
        if structure.n_arms <= MOST_PAIRED:
            return None
        derived = [name for name in self.oracles if structure.entry(name, family)[1]]
        if not derived:
            return None
        return (
            f"{type(self).__name__} asks {type(structure).__name__} for {' and '.join(derived)}, "
            f"which is computed from dense matrices, for at most {MOST_PAIRED} arms; there are "
            f"{structure.n_arms}. Challenger and IMED can do with Unconstrained, Unimodal, "
            "Categorised, Sparse and Linear structures of many arms."
        )

    def _objection_to_row(self, row: Structure, family: Family) -> str | None:
        """Why it can't be used with a segment of which others tell something."""
        optional = ("challenger_costs", "challenger_bounds", "optimistic")
        asked = [name for name in self.oracles if name not in optional]
        missing = [name for name in asked if row.entry(name, family)[0] is None]
        why = ""
        if missing:
            why = f"asks for {' and '.join(missing)}, which coupled segments do not answer"
        elif not self.weighs_by_pulls:
            why = "asks about weights of its own, not about the pulls, of all segments"
        if not why:
            return None
        return _not_for_rows(f"{type(self).__name__} {why}")

    def could_be(self, state: Any) -> bool:
        """True if a state that was read from a file is one that the policy can be in.

        Compiled code looks up arrays without a look at their sizes: say no to places that are not
        there.
        """
        return True


@dataclasses.dataclass(frozen=True)
class PythonPolicy(Policy):
    """A policy in plain Python. The state is a dict of numbers, strings, lists and dicts."""

    def init(self, structure: Structure, family: Family) -> dict[str, Any]:
        """The state before the first round: by default empty."""
        return {}

    @abc.abstractmethod
    def choose(
        self, state: dict[str, Any], problem: Problem, history: History, rng: np.random.Generator
    ) -> int:
        """The arm to pull."""

    def update(
        self, state: dict[str, Any], problem: Problem, history: History, arm: int, reward: float
    ) -> None:
        """Take in a reward, which `history` already counts: by default nothing is to be done."""
