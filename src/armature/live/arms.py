"""The arms of a bandit by their names: labels, or numbers from 0."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.storage.tagged_json import decoded, encoded

RETIRED = -1  # the place of an arm that is no longer there


class Retired(NamedTuple):
    """What is kept of a retired arm, in case it comes back."""

    pulls: float
    sums: float
    squares: float
    pending: float


class Arms:
    """Names in the structure's order, and those of arms that are retired.

    Where there are no labels, an arm's name is its number: it keeps it when others come and go, and
    a new arm gets the next one.
    """

    def __init__(self, names: Sequence[Hashable], labelled: bool) -> None:
        self.names = list(names)
        self.labelled = labelled
        self.created = len(self.names)
        self.retired: dict[Hashable, Retired] = {}
        self._places = {name: i for i, name in enumerate(self.names)}

    @classmethod
    def of(cls, labels: Sequence[Hashable] | None, n_arms: int) -> Arms:
        """As many arms as the structure has, with labels or without."""
        if labels is None:
            return cls(range(n_arms), labelled=False)
        return cls(checked_labels(labels, n_arms), labelled=True)

    def place(self, name: Any) -> int:
        """The number of an arm in the structure; `RETIRED` for one that was there once."""
        whole = isinstance(name, (int, np.integer)) and not isinstance(name, bool)
        known = self.labelled or whole
        try:
            if known and name in self._places:
                return self._places[name]
            if known and name in self.retired:
                return RETIRED
        except TypeError:  # what can't be a label
            pass
        raise ArmatureError(f"there is no arm {name!r}: {self._which()}.")

    def live_place(self, name: Any) -> int:
        """The same for an arm that must be there."""
        place = self.place(name)
        if place == RETIRED:
            raise ArmatureError(f"the arm {name!r} is retired: {self._which()}.")
        return place

    def allowed(self, exclude: Any) -> npt.NDArray[np.bool_] | None:
        """Which arms may be chosen where some must not be; None: all."""
        if isinstance(exclude, (list, tuple)) and not exclude:
            return None
        kinds = (Sequence, set, frozenset, np.ndarray)
        if isinstance(exclude, (str, bytes)) or not isinstance(exclude, kinds):
            raise ArmatureError(f"exclude must be a list of arms; got {exclude!r}.")
        allowed = np.ones(len(self.names), dtype=np.bool_)
        for name in exclude:
            place = self.place(name)
            if place != RETIRED:
                allowed[place] = False
        if not allowed.any():
            raise ArmatureError("all arms are excluded: leave at least one to choose.")
        return None if allowed.all() else allowed

    def has(self, name: Any) -> bool:
        """Whether this is the name of an arm, retired or not."""
        try:
            return name in self._places or name in self.retired
        except TypeError:
            return False

    def with_arm(self, at: int, name: Hashable) -> Arms:
        """The arms with one more, which may have been retired before."""
        return self._changed([*self.names[:at], name, *self.names[at:]], {name: None})

    def without_arm(self, at: int, record: Retired) -> Arms:
        """The arms with one retired."""
        return self._changed([*self.names[:at], *self.names[at + 1 :]], {self.names[at]: record})

    def _changed(self, names: list[Hashable], retired: dict[Hashable, Retired | None]) -> Arms:
        changed = Arms(names, self.labelled)
        new = len(names) > len(self.names) and not any(name in self.retired for name in retired)
        changed.created = self.created + new
        left = {**self.retired, **retired}
        changed.retired = {name: record for name, record in left.items() if record is not None}
        return changed

    def new_name(self, label: Any) -> Hashable:
        """The name of a new arm: its label, or the next number."""
        if not self.labelled:
            if label is None:
                return self.created
            if self.place(label) == RETIRED:
                return int(label)
            raise ArmatureError(f"there is an arm {label!r} already: leave the label out.")
        (name,) = checked_labels([label], 1)
        if name in self._places:
            raise ArmatureError(f"the label {name!r} is there already: labels must differ.")
        check_told_apart([*self.names, *self.retired, name])
        return name

    def saved(self) -> dict[str, Any]:
        """The numbers of arms without labels, and what is retired, as plain data."""
        return {
            "numbers": None if self.labelled else self.names,
            "created": self.created,
            "retired": [[encoded(name), *record] for name, record in self.retired.items()],
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go back to what was saved; the labels are there already."""
        numbers = saved["numbers"]
        names: list[Hashable] = self.names if numbers is None else [*map(int, numbers)]
        if len(names) != len(self.names) or len(set(names)) != len(names):
            raise ArmatureError("the saved bandit's arms are not those of its structure.")
        self.names, self._places = names, {name: i for i, name in enumerate(names)}
        self.created = int(saved["created"])
        self.retired = {
            decoded(name): Retired(*map(float, record)) for name, *record in saved["retired"]
        }

    def _which(self) -> str:
        if not self.labelled and self.names == list(range(len(self.names))):
            return f"arms are whole numbers from 0 to {len(self.names) - 1}"
        return f"the arms are {', '.join(map(repr, self.names))}"


def checked_labels(labels: Sequence[Hashable], n_arms: int) -> list[Hashable]:
    """One label for each arm, all different, as they will be after they were saved."""
    if isinstance(labels, (set, frozenset)) or not isinstance(labels, Iterable):
        raise ArmatureError(f"labels must be a list with one for each arm; got {labels!r}.")
    names = [plain_label(label) for label in labels]
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
    check_told_apart(names)
    return names


def check_told_apart(names: Sequence[Hashable]) -> None:
    """Refuse labels of several kinds, and those that look the same where they are printed.

    In a table that is a file there is one column of them, and "1", 1 and "1.0" would be one arm.
    """
    kinds: dict[str, Hashable] = {}
    for name in names:
        number = isinstance(name, (int, float)) and not isinstance(name, bool)
        kinds.setdefault("number" if number else type(name).__name__, name)
    if len(kinds) > 1:
        first, second, *_ = kinds.values()
        raise ArmatureError(
            f"the labels {first!r} and {second!r} are of different types: use only texts, or only "
            "numbers."
        )
    printed = {str(name): name for name in names}
    for name in names:
        if printed[str(name)] != name:
            raise ArmatureError(
                f"two labels are printed as {str(name)!r}: they must look different."
            )


def plain_label(label: Any) -> Any:
    """NumPy's numbers and strings as Python's, so that a label is the same after it was saved."""
    if isinstance(label, tuple) and type(label) is tuple:
        return tuple(plain_label(part) for part in label)
    return label.item() if isinstance(label, (np.number, np.bool_, np.str_)) else label
