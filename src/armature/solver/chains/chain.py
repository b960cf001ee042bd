"""What a chain is: neighbours along a line that hold each other.

    lo_i + down_i lam_i <= lam_{i+1} <= hi_i + up_i lam_i,    low_i <= lam_i <= high_i

with the arms in the order of the line, and positive factors `down` and `up`. Where differences
alone are bounded, all factors are 1: such a chain is *even*, and stores none.
"""

from __future__ import annotations

from typing import NamedTuple

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel


class Chain(NamedTuple):
    """The arms in the order of the line, and what bounds them; `factor` reads `down` and `up`."""

    order: Ints
    lo: Floats  # (K - 1,)
    hi: Floats  # (K - 1,)
    low: Floats  # (K,), along the line
    high: Floats
    down: Floats  # (K - 1,), or none
    up: Floats
    floor: Floats  # (K,), or none: it says all that is known of means that are all above this


@inlined
def factor(factors: Floats, i: int) -> float:
    """How fast the bound of arm i + 1 rises with arm i."""
    return 1.0 if factors.size == 0 else float(factors[i])


@inlined
def least_after(chain: Chain, i: int, y: float) -> float:
    """The least mean of arm i + 1 where arm i has the mean y."""
    if chain.down.size == 0:
        return y + float(chain.lo[i])
    return y * float(chain.down[i]) + float(chain.lo[i])


@inlined
def most_after(chain: Chain, i: int, y: float) -> float:
    """The greatest."""
    if chain.up.size == 0:
        return y + float(chain.hi[i])
    return y * float(chain.up[i]) + float(chain.hi[i])


@inlined
def least_before(chain: Chain, i: int, y: float) -> float:
    """The least mean of arm i where arm i + 1 has the mean y."""
    if chain.up.size == 0:
        return y - float(chain.hi[i])
    return (y - float(chain.hi[i])) / float(chain.up[i])


@inlined
def most_before(chain: Chain, i: int, y: float) -> float:
    """The greatest."""
    if chain.down.size == 0:
        return y - float(chain.lo[i])
    return (y - float(chain.lo[i])) / float(chain.down[i])


@kernel
def corner(chain: Chain, i: int) -> tuple[float, float, bool, bool]:
    """Where the two bounds of arm i + 1 meet: the means of i and i + 1 there.

    Whether means have to be above these, and whether they have to be below; neither if the bounds
    are parallel.
    """
    if chain.up.size == 0 or chain.up[i] == chain.down[i]:
        return 0.0, 0.0, False, False
    if chain.hi[i] - chain.lo[i] == float("inf"):
        return 0.0, 0.0, False, False
    at = (chain.lo[i] - chain.hi[i]) / (chain.up[i] - chain.down[i])
    return at, chain.hi[i] + chain.up[i] * at, chain.up[i] > chain.down[i], True


@kernel
def write_bounds(chain: Chain, low: Floats, high: Floats, least: Floats, most: Floats) -> None:
    """least, most = the bounds of single means along the line, with `low` and `high` of the arms.

    What the two bounds of a neighbour say of an arm is among them.
    """
    for i in range(chain.order.size):
        k = chain.order[i]
        least[i] = max(chain.low[i], low[k])
        most[i] = min(chain.high[i], high[k])
    for i in range(chain.up.size):
        here, after, is_above, is_met = corner(chain, i)
        if is_above:
            least[i] = max(least[i], here)
            least[i + 1] = max(least[i + 1], after)
        elif is_met:
            most[i] = min(most[i], here)
            most[i + 1] = min(most[i + 1], after)


@kernel
def is_said(chain: Chain, lam: Floats) -> bool:
    """Whether a chain says all that is known of means, which are in the order of the arms."""
    for i in range(chain.floor.size):
        if lam[chain.order[i]] < chain.floor[i]:
            return False
    return True
