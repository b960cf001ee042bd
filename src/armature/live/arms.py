"""The arms of a bandit by their names: labels, or numbers from 0."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.checks import LARGEST, MOST_COUNTED, is_several, is_whole
from armature.policies import History
from armature.storage import fields
from armature.storage.tagged_json import decoded, encoded

RETIRED = -1  # the place of an arm that is no longer there


class Retired(NamedTuple):
    """The rewards of a retired arm, in case it comes back."""

    pulls: float
    sums: float
    squares: float
    pending: float
    scale: float | None = None  # the larger of the two rewards that it had; None: it had any

    @classmethod
    def of(cls, at: int, history: History, family: Family, pending: float) -> Retired:
        """An arm as it is now."""
        support = family.for_arm(at).support
        return cls(
            pulls=float(history.pulls[at]),
            sums=float(history.sums[at]),
            squares=float(history.squares[at]),
            pending=pending,
            scale=support.high if support.ends else None,
        )

    @classmethod
    def restored(cls, saved: list[Any]) -> Retired:
        """A record that was saved; earlier releases kept no scale."""
        columns, scale = saved[:4], saved[4] if len(saved) > 4 else None
        most = LARGEST * MOST_COUNTED
        pulls, sums, squares, pending = (
            fields.number(value, "arms.retired", high, low)
            for value, high, low in zip(
                columns,
                (MOST_COUNTED, most, most * LARGEST, MOST_COUNTED),
                (0, -most, -1, 0),
                strict=True,
            )
        )
        return cls(
            pulls,
            sums,
            squares,
            pending,
            None if scale is None else fields.number(scale, "arms.retired", LARGEST, 0.0),
        )

    def check_rewards(self, name: Hashable, family: Family) -> None:
        """Refuse to let it come back as an arm that can't have had its rewards."""
        some = self.pulls + self.pending > 0.0
        if some and self.scale is not None and family.support.high != self.scale:
            raise ArmatureError(
                f"the arm {name!r} was retired when its rewards were 0 or {self.scale:g}, and "
                f"comes back with them: say scale={self.scale!r}, or give an arm with rewards in "
                f"{family.support} another label."
            )


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
        names = checked_labels(labels, n_arms)
        check_told_apart(names)
        return cls(names, labelled=True)

    def place(self, name: Any) -> int:
        """The number of an arm in the structure; `RETIRED` for one that was there once."""
        known = self.labelled or is_whole(name)
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
        """The arms that may be chosen, with some excluded; None: all."""
        if isinstance(exclude, (list, tuple)) and not exclude:
            return None
        kinds = (Sequence, set, frozenset, np.ndarray)
        if not (isinstance(exclude, kinds) and is_several(exclude)):
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
        """True if this is the name of an arm, retired or not."""
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

    def restore(self, labels: Any, saved: Any) -> None:
        """Go back to what was saved; releases before took labels of several types."""
        self.labelled = labels is not None
        if self.labelled:
            self.names = checked_labels(decoded(labels), len(self.names))
        numbers, created, retired = fields.table(saved, "arms", ("numbers", "created", "retired"))
        self.created = fields.whole(created, "arms.created", least=len(self.names))
        last = self.created - 1
        if not self.labelled:
            self.names = list(fields.wholes(numbers, "arms.numbers", len(self.names), last))
        elif numbers is not None:
            raise fields.wrong("arms.numbers", "null, as its arms have labels", numbers)
        self._places = {name: i for i, name in enumerate(self.names)}
        self.retired = {}
        for name, *record in fields.rows(retired, "arms.retired", 5, 6):
            label = fields.label(name, "arms.retired")
            if not self.labelled:
                fields.whole(label, "arms.retired", last)
            self.retired[label] = Retired.restored(record)
        every = {*self.names, *self.retired}
        if len(every) != len(self.names) + len(retired):
            raise fields.wrong("arms", "different from each other", saved)

    def _which(self) -> str:
        if not self.labelled and self.names == list(range(len(self.names))):
            return f"arms are whole numbers from 0 to {len(self.names) - 1}"
        return f"the arms are {', '.join(map(repr, self.names))}"


def checked_labels(labels: Sequence[Hashable], n_arms: int) -> list[Hashable]:
    """One label for each arm, all different, as they will be after they were saved."""
    if isinstance(labels, (set, frozenset)) or not (is_several(labels) or isinstance(labels, str)):
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
            raise ArmatureError(
                f"labels[{i}] = {name!r} can't be a label: NaN differs from itself."
            )
    if len(set(names)) != n_arms:
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ArmatureError(f"the label {twice!r} is there twice: labels must differ.")
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
