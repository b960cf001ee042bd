"""Reward families: how rewards are distributed, given their mean."""

from armature.families.bernoulli import Bernoulli
from armature.families.bounded import Bounded
from armature.families.exponential import Exponential
from armature.families.family import Family
from armature.families.gaussian import Gaussian
from armature.families.poisson import Poisson
from armature.families.record import FamilyRecord as FamilyRecord
from armature.families.record import Formulas, Interval

__all__ = [
    "Bernoulli",
    "Bounded",
    "Exponential",
    "Family",
    "Formulas",
    "Gaussian",
    "Interval",
    "Poisson",
]
