"""Armature: structured stochastic bandits.

Say what you know about the shape of the rewards, and explore only as much as that requires.

What the rooms of families, structures and policies export is public here, too.
"""

from armature import families, policies, structures
from armature.assess import Assessment, Columns, Replay, assess, replay
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
from armature.live.choosing import Probabilities
from armature.live.explanation import Explanation
from armature.live.tickets import Decision
from armature.live.verdict import Verdict
from armature.policies import *
from armature.structures import *
from armature.structures.instance import Instance

__version__ = "0.2.0"

__all__ = [
    "Alternative",
    "ArmatureError",
    "Assessment",
    "Bandit",
    "CharacteristicTime",
    "Columns",
    "Decision",
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
    "Verdict",
    "__version__",
    "assess",
    "characteristic_time",
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


def __dir__() -> list[str]:
    """The public names, without the rooms of the package."""
    return __all__
