"""Structures: what is known about the means, and the nearest mean vectors that agree with it."""

from armature.structures.box import Box
from armature.structures.categorised import Categorised
from armature.structures.composition import Intersection, Relabelled, Union
from armature.structures.concave import Concave
from armature.structures.demand import Demand
from armature.structures.finite import Finite
from armature.structures.linear import Linear
from armature.structures.lipschitz import Lipschitz
from armature.structures.monotone import Monotone
from armature.structures.multimodal import Multimodal, MultimodalTree
from armature.structures.oracles.records import Cell, Fit
from armature.structures.piece import Piece
from armature.structures.polyhedral import Polyhedral
from armature.structures.segments.couplings import (
    Additive,
    Alike,
    Coupling,
    Ordered,
    SameBest,
    Several,
)
from armature.structures.segments.grid import Grid
from armature.structures.segments.segments import Segments
from armature.structures.simplex import Simplex
from armature.structures.sparse import Sparse
from armature.structures.structure import Structure
from armature.structures.unconstrained import Unconstrained
from armature.structures.unimodal import Unimodal, UnimodalTree

__all__ = [
    "Additive",
    "Alike",
    "Box",
    "Categorised",
    "Cell",
    "Concave",
    "Coupling",
    "Demand",
    "Finite",
    "Fit",
    "Grid",
    "Intersection",
    "Linear",
    "Lipschitz",
    "Monotone",
    "Multimodal",
    "MultimodalTree",
    "Ordered",
    "Piece",
    "Polyhedral",
    "Relabelled",
    "SameBest",
    "Segments",
    "Several",
    "Simplex",
    "Sparse",
    "Structure",
    "Unconstrained",
    "Unimodal",
    "UnimodalTree",
    "Union",
]
