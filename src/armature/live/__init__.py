"""Live decisions: the bandit, what it believes, and its parts, each one idea."""

from armature.live.bandit import Bandit

__all__ = ["Bandit"]
