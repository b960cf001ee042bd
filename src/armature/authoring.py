"""Everything that authors of structures, policies and families need, in one place.

    from armature.authoring import Floats, History, Model, Stream, kernel, next_unit

Array types; the `@kernel` decorator; the records that kernels are given; the small kernels that
most of them call. `docs/extending.md` has an example of each kind.
"""

from armature.families import FamilyRecord, Formulas
from armature.families.kernels import (
    curvature,
    divergence,
    draw_means,
    lower,
    of_arm,
    slope,
    total_divergence,
    upper,
    variance,
    weighted_divergence,
)
from armature.families.special_functions import excess
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import (
    Source,
    Stream,
    fill_normals,
    more_units,
    next_gamma,
    next_unit,
    next_units,
    normal_quantile,
)
from armature.kernels.vectors import copy, fill, largest
from armature.policies import Belief, History, Problem
from armature.policies.records import argmax, mark_exploration
from armature.structures import Cell, Fit, Piece
from armature.structures.oracles.model import (
    Model,
    challenger_costs,
    highest_means,
    list_cells,
    nearest_alternative,
    nearest_challenger,
    nearest_in_cell,
    nearest_with,
    nearest_with_best,
    projection,
)
from armature.structures.oracles.records import Oracle, OracleProblem, Shape, Work

__all__ = [
    "Belief",
    "Cell",
    "FamilyRecord",
    "Fit",
    "Floats",
    "Formulas",
    "History",
    "Ints",
    "Model",
    "Oracle",
    "OracleProblem",
    "Piece",
    "Problem",
    "Shape",
    "Source",
    "Stream",
    "Work",
    "argmax",
    "challenger_costs",
    "copy",
    "curvature",
    "divergence",
    "draw_means",
    "excess",
    "fill",
    "fill_normals",
    "highest_means",
    "inlined",
    "kernel",
    "largest",
    "list_cells",
    "lower",
    "mark_exploration",
    "more_units",
    "nearest_alternative",
    "nearest_challenger",
    "nearest_in_cell",
    "nearest_with",
    "nearest_with_best",
    "next_gamma",
    "next_unit",
    "next_units",
    "normal_quantile",
    "of_arm",
    "projection",
    "slope",
    "total_divergence",
    "upper",
    "variance",
    "weighted_divergence",
]
