"""A history of weights that are real numbers, and a policy that goes by it instead of by all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from armature.families import Family
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST, MOST_COUNTED
from armature.kernels.kernel import Kernel, kernel, maker
from armature.kernels.vectors import fill
from armature.policies.around import OwnHistoryPolicy
from armature.policies.policy import CompiledPolicy, History
from armature.structures import Structure
from armature.structures.oracles.model import Model

OWN = "own_"  # before the names of arrays that are saved
GONE = 1e-9  # an arm with less weight than this has no rewards any more


@kernel
def count_weights(own: History) -> None:
    """The clock of a history of weights: all of them together, as a whole number."""
    total = 0.0
    for k in range(own.pulls.size):  # total: of the arms before k
        total += own.pulls[k]
    own.clock[0] = int(total)


@kernel
def show(state: Any, model: Model, history: History) -> None:
    """shown = the own history, and what is outstanding, which counts in full.

    An outstanding reward counts as its arm's mean, as it does in `history`.
    """
    own, shown = state.own, state.shown
    awaited = False
    for k in range(own.pulls.size):
        awaited = awaited or history.pulls[k] > state.counted[k]
    total = 0.0
    for k in range(own.pulls.size):  # total: of the arms before k
        n = own.pulls[k] + max(history.pulls[k] - state.counted[k], 0.0)
        mean = own.means[k] if own.pulls[k] > 0.0 else history.means[k]
        shown.pulls[k] = n
        shown.means[k] = mean
        shown.sums[k] = mean * n if awaited else own.sums[k]
        total += n
    shown.clock[0] = int(total)
    shown.clock[1] = history.clock[1]


@kernel
def forgotten_arm(state: Any) -> int:
    """The first arm without rewards, if the policy inside starts with each; -1: there is none."""
    if state.each_arm_first:
        for k in range(state.shown.pulls.size):
            if state.shown.pulls[k] == 0.0:
                return k
    return -1


@maker
def choose_by_own(choose: Kernel[..., int]) -> Kernel[..., int]:
    """The kernel that chooses: a policy's, by the own history."""

    def by_own(state: Any, model: Any, history: Any, stream: Any) -> int:
        show(state, model, history)
        arm = forgotten_arm(state)
        if arm >= 0:
            return arm
        arm = choose(state.inner, model, state.shown, stream)
        history.clock[1] = state.shown.clock[1]
        return arm

    return kernel(by_own)


@maker
def probabilities_by_own(inner: Kernel[..., bool] | None) -> Kernel[..., bool] | None:
    """The kernel that says how likely each arm is, if the policy has one."""
    if inner is None:
        return None

    def by_own(state: Any, model: Any, history: Any, out: Any) -> bool:
        show(state, model, history)
        arm = forgotten_arm(state)
        if arm < 0:
            return inner(state.inner, model, state.shown, out)
        fill(out, 0.0)
        out[arm] = 1.0
        return True

    return kernel(by_own)


@dataclass(frozen=True)
class WeighedPolicy(OwnHistoryPolicy):
    """One whose policy inside goes by a history of weights, `own` in its state."""

    saved_beside: ClassVar[tuple[str, ...]]  # what is saved beside the weights

    @property
    def saved(self) -> tuple[str, ...]:  # type: ignore[override]
        of_past = tuple(OWN + name for name in ("pulls", "sums", "means", "clock"))
        return (*self.saved_beside, *of_past, *self.inner.saved)

    @property
    def choose(self) -> Kernel[..., int]:  # type: ignore[override]
        return choose_by_own(self.inner.choose)

    @property
    def probabilities(self) -> Kernel[..., bool] | None:  # type: ignore[override]
        return probabilities_by_own(self.inner.probabilities)

    def _objection(self, structure: Structure, family: Family) -> str | None:
        objection = super()._objection(structure, family)
        if objection is None and structure.in_table:
            name = type(self).__name__
            return f"{name} does not go with coupled segments: leave the coupling out."
        return objection


def does_not_fade(
    policy: CompiledPolicy,
    structure: Structure,
    family: Family,
    what: str,
    counts_fade: bool = True,
) -> str | None:
    """Why a policy can't forget: it keeps real numbers beside the rewards that do not fade."""
    state = policy.init(structure, family)
    others = [name for name in policy.saved if not counts_fade or name not in policy.fades]
    names = [name for name in others if getattr(state, name).dtype.kind == "f"]
    if not names:
        return None
    return (
        f"{type(policy).__name__} keeps numbers beside the rewards that do not fade "
        f"({', '.join(names)}), and {what} is for policies that decide by the rewards, such as "
        "KLUCB or ThompsonSampling."
    )


def could_be_weighed(own: History, counted: Floats) -> bool:
    """Whether rewards can have made such a history, and such counts of all of them."""
    numbers = bool((np.abs(own.sums) <= LARGEST * MOST_COUNTED).all())
    means = bool((np.abs(own.means) <= LARGEST).all())
    weights = bool(((own.pulls >= 0.0) & (own.pulls <= counted)).all())
    few = bool(((counted >= 0.0) & (counted <= MOST_COUNTED)).all())
    return numbers and means and weights and few and bool((counted % 1.0 == 0.0).all())
