"""How far the means of a chain can be apart, and so which arms can be better than which."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from armature.kernels.arrays import Floats
from armature.solver.chains.chain import Chain, corner

Booleans = npt.NDArray[np.bool_]
ROUNDING = 1e-12  # of the largest number: what sums may be off by


def ends_of(chain: Chain) -> tuple[Floats, Floats]:
    """Between which numbers each mean can be, along the line; some contradict if it is empty."""
    K = chain.low.size
    low, high = chain.low.tolist(), chain.high.tolist()
    lo, hi = chain.lo.tolist(), chain.hi.tolist()
    down, up = (factors.tolist() for factors in factors_of(chain))
    for i in range(chain.up.size):
        here, after, is_above, is_met = corner.py_func(chain, i)
        if is_above:
            low[i], low[i + 1] = max(low[i], here), max(low[i + 1], after)
        elif is_met:
            high[i], high[i + 1] = min(high[i], here), min(high[i + 1], after)
    for i in range(1, K):
        low[i] = max(low[i], low[i - 1] * down[i - 1] + lo[i - 1])
        high[i] = min(high[i], high[i - 1] * up[i - 1] + hi[i - 1])
    for i in range(K - 2, -1, -1):
        low[i] = max(low[i], (low[i + 1] - hi[i]) / up[i])
        high[i] = min(high[i], (high[i + 1] - lo[i]) / down[i])
    return np.array(low), np.array(high)


def factors_of(chain: Chain) -> tuple[Floats, Floats]:
    """`down` and `up`, also where all are 1."""
    ones = np.ones(chain.lo.size)
    return (chain.down, chain.up) if chain.up.size else (ones, ones)


def differences_of(chain: Chain) -> Floats:
    """`Piece.differences` of an even chain: along the line, or by two bounds of single means."""
    K = chain.low.size
    place = np.concatenate([np.argsort(chain.order), [K]])
    low, high = ends_of(chain)
    most = np.full((K + 1, K + 1), np.inf)
    falls = -chain.lo
    for i in range(K):
        most[i, i] = 0.0
        most[i + 1 : K, i] = chain.hi[i:].cumsum()  # up the line from i
        most[i, i + 1 : K] = falls[i:].cumsum()  # and how much i can be above those
    most[:K, K], most[K, :K] = high, -low
    most[K, K] = 0.0
    np.minimum(most[:K, :K], high[:, None] - low[None, :], out=most[:K, :K])
    return np.asarray(most[np.ix_(place, place)])


def is_empty(chain: Chain) -> bool:
    """Whether the ends of a mean contradict each other."""
    low, high = ends_of(chain)
    return bool((low > high + _rounding(chain, low, high)).any())


class Reach(NamedTuple):
    """What `Piece` asks of a chain that is not even."""

    is_empty: bool
    beats: Booleans
    leads: Booleans


def reach_of(chain: Chain) -> Reach | None:
    """None where it is not all that is known, and its means above the floor say something else."""
    whole = _reach(chain)
    if not chain.floor.size:
        return whole
    above = _reach(chain._replace(low=np.maximum(chain.low, chain.floor)))
    alike = (whole.beats == above.beats).all() and (whole.leads == above.leads).all()
    return whole if alike and whole.is_empty == above.is_empty else None


def _reach(chain: Chain) -> Reach:
    """Which arms can be better than which.

    For places a < b, what arm b can be where arm a has the mean z is between two lines in z, and
    its own ends. An arm leads at a z for which all others can be below it: they can be so at once.
    """
    K = chain.low.size
    down, up = factors_of(chain)
    low, high = ends_of(chain)
    slack = _rounding(chain, low, high)
    beats = np.zeros((K, K), dtype=bool)  # by place
    least = low.copy()  # arm a leads at some z above this,
    most = high.copy()  # and below that
    is_open = np.full(K, False)
    for a in range(K):
        others = np.arange(K) != a
        least[a] = max(least[a], low[others].max(initial=-np.inf))
        is_open[a] = least[a] > low[a]
    lo, hi, slow, fast = np.empty((4, 0))
    for b in range(1, K):  # lo + slow z <= lam_b <= hi + fast z, for each a before b
        lo = np.append(lo, 0.0) * down[b - 1] + chain.lo[b - 1]
        hi = np.append(hi, 0.0) * up[b - 1] + chain.hi[b - 1]
        slow, fast = np.append(slow, 1.0) * down[b - 1], np.append(fast, 1.0) * up[b - 1]
        before = low[:b], high[:b]
        beats[:b, b] = _most_above(hi, fast, *before, high[b]) > slack
        beats[b, :b] = _most_above(-lo, slow, -before[1], -before[0], -low[b]) > slack
        above, below = _ends_above(lo, 1.0 - slow)
        least[:b], most[:b] = np.maximum(least[:b], above), np.minimum(most[:b], below)
        above, below = _ends_above(-hi / fast, 1.0 - 1.0 / fast)
        least[b], most[b] = max(least[b], above.max()), min(most[b], below.min())
    leads = least + np.where(is_open, slack, 0.0) < most
    place = np.argsort(chain.order)
    leads &= beats.sum(axis=0) == K - 1
    return Reach(is_empty(chain), beats[np.ix_(place, place)], leads[place])


def _ends_above(line: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """Between which numbers z is where rate * z > line."""
    with np.errstate(divide="ignore", invalid="ignore"):
        end = line / rate
    always = (rate == 0.0) & (line < 0.0)
    least = np.where(rate > 0.0, end, np.where((rate < 0.0) | always, -np.inf, np.inf))
    return least, np.where(rate < 0.0, end, np.inf)


def _most_above(line: Floats, rate: Floats, low: Floats, high: Floats, end: float) -> Floats:
    """The largest min(line + rate z, end) - z for low <= z <= high."""
    with np.errstate(invalid="ignore"):
        meets = np.clip((end - line) / rate, low, high)  # where the line comes to the end
        z = np.where((rate > 1.0) & (line < np.inf), meets, low)
        gain = np.minimum(line + rate * z, end) - z
    gain = np.where(np.isinf(z), np.inf, gain)
    return np.where(rate == 1.0, np.minimum(line, end - low), gain)


def _rounding(chain: Chain, low: Floats, high: Floats) -> float:
    """What sums of a chain's bounds may be off by."""
    known = np.concatenate([chain.lo, chain.hi, low, high])
    return ROUNDING * float(np.abs(known[np.isfinite(known)]).max(initial=0.0))
