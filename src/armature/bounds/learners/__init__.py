"""Online learners for the two players of the game, and tracking: from proportions to pulls."""

from armature.bounds.learners.adahedge import AdaHedge
from armature.bounds.learners.follow_the_leader import FollowTheLeader
from armature.bounds.learners.tracking import Tracker

__all__ = ["AdaHedge", "FollowTheLeader", "Tracker"]
