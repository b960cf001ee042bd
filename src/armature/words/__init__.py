"""What people read: sentences as data, numbers, and the short form of an object."""

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
