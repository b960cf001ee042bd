"""When the decisions were made of which a reward is still to come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from armature.storage import fields
from armature.storage.tagged_json import encoded

When = TypeVar("When", int, float)  # the number of a decision, or a time


class Awaited(Generic[When]):
    """By arm, the oldest first; of decisions with an id, by id."""

    def __init__(self) -> None:
        self.waiting: dict[Hashable, deque[When]] = {}
        self.open: dict[int, When] = {}

    def expect(self, name: Hashable, id: int | None, when: When) -> None:
        """A decision was made of which a reward will come."""
        if id is not None:
            self.open[id] = when
        elif name in self.waiting:
            self.waiting[name].append(when)
        else:
            self.waiting[name] = deque([when])

    def came(self, name: Hashable, unknown: When) -> When:
        """The reward of an arm is there, or will never come: when that was decided, if known."""
        line = self.waiting.get(name)
        if line is None:
            return unknown
        when = line.popleft()
        if not line:
            del self.waiting[name]
        return when

    def came_by_id(self, id: int, unknown: When) -> When:
        """The same of a decision with an id."""
        return self.open.pop(id, unknown)

    def moment(self) -> Any:
        """All that is awaited, to come back to."""
        return {name: deque(line) for name, line in self.waiting.items()}, dict(self.open)

    def return_to(self, moment: Any) -> None:
        """Go back to such a moment."""
        self.waiting, self.open = moment

    def saved(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "waiting": [[encoded(name), list(line)] for name, line in self.waiting.items()],
            "open": [[id, when] for id, when in self.open.items()],
        }

    def restore(
        self, waiting: Any, open_: Any, name: str, checked: Callable[[Any, str], When]
    ) -> None:
        """Go back to what was saved; `checked` refuses what is no time."""
        self.waiting = {
            fields.label(arm, f"{name}.waiting"): deque(
                checked(one, f"{name}.waiting") for one in line
            )
            for arm, line in fields.rows(waiting, f"{name}.waiting", 2)
            if isinstance(line, list)
        }
        self.open = {
            fields.whole(id, f"{name}.open"): checked(when, f"{name}.open")
            for id, when in fields.rows(open_, f"{name}.open", 2)
        }
