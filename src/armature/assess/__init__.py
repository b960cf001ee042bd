"""Before you deploy: what a log says of a structure and of policies."""

from armature.assess.assess import assess
from armature.assess.assessment import Assessment
from armature.assess.log.table import Columns
from armature.assess.replay import replay
from armature.assess.replayed import Replay

__all__ = ["Assessment", "Columns", "Replay", "assess", "replay"]
