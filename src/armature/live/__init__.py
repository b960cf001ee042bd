"""Live decisions: the bandit, what it believes, and its parts, each one idea."""

from armature.live.bandit import Bandit
from armature.live.change import Change
from armature.live.choosing import Probabilities
from armature.live.explanation import Explanation
from armature.live.outstanding import Decision
from armature.live.segmented import SegmentedBandit
from armature.live.verdict import Verdict

__all__ = [
    "Bandit",
    "Change",
    "Decision",
    "Explanation",
    "Probabilities",
    "SegmentedBandit",
    "Verdict",
]
