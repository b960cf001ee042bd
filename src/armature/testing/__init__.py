"""Conformance suites: what every family, structure and policy must do, yours included.

    from armature.testing import check_structure
    check_structure(MyStructure(5))

raises an `AssertionError` that says which promise was broken, on which problem. The suites use
nothing but the public interface; the library's own classes are found by themselves (`discover`).
"""

from armature.testing.discovery import discover
from armature.testing.families import check_family
from armature.testing.fuzz import Finding, fuzz_bandits
from armature.testing.policies import POLICY_PROPERTIES, PolicyTrial, check_policy
from armature.testing.problems import (
    DeclaredAgain,
    RandomProblem,
    further_families,
    random_problem,
    supported_families,
)
from armature.testing.structures import STRUCTURE_PROPERTIES, check_structure

__all__ = [
    "POLICY_PROPERTIES",
    "STRUCTURE_PROPERTIES",
    "DeclaredAgain",
    "Finding",
    "PolicyTrial",
    "RandomProblem",
    "check_family",
    "check_policy",
    "check_structure",
    "discover",
    "further_families",
    "fuzz_bandits",
    "random_problem",
    "supported_families",
]
