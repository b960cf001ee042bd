"""A bandit problem: a structure, means that are in it (or not), and a reward family."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError, short
from armature.families import Family, Gaussian
from armature.kernels.checks import as_array, check_flag, check_kind, check_mean
from armature.structures import Segments, Structure
from armature.structures.declared import check_is_structure
from armature.words import Card, Shown, best_first, row_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Instance(Shown):
    """Means that are in a structure, with a unique best arm.

    With `strict=False` the means may lie outside of the structure: it is what a policy is told, and
    wrong. That is for studying what a wrong structure costs; there is no lower bound then.

    In a table of `Segments`, means and gaps have a row for each segment, and each has its own best
    arm; `frequencies` say how often segments arrive (equally often, unless told).

    >>> from armature.structures import Unimodal
    >>> instance = Instance(Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
    >>> instance.best_arm, instance.gaps.round(3).tolist()
    (2, [0.7, 0.5, 0.0, 0.2, 0.8])
    >>> Instance(Unimodal(3), [0.9, 0.1, 0.5], strict=False).fits
    False
    >>> from armature.structures import Segments, Unconstrained
    >>> table = Segments(["day", "night"], each=Unconstrained(2))
    >>> Instance(table, [[0.9, 0.1], [0.2, 0.5]], frequencies=[0.7, 0.3]).best_arms
    (0, 1)

    Paper: Section 1.1, instance; Assumption 5.
    """

    structure: Structure
    means: Floats
    family: Family
    strict: bool
    frequencies: Floats  # of the segments; of one, where there are none

    def __init__(
        self,
        structure: Structure,
        means: npt.ArrayLike,
        family: Family | None = None,
        strict: bool = True,
        *,
        frequencies: npt.ArrayLike | None = None,
    ) -> None:
        family = Gaussian() if family is None else family
        check_is_structure(structure)
        check_kind(family, Family, "family", "Gaussian()")
        check_flag(strict, "strict")
        structure.checked_family(family)
        family.check_known()
        of_cells = structure.family_of_cells(family)
        vector = of_cells.checked(structure.checked_vector(means, "means"))
        check_mean(vector, family.domain, "means")
        violation = structure.violation_of(vector)
        if strict and violation is not None:
            raise ArmatureError(
                f"the means are not in {type(structure).__name__}: {violation}. To study a "
                "structure that is wrong, say strict=False."
            )
        for c, (start, stop) in enumerate(structure.segments):
            row = vector[start:stop]
            best = np.flatnonzero(row == row.max())
            if best.size > 1:
                where = f" of segment {structure.segment_names[c]!r}" if structure.is_table else ""
                raise ArmatureError(
                    f"arms {', '.join(map(str, best))}{where} are all best, with mean "
                    f"{row.max():g}: an instance needs a unique best arm."
                )
        if structure.is_table:
            vector = vector.reshape(len(structure.segments), -1)
        vector.setflags(write=False)
        shares = _checked_frequencies(frequencies, structure)
        object.__setattr__(self, "frequencies", shares)
        object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "means", vector)
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "strict", bool(strict))

    def card(self) -> Card:
        if self.structure.is_table:
            return self._table_card()
        ranked = best_first(self.means.tolist())
        return Card(
            f"Instance: {self.structure!r}, {self.family!r}",
            ("arm", "mean", "gap"),
            tuple(row_of(k, self.means[k], self.gaps[k]) for k in ranked),
            "" if self.fits else f"The means are not in the structure: {self.violation}.",
        )

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.structure.n_arms

    @property
    def fits(self) -> bool:
        """True if the means are in the structure: always, unless `strict` is False."""
        return self.violation is None

    @property
    def violation(self) -> str | None:
        """The part of the structure that the means break; None where they fit."""
        return None if self.strict else self.structure.violation_of(self.means)

    @property
    def cells(self) -> Floats:
        """The means in one row: of a table, one segment after the other."""
        return self.means.reshape(-1)

    @property
    def family_of_cells(self) -> Family:
        """The reward family of these: of a table, that of each segment."""
        return self.structure.family_of_cells(self.family)

    @property
    def frequencies_of_table(self) -> dict[str, list[float]]:
        """The frequencies as they are written: nothing, where there are no segments."""
        return {"frequencies": self.frequencies.tolist()} if self.structure.is_table else {}

    @functools.cached_property
    def best_arm(self) -> int:
        """The arm with the highest mean."""
        if self.structure.is_table:
            raise ArmatureError("each segment has a best arm of its own: see best_arms.")
        return int(self.means.argmax())

    @functools.cached_property
    def best_arms(self) -> tuple[int, ...]:
        """The best arm of each segment; of one, where there are none."""
        return tuple(int(self.cells[a:b].argmax()) for a, b in self.structure.segments)

    @property
    def gaps(self) -> Floats:
        """The gap of each arm to the best one (of its segment)."""
        return np.asarray(self.means.max(axis=-1, keepdims=True) - self.means)

    @property
    def one_by_one(self) -> tuple[Instance, ...]:
        """The instance of each segment by itself; itself, where there are none."""
        table = self.structure
        if not isinstance(table, Segments):
            return (self,)
        return tuple(
            Instance(row, means, table.family_of(self.family, c), self.strict)
            for c, (row, means) in enumerate(zip(table.rows, self.means, strict=True))
        )

    def _table_card(self) -> Card:
        S, K = self.means.shape
        return Card(
            f"Instance: {self.structure!r}, {self.family!r}",
            ("segment", "frequency", *(f"arm {k}" for k in range(K))),
            tuple(
                row_of(name, self.frequencies[c], *self.means[c])
                for c, name in zip(range(S), self.structure.segment_names, strict=True)
            ),
            "" if self.fits else f"The means are not in the structure: {self.violation}.",
        )


def _checked_frequencies(frequencies: npt.ArrayLike | None, structure: Structure) -> Floats:
    """The checked frequencies of segments: positive numbers that add up to 1."""
    S = len(structure.segments)
    if frequencies is None:
        return np.full(S, 1.0 / S)
    if not structure.is_table:
        raise ArmatureError(
            "frequencies are of the segments of a table: say Segments(names, each=...)."
        )
    shares = np.array(as_array(frequencies, "frequencies"))
    if shares.shape != (S,) or not np.isfinite(shares).all():
        raise ArmatureError(
            f"frequencies must be {S} numbers, one for each segment; got {short(frequencies)}."
        )
    if (shares <= 0.0).any() or abs(shares.sum() - 1.0) > 1e-9:
        raise ArmatureError(
            f"frequencies must be {S} positive numbers that add up to 1, one for each segment; got "
            f"{shares.tolist()}."
        )
    shares.setflags(write=False)
    return shares
