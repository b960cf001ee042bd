"""Identification: sampling until the best arm is known, many times, reproducible to the bit."""

from armature.identification.engine import identify
from armature.identification.results import Identification

__all__ = ["Identification", "identify"]
