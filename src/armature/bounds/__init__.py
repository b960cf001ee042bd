"""Lower bounds of regret, and the game whose value they are."""

from armature.bounds.characteristic_time import CharacteristicTime, characteristic_time
from armature.bounds.characteristic_time import time_of as time_of
from armature.bounds.evidence import Evidence
from armature.bounds.game import Game, solve_game
from armature.bounds.lower_bound import Alternative, LowerBound, lower_bound
from armature.bounds.lower_bound import bound_or_none as bound_or_none

__all__ = [
    "Alternative",
    "CharacteristicTime",
    "Evidence",
    "Game",
    "LowerBound",
    "characteristic_time",
    "lower_bound",
    "solve_game",
]
