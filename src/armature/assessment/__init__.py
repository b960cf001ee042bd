"""Before you deploy: what a log says of a structure and of policies."""

from armature.assessment.assess import assess
from armature.assessment.assessment import Assessment
from armature.assessment.replay import replay
from armature.assessment.replayed import Replay
from armature.assessment.table import Columns

__all__ = ["Assessment", "Columns", "Replay", "assess", "replay"]
