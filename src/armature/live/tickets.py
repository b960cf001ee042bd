"""Decisions by their ids, so that a reward that comes twice is counted once."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

from armature.errors import ArmatureError
from armature.kernels.numbers import LARGEST, is_whole
from armature.storage import fields
from armature.storage.tagged_json import encoded

REMEMBERED = 10_000  # settled decisions whose rewards are remembered


class Decision(NamedTuple):
    """What `Bandit.ask(ids=True)` hands out.

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
    """Which decisions are open, and how the last ones ended.

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
        """Whether it is known how a settled decision ended."""
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
        """What was saved."""
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
