"""A bandit problem: a structure, means that are in it (or not), and a reward family."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError, check_kind
from armature.families import Family, Gaussian
from armature.kernels.numbers import check_flag, check_mean
from armature.structures import Structure
from armature.structures.structure import check_is_structure
from armature.words import Card, Shown, best_first, row_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Instance(Shown):
    """Means that are in a structure, with a unique best arm.

    With `strict=False` the means may lie outside of the structure: it is what a policy is told, and
    wrong. That is for studying what a wrong structure costs; there is no lower bound then.

    >>> from armature.structures import Unimodal
    >>> instance = Instance(Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
    >>> instance.best_arm, instance.gaps.round(3).tolist()
    (2, [0.7, 0.5, 0.0, 0.2, 0.8])
    >>> Instance(Unimodal(3), [0.9, 0.1, 0.5], strict=False).fits
    False

    Paper: Section 1.1, instance; Assumption 5.
    """

    structure: Structure
    means: Floats
    family: Family
    strict: bool

    def __init__(
        self,
        structure: Structure,
        means: npt.ArrayLike,
        family: Family | None = None,
        strict: bool = True,
    ) -> None:
        family = Gaussian() if family is None else family
        check_is_structure(structure)
        check_kind(family, Family, "family", "Gaussian()")
        check_flag(strict, "strict")
        structure.checked_family(family)
        family.check_known()
        vector = family.checked(structure.checked_vector(means, "means"))
        check_mean(vector, family.domain, "means")
        violation = structure.violation_of(vector)
        if strict and violation is not None:
            raise ArmatureError(
                f"the means are not in {type(structure).__name__}: {violation}. To study a "
                "structure that is wrong, say strict=False."
            )
        best = np.flatnonzero(vector == vector.max())
        if best.size > 1:
            raise ArmatureError(
                f"arms {', '.join(map(str, best))} are all best, with mean {vector.max():g}: "
                "an instance needs a unique best arm."
            )
        vector.setflags(write=False)
        object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "means", vector)
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "strict", bool(strict))

    def card(self) -> Card:
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
        """Whether the means are in the structure: always, unless `strict` is False."""
        return self.violation is None

    @property
    def violation(self) -> str | None:
        """What of the structure the means break; None where they fit."""
        return None if self.strict else self.structure.violation_of(self.means)

    @functools.cached_property
    def best_arm(self) -> int:
        """The arm with the highest mean."""
        return int(self.means.argmax())

    @property
    def gaps(self) -> Floats:
        """How much worse than the best each arm is."""
        return np.asarray(self.means.max() - self.means)
