"""The learning costs of all arms (`armature.families.mixtures`), for compiled code."""

from __future__ import annotations

from armature.errors import ArmatureError
from armature.families.family import Family
from armature.families.formulas import of_two_means, signatures
from armature.families.kernels import of_arm
from armature.families.record import FamilyRecord
from armature.kernels.addresses import address_of, is_compiling
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel


def learning_address(family: Family) -> int:
    """Where the family's learning cost is; refused where it has none."""
    cost = type(family).learning_cost
    if cost is None or not family.has_evidence:
        raise ArmatureError(no_evidence(family))
    return address_of(cost, signatures()["divergence"] if is_compiling() else None)


def no_evidence(family: Family) -> str:
    """What to say of a family without a learning cost."""
    if family.as_told.estimated:
        return (
            "there is no evidence for or against a structure while sigma is not known: give "
            "Gaussian(sigma=...)."
        )
    return (
        f"there is no evidence for or against a structure with rewards of {family}: it needs a "
        "family that declares a `learning_cost`, all of whose parameters are known."
    )


@kernel
def total_learning_cost(address: int, family: FamilyRecord, pulls: Floats, sums: Floats) -> float:
    """What it costs not to know the arms' means: the sum of the arms' learning costs."""
    total = 0.0
    for k in range(pulls.size):
        own = of_arm(family, k)
        n = pulls[k]
        total += of_two_means(address, own.parameter, n, sums[k] - n * own.shift)
    return total
