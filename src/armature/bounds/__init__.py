"""Lower bounds of regret, and the game whose value they are."""

from armature.bounds.characteristic_time import CharacteristicTime, characteristic_time, time_of
from armature.bounds.game import Game, solve_game
from armature.bounds.lower_bound import Alternative, LowerBound, bound_or_none, lower_bound

__all__ = [
    "Alternative",
    "CharacteristicTime",
    "Game",
    "LowerBound",
    "bound_or_none",
    "characteristic_time",
    "lower_bound",
    "solve_game",
    "time_of",
]
