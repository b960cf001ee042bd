"""LinUCB (Auer, 2002; Li, Chu, Langford and Schapire, 2010)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.families import Bernoulli, Family, Gaussian
from armature.families.kernels import GAUSSIAN
from armature.policies._options import check_number
from armature.policies._policy import CompiledPolicy
from armature.policies._records import History, argmax
from armature.streams import Stream
from armature.structures import Linear, Structure
from armature.structures._records import Floats
from armature.structures.model import Model


class LinUCBState(NamedTuple):
    """The features, and room for least squares."""

    features: Floats  # (K, d)
    gram: Floats  # (d, d): ridge + sum N x x', then its Cholesky factor
    theta: Floats  # (d,)
    half: Floats  # (d,)
    bounds: Floats  # (K,)
    width: float
    ridge: float


@kernel
def factor(gram: Floats) -> None:
    """The Cholesky factor, in place, in the lower triangle."""
    d = gram.shape[0]
    for a in range(d):
        for b in range(a + 1):
            total = gram[a, b]
            for c in range(b):
                total -= gram[a, c] * gram[b, c]
            gram[a, b] = math.sqrt(total) if a == b else total / gram[b, b]


@kernel
def solve_lower(gram: Floats, x: Floats) -> None:
    """x = L^-1 x."""
    for a in range(x.size):
        total = x[a]
        for b in range(a):
            total -= gram[a, b] * x[b]
        x[a] = total / gram[a, a]


@kernel
def fit(state: LinUCBState, history: History) -> None:
    """Ridge regression: `gram` = L with L L' = ridge + sum N x x', `theta` = L^-1 sum S x."""
    X = state.features
    K, d = X.shape
    for a in range(d):
        state.theta[a] = 0.0
        for b in range(d):
            state.gram[a, b] = state.ridge if a == b else 0.0
    for k in range(K):
        for a in range(d):
            state.theta[a] += history.pulls[k] * history.means[k] * X[k, a]
            for b in range(a + 1):
                state.gram[a, b] += history.pulls[k] * X[k, a] * X[k, b]
    factor(state.gram)
    solve_lower(state.gram, state.theta)


@kernel
def estimate(state: LinUCBState, k: int) -> tuple[float, float]:
    """After `fit`: x'theta of an arm, and |x| in the norm of the inverse Gram matrix."""
    for a in range(state.half.size):
        state.half[a] = state.features[k, a]
    solve_lower(state.gram, state.half)
    mean = 0.0
    square = 0.0
    for a in range(state.half.size):
        mean += state.half[a] * state.theta[a]
        square += state.half[a] * state.half[a]
    return mean, math.sqrt(square)


@kernel
def write_linear_bounds(state: LinUCBState, history: History, alpha: float) -> None:
    """bounds = x'theta + width * alpha |x|."""
    fit(state, history)
    for k in range(history.pulls.size):
        mean, norm = estimate(state, k)
        state.bounds[k] = mean + state.width * alpha * norm


@kernel
def choose(state: LinUCBState, model: Model, history: History, stream: Stream) -> int:
    """The highest bound at alpha = sigma sqrt(2 ln t)."""
    variance = model.family.variance if model.family.code == GAUSSIAN else 0.25
    alpha = math.sqrt(2.0 * variance * math.log(history.clock[0] + 1.0))
    write_linear_bounds(state, history, alpha)
    return argmax(state.bounds)


def make_least_squares(features: Floats, width: float, ridge: float) -> LinUCBState:
    """A state for given features."""
    K, d = features.shape
    return LinUCBState(
        np.array(features, order="C"),
        np.zeros((d, d)),
        np.zeros(d),
        np.zeros(d),
        np.zeros(K),
        width,
        ridge,
    )


@dataclass(frozen=True)
class LinUCB(CompiledPolicy):
    """Ridge regression, and the arm with the highest upper confidence bound under it.

    The bound is x'theta + width sigma sqrt(2 ln t) |x|, in the norm of (ridge I + sum x x')^-1.
    """

    width: float = 1.0
    ridge: float = 1.0

    structures: ClassVar = (Linear,)
    families: ClassVar = (Gaussian, Bernoulli)
    starts_with_each_arm: ClassVar[bool] = False
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "width")
        check_number(self, "ridge", 1e-12, what="a positive number")

    def init(self, structure: Structure, family: Family) -> LinUCBState:
        assert isinstance(structure, Linear)
        return make_least_squares(structure.features, float(self.width), float(self.ridge))
