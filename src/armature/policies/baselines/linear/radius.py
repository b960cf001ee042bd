"""Least squares of all arms, and the radius of the ellipsoid that the parameter is in."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from armature.families import FamilyRecord
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.policies.baselines.linear.lin_ucb import write_weights
from armature.policies.baselines.linear.solid import write_halves
from armature.policies.policy import History
from armature.solver.least_squares import Ridge, fit_ridge, make_ridge


class Ellipsoid(NamedTuple):
    """Ridge regression with a ridge of sigma^2 / norm^2, and room for what it says of each arm."""

    ridge: Ridge
    weights: Floats  # (K,): pulls, those of a noisier arm for less
    halves: Floats  # (K, d): L^-1 x of each arm
    means: Floats  # (K,): x'theta
    norm: float  # the parameter is at most so long
    surprise: float  # 2 ln(1 / delta)


def make_ellipsoid(features: Floats, norm: float, delta: float) -> Ellipsoid:
    """A record with room of its own."""
    K, d = features.shape
    return Ellipsoid(
        ridge=make_ridge(features),
        weights=np.zeros(K),
        halves=np.zeros((K, d)),
        means=np.zeros(K),
        norm=float(norm),
        surprise=2.0 * math.log(1.0 / delta),
    )


@kernel
def fit(room: Ellipsoid, family: FamilyRecord, history: History) -> float:
    """Fit; returns beta, the square of the radius in the norm of V = ridge + sum of x x'.

    With probability 1 - delta the parameter is there at all times: sigma sqrt(ln det V / det ridge
    + 2 ln 1 / delta) + sqrt(ridge) norm (Abbasi-Yadkori, Pál and Szepesvári).
    """
    penalty = family.proxy / (room.norm * room.norm)
    write_weights(history, family, room.weights)
    fit_ridge(room.ridge, history.means, room.weights, penalty)
    write_halves(room.ridge, room.halves)
    for k in range(room.means.size):
        room.means[k] = 0.0
        for a in range(room.halves.shape[1]):
            room.means[k] += room.halves[k, a] * room.ridge.theta[a]
    growth = 0.0  # ln det V / det ridge
    for a in range(room.ridge.theta.size):
        growth += 2.0 * math.log(room.ridge.gram[a, a]) - math.log(penalty)
    radius = math.sqrt(family.proxy) * (math.sqrt(max(growth, 0.0) + room.surprise) + 1.0)
    return radius * radius


@kernel
def square(room: Ellipsoid, k: int) -> float:
    """The square of |x_k| in the norm of V^-1."""
    total = 0.0
    for a in range(room.halves.shape[1]):
        total += room.halves[k, a] * room.halves[k, a]
    return total
