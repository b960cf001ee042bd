"""What people read: sentences as data, numbers, and the short form of an object.

It is a room of its own, at the bottom, as what says something lies on every floor: structures,
bounds and policies name their arms and numbers here. `armature.views`, above them, draws it.
"""

from armature.words.card import Card, Shown, best_first, brief, row_of
from armature.words.sentence import Arm, Sentence, called, listed, number, visible

__all__ = [
    "Arm",
    "Card",
    "Sentence",
    "Shown",
    "best_first",
    "brief",
    "called",
    "listed",
    "number",
    "row_of",
    "visible",
]
