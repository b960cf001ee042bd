"""Simulation: many repetitions in compiled code, reproducible to the bit."""

from armature.simulation.engine import simulate
from armature.simulation.results import Paired, Results

__all__ = ["Paired", "Results", "simulate"]
