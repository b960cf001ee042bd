"""The names that `armature` exports."""

from __future__ import annotations

from armature import families, policies, structures
from armature.assess import (
    Assessment,
    Columns,
    Evaluation,
    Replay,
    SegmentedAssessment,
    assess,
    evaluate,
    replay,
)
from armature.bounds import (
    Alternative,
    CharacteristicTime,
    Game,
    LowerBound,
    characteristic_time,
    lower_bound,
    solve_game,
)
from armature.bounds.evidence import Evidence
from armature.errors import ArmatureError
from armature.experiments import Identification, Paired, Results, identify, simulate
from armature.families import *
from armature.kernels.kernel import kernel
from armature.live.bandit import Bandit
from armature.live.change import Change
from armature.live.choosing import Probabilities
from armature.live.explanation import Explanation
from armature.live.outstanding import Decision
from armature.live.segmented import SegmentedBandit
from armature.live.verdict import Verdict
from armature.policies import *
from armature.structures import *
from armature.structures.changing import Changing
from armature.structures.instance import Instance

__all__ = [
    "Alternative",
    "ArmatureError",
    "Assessment",
    "Bandit",
    "Change",
    "Changing",
    "CharacteristicTime",
    "Columns",
    "Decision",
    "Evaluation",
    "Evidence",
    "Explanation",
    "Game",
    "Identification",
    "Instance",
    "LowerBound",
    "Paired",
    "Probabilities",
    "Replay",
    "Results",
    "SegmentedAssessment",
    "SegmentedBandit",
    "Verdict",
    "assess",
    "characteristic_time",
    "evaluate",
    "identify",
    "kernel",
    "lower_bound",
    "replay",
    "simulate",
    "solve_game",
]
__all__ += families.__all__
__all__ += policies.__all__
__all__ += structures.__all__
