"""Before you deploy: assess structures and policies on a log."""

from armature.assess.assess import assess
from armature.assess.assessment import Assessment
from armature.assess.evaluate import evaluate
from armature.assess.evaluated import Evaluation
from armature.assess.replay import replay
from armature.assess.replayed import Replay
from armature.assess.segments.assessment import SegmentedAssessment
from armature.assess.table import Columns

__all__ = [
    "Assessment",
    "Columns",
    "Evaluation",
    "Replay",
    "SegmentedAssessment",
    "assess",
    "evaluate",
    "replay",
]
