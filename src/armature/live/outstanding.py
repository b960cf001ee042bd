"""Pending pulls: how many, how a policy counts them, and ids, so that no reward counts twice."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import Any, Literal, NamedTuple

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST, is_whole
from armature.live.arms import RETIRED, Arms
from armature.live.fading import Fading
from armature.live.noticing import Noticing
from armature.policies import History
from armature.storage import fields
from armature.storage.tagged_json import encoded


class Outstanding:
    """The number of pending rewards of each arm, with an id or without."""

    def __init__(self, arms: Arms, family: Family, fading: Fading | None = None) -> None:
        self.arms = arms
        self.noticing = Noticing(family, len(arms.names))
        self.fading = fading
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

    def expect(self, place: int, issued: bool = False) -> None:
        """One reward more; whether its decision was just issued an id."""
        name, id = self.arms.names[place], self.tickets.next - 1 if issued else None
        self.noticing.expect(name, id)
        if self.fading is not None:
            self.fading.expect(name, id)
        self.pending[place] += 1.0
        self.total += 1
        if self._kept is not None:
            seen = self._kept[2]
            seen.pulls[place] += 1.0
            seen.sums[place] = seen.means[place] * seen.pulls[place]
            seen.clock[0] += 1

    def pass_time(self, state: Any) -> None:
        """By the clock: let rewards fade until now."""
        if self.fading is not None:
            self.fading.pass_time(state)

    def weigh(self, state: Any) -> None:
        """Say how rewards fade at the one that just came, and what it weighs."""
        if self.fading is not None:
            self.fading.weigh(state)

    def moment(self) -> Any:
        """The outstanding pulls, to come back to before another reward is there."""
        faded = None if self.fading is None else self.fading.awaited.moment()
        return self.pending.copy(), self.tickets.next, self.noticing.moment(), faded

    def return_to(self, moment: Any) -> None:
        """Go back to such a moment: what was asked for since is not to come."""
        self.pending, next_id, noticed, faded = moment
        self.noticing.return_to(noticed)
        if self.fading is not None:
            self.fading.awaited.return_to(faded)
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
        """The number of pending rewards of an arm that have no id."""
        pending = self.arms.retired[arm].pending if place == RETIRED else self.pending[place]
        return float(pending) - self.tickets.named[arm]

    def came(self, arm: Hashable, place: int) -> int:
        """A reward without an id is there: when that was decided, now if it never was."""
        if self.unnamed(arm, place) < 1.0:
            return self.noticing.decided()
        self.expect_no_more(arm, place)
        return self._decided(arm)

    def cancel(self, arm: Any) -> None:
        """A reward without an id will never come."""
        place = self.arms.place(arm)
        if self.unnamed(arm, place) < 1.0:
            rest = " without an id: use cancel_by_id" if self.tickets.named[arm] else ""
            raise ArmatureError(f"no reward of arm {arm!r} is outstanding{rest}.")
        self.expect_no_more(arm, place)
        self._decided(arm)

    def _decided(self, arm: Hashable) -> int:
        """When the decision was made of which a reward came, or will never come."""
        if self.fading is not None:
            self.fading.came(arm)
        return self.noticing.came(arm)

    def close(self, number: int, reward: float | None) -> int:
        """The reward of a decision came, or will never come, None: when that was decided."""
        arm = self.tickets.open[number]
        self.tickets.settle(number, reward)
        self.expect_no_more(arm, self.arms.place(arm))
        if self.fading is not None:
            self.fading.came_by_id(number)
        return self.noticing.came_by_id(number)

    def repeated(self, number: int, reward: float | None) -> Literal["duplicate", "settled"]:
        """The answer to a reward, or to None, a cancellation, for a decision that is settled."""
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

    def change(self, arms: Arms, pending: Floats, family: Family) -> None:
        """Other arms than before."""
        old = {name: k for k, name in enumerate(self.arms.names)}
        self.noticing.change_arms(family, [old.get(name) for name in arms.names])
        self.arms, self.pending, self.total = arms, pending, int(pending.sum())
        self._kept = None

    def restore(self, pending: Any, decisions: Any, noticing: Any, fading: Any) -> None:
        """Go back to what was saved."""
        self.noticing.restore(noticing)
        if self.fading is not None and fading is not None:
            self.fading.restore(fading)
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


REMEMBERED = 10_000  # settled decisions whose rewards are remembered


class Decision(NamedTuple):
    """A decision with an id, from `Bandit.ask(ids=True)`.

    Attributes
    ----------
        id: a number, different for each decision of a bandit.
        arm: the arm to pull.
        probability: that of this arm, at that moment, under the floor and what was excluded; None
            where the policy draws by odds that it does not know, for it would have to be estimated
            (`Bandit.probabilities`).
    """

    id: int
    arm: Any
    probability: float | None


class Tickets:
    """The open decisions, and how the last ones ended.

    An open decision is kept until it is told or cancelled. Of those that are settled, the last
    10,000 are kept with their rewards; of older ones it is known that they are settled, no more.
    """

    def __init__(self) -> None:
        self.next = 0
        self.open: dict[int, Hashable] = {}
        self.named: Counter[Hashable] = Counter()  # how many of each arm are open
        self._ended: OrderedDict[int, float | None] = OrderedDict()  # None: cancelled

    def issue(self, name: Hashable, probability: float | None = None) -> Decision:
        """A decision for an arm, with a new id."""
        number = self.next
        self.next += 1
        self.open[number] = name
        self.named[name] += 1
        return Decision(number, name, probability)

    def checked(self, number: Any) -> int:
        """An id that was handed out."""
        if not is_whole(number):
            raise ArmatureError(f"the id of a decision is a whole number; got {number!r}.")
        if not 0 <= number < self.next:
            raise ArmatureError(f"there is no decision {number}: {self.next} were handed out.")
        return int(number)

    def is_remembered(self, number: int) -> bool:
        """True if it is known how a settled decision ended."""
        return number in self._ended

    def reward_of(self, number: int) -> float | None:
        """The reward of a settled decision; None if it was cancelled."""
        return self._ended[number]

    def withdraw(self, first: int) -> None:
        """Take back the decisions from this id on, which were not handed out."""
        for number in range(first, self.next):
            self._close(number)
        self.next = first

    def settle(self, number: int, reward: float | None) -> None:
        """Close an open decision."""
        self._close(number)
        self._ended[number] = reward
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def _close(self, number: int) -> None:
        name = self.open.pop(number)
        self.named[name] -= 1
        if not self.named[name]:
            del self.named[name]

    def saved(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "next": self.next,
            "open": [[number, encoded(name)] for number, name in self.open.items()],
            "ended": [[number, reward] for number, reward in self._ended.items()],
        }

    @classmethod
    def restored(cls, saved: Any) -> Tickets:
        """Tickets that were saved."""
        tickets = cls()
        handed, open_, ended = fields.table(saved, "decisions", ("next", "open", "ended"))
        tickets.next = fields.whole(handed, "decisions.next")
        for number, name in fields.rows(open_, "decisions.open", 2):
            number = fields.whole(number, "decisions.open", tickets.next - 1)
            tickets.open[number] = fields.label(name, "decisions.open")
        for number, reward in fields.rows(ended, "decisions.ended", 2):
            number = fields.whole(number, "decisions.ended", tickets.next - 1)
            told = None if reward is None else fields.number(reward, "decisions.ended", LARGEST)
            tickets._ended[number] = told
        tickets.named = Counter(tickets.open.values())
        if len({*tickets.open, *tickets._ended}) != len(open_) + len(ended):
            raise fields.wrong("decisions", "different from each other", saved)
        return tickets
