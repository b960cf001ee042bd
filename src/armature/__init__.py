"""Armature: structured stochastic bandits.

Say what you know about the shape of the rewards, and explore only as much as that requires.
"""

from armature._compile import kernel
from armature.bandit import Bandit
from armature.bounds import Alternative, Game, LowerBound, lower_bound, solve_game
from armature.errors import ArmatureError
from armature.explanation import Explanation
from armature.families import Bernoulli, Exponential, Family, Gaussian, Interval, Poisson
from armature.instance import Instance
from armature.policies import (
    CATSE,
    IMED,
    KLUCB,
    MINTS,
    OSSB,
    OSUB,
    UCB,
    Challenger,
    CompiledPolicy,
    EndOfOptimism,
    History,
    LinUCB,
    Policy,
    Problem,
    ProjectedThompson,
    PythonPolicy,
    SparseUCB,
    SPk,
    SPLambda,
    StructuredUCB,
    ThompsonSampling,
)
from armature.simulation import Paired, Results, simulate
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
    "CATSE",
    "IMED",
    "KLUCB",
    "MINTS",
    "OSSB",
    "OSUB",
    "UCB",
    "Alternative",
    "ArmatureError",
    "Bandit",
    "Bernoulli",
    "Categorised",
    "Cell",
    "Challenger",
    "CompiledPolicy",
    "CompiledStructure",
    "Concave",
    "EndOfOptimism",
    "Explanation",
    "Exponential",
    "Family",
    "Fit",
    "Game",
    "Gaussian",
    "History",
    "Instance",
    "Interval",
    "LinUCB",
    "Linear",
    "Lipschitz",
    "LowerBound",
    "Paired",
    "Poisson",
    "Policy",
    "Polyhedral",
    "Problem",
    "ProjectedThompson",
    "PythonPolicy",
    "Results",
    "SPLambda",
    "SPk",
    "Simplex",
    "Sparse",
    "SparseUCB",
    "Structure",
    "StructuredUCB",
    "ThompsonSampling",
    "Unconstrained",
    "Unimodal",
    "__version__",
    "kernel",
    "lower_bound",
    "simulate",
    "solve_game",
]
