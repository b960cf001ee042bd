"""What is derived from a structure's pieces, whatever else it has."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from armature.errors import ArmatureError
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
