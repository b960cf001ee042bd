"""Armature: structured stochastic bandits.

Say what you know about the shape of the rewards, and explore only as much as that requires.
"""

from armature.errors import ArmatureError
from armature.families import Bernoulli, Exponential, Family, Gaussian, Interval, Poisson
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
    "ArmatureError",
    "Bernoulli",
    "Categorised",
    "Cell",
    "CompiledStructure",
    "Concave",
    "Exponential",
    "Family",
    "Fit",
    "Gaussian",
    "Interval",
    "Linear",
    "Lipschitz",
    "Poisson",
    "Polyhedral",
    "Simplex",
    "Sparse",
    "Structure",
    "Unconstrained",
    "Unimodal",
    "__version__",
]
