"""A bandit problem: a structure, means that are in it, and a reward family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError, check_kind
from armature.families import Family, Gaussian
from armature.limits import check_mean
from armature.structures import Structure

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False)
class Instance:
    """Means that are in a structure, with a unique best arm.

    >>> from armature.structures import Unimodal
    >>> instance = Instance(Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
    >>> instance.best_arm, instance.gaps.round(3).tolist()
    (2, [0.7, 0.5, 0.0, 0.2, 0.8])
    """

    structure: Structure
    means: Floats
    family: Family

    def __init__(
        self, structure: Structure, means: npt.ArrayLike, family: Family | None = None
    ) -> None:
        family = Gaussian() if family is None else family
        check_kind(structure, Structure, "structure", "Unimodal(5)")
        check_kind(family, Family, "family", "Gaussian()")
        structure.checked_family(family)
        family.check_known()
        vector = family.checked(structure.checked_vector(means, "means"))
        check_mean(vector, family.domain, "means")
        violation = structure.violation_of(vector)
        if violation is not None:
            raise ArmatureError(f"the means are not in {type(structure).__name__}: {violation}.")
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

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.structure.n_arms

    @property
    def best_arm(self) -> int:
        """The arm with the highest mean."""
        return int(self.means.argmax())

    @property
    def gaps(self) -> Floats:
        """How much worse than the best each arm is."""
        return np.asarray(self.means.max() - self.means)
