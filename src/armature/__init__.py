"""Armature: structured stochastic bandits.

Say what you know about the shape of the rewards, and explore only as much as that requires.
"""

from armature.bounds import Alternative, Game, LowerBound, lower_bound, solve_game
from armature.errors import ArmatureError
from armature.families import Bernoulli, Exponential, Family, Gaussian, Interval, Poisson
from armature.instance import Instance
from armature.structures import (
    Categorised,
    Cell,
    CompiledStructure,
    Concave,
    Fit,
    Linear,
    Lipschitz,
    Polyhedral,
    Simplex,
    Sparse,
    Structure,
    Unconstrained,
    Unimodal,
)

__version__ = "0.1.0"

__all__ = [
    "Alternative",
    "ArmatureError",
    "Bernoulli",
    "Categorised",
    "Cell",
    "CompiledStructure",
    "Concave",
    "Exponential",
    "Family",
    "Fit",
    "Game",
    "Gaussian",
    "Instance",
    "Interval",
    "Linear",
    "Lipschitz",
    "LowerBound",
    "Poisson",
    "Polyhedral",
    "Simplex",
    "Sparse",
    "Structure",
    "Unconstrained",
    "Unimodal",
    "__version__",
    "lower_bound",
    "solve_game",
]
