"""Experiments: simulations and identifications, their specs, plans, results and files."""

from armature.experiments.identification import identify
from armature.experiments.identification_results import Identification
from armature.experiments.results import Paired, Results
from armature.experiments.simulation import simulate
from armature.experiments.spec import load_instance as load_instance
from armature.experiments.spec import shipped_specs as shipped_specs

__all__ = [
    "Identification",
    "Paired",
    "Results",
    "identify",
    "simulate",
]
