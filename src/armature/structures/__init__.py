"""Structures: what is known about the means, and the nearest mean vectors that agree with it."""

from armature.structures._records import Cell, Fit
from armature.structures._structure import CompiledStructure, Structure
from armature.structures.categorised import Categorised
from armature.structures.concave import Concave
from armature.structures.linear import Linear
from armature.structures.lipschitz import Lipschitz
from armature.structures.polyhedral import Polyhedral, PolyhedralStructure
from armature.structures.simplex import Simplex
from armature.structures.sparse import Sparse
from armature.structures.unconstrained import Unconstrained
from armature.structures.unimodal import Unimodal

__all__ = [
    "Categorised",
    "Cell",
    "CompiledStructure",
    "Concave",
    "Fit",
    "Linear",
    "Lipschitz",
    "Polyhedral",
    "PolyhedralStructure",
    "Simplex",
    "Sparse",
    "Structure",
    "Unconstrained",
    "Unimodal",
]
