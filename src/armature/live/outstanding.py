"""Pending pulls: how many, which have ids, and how a policy counts them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.live.arms import RETIRED, Arms
from armature.live.tickets import Tickets
from armature.policies import History
from armature.storage import fields


class Outstanding:
    """How many rewards of each arm are still to come, with an id or without."""

    def __init__(self, arms: Arms) -> None:
        self.arms = arms
        self.pending: Floats = np.zeros(len(arms.names))
        self.total = 0
        self.tickets = Tickets()
        self._kept: tuple[History, int, History] | None = None  # of what, after how many rewards

    def with_pending(self, history: History, family: Family) -> History:
        """The history as if every outstanding reward had come, at its arm's mean so far.

        It is kept: asking again and again, only what was asked since is added (`expect`).
        """
        if not self.total:
            return history
        if self._kept is not None:
            of, rewards, seen = self._kept
            if of is history and rewards == history.clock[0]:
                seen.clock[1] = history.clock[1]
                return seen
        seen = self._all_seen(history, family)
        self._kept = (history, int(history.clock[0]), seen)
        return seen

    def _all_seen(self, history: History, family: Family) -> History:
        means = likely_means(history, family)
        pulls = history.pulls + self.pending
        clock = history.clock + np.array([self.total, 0])
        return History(pulls, means * pulls, means, history.squares, clock)

    def expect(self, place: int) -> None:
        """One reward more."""
        self.pending[place] += 1.0
        self.total += 1
        if self._kept is not None:
            seen = self._kept[2]
            seen.pulls[place] += 1.0
            seen.sums[place] = seen.means[place] * seen.pulls[place]
            seen.clock[0] += 1

    def moment(self) -> Any:
        """What is outstanding, to come back to before another reward is there."""
        return self.pending.copy(), self.tickets.next

    def return_to(self, moment: Any) -> None:
        """Go back to such a moment: what was asked for since is not to come."""
        self.pending, next_id = moment
        self.total, self._kept = int(self.pending.sum()), None
        self.tickets.withdraw(next_id)

    def expect_no_more(self, arm: Hashable, place: int) -> None:
        """One reward less."""
        if place == RETIRED:
            record = self.arms.retired[arm]
            self.arms.retired[arm] = record._replace(pending=record.pending - 1.0)
        else:
            self.pending[place] -= 1.0
            self.total -= 1
            self._kept = None

    def unnamed(self, arm: Hashable, place: int) -> float:
        """How many rewards of an arm are to come that have no id."""
        pending = self.arms.retired[arm].pending if place == RETIRED else self.pending[place]
        return float(pending) - self.tickets.named[arm]

    def came(self, arm: Hashable, place: int) -> None:
        """A reward without an id is there, of an arm that may never have been asked for."""
        if self.unnamed(arm, place) >= 1.0:
            self.expect_no_more(arm, place)

    def cancel(self, arm: Any) -> None:
        """A reward without an id will never come."""
        place = self.arms.place(arm)
        if self.unnamed(arm, place) < 1.0:
            rest = " without an id: use cancel_by_id" if self.tickets.named[arm] else ""
            raise ArmatureError(f"no reward of arm {arm!r} is outstanding{rest}.")
        self.expect_no_more(arm, place)

    def close(self, number: int, reward: float | None) -> None:
        """The reward of a decision came; or will never come: None."""
        arm = self.tickets.open[number]
        self.tickets.settle(number, reward)
        self.expect_no_more(arm, self.arms.place(arm))

    def repeated(self, number: int, reward: float | None) -> Literal["duplicate", "settled"]:
        """What to say of a reward, or of None, a cancellation, for a decision that is settled."""
        if not self.tickets.is_remembered(number):
            return "settled"
        before = self.tickets.reward_of(number)
        if before == reward:
            return "duplicate"
        if before is None:
            raise ArmatureError(f"decision {number} was cancelled: it can't have a reward.")
        if reward is None:
            raise ArmatureError(f"decision {number} has its reward: it can't be cancelled.")
        raise ArmatureError(
            f"decision {number} has the reward {before!r} already; got {reward!r}. A reward can't "
            "be changed."
        )

    def change(self, arms: Arms, pending: Floats) -> None:
        """Other arms than before."""
        self.arms, self.pending, self.total = arms, pending, int(pending.sum())
        self._kept = None

    def restore(self, pending: Any, decisions: Any) -> None:
        """Go back to what was saved."""
        self.pending[:] = fields.counts(pending, "pending", self.pending.size)
        self.total, self._kept = int(self.pending.sum()), None
        self.tickets = Tickets.restored(decisions)
        for name in self.tickets.named:
            if self.unnamed(name, self.arms.place(name)) < 0.0:
                raise fields.wrong("pending", f"at least the open decisions for {name!r}", pending)


def likely_means(history: History, family: Family) -> Floats:
    """The means so far; an arm without rewards has a typical one, the average of the others'."""
    seen, means = history.pulls > 0.0, history.means
    if seen.all():
        return means
    typical = float(means[seen].mean()) if seen.any() else family.some_mean
    return np.where(seen, means, family.clipped(np.full(means.size, typical)))
