"""A structure in plain Python, for tests."""

from __future__ import annotations

import armature as am


class Plain(am.Structure):
    """A structure in plain Python: nothing is known."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def project(self, means, weights, family):
        return am.Unconstrained(self.n_arms).project(means, weights, family)

    def alt_min(self, means, weights, best, challenger, family):
        return am.Unconstrained(self.n_arms).alt_min(means, weights, best, challenger, family)
