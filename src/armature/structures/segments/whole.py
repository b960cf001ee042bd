"""What policies ask about a structure that, in a row of a table, is about all other rows, too."""

from __future__ import annotations

import math

from armature.families.kernels import of_arm, total_learning_cost
from armature.families.record import posterior_at
from armature.kernels.addresses import Address
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream, fill_normals
from armature.structures.oracles.model import Model, is_row, projection
from armature.structures.segments.joint import for_cells, joint_of


@kernel
def project_sample(model: Model, sample: Floats, w: Floats, stream: Stream, lam: Floats) -> float:
    """lam = the projection of a sample of all arms' means, with weights w; its cost.

    In a table the cells of the other segments are sampled, too, and all are projected together.
    """
    if not is_row(model):
        return projection(model, sample, w, lam)
    table = joint_of(model.shape.real, model.shape.integer)
    draw_cells(model, stream)
    table.sampled[0] = 1.0
    cost = projection(model, sample, w, lam)
    table.sampled[0] = 0.0
    return cost


@kernel
def draw_cells(model: Model, stream: Stream) -> None:
    """A posterior sample of the mean of each cell that has rewards, into the table's ledger."""
    table = joint_of(model.shape.real, model.shape.integer)
    family = model.family
    if not family.alike:
        family = for_cells(family, table.arms)
    sample = table.sample
    if family.gaussian:
        fill_normals(stream, sample)
    for cell in range(sample.size):  # those before it are drawn
        own = of_arm(family, cell)
        n = table.w[cell]
        if n == 0.0:
            sample[cell] = table.mu[cell]
        elif family.gaussian:
            spread = math.sqrt(own.parameter) / math.sqrt(n)
            sample[cell] = table.mu[cell] + spread * sample[cell]
        else:
            total = table.sums[cell] - n * family.shift
            posterior = posterior_at(family.posterior)
            sample[cell] = family.shift + posterior(own.parameter, n, total, stream)


@kernel
def is_coupled(model: Model) -> bool:
    """Whether the other segments count."""
    if not is_row(model):
        return False
    return bool(joint_of(model.shape.real, model.shape.integer).alone[0] == 0)


@kernel
def leave_alone(model: Model, alone: bool) -> None:
    """Whether, from now on, only the rewards of the own segment count, where there are others."""
    if is_row(model):
        joint_of(model.shape.real, model.shape.integer).alone[0] = 1 if alone else 0


@kernel
def n_judged(model: Model, K: int) -> int:
    """How many arms the cost of a projection is about: K, or all cells."""
    if not is_coupled(model):
        return K
    return int(joint_of(model.shape.real, model.shape.integer).mu.size)


@kernel
def learning_of(model: Model, address: Address, pulls: Floats, sums: Floats) -> float:
    """What it costs not to know the means that the cost of a projection is about."""
    if not is_coupled(model):
        return total_learning_cost(address, model.family, pulls, sums)
    table = joint_of(model.shape.real, model.shape.integer)
    family = model.family
    if not family.alike:
        family = for_cells(family, table.arms)
    return total_learning_cost(address, family, table.w, table.sums)
