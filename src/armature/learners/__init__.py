"""Online learners for the two players of the game, and tracking: from proportions to pulls."""

from armature.learners.adahedge import AdaHedge
from armature.learners.follow_the_leader import FollowTheLeader
from armature.learners.tracking import Tracker

__all__ = ["AdaHedge", "FollowTheLeader", "Tracker"]
