"""What a structure's answers are compared with: its declaration, and ties that nothing breaks.

A tie of arms that no mean vector of a structure breaks is no alternative.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family
from armature.structures import Piece, Structure


class Declared(Structure):
    """A structure that has nothing of another but its declaration: everything is derived."""

    def __init__(self, structure: Structure) -> None:
        self.structure, self.n_arms = structure, structure.n_arms
        self.challenge = "top" if structure.reads_by_top else "order"

    def pieces(self) -> Iterable[Piece]:
        return self.structure.pieces()


@functools.lru_cache(maxsize=8)
def declaration_of(structure: Structure) -> Declared | None:
    """What is derived from a structure's pieces, or None where it declares none."""
    try:
        structure.pieces()
    except ArmatureError:
        return None
    return Declared(structure)


Floats = npt.NDArray[np.float64]
NEAR = 1e-3  # how far from a tie others are looked for, in units of the largest mean (1 at least)
AHEAD = 1e-9  # how much better an arm is, likewise, for it to be no rounding


def has_another_best(structure: Structure, family: Family, lam: Floats, best: int) -> bool:
    """Whether mean vectors of M, as near to lam as one likes, have another best arm.

    At lam itself another arm may be as good as `best` and no better. Then, for each such arm k,
    lam + s (e_k - e_best) is projected onto M, for a small s. Where M is a union of polyhedra, it
    looks near lam as the directions u in which one can go from there. Let v be the nearest of these
    to s (e_k - e_best): then s (v_k - v_best) is |v|^2, as with v all its multiples are directions.
    It is positive if and only if some direction has u_k > u_best, which is what is asked.
    """
    size = max(1.0, float(np.abs(lam).max()))
    others = np.flatnonzero(np.arange(lam.size) != best)
    if lam[others].max() > lam[best] + AHEAD * size:
        return True
    step = NEAR * size
    if not _is_even_there(family, lam, 2.0 * step):
        return True  # the projection says nothing
    for k in others[lam[others] >= lam[best] - AHEAD * size]:
        moved = lam.copy()
        moved[k] += step
        moved[best] -= step
        fit = structure.project(moved, np.ones(lam.size), family)
        if fit.cost < np.inf and fit.means[k] > fit.means[best] + AHEAD * size:
            return True
    return False


def _is_even_there(family: Family, lam: Floats, margin: float) -> bool:
    """Whether small moves of equal means cost the same: of arms that are alike, off all ends."""
    low, high = family.domain_ends
    return bool(family.alike and ((lam > low + margin) & (lam < high - margin)).all())
