"""Apply the floor and the exclusions, then ask the policy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import as_real
from armature.kernels.streams import FLOORS, make_stream, next_unit
from armature.policies import History
from armature.rounds.runner import PolicyRunner

Open = npt.NDArray[np.bool_] | None  # which arms may be chosen; None: all


class Chooser:
    """The next arm.

    With a floor f and n arms that may be chosen, the arm is any of these with probability n f, and
    with probability 1 - n f what the policy chooses: p = f + (1 - n f) w. These draws have random
    numbers of their own, so that a floor changes none of the policy's.

    Arms may be excluded. The policy is asked as ever, and what it chooses is taken, if that is
    allowed and may still be the best of what is. Else it is the allowed arm with the highest
    upper confidence bound. With t rewards so far, the bounds of an arm of mean m and N rewards are
    the means x with N d(m, x) <= ln(1 + t), and an arm may be the best if its upper bound reaches
    the lower bounds of all others.

    So whatever a policy makes of an arm that it can't have, an arm that is clearly worse than
    another one that is allowed is not pulled, and where the policy insists on an excluded arm, this
    is KL-UCB on the others: the regret against the best arm that is allowed grows as ln t. (The
    policy alone would not do: one that weighs evidence goes on to explore as long as there is none
    about the arm that it thinks best.)

    Once every arm is waiting for its first reward and none has come, nothing is known that a policy
    could choose by: the arm with the fewest pulls is next, until there is a reward.
    """

    def __init__(self, decisions: PolicyRunner, floor: float, seed: int) -> None:
        self.decisions = decisions
        self.floor = floor
        self.stream = make_stream(seed, 0, FLOORS)

    def choose(self, history: History, allowed: Open, floor: float | None = None) -> int:
        """The arm to pull; with another floor, if one is given."""
        floor = self.floor if floor is None else floor
        decisions = self.decisions
        if floor > 0.0:
            n = history.pulls.size if allowed is None else int(allowed.sum())
            share = float(next_unit(self.stream)) / floor
            if share < n:
                arm = int(share)
                return arm if allowed is None else int(np.flatnonzero(allowed)[arm])
        if decisions.history.clock[0] == 0 and history is not decisions.history:
            pulls = history.pulls if allowed is None else np.where(allowed, history.pulls, math.inf)
            if pulls.min() > 0.0:
                return int(pulls.argmin())
        if allowed is None:
            return decisions.next(history)
        unseen = decisions.unseen(history)
        if unseen.size:
            arm = int(unseen[np.argmax(allowed[unseen])])
            return arm if allowed[arm] else self._instead(history, allowed, arm)
        return self._instead(history, allowed, decisions.next(history))

    def _instead(self, history: History, allowed: npt.NDArray[np.bool_], arm: int) -> int:
        """The arm that the policy chose, if it is allowed and plausible; else the one that is."""
        low, high = self._bounds(history, allowed)
        return arm if allowed[arm] and high[arm] >= low.max() else int(np.argmax(high))

    def choose_with_probability(self, history: History, allowed: Open) -> tuple[int, float | None]:
        """The arm to pull, and its probability; None where it would have to be estimated."""
        decisions = self.decisions
        mark, seen = decisions.random_mark(), untouched(history)
        before = decisions.moment() if self.floor > 0.0 or decisions.knows_odds else None
        arm = self.choose(history, allowed)
        if self.floor == 0.0 and decisions.random_mark() == mark:
            return arm, 1.0
        if before is None:
            return arm, None
        after = decisions.moment()
        decisions.return_to(before)
        shares = self.shares(seen, allowed)
        decisions.return_to(after)
        if shares is None:
            return arm, None
        n = history.pulls.size if allowed is None else int(allowed.sum())
        return arm, float(self.floor + (1.0 - n * self.floor) * shares[arm])

    def shares(self, history: History, allowed: Open) -> Floats | None:
        """The probability of each arm without the floor, where it is known; nothing changes."""
        K = history.pulls.size
        arm, by_chance = self.peek(history, allowed)
        if not by_chance:
            certain: Floats = (np.arange(K) == arm).astype(np.float64)
            return certain
        moment = self.decisions.moment()
        try:
            known = self.decisions.probabilities(untouched(history))
        finally:
            self.decisions.return_to(moment)
        if known is None or allowed is None:
            return known
        shares = np.zeros(K)
        for k in np.flatnonzero(known):
            shares[self._instead(history, allowed, int(k))] += known[k]
        return shares

    def peek(self, history: History, allowed: Open) -> tuple[int, bool]:
        """The arm that the policy would choose now, and whether that is random; nothing changes."""
        decisions = self.decisions
        moment, before = decisions.moment(), decisions.random_mark()
        try:
            arm = self.choose(untouched(history), allowed, floor=0.0)
            return arm, decisions.random_mark() != before
        finally:
            decisions.return_to(moment)

    def _bounds(self, history: History, allowed: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Bounds of each arm's mean; -inf if it is excluded, (-inf, inf) where nothing is known."""
        low, high = self.decisions.bounds(history)
        seen = allowed & (history.pulls > 0.0)
        low = np.where(seen, low, -math.inf)
        high = np.where(allowed, np.where(seen, high, math.inf), -math.inf)
        return low, high

    def moment(self) -> Any:
        """All that the next arm depends on but the rewards and the floor, to come back to."""
        return self.decisions.moment(), self.stream.integer.copy()

    def return_to(self, moment: Any) -> None:
        """Go back to such a moment."""
        decisions, random = moment
        self.decisions.return_to(decisions)
        self.stream.integer[:] = random

    def saved(self) -> dict[str, Any]:
        """The floor, and where its random numbers are."""
        return {"share": self.floor, "used": int(self.stream.integer[4])}

    def restore(self, used: int) -> None:
        """Go on where its random numbers were."""
        self.stream.integer[4] = used


def untouched(history: History) -> History:
    """The history for an imagined decision: with a clock of its own, which policies write to."""
    return history._replace(clock=history.clock.copy())


def play_once(decisions: PolicyRunner, floor: float) -> None:
    """Go once through all that a decision and a reward may need, to have it compiled."""
    history = decisions.history
    for _ in range(history.pulls.size + 1):  # each arm once, and then a choice
        arm = decisions.next(history)
        decisions.take_in(arm, decisions.family.some_mean)
    excluded = np.arange(history.pulls.size) == 0
    Chooser(decisions, floor, 0).choose(history, ~excluded)


def checked_floor(floor: Any, n_arms: int) -> float:
    """A floor for n arms, checked; 1 / n in a short precision is 1 / n."""
    most = 1.0 / n_arms
    share = (
        most if isinstance(floor, np.floating) and floor == type(floor)(most) else as_real(floor)
    )
    if not 0.0 <= share <= most:
        raise ArmatureError(
            f"floor must be a share from 0 to {most:g}, for {n_arms} arms; got {floor!r}."
        )
    return share


class Probabilities(NamedTuple):
    """The probability of each arm, with standard errors.

    Attributes
    ----------
        values: of each arm, in the arms' order; they sum to 1.
        standard_errors: 0 where the probabilities are exact: the policy leaves nothing to chance
            now, or knows the odds by which it draws. Otherwise (1 - n f) sqrt(q (1 - q) / draws),
            with n arms that may be chosen, the floor f, and q = (x + 1/2) / (draws + 1) for an arm
            that was drawn x times: never 0, for an arm that was not drawn may be likely still.
    """

    values: Floats
    standard_errors: Floats


def probabilities(chooser: Chooser, history: History, allowed: Open, draws: int) -> Probabilities:
    """Probabilities of the arms, from `draws` imagined decisions; the chooser stays as it is."""
    K = history.pulls.size
    open_arms = np.ones(K) if allowed is None else allowed.astype(np.float64)
    left = 1.0 - chooser.floor * open_arms.sum()
    shares = chooser.shares(history, allowed)
    if shares is not None:
        return Probabilities(chooser.floor * open_arms + left * shares, np.zeros(K))
    counts = np.zeros(K)
    decisions = chooser.decisions
    moment = decisions.moment()
    try:
        for number in range(draws):
            decisions.return_to(moment)
            decisions.use_numbers_of(number)
            counts[chooser.choose(untouched(history), allowed, floor=0.0)] += 1.0
    finally:
        decisions.return_to(moment)
    q = (counts + 0.5) / (draws + 1.0)
    errors = left * np.sqrt(q * (1.0 - q) / draws) * open_arms
    return Probabilities(chooser.floor * open_arms + left * counts / draws, errors)
